"""Adjugates of matrices that are far from singular: the determinant times the inverse, from one
elimination. A quarter of the time of singular values, which all others take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import numpy_support

from .bridge import compiled
from .foreign import lapack, turned

LARGEST_CONDITION = 1e3
"""Up to this product of the norms of a matrix and its inverse the latter has the digits that
singular values give."""
ROOM = 2.0**8
"""How far from the ends of the range of numbers each product of pivots has to stay."""


def by_elimination(dtype: Any) -> Any:
    """What stores the adjugate of a matrix, or says that it cannot vouch for the digits."""
    gesv = lapack(dtype, "gesv", "iiaiaaio")
    t = numpy_support.as_dtype(dtype).type
    info = np.finfo(t)
    least, most = float(info.tiny) * ROOM, float(info.max) / ROOM

    def core(a: Any, out: Any) -> bool:
        n = a.shape[0]
        work, inverse, pivots = np.empty((n, n), t), np.zeros((n, n), t), np.empty(n, np.int32)
        turned(a, work)
        for i in range(n):
            inverse[i, i] = t(1)
        if gesv(n, n, work, 0, n, pivots, 0, inverse, 0, n) != 0:
            return False
        determinant = t(1)
        for i in range(n):
            determinant = t(determinant * work[i, i])
            if pivots[i] != i + 1:
                determinant = t(determinant * t(-1))
            if not least < np.abs(determinant) < most:
                return False
        size, size_of_inverse = 0.0, 0.0
        for i in range(n):
            row, column = 0.0, 0.0
            for j in range(n):
                row += np.abs(a[i, j])
                column += np.abs(inverse[j, i])
            size, size_of_inverse = max(size, row), max(size_of_inverse, column)
        if not size * size_of_inverse <= LARGEST_CONDITION:
            return False
        turned(inverse, out)
        for i in range(n):
            for j in range(n):
                out[i, j] = t(out[i, j] * determinant)
        return True

    return compiled(core)
