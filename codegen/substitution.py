"""Systems with triangular matrices and with LU factors, and how Cholesky factors move with their
matrices, as Python computes them.

BLAS and not LAPACK's `trtrs` and `getrs`, which are the same behind a look at the diagonal:
OpenBLAS wakes its threads for those however few rows there are. (SciPy's BLAS takes longer to load
than most of the package, so the first system loads it.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .loading import imported

__all__ = ["by_factors", "cholesky_adjoint", "cholesky_tangent", "triangular"]


def triangular(a: Any, b: Any, lower: bool, trans: int = 0, unit: bool = False) -> Any:
    """x[n, k] with op(a) @ x = b, op being nothing, transposition or its conjugate for trans 0, 1,
    2. One triangle of a[n, n] is read, without its diagonal where `unit`."""
    if b.size == 0:
        return np.empty(b.shape, np.result_type(a, b))
    trsm: Any = imported("scipy.linalg.blas").get_blas_funcs("trsm", (a, b))
    # BLAS reads columns: the transposed view of a C-ordered matrix is its other triangle, so
    # nothing is copied.
    if trans == 2 and a.dtype.kind == "c":
        return trsm(1, a, b, lower=lower, trans_a=2, diag=unit)
    return trsm(1, a.T, b, lower=not lower, trans_a=0 if trans else 1, diag=unit)


def by_factors(factors: Any, exchanges: Any, b: Any, turned: bool) -> Any:
    """x[n, k] with a @ x = b, or a.T @ x = b where `turned`, by both LU factors of a[n, n] in one
    and with which row each row was exchanged."""
    order = np.arange(len(factors))
    for i, k in enumerate(exchanges):
        order[i], order[k] = order[k], order[i]
    if not turned:
        half = triangular(factors, b[order], True, unit=True)
        return triangular(factors, half, False)
    half = triangular(factors, b, False, 1)
    x = np.empty_like(half)
    x[order] = triangular(factors, half, True, 1, unit=True)
    return x


def cholesky_tangent(factor: Any, along: Any) -> Any:
    """The tangent of a lower factor[n, n] from that of its symmetric matrix; of both the lower
    triangle is read."""
    inside = np.tril(along) + np.tril(along, -1).T
    for _ in range(2):
        inside = triangular(factor, inside, True).T
    return np.tril(np.tril(factor) @ _halved(inside))


def cholesky_adjoint(factor: Any, cotangent: Any) -> Any:
    """The cotangent of a symmetric matrix, spread evenly over both triangles, from that of its
    lower factor[n, n]; of both the lower triangle is read."""
    inside = _halved(np.tril(factor).T @ np.tril(cotangent))
    for _ in range(2):
        inside = triangular(factor, inside, True, 1).T
    return (inside + inside.T) * inside.dtype.type(0.5)


def _halved(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    half = np.tril(x)
    half[np.diag_indices(len(x))] *= x.dtype.type(0.5)
    return half
