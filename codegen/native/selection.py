"""The elements at some places of the order, without sorting the others.

Elements become words (`radix.word_of`). The range that the words take is divided into parts, the
words are counted by part, and those of the part that holds the place wanted are kept, in the order
they had; then the same with this part, until few are left. Nothing depends on how the elements
lie, and equal ones come in the order of their positions, as where all are sorted.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import chosen
from .bridge import implements, scalar_type
from .foreign import routine
from .radix import word_of
from .support import index
from .symbols import OWN

__all__ = ["parted", "partitioned", "partitioned_by_one", "ranked"]

FEW = 24
"""So many words are sorted by insertion."""
MANY = 8192
"""From so many words on the range is divided into more parts."""


def ranked(x: Any, ranks: Any, out: Any) -> None:
    """The positions of the elements that stand at some places of the stable order along the last
    axis, NaN last."""
    out[...] = np.take_along_axis(np.argsort(x, -1, kind="stable"), ranks, -1)


def partitioned(x: Any, ranks: Any, out: Any) -> None:
    """An order of the elements along the last axis in which each that stands at these places of
    the stable order stands there, between smaller and larger ones."""
    out[...] = np.argsort(x, -1, kind="stable")


def partitioned_by_one(x: Any, ranks: Any, out: Any) -> None:
    """`partitioned` of floats by one place for each lane, of fewer than 2^31 elements."""
    out[...] = np.argsort(x, -1, kind="stable")


def parted(x: Any, ranks: Any, out: Any) -> None:
    """The elements in that order."""
    out[...] = np.sort(x, -1, kind="stable")


# --- compiled -------------------------------------------------------------------------------------


def _span(x: Any) -> tuple[Any, Any]:
    """The least and the largest word of a lane."""
    low = word_of(x[0])
    high = low
    for i in range(index(0), index(len(x))):
        word = word_of(x[i])
        low = min(low, word)
        high = max(high, word)
    return low, high


def _part_bits(size: int, low: Any, high: Any) -> Any:
    """How many bits of a word's distance from `low` do not matter for its part."""
    digit = np.uint64(11) if size >= MANY else np.uint64(8)
    shift = np.uint64(0)
    while ((high - low) >> shift) >> digit != np.uint64(0):
        shift += np.uint64(1)
    return shift


def _counted(x: Any, low: Any, high: Any, tally: Any) -> Any:
    """The elements by part; see `_part_bits` for the result."""
    shift = _part_bits(len(x), low, high)
    for d in range(index(0), index(len(tally))):
        tally[d] = 0
    for i in range(index(0), index(len(x))):
        tally[index((word_of(x[i]) - low) >> shift)] += 1
    return shift


def _holder(counts: Any, rank: Any, first: int) -> tuple[int, int]:
    """The part that holds a rank, and the rank of its first word; `first` is that of all."""
    part, behind = 0, first + counts[index(0)]
    while behind <= rank:
        part += 1
        behind += counts[index(part)]
    return part, behind - counts[index(part)]


def _narrowed(
    x: Any, rank: Any, low: Any, high: Any, shift: Any, tally: Any, kept: Any, at: Any, counts: Any
) -> tuple[int, int]:
    """Some neighbours in the order, of which one has this rank: their positions, in order, into
    `at`; the rank of the first of them, and how many they are. Words lie from `low` to `high`."""
    one, first, size = np.uint64(1), 0, len(x)
    if size <= FEW or low == high:
        for i in range(index(0), index(size)):
            kept[i] = word_of(x[i])
            at[i] = i
    else:
        part, first = _holder(tally, rank, 0)
        wanted, size = np.uint64(part), 0
        for i in range(index(0), index(len(x))):
            word = word_of(x[i])
            kept[index(size)] = word
            at[index(size)] = i
            size += 1 if (word - low) >> shift == wanted else 0
        low += wanted << shift
        high = min(high - low, (one << shift) - one) + low
    while size > FEW and low != high:
        shift = _part_bits(size, low, high)
        for d in range(index(0), index(len(counts) if size >= MANY else 256)):
            counts[d] = 0
        for i in range(index(0), index(size)):
            counts[index((kept[i] - low) >> shift)] += 1
        part, first = _holder(counts, rank, first)
        wanted, found = np.uint64(part), 0
        for i in range(index(0), index(size)):
            word, position = kept[i], at[i]
            kept[index(found)] = word
            at[index(found)] = position
            found += 1 if (word - low) >> shift == wanted else 0
        low += wanted << shift
        high = min(high - low, (one << shift) - one) + low
        size = found
    if low != high:
        for i in range(size):
            word, position = kept[index(i)], at[index(i)]
            j = i
            while j > 0 and kept[index(j - 1)] > word:
                kept[index(j)] = kept[index(j - 1)]
                at[index(j)] = at[index(j - 1)]
                j -= 1
            kept[index(j)] = word
            at[index(j)] = position
    return first, size


def _placed(x: Any, ranks: Any, tally: Any, kept: Any, at: Any, counts: Any, out: Any) -> None:
    """The positions of the elements with these ranks."""
    n, first, size, shift, known = len(x), 0, 0, np.uint64(0), False
    low, high = _span(x)
    for j in range(len(ranks)):
        rank = min(max(ranks[j], 0), n - 1)
        place = 0
        if rank == 0:
            while word_of(x[index(place)]) != low:
                place += 1
        elif rank == n - 1:
            place = n - 1
            while word_of(x[index(place)]) != high:
                place -= 1
        else:
            if rank < first or rank >= first + size:
                if not known and n > FEW:
                    shift = _counted(x, low, high, tally)
                    known = True
                first, size = _narrowed(x, rank, low, high, shift, tally, kept, at, counts)
            place = at[index(rank - first)]
        out[j] = place


for _function in (_span, _part_bits, _counted, _holder, _narrowed, _placed):
    implements(_function, inline=False)(
        eval(
            f"lambda {', '.join(inspect.signature(_function).parameters)}: function",
            {"function": _function},
        )
    )


@implements(ranked, inline=False)
def _type_ranked(x: Any, ranks: Any, out: Any) -> Any:
    def body(x: Any, ranks: Any, out: Any) -> None:
        n, m = x.shape[-1], ranks.shape[-1]
        if x.size == 0 or m == 0:
            return
        lanes, parts = x.size // n, 2048 if n >= MANY else 256
        source, wanted, target = (
            x.reshape((lanes, n)), ranks.reshape((lanes, m)), out.reshape((lanes, m)),
        )  # fmt: skip
        kept, at = np.empty(n, np.uint64), np.empty(n, np.int64)
        tally, counts = np.empty(parts, np.int64), np.empty(parts, np.int64)
        for p in range(lanes):
            _placed(source[p], wanted[p], tally, kept, at, counts, target[p])

    return body


@implements(partitioned, inline=False)
def _type_partitioned(x: Any, ranks: Any, out: Any) -> Any:
    def body(x: Any, ranks: Any, out: Any) -> None:
        n, m = x.shape[-1], ranks.shape[-1]
        if x.size == 0:
            return
        lanes, parts = x.size // n, 2048 if n >= MANY else 256
        source, wanted, target = (
            x.reshape((lanes, n)), ranks.reshape((lanes, m)), out.reshape((lanes, n)),
        )  # fmt: skip
        kept, at = np.empty(n, np.uint64), np.empty(n, np.int64)
        tally, counts = np.empty(parts, np.int64), np.empty(parts, np.int64)
        places, bounds = np.empty(m, np.int64), np.empty(m, np.uint64)
        starts = np.empty(2 * m + 2, np.int64)
        for p in range(lanes):
            lane = source[p]
            _placed(lane, wanted[p], tally, kept, at, counts, places)
            for j in range(m):
                bounds[j] = word_of(lane[index(places[j])])
            if m == 1:
                _about_one(lane, bounds[0], target[p])
                continue
            # Between the elements wanted, and among their equals, all stay in order.
            for d in range(2 * m + 2):
                starts[d] = 0
            for i in range(index(0), index(n)):
                starts[index(_part_of(word_of(lane[i]), bounds) + 1)] += 1
            for d in range(1, 2 * m + 1):
                starts[index(d)] += starts[index(d - 1)]
            for i in range(index(0), index(n)):
                part = index(_part_of(word_of(lane[i]), bounds))
                target[p, index(starts[part])] = i
                starts[part] += 1

    return body


@implements(partitioned_by_one, inline=False)
def _type_partitioned_by_one(x: Any, ranks: Any, out: Any) -> Any:
    key, number = chosen.key_type(str(x.dtype)), scalar_type(x.dtype)
    own = routine(OWN, f"chosen_{x.dtype}", chosen.CHOSEN_KINDS)

    def body(x: Any, ranks: Any, out: Any) -> None:
        n = x.shape[-1]
        if x.size != 0:
            keys, counts = np.empty(scratch_size(n), key), np.empty(4, np.int64)
            none = np.empty(1, number)
            own(x.size // n, n, 0, ranks, 0, x, 0, keys, 0, counts, 0, none, 0, out, 0)

    return body


@implements(parted, inline=False)
def _type_parted(x: Any, ranks: Any, out: Any) -> Any:
    key = chosen.key_type(str(x.dtype))
    own = routine(OWN, f"chosen_{x.dtype}", chosen.CHOSEN_KINDS)

    def body(x: Any, ranks: Any, out: Any) -> None:
        n = x.shape[-1]
        if x.size != 0:
            keys, counts = np.empty(scratch_size(n), key), np.empty(4, np.int64)
            own(x.size // n, n, 1, ranks, 0, x, 0, keys, 0, counts, 0, out, 0, counts, 0)

    return body


scratch_size = chosen.scratch_size
implements(scratch_size)(lambda n: scratch_size)


def _about_one(x: Any, bound: Any, out: Any) -> None:
    """Positions of smaller words, of equal ones and of larger ones."""
    smaller, equal = 0, 0
    for i in range(index(0), index(len(x))):
        word = word_of(x[i])
        smaller += 1 if word < bound else 0
        equal += 1 if word == bound else 0
    first, middle, last = 0, smaller, smaller + equal
    for i in range(index(0), index(len(x))):
        word = word_of(x[i])
        before, alike = 1 if word < bound else 0, 1 if word == bound else 0
        at = first if before == 1 else middle if alike == 1 else last
        out[index(at)] = i
        first += before
        middle += alike
        last += 1 - before - alike


implements(_about_one, inline=False)(lambda x, bound, out: _about_one)


def _part_of(word: Any, bounds: Any) -> int:
    part = 0
    for j in range(index(0), index(len(bounds))):
        part += (1 if word >= bounds[j] else 0) + (1 if word > bounds[j] else 0)
    return part


implements(_part_of)(lambda word, bounds: _part_of)
