"""Sorting long lanes by digits: no comparisons, and time proportional to the length.

Each element becomes an unsigned word whose order is the element's order. From the lowest digit to
the highest, the words are counted by digit and moved to their places, equal digits in the order
they had (Knuth, The Art of Computer Programming 3, section 5.2.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from .bridge import implements
from .support import bits, index

DIGIT = 11
"""Bits to a digit: 6 rounds for 64-bit words, with counters that fit the cache."""
SHORTEST = 1024
"""Shorter lanes are merged: the counters would cost more."""


def word_of(x: Any) -> Any:
    """A number as an unsigned 64-bit word of the same order; NaN is the largest, -0.0 equals
    0.0."""
    if np.asarray(x).dtype.kind == "f":
        if x != x:
            return np.uint64(0xFFFFFFFFFFFFFFFF)
        word = np.float64(x + 0.0).view(np.uint64)
        return ~word if word >> np.uint64(63) else word | np.uint64(1 << 63)
    return np.uint64(int(x) + (1 << 63 if np.asarray(x).dtype.kind == "i" else 0))


TOP, ALL, SIGN = np.uint64(1 << 63), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(63)
TOP32, ALL32, SIGN32 = np.uint64(1 << 31), np.uint64(0xFFFFFFFF), np.uint64(31)


@implements(word_of)
def _type_word(x: Any) -> Any:
    if isinstance(x, types.Float):
        top, everything, sign = (TOP, ALL, SIGN) if x.bitwidth == 64 else (TOP32, ALL32, SIGN32)
        zero = np.float64(0.0) if x.bitwidth == 64 else np.float32(0.0)

        def of_float(x: Any) -> Any:
            if x != x:
                return everything
            word = np.uint64(bits(x + zero)) & everything
            return word ^ everything if word >> sign else word | top

        return of_float
    if isinstance(x, types.Boolean) or not x.signed:
        return lambda x: np.uint64(x)
    return lambda x: np.uint64(np.int64(x)) ^ TOP


def order_by_digits(words: Any, order: Any, spare_words: Any, spare: Any) -> None:
    """Sort the words, and the positions `order` with them; both spares are of the same size."""
    order[...] = order[np.argsort(words, kind="stable")]
    words[...] = np.sort(words)


@implements(order_by_digits, inline=False)
def _type_order(words: Any, order: Any, spare_words: Any, spare: Any) -> Any:
    rounds, size = -(-64 // DIGIT), 1 << DIGIT
    mask, digit = np.uint64(size - 1), np.uint64(DIGIT)

    def body(words: Any, order: Any, spare_words: Any, spare: Any) -> None:
        n = len(words)
        counts = np.zeros((rounds, size), np.int64)
        for i in range(index(0), index(n)):
            word = words[i]
            for r in range(rounds):
                counts[index(r), index(word & mask)] += 1
                word >>= digit
        moved = 0
        for r in range(rounds):
            shift = np.uint64(r) * digit
            if counts[index(r), index((words[index(0)] >> shift) & mask)] == n:
                continue
            place = 0
            for d in range(index(0), index(size)):
                count = counts[index(r), d]
                counts[index(r), d] = place
                place += count
            a, b = (words, spare_words) if moved % 2 == 0 else (spare_words, words)
            p, q = (order, spare) if moved % 2 == 0 else (spare, order)
            for i in range(index(0), index(n)):
                word = a[i]
                d = index((word >> shift) & mask)
                at = index(counts[index(r), d])
                counts[index(r), d] += 1
                b[at] = word
                q[at] = p[i]
            moved += 1
        if moved % 2 == 1:
            for i in range(index(0), index(n)):
                words[i] = spare_words[i]
                order[i] = spare[i]

    return body
