"""Loops in order of which one step changes what all steps read, as two: up to that step, and behind
it.

    for k in 0 .. n, in order:                   held = d[j, i]
        d[j, k] = min(d[j, k],                   for k in 0 .. i + 1: ...
                      d[j, i] + d[i, k])   ->    held = d[j, i]
                                                 for k in i + 1 .. n: ...

In neither half does a step wait for another one, so both may vectorise. What a step reads in
another row, at the place where it writes in its own, is either another element or that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from ..bounds import at_most, nonnegative
from .sites import Site

STRAIGHT = (kernel.Let, kernel.Update, kernel.Store)
FEWEST = 16
"""Loops of fewer steps stay as they are."""
Place: TypeAlias = tuple[str, tuple[Any, ...]]


def split_loops(
    phases: Sequence[kernel.Phase],
    buffers: Mapping[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops in two, where one thread goes through them."""
    owner = owners.Owners(buffers)
    reads = _reads(s for p in phases for s in (*p.local, *p.body))

    def body_of(body: Sequence[kernel.Statement], site: Site) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            found = None
            if isinstance(s, kernel.Loop):
                found = _Split(s, site, owner, buffers, reads, fresh).made()
            inside = site.inside(s) if isinstance(s, kernel.Loop) else site
            result += found or [traversal.with_bodies(s, partial(body_of, site=inside))]
            site = site.behind(s)
        return tuple(result)

    return [
        traversal.with_parts(p, body=body_of(p.body, Site())) if p.kind == "serial" else p
        for p in phases
    ]


class _Split:
    """One loop, and what is known where it stands."""

    def __init__(
        self,
        loop: kernel.Loop,
        site: Site,
        owner: owners.Owners,
        buffers: Mapping[str, kernel.Buffer],
        reads: Mapping[str, int],
        fresh: Callable[[str], str],
    ) -> None:
        self.loop, self.site, self.owner, self.buffers = loop, site, owner, buffers
        self.reads, self.fresh = reads, fresh

    def made(self) -> list[kernel.Statement] | None:
        """The two loops, or one that needs no cut; None where it stays as it is."""
        loop = self.loop
        trips = loop.trips
        if (
            loop.own is not None
            or (isinstance(trips, int) and trips < FEWEST)
            or not all(isinstance(s, STRAIGHT) for s in loop.body)
            or not self._hands_nothing_on()
        ):
            return None
        fixed = self._fixed()
        if fixed is None:
            return None
        held = [(place, dtype) for place, (dtype, _) in fixed.items()]
        lo, hi, ranges = loop.lo, loop.hi, self.site.ranges
        inside = {
            step
            for _, step in fixed.values()
            if not at_most(step + 1, lo, ranges) and not at_most(hi, step, ranges)
        }
        if not inside:
            return self._half(lo, hi, held)
        middle = inside.pop() + 1
        if inside or not (at_most(lo, middle, ranges) and at_most(middle, hi, ranges)):
            return None
        return [*self._half(lo, middle, held), *self._half(middle, hi, held)]

    def _hands_nothing_on(self) -> bool:
        """Whether each number that a step changes is set before it is read, and read in no other
        place."""
        changed = {s.name for s in self.loop.body if isinstance(s, kernel.Update)}
        known: set[str] = set()
        for s in self.loop.body:
            for e in traversal.expressions(s):
                if traversal.names_in(e) & changed - known:
                    return False
            if isinstance(s, kernel.Update):
                if s.combine is not None or s.name in known:
                    return False
                known.add(s.name)
        here = _reads(self.loop.body)
        return all(self.reads.get(name, 0) == here.get(name, 0) for name in changed)

    def _fixed(self) -> dict[Place, tuple[Any, Int]] | None:
        """The elements that all steps read and one step may change, with that step; None where
        steps may wait for one another."""
        loop = self.loop
        stores = [s for s in loop.body if isinstance(s, kernel.Store)]
        made = {s.name for s in loop.body if isinstance(s, kernel.Let | kernel.Update)}
        written: dict[str, tuple[str, int, tuple[Any, ...]]] = {}
        for store in stores:
            axis = self._axis(store.index, made)
            if store.combine is not None or axis is None:
                return None
            mine = store.buffer, axis, store.index
            if written.setdefault(self.owner.of(store.buffer), mine) != mine:
                return None
        fixed: dict[Place, tuple[Any, Int]] = {}
        others = False
        for s in loop.body:
            for e in traversal.loads(s):
                if self.owner.of(e.buffer) not in written:
                    continue
                name, axis, at = written[self.owner.of(e.buffer)]
                if e.buffer != name or not self._is_plain(e.index, made):
                    return None
                if e.index == at:
                    continue
                index: tuple[Any, ...] = e.index
                own = [integers.coefficient(i, loop.index) for i in index]
                if any(own):
                    rest = [c for d, c in enumerate(own) if d != axis]
                    if any(c != 0 for c in rest) or integers.sub(index[axis], at[axis]) != 0:
                        return None
                    others = True
                    continue
                if any(c != 0 for c in own) or not self._is_there(e):
                    return None
                # The step that writes at this place of the axis.
                first = integers.substitute(at[axis], {loop.index: 0})
                fixed[e.buffer, e.index] = e.dtype, integers.sub(index[axis], first)
        return fixed if fixed or others else None

    def _axis(self, at: Sequence[Any], made: set[str]) -> int | None:
        """The axis along which a place moves by one in each step."""
        if not self._is_plain(at, made):
            return None
        moving = [integers.coefficient(i, self.loop.index) for i in at]
        axes = [d for d, c in enumerate(moving) if c != 0]
        return axes[0] if len(axes) == 1 and moving[axes[0]] == 1 else None

    def _is_plain(self, at: Sequence[Any], made: set[str]) -> bool:
        """Whether indices are expressions of what does not change in a step."""
        return all(
            isinstance(i, int | integers.Integer) and not integers.symbols(i) & made for i in at
        )

    def _is_there(self, e: kernel.Load) -> bool:
        """Whether an element may be read even where the loop has no steps."""
        ranges, shape = self.site.ranges, self.buffers[e.buffer].shape
        return all(
            nonnegative(i, ranges) and at_most(i + 1, n, ranges)
            for i, n in zip(self.site.plain(e.index), shape, strict=True)
        )

    def _half(self, lo: Int, hi: Int, held: Sequence[tuple[Place, Any]]) -> list[kernel.Statement]:
        before: list[kernel.Statement] = []
        names: dict[Place, kernel.Expression] = {}
        for place, dtype in held:
            name = self.fresh(f"{place[0]}_held")
            before.append(kernel.Let(name, kernel.Load(*place, dtype)))
            names[place] = kernel.Name(name, dtype)

        def change(e: Any) -> Any:
            return names.get((e.buffer, e.index), e) if isinstance(e, kernel.Load) else e

        # Numbers that are a step's own are no variables: the compiler would hand them on.
        body: tuple[kernel.Statement, ...] = tuple(
            [
                kernel.Let(s.name, s.value) if isinstance(s, kernel.Update) else s
                for s in traversal.mapped(self.loop.body, change, lambda s: s)
            ]
        )
        for s in body:
            if isinstance(s, kernel.Let):
                body = traversal.renamed(body, s.name, self.fresh(s.name))
        return [*before, replace(self.loop, lo=lo, hi=hi, body=body, apart=True)]


def _reads(body: Iterable[kernel.Statement]) -> dict[str, int]:
    """How often names are read."""
    found: dict[str, int] = {}
    for s in traversal.within(tuple(body)):
        for e in traversal.expressions(s):
            for name in traversal.names_in(e):
                found[name] = found.get(name, 0) + 1
    return found


__all__ = ["split_loops"]
