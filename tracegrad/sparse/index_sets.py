"""Index sets: for each element of an array the numbers of the input elements that it depends on.

A table of sorted sets in CSR form, and for each element which row of the table is its own. Moving,
repeating and dropping elements touches the second part only, so that a sum that is spread over an
array again takes no more memory than the sum. All work is done by SciPy's sparse kernels on whole
arrays, in time linear in the number of entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import TracegradError

NONE = -1
"""As the number of an element: there is none, and the set is empty."""
DEFAULT_LIMIT = 2**25
"""How many entries a pattern may have before it is refused: with indices and float64 values some
half a gigabyte."""


class Dense(TracegradError):
    """A pattern has more entries than were allowed."""


def count_limit(count: int, limit: int, rows: int, columns: int) -> None:
    """An error where a pattern of so many entries is too large; nothing was allocated for it."""
    if count > limit:
        size = count * 12 + 4 * rows
        share = 100 * count / max(rows * columns, 1)
        raise Dense(
            f"the derivative is no sparse one: {count:,} entries for {rows:,} rows and "
            f"{columns:,} columns ({share:.0f} %), {size / 2**30:.1f} GiB with their indices, "
            f"and {limit:,} entries are allowed. Products with it need no entries "
            "(tg.jvp, tg.vjp, tg.hvp), tg.jacobian and tg.hessian give dense arrays; "
            "limit= allows more entries."
        )


def rows_taken(table: Any, numbers: np.ndarray, limit: int) -> Any:
    """The rows with these numbers of a CSR matrix, empty ones for `NONE`."""
    counts = np.append(np.diff(table.indptr), 0)
    count_limit(int(counts[numbers].sum(dtype=np.int64)), limit, len(numbers), table.shape[1])
    if numbers.size and numbers.min() < 0:
        indptr = np.append(table.indptr, table.indptr[-1])
        shape = (table.shape[0] + 1, table.shape[1])
        table = sp.csr_array((table.data, table.indices, indptr), shape=shape)
        numbers = np.where(numbers < 0, shape[0] - 1, numbers)
    return table[numbers]


@dataclass(eq=False)
class Sets:
    """The set of element k is row `numbers[k]` of the table, row k where there are no numbers."""

    table: Any
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return self.table.shape[0] if self.numbers is None else len(self.numbers)

    @property
    def width(self) -> int:
        """How many input elements there are."""
        return int(self.table.shape[1])

    def take(self, numbers: np.ndarray) -> Sets:
        """The sets of these elements, in C order."""
        numbers = numbers.reshape(-1)
        if self.numbers is not None:
            numbers = np.where(numbers < 0, NONE, np.append(self.numbers, NONE)[numbers])
        elif len(numbers) == len(self) and np.array_equal(numbers, np.arange(len(self))):
            return self
        return Sets(self.table, numbers)

    def rows(self, limit: int) -> Any:
        """All sets in CSR form."""
        if self.numbers is not None:
            self.table, self.numbers = rows_taken(self.table, self.numbers, limit), None
        return self.table

    def is_one(self) -> bool:
        """Whether all elements have the one set of the table."""
        return self.table.shape[0] == 1 and (
            self.numbers is None or bool((self.numbers == 0).all())
        )

    def united(self, other: Sets, limit: int) -> Sets:
        """Element by element the union with the other's."""
        if other is self or len(self) == 0:
            return self
        for a, b in ((self, other), (other, self)):
            if a.is_one() and (a.table.nnz == a.width or b.table.nnz == 0):
                return a
            if a.is_one() and b.is_one():
                return Sets(_plus(a.table, b.table), np.zeros(len(a), np.int64))
        if self.table is other.table and self.numbers is not None and other.numbers is not None:
            if np.array_equal(self.numbers, other.numbers):
                return self
        a, b = self.rows(limit), other.rows(limit)
        if a.nnz == b.nnz and np.array_equal(a.indices, b.indices):
            if np.array_equal(a.indptr, b.indptr):
                return self
        made = _plus(a, b)
        count_limit(made.nnz, limit, *made.shape)
        return Sets(made)

    def all_of(self) -> Sets:
        """The union over all elements, as the set of one."""
        used = self.table if self.numbers is None else None
        if used is None:
            assert self.numbers is not None
            kept = np.unique(self.numbers)
            used = self.table[kept[kept >= 0]]
        return Sets(one_row(np.unique(used.indices), self.width))

    def spread(self, count: int) -> Sets:
        """The set of one element as that of so many."""
        return Sets(self.table, np.zeros(count, np.int64))

    def combined(self, chosen: Any, limit: int) -> Sets:
        """For each row of a sparse matrix the union of the sets of the elements in its columns."""
        if self.numbers is not None:
            there = self.numbers >= 0
            links = sp.csr_array(
                (
                    np.ones(int(there.sum()), np.bool_),
                    self.numbers[there],
                    np.append(0, np.cumsum(there)),
                ),
                shape=(len(self.numbers), self.table.shape[0]),
            )
            chosen = chosen @ links
        # No union is larger than all of its parts together, nor than everything.
        sizes = chosen.astype(np.int64) @ np.diff(self.table.indptr).astype(np.int64)
        most = int(np.minimum(sizes, self.width).sum())
        count_limit(most, limit, chosen.shape[0], self.width)
        made = chosen.astype(np.bool_) @ self.table
        made.sort_indices()
        return Sets(made)


def _plus(a: Any, b: Any) -> Any:
    a.sort_indices()
    b.sort_indices()
    return a + b


def one_row(columns: np.ndarray, width: int) -> Any:
    """A table of one set."""
    return sp.csr_array(
        (np.ones(len(columns), np.bool_), columns, np.array([0, len(columns)])), shape=(1, width)
    )


def first_sets(start: int, count: int, width: int) -> Sets:
    """Each element its own number, counted from `start`."""
    columns: Any = np.arange(start, start + count, dtype=np.int32 if width < 2**31 else np.int64)
    table = sp.csr_array(
        (np.ones(count, np.bool_), columns, np.arange(count + 1, dtype=columns.dtype)),
        shape=(count, width),
    )
    return Sets(table)


def union(found: Sequence[Sets | None], limit: int) -> Sets | None:
    """Element by element the union of those that there are."""
    there = [s for s in found if s is not None]
    if not there:
        return None
    made = there[0]
    for s in there[1:]:
        made = made.united(s, limit)
    return made


def joined(found: Sequence[Sets | None], counts: Sequence[int], width: int) -> Sets | None:
    """The sets of several arrays one behind the other; `counts` are their numbers of elements."""
    if all(s is None for s in found):
        return None
    tables, numbers, first = [], [], 0
    for s, count in zip(found, counts, strict=True):
        if s is None:
            numbers.append(np.full(count, NONE))
            continue
        own = np.arange(count) if s.numbers is None else s.numbers
        numbers.append(np.where(own < 0, NONE, own + first))
        tables.append(s.table)
        first += s.table.shape[0]
    table = tables[0] if len(tables) == 1 else sp.vstack(tables, format="csr")
    every = np.concatenate(numbers)
    return Sets(table, None if np.array_equal(every, np.arange(table.shape[0])) else every)
