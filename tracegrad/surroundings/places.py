"""Where something was found, how it is read again, and whether it is what it was."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks.exactly import exactly, lasting
from ..devices import DeviceArray
from ..labels import table_of
from ..ops.sparse.pattern import layout_of
from ..tensor import Boxed

Fact = tuple["Place", Any]


@dataclass(frozen=True, eq=False)
class Place:
    """Where something was found, and how it is read again.

    `code` is a Python expression of `{it}` (what is read at the place before) and of `{key}`;
    `path` is what a person calls it.
    """

    path: str
    code: str
    key: Any
    before: Place | None = None

    def __call__(self) -> Any:
        return READERS[self.code](self.before() if self.before is not None else None, self.key)

    def then(self, path: str, code: str, key: Any = None) -> Place:
        return Place(self.path + path, code, key, self)

    def same(self, other: Place) -> Place:
        """Whether the same object is here and there."""
        return self.then(f" is {other.path}", SAME, other)

    def reads_as(self, other: Place | None) -> bool:
        """Whether both lead through the same names from the same object."""
        if other is None or (self.code != other.code and {self.code, other.code} != _NAMED):
            return False
        if self.key is not other.key and (self.before is None or self.key != other.key):
            return False
        if self.before is None:
            return other.before is None
        return self.before.reads_as(other.before)


ATTRIBUTE = "getattr({it}, {key})"
ITEM, ENTRY, CELL = "{it}[{key}]", "{it}.__dict__[{key}]", "{key}.cell_contents"
_NAMED = {ATTRIBUTE, ENTRY}
ABSENT = {ITEM: "{key} in {it}", ENTRY: "{key} in {it}.__dict__", ATTRIBUTE: "hasattr({it}, {key})"}
"""How it is asked whether there is anything at such a place."""
TYPE, LENGTH = "type({it})", "len({it})"
KEYS, ORDER, VALUES = "list({it})", "[*{it}]", "[*{it}.values()]"
"""The keys of a dict in their order, the elements of a list, the values of a dict."""
BYTES, ELEMENT = "bytes({it})", "{it}.flat[{key}]"
"""What is in a buffer; an element of an array of objects."""
READ, REFERENT, CODE = "{it}.get()", "{it}()", "{it}.__code__"
"""Of a context variable, a weak reference and a function."""
BEHIND = "{it}.__repr__.__self__"
"""The object that a weak proxy hands all attributes on to."""
POINTED = "{it}.contents"
"""Of a pointer of ctypes."""
UNBOUND = "{key} == {key}.__class__()"
"""Whether a closure's variable has no value: it is equal to a new cell."""
NAMED = "dir({it})"
"""The names of all attributes, of classes too."""
ORDER_OF_ATTRIBUTES = "[*{it}.__dict__]"
LAYOUT = "layout({it})"
"""Where the entries of a sparse array stand."""
TABLE = "table({it})"
"""The numbers and labels of a pandas object."""
SAME = "{it} is {key}()"
"""Whether what is at two places, the second of which is the key, is one object."""
READERS: dict[str, Callable[[Any, Any], Any]] = {
    "{key}": lambda it, key: key,
    CELL: lambda it, key: key.cell_contents,
    ITEM: lambda it, key: it[key],
    ENTRY: lambda it, key: it.__dict__[key],
    ATTRIBUTE: lambda it, key: getattr(it, key),
    TYPE: lambda it, key: type(it),
    LENGTH: lambda it, key: len(it),
    "frozenset({it})": lambda it, key: frozenset(it),
    KEYS: lambda it, key: list(it),
    ORDER: lambda it, key: [*it],
    VALUES: lambda it, key: [*it.values()],
    BYTES: lambda it, key: bytes(it),
    ELEMENT: lambda it, key: it.flat[key],
    READ: lambda it, key: it.get(),
    REFERENT: lambda it, key: it(),
    BEHIND: lambda it, key: it.__repr__.__self__,
    POINTED: lambda it, key: it.contents,
    CODE: lambda it, key: it.__code__,
    UNBOUND: lambda it, key: key == key.__class__(),
    NAMED: lambda it, key: dir(it),
    ORDER_OF_ATTRIBUTES: lambda it, key: [*it.__dict__],
    LAYOUT: lambda it, key: layout_of(it),
    TABLE: lambda it, key: table_of(it),
    SAME: lambda it, key: it is key(),
    "{it}._grad is None": lambda it, key: it._grad is None,
    ABSENT[ITEM]: lambda it, key: key in it,
    ABSENT[ENTRY]: lambda it, key: key in it.__dict__,
    ABSENT[ATTRIBUTE]: hasattr,
}
"""The ways to read, as code for the callers that are compiled (compiled/callers.py) and as
functions."""


def root(path: str, value: Any) -> Place:
    """A place that is always the same object."""
    return Place(path, "{key}", value)


def entry(owner: type, name: str) -> Place:
    """Where a class has a member."""
    return root(owner.__name__, owner).then(f".{name}", ENTRY, name)


def unchanged(place: Place, value: Any) -> bool:
    """Whether what is read around the function is what it was."""
    try:
        now = place()
    except UNREADABLE:
        return False
    if isinstance(value, Content):
        return now is value.array and content(now) == value.bytes
    return now is value or same(now, value)


UNREADABLE = (AttributeError, LookupError, ValueError, TypeError, ReferenceError)
"""What reading a variable that is gone may raise."""


_VALUES = (bool, int, float, complex, str, bytes, np.generic, frozenset, list)


def same(now: Any, value: Any) -> bool:
    """Whether another object is the same number, text, set, date or whatever else never changes:
    not True for 1, nor -0.0 for 0.0."""
    if type(now) is not type(value) or not (isinstance(now, _VALUES) or lasting(now)):
        return False
    if type(now) is list:
        # Nearly always they are the same objects.
        return len(now) == len(value) and (
            all(map(operator.is_, now, value))
            or all(a is b or same(a, b) for a, b in zip(now, value, strict=True))
        )
    return bool(exactly(now) == exactly(value))


class Content:
    """An array that only NumPy read while tracing: the graph holds what was computed from these
    elements."""

    def __init__(self, array: Any) -> None:
        self.array, self.bytes = array, content(array)


def content(x: Any) -> bytes | None:
    """The bytes of an array that is there now; None for a traced one."""
    if isinstance(x, Boxed):
        x._refresh()
        x = x._data
    data = x.copy_to_host() if type(x) is DeviceArray else x
    return data.tobytes() if isinstance(data, np.ndarray) else None


def leads_to(place: Place | None, mark: Any) -> bool:
    """Whether what is at a place is found through an object, or is a list of it and others."""
    if place is not None and place.code in (ORDER, VALUES):
        if any(x is mark for x in _now(place) or ()):
            return True
    while place is not None:
        if _now(place) is mark:
            return True
        place = place.before
    return False


def _now(place: Place) -> Any:
    try:
        return place()
    except UNREADABLE:
        return None
