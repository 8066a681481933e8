"""Where entries lie side by side: of terms whose elements are written at even distances, all that
belong to one element form a record, and records follow one another.

Only numbers are looked at here. The rows of a stencil have one order of entries nearly everywhere,
so that a record with its element's number says where each entry is; what lies elsewhere, at the
edges of a grid, is the rest, which is written to places from a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

SHORT = 8
"""Axes of at most so many elements are written out, beside longer ones."""
LONG = 32
"""Fewer elements than this make no records."""
WIDEST = 48
"""As many entries a record may have."""
MOST = 16
"""As many records there may be, and so many times as many terms."""
REST = 0.25
"""Which share of the entries may lie outside of records."""


class Stream(NamedTuple):
    """One number for each element of some axes: of the coefficient with this number, at `pick`
    along its short axes. A place below 0 means that there is none."""

    number: int
    pick: tuple[int | None, ...]
    places: np.ndarray

    @property
    def at(self) -> tuple[Any, ...]:
        """Its elements among those of the coefficient."""
        return tuple(slice(None) if k is None else k for k in self.pick)


@dataclass(eq=False)
class Records:
    """Streams whose entries lie side by side, the first of element `lo` at `start`."""

    streams: list[Stream]
    lo: tuple[int, ...]
    hi: tuple[int, ...]
    start: int
    steps: tuple[int, ...]
    """From one element to the next along each axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self.lo, self.hi, strict=True))

    def places(self, lo: Sequence[int], hi: Sequence[int]) -> np.ndarray:
        """Where the records of the elements from `lo` to `hi` begin."""
        made = np.array(self.start)
        for a, step in enumerate(self.steps):
            made = made[..., None] + (np.arange(lo[a], hi[a]) - self.lo[a]) * step
        return made

    @property
    def stop(self) -> int:
        """Behind the last place, with what lies between two rows behind the last row, too."""
        return self.start + self.shape[0] * self.steps[0]


class Lying(NamedTuple):
    """All entries: records, and of the rest by coefficient the elements and their places."""

    records: list[Records]
    rest: list[tuple[int, np.ndarray, np.ndarray]]


def streams_of(number: int, places: np.ndarray) -> list[Stream]:
    """The streams of a coefficient."""
    short = [n <= SHORT for n in places.shape]
    for k in reversed(range(places.ndim)):
        # The shortest axes only, where all are short.
        others = [n for n, s in zip(places.shape, short, strict=True) if not s]
        if np.prod(others, dtype=np.int64) >= LONG:
            break
        short[k] = False
    ranges = [range(n) if s else [None] for n, s in zip(places.shape, short, strict=True)]
    found = []
    for pick in itertools.product(*ranges):
        s = Stream(number, pick, places)
        found.append(s._replace(places=places[s.at]))
    return found


def layout(places: Sequence[np.ndarray], nnz: int) -> Lying | None:
    """The records of coefficients whose entries have these places, each place once; None where
    records are not worth it."""
    streams: list[Stream] = []
    for k, p in enumerate(places):
        if p.size and np.prod([n for n in p.shape if n <= SHORT]) <= WIDEST:
            streams += streams_of(k, p)
    if not streams or len(streams) > MOST * WIDEST:
        return None
    found: list[Records] = []
    for group in _side_by_side(streams):
        record = _record(group, nnz)
        if record is not None:
            found.append(record)
    found.sort(key=lambda r: r.start)
    kept: list[Records] = []
    for record in found:
        if kept and record.start < kept[-1].stop:
            if record.stop - record.start <= kept[-1].stop - kept[-1].start:
                continue
            kept.pop()
        if not kept or record.start >= kept[-1].stop:
            kept.append(record)
    if not kept or len(kept) > MOST:
        return None
    left = [p >= 0 for p in places]
    for record in kept:
        for s, there in zip(record.streams, _there(record), strict=True):
            box = tuple(slice(a, b) for a, b in zip(record.lo, record.hi, strict=True))
            left[s.number][s.at][box] &= ~there
    if sum(map(np.count_nonzero, left)) > REST * nnz:
        return None
    rest = []
    for k, (p, mine) in enumerate(zip(places, left, strict=True)):
        elements = np.flatnonzero(mine)
        if len(elements):
            rest.append((k, elements, p.reshape(-1)[elements]))
    return Lying(kept, rest)


def _side_by_side(streams: Sequence[Stream]) -> Iterator[list[Stream]]:
    """Streams that lie side by side at the element in the middle, and go on evenly there."""
    keyed = []
    for k, s in enumerate(streams):
        shape = s.places.shape
        if not shape or s.places.size < LONG or min(shape) < 2:
            continue
        middle = tuple(n // 2 for n in shape)
        base = int(s.places[middle])
        near = [
            int(s.places[(*middle[:a], middle[a] - 1, *middle[a + 1 :])]) for a in range(len(shape))
        ]
        if base < 0 or min(near) < 0:
            continue
        keyed.append((shape, tuple(base - b for b in near), base, k))
    keyed.sort()
    group: list[Stream] = []
    last = None
    for shape, steps, base, k in keyed:
        if last != (shape, steps, base) and group:
            yield group
            group = []
        group.append(streams[k])
        last = shape, steps, base + 1
    if group:
        yield group


def _record(group: list[Stream], nnz: int) -> Records | None:
    """The largest box of elements that lie evenly."""
    shape = group[0].places.shape
    lo, hi, first = [0] * len(shape), list(shape), group[0].places
    middle = [n // 2 for n in shape]
    steps = [
        int(first[tuple(middle)] - first[(*middle[:a], middle[a] - 1, *middle[a + 1 :])])
        for a in range(len(shape))
    ]
    start = int(first[tuple(middle)]) - sum(m * s for m, s in zip(middle, steps, strict=True))
    whole = Records(group, tuple(lo), tuple(hi), start, tuple(steps))
    width = len(group)
    if width > WIDEST or steps[-1] != width:
        return None
    gapless = all(steps[a] == steps[a + 1] * shape[a + 1] for a in range(len(shape) - 1))
    if not gapless:
        even = np.ones(shape, bool)
        for there in _there(whole):
            even &= there
        for a in range(len(shape)):
            line = even[tuple(slice(None) if k == a else m for k, m in enumerate(middle))]
            off = np.flatnonzero(~line)
            before, behind = off[off < middle[a]], off[off > middle[a]]
            lo[a] = int(before[-1]) + 1 if len(before) else 0
            hi[a] = int(behind[0]) if len(behind) else shape[a]
        for a in range(len(shape) - 1):
            if steps[a] < steps[a + 1] * (hi[a + 1] - lo[a + 1]):
                return None
    # Nothing is written outside.
    start += sum(b * s for b, s in zip(lo, steps, strict=True))
    while lo[0] < hi[0] and start < 0:
        lo[0], start = lo[0] + 1, start + steps[0]
    while lo[0] < hi[0] and start + (hi[0] - lo[0]) * steps[0] > nnz:
        hi[0] -= 1
    if lo[0] >= hi[0]:
        return None
    record = Records(group, tuple(lo), tuple(hi), start, tuple(steps))
    share = np.mean([there.mean() for there in _there(record)])
    return record if share >= 1 - REST else None


def _there(record: Records) -> Iterator[np.ndarray]:
    """Of each stream which elements of the box have their places in the record."""
    box = tuple(slice(a, b) for a, b in zip(record.lo, record.hi, strict=True))
    made = record.places(record.lo, record.hi)
    for t, s in enumerate(record.streams):
        yield s.places[box] == made + t


__all__ = ["Lying", "Records", "Stream", "layout", "streams_of"]
