"""Square roots of matrices: single ones or stacks with one leading axis, by Schur's form.

That of a real matrix is real, and becomes complex only where it has eigenvalues that need it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numba.core import types

from .bridge import compiled, implements
from .factorizations import _each, record
from .foreign import blas, fill, letter, turned
from .lapack import Body, _numpy_type, _real_type, _stacked
from .matrix_functions import ADJOINT, NO, _schur

__all__ = ["sqrtm"]


def not_real(dtype: Any) -> float:
    """The imaginary part, beside the largest element, from which on a root is not real: eigenvalues
    of singular matrices, rounded below 0, have one of about this size."""
    return float(np.sqrt(np.finfo(dtype).eps))


def sqrtm(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    """The principal square roots; a real matrix needs a real one."""
    for m, o in _each(a, out):
        finite = m.size and np.isfinite(m).all()
        root = scipy.linalg.sqrtm(m.astype(complex)) if finite else m
        size = np.abs(root).max(initial=0.0)
        if not np.isfinite(root).all() or (
            out.dtype.kind == "f"
            and np.abs(root.imag).max(initial=0.0) > not_real(out.dtype) * size
        ):
            o[...] = np.nan
            record(status, code, 1)
        else:
            o[...] = root if out.dtype.kind == "c" else root.real


def _triangular_root(dtype: Any) -> Body:
    """The square root of what is upper triangular in LAPACK's order, and 0, or 1 where there is
    none (Bjorck and Hammarling 1983)."""
    t = _numpy_type(dtype)

    def core(p: Any, r: Any) -> Any:
        # Columns are the first index here: p[j, i] stands in row i and column j. Rows are kept,
        # too, so that sums run along memory.
        n, failed = p.shape[0], 0
        rows = np.empty((n, n), t)
        for j in range(n):
            own = t(np.sqrt(p[j, j]))
            rows[j, j] = own
            r[j, j] = own
            for back in range(j):
                i = j - 1 - back
                total = p[j, i]
                for k in range(i + 1, j):
                    total = t(total - rows[i, k] * r[j, k])
                both = r[i, i] + r[j, j]
                if total != 0:
                    if both == 0:
                        failed = 1
                    else:
                        total = t(total / both)
                rows[i, j] = total
                r[j, i] = total
        return failed

    return compiled(core)


def _over_complex(p: Any, u: Any) -> None:
    """Schur's form of a real matrix, in complex arrays, becomes triangular: each block of two rows
    on the diagonal is turned by one of its eigenvectors."""
    n = p.shape[0]
    for back in range(n - 1):
        i = n - 2 - back
        below = p[i, i + 1].real
        if below == 0:
            continue
        half = (p[i, i] - p[i + 1, i + 1]) / 2
        along = half + np.sqrt(half * half + p[i + 1, i] * below)
        size = np.sqrt(along.real**2 + along.imag**2 + below**2)
        cosine, sine = along / size, below / size
        for j in range(i, n):
            x, y = p[j, i], p[j, i + 1]
            p[j, i], p[j, i + 1] = np.conj(cosine) * x + sine * y, cosine * y - sine * x
        for j in range(n):
            if j < i + 2:
                x, y = p[i, j], p[i + 1, j]
                p[i, j], p[i + 1, j] = cosine * x + sine * y, np.conj(cosine) * y - sine * x
            x, y = u[i, j], u[i + 1, j]
            u[i, j], u[i + 1, j] = cosine * x + sine * y, np.conj(cosine) * y - sine * x
        p[i, i + 1] = 0


implements(_over_complex, inline=False)(lambda p, u: _over_complex)


def _root_of_schur(dtype: Any) -> Body:
    """`root(p, u, r)`: the square root, into r, of u p u^H for an upper triangular p, in LAPACK's
    order; 0, or 1 where there is none. p is overwritten."""
    t, triangular = _numpy_type(dtype), _triangular_root(dtype)
    gemm = blas(dtype, "gemm", "cciiisaiaisai")

    def core(p: Any, u: Any, r: Any) -> Any:
        n = p.shape[0]
        failed = triangular(p, r)
        gemm(NO, NO, n, n, n, t(1), u, 0, n, r, 0, n, t(0), p, 0, n)
        gemm(NO, ADJOINT, n, n, n, t(1), p, 0, n, u, 0, n, t(0), r, 0, n)
        for j in range(n):
            for i in range(n):
                if not np.isfinite(r[j, i]):
                    failed = 1
        return failed

    return compiled(core)


def _make_sqrtm(a: Any, out: Any) -> Body:
    wide = np.complex64 if letter(a.dtype) in "sc" else np.complex128
    narrow = _real_type(a.dtype)
    inner = types.complex64 if wide is np.complex64 else types.complex128
    schur, root = _schur(a.dtype), _root_of_schur(inner)

    def of_complex(a: Any, out: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        p, u, r = np.empty((n, n), wide), np.empty((n, n), wide), np.zeros((n, n), wide)
        turned(a, p)
        info = schur(p, u)
        if max(info, root(p, u, r)) != 0:
            fill(out, np.nan)
            record(status, code, 1)
        else:
            turned(r, out)

    if letter(a.dtype) in "cz":
        return of_complex
    real_root, limit = _root_of_schur(a.dtype), not_real(narrow)

    def of_real(a: Any, out: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        p, u, r = np.empty((n, n), narrow), np.empty((n, n), narrow), np.zeros((n, n), narrow)
        turned(a, p)
        info = schur(p, u)
        simple = True
        for i in range(n):
            simple = simple and p[i, i] >= 0 and (i + 1 == n or p[i, i + 1] == 0)
        size, beside = 0.0, 0.0
        if simple:
            # Eigenvalues that are real, from 0 on: no complex numbers are needed.
            info = max(info, real_root(p, u, r))
        else:
            q, v, s = np.empty((n, n), wide), np.empty((n, n), wide), np.zeros((n, n), wide)
            for i in range(n):
                for j in range(n):
                    q[i, j], v[i, j] = wide(p[i, j]), wide(u[i, j])
            _over_complex(q, v)
            info = max(info, root(q, v, s))
            for i in range(n):
                for j in range(n):
                    r[i, j] = s[i, j].real
                    size = max(size, np.float64(np.abs(s[i, j])))
                    beside = max(beside, np.float64(np.abs(s[i, j].imag)))
        if info != 0 or beside > limit * size:
            fill(out, np.nan)
            record(status, code, 1)
        else:
            turned(r, out)

    return of_real


_stacked(sqrtm, (2, 2), _make_sqrtm)
