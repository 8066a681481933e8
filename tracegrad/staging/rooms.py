"""Room for what a `while` appends to lists: how many rows that takes is found by running the loop
with twice as many until they are enough; then the rest of the block is a graph over that number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..control.lengths import over_size
from ..control.repeat import while_loop
from ..ir.dispatch import STATE
from ..ir.forms import ENDLESS, bounded, form_of
from ..sizes import seen
from ..tensor import Array
from .growing import Roomless
from .session import Session

FIRST = 32
"""Rows to begin with."""


class OpenRest:
    """The rest of a block that is being run: what is room for the loops in it, in their order."""

    def __init__(self, rooms: list[str]) -> None:
        self.trace, self.rooms, self.used = STATE.traces[-1], rooms, 0


def value_of(name: str) -> Any:
    """The integer of an open trace that has this name in expressions."""
    symbol = integers.symbol(name)
    for trace in reversed(STATE.traces):
        for var, form in trace.forms.known.items():
            if form == symbol and var.trace is trace:
                return Array(var)
    return None


def room_for(session: Session, error: Roomless, fits: Callable[[Any], Any]) -> Any:
    """The rows for a loop that needs some, as a size; `fits(room)` runs it with so many. Roomless
    where they are no size yet."""
    rest = session.open_rests[-1] if session.open_rests else None
    if rest is None or rest.trace is not STATE.traces[-1]:
        raise error
    if rest.used < len(rest.rooms):
        rest.used += 1
        return seen(form_of(value_of(rest.rooms[rest.used - 1])))

    def more(carry: Any) -> Any:
        room, _ = carry
        bounded(room, FIRST, ENDLESS)
        (full,) = over_size(room, lambda _: [ops.logical_not(fits(seen(form_of(room))))], [])
        return ops.where(full, 2 * room, room), full

    room, _ = while_loop(lambda carry: carry[1], more, (np.int64(FIRST), np.bool_(True)))
    bounded(room, FIRST, ENDLESS)
    raise Roomless(str(error), frozenset(integers.symbols(form_of(room)))) from error


__all__ = ["OpenRest", "room_for", "value_of"]
