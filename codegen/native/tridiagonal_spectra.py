"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices, through LAPACK, which reads the
two diagonals only."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bridge import implements, scalar_type
from .factorizations import record
from .foreign import fill, lapack, turned
from .lapack import PLAIN

__all__ = ["tridiagonal_eigh", "tridiagonal_eigvalsh"]

VECTORS = ord("V")


def tridiagonal_eigh(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
    """For stacks of diagonals (s, n) and of what is beside them (s, n - 1)."""
    for q in range(len(d)):
        if not np.isfinite(d[q]).all() or not np.isfinite(e[q]).all():
            w[q] = v[q] = np.nan
            continue
        w[q], v[q] = np.linalg.eigh(np.diag(d[q]) + np.diag(e[q], -1))


def tridiagonal_eigvalsh(d: Any, e: Any, w: Any, status: Any = None, code: int = 0) -> None:
    """The values alone."""
    tridiagonal_eigh(d, e, w, np.empty((*d.shape, d.shape[1])), status, code)


# --- compiled -------------------------------------------------------------------------------------


def _taken(d: Any, e: Any, w: Any, beside: Any) -> bool:
    """Copies, which LAPACK works in, and whether all is finite."""
    total = d[0] - d[0]
    for i in range(len(d)):
        w[i] = d[i]
        total += d[i] - d[i]
    for i in range(len(e)):
        beside[i] = e[i]
        total += e[i] - e[i]
    return bool(total == 0)


implements(_taken, inline=False)(lambda d, e, w, beside: _taken)


@implements(tridiagonal_eigh, inline=False)
def _type_eigh(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: Any = 0) -> Any:
    number, stevd = scalar_type(d.dtype), lapack(d.dtype, "stevd", "ciaaaiaiaio")

    def body(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
        count, n = d.shape
        if n == 0:
            return
        beside, inner = np.empty(n, number), np.empty((n, n), number)
        space, ints = np.empty(1 + 4 * n + n * n, number), np.empty(3 + 5 * n, np.int32)
        for q in range(count):
            if not _taken(d[q], e[q], w[q], beside):
                fill(w[q], np.nan)
                fill(v[q], np.nan)
                continue
            info = stevd(
                VECTORS, n, w, q * n, beside, 0, inner, 0, n, space, 0, space.size, ints, 0,
                ints.size,
            )  # fmt: skip
            turned(inner, v[q])
            if info != 0:
                fill(w[q], np.nan)
                fill(v[q], np.nan)
                record(status, code, info)

    return body


@implements(tridiagonal_eigvalsh, inline=False)
def _type_eigvalsh(d: Any, e: Any, w: Any, status: Any = None, code: Any = 0) -> Any:
    number, stevd = scalar_type(d.dtype), lapack(d.dtype, "stevd", "ciaaaiaiaio")

    def body(d: Any, e: Any, w: Any, status: Any = None, code: int = 0) -> None:
        count, n = d.shape
        if n == 0:
            return
        beside, none, ints = np.empty(n, number), np.empty(1, number), np.empty(1, np.int32)
        for q in range(count):
            info = 0
            if not _taken(d[q], e[q], w[q], beside):
                fill(w[q], np.nan)
            else:
                info = stevd(
                    PLAIN, n, w, q * n, beside, 0, none, 0, 1, none, 0, 1, ints, 0, 1
                )  # fmt: skip
            if info != 0:
                fill(w[q], np.nan)
                record(status, code, info)

    return body
