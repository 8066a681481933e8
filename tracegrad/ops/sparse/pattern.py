"""Where the entries of sparse matrices stand: what does not change while their values do."""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._codegen import locks
from ...checks import describe
from ...dtypes import module_of
from ...errors import ShapeError

Array = np.ndarray[Any, Any]

_KNOWN: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
"""Patterns and layouts by what they hold: equal ones are one object, which decides signatures."""
_ENTERING = locks.lock()


def known(cls: type, *parts: Any) -> Any:
    """The object `cls(*parts)`, the same one for equal parts: arrays of integers, numbers, text."""
    digest = hashlib.blake2b(cls.__name__.encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data if part.size else b"")
        else:
            digest.update(repr(part).encode())
    key = digest.digest()
    with _ENTERING:
        found = _KNOWN.get(key)
        if found is None:
            found = _KNOWN[key] = cls(*[_fixed(p) for p in parts])
            found.number = int.from_bytes(key[:8], "big")
        return found


def _fixed(part: Any) -> Any:
    """An array of which nobody else can change an element."""
    if not isinstance(part, np.ndarray):
        return part
    part = np.array(part)
    part.flags.writeable = False
    _FIXED[id(part)] = part
    return part


_FIXED: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()


def is_fixed(x: Any) -> bool:
    """Whether this array is part of a pattern: what stands in it follows from the pattern, and from
    nothing else that a traced function looked at."""
    return _FIXED.get(id(x)) is x


class Pattern:
    """The rows of a matrix of this shape: entry `p` of row `i` (`indptr[i] <= p < indptr[i + 1]`)
    stands in column `indices[p]`, and its value is `data[places[p]]`, of `count` numbers of data;
    `places` is empty where they lie in this order. A place that is named twice holds the sum."""

    number: int

    def __init__(
        self, shape: tuple[int, int], indptr: Array, indices: Array, places: Array, count: int
    ) -> None:
        self.shape, self.count = shape, count
        self.indptr, self.indices, self.places = indptr, indices, places

    def __hash__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<pattern {m}x{n}, {self.nnz} entries, {self.number:016x}>"

    def __reduce__(self) -> Any:
        return known, (Pattern, self.shape, self.indptr, self.indices, self.places, self.count)

    @property
    def nnz(self) -> int:
        return len(self.indices)

    @cached_property
    def rows(self) -> Array:
        """The row of each entry."""
        counts = np.diff(self.indptr)
        made = np.repeat(np.arange(self.shape[0], dtype=self.indices.dtype), counts)
        fixed: Array = _fixed(made)
        return fixed

    @cached_property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix, of the same data."""
        made = self._transposed()
        # So that each is the other's.
        made.__dict__["transposed"] = self
        return made

    def _transposed(self) -> Pattern:
        order = np.argsort(self.indices, kind="stable").astype(self.indices.dtype)
        places = self.places[order] if len(self.places) else order
        if len(places) == self.count and np.array_equal(places, np.arange(len(places))):
            places = places[:0]
        return pattern_of(
            self.shape[::-1], _ends(self.indices, self.shape[1]), self.rows[order], places,
            self.count,
        )  # fmt: skip

    @cached_property
    def band(self) -> Band | None:
        """How the matrix becomes one of few diagonals, where it does."""
        return band_of(self)

    @property
    def operands(self) -> list[Array]:
        """The index arrays of the operations: of this pattern and of the transposed one."""
        t = self.transposed
        return [self.indptr, self.indices, self.places, t.indptr, t.indices, t.places]


class Band(NamedTuple):
    """A square matrix as one of few diagonals, `lower` of them below the main one and `upper`
    above: `pattern` is that of the same data with rows and columns in this order."""

    order: Array | None
    """None where they stay."""
    pattern: Pattern
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """The diagonals, with those that elimination fills."""
        return 2 * max(self.lower, self.upper) + min(self.lower, self.upper)


WIDEST, SHARE, MOST = 200, 40, 2**24
"""A band has at most so many diagonals with those that elimination fills, so many times the entries
of a row, and so many numbers: below, LAPACK is 7 to 40 times as fast as a general method."""


def band_of(pattern: Pattern) -> Band | None:
    """The band of a pattern as it stands, or in the order of Cuthill and McKee (1969), reversed."""
    n, count = pattern.shape[0], pattern.nnz
    if pattern.shape[1] != n or not count:
        return None
    band = Band(None, pattern, *_diagonals(pattern.rows, pattern.indices))
    if band.width > 3 * (count // n + 1):
        from scipy import sparse  # costs more to load than most programs need
        from scipy.sparse import csgraph

        ones = np.ones(count, np.int8)
        linked = sparse.csr_array((ones, pattern.indices, pattern.indptr), shape=(n, n))
        order = csgraph.reverse_cuthill_mckee((linked + linked.T).tocsr(), True)
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        rows, columns = place[pattern.rows], place[pattern.indices]
        turned = Band(
            _fixed(order.astype(pattern.indices.dtype)), pattern, *_diagonals(rows, columns)
        )
        if turned.width < band.width:
            places = pattern.places if len(pattern.places) else np.arange(count)
            band = turned._replace(
                pattern=by_rows(pattern.shape, rows, columns, places, pattern.count)
            )
    widest = min(WIDEST, max(8, SHARE * count // n), MOST // n)
    return band if band.width < widest else None


def _diagonals(rows: Array, columns: Array) -> tuple[int, int]:
    """How many there are below and above the main one."""
    above = columns.astype(np.int64) - rows
    return max(0, -int(above.min())), max(0, int(above.max()))


def pattern_of(
    shape: Sequence[int], indptr: Array, indices: Array, places: Array, count: int
) -> Pattern:
    """The pattern with these parts, its integers as narrow as they may be."""
    m, n = (int(s) for s in shape)
    kind = np.int32 if max(m, n, count, len(indices)) < 2**31 else np.int64
    parts = [np.ascontiguousarray(part, kind) for part in (indptr, indices, places)]
    found: Pattern = known(Pattern, (m, n), *parts, int(count))
    return found


def _ends(rows: Array, count: int) -> Array:
    """Where each of `count` rows begins, and the last one ends, among entries in order of rows."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])


def by_rows(
    shape: Sequence[int], rows: Array, columns: Array, places: Array, count: int
) -> Pattern:
    """The pattern of entries in any order; each row's keep the order in which they come."""
    order = np.argsort(rows, kind="stable")
    places = places[order]
    if len(places) == count and np.array_equal(places, np.arange(count)):
        places = places[:0]
    return pattern_of(shape, _ends(rows, int(shape[0])), columns[order], places, count)


def in_order(pattern: Pattern) -> Pattern:
    """The pattern of data in its own order."""
    if not len(pattern.places) and pattern.nnz == pattern.count:
        return pattern
    rows = pattern.rows
    return by_rows(pattern.shape, rows, pattern.indices, np.arange(pattern.nnz), pattern.nnz)


def union(shape: tuple[int, int], parts: Any) -> tuple[Pattern, list[Array]]:
    """The places of all parts (rows, columns), each once and in order; for each part, which of
    them."""
    keys = [r.astype(np.int64) * shape[1] + c for r, c in parts]
    all_keys, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    rows, columns = np.divmod(all_keys, max(1, shape[1]))
    pattern = by_rows(shape, rows, columns, np.arange(len(rows)), len(rows))
    return pattern, np.split(inverse, np.cumsum([len(k) for k in keys])[:-1])


def shared(shape: tuple[int, int], x: Any, y: Any) -> tuple[Pattern, Array, Array]:
    """The places that two parts (rows, columns) without repetitions both have; which ones of each
    they are."""
    pattern, (at_x, at_y) = union(shape, [x, y])
    of_x, of_y = np.full(pattern.nnz, -1), np.full(pattern.nnz, -1)
    of_x[at_x], of_y[at_y] = np.arange(len(at_x)), np.arange(len(at_y))
    both = (of_x >= 0) & (of_y >= 0)
    rows, columns = pattern.rows[both], pattern.indices[both]
    kept = by_rows(shape, rows, columns, np.arange(len(rows)), len(rows))
    return kept, of_x[both], of_y[both]


def meetings(p: Pattern, q: Pattern) -> tuple[Array, Array]:
    """Which entry of p meets which one of q in the product of their matrices, both with data in
    their own order."""
    counts = np.diff(q.indptr)[p.indices].astype(np.int64)
    left = np.repeat(np.arange(p.nnz), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return left, np.arange(len(left)) - before + q.indptr[p.indices[left]]


# --- layouts --------------------------------------------------------------------------------------


class SparseFormat:
    """How a sparse array keeps its data: SciPy's format, whether it is one of SciPy's matrices
    (whose `*` is a product), the shape, that of the data, and the format's arrays of integers.

    csr, csc    `indices`, `indptr`; data (nnz,)
    coo         `row`, `col`; data (nnz,)
    dia         `offsets`; data (diagonals, length)
    bsr         `indices`, `indptr` of blocks; data (blocks, rows, columns)
    """

    number: int

    def __init__(
        self,
        format: str,
        matrix: bool,
        shape: tuple[int, int],
        of_data: tuple[int, ...],
        *index: Array,
    ) -> None:
        self.format, self.matrix, self.shape, self.of_data = format, matrix, shape, of_data
        self.index = index

    def __hash__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        m, n = self.shape
        kind = f"{self.format}_{'matrix' if self.matrix else 'array'}"
        return f"<{kind} {m}x{n}, {self.pattern.nnz} entries, {self.number:016x}>"

    def __reduce__(self) -> Any:
        return known, (
            SparseFormat,
            self.format,
            self.matrix,
            self.shape,
            self.of_data,
            *self.index,
        )

    @cached_property
    def pattern(self) -> Pattern:
        m, n = self.shape
        none = np.empty(0, np.int32)
        count = math.prod(self.of_data)
        if self.format == "csr":
            return pattern_of(self.shape, self.index[1], self.index[0], none, count)
        if self.format == "csc":
            return pattern_of((n, m), self.index[1], self.index[0], none, count).transposed
        if self.format == "coo":
            rows, columns = self.index
            return by_rows(self.shape, rows, columns, np.arange(count), count)
        if self.format == "dia":
            _, length = self.of_data
            columns = np.broadcast_to(np.arange(length), self.of_data)
            rows = columns - self.index[0][:, None]
            inside = (rows >= 0) & (rows < m) & (columns < n)
            return by_rows(self.shape, rows[inside], columns[inside], np.flatnonzero(inside), count)
        _, r, c = self.of_data
        at = np.repeat(np.arange(m // r), np.diff(self.index[1]))
        rows = np.broadcast_to((at[:, None] * r + np.arange(r))[:, :, None], self.of_data)
        ends = self.index[0][:, None].astype(np.int64) * c + np.arange(c)
        columns = np.broadcast_to(ends[:, None, :], self.of_data)
        return by_rows(self.shape, rows.ravel(), columns.ravel(), np.arange(count), count)

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """The row and the column of each number of the data, for csr, csc and coo."""
        if self.format == "csr":
            return self.pattern.rows, self.pattern.indices
        if self.format == "csc":
            return self.pattern.transposed.indices, self.pattern.transposed.rows
        return self.index  # type: ignore[return-value]

    def turned(self) -> SparseFormat:
        """The layout of the transposed array with the same data, of csr, csc or coo."""
        other = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        index = self.index[::-1] if self.format == "coo" else self.index
        return layout(other, self.matrix, self.shape[::-1], self.of_data, *index)

    def scipy(self, data: Array) -> Any:
        """SciPy's array with this layout and data."""
        from scipy import sparse  # costs more to load than most programs need

        cls = getattr(sparse, f"{self.format}_{'matrix' if self.matrix else 'array'}")
        index = [np.array(part) for part in self.index]  # SciPy sorts in place
        if self.format == "coo":
            return cls((data, tuple(index)), shape=self.shape)
        return cls((data, *index), shape=self.shape)


def layout(
    format: str, matrix: bool, shape: Sequence[int], of_data: Sequence[int], *index: Array
) -> SparseFormat:
    m, n = (int(s) for s in shape)
    found: SparseFormat = known(
        SparseFormat, format, matrix, (m, n), tuple(map(int, of_data)), *index
    )
    return found


def csr(pattern: Pattern, matrix: bool = False) -> SparseFormat:
    """The layout of the data in the pattern's own order."""
    return layout("csr", matrix, pattern.shape, (pattern.nnz,), pattern.indices, pattern.indptr)


# --- of SciPy's arrays ----------------------------------------------------------------------------


def is_scipy(x: Any) -> bool:
    """Whether this is one of SciPy's sparse arrays, asked without loading them."""
    return module_of(type(x)).startswith("scipy.sparse") and hasattr(x, "tocsr")


FORMATS = ("csr", "csc", "coo", "dia", "bsr")
_SEEN: dict[tuple[Any, ...], tuple[tuple[Any, ...], weakref.ref[SparseFormat]]] = {}
_MOST_SEEN = 256


def layout_of(a: Any) -> SparseFormat:
    """The layout of one of SciPy's sparse arrays as it is now: its arrays of integers are compared
    with those it had, since SciPy changes them in place. One of ours has its own."""
    if hasattr(a, "layout"):
        own: SparseFormat = a.layout
        return own
    index = _index_of(a)
    key = (type(a), a.shape, a.data.shape, *map(id, index))
    seen = _SEEN.get(key)
    if seen is not None:
        found = seen[1]()
        if (
            found is not None
            and all(r() is part for r, part in zip(seen[0], index, strict=True))
            and all(map(_same, found.index, index))
        ):
            return found
    made = _checked(a, index)
    if len(_SEEN) >= _MOST_SEEN:
        _SEEN.clear()
    _SEEN[key] = tuple(weakref.ref(part) for part in index), weakref.ref(made)
    return made


def _same(x: Array, y: Array) -> bool:
    # Of few elements the bytes are compared in less time than NumPy takes to begin.
    return x.tobytes() == y.tobytes() if x.nbytes < 2**14 else np.array_equal(x, y)


def _index_of(a: Any) -> tuple[Array, ...]:
    if getattr(a, "format", None) not in FORMATS:
        if not hasattr(a, "tocsr"):
            raise TypeError(f"{describe(a)} is no sparse array")
        raise TypeError(
            f"a sparse array of format {a.format} changes its pattern with every write; "
            "pass a.tocsr()"
        )
    if a.ndim != 2:
        raise ShapeError(f"sparse arrays must have two axes here, not shape {a.shape}")
    if a.format == "coo":
        return tuple(a.coords)
    return (a.offsets,) if a.format == "dia" else (a.indices, a.indptr)


def _checked(a: Any, index: tuple[Array, ...]) -> SparseFormat:
    matrix = not type(a).__name__.endswith("_array")
    return checked(layout(a.format, matrix, a.shape, a.data.shape, *index))


def checked(made: SparseFormat) -> SparseFormat:
    """The layout itself; integers that point outside are refused, since compiled loops follow them
    unasked."""
    m, n = made.shape
    blocks = made.of_data[1:] if made.format == "bsr" else (1, 1)
    if made.format == "dia":
        return made
    if made.format == "coo":
        rows, columns = made.index
        limits = [(rows, m, "row"), (columns, n, "column")]
    else:
        indices, indptr = made.index
        majors, minors = (m, n) if made.format != "csc" else (n, m)
        majors, minors = majors // blocks[0], minors // blocks[1]
        if (
            len(indptr) != majors + 1
            or (len(indptr) and (indptr[0] != 0 or indptr[-1] != len(indices)))
            or (np.diff(indptr) < 0).any()
        ):
            raise ShapeError(
                f"indptr of a sparse array of shape {made.shape} must be {majors + 1} integers "
                f"that rise from 0 to the number of indices, {len(indices)}"
            )
        limits = [(indices, minors, "index")]
    for part, limit, word in limits:
        if len(part) != made.of_data[0]:
            raise ShapeError(
                f"a sparse array with data of shape {made.of_data} has {len(part)} indices"
            )
        if len(part) and not (part.min() >= 0 and part.max() < limit):
            raise ShapeError(
                f"a {word} of a sparse array of shape {made.shape} is outside: they go from "
                f"{part.min()} to {part.max()}, and must be from 0 to {limit - 1}"
            )
    return made


def integers(x: Any, what: str) -> Array:
    """A vector of integers, or a TypeError."""
    found = np.asarray(x)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise TypeError(f"{what} must be a vector of integers, not {describe(x)}")
    return found.astype(np.int64) if found.dtype.kind not in "i" else found


__all__ = [
    "FORMATS",
    "Array",
    "Pattern",
    "SparseFormat",
    "by_rows",
    "checked",
    "csr",
    "in_order",
    "integers",
    "is_fixed",
    "layout",
    "layout_of",
    "meetings",
    "pattern_of",
    "union",
]  # fmt: skip
