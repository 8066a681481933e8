"""How statements use memory where a loop's passes are lanes: what each lane has for itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ..._codegen import integers, kernel, owners, traversal, work
from ...sizes import same
from ...types import Int

SHORT = 16
"""Loops of so many passes may be gone through by every block again."""


@dataclass
class CopyUse:
    """How some statements use a buffer."""

    places: set[int] | None = None
    """The axes that are indexed by the lane in every access; None before the first."""
    written: bool = False
    shared: bool = False
    """Whether a lane writes it, or may, though it is not a temporary of one pass."""
    own: bool = True
    """Whether all accesses are those of a lane to a temporary of its own pass."""

    def merged(self, other: CopyUse) -> CopyUse:
        if other.places is None:
            places = self.places
        elif self.places is None:
            places = other.places
        else:
            places = self.places & other.places
        return CopyUse(
            places,
            self.written or other.written,
            self.shared or other.shared,
            self.own and other.own,
        )


@dataclass
class Survey:
    """What statements do, seen with loops over `extent` lanes in mind."""

    uses: dict[str, CopyUse] = field(default_factory=dict)
    possible: bool = True
    lanes: bool = False
    """Whether there is a loop over lanes at all."""
    handed: set[str] = field(default_factory=set)
    """The buffers that routines get."""

    def add(self, buffer: str, use: CopyUse) -> None:
        self.uses[buffer] = self.uses[buffer].merged(use) if buffer in self.uses else use

    def merged(self, other: Survey) -> Survey:
        both = Survey(
            dict(self.uses),
            self.possible and other.possible,
            self.lanes or other.lanes,
            self.handed | other.handed,
        )
        for name, use in other.uses.items():
            both.add(name, use)
        return both


def survey(statement: kernel.Statement, extent: Int, owner: owners.Owners) -> Survey:
    found = Survey()

    def access(
        buffer: str, at: Sequence[Any] | None, lane: kernel.Loop | None, written: bool
    ) -> None:
        root, place = owner.place(buffer, tuple(at or ()))
        places = {
            d
            for d, i in enumerate(place or ())
            if lane is not None and i == integers.symbol(lane.index)
        }
        mine = lane is not None and lane.own is not None and root in lane.own
        found.add(root, CopyUse(places, written, written and lane is not None and not mine, mine))

    def visit(s: kernel.Statement, lane: kernel.Loop | None, made: set[str]) -> None:
        for e in traversal.loads(s):
            access(e.buffer, e.index, lane, False)
        match s:
            case kernel.Store(buffer, at, _, _):
                access(buffer, at, lane, True)
            case kernel.Call(_, arguments, _, _):
                for a in arguments:
                    if isinstance(a, str) and a != "status":
                        # Which of its operands a routine writes is not told.
                        access(a, None, lane, True)
                        found.handed.add(owner.of(a))
                if lane is None or work.has_threads(s):
                    found.possible = False
            case kernel.Grow(name, _):
                access(name, None, lane, True)
            case kernel.Declare(name, _):
                made.add(name)
            case kernel.Update(name, _, _, _) if lane is not None and name not in made:
                found.possible = False
            case kernel.Loop(_, _, hi, _, _) if lane is None and is_lanes(s) and same(hi, extent):
                lane, made = s, set()
                found.lanes = True
            case kernel.Loop() | kernel.While() if (
                lane is None and next(lane_loops(s, extent), None) is None and not _is_short(s)
            ):
                # Each block would do it again.
                found.possible = False
        for part in traversal.bodies(s):
            for inner in part:
                visit(inner, lane, made)

    visit(statement, None, set())
    return found


def _is_short(s: kernel.Statement) -> bool:
    """Whether a loop takes next to no time."""
    if isinstance(s, kernel.Loop):
        trips = s.trips
        return isinstance(trips, int) and trips <= SHORT and all(_is_short(t) for t in s.body)
    return not isinstance(s, (kernel.While, kernel.Call))


def is_lanes(s: kernel.Statement) -> TypeGuard[kernel.Loop]:
    return isinstance(s, kernel.Loop) and not s.sequential and isinstance(s.lo, int) and s.lo == 0


def extents(s: kernel.Statement) -> Iterator[Int]:
    """The sizes of the outermost loops in a statement whose passes may run in any order."""
    if is_lanes(s):
        yield s.hi
    else:
        for part in traversal.bodies(s):
            for inner in part:
                yield from extents(inner)


def lane_loops(s: kernel.Statement, extent: Int) -> Iterator[kernel.Loop]:
    if is_lanes(s) and same(s.hi, extent):
        yield s
    else:
        for part in traversal.bodies(s):
            for inner in part:
                yield from lane_loops(inner, extent)
