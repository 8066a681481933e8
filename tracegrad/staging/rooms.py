"""Room for what a `while` appends to lists: how many rows that takes is found by running the loop
with twice as many until they are enough; then the rest of the block is a graph over that number.
How many passes it makes is known then, too, and what it ends with: the loop that is made again has
its derivative, and no value that anybody reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .._codegen import integers
from ..control.lengths import over_size
from ..control.region import strong
from ..control.repeat import while_loop
from ..ir.dispatch import STATE, bind
from ..ir.forms import ENDLESS, bounded, form_of
from ..ops.elementwise.arithmetic import number
from ..ops.places.spans import ComputedLength
from ..ops.totals.statistics import overwritten_op
from ..sizes import seen
from ..tensor import Array
from ..transforms.tracing import leaf_type
from .carried import ends_after
from .session import Session

FIRST = 32
"""Rows to begin with."""


class Roomless(ComputedLength):
    """A loop appends to a list, for which nobody knows how many rows it takes; how many passes it
    makes, and what it ends with, where that was found."""

    def __init__(
        self,
        text: str,
        names: frozenset[str] = frozenset(),
        passes: Any = None,
        ends: Sequence[Any] = (),
    ) -> None:
        super().__init__(text, names)
        self.passes, self.ends = passes, ends


class FoundRoom(NamedTuple):
    """Of a loop: the name of the size that is its room, the number of its passes, None where that
    is not counted, and the leaves that it ends with, where they were found."""

    name: str
    passes: Any
    ends: Sequence[Any]


class Tried(NamedTuple):
    """What a loop that is run with some room finds: whether that is enough, the number of passes,
    and the leaves that it ends with, besides the lists."""

    enough: Any
    passes: Any
    ends: Sequence[Any]


class _Unlike(Exception):
    """A loop ends with leaves of other types than it begins with."""


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
    session: Session, error: Roomless, fits: Callable[[Any], Tried], start: Sequence[Any]
) -> tuple[Any, Any, Sequence[Any]]:
    """The rows for a loop that needs some, as a size, the number of its passes, or None, and the
    leaves that it ends with, or none; `fits(room)` runs it with so many, from `start` on. Roomless
    where the rows are no size yet."""
    rest = session.open_rests[-1] if session.open_rests else None
    if rest is None or rest.trace is not STATE.traces[-1]:
        raise error
    if rest.used < len(rest.rooms):
        rest.used += 1
        name, passes, ends = rest.rooms[rest.used - 1]
        return seen(form_of(value_of(name))), passes, ends

    # Arrays of a length that only a run knows are no leaves of a loop over the rows.
    kept = all(ends_after(n, frozenset()) for x in start for n in leaf_type(x).shape)
    for leaves in (list(map(_strong, start)) if kept else [], []):
        counts, nodes = True, len(STATE.traces[-1].nodes)

        def more(carry: Any, leaves: Sequence[Any] = leaves) -> Any:
            room = carry[0]
            bounded(room, FIRST, ENDLESS)

            def once(_: Any) -> list[Any]:
                nonlocal counts
                enough, passes, ends = fits(seen(form_of(room)))
                counts = passes is not None
                ends = list(map(_strong, ends)) if leaves else []
                if list(map(strong, ends)) != list(map(strong, leaves)):
                    raise _Unlike
                return [ops.logical_not(enough), passes if counts else np.int64(0), *ends]

            full, *found = over_size(room, once, [])
            return ops.where(full, 2 * room, room), full, *found

        begin = np.int64(FIRST), np.bool_(True), np.int64(0), *leaves
        try:
            room, _, passes, *ends = while_loop(lambda carry: carry[1], more, begin)
        except _Unlike:
            del STATE.traces[-1].nodes[nodes:]
            continue
        break
    bounded(room, FIRST, ENDLESS)
    bounded(passes, 0, ENDLESS)
    names = frozenset(integers.symbols(form_of(room)))
    raise Roomless(str(error), names, passes if counts else None, ends if counts else ()) from error


def in_room(
    session: Session,
    loop_in: Callable[[Any], Any],
    run: Callable[[Any, Any], Any],
    tried: Callable[[Any], Tried],
) -> tuple[Any, Any]:
    """The loop that is made of a statement, and what it ends with: where that is known not before
    it runs with as many rows as it takes. `loop_in(room)` begins one, `run(loop, passes)` makes it,
    where it may be known how many passes it has, `tried(loop)` in order to look."""
    try:
        loop = loop_in(None)
        return loop, run(loop, None)
    except Roomless as error:
        start = loop_in(None).start()
        room, passes, ends = room_for(session, error, lambda room: tried(loop_in(room)), start)
    loop = loop_in(room)
    found = list(run(loop, passes))
    if passes is not None:
        own = loop.places_of_start()
        for k, x in zip(own, _ended([found[k] for k in own], ends), strict=True):
            found[k] = x
    return loop, found


def _ended(found: Sequence[Any], ends: Sequence[Any]) -> list[Any]:
    """What the loop ends with that is made again: the values are those that were found with its
    room, derivatives go through the loop."""
    if len(found) != len(ends):
        return list(found)
    return [
        number(_twin(x, y)) if leaf_type(x).weak else _twin(x, y)
        for x, y in zip(found, ends, strict=True)
    ]


def _strong(x: Any) -> Any:
    return ops.convert(x, strong(x).dtype)


def _twin(x: Any, y: Any) -> Any:
    return bind(overwritten_op, [_strong(x), y])


__all__ = ["FoundRoom", "OpenRest", "Roomless", "Tried", "in_room", "value_of"]
