"""Dataclasses that a branch or a loop gives are made anew of their attributes: where Python has one
object there may be two, of which one would not see what is set in the other. That is refused."""

from __future__ import annotations

import dataclasses
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..ir.trace import user_line
from .aliases import objects_of
from .places import MISSING
from .regions import Refused
from .session import Restart, Session

Reference = Callable[[], Any]


def reference(x: Any) -> Reference:
    """A reference that does not keep it, if its class has such."""
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: x


class Twins:
    """Two objects that may be one in Python."""

    def __init__(self, a: Reference, b: Reference, line: str) -> None:
        self.ends, self.line = (a, b), line

    def other(self, x: Any) -> Reference | None:
        """What an object may be besides."""
        a, b = self.ends
        return b if a() is x else a if b() is x else None


def related(session: Session, x: Any) -> list[Reference]:
    """What an object may be besides."""
    return [r for p in session.pairs if (r := p.other(x)) is not None]


def pair(session: Session, x: Any, references: Iterable[Reference], line: str) -> None:
    """Remember that an object may be these, and what these may be."""
    own = reference(x)
    for r in references:
        y = r()
        if y is None or y is x:
            continue
        _need_all(session)
        session.pairs += [Twins(own, s, line) for s in (r, *related(session, y)) if s() is not x]


class ListItem:
    """An object that is an item of a list, of which the list has the attributes as they were."""

    def __init__(self, x: Reference) -> None:
        self.item = x

    def other(self, x: Any) -> Reference | None:
        """What an object may be besides."""
        return _in_a_list if self.item() is x else None


def _in_a_list() -> Any:
    return _ITEMS


ITEMS = "items of lists"
"""What is kept apart where objects in lists are changed: then no array has what is in them."""
_ITEMS = object()
"""Stands for the item."""


def is_item(session: Session, value: Any) -> None:
    """Remember that objects are items of a list that loops fill."""
    found = objects_of(value)
    if found:
        if ITEMS in session.apart:
            raise Refused(f"{user_line()}: {session.apart[ITEMS]}")
        _need_all(session)
        session.pairs += [ListItem(reference(x)) for x in found]


def _need_all(session: Session) -> None:
    """Attributes may be set by functions that are not rewritten, which nobody would see."""
    if not session.whole:
        session.whole = True
        raise Restart


def before_set(session: Session, owner: Any, line: str) -> None:
    """Before an attribute is set: Refused where another object would have to see it."""
    if session.regions and dataclasses.is_dataclass(owner):
        session.changed.append(reference(owner))
    for p in session.pairs:
        r = p.other(owner)
        if r is _in_a_list:
            session.keep_apart(
                ITEMS,
                f"an object (a {type(owner).__name__}) is put in a list by a loop on traced "
                f"values, and has an attribute set at {line}, which the list would have to show. "
                "Append a copy (dataclasses.replace(a)), or put one in: items[k] = "
                "dataclasses.replace(items[k], name=value)",
            )
        if r is not None and session.held.is_named(r):
            kind = type(owner).__name__
            raise Refused(
                f"{line}: an attribute is set of an object (a {kind}) that the branch or loop at "
                f"{p.line} gave or was given, and that may have another name, which would have to "
                "see it. Bind a copy, and set it there: a = dataclasses.replace(a)"
            )


def remember(session: Session, given: Sequence[tuple[Any, Any]], line: str) -> None:
    """After a branch: what each side left (`Agreed.objects`) in each of the values that it gave."""
    made = [(objects_of(value), a.objects) for a, value in given]
    for number, (own, sides) in enumerate(made):
        for k, x in enumerate(own):
            here = [side[k] for side in sides if k < len(side)]
            pair(session, x, here, line)
            for others, their in made[: number + 1]:
                for n, y in enumerate(others):
                    theirs = [side[n] for side in their if n < len(side)]
                    if y is not x and any(
                        a() is b() is not None for a, b in zip(here, theirs, strict=False)
                    ):
                        pair(session, x, [reference(y)], line)


class Entered:
    """The objects that a loop hands on in its places, in one pass."""

    def __init__(self, session: Session, line: str) -> None:
        self.session, self.line, self.mark = session, line, len(session.changed)

    def after(self, carried: Sequence[Any], values: Sequence[Any], found: Sequence[Any]) -> None:
        """After a pass: Refused where the next one would have to see under one name what it sets
        under another."""
        session = self.session
        changed = {id(r()) for r in session.changed[self.mark :]} - {id(None)}
        ends = [objects_of(x) if x is not MISSING else [] for x in found]
        names = [[_count(own, k) > _ALONE for k in range(len(own))] for own in ends]
        ways = Counter(id(x) for own in ends for x in own)
        for c, before, last, named in zip(carried, values, ends, names, strict=True):
            c.ends, c.ways = [reference(x) for x in last], [*map(id, last)]
            if not changed or not getattr(c, "arrays", ()):
                continue
            entered = [] if before is MISSING else objects_of(before)
            own = {*map(id, entered)}
            sets = not changed.isdisjoint(own)
            start = [] if c.start is MISSING else objects_of(c.start)
            if (sets and c.known) or not changed.isdisjoint({*map(id, start)} - own):
                self._refuse(c)
            for x, is_named in zip(last, named, strict=True):
                if id(x) in own:
                    continue
                others = {id(r()) for r in related(session, x)} - own - {id(None)}
                aside = not changed.isdisjoint(others) or (is_named and id(x) in changed)
                if aside or (sets and (is_named or others or ways[id(x)] > 1)):
                    self._refuse(c)

    def _refuse(self, c: Any) -> None:
        raise Refused(
            f"{self.line}: {c.place.name} is in this loop another name of an object of "
            "which attributes are set, which both would have to see. Bind it to a copy: "
            f"{c.place.name} = copy.copy(a)"
        )


def _count(objects: list[Any], k: int) -> int:
    return sys.getrefcount(objects[k])


def _alone() -> int:
    value = [type("Made", (), {})()]
    return _count([*value], 0)


_ALONE = _alone()
"""Of an object that one container has, besides the list in which it is looked at."""


def is_known(value: Any) -> bool:
    """Whether others than a variable, and who looks at its value, know an object in it."""
    found = objects_of(value)
    own = [_ALONE + 2 * (x is value) for x in found]
    return any(_count(found, k) > own[k] for k in range(len(found)))


def handed_on(session: Session, c: Any, value: Any, line: str) -> None:
    """After a loop: what a value may be that it gave."""
    start = objects_of(c.start) if c.start is not MISSING else []
    for k, x in enumerate(objects_of(value)):
        own = [reference(start[k])] if k < len(start) else []
        pair(session, x, [*own, *c.ends[k : k + 1]], line)


def alike(session: Session, carried: Sequence[Any], line: str) -> None:
    """After a loop: places that lead to one object at the end of a pass have one each now."""
    ends = [
        (key, x)
        for c in carried
        for key, x in zip(getattr(c, "ways", ()), objects_of(c.place.get()), strict=False)
    ]
    for n, (key, x) in enumerate(ends):
        pair(session, x, [reference(y) for other, y in ends[:n] if other == key], line)


__all__ = [
    "Entered",
    "alike",
    "before_set",
    "handed_on",
    "is_item",
    "is_known",
    "reference",
    "remember",
]
