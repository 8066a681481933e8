"""Own sequential routines over whole C-contiguous arrays: sorting, searching, recurrences, extremes
at places.

Called as `routine(inputs..., outputs..., flags...)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from .bridge import implements, is_complex, is_float
from .flash import FEWEST, MOST, flash_order, flash_scratch, flashed
from .radix import SHORTEST, order_by_digits, word_of
from .selection import parted, partitioned, partitioned_by_one, ranked
from .support import index

__all__ = [
    "argsort", "argsort_last", "linear_recurrence", "parted", "partitioned",
    "partitioned_by_one", "ranked", "scatter_max", "scatter_min", "searchsorted", "sort",
    "sort_last",
]  # fmt: skip

RUN = 16
"""Runs of this length are sorted by insertion before they are merged."""


def argsort(x: Any, out: Any, axis: int = -1) -> None:
    """The stable order of the elements along an axis, NaN last."""
    out[...] = np.argsort(x, axis=axis, kind="stable")


def sort(x: Any, out: Any, axis: int = -1) -> None:
    """The elements in order along an axis, NaN last."""
    out[...] = np.sort(x, axis=axis, kind="stable")


def argsort_last(x: Any, out: Any) -> None:
    """`argsort` of the rows of a matrix."""
    argsort(x, out, -1)


def sort_last(x: Any, out: Any) -> None:
    """`sort` of the rows of a matrix."""
    sort(x, out, -1)


def searchsorted(a: Any, v: Any, out: Any, right: bool) -> None:
    """Where each v would go in the sorted vector a, behind its equals or before them; NaN counts as
    the largest."""
    out[...] = np.searchsorted(a, v, "right" if right else "left")


def linear_recurrence(a: Any, b: Any, out: Any, axis: int, reverse: bool) -> None:
    """`out[i] = a[i] * out[i - 1] + b[i]` along an axis, from `out[0] = b[0]`; from the other end
    where `reverse`."""
    first, second, result = (np.moveaxis(m, axis, 0) for m in (a, b, out))
    order = range(len(second) - 1, -1, -1) if reverse else range(len(second))
    previous = None
    for i in order:
        result[i] = second[i] if previous is None else first[i] * result[previous] + second[i]
        previous = i


def scatter_max(x: Any, updates: Any, at: Any, out: Any) -> None:
    """The largest of each element of a vector and of the updates for its place."""
    out[...] = x
    np.maximum.at(out, at, updates)


def scatter_min(x: Any, updates: Any, at: Any, out: Any) -> None:
    """The smallest of each element of a vector and of the updates for its place."""
    out[...] = x
    np.minimum.at(out, at, updates)


# --- compiled -------------------------------------------------------------------------------------


def _before(x: Any, y: Any) -> Any:
    """Whether x comes before y: NumPy's order, in which NaN is the largest."""
    return x < y or (y != y and x == x)


@implements(_before)
def _type_before(x: Any, y: Any) -> Any:
    if is_complex(x) or is_complex(y):

        def of_complex(x: Any, y: Any) -> Any:
            # Numbers with a NaN come last, those with a NaN imaginary part first among them.
            if x.real < y.real:
                return x.imag == x.imag or y.imag != y.imag
            if x.real == y.real:
                return x.imag < y.imag or (y.imag != y.imag and x.imag == x.imag)
            if y.real != y.real:
                return (
                    x.real == x.real or x.imag < y.imag or (y.imag != y.imag and x.imag == x.imag)
                )
            return x.real == x.real and y.imag != y.imag and x.imag == x.imag

        return of_complex
    if is_float(x) or is_float(y):
        return lambda x, y: (x < y) | ((y != y) & (x == x))
    return lambda x, y: x < y


def _merge_order(keys: Any, order: Any, spare: Any) -> None:
    """Sort the positions `order` by their keys: insertion in short runs, then merges from below."""
    n = len(keys)
    for low in range(0, n, RUN):
        for i in range(low + 1, min(low + RUN, n)):
            moved = order[i]
            key = keys[moved]
            j = i
            while j > low and _before(key, keys[order[j - 1]]):
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    width = RUN
    while width < n:
        low = 0
        while low < n:
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and not _before(keys[order[j]], keys[order[i]])):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
            low = high
        for k in range(n):
            order[k] = spare[k]
        width *= 2


implements(_merge_order, inline=False)(lambda keys, order, spare: _merge_order)


def _digit_order(keys: Any, order: Any, spare: Any) -> None:
    """Sort the positions 0, 1, ... in `order` by their keys: by digits where there are many."""
    n = len(keys)
    if n < SHORTEST:
        _merge_order(keys, order, spare)
        return
    words, spare_words = np.empty(n, np.uint64), np.empty(n, np.uint64)
    for i in range(index(0), index(n)):
        words[i] = word_of(keys[i])
    order_by_digits(words, order, spare_words, spare)


implements(_digit_order, inline=False)(lambda keys, order, spare: _digit_order)


def _lanes(shape: Any, axis: int) -> Any:
    """The sizes before, along and behind an axis."""
    at = axis + len(shape) if axis < 0 else axis
    outer, inner = 1, 1
    for k in range(len(shape)):
        if k < at:
            outer *= shape[k]
        elif k > at:
            inner *= shape[k]
    return outer, shape[at], inner


implements(_lanes, inline=False)(lambda shape, axis: _lanes)
implements(flash_scratch)(lambda n: flash_scratch)


def _sorting(positions: bool) -> Any:
    """By shares of the range, and where these do not help by digits, or by merges."""

    def body(x: Any, out: Any, axis: int = -1) -> None:
        outer, n, inner = _lanes(x.shape, axis)
        source, target = x.reshape((outer, n, inner)), out.reshape((outer, n, inner))
        keys, result = np.empty(n, x.dtype), np.empty(n, x.dtype)
        order, spare = np.empty(n, np.int64), np.empty(n, np.int64)
        scratch = np.empty(flash_scratch(n), np.int32)
        for p in range(outer):
            for q in range(inner):
                for i in range(n):
                    keys[i] = source[p, i, q]
                done = FEWEST <= n < MOST
                if done and positions:
                    for i in range(n):
                        order[i] = i
                    done = flash_order(keys, result, order, spare, scratch)
                elif done:
                    done = flashed(keys, result, order, spare, scratch)
                if done:
                    for i in range(n):
                        target[p, i, q] = spare[i] if positions else result[i]
                    continue
                for i in range(n):
                    keys[i] = source[p, i, q]
                    order[i] = i
                _digit_order(keys, order, spare)
                for i in range(n):
                    target[p, i, q] = order[i] if positions else keys[order[i]]

    return body


def _sorting_complex(positions: bool) -> Any:
    def body(x: Any, out: Any, axis: int = -1) -> None:
        outer, n, inner = _lanes(x.shape, axis)
        source, target = x.reshape((outer, n, inner)), out.reshape((outer, n, inner))
        keys, order, spare = np.empty(n, x.dtype), np.empty(n, np.int64), np.empty(n, np.int64)
        for p in range(outer):
            for q in range(inner):
                for i in range(n):
                    keys[i] = source[p, i, q]
                    order[i] = i
                _merge_order(keys, order, spare)
                for i in range(n):
                    target[p, i, q] = order[i] if positions else keys[order[i]]

    return body


def _type_sort(positions: bool) -> Any:
    def typer(x: Any, out: Any, axis: Any = -1) -> Any:
        if not isinstance(x, types.Array) or not x.ndim:
            return None
        return (_sorting_complex if is_complex(x.dtype) else _sorting)(positions)

    return typer


implements(argsort, inline=False)(_type_sort(True))
implements(sort, inline=False)(_type_sort(False))
implements(argsort_last, inline=False)(lambda x, out: lambda x, out: argsort(x, out, -1))
implements(sort_last, inline=False)(lambda x, out: lambda x, out: sort(x, out, -1))


def _behind(a: Any, at: Any, half: Any, value: Any, right: bool) -> Any:
    """Where to go on: behind the next half of a sorted vector, if the value comes behind it."""
    passed = a[at + half - np.uint64(1)]
    behind = not _before(value, passed) if right else _before(passed, value)
    return at + half if behind else at


implements(_behind)(lambda a, at, half, value, right: _behind)


@implements(searchsorted, inline=False)
def _type_search(a: Any, v: Any, out: Any, right: Any) -> Any:
    """The steps of one search wait for one another, and no branch foresees them: four values are
    searched for side by side, without branches."""
    none = np.uint64(0)

    def body(a: Any, v: Any, out: Any, right: bool) -> None:
        values, places = v.reshape(v.size), out.reshape(out.size)
        last = values.size - 1
        for first in range(0, values.size, 4):
            # Beyond the end the last value is sought again.
            i, j = index(first), index(min(first + 1, last))
            k, m = index(min(first + 2, last)), index(min(first + 3, last))
            u, x, y, z = values[i], values[j], values[k], values[m]
            at_u, at_x, at_y, at_z = none, none, none, none
            rest = np.uint64(a.size)
            while rest > none:
                half = rest - (rest >> np.uint64(1))
                at_u = _behind(a, at_u, half, u, right)
                at_x = _behind(a, at_x, half, x, right)
                at_y = _behind(a, at_y, half, y, right)
                at_z = _behind(a, at_z, half, z, right)
                rest -= half
            places[i] = at_u
            places[j] = at_x
            places[k] = at_y
            places[m] = at_z

    return body


@implements(linear_recurrence, inline=False)
def _type_recurrence(a: Any, b: Any, out: Any, axis: Any, reverse: Any) -> Any:
    def body(a: Any, b: Any, out: Any, axis: int, reverse: bool) -> None:
        outer, n, inner = _lanes(out.shape, axis)
        if n == 0:
            return
        factor, term, result = (
            a.reshape((outer, n, inner)),
            b.reshape((outer, n, inner)),
            out.reshape((outer, n, inner)),
        )
        for p in range(index(0), index(outer)):
            start = index(n - 1 if reverse else 0)
            for q in range(index(0), index(inner)):
                result[p, start, q] = term[p, start, q]
            # Steps run along the axis and the innermost loop along memory, which vectorises where
            # there are several lanes.
            for k in range(1, n):
                i = index(n - 1 - k if reverse else k)
                previous = index(n - k if reverse else k - 1)
                for q in range(index(0), index(inner)):
                    result[p, i, q] = factor[p, i, q] * result[p, previous, q] + term[p, i, q]

    return body


def _type_extreme(largest: bool) -> Any:
    def typed(x: Any, updates: Any, at: Any, out: Any) -> Any:
        def body(x: Any, updates: Any, at: Any, out: Any) -> None:
            for i in range(len(x)):
                out[i] = x[i]
            for k in range(len(updates)):
                place, new = index(at[k]), updates[k]
                old = out[place]
                # NaN comes where it was not, and stays where it was.
                if (new > old if largest else new < old) or new != new:
                    out[place] = new

        return body

    return typed


implements(scatter_max, inline=False)(_type_extreme(True))
implements(scatter_min, inline=False)(_type_extreme(False))
