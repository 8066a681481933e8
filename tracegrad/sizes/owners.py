"""Who answers what is asked about symbolic sizes, and keeps the answers as facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from .._codegen import integers
from ..errors import ConcretizationError

Int: TypeAlias = integers.Int
COUNT = "steps"
"""What the names of sizes begin with that are no sizes of inputs but counts, known only while a
graph runs; they may be 0."""
RELATIONS: dict[str, Callable[[int], bool]] = {
    "==": lambda d: d == 0,
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
}


class Meeting(Protocol):
    """Brings arrays of lengths that only a run knows to one shape (ops/late_shapes.py). What it
    gives is None where there is nothing to do, or no way."""

    def broadcast(self, operands: Sequence[Any]) -> Sequence[Any] | None:
        """Operands of shapes that broadcast."""

    def to(self, x: Any, shape: Sequence[Any]) -> Any | None:
        """An array repeated to this shape."""

    def exactly(self, x: Any, shape: Sequence[Any], text: str) -> Any | None:
        """An array that has to have this shape; the run fails with this text where it has not."""

    def common(self, sizes: Sequence[Any], text: str) -> Int | None:
        """The size of axes of which each has it, or 1."""

    def spread(self, x: Any, axis: int, size: Int) -> Any:
        """An array as long as this along an axis, of what `common` was asked of."""


class Owner(Protocol):
    """Who answers questions about symbolic sizes, and records what it answered: a trace, or the
    sizes of a graph."""

    @property
    def hints(self) -> Mapping[str, int]:
        """The numbers for which the symbols stand while it is asked."""

    @property
    def late(self) -> frozenset[str]:
        """The names of lengths that change from pass to pass of loops that are traced."""

    @property
    def meet(self) -> Meeting | None:
        """What brings arrays of such lengths to one shape."""

    def decide(self, relation: str, difference: Int) -> bool:
        """Whether `difference` is == 0, < 0, <= 0."""

    def proven(self, relation: str, difference: Int) -> bool | None:
        """The same of counts that are known only while the code runs; None where nothing tells
        it."""

    def pin(self, value: Int) -> int:
        """The number that `value` is, from now on."""

    def shown(self) -> bool:
        """Whether a text is being made for the program that is traced, which pins the size."""

    def box(self, size: integers.Integer) -> Any:
        """A traced number of a size."""


class Opened(threading.local):
    """What this thread has open."""

    def __init__(self) -> None:
        self.open: list[Owner] = []
        """The owners of sizes, innermost last; opening one makes another list."""

    @contextmanager
    def opened(self, owner: Owner) -> Iterator[None]:
        """Meanwhile this is the innermost."""
        outer = self.open
        try:
            self.open = [*outer, owner]
            yield
        finally:
            self.open = outer


SIZES = Opened()
"""Whose sizes this thread asks about: traces, or graphs that are worked on."""


class Sizes:
    """The symbols of one trace: the sizes they stood for while tracing (hints), and the facts that
    the trace relied on."""

    def __init__(
        self, hints: dict[str, int] | None = None, guards: dict[tuple[str, Int], bool] | None = None
    ) -> None:
        self.hints = dict(hints or {})
        self.guards = dict(guards or {})
        self.late: frozenset[str] = frozenset()
        self.meet: Meeting | None = None
        """Of a finished graph's nobody asks."""
        self.symbolic = bool(hints)
        """Whether shapes hold expressions: of sizes, or of lengths that loops change."""

    def decide(self, relation: str, difference: Int) -> bool:
        known = self.guards.get((relation, difference))
        if known is None:
            known = RELATIONS[relation](integers.evaluate(difference, self.hints))
            self.guards[relation, difference] = known
        return known

    def proven(self, relation: str, difference: Int) -> bool | None:
        """Of a finished graph's counts nothing is known."""
        return None

    def hold(self, bindings: dict[str, int]) -> bool:
        """Whether all recorded facts are true for these sizes."""
        return all(
            RELATIONS[r](integers.evaluate(d, bindings)) is fact
            for (r, d), fact in self.guards.items()
        )

    def pin(self, value: Int) -> int:
        """The number that `value` is in this trace, recorded as a fact."""
        number = integers.evaluate(value, self.hints)
        self.decide("==", value - number)
        return number

    def shown(self) -> bool:
        """Whether a text is being made for a program: of a finished graph never."""
        return False

    def box(self, size: integers.Integer) -> Any:
        """A traced number of a size, which a finished graph has none of."""
        raise TypeError(f"the symbolic integer {size} is a number only while its trace is open")


def answered(value: Int) -> bool:
    """Whether somebody answers questions about an expression: all its symbols are sizes, and none
    is the index or the count of a loop."""
    return bool(SIZES.open) and integers.symbols(value) <= SIZES.open[-1].hints.keys()


class LateLength(ConcretizationError):
    """A length is asked for that only a run knows. Staging says at which line."""


def meeting() -> Meeting | None:
    """Who brings arrays to one shape where lengths are open that only a run knows."""
    return SIZES.open[-1].meet if SIZES.open else None


def is_count(value: Int) -> bool:
    """Whether an expression holds counts, of which some may be 0, in an open trace or in a finished
    graph."""
    return any(name.startswith(COUNT) for name in integers.symbols(value))


def is_late(value: Int) -> bool:
    """Whether an expression holds lengths that a loop of the open trace changes."""
    return bool(SIZES.open) and not SIZES.open[-1].late.isdisjoint(integers.symbols(value))


def pinned(value: Int) -> int:
    """The number that a size is while tracing; using it pins the size."""
    if isinstance(value, int):
        return value
    if not SIZES.open:
        raise TypeError(f"the symbolic integer {value} has no value outside a trace")
    if not answered(value):
        raise LateLength(
            "what is done here needs the length of an array as a number while the function is "
            "traced, and only a run knows it. Begin with an array that has room for the longest, "
            "or count in a loop."
        )
    return SIZES.open[-1].pin(value)
