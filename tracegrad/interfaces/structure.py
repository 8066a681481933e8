"""Which elements of a Jacobian or Hessian a consumer gets, and in which order.

Dense for now: all elements of the Jacobian, and the lower triangle of the Hessian, row after row.
Who finds a sparser pattern gives other rows and columns here; what calls this needs no change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Structure:
    """Coordinates of the elements, counted from 0."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, matrix: Any) -> Any:
        """The elements of a matrix that stand in the structure, as one vector."""
        if len(self) == self.shape[0] * self.shape[1]:
            return np.reshape(matrix, -1)
        return matrix[np.array(self.rows), np.array(self.columns)]


def jacobian_structure(m: int, n: int) -> Structure:
    """All elements, row after row."""
    rows = [i for i in range(m) for _ in range(n)]
    return Structure(tuple(rows), tuple(range(n)) * m, (m, n))


def hessian_structure(n: int) -> Structure:
    """The lower triangle, row after row."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    return Structure(tuple([i for i, _ in pairs]), tuple([j for _, j in pairs]), (n, n))


__all__ = ["Structure", "hessian_structure", "jacobian_structure"]
