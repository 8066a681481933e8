"""Elements that all steps of a loop read or write at one place are in registers while it runs:
totals above all.

A compiler may not do that by itself where the loop writes to the same array elsewhere: it does not
know that the places differ. `d[i, k] += v` beside writes of `d[i, k + 1 + j]` would go through
memory at each step, and each would wait for the one before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from ..bounds import Ranges, nonnegative
from ..values import BOOL

Place = tuple[str, tuple[Int, ...]]


def keep_fixed_places(
    phases: Sequence[kernel.Phase],
    buffers: Mapping[str, kernel.Buffer],
    sizes: Iterable[str],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases in which such elements are local variables of the loop's surroundings."""
    writer = _Keeper(owners.Owners(buffers), frozenset(sizes), fresh)
    result = []
    for phase in phases:
        if phase.kind == "parallel":
            # Passes of this loop run side by side.
            (loop,) = phase.body
            assert isinstance(loop, kernel.Loop)
            inside = writer.within(loop.body, {loop.index: (loop.lo, loop.hi)})
            result.append(
                traversal.with_parts(phase, body=(traversal.with_parts(loop, body=inside),))
            )
        else:
            result.append(traversal.with_parts(phase, body=writer.within(phase.body, {})))
    return result


class _Touch(NamedTuple):
    buffer: str
    at: tuple[Any, ...]
    writes: bool
    ranges: Ranges
    """What the symbols of the index may be, there: loops one after the other share names."""


class _Keeper(NamedTuple):
    owner: owners.Owners
    sizes: frozenset[str]
    fresh: Callable[[str], str]

    def within(
        self, body: Iterable[kernel.Statement], ranges: Ranges
    ) -> tuple[kernel.Statement, ...]:
        """Statements with such elements of all loops inside."""
        found: list[kernel.Statement] = []
        for s, known in _known(body, ranges):
            if isinstance(s, kernel.Loop):
                found.extend(self.loop(s, known))
            else:
                inside = functools.partial(self.within, ranges=known)
                found.append(traversal.with_bodies(s, inside))
        return tuple(found)

    def loop(self, loop: kernel.Loop, ranges: Ranges) -> list[kernel.Statement]:
        """The loop, between what loads such elements and what stores them."""
        chosen = self.chosen(loop, ranges)
        body = loop.body
        before: list[kernel.Statement] = []
        after: list[kernel.Statement] = []
        for (buffer, index), dtype in chosen.items():
            name = self.fresh(f"{buffer}_here")
            before.append(kernel.Declare(name, kernel.Load(buffer, index, dtype)))
            body, stored = _at(body, buffer, index, name, dtype)
            if stored:
                after.append(kernel.Store(buffer, index, kernel.Name(name, dtype)))
        loop = traversal.with_parts(loop, body=self.within(body, _inside(loop, ranges)))
        whole = [*before, loop, *after]
        # Without a step the place may be outside of the array.
        if not before or self.certain(loop.hi - loop.lo - 1, ranges):
            return whole
        some = kernel.Apply(
            "{lo} < {hi}",
            (("lo", kernel.Index(loop.lo)), ("hi", kernel.Index(loop.hi))),
            BOOL,
        )
        return [kernel.If(some, tuple(whole))]

    def chosen(self, loop: kernel.Loop, ranges: Ranges) -> dict[Place, Any]:
        """The elements, with their dtypes."""
        accesses: list[_Touch] = []
        closed: set[str] = set()
        self.look(loop.body, _inside(loop, ranges), accesses, closed)
        inside = {loop.index}
        dtypes: dict[str, Any] = {}
        for s in traversal.within(loop.body):
            if isinstance(s, (kernel.Let, kernel.Declare, kernel.Allocate)):
                inside.add(s.name)
            elif isinstance(s, kernel.Loop):
                inside.add(s.index)
            dtypes.update((x.buffer, x.dtype) for x in traversal.loads(s))
        # Only an owner is written, and what a view shows of it may be anywhere.
        shown = {self.owner.of(a.buffer) for a in accesses if self.owner.is_view(a.buffer)}
        open_ = {a.buffer for a in accesses if a.writes} - closed - shown
        return {
            (buffer, index): dtypes[buffer]
            for buffer, index in dict.fromkeys((a.buffer, a.at) for a in accesses)
            if buffer in open_
            and buffer in dtypes
            and all(isinstance(i, (int, integers.Integer)) for i in index)
            and inside.isdisjoint(n for i in index for n in integers.symbols(i))
            and all(a.at == index or self.apart(index, a) for a in accesses if a.buffer == buffer)
        }

    def look(
        self,
        body: Iterable[kernel.Statement],
        ranges: Ranges,
        found: list[_Touch],
        closed: set[str],
    ) -> None:
        """What statements read and write by elements, and the owners of what they use as a
        whole."""
        for s, known in _known(body, ranges):
            found.extend(_Touch(x.buffer, x.index, False, known) for x in traversal.loads(s))
            if isinstance(s, kernel.Store):
                found.append(_Touch(s.buffer, s.index, True, known))
            elif isinstance(s, kernel.Call):
                closed |= self.owner.all(a for a in s.arguments if isinstance(a, str))
            elif isinstance(s, (kernel.Allocate, kernel.Grow)):
                closed |= {s.name, self.owner.of(s.name)}
            inside = _inside(s, known) if isinstance(s, kernel.Loop) else known
            for part in traversal.bodies(s):
                self.look(part, inside, found, closed)

    def apart(self, place: tuple[Any, ...], access: _Touch) -> bool:
        """Whether a place outside of the loops inside is never the one of that access."""
        return any(
            isinstance(i, (int, integers.Integer))
            and isinstance(j, (int, integers.Integer))
            and (self.certain(i - j - 1, access.ranges) or self.certain(j - i - 1, access.ranges))
            for i, j in zip(place, access.at, strict=True)
        )

    def certain(self, value: Int, ranges: Ranges) -> bool:
        """Whether `value >= 0` for all that its symbols may be."""
        return _closed(value, ranges, self.sizes) and nonnegative(value, ranges)


def _known(
    body: Iterable[kernel.Statement], ranges: Ranges
) -> Iterator[tuple[kernel.Statement, Ranges]]:
    """Statements, each with what is known of symbols where it stands."""
    for s in body:
        if isinstance(s, kernel.Let) and isinstance(s.value, kernel.Apply):
            given = [x for _, x in s.value.arguments]
            if s.value.code == "index({x})" and isinstance(given[0], kernel.Index):
                ranges = {**ranges, s.name: (given[0].value, given[0].value + 1)}
        yield s, ranges


def _inside(loop: kernel.Loop, ranges: Ranges) -> Ranges:
    return {**ranges, loop.index: (loop.lo, loop.hi)}


def _closed(value: Int, ranges: Ranges, sizes: frozenset[str]) -> bool:
    """Whether each symbol is a size, or has a range, whose symbols are so too."""
    pending = [*integers.symbols(value)]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen or name in sizes:
            continue
        seen.add(name)
        if name not in ranges:
            return False
        pending.extend(n for end in ranges[name] for n in integers.symbols(end))
    return True


def _at(
    body: tuple[kernel.Statement, ...], buffer: str, index: tuple[Int, ...], name: str, dtype: Any
) -> tuple[tuple[kernel.Statement, ...], bool]:
    """Statements with a local variable in the place of an element; whether they change it."""
    stored = False

    def load(e: kernel.Load) -> kernel.Expression:
        return kernel.Name(name, dtype) if (e.buffer, e.index) == (buffer, index) else e

    def store(s: kernel.Store) -> kernel.Statement:
        nonlocal stored
        if (s.buffer, s.index) != (buffer, index):
            return s
        stored = True
        value = s.value
        value = value if value.dtype == dtype else kernel.Apply("{x}", (("x", value),), dtype)
        return kernel.Update(name, value, s.combine, True)

    return traversal.rewritten(body, load, store), stored


__all__ = ["keep_fixed_places"]
