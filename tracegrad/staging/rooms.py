"""Room for what a `while` appends to lists: how many rows that takes is found by running the loop
with twice as many until they are enough; then the rest of the block is a graph over that number.
How many passes it makes is known then, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._codegen import integers
from ..control.lengths import over_size
from ..control.repeat import while_loop
from ..ir.dispatch import STATE
from ..ir.forms import ENDLESS, bounded, form_of
from ..ops.places.spans import ComputedLength
from ..sizes import seen
from ..tensor import Array
from .session import Session

FIRST = 32
"""Rows to begin with."""


class Roomless(ComputedLength):
    """A loop appends to a list, for which nobody knows how many rows it takes; how many passes it
    makes, where that was counted."""

    def __init__(self, text: str, names: frozenset[str] = frozenset(), passes: Any = None) -> None:
        super().__init__(text, names)
        self.passes = passes


class FoundRoom(NamedTuple):
    """Of a loop: the name of the size that is its room, and the number of its passes; None where
    that is not counted."""

    name: str
    passes: Any


class OpenRest:
    """The rest of a block that is being run: the rooms of the loops in it, in their order."""

    def __init__(self, rooms: list[FoundRoom]) -> None:
        self.trace, self.rooms, self.used = STATE.traces[-1], rooms, 0


def value_of(name: str) -> Any:
    """The integer of an open trace that has this name in expressions."""
    symbol = integers.symbol(name)
    for trace in reversed(STATE.traces):
        for var, form in trace.forms.known.items():
            if form == symbol and var.trace is trace:
                return Array(var)
    return None


def room_for(
    session: Session, error: Roomless, fits: Callable[[Any], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """The rows for a loop that needs some, as a size, and the number of its passes, or None;
    `fits(room)` runs it with so many, and says whether they are enough, and after how many passes.
    Roomless where the rows are no size yet."""
    rest = session.open_rests[-1] if session.open_rests else None
    if rest is None or rest.trace is not STATE.traces[-1]:
        raise error
    if rest.used < len(rest.rooms):
        rest.used += 1
        name, passes = rest.rooms[rest.used - 1]
        return seen(form_of(value_of(name))), passes

    counts = True

    def more(carry: Any) -> Any:
        room, _, _ = carry
        bounded(room, FIRST, ENDLESS)

        def once(_: Any) -> list[Any]:
            nonlocal counts
            enough, passes = fits(seen(form_of(room)))
            counts = passes is not None
            return [ops.logical_not(enough), passes if counts else np.int64(0)]

        full, passes = over_size(room, once, [])
        return ops.where(full, 2 * room, room), full, passes

    start = np.int64(FIRST), np.bool_(True), np.int64(0)
    room, _, passes = while_loop(lambda carry: carry[1], more, start)
    bounded(room, FIRST, ENDLESS)
    bounded(passes, 0, ENDLESS)
    names = frozenset(integers.symbols(form_of(room)))
    raise Roomless(str(error), names, passes if counts else None) from error


__all__ = ["FoundRoom", "OpenRest", "Roomless", "room_for", "value_of"]
