"""Whole-array routines that kernels call: matrix products, and what `lapack` has.

Arrays are C-contiguous. Each routine is called as `routine(inputs..., outputs..., flags...)`, never overwrites an input, and has a
Python body in NumPy's terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing import signature
from numba.np import numpy_support

from . import gemm
from .bridge import compiled, implements, primitive
from .foreign import LARGEST, LETTERS, blas, routine
from .lapack import adjugate, cholesky, det, eigh, inv, pinv, qr, slogdet, solve, svd, triangular_solve
from .support import acc, index
from .symbols import OWN

__all__ = [
    "adjugate", "cholesky", "det", "eigh", "inv", "matmul", "matmul_batched", "matmul_batched_scaled", "matmul_scaled", "pinv", "qr", "slogdet",
    "solve", "svd", "triangular_solve",
]  # fmt: skip

NO, YES = ord("N"), ord("T")
KINDS = "lllallallaall"
"""The arguments of the routine of `gemm`."""


def by_loops(m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> bool:
    """Whether plain loops take less time than a call: the one rule, from the table in ARCHITECTURE.md.

    Where both operands are read along their rows, each element of the result is a vectorised sum of its own: that holds on for a few rows.
    """
    return m * n * k <= 64 or (turned_b and not turned_a and (m <= 8 or m * n * k <= 512))


def matmul(a: Any, b: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
    """`out = a @ b` of matrices, either of them given transposed; no sum over an empty axis is anything but 0."""
    out[...] = np.matmul(a.T if turned_a else a, b.T if turned_b else b)


def matmul_batched(a: Any, b: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
    """`out[k] = a[k] @ b[k]`; an operand whose first axis has size 1 is used for all k."""
    out[...] = np.matmul(a.swapaxes(-1, -2) if turned_a else a, b.swapaxes(-1, -2) if turned_b else b)


def matmul_scaled(a: Any, b: Any, scale: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
    """`out = a @ diag(scale) @ b`, the weights in any shape of as many elements."""
    matmul((a.T if turned_a else a) * scale.reshape(-1), b, out, False, turned_b)


def matmul_batched_scaled(a: Any, b: Any, scale: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
    """`out[k] = a[k] @ diag(scale[k]) @ b[k]`; weights given once are used for all k."""
    first = a.swapaxes(-1, -2) if turned_a else a
    matmul_batched(first * scale.reshape(-1, 1, first.shape[-1]), b, out, False, turned_b)


def _by_loops(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
    raise TypeError("compiled code only")


@implements(_by_loops, inline=False)
def _type_loops(a: Any, b: Any, out: Any, turned_a: Any, turned_b: Any) -> Any:
    t = np.bool_ if isinstance(out.dtype, types.Boolean) else numpy_support.as_dtype(out.dtype).type
    zero, start = t(0), index(0)
    boolean = t is np.bool_

    def of_bool(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
        inner = index(a.shape[0]) if turned_a else index(a.shape[1])
        for i in range(index(0), index(out.shape[0])):
            for j in range(index(0), index(out.shape[1])):
                found = False
                for k in range(index(0), inner):
                    x = a[k, i] if turned_a else a[i, k]
                    y = b[j, k] if turned_b else b[k, j]
                    found = found or (x and y)
                out[i, j] = found

    def body(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
        inner = index(a.shape[0]) if turned_a else index(a.shape[1])
        rows, columns = index(out.shape[0]), index(out.shape[1])
        if turned_b:
            for i in range(index(0), rows):
                for j in range(index(0), columns):
                    s = zero
                    for k in range(index(0), inner):
                        s = acc(s, t((a[k, i] if turned_a else a[i, k]) * b[j, k]))
                    out[i, j] = s
        else:
            # Rows of the result as sums of rows of b: the innermost loop runs along memory.
            for i in range(index(0), rows):
                for j in range(index(0), columns):
                    out[i, j] = zero
                for k in range(index(0), inner):
                    x = a[k, i] if turned_a else a[i, k]
                    for j in range(index(0), columns):
                        out[i, j] = acc(out[i, j], t(x * b[k, j]))

    assert start == 0
    return of_bool if boolean else body


def _same_place(a: Any, at_a: int, b: Any, at_b: int) -> bool:
    raise TypeError("compiled code only")


def _type_same_place(a: Any, at_a: Any, b: Any, at_b: Any) -> Any:
    return signature(types.boolean, a, types.intp, b, types.intp)


@primitive(_same_place, _type_same_place)
def _lower_same_place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    places = []
    for k in (0, 2):
        array = context.make_array(sig.args[k])(context, builder, args[k])
        places.append(builder.ptrtoint(builder.gep(array.data, [args[k + 1]]), args[1].type))
    return builder.icmp_unsigned("==", *places)


def _product(a: Any, at_a: int, b: Any, at_b: int, out: Any, at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> None:
    raise TypeError("compiled code only")


def _scaled(
    a: Any,
    at_a: int,
    b: Any,
    at_b: int,
    scale: Any,
    at_scale: int,
    out: Any,
    at: int,
    m: int,
    n: int,
    k: int,
    turned_a: bool,
    turned_b: bool,
) -> None:
    raise TypeError("compiled code only")


def _vectors(out: Any) -> Any:
    """Products of a matrix and a vector, by BLAS, which counts columns first: it is asked for the transposed product C' = B' A'."""
    gemv = blas(out.dtype, "gemv", "ciisaiaisai")
    t = numpy_support.as_dtype(out.dtype).type
    one, zero = t(1), t(0)

    def body(a: Any, at_a: int, b: Any, at_b: int, out: Any, at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> None:
        if n == 1 and turned_a:
            gemv(NO, m, k, one, a, at_a, m, b, at_b, 1, zero, out, at, 1)
        elif n == 1:
            gemv(YES, k, m, one, a, at_a, k, b, at_b, 1, zero, out, at, 1)
        elif turned_b:
            gemv(YES, k, n, one, b, at_b, k, a, at_a, 1, zero, out, at, 1)
        else:
            gemv(NO, n, k, one, b, at_b, n, a, at_a, 1, zero, out, at, 1)

    return compiled(body)


@implements(_product, inline=False)
def _type_product(a: Any, at_a: Any, b: Any, at_b: Any, out: Any, at: Any, m: Any, n: Any, k: Any, turned_a: Any, turned_b: Any) -> Any:
    vectors = _vectors(out)
    if str(out.dtype) in gemm.DTYPES:
        own = routine(OWN, f"gemm_{out.dtype}", KINDS)

        def real(a: Any, at_a: int, b: Any, at_b: int, out: Any, at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> None:
            if m == 1 or n == 1:
                vectors(a, at_a, b, at_b, out, at, m, n, k, turned_a, turned_b)
            else:
                half = turned_a != turned_b and m == n and _same_place(a, at_a, b, at_b)
                own(
                    m, n, k, a, at_a, 1 if turned_a else k, m if turned_a else 1, b, at_b, 1 if turned_b else n, k if turned_b else 1,
                    a, at_a, out, at, n, gemm.SYMMETRIC if half else 0,
                )  # fmt: skip

        return real
    call = blas(out.dtype, "gemm", "cciiisaiaisai")
    t = numpy_support.as_dtype(out.dtype).type
    one, zero = t(1), t(0)

    def body(a: Any, at_a: int, b: Any, at_b: int, out: Any, at: int, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> None:
        if m == 1 or n == 1:
            vectors(a, at_a, b, at_b, out, at, m, n, k, turned_a, turned_b)
        else:
            call(
                YES if turned_b else NO, YES if turned_a else NO, n, m, k, one,
                b, at_b, k if turned_b else n, a, at_a, m if turned_a else k, zero, out, at, n,
            )  # fmt: skip

    return body


@implements(_scaled, inline=False)
def _type_scaled(
    a: Any, at_a: Any, b: Any, at_b: Any, scale: Any, at_scale: Any, out: Any, at: Any, m: Any, n: Any, k: Any, turned_a: Any, turned_b: Any
) -> Any:
    own = routine(OWN, f"gemm_{out.dtype}", KINDS)
    plain, halved = gemm.SCALED, gemm.SCALED | gemm.SYMMETRIC

    def body(
        a: Any,
        at_a: int,
        b: Any,
        at_b: int,
        scale: Any,
        at_scale: int,
        out: Any,
        at: int,
        m: int,
        n: int,
        k: int,
        turned_a: bool,
        turned_b: bool,
    ) -> None:
        half = turned_a != turned_b and m == n and _same_place(a, at_a, b, at_b)
        own(
            m, n, k, a, at_a, 1 if turned_a else k, m if turned_a else 1, b, at_b, 1 if turned_b else n, k if turned_b else 1,
            scale, at_scale, out, at, n, halved if half else plain,
        )  # fmt: skip

    return body


_rule = compiled(by_loops)


def _has_blas(*arrays: Any) -> bool:
    return len({a.dtype for a in arrays}) == 1 and str(arrays[0].dtype) in LETTERS


@implements(matmul, inline=False)
def _type_matmul(a: Any, b: Any, out: Any, turned_a: Any = False, turned_b: Any = False) -> Any:
    if not _has_blas(a, b, out):
        return lambda a, b, out, turned_a=False, turned_b=False: _by_loops(a, b, out, turned_a, turned_b)

    def body(a: Any, b: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
        m, n = out.shape
        k = a.shape[0] if turned_a else a.shape[1]
        if _rule(m, n, k, turned_a, turned_b) or max(m, n, k) > LARGEST:
            _by_loops(a, b, out, turned_a, turned_b)
        else:
            _product(a, 0, b, 0, out, 0, m, n, k, turned_a, turned_b)

    return body


@implements(matmul_batched, inline=False)
def _type_batched(a: Any, b: Any, out: Any, turned_a: Any = False, turned_b: Any = False) -> Any:
    through_blas = _has_blas(a, b, out)

    def by_loops(a: Any, b: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
        for q in range(out.shape[0]):
            _by_loops(a[q if a.shape[0] > 1 else 0], b[q if b.shape[0] > 1 else 0], out[q], turned_a, turned_b)

    def body(a: Any, b: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
        count, m, n = out.shape
        k = a.shape[1] if turned_a else a.shape[2]
        if _rule(m, n, k, turned_a, turned_b) or max(m, n, k) > LARGEST:
            for q in range(count):
                _by_loops(a[q if a.shape[0] > 1 else 0], b[q if b.shape[0] > 1 else 0], out[q], turned_a, turned_b)
            return
        step_a = m * k if a.shape[0] > 1 else 0
        step_b = k * n if b.shape[0] > 1 else 0
        for q in range(count):
            _product(a, q * step_a, b, q * step_b, out, q * m * n, m, n, k, turned_a, turned_b)

    return body if through_blas else by_loops


@implements(matmul_scaled, inline=False)
def _type_matmul_scaled(a: Any, b: Any, scale: Any, out: Any, turned_a: Any = False, turned_b: Any = False) -> Any:
    def body(a: Any, b: Any, scale: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
        m, n = out.shape
        _scaled(a, 0, b, 0, scale, 0, out, 0, m, n, scale.size, turned_a, turned_b)

    return body


@implements(matmul_batched_scaled, inline=False)
def _type_batched_scaled(a: Any, b: Any, scale: Any, out: Any, turned_a: Any = False, turned_b: Any = False) -> Any:
    def body(a: Any, b: Any, scale: Any, out: Any, turned_a: bool = False, turned_b: bool = False) -> None:
        count, m, n = out.shape
        k = a.shape[1] if turned_a else a.shape[2]
        step_a = m * k if a.shape[0] > 1 else 0
        step_b = k * n if b.shape[0] > 1 else 0
        step = k if scale.size > k else 0
        for q in range(count):
            _scaled(a, q * step_a, b, q * step_b, scale, q * step, out, q * m * n, m, n, k, turned_a, turned_b)

    return body
