"""Eigenvalues of general matrices, LU factors, Sylvester's equation and exponentials: single
matrices or stacks with one leading axis, in NumPy's and SciPy's terms, and through LAPACK.

What fails never raises: `status` receives it, and the results become NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from .bridge import compiled, implements
from .factorizations import _each, record
from .foreign import blas, fill, lapack, letter, turned
from .lapack import Body, _numpy_type, _real_type, _stacked

__all__ = ["eig", "eigvals", "expm", "lu", "permutation", "sylvester"]

NO, ADJOINT = ord("N"), ord("C")
VECTORS = ord("V")
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""The coefficients of the rational approximation of the exponential of degree 13."""
LARGEST = 4.25
"""Up to this size of the matrix that approximation is exact to rounding."""


def eig(a: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
    """Eigenvalues and eigenvectors, complex ones, of which each has the length 1."""
    for m, ow, ov in _each(a, w, v):
        try:
            ow[...], ov[...] = np.linalg.eig(m)
        except np.linalg.LinAlgError:
            ow[...], ov[...] = np.nan, np.nan
            record(status, code, 1)


def eigvals(a: Any, w: Any, status: Any = None, code: int = 0) -> None:
    """Eigenvalues, complex ones."""
    for m, ow in _each(a, w):
        try:
            ow[...] = np.linalg.eigvals(m)
        except np.linalg.LinAlgError:
            ow[...] = np.nan
            record(status, code, 1)


def lu(a: Any, packed: Any, pivots: Any) -> None:
    """Both triangular factors in one matrix, and with which row each row was exchanged."""
    for m, op, oi in _each(a, packed, pivots):
        if m.size:
            op[...], oi[...] = scipy.linalg.lu_factor(m, check_finite=False)


def permutation(pivots: Any, out: Any) -> None:
    """The order in which the exchanges leave the rows."""
    for p, o in _each(pivots, out, ndim=1):
        o[...] = np.arange(len(p))
        for i in range(len(p)):
            o[i], o[p[i]] = o[p[i]], o[i]


def sylvester(a: Any, b: Any, q: Any, x: Any, status: Any = None, code: int = 0) -> None:
    """`a @ x + x @ b = q`."""
    form = "complex" if q.dtype.kind == "c" else "real"
    schur: Any = scipy.linalg.schur
    for ma, mb, mq, ox in _each(a, b, q, x):
        if not mq.size:
            continue
        (r, u), (s, v) = (schur(m, output=form) for m in (ma, mb))
        trsyl: Any = scipy.linalg.get_lapack_funcs("trsyl", (mq,))
        y, scale, info = trsyl(r, s, u.conj().T @ mq @ v)
        ox[...] = u @ (y / scale) @ v.conj().T
        if info:
            ox[...] = np.nan
            record(status, code, 1)


def expm(a: Any, out: Any) -> None:
    """The exponentials of matrices."""
    out[...] = scipy.linalg.expm(a) if a.size else a


# --- compiled -------------------------------------------------------------------------------------


def _make_eig(a: Any, w: Any, v: Any) -> Body:
    t, of_complex = _numpy_type(a.dtype), letter(a.dtype) in "cz"
    real, target = _real_type(a.dtype), _numpy_type(v.dtype)
    if of_complex:
        of_z = lapack(a.dtype, "geev", "cciaiaaiaiaiao")

        def complex_body(a: Any, w: Any, v: Any, status: Any, code: int) -> None:
            n = a.shape[0]
            if n == 0:
                return
            work, right = np.empty((n, n), t), np.empty((n, n), t)
            space, reals = np.empty(64 * n, t), np.empty(2 * n, real)
            turned(a, work)
            info = of_z(NO, VECTORS, n, work, 0, n, w, 0, right, 0, n, right, 0, n, space, 0,
                        space.size, reals, 0)  # fmt: skip
            if info != 0:
                fill(w, np.nan)
                fill(v, np.nan)
                record(status, code, info)
            else:
                turned(right, v)

        return complex_body
    of_d = lapack(a.dtype, "geev", "cciaiaaaiaiaio")

    def body(a: Any, w: Any, v: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, right = np.empty((n, n), t), np.empty((n, n), t)
        space, wr, wi = np.empty(64 * n, t), np.empty(n, t), np.empty(n, t)
        turned(a, work)
        info = of_d(NO, VECTORS, n, work, 0, n, wr, 0, wi, 0, right, 0, n, right, 0, n, space, 0,
                    space.size)  # fmt: skip
        if info != 0:
            fill(w, np.nan)
            fill(v, np.nan)
            record(status, code, info)
            return
        for j in range(n):
            w[j] = target(complex(wr[j], wi[j]))
            for i in range(n):
                # Of a pair of conjugates LAPACK gives the real part, then the imaginary one.
                if wi[j] > 0:
                    v[i, j] = target(complex(right[j, i], right[j + 1, i]))
                elif wi[j] < 0:
                    v[i, j] = target(complex(right[j - 1, i], -right[j, i]))
                else:
                    v[i, j] = target(right[j, i])

    return body


def _make_eigvals(a: Any, w: Any) -> Body:
    t, of_complex = _numpy_type(a.dtype), letter(a.dtype) in "cz"
    real, target = _real_type(a.dtype), _numpy_type(w.dtype)
    geev = lapack(a.dtype, "geev", "cciaiaaiaiaiao" if of_complex else "cciaiaaaiaiaio")

    def complex_body(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, space, reals = np.empty((n, n), t), np.empty(64 * n, t), np.empty(2 * n, real)
        turned(a, work)
        info = geev(NO, NO, n, work, 0, n, w, 0, work, 0, n, work, 0, n, space, 0, space.size,
                    reals, 0)  # fmt: skip
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)

    def body(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, space = np.empty((n, n), t), np.empty(64 * n, t)
        wr, wi = np.empty(n, t), np.empty(n, t)
        turned(a, work)
        info = geev(NO, NO, n, work, 0, n, wr, 0, wi, 0, work, 0, n, work, 0, n, space, 0,
                    space.size)  # fmt: skip
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)
            return
        for j in range(n):
            w[j] = target(complex(wr[j], wi[j]))

    return complex_body if of_complex else body


def _make_lu(a: Any, packed: Any, pivots: Any) -> Body:
    getrf = lapack(a.dtype, "getrf", "iiaiao")
    t = _numpy_type(a.dtype)

    def core(a: Any, packed: Any, pivots: Any) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, exchanged = np.empty((n, n), t), np.empty(n, np.int32)
        turned(a, work)
        getrf(n, n, work, 0, n, exchanged, 0)
        turned(work, packed)
        for i in range(n):
            pivots[i] = exchanged[i] - 1

    return core


def _make_permutation(pivots: Any, out: Any) -> Body:
    def core(pivots: Any, out: Any) -> None:
        for i in range(out.shape[0]):
            out[i] = i
        for i in range(out.shape[0]):
            j = pivots[i]
            before = out[i]
            out[i] = out[j]
            out[j] = before

    return core


def _schur(dtype: Any) -> Body:
    """Schur's form of what a matrix is in LAPACK's order, in place, with its vectors."""
    t, real = _numpy_type(dtype), _real_type(dtype)
    if letter(dtype) in "cz":
        of_z = lapack(dtype, "gees", "ccaiaiaaaiaiaao")

        def complex_core(work: Any, vectors: Any) -> Any:
            n = work.shape[0]
            none, space, reals = np.zeros(n, np.int32), np.empty(64 * n, t), np.empty(n, real)
            values = np.empty(n, t)
            return of_z(VECTORS, NO, none, 0, n, work, 0, n, none, 0, values, 0, vectors, 0, n,
                        space, 0, space.size, reals, 0, none, 0)  # fmt: skip

        return compiled(complex_core)
    of_d = lapack(dtype, "gees", "ccaiaiaaaaiaiao")

    def core(work: Any, vectors: Any) -> Any:
        n = work.shape[0]
        none, space = np.zeros(n, np.int32), np.empty(64 * n, t)
        wr, wi = np.empty(n, t), np.empty(n, t)
        return of_d(VECTORS, NO, none, 0, n, work, 0, n, none, 0, wr, 0, wi, 0, vectors, 0, n,
                    space, 0, space.size, none, 0)  # fmt: skip

    return compiled(core)


def _copy(source: Any, target: Any) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


implements(_copy, inline=False)(lambda source, target: _copy)


def _make_sylvester(a: Any, b: Any, q: Any, x: Any) -> Body:
    # LAPACK sees the transposes of all of them, whose equation is b' x' + x' a' = q'.
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    schur = _schur(a.dtype)
    gemm = blas(a.dtype, "gemm", "cciiisaiaisai")
    trsyl = lapack(a.dtype, "trsyl", "cciiiaiaiaiao")

    def core(a: Any, b: Any, q: Any, x: Any, status: Any, code: int) -> None:
        n, m = q.shape
        if n == 0 or m == 0:
            return
        p, u = np.empty((n, n), t), np.empty((n, n), t)
        r, v = np.empty((m, m), t), np.empty((m, m), t)
        w, c, scale = np.empty((n, m), t), np.empty((n, m), t), np.empty(1, real)
        _copy(a, p)
        _copy(b, r)
        info = schur(p, u) + schur(r, v)
        gemm(NO, NO, m, n, n, t(1), q, 0, m, u, 0, n, t(0), w, 0, m)
        gemm(ADJOINT, NO, m, n, m, t(1), v, 0, m, w, 0, m, t(0), c, 0, m)
        if info == 0:
            info = trsyl(NO, NO, 1, m, n, r, 0, m, p, 0, n, c, 0, m, scale, 0)
        gemm(NO, NO, m, n, m, t(1), v, 0, m, c, 0, m, t(0), w, 0, m)
        gemm(NO, ADJOINT, m, n, n, t(1), w, 0, m, u, 0, n, t(0), x, 0, m)
        if info != 0:
            fill(x, np.nan)
            record(status, code, info)
        elif scale[0] != 1:
            for i in range(n):
                for j in range(m):
                    x[i, j] = t(x[i, j] / scale[0])

    return core


def _norm(x: Any) -> Any:
    """The largest sum of a column."""
    largest = 0.0
    for j in range(x.shape[1]):
        total = 0.0
        for i in range(x.shape[0]):
            total += np.float64(np.abs(x[i, j]))
        if not total <= largest:
            largest = total
    return largest


implements(_norm, inline=False)(lambda x: _norm)


def _make_expm(a: Any, out: Any) -> Body:
    t = _numpy_type(a.dtype)
    times = blas(a.dtype, "gemm", "cciiisaiaisai")
    gesv = lapack(a.dtype, "gesv", "iiaiaaio")
    b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13 = PADE

    # LAPACK sees transposes throughout, and the exponential of the transpose is the transpose.
    def core(a: Any, out: Any) -> None:
        n = a.shape[0]
        if n == 0:
            return
        one, zero = t(1), t(0)
        x, x2, x4, x6 = (np.empty((n, n), t), np.empty((n, n), t), np.empty((n, n), t),
                         np.empty((n, n), t))  # fmt: skip
        u, v, w, pivots = (np.empty((n, n), t), np.empty((n, n), t), np.empty((n, n), t),
                           np.empty(n, np.int32))  # fmt: skip
        times(NO, NO, n, n, n, one, a, 0, n, a, 0, n, zero, x2, 0, n)
        times(NO, NO, n, n, n, one, x2, 0, n, x2, 0, n, zero, x4, 0, n)
        times(NO, NO, n, n, n, one, x4, 0, n, x2, 0, n, zero, x6, 0, n)
        times(NO, NO, n, n, n, one, x4, 0, n, x4, 0, n, zero, u, 0, n)
        times(NO, NO, n, n, n, one, x4, 0, n, x6, 0, n, zero, v, 0, n)
        # Of a matrix that is far from normal the powers say how often it has to be halved, and its
        # norm says too much.
        low = max(_norm(x4) ** 0.25, _norm(x6) ** (1 / 6))
        size = min(low, max(_norm(u) ** 0.125, _norm(v) ** 0.1))
        if not size < np.inf:
            size = _norm(a)
        count, scale = 0, 1.0
        while size > LARGEST and count < 1100:
            size *= 0.5
            scale *= 0.5
            count += 1
        if count >= 1100 or size != size:
            fill(out, np.nan)
            return
        for i in range(n):
            for j in range(n):
                x[i, j] = t(a[i, j] * scale)
        times(NO, NO, n, n, n, one, x, 0, n, x, 0, n, zero, x2, 0, n)
        times(NO, NO, n, n, n, one, x2, 0, n, x2, 0, n, zero, x4, 0, n)
        times(NO, NO, n, n, n, one, x4, 0, n, x2, 0, n, zero, x6, 0, n)
        for i in range(n):
            for j in range(n):
                u[i, j] = t(b13 * x6[i, j] + b11 * x4[i, j] + b9 * x2[i, j])
                v[i, j] = t(b12 * x6[i, j] + b10 * x4[i, j] + b8 * x2[i, j])
        times(NO, NO, n, n, n, one, x6, 0, n, u, 0, n, zero, w, 0, n)
        for i in range(n):
            for j in range(n):
                unit = 1.0 if i == j else 0.0
                w[i, j] = t(w[i, j] + b7 * x6[i, j] + b5 * x4[i, j] + b3 * x2[i, j] + b1 * unit)
        times(NO, NO, n, n, n, one, x, 0, n, w, 0, n, zero, u, 0, n)
        times(NO, NO, n, n, n, one, x6, 0, n, v, 0, n, zero, w, 0, n)
        for i in range(n):
            for j in range(n):
                unit = 1.0 if i == j else 0.0
                even = t(w[i, j] + b6 * x6[i, j] + b4 * x4[i, j] + b2 * x2[i, j] + b0 * unit)
                v[i, j] = t(even - u[i, j])
                x[i, j] = t(even + u[i, j])
        gesv(n, n, v, 0, n, pivots, 0, x, 0, n)
        for _ in range(count):
            times(NO, NO, n, n, n, one, x, 0, n, x, 0, n, zero, w, 0, n)
            _copy(w, x)
        _copy(x, out)

    return core


_stacked(eig, (2, 1, 2), _make_eig)
_stacked(eigvals, (2, 1), _make_eigvals)
_stacked(lu, (2, 2, 1), _make_lu)
_stacked(permutation, (1, 1), _make_permutation)
_stacked(sylvester, (2, 2, 2, 2), _make_sylvester)
_stacked(expm, (2, 2), _make_expm)
