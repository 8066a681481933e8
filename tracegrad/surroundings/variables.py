"""What can be bound anew or changed: variables and containers, and how they are read."""

from __future__ import annotations

import collections
import functools
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..holders import GroupHolder
from ..staging.places import MISSING
from .places import ATTRIBUTE, CELL, ENTRY, ITEM, Place, root


class Reached:
    """An object that was found, and the way to it; written down as a Place only where that is asked
    for."""

    __slots__ = ("before", "code", "key", "made", "path", "value")

    def __init__(
        self, value: Any, before: Reached | None, path: str, code: str = "{key}", key: Any = None
    ) -> None:
        self.value, self.before, self.path, self.code, self.key = value, before, path, code, key
        self.made: Place | None = None

    def place(self) -> Place:
        """Where the object is found again."""
        if self.made is None:
            if self.code == CELL or self.before is None:
                self.made = (
                    Place(self.path, self.code, self.key)
                    if self.code == CELL
                    else root(self.path, self.value)
                )
            else:
                self.made = self.before.place().then(self.path, self.code, self.key)
        return self.made

    def then(self, value: Any, path: str, code: str, key: Any) -> Reached:
        return Reached(value, self, path, code, key)


class Variables:
    """Named values that a function may bind anew: the items of a dict, attributes, globals, a
    closure's variable, elements of a list."""

    __slots__ = ("before", "code", "node", "read")

    def __init__(self, node: Reached, code: str, read: Callable[[], Mapping[Any, Any]]) -> None:
        self.node, self.code, self.read = node, code, read
        self.before = read()

    def place(self, key: Any) -> Place:
        """Where one of them is found again."""
        return self.child(key, None).place()

    def child(self, key: Any, value: Any) -> Reached:
        """The value that one of them has, as what is visited next."""
        if self.code == CELL:
            return Reached(value, None, self.node.path, CELL, self.node.value)
        shown = (
            f".{key}"
            if self.code in (ENTRY, ATTRIBUTE)
            else f"[{key!r:.40}]"
            if self.node.path
            else str(key)
        )
        return self.node.then(value, shown, self.code, key)

    def put(self, key: Any, value: Any) -> None:
        """Bind one of them, past methods of the user's that would do more."""
        holder = self.node.value
        if isinstance(holder, GroupHolder):
            holder[key] = value  # which keeps its rate, too
        elif self.code == ITEM:
            base = (
                dict
                if isinstance(holder, dict)
                else list
                if isinstance(holder, list)
                else collections.deque
            )
            if value is MISSING:
                base.__delitem__(holder, key)
            else:
                base.__setitem__(holder, key, value)
        elif self.code == ENTRY:
            if value is MISSING:
                del holder.__dict__[key]
            else:
                holder.__dict__[key] = value
        elif self.code == CELL:
            if value is MISSING:
                del holder.cell_contents
            else:
                holder.cell_contents = value
        elif value is MISSING:
            (type.__delattr__ if isinstance(holder, type) else object.__delattr__)(holder, key)
        else:
            (type.__setattr__ if isinstance(holder, type) else object.__setattr__)(
                holder, key, value
            )

    def changes(self) -> Iterator[tuple[Any, Any, Any]]:
        """(key, what it was, what it is) of each that is bound anew."""
        now, before = self.read(), self.before
        for key, value in now.items():
            if (old := before.get(key, MISSING)) is not value:
                yield key, old, value
        if len(now) < len(before) or any(key not in now for key in before):
            for key, old in before.items():
                if key not in now:
                    yield key, old, MISSING


class Slot(NamedTuple):
    """A variable that the function binds anew, and what it was."""

    variables: Variables
    key: Any
    old: Any
    grows: bool = False
    """Whether it is a list that something is appended to."""
    shows: bool = False
    """Whether it is an array that is put there boxed, to see whether NumPy reads it."""


class Contents:
    """What an object holds that is changed as a whole: the length of a list, a set, an array's
    elements, where an iterator stands."""

    __slots__ = ("before", "node", "read", "reset", "what")

    def __init__(
        self, node: Reached, what: str, read: Callable[[], Any], reset: Callable[[Any], None] | None
    ) -> None:
        self.node, self.what, self.read, self.reset = node, what, read, reset
        self.before = read()

    def changed(self) -> bool:
        now, before = self.read(), self.before
        if isinstance(now, list):
            # The elements of a list are variables.
            same = isinstance(self.node.value, list) or all(map(operator.is_, now, before))
            return len(now) != len(before) or not same
        return bool(now != before)


def copied(own: dict[Any, Any]) -> Callable[[], dict[Any, Any]]:
    return lambda: dict(own)


def attributes(own: dict[str, Any], hidden: str | None) -> Callable[[], dict[str, Any]]:
    return lambda: {key: x for key, x in own.items() if key != hidden and key[:8] != "_jitted_"}


def named(space: Mapping[str, Any], names: Sequence[str]) -> Callable[[], dict[str, Any]]:
    return lambda: {name: space[name] for name in names if name in space}


def cell_of(cell: Any) -> Callable[[], dict[str, Any]]:
    def read() -> dict[str, Any]:
        try:
            return {"": cell.cell_contents}
        except ValueError:
            return {}

    return read


def class_attributes(cls: type) -> Callable[[], dict[str, Any]]:
    return lambda: {
        name: x
        for name, x in vars(cls).items()
        if name[:2] != "__"
        and name[:4] != "_abc"
        and not isinstance(x, (types.FunctionType, *_DESCRIPTORS))
    }


_DESCRIPTORS = (
    property,
    classmethod,
    staticmethod,
    functools.cached_property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
)


def slots_of(cls: type) -> Sequence[str]:
    names = cls.__dict__.get("__slots__", ())
    return [n for n in ((names,) if isinstance(names, str) else names) if not n.startswith("__")]


def slotted(value: Any, names: Sequence[str]) -> Callable[[], dict[str, Any]]:
    return lambda: {n: x for n in names if (x := getattr(value, n, MISSING)) is not MISSING}


def dict_of(value: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if isinstance(own, dict) else None
