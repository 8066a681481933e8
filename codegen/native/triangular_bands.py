"""Triangular systems of diagonals with one right-hand side, solved from the diagonals as they lie.

A block of unknowns at a time: what the unknowns before it contribute goes along the diagonals,
which lie in memory one behind the other; inside of the block it is substitution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .bridge import implements
from .support import index

__all__ = ["BLOCK", "solved_by_diagonals"]

BLOCK = 32


def solved_by_diagonals(
    ab: Any, x: Any, lower: int, upper: int, trans: int, s: int, sums: Any
) -> int:
    """`op(a) @ x = b` for the diagonals ab[s] of a triangular matrix (lower or upper is 0), b being
    what x[s, :, 0] holds, which becomes the solution; the number of a row whose element on the main
    diagonal is 0, else 0. `sums` has room for `BLOCK` numbers."""
    n, k = ab.shape[2], lower + upper
    step = 1 if lower > 0 else -1
    forward = (lower > 0) == (trans == 0)
    for first in range(0, n, BLOCK):
        many = min(BLOCK, n - first)
        start = first if forward else n - first - many
        for j in range(many):
            sums[index(j)] = x[s, index(start + j), 0]
        for d in range(1, k + 1):
            place = index(upper + step * d)
            low = max(start, d) if forward else max(start, start + many - d)
            high = min(start + many, start + d) if forward else min(start + many, n - d)
            if low >= high:
                continue
            other = low - d if forward else low + d
            at = low if trans != 0 else other
            column, row, before = index(at), index(low - start), index(other)
            if trans == 2:
                for q in range(index(0), index(high - low)):
                    sums[row + q] -= np.conj(ab[s, place, column + q]) * x[s, before + q, 0]
            else:
                for q in range(index(0), index(high - low)):
                    sums[row + q] -= ab[s, place, column + q] * x[s, before + q, 0]
        for j in range(many):
            i = start + j if forward else start + many - 1 - j
            total = sums[index(i - start)]
            for d in range(1, min(k, j) + 1):
                source = i - d if forward else i + d
                where = i if trans != 0 else source
                value = ab[s, index(upper + step * d), index(where)]
                if trans == 2:
                    value = np.conj(value)
                total -= value * x[s, index(source), 0]
            pivot = ab[s, index(upper), index(i)]
            if trans == 2:
                pivot = np.conj(pivot)
            if pivot == 0:
                return i + 1
            x[s, index(i), 0] = total / pivot
    return 0


implements(solved_by_diagonals, inline=False)(
    lambda ab, x, lower, upper, trans, s, sums: solved_by_diagonals
)
