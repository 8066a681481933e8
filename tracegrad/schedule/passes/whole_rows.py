"""Arrays are not filled that a loop writes row by row, each row whole, and reads only where it has
written.

    y = zeros(n, m)                              for i in 0 .. n:
    for i in 0 .. n:                                 y[i, 0] = x[i, 0]
        y[i, 0] = x[i, 0]                 ->         for j in 0 .. m - 1:
        for j in 0 .. m - 1:                             y[i, j + 1] = f(y[i, j])
            y[i, j + 1] = f(y[i, j])

What has been written of a row is an interval, which each step makes longer at one end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from ..bounds import Ranges, at_most
from .fills import Interval, fills

STRAIGHT = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store)
Row: TypeAlias = tuple[Any, ...]
"""The places along all axes but one."""


class _ReadsMoreError(Exception):
    """Something else is read, or it is not known what."""


def whole_rows(
    phases: Sequence[kernel.Phase], buffers: Mapping[str, kernel.Buffer]
) -> list[kernel.Phase]:
    """The phases without such fills."""
    owner = owners.Owners(buffers)
    return [traversal.with_parts(p, body=_without(p.body, buffers, owner)) for p in phases]


def _without(
    body: tuple[kernel.Statement, ...],
    buffers: Mapping[str, kernel.Buffer],
    owner: owners.Owners,
) -> tuple[kernel.Statement, ...]:
    kept: list[kernel.Statement] = []
    for k, s in enumerate(body):
        b = buffers.get(_filled(s) or "")
        if (
            b is not None
            and b.role in ("temp", "out")
            and not b.of
            and not owner.views(b.name)
            and isinstance(s, kernel.Loop)
            and _is_all(s, b)
        ):
            later = next((t for t in body[k + 1 :] if b.name in _touched([t])), None)
            if isinstance(later, kernel.Loop) and _writes_all(later, b):
                continue
        kept.append(s)
    return tuple(kept)


def _filled(s: kernel.Statement) -> str | None:
    """The one array that a loop writes."""
    if not isinstance(s, kernel.Loop):
        return None
    stored = [x.buffer for x in traversal.within([s]) if isinstance(x, kernel.Store)]
    return stored[0] if len(stored) == 1 else None


def _is_all(loop: kernel.Loop, b: kernel.Buffer) -> bool:
    return any(
        [f.box.get(d) for d in range(len(b.shape))] == [(0, n) for n in b.shape]
        for f in fills(loop, {})
    )


def _touched(body: Iterable[kernel.Statement]) -> set[str]:
    """The arrays that statements read, write or hand to routines."""
    names: set[str] = set()
    found: set[str] = set()
    for s in traversal.within(body):
        traversal.add_read(s, names, found)
        match s:
            case kernel.Store(buffer) | kernel.Allocate(buffer) | kernel.Grow(buffer):
                found.add(buffer)
            case kernel.Call(_, arguments):
                found.update([a for a in arguments if isinstance(a, str)])
    return found


def _writes_all(loop: kernel.Loop, b: kernel.Buffer) -> bool:
    """Whether a loop writes all of an array, and reads none of it before."""
    nest = [loop]
    while len(nest) < len(b.shape) - 1:
        inside = [s for s in nest[-1].body if b.name in _touched([s])]
        if len(inside) != 1 or not isinstance(inside[0], kernel.Loop):
            return False
        nest.append(inside[0])
    if len(b.shape) < 2:
        return False
    return any(_along(axis, nest, b) for axis in reversed(range(len(b.shape))))


def _along(axis: int, nest: Sequence[kernel.Loop], b: kernel.Buffer) -> bool:
    """Whether the innermost of some loops writes a row along this axis, and together they write
    all rows."""
    ranges: dict[str, tuple[Int, Int]] = {n.index: (n.lo, n.hi) for n in nest}
    first = next(
        (
            s.index
            for s in traversal.within(nest[-1].body)
            if isinstance(s, kernel.Store) and s.buffer == b.name
        ),
        None,
    )
    if first is None:
        return False
    row = _row(first, axis)
    left = set(ranges)
    for i, n in zip(row, [n for d, n in enumerate(b.shape) if d != axis], strict=True):
        if not isinstance(i, integers.Integer) or len(integers.symbols(i) & left) != 1:
            return False
        (name,) = integers.symbols(i) & left
        left.remove(name)
        sign, (lo, hi) = integers.coefficient(i, name), ranges[name]
        ends = [integers.substitute(i, {name: e}) for e in (lo, hi - 1)]
        if sign not in (1, -1) or ends[:: int(sign)] != [0, n - 1]:
            return False
    try:
        written = _Walk(b.name, axis, row).body(nest[-1].body, None, ranges)
    except _ReadsMoreError:
        return False
    return written == (0, b.shape[axis])


def _row(at: Sequence[Any], axis: int) -> Row:
    return tuple([i for d, i in enumerate(at) if d != axis])


class _Walk:
    """Through what is done for one row of an array."""

    def __init__(self, name: str, axis: int, row: Row) -> None:
        self.name, self.axis, self.row = name, axis, row

    def body(
        self, body: Sequence[kernel.Statement], written: Interval | None, ranges: Ranges
    ) -> Interval | None:
        """What has been written behind these statements."""
        for s in body:
            if self.name not in _touched([s]):
                continue
            if isinstance(s, kernel.Loop):
                written = self.loop(s, written, ranges)
                continue
            if not isinstance(s, STRAIGHT):
                raise _ReadsMoreError
            self.reads(s, written, ranges)
            if isinstance(s, kernel.Store) and s.buffer == self.name:
                written = self.grown(self.place(s.index), written, ranges)
        return written

    def loop(self, loop: kernel.Loop, written: Interval | None, ranges: Ranges) -> Interval | None:
        stores = [
            s
            for s in traversal.within(loop.body)
            if isinstance(s, kernel.Store) and s.buffer == self.name
        ]
        inside = {**ranges, loop.index: (loop.lo, loop.hi)}
        places = {self.place(s.index) for s in stores}
        if all(_within(p, written, inside) for p in places):
            self.body(loop.body, written, inside)
            return written
        if len(stores) != 1 or not at_most(loop.lo, loop.hi, ranges):
            raise _ReadsMoreError
        (place,) = places
        sign = integers.coefficient(place, loop.index)

        def at(step: Int) -> Int:
            return integers.substitute(place, {loop.index: step})

        # What there is before a step, and behind all of them.
        if sign == 1 and (written is None or at(loop.lo) == written[1]):
            begin = at(loop.lo) if written is None else written[0]
            before, behind = (begin, place), (begin, at(loop.hi))
        elif sign == -1 and (written is None or at(loop.lo) == written[0] - 1):
            end = at(loop.lo) + 1 if written is None else written[1]
            before, behind = (place + 1, end), (at(loop.hi) + 1, end)
        else:
            raise _ReadsMoreError
        self.body(loop.body, before, inside)
        return behind

    def reads(self, s: kernel.Statement, written: Interval | None, ranges: Ranges) -> None:
        for e in traversal.loads(s):
            if e.buffer == self.name and not _within(self.place(e.index), written, ranges):
                raise _ReadsMoreError
        if isinstance(s, kernel.Store) and s.buffer == self.name and s.combine is not None:
            if not _within(self.place(s.index), written, ranges):
                raise _ReadsMoreError

    def place(self, at: Sequence[Any]) -> Int:
        """Where it is along the axis."""
        i = at[self.axis]
        if _row(at, self.axis) != self.row or not isinstance(i, int | integers.Integer):
            raise _ReadsMoreError
        return i

    def grown(self, i: Int, written: Interval | None, ranges: Ranges) -> Interval:
        if written is None:
            return i, i + 1
        lo, hi = written
        if i == hi:
            return lo, hi + 1
        if i == lo - 1:
            return i, hi
        if not _within(i, written, ranges):
            raise _ReadsMoreError
        return written


def _within(i: Int, written: Interval | None, ranges: Ranges) -> bool:
    return (
        written is not None
        and at_most(written[0], i, ranges)
        and at_most(i + 1, written[1], ranges)
    )


__all__ = ["whole_rows"]
