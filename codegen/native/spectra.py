"""Eigenvalues of Hermitian matrices and singular values without vectors, through LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from .factorizations import eigvalsh, record, svdvals
from .foreign import fill, lapack, letter, turned
from .lapack import LOWER, PLAIN, Body, _numpy_type, _real_type, _stacked

__all__ = ["eigvalsh", "svdvals"]


def _make_eigvalsh(a: Any, w: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    kinds = "cciaiaaiaiaio" if is_complex else "cciaiaaiaio"
    evd = lapack(a.dtype, "syevd", kinds, "heevd")

    def of_complex(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, space = np.empty((n, n), t), np.empty(65 * n + 1, t)
        reals, ints = np.empty(n, real), np.empty(1, np.int32)
        turned(a, work)
        info = evd(
            PLAIN, LOWER, n, work, 0, n, w, 0, space, 0, space.size, reals, 0, reals.size, ints, 0,
            ints.size,
        )  # fmt: skip
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)

    def of_real(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        # Room for blocks of 64 columns, with which the reduction to a tridiagonal matrix is fast.
        work, space, ints = np.empty((n, n), t), np.empty(66 * n + 1, t), np.empty(1, np.int32)
        turned(a, work)
        info = evd(PLAIN, LOWER, n, work, 0, n, w, 0, space, 0, space.size, ints, 0, ints.size)
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)

    return of_complex if is_complex else of_real


def _make_svdvals(a: Any, s: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    gesdd = lapack(a.dtype, "gesdd", "ciiaiaaiaiaiaao" if is_complex else "ciiaiaaiaiaiao")

    def of_complex(a: Any, s: Any, status: Any, code: int) -> None:
        m, n = a.shape
        k, large = min(m, n), max(m, n)
        if k == 0:
            return
        work, space = np.empty((n, m), t), np.empty(2 * k + 64 * (large + k), t)
        reals, ints = np.empty(7 * k, real), np.empty(8 * k, np.int32)
        turned(a, work)
        info = gesdd(
            PLAIN, m, n, work, 0, m, s, 0, work, 0, m, work, 0, k, space, 0, space.size, reals, 0,
            ints, 0,
        )  # fmt: skip
        if info != 0:
            fill(s, np.nan)
            record(status, code, info)

    def of_real(a: Any, s: Any, status: Any, code: int) -> None:
        m, n = a.shape
        k, large = min(m, n), max(m, n)
        if k == 0:
            return
        work, space = np.empty((n, m), t), np.empty(10 * k + 64 * (large + k), t)
        ints = np.empty(8 * k, np.int32)
        turned(a, work)
        info = gesdd(
            PLAIN, m, n, work, 0, m, s, 0, work, 0, m, work, 0, k, space, 0, space.size, ints, 0
        )
        if info != 0:
            fill(s, np.nan)
            record(status, code, info)

    return of_complex if is_complex else of_real


_stacked(eigvalsh, (2, 1), _make_eigvalsh)
_stacked(svdvals, (2, 1), _make_svdvals)
