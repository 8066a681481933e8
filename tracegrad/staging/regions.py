"""A branch or a body of the user's, run where its graph is made: its places hold variables of the
graph, and are afterwards what they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ConcretizationError
from ..ir.dispatch import STATE
from ..tensor import Boxed, inside
from ..tree import flatten
from .aliases import arrays_of, objects_of, root_of
from .lists import Grown
from .places import (
    MISSING,
    Around,
    BoxPlace,
    StagedPlace,
    VariablePlace,
    is_leaf,
    reachable,
)
from .session import Restart, Session
from .tables import Tabled


class Refused(ConcretizationError):
    """What the user wrote cannot become one branch or loop of a graph."""


class Want(Exception):
    """A body changes more places than were thought: that which is so deep in the open ones."""

    def __init__(self, places: Sequence[StagedPlace], depth: int) -> None:
        self.places, self.depth = list(places), depth


class Raised(BaseException):
    """The rest of a branch or body is never reached: an exception of the user's is noted."""


class OpenBody:
    """What is open: the line of its statement, and the places that it may change."""

    def __init__(
        self, line: str, places: Sequence[StagedPlace], path: tuple[Any, ...], branch: bool
    ) -> None:
        self.line, self.path, self.branch = line, path, branch
        self.opened: dict[Any, int] = {}
        """How many statements each line has opened in it."""
        self.keys = {p.key for p in places}
        self.functions: Sequence[Any] = ()
        self.passed: frozenset[Any] = frozenset()
        """The same, if it is a pass of a loop or a branch."""
        self.there: Sequence[Any] | None = None
        """The lists that were there when a pass of a loop began which may replace some."""
        self.trace = STATE.traces[-1]
        self.born: dict[int, Any] = {}
        """The containers, objects and variables that were made in it: they end with a pass."""


def change(session: Session, place: StagedPlace, owner: Any) -> None:
    """Before a place of an owner changes: Want of the outermost of the open bodies that does not
    have it, of those that were opened after the owner was made."""
    for k in bodies_around(session, owner):
        if place.key not in session.regions[k].keys:
            raise Want([place], k)


def bodies_around(session: Session, owner: Any) -> range:
    """The open bodies that were opened after an owner was made, outermost first."""
    bodies = session.regions
    inside = [k for k, body in enumerate(bodies) if id(owner) in body.born]
    return range(inside[-1] + 1 if inside else 0, len(bodies))


def born(session: Session, owner: Any) -> None:
    """Remember what was made in the innermost open body."""
    if session.regions:
        session.regions[-1].born[id(owner)] = owner


def is_born(session: Session, owner: Any) -> bool:
    """Whether something was made in the innermost open body."""
    return bool(session.regions) and id(owner) in session.regions[-1].born


ENDED: Any = type("Ended", (), {})()
"""What a branch or a body gives that ends with an exception."""


def run(
    session: Session,
    line: str,
    path: tuple[Any, ...],
    functions: Sequence[Any],
    places: Sequence[StagedPlace],
    values: Sequence[Any],
    others: Sequence[VariablePlace],
    call: Callable[[], Any],
    branch: bool = False,
    passes: bool = False,
) -> tuple[Any, list[Any], dict[int, Any]]:
    """`call()` with these values in the places: its result, what the places hold then, and what
    those of them (by their ids) hold that are boxes around the body, which are what they were
    before. `path`: the statements that are open, and the one of its bodies that this is."""
    session.check_apart(line)
    trace = STATE.traces[-1]
    before = [p.state() if isinstance(p, BoxPlace) else p.get() for p in places]
    dead = [p.get() for p in others]
    around = Around(functions)
    body = OpenBody(line, places, path, branch)
    body.functions = functions
    if passes or branch:
        body.passed = frozenset(body.keys)
    if passes and session.replaced:
        body.there = reachable(functions, True)
    session.regions.append(body)
    changed = ""
    try:
        try:
            for p, v in zip(places, values, strict=True):
                if isinstance(p, BoxPlace):
                    p.enter(inside(p.get() if v is MISSING else v))
                else:
                    p.put(v)
            v = None
            if passes:
                # What a pass is given was made for it.
                body.born.update({id(x): x for value in values for x in objects_of(value)})
            with session.held.more([*before, *values, *dead, *around.locked]):
                try:
                    result = call()
                except Raised:
                    result = ENDED
            found = [p.get() for p in places]
            known = {p.key for p in places}
            more = [
                BoxPlace(box)
                for box, (attributes, _) in trace.touched.values()
                if box._base is None and box._data is not attributes[0] and id(box) not in known
            ]
            if more:
                raise Want(more, len(session.regions) - 1)
            boxes = {id(p.box) for p in places if isinstance(p, BoxPlace)}
            contents = {
                id(x): (x, _now(x))
                for value in (result, *found)
                if boxes and value is not MISSING
                for x in arrays_of(value)
                if isinstance(x, Boxed) and id(root_of(x)) in boxes
            }
        finally:
            session.regions.pop()
            for p, b in zip(places, before, strict=True):
                if isinstance(p, BoxPlace):
                    p.restore(b)
                else:
                    p.put(b)
            for o, b in zip(others, dead, strict=True):
                o.put(b)
            changed = around.close(body.keys)
    except Exception:
        _check_for_good(session, line, around)
        raise
    _check_for_good(session, line, around)
    if changed:
        raise Refused(
            f"{line}: the statements below change {changed} that was there before, which a branch "
            "or a loop of a compiled function cannot do at each pass. Collect results in an "
            "array (out[i] = ...)."
        )
    return result, found, contents


def _check_for_good(session: Session, line: str, around: Around) -> None:
    """Begin anew where the body changed what cannot be put back."""
    for x in around.opaque:
        held = session.lists.get(id(x.value))
        if held is not None and held[0] is x.value and type(held[0]) is deque and x.changed():
            if held[1] not in session.queues:
                session.queues.add(held[1])
                raise Restart
    if what := around.for_good():
        session.keep_apart(
            line,
            f"the statements below change the state of {what} that was there before (they draw "
            "from it, go on with it, or store in it), which a branch or a loop of a compiled "
            "function cannot do at each pass. Do that before, and keep the results in an array.",
        )


def _now(x: Boxed) -> Any:
    if x._base is not None:
        x._refresh()
    return x._alias()


def parts(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a value and its structure. A list that may grow is one thing, which other names
    know too."""
    return flatten(value, is_grown)


def is_grown(x: Any) -> bool:
    """Whether it is such a list."""
    return type(x) is Tabled or (type(x) is Grown and not x.frozen)


def contents_of(leaves: Sequence[Any], contents: dict[int, Any]) -> list[Any]:
    """The leaves as they were at the end of a body."""
    return [contents[id(x)][1] if id(x) in contents else x for x in leaves]


def is_static(x: Any) -> bool:
    """Whether it is no array, so that a graph cannot choose it."""
    return not is_leaf(x)


__all__ = [
    "ENDED", "OpenBody", "Raised", "Refused", "Want", "bodies_around", "born", "change",
    "contents_of", "is_born", "is_grown", "is_static", "parts", "run",
]  # fmt: skip
