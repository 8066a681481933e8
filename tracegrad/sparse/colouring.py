"""Colours: which columns and rows of a sparse matrix can be found from one product with a vector.

Columns that meet in no row share a product with a vector from the right, rows that meet in no
column one from the left; a matrix with a few dense rows takes both (bicolouring). For a symmetric
matrix it is enough that each entry stands alone in its row or in its mirror's (star colouring), or
that those before it are known (acyclic colouring, by substitution).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._codegen import loading

ORDERS = ("natural", "largest_first", "smallest_last", "incidence_degree")
"""In which order vertices are coloured."""
PULL = 2
"""What a product from the left costs over one from the right."""


class Substitution(NamedTuple):
    """Entries one after another: `x = products[place] - known[slot]`, which adds x
    to `known[other]`."""

    place: np.ndarray
    slot: np.ndarray
    other: np.ndarray
    slots: int
    """How many of them there are."""


class Colours(NamedTuple):
    """The colour of each column and of each row (-1: of none), and where each entry, in the order
    of the rows, is found: `place` counts the products one behind the other, those of columns
    first, and then the results of the steps."""

    columns: np.ndarray
    rows: np.ndarray
    place: np.ndarray
    steps: Substitution | None = None

    @property
    def pushed(self) -> int:
        """How many products with vectors from the right there are."""
        return _count(self.columns)

    @property
    def pulled(self) -> int:
        """How many from the left."""
        return _count(self.rows)

    @property
    def number(self) -> int:
        return self.pushed + self.pulled


def _native() -> Any:
    return loading.imported("..codegen.native.colouring", __package__)


def _count(colour: np.ndarray) -> int:
    return int(colour.max()) + 1 if colour.size else 0


def _none(count: int) -> np.ndarray:
    return np.full(count, -1, np.int64)


def _rows_of(pattern: Any) -> np.ndarray:
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))


def ordered_vertices(pattern: Any, order: str) -> np.ndarray:
    """The columns of a CSR pattern in the order in which they are coloured."""
    n = pattern.shape[1]
    if order == "natural":
        return np.arange(n)
    by_columns = pattern.tocsc()
    given = by_columns.indptr, by_columns.indices, pattern.indptr, pattern.indices
    degrees = _native().degrees(*given)
    if order == "largest_first":
        return np.argsort(-degrees, kind="stable")
    last = order == "smallest_last"
    if not last:
        degrees = np.full(n, degrees.max(initial=0))
    found: np.ndarray = _native().by_degree(*given, degrees, last)
    return found


def _edges(pattern: Any) -> Any:
    """A row for each pair of columns that an entry of a symmetric pattern joins, so that columns
    share a row where they are neighbours."""
    above = sp.triu(pattern, 1, "coo")
    k = np.arange(above.nnz)
    ends = np.concatenate([above.row, above.col])
    ones = np.ones(len(ends), np.bool_)
    shape = (above.nnz, pattern.shape[1])
    return sp.coo_array((ones, (np.concatenate([k, k]), ends)), shape).tocsr()


def _fewest(
    colour: Callable[[np.ndarray], np.ndarray], pattern: Any, order: str | None, least: int
) -> np.ndarray:
    """The colours in one order, or the fewest of all; at best `least`."""
    best: np.ndarray | None = None
    for each in ORDERS if order is None else (order,):
        found = colour(ordered_vertices(pattern, each))
        if best is None or _count(found) < _count(best):
            best = found
        if _count(best) <= least:
            break
    assert best is not None
    return best


def _apart(pattern: Any, order: str | None) -> np.ndarray:
    """Colours of columns such that no two of one colour meet in a row."""
    by_columns = pattern.tocsc()
    given = by_columns.indptr, by_columns.indices, pattern.indptr, pattern.indices
    widest = int(np.diff(pattern.indptr).max(initial=0))
    found = _fewest(lambda o: _native().columns_apart(*given, o), pattern, order, widest)
    return np.where(np.diff(by_columns.indptr) > 0, found, -1)


def _mirrored(pattern: Any) -> Any:
    mirrored = pattern.T.tocsr()
    mirrored.sort_indices()
    return mirrored


def colour_columns(pattern: Any, order: str | None = None) -> Colours:
    """Of a CSR pattern the columns alone; without an order, in that of the fewest colours."""
    return _by_both(pattern, np.zeros(pattern.nnz, np.bool_), order)


def colour_rows(pattern: Any, order: str | None = None) -> Colours:
    """The rows alone."""
    return _by_both(pattern, np.ones(pattern.nnz, np.bool_), order)


def colour_both(pattern: Any, order: str | None = None) -> Colours:
    """Rows and columns: the densest of one kind by themselves, and the rest by the other."""
    return _by_both(pattern, split(pattern)[0], order)


def _by_both(pattern: Any, by_row: np.ndarray, order: str | None) -> Colours:
    """Some entries from products with rows, the others from products with columns."""
    m, n = pattern.shape
    at, columns = _rows_of(pattern), pattern.indices.astype(np.int64)

    def part(there: np.ndarray) -> Any:
        starts = np.append(0, np.cumsum(np.bincount(at[there], minlength=m)))
        ones = np.ones(len(starts) and int(starts[-1]), np.bool_)
        return sp.csr_array((ones, pattern.indices[there], starts), shape=pattern.shape)

    of_columns = _apart(part(~by_row), order) if not by_row.all() else _none(n)
    of_rows = _apart(_mirrored(part(by_row)), order) if by_row.any() else _none(m)
    first = _count(of_columns) * m
    place = np.where(by_row, first + of_rows[at] * n + columns, of_columns[columns] * m + at)
    return Colours(of_columns, of_rows, place)


def split(pattern: Any) -> tuple[np.ndarray, int]:
    """Which entries to take from products with rows, and what products cost at least.

    Of rows in the order of their lengths the first k are taken by themselves; no colouring of the
    rest has fewer colours than its longest row has entries, and none of these rows fewer than a
    column has in them. The same for columns, whichever costs least.
    """
    at, columns = _rows_of(pattern), pattern.indices
    kept, cost = _densest(at, columns, pattern.shape[0], 1, PULL)
    other, less = _densest(columns, at, pattern.shape[1], PULL, 1)
    return (~other[columns], less) if less < cost else (kept[at], cost)


def _densest(
    major: np.ndarray, minor: np.ndarray, count: int, rest: int, own: int
) -> tuple[np.ndarray, int]:
    """Which lines (rows, or columns) to take by themselves, and the cost."""
    lengths = np.bincount(major, minlength=count)
    order = np.argsort(-lengths, kind="stable")
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    # How many entries the most crowded line across has in the first k lines.
    by_minor = np.lexsort((rank[major], minor))
    across = minor[by_minor]
    begins = np.flatnonzero(np.append(True, across[1:] != across[:-1])[: len(across)])
    within = np.arange(len(across)) - np.repeat(begins, np.diff(np.append(begins, len(across))))
    crowded = np.zeros(count + 1, np.int64)
    np.maximum.at(crowded, rank[major[by_minor]] + 1, within + 1)
    cost = rest * np.append(lengths[order], 0) + own * np.maximum.accumulate(crowded)
    k = int(np.argmin(cost))
    return rank < k, int(cost[k])


def colour_symmetric(pattern: Any, order: str | None = None) -> Colours:
    """A star colouring of a symmetric CSR pattern."""
    n = pattern.shape[0]

    def star(vertices: np.ndarray) -> np.ndarray:
        given = pattern.indptr, pattern.indices, vertices
        return min((_native().star(*given, early) for early in (True, False)), key=_count)

    colour = _fewest(star, _edges(pattern), order, 1)
    rows, columns = _rows_of(pattern), pattern.indices.astype(np.int64)
    key = rows * max(_count(colour), 1) + colour[columns]
    _, which, times = np.unique(key, return_inverse=True, return_counts=True)
    alone = times[which] == 1
    place = np.where(alone, colour[columns] * n + rows, colour[rows] * n + columns)
    return Colours(colour, _none(n), place)


def colour_acyclic(pattern: Any, order: str | None = None) -> Colours:
    """An acyclic colouring of a symmetric CSR pattern, with the steps of the substitution."""
    n, nnz = pattern.shape[0], pattern.nnz
    starts, others = pattern.indptr, pattern.indices
    numbered = sp.csr_array((np.arange(nnz), others, starts), shape=pattern.shape)
    mirror = _mirrored(numbered).data
    edges = np.minimum(np.arange(nnz), mirror)

    def acyclic(vertices: np.ndarray) -> np.ndarray:
        found: np.ndarray = _native().acyclic(starts, others, edges, vertices)
        return found

    colour = _fewest(acyclic, _edges(pattern), order, 1)
    rows, columns = _rows_of(pattern), others.astype(np.int64)
    count = _count(colour)
    _, slots = np.unique(rows * max(count, 1) + colour[columns], return_inverse=True)
    found = _native().leaves_first(starts, others, mirror, slots)
    place = colour[columns] * n + rows
    steps = Substitution(
        place[found], slots[found], slots[mirror[found]], int(slots.max(initial=-1)) + 1
    )
    place[found] = place[mirror[found]] = count * n + np.arange(len(found))
    return Colours(colour, _none(n), place, steps)


def seeds(colour: np.ndarray, dtype: Any) -> np.ndarray:
    """The sums of unit vectors, a row for each colour."""
    made = np.zeros((_count(colour), len(colour)), dtype)
    there = np.flatnonzero(colour >= 0)
    made[colour[there], there] = 1
    return made


__all__ = [
    "ORDERS",
    "Colours",
    "Substitution",
    "colour_acyclic",
    "colour_both",
    "colour_columns",
    "colour_rows",
    "colour_symmetric",
    "seeds",
    "split",
]
