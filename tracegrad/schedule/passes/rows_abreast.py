"""Rows that have nothing to do with one another, of which each goes step by step: some of them
abreast.

    for i in 0 .. n:                             for b in 0 .. n / 4:
        for j in 0 .. m, in order:                   for j in 0 .. m, in order:
            y[i, j + 1] = f(y[i, j])      ->             y[4 b, j + 1] = f(y[4 b, j])
                                                         y[4 b + 1, j + 1] = f(y[4 b + 1, j])
                                                         ...

A step waits for the one before, and the processor does nothing meanwhile; what it would do of the
next row stands too far behind. Each row does what it did, in the same order. What goes from row to
row outside of the loops, a total for example, is done row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from ..._codegen import integers, kernel, owners, traversal, work
from ...types import Int

STRAIGHT = (kernel.Let, kernel.Declare, kernel.Update, kernel.Store)
FEWEST = 8
"""Loops of fewer steps stay as they are: LLVM may write them out."""
MOST = 72
"""So many operations and accesses are in a step of all rows, at most: each has numbers of its own
in registers, and is compiled."""


def rows_abreast(
    phases: Sequence[kernel.Phase],
    buffers: Mapping[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such rows some at a time, where one thread goes through them."""
    owner = owners.Owners(buffers)

    def within(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            found = _Rows(s, owner, fresh).made() if isinstance(s, kernel.Loop) else None
            result += found or [traversal.with_bodies(s, within)]
        return tuple(result)

    return [
        traversal.with_parts(p, body=within(p.body)) if p.kind == "serial" else p for p in phases
    ]


class _Rows:
    """A loop, and its parts: statements behind one another, and loops of such statements."""

    def __init__(
        self, loop: kernel.Loop, owner: owners.Owners, fresh: Callable[[str], str]
    ) -> None:
        self.loop, self.owner, self.fresh = loop, owner, fresh
        self.inner = [s for s in loop.body if isinstance(s, kernel.Loop)]

    def made(self) -> list[kernel.Statement] | None:
        """The loop over several rows at a time, and one over what is left; None where it stays."""
        loop = self.loop
        if (
            loop.own is not None
            or not self.inner
            or not all(isinstance(s, (*STRAIGHT, kernel.Loop)) for s in loop.body)
            or not all(isinstance(s, STRAIGHT) for n in self.inner for s in n.body)
            or not any(map(_waits, self.inner))
        ):
            return None
        everything = list(traversal.within(loop.body))
        named = {s.name for s in everything if isinstance(s, STRAIGHT[:3])}
        turning = named | {loop.index, *[n.index for n in self.inner]}
        if any(integers.symbols(e) & turning for n in self.inner for e in (n.lo, n.hi)):
            return None
        carried = self._carried()
        largest = max(sum(map(_weight, n.body)) for n in self.inner)
        abreast = next((r for r in (4, 2) if r * largest <= MOST), 0)
        trips = loop.trips
        if (
            carried is None
            or not abreast
            or (isinstance(trips, int) and trips < abreast)
            or not self._apart(everything, turning - {loop.index})
        ):
            return None
        return self._written(abreast, sorted(named - carried), everything)

    def _carried(self) -> set[str] | None:
        """The numbers that a row has from the row before; None where that is not all between the
        same two loops."""
        changed = {s.name for s in traversal.within(self.loop.body) if isinstance(s, kernel.Update)}
        carried: set[str] = set()

        def follow(body: Sequence[kernel.Statement], known: set[str]) -> None:
            for s in body:
                if isinstance(s, kernel.Loop):
                    follow(s.body, set(known))
                    continue
                for e in traversal.expressions(s):
                    carried.update(traversal.names_in(e) & changed - known)
                if isinstance(s, kernel.Declare):
                    known.add(s.name)
                elif isinstance(s, kernel.Update):
                    if s.combine is not None and s.name not in known:
                        carried.add(s.name)
                    known.add(s.name)

        follow(self.loop.body, set())
        places: dict[str, set[int]] = {}
        for k, part in enumerate(self._parts()):
            for s in part.body if isinstance(part, kernel.Loop) else part:
                for name in _names(s) & carried:
                    places.setdefault(name, set()).add(-1 if isinstance(part, kernel.Loop) else k)
        if any(len(found) > 1 or -1 in found for found in places.values()):
            return None
        return carried

    def _parts(self) -> Iterator[kernel.Loop | list[kernel.Statement]]:
        """The inner loops, and what stands between them."""
        for is_loop, group in groupby(self.loop.body, lambda s: isinstance(s, kernel.Loop)):
            if is_loop:
                yield from group  # type: ignore[misc]
            else:
                yield list(group)

    def _apart(self, everything: Sequence[kernel.Statement], turning: set[str]) -> bool:
        """Whether no row reads or writes an element that another row writes."""
        places: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
        written: set[str] = set()
        for s in everything:
            if isinstance(s, kernel.Store):
                written.add(self.owner.of(s.buffer))
                places.setdefault(self.owner.of(s.buffer), []).append((s.buffer, s.index))
            for e in traversal.loads(s):
                places.setdefault(self.owner.of(e.buffer), []).append((e.buffer, e.index))
        return all(self._by_row(places[owned], turning) for owned in written)

    def _by_row(self, places: Sequence[tuple[str, tuple[Any, ...]]], turning: set[str]) -> bool:
        """Whether all places of a buffer are in the slice of the row along one axis."""
        name, first = places[0]
        if any(other != name or len(at) != len(first) for other, at in places):
            return False
        for axis, i in enumerate(first):
            if (
                isinstance(i, integers.Integer)
                and integers.coefficient(i, self.loop.index) in (1, -1)
                and not integers.symbols(i) & turning
                and all(at[axis] == i for _, at in places)
            ):
                return True
        return False

    def _written(
        self, abreast: int, named: Sequence[str], everything: Sequence[kernel.Statement]
    ) -> list[kernel.Statement]:
        loop = self.loop
        block = self.fresh(loop.index)
        blocks = integers.floordiv(loop.trips, abreast)
        new = [{name: self.fresh(name) for name in named} for _ in range(abreast - 1)]
        # The last of them keeps its names: who reads a number behind the loop reads that row's.
        new.append({})
        row = [loop.lo + integers.mul(integers.symbol(block), abreast) + r for r in range(abreast)]

        def copies(body: Sequence[kernel.Statement]) -> list[kernel.Statement]:
            return [s for r in range(abreast) for s in self._copy(body, row[r], new[r])]

        declared = {s.name for s in everything if isinstance(s, kernel.Declare)}
        kinds = {s.name: s.value.dtype for s in everything if isinstance(s, kernel.Update)}
        before: list[kernel.Statement] = [
            kernel.Declare(names[name], kernel.Literal(kind.type(0).item(), kind))
            for name, kind in kinds.items()
            if name not in declared
            for names in new
            if name in names
        ]
        body: list[kernel.Statement] = []
        for part in self._parts():
            if isinstance(part, kernel.Loop):
                body.append(replace(part, body=tuple(copies(part.body))))
            else:
                body += copies(part)
        many = replace(loop, index=block, lo=0, hi=blocks, body=tuple(body))
        if integers.mod(loop.trips, abreast) == 0:
            return [*before, many]
        rest = replace(loop, lo=loop.lo + integers.mul(blocks, abreast))
        return [*before, many, self._anew(rest)]

    def _anew(self, rest: kernel.Loop) -> kernel.Statement:
        """The loop over what is left, with names of its own for what is assigned once."""
        once = {s.name for s in traversal.within(rest.body) if isinstance(s, kernel.Let)}
        names = {name: self.fresh(name) for name in sorted(once)}
        inside = self._copy(rest.body, integers.symbol(rest.index), names)
        return replace(rest, body=inside)

    def _copy(
        self, body: Sequence[kernel.Statement], row: Int, names: Mapping[str, str]
    ) -> tuple[kernel.Statement, ...]:
        """Statements of one row."""
        places = {self.loop.index: row, **{n: integers.symbol(m) for n, m in names.items()}}

        def change(e: Any) -> Any:
            match e:
                case integers.Integer():
                    return integers.substitute(e, places)
                case kernel.Name(name, dtype) if name in names:
                    return kernel.Name(names[name], dtype)
            return e

        def settle(s: kernel.Statement) -> kernel.Statement:
            if isinstance(s, STRAIGHT[:3]) and s.name in names:
                return replace(s, name=names[s.name])
            return s

        return traversal.mapped(body, change, settle)


def _names(s: kernel.Statement) -> set[str]:
    found = {s.name} if isinstance(s, kernel.Update | kernel.Declare) else set()
    return found.union(*[traversal.names_in(e) for e in traversal.expressions(s)])


def _waits(loop: kernel.Loop) -> bool:
    """Whether steps of a loop go in order, each of them with what the one before made."""
    trips = loop.trips
    if loop.apart or (isinstance(trips, int) and trips < FEWEST):
        return False
    changed = {s.name for s in loop.body if isinstance(s, kernel.Update)}
    known: set[str] = set()
    stored = {s.buffer: s.index for s in loop.body if isinstance(s, kernel.Store)}
    for s in loop.body:
        if any(traversal.names_in(e) & changed - known for e in traversal.expressions(s)):
            return True
        if isinstance(s, kernel.Update):
            if s.combine is not None and s.name not in known and s.exact:
                return True
            if s.combine is None:
                known.add(s.name)
        elif isinstance(s, kernel.Declare):
            known.add(s.name)
        for e in traversal.loads(s):
            if e.buffer in stored and e.index != stored[e.buffer]:
                return True
    return False


def _weight(s: kernel.Statement) -> int:
    """What a statement computes, reads and writes."""
    total, pending = int(isinstance(s, kernel.Store)), traversal.expressions(s)
    while pending:
        e = pending.pop()
        if isinstance(e, kernel.Apply):
            total += 8 if work.of_call(e.code) >= work.FUNCTION else 1
            pending.extend([a for _, a in e.arguments])
        elif isinstance(e, kernel.Load):
            total += 1
    return total


__all__ = ["rows_abreast"]
