"""The orders that pivoting brings rows and columns into: single matrices or stacks with one leading
axis, in SciPy's terms, and through LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from .factorizations import _each
from .foreign import lapack, letter, turned
from .lapack import Body, _numpy_type, _real_type, _stacked

__all__ = ["column_order", "row_order"]


def column_order(a: Any, out: Any) -> None:
    """The order of columns in which QR factors are taken: each the longest, less its part along
    those before it."""
    for m, o in _each(a, out):
        if m.size:
            o[...] = scipy.linalg.qr(m, mode="r", pivoting=True, check_finite=False)[1]
        else:
            o[...] = np.arange(len(o))


def row_order(a: Any, out: Any) -> None:
    """The order of rows in which LU factors are taken: each with the largest element of what is
    left of its column."""
    getrf: Any = scipy.linalg.get_lapack_funcs("getrf", (a,))
    for m, o in _each(a, out):
        o[...] = np.arange(len(o))
        if m.size:
            for k, j in enumerate(getrf(m)[1]):
                o[k], o[j] = o[j], o[k]


def _make_column_order(a: Any, out: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    geqp3 = lapack(a.dtype, "geqp3", "iiaiaaaiao" if is_complex else "iiaiaaaio")
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)

    def core(a: Any, out: Any) -> None:
        m, n = a.shape
        order, work, tau = np.zeros(n, np.int32), np.empty((n, m), t), np.empty(min(m, n), t)
        if m * n == 0:
            for j in range(n):
                out[j] = j
            return
        turned(a, work)
        space = np.empty(3 * n + 1 + 64 * (n + 1), t)
        if is_complex:
            geqp3(m, n, work, 0, m, order, 0, tau, 0, space, 0, space.size,
                  np.empty(2 * n, real), 0)  # fmt: skip
        else:
            geqp3(m, n, work, 0, m, order, 0, tau, 0, space, 0, space.size)
        for j in range(n):
            out[j] = order[j] - 1

    return core


def _make_row_order(a: Any, out: Any) -> Body:
    getrf = lapack(a.dtype, "getrf", "iiaiao")
    t = _numpy_type(a.dtype)

    def core(a: Any, out: Any) -> None:
        m, n = a.shape
        exchanged, work = np.empty(min(m, n), np.int32), np.empty((n, m), t)
        for i in range(m):
            out[i] = i
        if m * n == 0:
            return
        turned(a, work)
        getrf(m, n, work, 0, m, exchanged, 0)
        for i in range(min(m, n)):
            j = exchanged[i] - 1
            before = out[i]
            out[i] = out[j]
            out[j] = before

    return core


_stacked(column_order, (2, 1), _make_column_order)
_stacked(row_order, (2, 1), _make_row_order)
