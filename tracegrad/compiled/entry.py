"""One traced signature of a compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from ..ir.graph import Graph
from ..runtime.execute import Executable
from ..surroundings.places import UNREADABLE, Content, Fact, Place, content, unchanged
from ..tensor import Boxed
from ..transforms.tracing import Change, Standing, Traced, leaf_type, standing_of
from .overlaps import may_meet, memory_of
from .sharing import written_boxes
from .symbolic_sizes import ReasonAndReach

_NUMBERS = (int, float, complex, np.generic)


@dataclass(eq=False)
class Entry:
    """One traced signature: its graph, what it captured, and what must still be true of the
    surroundings."""

    traced: Traced
    graph: Graph
    places: list[Place | None]
    """Per capture where it is read again (None: found nowhere, the object itself is kept)."""
    facts: list[Fact]
    pattern: tuple[tuple[Any, ...], ...]
    again: Callable[[], Entry]
    """Trace the same signature once more."""
    contents: dict[int, bytes] = field(default_factory=dict)
    """Captured ndarrays as they were: NumPy may have computed with them while tracing, and the
    results shaped the graph."""
    views: bool = False
    """Whether a constant is a view of one of them."""
    decides: Callable[[Sequence[int]], bool] = lambda _: True
    """Whether elements of these captured arrays, as NumPy read them, decided what was recorded; it
    traces the function again."""
    deciding: frozenset[int] = frozenset()
    """Which captured arrays decided the graph by their elements, and are compared for good."""
    executable: Executable | None = None
    mode: bool | None = None
    """The grad mode while tracing, which decides what happens to Tensors that the function makes;
    None where it does not matter."""
    given_up: tuple[int, ...] = ()
    """The leaves whose memory results may take."""
    standing: tuple[Standing, ...] = ()
    """Where the captured values stood on the tape."""
    changes: tuple[tuple[Change, Place | None], ...] = ()
    """What a call changes besides its arguments' elements, and where the changed boxes are
    found."""
    stored: tuple[Any, ...] = ()
    """What a call stores in Python's variables (`state.Stored`); the values are outputs behind the
    changes."""
    holder: list[Any] = field(default_factory=list)
    """Where what is stored finds the arguments of the call."""
    beside: tuple[int, ...] = ()
    """The captured values that show no memory which a call writes outside."""
    bounds: dict[int, int] = field(default_factory=dict)
    """Of captured Python integers up to what they may grow before the function is traced again."""

    steps: tuple[Any, ...] = ()
    """What a call does once its signature is found (`steps.Step`)."""
    staged: tuple[str, ...] = ()
    """The functions that were rewritten, with their places."""
    loops: tuple[CodeType, ...] = ()
    """The code of these, whose loops are told of when that is asked for."""
    reason: str | ReasonAndReach = ""
    """Why it was traced."""
    times: dict[str, float] = field(default_factory=dict)
    """Of its first call (`first_calls.measured`)."""
    unfit: set[tuple[type, ...]] = field(default_factory=set)
    """The classes of leaves for which no caller can be written."""

    @classmethod
    def alone(cls, traced: Traced) -> Entry:
        """What was traced for one call or one graph: nothing around it is found again."""
        entry: Entry = cls(
            traced,
            traced.graph,
            [None] * len(traced.captures),
            [],
            tuple([t.shape for t in traced.graph.input_types]),
            lambda: entry,
            changes=tuple([(change, None) for change in traced.changes]),
        )
        return entry

    def store(self, outs: Sequence[Any], given: Sequence[Any], held: Sequence[Any]) -> None:
        """Store in Python's variables what a call computed, whose arguments are `given` as (args,
        kwargs), and what was there before it."""
        self.holder[:] = given
        end = len(self.traced.history)
        results = iter(outs[end - sum(s.results for s in self.stored) : end])
        before, made = iter(held), dict[int, Any]()
        holders = [None if (into := s.into) is None else into() for s in self.stored]
        values = [s.value(results, before, made) for s in self.stored]
        for stored, it, value in zip(self.stored, holders, values, strict=True):
            stored.carry_out(it, value)
        self.holder.clear()

    def holds(self) -> bool:
        """Whether the scalars and functions around the traced function are what they were."""
        for place, value in self.facts:
            if not unchanged(place, value):
                return False
        return not self.changes or self.stands_apart()

    def read_once(self) -> list[Any]:
        """The arrays that only NumPy read, while tracing."""
        return [x.array for _, x in self.facts if isinstance(x, Content)]

    def stands_apart(self) -> bool:
        """Whether what a call writes outside shows in nothing else that it captures, as it was
        while tracing."""
        try:
            written = written_boxes(self.changed(()))
            read = self.read_once() + [
                self.traced.captures[k] if (place := self.places[k]) is None else place()
                for k in self.beside
            ]
        except UNREADABLE:
            return False
        memory = memory_of([*written, *read])
        return not may_meet(memory[: len(written)], memory[len(written) :])

    def captured(self) -> list[Any] | None:
        """The captured values as they are now; None where one is gone or changed its type."""
        values: list[Any] = []
        for place, old, standing in zip(
            self.places, self.traced.captures, self.standing, strict=True
        ):
            try:
                new = old if place is None else place()
            except UNREADABLE:
                return None
            if new is not old:
                # In an enclosing trace a traced value may stand for a number or an array.
                kinds = type(new) is type(old) or (
                    isinstance(new, Boxed) and isinstance(old, (*_NUMBERS, np.ndarray))
                )
                if not kinds or leaf_type(new) != leaf_type(old):
                    return None
                if (
                    len(values) in self.bounds
                    and isinstance(new, int)
                    and abs(new) > self.bounds[len(values)]
                ):
                    return None
            if isinstance(new, Boxed):
                now = standing_of(new)
                if now[:2] != standing[:2] or (self.traced.swept and now.hooks != standing.hooks):
                    return None
            values.append(new)
        return values

    def changed(self, leaves: Sequence[Any]) -> list[tuple[Change, Any]]:
        """What a call with these leaves changes (without them: what it changes outside), and the
        boxes of now; a gradient that is written to is the box of now."""
        found = []
        for change, place in self.changes:
            if isinstance(change.target, int):
                if not leaves:
                    continue
                box = leaves[change.target]
            else:
                box = change.target if place is None else place()
            found.append((change, box._grad if change.what == "grad data" else box))
        return found

    def outdated(self, captured: Sequence[Any]) -> list[int]:
        """The captured arrays that changed in a way that may change the graph."""
        rebound = {
            k
            for k, (x, old) in enumerate(zip(captured, self.traced.captures, strict=True))
            if self.views and x is not old
        }
        return sorted(
            rebound | {k for k, old in self.contents.items() if content(captured[k]) != old}
        )

    def settle(self, changed: Sequence[int]) -> None:
        """Arrays changed, and the graph did not: those of them which are operands only, as the
        weights of a training loop, are no longer compared; the others always."""
        open_ = [k for k in changed if k not in self.deciding]
        if open_ and not self.decides(open_):
            operands = open_
        else:
            operands = [k for k in open_ if len(open_) > 1 and not self.decides([k])]
        self.deciding |= set(open_) - set(operands)
        for k in operands:
            self.contents.pop(k, None)

    def same_graph(self, other: Entry) -> bool:
        """Whether a second trace gave the same operations on the same constants, and results of
        the same structure (of sparse arrays, with entries at the same places)."""

        def constants(entry: Entry) -> list[Any]:
            return [
                (x.dtype, content(x))
                for place, x in zip(entry.places, entry.traced.captures, strict=True)
                if place is None
            ]

        return (
            str(self.graph) == str(other.graph)
            and constants(self) == constants(other)
            and self.traced.out_spec == other.traced.out_spec
        )
