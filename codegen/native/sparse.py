"""Products with sparse matrices, loops over compressed rows, and systems of them, through SuperLU.

The entries of row `i` are those with `indptr[i] <= p < indptr[i + 1]`: entry `p` stands in column
`indices[p]`, and its value is `data[places[p]]`, or `data[p]` where `places` is empty. The three
arrays behind them say the same of the transposed matrix; not all routines read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import sparse_lu
from .bridge import implements, scalar_type
from .factorizations import record
from .foreign import fill, lapack, routine
from .support import index
from .symbols import PYTHON

__all__ = ["banded_solve", "sparse_entries", "sparse_product", "sparse_solve"]


def _part(count: int, part: int, until: int, parts: int) -> slice:
    return slice(count * part // parts, count * until // parts)


def _rows(indptr: Any) -> Any:
    """The row of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


# --- products -------------------------------------------------------------------------------------


def sparse_product(
    data: Any,
    x: Any,
    indptr: Any,
    indices: Any,
    places: Any,
    t_indptr: Any,
    t_indices: Any,
    t_places: Any,
    out: Any,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out[i] = sum of data[places[p]] * x[indices[p]]` over the entries of row i, for a vector,
    the rows of a matrix, or stacks of data and matrices; the rows of those from `part` to
    `until` of several parts.

    Data that lie in the order of the other matrix are read in that order, and added where they
    belong, which is the same sum; that work cannot be shared by rows.
    """
    chosen = _part(len(indptr) - 1, part, until, parts)
    values = data[..., places] if len(places) else data
    rows = _rows(indptr)
    at = (rows >= chosen.start) & (rows < chosen.stop)
    stacks = zip(values, x, out, strict=True) if x.ndim == 3 else [(values, x, out)]
    for entries, given, result in stacks:
        result[chosen] = 0
        factors = entries[at] if given.ndim == 1 else entries[at, None]
        np.add.at(result, rows[at], factors * given[indices[at]])


@implements(sparse_product, inline=False)
def _type_product(
    data: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
    t_places: Any, out: Any, part: Any = 0, until: Any = 1, parts: Any = 1,
) -> Any:  # fmt: skip
    number = scalar_type(data.dtype)

    def vector(
        data: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        rows = len(out)
        first, last = rows * part // parts, rows * until // parts
        zero = number(0)
        if parts == 1 and places.size != 0 and t_places.size == 0:
            for i in range(index(rows)):
                out[i] = zero
            for k in range(index(len(x))):
                given = x[k]
                for p in range(index(t_indptr[k]), index(t_indptr[k + 1])):
                    out[index(t_indices[p])] += data[p] * given
        elif places.size == 0:
            for i in range(index(first), index(last)):
                total = zero
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    total += data[p] * x[index(indices[p])]
                out[i] = total
        else:
            for i in range(index(first), index(last)):
                total = zero
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    total += data[index(places[p])] * x[index(indices[p])]
                out[i] = total

    def matrix(
        data: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        rows, columns = out.shape
        first, last = rows * part // parts, rows * until // parts
        zero, direct = number(0), places.size == 0
        if parts == 1 and not direct and t_places.size == 0:
            for i in range(index(rows)):
                for j in range(index(columns)):
                    out[i, j] = zero
            for k in range(index(len(x))):
                for p in range(index(t_indptr[k]), index(t_indptr[k + 1])):
                    value = data[p]
                    c = index(t_indices[p])
                    for j in range(index(columns)):
                        out[c, j] += value * x[k, j]
            return
        for i in range(index(first), index(last)):
            for j in range(index(columns)):
                out[i, j] = zero
            for p in range(index(indptr[i]), index(indptr[i + 1])):
                value = data[p] if direct else data[index(places[p])]
                c = index(indices[p])
                for j in range(index(columns)):
                    out[i, j] += value * x[c, j]

    def stack(
        data: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        count, rows, columns = out.shape
        first, last = rows * part // parts, rows * until // parts
        zero, direct = number(0), places.size == 0
        for s in range(index(0), index(count)):
            for i in range(index(first), index(last)):
                for j in range(index(columns)):
                    out[s, i, j] = zero
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    value = data[s, p] if direct else data[s, index(places[p])]
                    c = index(indices[p])
                    for j in range(index(columns)):
                        out[s, i, j] += value * x[s, c, j]

    return {1: vector, 2: matrix, 3: stack}[x.ndim]


# --- products at the entries ----------------------------------------------------------------------


def sparse_entries(
    y: Any,
    x: Any,
    indptr: Any,
    indices: Any,
    places: Any,
    t_indptr: Any,
    t_indices: Any,
    t_places: Any,
    out: Any,
    part: int = 0,
    until: int = 1,
    parts: int = 1,
) -> None:
    """`out[places[p]] = y[i] * x[indices[p]]` for the entries of the rows i, summed over the
    columns of matrices; zero where there is no entry. Stacks give one row of `out` each."""
    rows = _rows(indptr)
    if part == 0:
        out[...] = 0
    chosen = _part(len(indptr) - 1, part, until, parts)
    at = np.flatnonzero((rows >= chosen.start) & (rows < chosen.stop))
    values = y[..., rows[at]] if y.ndim == 1 else y[..., rows[at], :]
    values = values * (x[indices[at]] if x.ndim == 1 else x[..., indices[at], :])
    out[..., places[at] if len(places) else at] = values.sum(-1) if x.ndim > 1 else values


@implements(sparse_entries, inline=False)
def _type_entries(
    y: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
    t_places: Any, out: Any, part: Any = 0, until: Any = 1, parts: Any = 1,
) -> Any:  # fmt: skip
    number = scalar_type(y.dtype)

    def vector(
        y: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        rows = len(y)
        first, last = rows * part // parts, rows * until // parts
        if out.size > indices.size:  # never shared among threads
            for q in range(index(out.size)):
                out[q] = number(0)
        if places.size == 0:
            for i in range(index(first), index(last)):
                value = y[i]
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    out[p] = value * x[index(indices[p])]
        else:
            for i in range(index(first), index(last)):
                value = y[i]
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    out[index(places[p])] = value * x[index(indices[p])]

    def matrix(
        y: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        rows, columns = y.shape
        first, last = rows * part // parts, rows * until // parts
        zero, direct = number(0), places.size == 0
        if out.size > indices.size:
            for q in range(index(out.size)):
                out[q] = zero
        for i in range(index(first), index(last)):
            for p in range(index(indptr[i]), index(indptr[i + 1])):
                c = index(indices[p])
                total = zero
                for j in range(index(columns)):
                    total += y[i, j] * x[c, j]
                if direct:
                    out[p] = total
                else:
                    out[index(places[p])] = total

    def stack(
        y: Any, x: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, out: Any, part: int = 0, until: int = 1, parts: int = 1,
    ) -> None:  # fmt: skip
        count, rows, columns = y.shape
        first, last = rows * part // parts, rows * until // parts
        zero, direct = number(0), places.size == 0
        for s in range(index(0), index(count)):
            if out.shape[1] > indices.size:
                for q in range(index(out.shape[1])):
                    out[s, q] = zero
            for i in range(index(first), index(last)):
                for p in range(index(indptr[i]), index(indptr[i + 1])):
                    c = index(indices[p])
                    total = zero
                    for j in range(index(columns)):
                        total += y[s, i, j] * x[s, c, j]
                    if direct:
                        out[s, p] = total
                    else:
                        out[s, index(places[p])] = total

    return {1: vector, 2: matrix, 3: stack}[x.ndim]


# --- systems --------------------------------------------------------------------------------------


def sparse_solve(
    data: Any,
    b: Any,
    indptr: Any,
    indices: Any,
    places: Any,
    t_indptr: Any,
    t_indices: Any,
    t_places: Any,
    x: Any,
    transposed: bool,
    status: Any = None,
    code: int = 0,
) -> None:
    """`A @ x = b` (of the transposed matrices where `transposed`) for stacks of data (s, count) and
    right-hand sides (s, n, k)."""
    if not sparse_lu.solve(data, b, indptr, indices, places, x, transposed):
        record(status, code, 1)


@implements(sparse_solve, inline=False)
def _type_solve(
    data: Any, b: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
    t_places: Any, x: Any, transposed: Any, status: Any = None, code: Any = 0,
) -> Any:  # fmt: skip
    called = routine(PYTHON, f"sparse_solve_{data.dtype}_{indices.dtype}", "lllllllaaaaaao")

    def body(
        data: Any, b: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, x: Any, transposed: bool, status: Any = None, code: int = 0,
    ) -> None:  # fmt: skip
        count, n, k = b.shape
        failed = called(
            count, n, k, data.shape[1], indices.size, places.size, 1 if transposed else 0,
            data, 0, b, 0, indptr, 0, indices, 0, places, 0, x, 0,
        )  # fmt: skip
        if failed != 0:
            record(status, code, failed)

    return body


def banded_solve(
    data: Any,
    b: Any,
    indptr: Any,
    indices: Any,
    places: Any,
    t_indptr: Any,
    t_indices: Any,
    t_places: Any,
    x: Any,
    transposed: bool,
    lower: int,
    upper: int,
    status: Any = None,
    code: int = 0,
) -> None:
    """The same for matrices with so many diagonals below and above the main one, through LAPACK."""
    index = indptr, indices, places
    if not sparse_lu.solve_banded(data, b, index, x, transposed, lower, upper):
        record(status, code, 1)


@implements(banded_solve, inline=False)
def _type_banded(
    data: Any, b: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
    t_places: Any, x: Any, transposed: Any, lower: Any, upper: Any, status: Any = None,
    code: Any = 0,
) -> Any:  # fmt: skip
    called = lapack(data.dtype, "gbsv", "iiiiaiaaio")
    number = scalar_type(data.dtype)

    def body(
        data: Any, b: Any, indptr: Any, indices: Any, places: Any, t_indptr: Any, t_indices: Any,
        t_places: Any, x: Any, transposed: bool, lower: int, upper: int, status: Any = None,
        code: int = 0,
    ) -> None:  # fmt: skip
        count, n, k = b.shape
        if n == 0 or k == 0:
            return
        below, above = (upper, lower) if transposed else (lower, upper)
        height = 2 * below + above + 1
        bands, right = np.empty((n, height), number), np.empty((k, n), number)
        pivots = np.empty(n, np.int32)
        for s in range(count):
            fill(bands, number(0))
            for i in range(n):
                for p in range(indptr[i], indptr[i + 1]):
                    j = indices[p]
                    value = data[s, places[p]] if places.size != 0 else data[s, p]
                    # Column by column, with room above for what exchanged rows bring.
                    if transposed:
                        bands[i, below + above + j - i] += value
                    else:
                        bands[j, below + above + i - j] += value
            for i in range(n):
                for c in range(k):
                    right[c, i] = b[s, i, c]
            failed = called(n, below, above, k, bands, 0, height, pivots, 0, right, 0, n)
            if failed != 0:
                record(status, code, failed)
            for i in range(n):
                for c in range(k):
                    x[s, i, c] = number(np.nan) if failed != 0 else right[c, i]

    return body
