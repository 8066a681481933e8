"""Of an array that a step hands on, it copies what nobody overwrites before it is read, and what
somebody reads at all.

A write at some places of a new array is a copy of the old one with other elements put over it. A
loop whose steps write less and less of it, or a window that moves, would copy the whole array for
each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...types import Int
from ..bounds import Ranges, at_most, nonnegative
from .fills import Fill, Interval, fills, part, without
from .sites import Site, largest

PIECES = 4
"""A fill becomes at most so many loops."""


@dataclass(frozen=True)
class Read:
    """An element that is read, and the loops around that."""

    at: tuple[Any, ...]
    ranges: Ranges
    loops: tuple[int, ...]
    """These loops by their identity."""


def cut_fills(
    phases: Sequence[kernel.Phase],
    buffers: Mapping[str, kernel.Buffer],
    sizes: Iterable[str],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops cut down, those that are left of each in a row."""
    return _Cutting(phases, buffers, frozenset(sizes), fresh).run()


class _Cutting:
    def __init__(
        self,
        phases: Sequence[kernel.Phase],
        buffers: Mapping[str, kernel.Buffer],
        sizes: frozenset[str],
        fresh: Callable[[str], str],
    ) -> None:
        self.phases, self.buffers, self.sizes, self.fresh = phases, buffers, sizes, fresh
        self.owner = owners.Owners(buffers)
        self.reads: dict[str, list[Read]] | None = None

    def run(self) -> list[kernel.Phase]:
        return [traversal.with_parts(p, body=self.body(p.body, Site(), 0)) for p in self.phases]

    def body(
        self, body: Sequence[kernel.Statement], site: Site, depth: int
    ) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for k, s in enumerate(body):
            found = self.cut(s, body[k + 1 :], site) if depth else None
            result.extend([self.within(s, site, depth + 1)] if found is None else found)
            site = site.behind(s)
        return tuple(result)

    def within(self, s: kernel.Statement, site: Site, depth: int) -> kernel.Statement:
        inside = site.inside(s) if isinstance(s, kernel.Loop) else site
        return traversal.with_bodies(s, lambda body: self.body(body, inside, depth))

    def cut(
        self, s: kernel.Statement, later: Sequence[kernel.Statement], site: Site
    ) -> list[kernel.Loop] | None:
        """What is left of a fill; None where that is all of it, or it is none."""
        found = fills(s, site.known) if isinstance(s, kernel.Loop) else []
        if len(found) != 1 or sum(isinstance(x, kernel.Store) for x in traversal.within([s])) != 1:
            return None
        (fill,) = found
        if not self.known(fill, site):
            return None
        role = self.buffers[fill.buffer].role if fill.buffer in self.buffers else "local"
        if role not in ("temp", "out"):
            return None
        shorter = self.as_read(fill, site) if role == "temp" else None
        for box, whole in ((shorter, False), (dict(fill.box), True)):
            if box is None:
                continue
            pieces = self.not_overwritten(fill, box, later, site)
            if pieces == [dict(fill.box)]:
                return None
            if len(pieces) > PIECES or not all(self.can_be(p, fill, site) for p in pieces):
                continue
            if whole or not pieces or self.reads_itself_within(fill, box, site):
                return [part(fill, p, self.fresh) for p in pieces]
        return None

    def can_be(self, box: Mapping[int, Interval], fill: Fill, site: Site) -> bool:
        """Whether loops can run over a box: its ends are known there, and not negative."""
        there = self.sizes | site.known_loops(self.sizes)
        return all(
            integers.symbols(e) <= there and nonnegative(e - fill.axes[d][1], site.ranges)
            for d, ends in box.items()
            for e in ends
        )

    def known(self, fill: Fill, site: Site) -> bool:
        """Whether all that is known of a box is about the program's own sizes and loops over them:
        of a size that is found out nothing can be proved."""
        names = {n for ends in fill.box.values() for e in ends for n in integers.symbols(e)}
        return names <= self.sizes | site.known_loops(self.sizes)

    # --- what is overwritten ----------------------------------------------------------------------

    def not_overwritten(
        self,
        fill: Fill,
        box: dict[int, Interval],
        later: Sequence[kernel.Statement],
        site: Site,
    ) -> list[dict[int, Interval]]:
        pieces = [box]
        for s in later:
            if self.meets(fill, s, site):
                break
            site = site.behind(s)
            for over in fills(s, site.known) if isinstance(s, kernel.Loop) else ():
                if (
                    over.buffer == fill.buffer
                    and _side_by_side(over, fill)
                    and self.known(over, site)
                ):
                    left = [without(p, over.box, site.ranges) for p in pieces]
                    if all(x is not None for x in left):
                        pieces = [p for x in left if x is not None for p in x]
        return pieces

    def meets(self, fill: Fill, s: kernel.Statement, site: Site) -> bool:
        """Whether a statement may read what the fill writes."""
        mine = self.owner.of(fill.buffer)
        for x in traversal.within([s]):
            for e in traversal.loads(x):
                if self.owner.of(e.buffer) == mine and not (
                    e.buffer == fill.buffer and _apart(fill, site.plain(e.index))
                ):
                    return True
            if isinstance(x, kernel.Store) and x.combine is not None:
                if x.buffer == fill.buffer and not _apart(fill, site.plain(x.index)):
                    return True
            if isinstance(x, kernel.Call | kernel.Allocate | kernel.Grow):
                names = x.arguments if isinstance(x, kernel.Call) else (x.name,)
                if mine in self.owner.all([n for n in names if isinstance(n, str)]):
                    return True
        return False

    # --- what is read -----------------------------------------------------------------------------

    def as_read(self, fill: Fill, site: Site) -> dict[int, Interval] | None:
        """What is read of the box of a fill, along the first axis where that is less; but for what
        the fill itself reads."""
        reads = self.survey().get(fill.buffer)
        if reads is None:
            return None
        others = [r for r in reads if id(fill.loop) not in r.loops]
        for d, (lo, hi) in fill.box.items():
            ends = [self.end_of(r, d) for r in others]
            rows = {_row(a): n for a, n in enumerate(self.buffers[fill.buffer].shape) if a != d}
            end = self.greatest([e for e in ends if e is not None], rows)
            if end is None or None in ends:
                continue
            here = integers.substitute(end, {_row(a): i for a, i in enumerate(fill.at) if a != d})
            if not integers.symbols(here) <= self.sizes | site.known_loops(self.sizes):
                continue
            if (
                integers.sub(here, hi) != 0
                and at_most(here, hi, site.ranges)
                and at_most(lo, here, site.ranges)
            ):
                return {**fill.box, d: (lo, here)}
        return None

    def reads_itself_within(self, fill: Fill, box: dict[int, Interval], site: Site) -> bool:
        """Whether what is left of a fill reads no more of its array than there is then."""
        (d,) = [d for d in box if box[d] != fill.box[d]]
        name, apart = fill.axes[d]
        reads = self.survey().get(fill.buffer) or []
        mine = [r for r in reads if id(fill.loop) in r.loops]
        others = [self.end_of(r, d) for r in reads if id(fill.loop) not in r.loops]
        rows = {_row(a): n for a, n in enumerate(self.buffers[fill.buffer].shape) if a != d}
        end = self.greatest([e for e in others if e is not None], rows)
        lo, hi = box[d]
        less = [
            self.end_of(replace(r, ranges={**r.ranges, name: (lo - apart, hi - apart)}), d)
            for r in mine
        ]
        return end is not None and all(
            e is not None and at_most(e[0], _at(end, e[1]), _ranges(rows)) for e in less
        )

    def greatest(
        self, ends: Sequence[tuple[Int, Mapping[str, Int]]], rows: Mapping[str, Int]
    ) -> Int | None:
        """The one of some ends that no other exceeds, in any row."""
        for end, fixed in ends:
            if not fixed and all(at_most(e, _at(end, f), _ranges(rows)) for e, f in ends):
                return end
        return None

    def end_of(self, read: Read, d: int) -> tuple[Int, Mapping[str, Int]] | None:
        """Behind the last place along an axis that is read in a row, and which places of other axes
        it is about, where that is one; None where it is not known."""
        ranges, last = dict(read.ranges), read.at[d]
        fixed: dict[str, Int] = {}
        for a, i in enumerate(read.at):
            if a == d or not isinstance(i, int | integers.Integer):
                continue
            mine = integers.symbols(i) & ranges.keys()
            if integers.symbols(i) <= self.sizes:
                fixed[_row(a)] = i
            for name in sorted(mine):
                sign = integers.coefficient(i, name)
                if sign is None or sign not in (1, -1):
                    continue
                rest = integers.sub(i, integers.mul(sign, integers.symbol(name)))
                if integers.symbols(rest) & ranges.keys():
                    continue
                value = integers.mul(sign, integers.symbol(_row(a)) - rest)
                del ranges[name]
                ranges = {
                    n: (
                        integers.substitute(lo, {name: value}),
                        integers.substitute(hi, {name: value}),
                    )
                    for n, (lo, hi) in ranges.items()
                }
                if isinstance(last, integers.Integer):
                    last = integers.substitute(last, {name: value})
                break
        if not isinstance(last, int | integers.Integer):
            return None
        found = largest(last, ranges)
        if found is None or not all(
            n in self.sizes or n.startswith(ROW) for n in integers.symbols(found)
        ):
            return None
        return found + 1, fixed

    def survey(self) -> dict[str, list[Read]]:
        """All that is read of each temporary array that nobody shows or is given as a whole."""
        if self.reads is None:
            found: dict[str, list[Read]] = {
                b.name: []
                for b in self.buffers.values()
                if b.role == "temp" and not b.of and not self.owner.views(b.name)
            }
            for p in self.phases:
                self.look((*p.local, *p.body), Site(), (), found)
            self.reads = found
        return self.reads

    def look(
        self,
        body: Sequence[kernel.Statement],
        site: Site,
        loops: tuple[int, ...],
        found: dict[str, list[Read]],
    ) -> None:
        for s in body:
            touched = [(e.buffer, e.index) for e in traversal.loads(s)]
            if isinstance(s, kernel.Store) and s.combine is not None:
                touched.append((s.buffer, s.index))
            for name, at in touched:
                if name in found:
                    found[name].append(Read(site.plain(at), site.ranges, loops))
            if isinstance(s, kernel.Call | kernel.Allocate | kernel.Grow):
                names = s.arguments if isinstance(s, kernel.Call) else (s.name,)
                for n in names:
                    if isinstance(n, str):
                        found.pop(n, None)
            if isinstance(s, kernel.Loop):
                self.look(s.body, site.inside(s), (*loops, id(s)), found)
            else:
                for inner in traversal.bodies(s):
                    self.look(inner, site, loops, found)
            site = site.behind(s)


ROW = "row "


def _row(axis: int) -> str:
    """The symbol of a place along an axis."""
    return f"{ROW}{axis}"


def _ranges(rows: Mapping[str, Int]) -> Ranges:
    return {name: (0, n) for name, n in rows.items()}


def _at(end: Int, fixed: Mapping[str, Int]) -> Int:
    return integers.substitute(end, fixed)


def _side_by_side(over: Fill, fill: Fill) -> bool:
    """Whether two fills go along the same axes, at one place along the others."""
    return over.axes.keys() == fill.axes.keys() and all(
        over.at[d] == i for d, i in enumerate(fill.at) if d not in fill.axes
    )


def _apart(fill: Fill, at: Sequence[Any]) -> bool:
    """Whether a place is in another row than a fill."""
    for d, i in enumerate(at):
        if d not in fill.axes and isinstance(i, int | integers.Integer):
            between = integers.sub(i, fill.at[d])
            if isinstance(between, int) and between:
                return True
    return False


__all__ = ["cut_fills"]
