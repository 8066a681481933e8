"""The statements of an item of a batch as runs without loops, and rounds: loops that all items of a
block go through together.

What an item decides for itself becomes a question to all of them: a `While` goes on as long as one
item does, a loop whose passes only the item knows as long as the longest. Which items take part in
a run is its mask. Everything else is as it was, still in terms of one item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, traversal
from ...types import Int
from ..values import BOOL, INTP

FALSE = kernel.Literal(False, BOOL)
ZERO, ONE = kernel.Literal(0, kernel.INT64), kernel.Literal(1, kernel.INT64)


@dataclass
class StraightRun:
    """Statements without loops."""

    mask: kernel.Expression | None
    """Which items take part."""
    again: bool
    """Whether it is gone through more than once."""
    body: list[kernel.Statement] = field(default_factory=list)


@dataclass
class Rounds:
    """A loop around runs, as often as the item goes on that goes on longest."""

    statement: kernel.Loop | kernel.While
    parts: list[Part]


Part: TypeAlias = StraightRun | Rounds | kernel.Statement
"""A statement by itself is one for all items at once."""


@dataclass
class Level:
    """What is being written of a body: its parts, and which items take part in them."""

    mask: kernel.Expression | None
    again: bool
    """Whether they are gone through more than once."""
    parts: list[Part] = field(default_factory=list)
    longest: dict[Int, tuple[Int, kernel.Load]] = field(default_factory=dict)
    """Of integers that each item has for itself: the largest, and where each is."""

    @property
    def run(self) -> StraightRun:
        """The run that is being written."""
        if not self.parts or not isinstance(self.parts[-1], StraightRun):
            self.parts.append(StraightRun(self.mask, self.again))
        assert isinstance(self.parts[-1], StraightRun)
        return self.parts[-1]

    def before(self, s: kernel.Statement) -> None:
        """A statement for all items, which does not depend on the run that is being written."""
        self.parts.insert(
            len(self.parts) - (1 if self.parts and isinstance(self.parts[-1], StraightRun) else 0),
            s,
        )


class UnfitError(Exception):
    """Items that cannot go side by side, or would gain nothing by it."""


def flag_at(name: str, dtype: Any) -> kernel.Load:
    return kernel.Load(name, (0,), dtype)


class Split:
    """The runs and rounds of one item."""

    def __init__(self, loop: kernel.Loop, fresh: Callable[[str], str]) -> None:
        self.fresh, self.item = fresh, loop.index
        self.varying = {loop.index}
        """The names that have a value for each item."""
        self.common: set[str] = set()
        """The names made here that have one value for all items."""
        self.flags: dict[str, Any] = {}
        """Temporaries made here, and their dtypes; what is stored there tells by itself which items
        take part."""
        self.totals: set[str] = set()
        """Variables made here to which all items contribute."""
        self.origins: dict[str, set[str]] = {}
        """The names that follow from the number of a pass, and from which."""
        self.tapes: dict[str, set[str]] = {}
        """What grows, and by the numbers of which passes: at its place for a pass, nothing of an
        item is lost that takes no part in it."""
        self.parts = self.split(loop.body, Level(None, False))
        if not any(isinstance(p, Rounds) for p in self.parts):
            raise UnfitError

    def split(self, body: Sequence[kernel.Statement], level: Level) -> list[Part]:
        zeros: set[str] = set()
        """The counters that are 0 here."""
        for s in body:
            match s:
                case kernel.While() | kernel.Loop():
                    if isinstance(s, kernel.While):
                        self.going(level, s, zeros)
                    else:
                        self.counted(level, s)
                    zeros = zeros - {
                        t.buffer for t in traversal.within(s.body) if isinstance(t, kernel.Store)
                    }
                case kernel.Allocate(name, dtype, shape):
                    longest = tuple(
                        self.longest(level, n)[0] if self.varies(n) else n for n in shape
                    )
                    level.before(kernel.Allocate(name, dtype, longest))
                case kernel.Grow(name, length):
                    if self.varies(length):
                        raise UnfitError
                    self.tapes[name] = self.origin(length)
                    level.before(s)
                case kernel.Let(name, value) if not self.varies(value):
                    self.common.add(name)
                    self.origins[name] = self.origin(value)
                    level.before(s)
                case _:
                    if isinstance(s, (kernel.Let, kernel.Declare)):
                        self.varying.add(s.name)
                    if isinstance(s, kernel.Store):
                        zeros = (
                            zeros | {s.buffer}
                            if s.value == ZERO and s.combine is None
                            else zeros - {s.buffer}
                        )
                    level.run.body.append(s)
        return level.parts

    def origin(self, e: Any) -> set[str]:
        return set().union(*[self.origins.get(name, {name}) for name in traversal.names_in(e)])

    def varies(self, e: Any) -> bool:
        """Whether an expression may have another value for each item."""
        names: set[str] = set()
        buffers: set[str] = set()
        traversal.mentions(e, names, buffers)
        return bool(buffers or names & self.varying)

    def total(self, level: Level, hint: str, value: kernel.Literal) -> kernel.Name:
        name = self.fresh(hint)
        self.totals.add(name)
        level.before(kernel.Declare(name, value))
        return kernel.Name(name, value.dtype)

    def flag(self, hint: str, dtype: Any) -> kernel.Load:
        name = self.fresh(hint)
        self.flags[name] = dtype
        return flag_at(name, dtype)

    def going(self, level: Level, loop: kernel.While, zeros: set[str]) -> None:
        """Passes as long as one item goes on."""
        alive = self.flag("alive", BOOL)
        some, passed = self.total(level, "some", FALSE), self.total(level, "passed", ZERO)

        def ask(at: Level) -> None:
            goes = (
                loop.condition
                if at.mask is None
                else kernel.Apply("{x} & {y}", (("x", loop.condition), ("y", at.mask)), BOOL)
            )
            at.run.body += [
                kernel.Store(alive.buffer, alive.index, goes),
                kernel.Update(some.name, alive, "or"),
            ]

        ask(level)
        inner = Level(alive, True)
        self.split(_with_passes(loop.body, passed, zeros), inner)
        ask(inner)
        parts = [
            kernel.Update(some.name, FALSE, None),
            *inner.parts,
            kernel.Update(passed.name, ONE, "add"),
        ]
        level.parts.append(Rounds(kernel.While(some, (), loop.checked), parts))

    def counted(self, level: Level, loop: kernel.Loop) -> None:
        """Passes for the item that has most of them."""
        if not self.varies(loop.hi) and not self.varies(loop.lo):
            self.common.add(loop.index)
            level.parts.append(
                Rounds(
                    replace(loop, body=(), sequential=True),
                    self.split(loop.body, Level(level.mask, True)),
                )
            )
            return
        if loop.lo != 0:
            raise UnfitError
        most, trips = self.longest(level, loop.hi)
        index = self.fresh(loop.index)
        self.common.add(index)
        upwards = integers.symbol(index)
        downwards = most - 1 - upwards
        # A loop backwards begins where the longest does, so that all items are at the same place of
        # what they have kept.
        choices = [
            (upwards, {loop.index: upwards}),
            (downwards, {loop.index: loop.hi - 1 - downwards}),
        ]
        place, given = min(choices, key=lambda c: self.apart(loop.body, c[1]))
        takes_part = kernel.Apply("{x} < {y}", (("x", kernel.Index(place)), ("y", trips)), BOOL)
        body = traversal.mapped(
            loop.body,
            lambda e: integers.substitute(e, given) if isinstance(e, integers.Integer) else e,
        )
        level.parts.append(
            Rounds(kernel.Loop(index, 0, most, (), True), self.split(body, Level(takes_part, True)))
        )

    def apart(self, body: Sequence[kernel.Statement], given: Mapping[str, Int]) -> int:
        """How many accesses to memory are at places that each item has for itself."""
        count = 0
        for s in traversal.within(body):
            places = [e.index for e in traversal.loads(s)] + (
                [s.index] if isinstance(s, kernel.Store) else []
            )
            found = [
                integers.symbols(integers.substitute(i, given))
                for at in places
                for i in at
                if isinstance(i, integers.Integer)
            ]
            count += sum(bool(names & (self.varying - {self.item})) for names in found)
        return count

    def longest(self, level: Level, n: Int) -> tuple[Int, kernel.Load]:
        """The largest value of an integer among the items that take part, and where the value of
        each is: 0 for the others."""
        if n not in level.longest:
            mine = self.fresh("mine")
            trips = self.flag("trips", kernel.INT64)
            most = self.total(level, "most", ZERO)
            self.varying.add(mine)
            value: kernel.Expression = kernel.Name(mine, kernel.INT64)
            if level.mask is not None:
                value = kernel.Apply(
                    "{x} if {on} else 0", (("x", value), ("on", level.mask)), kernel.INT64
                )
            level.run.body += [
                kernel.Let(mine, kernel.Index(n)),
                kernel.Store(trips.buffer, trips.index, value),
                kernel.Update(most.name, trips, "max"),
            ]
            longest = self.fresh("longest")
            self.common.add(longest)
            level.parts.append(
                kernel.Let(longest, kernel.Apply("index({x})", (("x", most),), INTP))
            )
            level.longest[n] = integers.symbol(longest), trips
        return level.longest[n]


def _with_passes(
    body: Sequence[kernel.Statement], passed: kernel.Name, zeros: set[str]
) -> list[kernel.Statement]:
    """The body of a loop with the number of the pass for what counts them: each item that still
    goes on has made as many."""
    result = list(body)
    for k, s in enumerate(body):
        if isinstance(s, kernel.Store) and s.buffer in zeros and _counts(s):
            if (
                sum(
                    isinstance(t, kernel.Store) and t.buffer == s.buffer
                    for t in traversal.within(body)
                )
                == 1
            ):

                def change(e: Any, name: str = s.buffer) -> Any:
                    return passed if isinstance(e, kernel.Load) and e.buffer == name else e

                result[:k] = traversal.mapped(result[:k], change)
    return result


def _counts(s: kernel.Store) -> bool:
    """Whether this is `n = n + 1`."""
    return s.combine is None and s.value == kernel.Apply(
        "{x} + 1", (("x", kernel.Load(s.buffer, s.index, kernel.INT64)),), kernel.INT64
    )


__all__ = ["FALSE", "Part", "Rounds", "Split", "StraightRun", "UnfitError", "flag_at"]
