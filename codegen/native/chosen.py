"""The element at one place of the order of each lane, and the elements before and behind it.

Bounds that a sample gives leave few keys, of which a sample gives closer ones, and so on; so nearly
all time goes into one look at all keys (Floyd and Rivest, Expected time bounds for selection,
1975). Where samples do not help the range of the keys is halved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from .bridge import compiled
from .by_address import get, put, shifted, word
from .compression import FEW, SLACK, among, both_among, key_at, narrowed, ordered
from .support import index, outlined

__all__ = ["CHOSEN_KINDS", "DTYPES", "chosen", "chosen_signature", "key_type", "scratch_size"]

DTYPES = ("float32", "float64")
CHOSEN_KINDS = "lllaaaaaa"
MARGIN = 5
"""So many places of a sample lie between the rank wanted and a bound."""
REGULAR = 3
"""After so many samples they are taken at random."""
ROUNDS = 24
"""After so many samples the range is halved instead."""


def key_type(dtype: str) -> Any:
    """The integers that are compared."""
    return np.dtype(f"int{8 * np.dtype(dtype).itemsize}").type


def scratch_size(n: int) -> int:
    """The keys that have to fit into the scratch memory of lanes of n elements."""
    return 2 * (n + SLACK) + FEW + 2


def chosen_signature(dtype: str) -> Any:
    """How many lanes, of how many elements; whether values are to be given, or positions; the place
    wanted of each lane, the lanes, scratch memory for keys and for four counts, values and
    positions."""
    i, k = (types.CPointer(numpy_support.from_dtype(np.dtype(d))) for d in (np.int64, dtype))
    s = types.CPointer(numpy_support.from_dtype(np.dtype(key_type(dtype))))
    return types.void(i, i, i, i, k, s, i, k, i)


def chosen(dtype: str) -> Callable[..., None]:
    """The lanes in the order that their stable sort gives to three parts: what is smaller than the
    element at the place, its equals, and what is larger."""
    key = key_type(dtype)
    least, most = key(np.iinfo(key).min), key(np.iinfo(key).max)

    @compiled
    def sampled(source, size, round_, sample):  # type: ignore[no-untyped-def]
        """A key from each of `FEW` stretches: from the middle, at random where that did not do."""
        state, stretch = round_, size // index(FEW)
        at = stretch >> index(1)
        for j in range(index(0), index(FEW)):
            if round_ > index(REGULAR):
                state = state * index(2862933555777941757) + index(3037000493)
                at = j * stretch + ((state >> index(40)) * stretch >> index(24))
            put(sample, j, key_at(source, at))
            at += stretch

    @compiled
    def within(lane, round_, source, size, low, high, target, counts):  # type: ignore[no-untyped-def]
        """How many keys lie below a range, and how many in it; these into `target`."""
        outlined()
        if round_ == index(0):
            narrowed(lane, size, low, high, target, counts)
        else:
            narrowed(source, size, low, high, target, counts)
        return word(counts), word(shifted(counts, index(1)))

    @compiled
    def select(lane, n, rank, keys, counts):  # type: ignore[no-untyped-def]
        """The key at a place, which becomes `keys[0]`; `counts[2]` and `counts[3]` become how many
        are smaller, and how many are its equals."""
        o, unit, few, margin = index(0), index(1), index(FEW), index(MARGIN)
        bounds, sample = keys, shifted(keys, index(2))
        source = shifted(sample, index(FEW))
        target = shifted(source, n + index(SLACK))
        low, high, size, before, round_ = least, most, n, o, o
        while size > few and low != high:
            nearer, further = low, high
            middle = (rank - before) * few // size
            if round_ == o:
                sampled(lane, size, round_, sample)  # type: ignore[no-untyped-call]
            else:
                sampled(source, size, round_, sample)  # type: ignore[no-untyped-call]
            if round_ < index(ROUNDS):
                one = middle - margin if middle > margin else o
                both_among(sample, one, min(middle + margin, few - unit), bounds)
                if middle >= margin:
                    nearer = get(bounds, o)
                if middle + margin < few:
                    further = get(bounds, unit)
            else:
                further = key((low >> 1) + (high >> 1) + (low & high & 1))
            below, found = within(lane, round_, source, size, nearer, further, target, counts)  # type: ignore[no-untyped-call]
            if rank < before + below:
                nearer, further = low, key(nearer - key(1))
                below, found = within(lane, round_, source, size, nearer, further, target, counts)  # type: ignore[no-untyped-call]
            elif rank >= before + below + found:
                nearer, further = key(further + key(1)), high
                below, found = within(lane, round_, source, size, nearer, further, target, counts)  # type: ignore[no-untyped-call]
            before, size, low, high = before + below, found, nearer, further
            source, target = target, source
            round_ += unit
        value = low
        if n <= few:
            among(lane, n, rank, bounds, counts)
            value, before, size = get(bounds, o), word(counts), word(shifted(counts, unit))
        elif low != high:
            among(source, size, rank - before, bounds, counts)
            value = get(bounds, o)
            before, size = before + word(counts), word(shifted(counts, unit))
        put(keys, o, value)
        put(counts, index(2), np.int64(before))
        put(counts, index(3), np.int64(size))

    def function(of_lanes, of_n, of_values, ranks, x, keys, counts, values, places):  # type: ignore[no-untyped-def]
        lanes, n = word(of_lanes), word(of_n)
        for p in range(index(0), lanes):
            lane, wanted = shifted(x, p * n), max(get(ranks, p), np.int64(0))
            rank = min(index(wanted), n - index(1))
            select(lane, n, rank, keys, counts)  # type: ignore[no-untyped-call]
            less, equal = word(shifted(counts, index(2))), word(shifted(counts, index(3)))
            if word(of_values) != index(0):
                ordered(lane, n, get(keys, index(0)), less, equal, shifted(values, p * n))
            else:
                ordered(lane, n, get(keys, index(0)), less, equal, shifted(places, p * n))

    return function
