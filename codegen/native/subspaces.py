"""Subspaces that a matrix maps into themselves: single matrices or stacks with one leading axis, in
SciPy's terms, and through LAPACK.

What fails never raises: `status` receives it, and the results become NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from .bridge import implements
from .factorizations import _each, record
from .foreign import fill, lapack, letter, turned
from .lapack import Body, _numpy_type, _real_type, _stacked
from .matrix_functions import _norm, _schur

__all__ = ["stable_slope"]

NO, VECTORS = ord("N"), ord("V")
TOO_CLOSE = 10
"""Roundings of the matrix's norm: so near to 0 the sign of a real part is not known."""
UNEVEN = 1e-3
"""How far a solution may be from Hermitian, which it is but for rounding."""


def stable_slope(s: Any, y: Any, status: Any = None, code: int = 0) -> None:
    """The y for which [I; y] spans what the eigenvalues with negative real parts do; as many rows
    as it has columns are Hermitian."""
    for m, out in _each(s, y):
        found = _by_schur(m, out.shape[1]) if out.size else out
        if found is None:
            out[...] = np.nan
            record(status, code, 1)
        else:
            out[...] = found


def _by_schur(m: Any, count: int) -> Any:
    if not np.isfinite(m).all():
        return None
    t, u, stable = scipy.linalg.schur(m, "complex" if m.dtype.kind == "c" else "real", sort="lhp")
    least = TOO_CLOSE * np.finfo(m.dtype).eps * np.abs(m).sum(0).max()
    if stable != count or np.abs(np.diag(t).real).min() <= least:
        return None
    try:
        found = np.linalg.solve(u[:count, :count].T, u[count:, :count].T).T
    except np.linalg.LinAlgError:
        return None
    x = found[:count]
    apart = np.abs(x - x.conj().T).sum(0).max()
    return found if apart <= UNEVEN * np.abs(x).sum(0).max() else None


def _chosen(t: Any, select: Any, least: Any) -> Any:
    """How many eigenvalues of Schur's form have negative real parts; -1 where one is near 0."""
    count = 0
    for i in range(t.shape[0]):
        size = np.float64(t[i, i].real)
        if not abs(size) > least:
            return -1
        select[i] = 1 if size < 0 else 0
        count += select[i]
    return count


def _uneven(y: Any, part: Any) -> bool:
    """Whether the first rows of y are far from Hermitian, or not finite."""
    m = y.shape[1]
    for i in range(m):
        for j in range(m):
            part[i, j] = y[i, j]
    size = _norm(part)
    for i in range(m):
        for j in range(m):
            part[i, j] = y[i, j] - np.conj(y[j, i])
    return not _norm(part) <= UNEVEN * size or not _norm(y) < np.inf


implements(_uneven, inline=False)(lambda y, part: _uneven)
implements(_chosen, inline=False)(lambda t, select, least: _chosen)


def _make_stable_slope(s: Any, y: Any) -> Body:
    t, real, of_complex = _numpy_type(s.dtype), _real_type(s.dtype), letter(s.dtype) in "cz"
    schur = _schur(s.dtype)
    gesv = lapack(s.dtype, "gesv", "iiaiaaio")
    trsen: Any = lapack(s.dtype, "trsen", "ccaiaiaiaaaaaio" if of_complex else "ccaiaiaiaaaaaaiaio")
    unit = TOO_CLOSE * float(np.finfo(t).eps)

    def core(s: Any, y: Any, status: Any, code: int) -> None:
        n, m = s.shape[0], y.shape[1]
        if y.size == 0:
            return
        work, u = np.empty((n, n), t), np.empty((n, n), t)
        select, space = np.empty(n, np.int32), np.empty(64 * n, t)
        first, second, places = np.empty(n, t), np.empty(n, t), np.empty(n, np.int32)
        size = _norm(s)
        least = unit * size
        turned(s, work)
        info = 0 if size < np.inf else 1
        if info == 0:
            info = schur(work, u)
        if info == 0 and _chosen(work, select, least) != m:
            info = 1
        if info == 0:
            one, few = np.empty(1, np.int32), np.empty(2, real)
            if of_complex:
                info = trsen(NO, VECTORS, select, 0, n, work, 0, n, u, 0, n, first, 0, one, 0, few,
                            0, few, 1, space, 0, space.size)  # fmt: skip
            else:
                info = trsen(NO, VECTORS, select, 0, n, work, 0, n, u, 0, n, first, 0, second, 0,
                            one, 0, few, 0, few, 1, space, 0, space.size, places, 0, n)  # fmt: skip
        if info == 0:
            # Columns are the first index here: u[j, i] stands in row i and column j.
            a, pivots = np.empty((m, m), t), np.empty(m, np.int32)
            for i in range(m):
                for j in range(m):
                    a[j, i] = u[i, j]
                for j in range(n - m):
                    y[j, i] = u[i, m + j]
            info = gesv(m, n - m, a, 0, m, pivots, 0, y, 0, m)
            if _uneven(y, a):
                info = 1
        if info != 0:
            fill(y, np.nan)
            record(status, code, 1)

    return core


_stacked(stable_slope, (2, 2), _make_stable_slope)
