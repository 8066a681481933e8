"""Matrices given by their diagonals, as Python computes with them.

A matrix `a` with so many diagonals below (`lower`) and above (`upper`) the main one is
`ab[upper + i - j, j] = a[i, j]`, as LAPACK and SciPy have it; what else is in `ab` is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .loading import imported

__all__ = ["entries", "product", "solve", "turned"]


def _diagonals(n: int, lower: int, upper: int) -> Iterator[tuple[int, slice, slice]]:
    """Of each diagonal, from above to below: where it stands in `ab`, its rows and its columns."""
    for place in range(lower + upper + 1):
        below = place - upper
        first, last = max(0, -below), min(n, n - below)
        if first < last:
            yield place, slice(first + below, last + below), slice(first, last)


def turned(ab: Any, lower: int, upper: int) -> Any:
    """The diagonals of the transposed matrix."""
    out = np.zeros_like(ab)
    for place, rows, columns in _diagonals(ab.shape[-1], lower, upper):
        out[lower + upper - place, rows] = ab[place, columns]
    return out


def solve(ab: Any, b: Any, out: Any, lower: int, upper: int, trans: int, definite: bool) -> bool:
    """x with op(a) @ x = b for stacks of diagonals (s, lower + upper + 1, n) and right-hand sides
    (s, n, k), op being nothing, transposition or its conjugate for trans 0, 1, 2. Hermitian
    matrices that are said to be positive definite have to be. NaN where there is no solution, which
    is what False says."""
    fine = True
    for bands, right, x in zip(ab, b, out, strict=True):
        if not x.size:
            continue
        if trans:
            bands = turned(bands.conj() if trans == 2 else bands, lower, upper)
        below, above = (upper, lower) if trans else (lower, upper)
        try:
            x[...] = _solved(bands, right, below, above, definite)
        except np.linalg.LinAlgError:
            x[...] = np.nan
            fine = False
    return fine


def _solved(bands: Any, right: Any, below: int, above: int, definite: bool) -> Any:
    linalg: Any = imported("scipy.linalg")
    if definite:
        # SciPy's takes no two diagonals of a single number.
        bands = bands[: above + bands.shape[1]]
        return linalg.solveh_banded(bands[above:], right, lower=True, check_finite=False)
    if bands.shape[1] == 1:
        # Of a single equation SciPy does not look at the divisor.
        return np.linalg.solve(bands[above : above + 1], right)
    return linalg.solve_banded((below, above), bands, right, check_finite=False)


def product(ab: Any, x: Any, out: Any, lower: int, upper: int, trans: int) -> None:
    """op(a) @ x for stacks."""
    out[...] = 0
    values = ab.conj() if trans == 2 else ab
    for place, rows, columns in _diagonals(x.shape[1], lower, upper):
        to, source = (columns, rows) if trans else (rows, columns)
        out[:, to] += values[:, place, columns, None] * x[:, source]


def entries(y: Any, x: Any, out: Any, lower: int, upper: int) -> None:
    """The diagonals of y @ x.T for stacks (s, n, k), zero where there is no element."""
    out[...] = 0
    for place, rows, columns in _diagonals(x.shape[1], lower, upper):
        out[:, place, columns] = np.einsum("sik,sik->si", y[:, rows], x[:, columns])
