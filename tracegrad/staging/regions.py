"""A branch or a body of the user's, run where its graph is made: its places hold variables of the
graph, and are afterwards what they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ConcretizationError
from ..ir.dispatch import STATE
from ..tensor import inside
from ..tree import flatten
from .places import MISSING, Around, BoxPlace, Place, VariablePlace, is_leaf
from .session import Session


class Refused(ConcretizationError):
    """What the user wrote cannot become one branch or loop of a graph."""


class Want(Exception):
    """A body changes more places than were thought."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = list(places)


class OpenBody:
    """What is open: the line of its statement, and the places that it may change."""

    def __init__(self, line: str, places: Sequence[Place]) -> None:
        self.line = line
        self.keys = {p.key for p in places}

    def wants(self, place: Place) -> None:
        """Want it where the region does not have that place."""
        if place.key not in self.keys:
            raise Want([place])


def run(
    session: Session,
    line: str,
    functions: Sequence[Any],
    places: Sequence[Place],
    values: Sequence[Any],
    others: Sequence[VariablePlace],
    call: Callable[[], Any],
) -> tuple[Any, list[Any]]:
    """`call()` with these values in the places: its result, and what the places hold then."""
    trace = STATE.traces[-1]
    before = [p.state() if isinstance(p, BoxPlace) else p.get() for p in places]
    dead = [p.get() for p in others]
    around = Around(functions)
    session.regions.append(OpenBody(line, places))
    changed = ""
    try:
        for p, v in zip(places, values, strict=True):
            if isinstance(p, BoxPlace):
                p.enter(inside(p.get() if v is MISSING else v))
            else:
                p.put(v)
        result = call()
        found = [p.get() for p in places]
        known = {p.key for p in places}
        more = [
            BoxPlace(box)
            for box, (attributes, _) in trace.touched.values()
            if box._base is None and box._data is not attributes[0] and id(box) not in known
        ]
        if more:
            raise Want(more)
    finally:
        session.regions.pop()
        for p, b in zip(places, before, strict=True):
            if isinstance(p, BoxPlace):
                p.restore(b)
            else:
                p.put(b)
        for o, b in zip(others, dead, strict=True):
            o.put(b)
        changed = around.close()
    if changed:
        raise Refused(
            f"{line}: the statements below change {changed} that was there before, which a branch "
            "or a loop of a compiled function cannot do at each pass. Collect results in an "
            "array (out[i] = ...)."
        )
    return result, found


def parts(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a value and its structure."""
    return flatten(value)


def is_static(x: Any) -> bool:
    """Whether it is no array, so that a graph cannot choose it."""
    return not is_leaf(x)


__all__ = ["OpenBody", "Refused", "Want", "is_static", "parts", "run"]
