"""Whole-array routines that kernels call: matrix products, and what `lapack` has.

Arrays are C-contiguous. Each routine is called as `routine(inputs..., outputs..., flags...)`, never
overwrites an input, and has a Python body in NumPy's terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import gemm
from .band_factors import band_cholesky, band_cholesky_adjoint
from .bands import band_entries, band_product, band_solve
from .blocked import (
    blocked_cholesky,
    blocked_det,
    blocked_inv,
    blocked_qr,
    blocked_slogdet,
    blocked_solve,
    blocked_triangular_solve,
    cholesky_adjoint,
    cholesky_tangent,
)
from .bridge import implements
from .factored import factored_inv, factored_slogdet, factored_solve, lu_factors
from .filters import recursive_filter
from .foreign import LARGEST
from .fourier.library import fft, irfft, rfft
from .lapack import (
    adjugate,
    cholesky,
    det,
    eigh,
    inv,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from .levinson import toeplitz_solve
from .matrix_functions import eig, eigvals, expm, lu, permutation, sylvester
from .pivoting import column_order, row_order
from .products import by_loops, has_blas, in_loops, with_matrix, with_vector
from .sparse import banded_solve, sparse_entries, sparse_product, sparse_solve
from .spectra import blocked_eigh, blocked_eigvalsh, blocked_svdvals, eigvalsh, svdvals
from .square_roots import sqrtm
from .stacks import small_cholesky, small_det, small_inv, small_solve, small_triangular_solve
from .subspaces import stable_slope
from .support import signed
from .tridiagonal_spectra import tridiagonal_eigh, tridiagonal_eigvalsh

__all__ = [
    "adjugate", "band_cholesky", "band_cholesky_adjoint", "band_entries", "band_product",
    "band_solve", "banded_solve", "blocked_cholesky", "blocked_det", "blocked_eigh",
    "blocked_eigvalsh", "blocked_inv", "blocked_qr", "blocked_slogdet", "blocked_solve",
    "blocked_svdvals", "blocked_triangular_solve", "cholesky", "cholesky_adjoint",
    "cholesky_tangent", "column_order",
    "det", "eig", "eigh", "eigvals", "eigvalsh", "expm", "factored_inv", "factored_slogdet",
    "factored_solve", "fft", "inv", "irfft",
    "lu", "lu_factors", "matmul", "matmul_batched", "matmul_batched_scaled",
    "matmul_scaled", "permutation", "pinv", "qr", "recursive_filter", "rfft", "row_order",
    "slogdet", "small_cholesky", "small_det", "small_inv", "small_solve",
    "small_triangular_solve", "solve", "sparse_entries", "sparse_product", "sparse_solve",
    "sqrtm", "stable_slope", "svd", "svdvals", "sylvester", "toeplitz_solve",
    "triangular_solve", "tridiagonal_eigh", "tridiagonal_eigvalsh",
]  # fmt: skip


def matmul(
    a: Any,
    b: Any,
    out: Any,
    turned_a: bool = False,
    turned_b: bool = False,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out = a @ b` of matrices, either of them given transposed; no sum over an empty axis is
    anything but 0.

    Those from `part` to `until` of several equal parts: of the rows, or of the columns if there are
    more of them.
    """
    product = np.matmul(a.T if turned_a else a, b.T if turned_b else b)
    m, n = out.shape
    own = slice(int(part) * max(m, n) // parts, int(until) * max(m, n) // parts)
    if m >= n:
        out[own] = product[own]
    else:
        out[:, own] = product[:, own]


def matmul_batched(
    a: Any,
    b: Any,
    out: Any,
    turned_a: bool = False,
    turned_b: bool = False,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out[k] = a[k] @ b[k]`; an operand whose first axis has size 1 is used for all k. Those
    from `part` to `until` of several equal parts of all k."""
    own = slice(int(part) * len(out) // parts, int(until) * len(out) // parts)
    out[own] = np.matmul(
        a.swapaxes(-1, -2) if turned_a else a, b.swapaxes(-1, -2) if turned_b else b
    )[own]


def matmul_scaled(
    a: Any,
    b: Any,
    scale: Any,
    out: Any,
    turned_a: bool = False,
    turned_b: bool = False,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out = a @ diag(scale) @ b`, the weights in any shape of as many elements."""
    matmul(
        (a.T if turned_a else a) * scale.reshape(-1), b, out, False, turned_b, part, until, parts
    )


def matmul_batched_scaled(
    a: Any,
    b: Any,
    scale: Any,
    out: Any,
    turned_a: bool = False,
    turned_b: bool = False,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out[k] = a[k] @ diag(scale[k]) @ b[k]`; weights given once are used for all k."""
    first = a.swapaxes(-1, -2) if turned_a else a
    width = first.shape[-1]
    weights = scale.reshape(scale.size // width if width else 1, 1, width)
    matmul_batched(first * weights, b, out, False, turned_b, part, until, parts)


@implements(matmul, inline=False)
def _type_matmul(
    a: Any,
    b: Any,
    out: Any,
    turned_a: Any = False,
    turned_b: Any = False,
    part: Any = 0,
    until: Any = 1,
    parts: Any = 1,
) -> Any:
    if not has_blas(a, b, out):
        return lambda a, b, out, turned_a=False, turned_b=False, part=0, until=1, parts=1: in_loops(
            a, b, out, turned_a, turned_b
        )

    def body(
        a: Any,
        b: Any,
        out: Any,
        turned_a: bool = False,
        turned_b: bool = False,
        part: int = 0,
        until: int = 1,
        parts: int = 1,
    ) -> None:
        m, n = out.shape
        k = a.shape[0] if turned_a else a.shape[1]
        p = signed(part)
        if by_loops(m, n, k, turned_a, turned_b) or max(m, n, k) > LARGEST:
            if p == 0:
                in_loops(a, b, out, turned_a, turned_b)
        elif m == 1 or n == 1:
            if p == 0:
                with_vector(a, 0, b, 0, out, 0, m, n, k, turned_a, turned_b)
        else:
            with_matrix(
                a,
                0,
                b,
                0,
                a,
                0,
                0,
                out,
                0,
                m,
                n,
                k,
                turned_a,
                turned_b,
                p,
                signed(until),
                signed(parts),
                1,
                0,
                0,
                0,
            )

    return body


@implements(matmul_scaled, inline=False)
def _type_matmul_scaled(
    a: Any,
    b: Any,
    scale: Any,
    out: Any,
    turned_a: Any = False,
    turned_b: Any = False,
    part: Any = 0,
    until: Any = 1,
    parts: Any = 1,
) -> Any:
    weigh = gemm.SCALED

    def body(
        a: Any,
        b: Any,
        scale: Any,
        out: Any,
        turned_a: bool = False,
        turned_b: bool = False,
        part: int = 0,
        until: int = 1,
        parts: int = 1,
    ) -> None:
        m, n = out.shape
        with_matrix(
            a,
            0,
            b,
            0,
            scale,
            0,
            weigh,
            out,
            0,
            m,
            n,
            scale.size,
            turned_a,
            turned_b,
            signed(part),
            signed(until),
            signed(parts),
            1,
            0,
            0,
            0,
        )

    return body


@implements(matmul_batched, inline=False)
def _type_batched(
    a: Any,
    b: Any,
    out: Any,
    turned_a: Any = False,
    turned_b: Any = False,
    part: Any = 0,
    until: Any = 1,
    parts: Any = 1,
) -> Any:
    through_blas = has_blas(a, b, out)

    def loops(
        a: Any,
        b: Any,
        out: Any,
        turned_a: bool = False,
        turned_b: bool = False,
        part: int = 0,
        until: int = 1,
        parts: int = 1,
    ) -> None:
        count = out.shape[0]
        for q in range(
            signed(part) * count // signed(parts), signed(until) * count // signed(parts)
        ):
            in_loops(
                a[q if a.shape[0] > 1 else 0],
                b[q if b.shape[0] > 1 else 0],
                out[q],
                turned_a,
                turned_b,
            )

    def body(
        a: Any,
        b: Any,
        out: Any,
        turned_a: bool = False,
        turned_b: bool = False,
        part: int = 0,
        until: int = 1,
        parts: int = 1,
    ) -> None:
        count, m, n = out.shape
        k = a.shape[1] if turned_a else a.shape[2]
        first, last = (
            signed(part) * count // signed(parts),
            signed(until) * count // signed(parts),
        )
        step_a = m * k if a.shape[0] > 1 else 0
        step_b = k * n if b.shape[0] > 1 else 0
        if by_loops(m, n, k, turned_a, turned_b) or max(m, n, k) > LARGEST:
            for q in range(first, last):
                in_loops(
                    a[q if a.shape[0] > 1 else 0],
                    b[q if b.shape[0] > 1 else 0],
                    out[q],
                    turned_a,
                    turned_b,
                )
        elif m == 1 or n == 1:
            for q in range(first, last):
                with_vector(
                    a, q * step_a, b, q * step_b, out, q * m * n, m, n, k, turned_a, turned_b
                )
        else:
            with_matrix(
                a, first * step_a, b, first * step_b, a, 0, 0, out, first * m * n, m, n, k,
                turned_a, turned_b, 0, 1, 1, last - first, step_a, step_b, 0,
            )  # fmt: skip

    return body if through_blas else loops


@implements(matmul_batched_scaled, inline=False)
def _type_batched_scaled(
    a: Any,
    b: Any,
    scale: Any,
    out: Any,
    turned_a: Any = False,
    turned_b: Any = False,
    part: Any = 0,
    until: Any = 1,
    parts: Any = 1,
) -> Any:
    weigh = gemm.SCALED

    def body(
        a: Any,
        b: Any,
        scale: Any,
        out: Any,
        turned_a: bool = False,
        turned_b: bool = False,
        part: int = 0,
        until: int = 1,
        parts: int = 1,
    ) -> None:
        count, m, n = out.shape
        k = a.shape[1] if turned_a else a.shape[2]
        step_a = m * k if a.shape[0] > 1 else 0
        step_b = k * n if b.shape[0] > 1 else 0
        step = k if scale.size > k else 0
        first, last = (
            signed(part) * count // signed(parts),
            signed(until) * count // signed(parts),
        )
        with_matrix(
            a, first * step_a, b, first * step_b, scale, first * step, weigh, out, first * m * n, m,
            n, k, turned_a, turned_b, 0, 1, 1, last - first, step_a, step_b, step,
        )  # fmt: skip

    return body
