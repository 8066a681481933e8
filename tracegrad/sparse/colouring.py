"""Colours: which columns of a sparse matrix can be found from one product with a vector.

Columns without a common row share a seed. For a symmetric matrix it is enough that each entry
stands alone in its row or in its mirror's (star colouring), which takes fewer colours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._codegen import loading

ORDERS = ("natural", "largest_first", "smallest_last")
"""In which order vertices are coloured."""


class Colours(NamedTuple):
    """A colouring of the columns, and where each entry (in the order of the rows) is found:
    `place` is `colour * rows + row` of the products, one behind the other."""

    colour: np.ndarray
    number: int
    place: np.ndarray


def _order(pattern: Any, order: str) -> np.ndarray:
    """The vertices (columns) in the order in which they are coloured."""
    n = pattern.shape[1]
    if order == "natural":
        return np.arange(n)
    if order == "largest_first":
        return np.argsort(-np.bincount(pattern.indices, minlength=n), kind="stable")
    if pattern.shape[0] != n:
        raise ValueError("smallest_last is an order for symmetric patterns")
    found: np.ndarray = _native().smallest_last(pattern.indptr, pattern.indices)
    return found


def _native() -> Any:
    return loading.imported("..codegen.native.colouring", __package__)


def colour_columns(pattern: Any, order: str = "largest_first") -> Colours:
    """Colours of a CSR pattern such that no two columns of one colour meet in a row."""
    by_columns = pattern.tocsc()
    colour = _native().columns_apart(
        by_columns.indptr,
        by_columns.indices,
        pattern.indptr,
        pattern.indices,
        _order(pattern, order),
    )
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    place = colour[pattern.indices] * pattern.shape[0] + rows
    return Colours(colour, _count(colour), place)


def colour_symmetric(pattern: Any, order: str = "natural") -> Colours:
    """A star colouring of a symmetric CSR pattern."""
    n = pattern.shape[0]
    colour = _native().star(pattern.indptr, pattern.indices, _order(pattern, order))
    count = _count(colour)
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    key = rows * max(count, 1) + colour[columns]
    _, which, times = np.unique(key, return_inverse=True, return_counts=True)
    alone = times[which] == 1
    place = np.where(alone, colour[columns] * n + rows, colour[rows] * n + columns)
    return Colours(colour, count, place)


def _count(colour: np.ndarray) -> int:
    return int(colour.max()) + 1 if colour.size else 0


def seeds(colours: Colours, dtype: Any) -> np.ndarray:
    """The sums of unit vectors, a row for each colour."""
    made = np.zeros((colours.number, len(colours.colour)), dtype)
    made[colours.colour, np.arange(len(colours.colour))] = 1
    return made


__all__ = ["ORDERS", "Colours", "colour_columns", "colour_symmetric", "seeds"]
