"""Sorting by shares of the range: each element goes to the bucket that its distance from the least
one says, as many buckets as there are elements, and what is out of order inside of buckets is
inserted (Neubert, The Flashsort1 algorithm, Dr. Dobb's Journal, February 1998).

A bucket of many elements is treated in the same way, by its own range: of numbers, then of their
bits, which divide by orders of magnitude, and so on. Where that does not help after a few turns
another method has to. Nothing but the time depends on how elements are distributed, and equal ones
stay in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .bridge import implements
from .radix import word_of
from .support import index

__all__ = ["FEWEST", "MOST", "flash_body", "flash_order", "flash_scratch", "flashed"]

FEWEST = 12
"""Fewer elements are put in order by insertion alone."""
MOST = 1 << 29
"""Places of so many do not fit into 32 bits with their scratch memory."""
MANY = 24
"""A bucket of more elements is divided again."""
DEEPEST = 4
"""So often, at most."""
INFINITY = float("inf")


def flash_scratch(n: int) -> int:
    """The size of the scratch memory for so many elements."""
    return 2 * n + 3 * (n // MANY + 2) + 8


def flashed(keys: Any, result: Any, order: Any, spare: Any, scratch: Any) -> bool:
    """The keys in order, NaN last, into `result`, unless it is False; keys change. `order` and
    `spare` are not used."""
    result[...] = np.sort(keys, kind="stable")
    return True


def flash_order(keys: Any, result: Any, order: Any, spare: Any, scratch: Any) -> bool:
    """The same, and the positions `order`, which change, into `spare`."""
    spare[...] = order[np.argsort(keys, kind="stable")]
    result[...] = np.sort(keys, kind="stable")
    return True


def _apart(key: Any, base: Any) -> Any:
    """How far the bits of a number lie from others."""
    word = word_of(key)
    return np.float64(word - base) if word >= base else -np.float64(base - word)


implements(_apart)(lambda key, base: _apart)


def flash_body(positions: bool) -> Any:
    """The text of both, with or without positions."""

    def body(keys: Any, result: Any, order: Any, spare: Any, scratch: Any) -> bool:
        n = len(keys)
        bucket_of, counts, stack = index(0), index(n), index(2 * n + 8)
        scratch[stack], scratch[stack + index(1)], scratch[stack + index(2)] = 0, n, 0
        open_ = 1
        while open_ > 0:
            open_ -= 1
            at = stack + index(3 * open_)
            start, end = scratch[at], scratch[at + index(1)]
            depth = scratch[at + index(2)]
            if depth > 0:
                for i in range(index(start), index(end)):
                    keys[i] = result[i]
                    if positions:
                        order[i] = spare[i]
            by_bits = depth % 2 == 1
            risen = index(start + 1)
            while risen < index(end) and keys[risen - index(1)] <= keys[risen]:
                risen += index(1)
            if risen >= index(end):
                if depth == 0:
                    for i in range(index(start), index(end)):
                        result[i] = keys[i]
                        if positions:
                            spare[i] = order[i]
                continue
            if depth == DEEPEST:
                return False
            base = word_of(keys[index(start)])
            low, high = INFINITY, -INFINITY
            for i in range(index(start), index(end)):
                value = _apart(keys[i], base) if by_bits else np.float64(keys[i])
                if value - value == 0.0:
                    low = min(low, value)
                    high = max(high, value)
            # Buckets: -infinity, shares of the range, infinity, NaN.
            if high < low:
                low, high = 0.0, 0.0
            last = end - start + 2
            scale = (last - 2) / (high - low) if high > low else 1.0
            if not (scale > 0.0 and scale < INFINITY):
                scale = 1.0
            for d in range(counts, counts + index(last + 2)):
                scratch[d] = 0
            for i in range(index(start), index(end)):
                value = _apart(keys[i], base) if by_bits else np.float64(keys[i])
                share = (value - low) * scale
                bucket = last + 1
                if share < 0.0:
                    bucket = 0
                elif share > last - 2:
                    bucket = last
                elif share == share:
                    bucket = np.int64(share) + 1
                scratch[bucket_of + i] = bucket
                scratch[counts + index(bucket)] += 1
            place = start
            for d in range(index(0), index(last + 2)):
                count = scratch[counts + d]
                scratch[counts + d] = place
                if count > MANY and d <= index(last):
                    at = stack + index(3 * open_)
                    scratch[at], scratch[at + index(1)] = place, place + count
                    scratch[at + index(2)] = depth + 1
                    open_ += 1
                place += count
            for i in range(index(start), index(end)):
                d = counts + index(scratch[bucket_of + i])
                to = index(scratch[d])
                scratch[d] += 1
                result[to] = keys[i]
                if positions:
                    spare[to] = order[i]
        for i in range(index(1), index(n)):
            key, j = result[i], i
            if key < result[i - index(1)]:
                moved = spare[i] if positions else 0
                while j > index(0) and key < result[j - index(1)]:
                    result[j] = result[j - index(1)]
                    if positions:
                        spare[j] = spare[j - index(1)]
                    j -= index(1)
                result[j] = key
                if positions:
                    spare[j] = moved
        return True

    return body


def _type(positions: bool) -> Any:
    return lambda keys, result, order, spare, scratch: flash_body(positions)


implements(flash_order, inline=False)(_type(True))
implements(flashed, inline=False)(_type(False))
