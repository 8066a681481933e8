"""What Python's own kinds of objects hold, and how that is read again: containers other than lists
and dicts, buffers, references; and the kinds whose objects never change."""

from __future__ import annotations

import collections
import contextvars
import ctypes
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..holders import GroupHolder
from .places import (
    ATTRIBUTE,
    BYTES,
    ELEMENT,
    ITEM,
    KEYS,
    LENGTH,
    ORDER,
    POINTED,
    READ,
    REFERENT,
    VALUES,
    Fact,
    Place,
)

_SEQUENCES = (list, tuple, collections.deque)
_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
OF_C: type = ctypes.Structure.__mro__[1]
"""The class of all numbers, structures, arrays and pointers of ctypes."""
_SHORT = 64
NUMBERS: frozenset[type] = frozenset((bool, int, float, complex, str, type(None)))


def _sequence(value: Any) -> bool:
    """Whether an object is read by its numbers from 0 on."""
    return isinstance(value, _SEQUENCES)


def _mapping(value: Any) -> bool:
    """Whether an object is read by its keys, as a dict."""
    return isinstance(value, (dict, types.MappingProxyType))


def numbers(value: Any, place: Place) -> Iterator[Fact]:
    """Of a long list or dict of numbers and texts alone: all of them, to be compared at once."""
    if (_sequence(value) or _mapping(value)) and len(value) > _SHORT:
        values = [*value.values()] if _mapping(value) else [*value]
        if all(type(v) in NUMBERS for v in values):
            yield place.then("", VALUES if _mapping(value) else ORDER), values


def shape_facts(value: Any, place: Place, ordered: bool) -> Iterator[Fact]:
    """How much an object holds, or, where its order counts, by which keys."""
    if ordered and _mapping(value) and (len(value) > 1 or not all(type(k) is str for k in value)):
        yield place.then("", KEYS), [*value]
    elif _sequence(value) or _mapping(value):
        yield place.then("", LENGTH), len(value)
    elif isinstance(value, (set, frozenset)):
        yield place.then("", "frozenset({it})"), frozenset(value)
    elif _is_buffer(value):
        try:
            held = bytes(value)
        except (TypeError, ValueError, NotImplementedError):
            return
        yield place.then("", BYTES), held


def _is_buffer(value: Any) -> bool:
    """Whether an object is read by its bytes: `array.array`, and the numbers, structures and arrays
    of ctypes, too."""
    return isinstance(value, (bytearray, memoryview, OF_C)) or type(value).__name__ == "array"


def _parts(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """What an object of one of Python's own kinds holds, without its attributes."""
    if _sequence(value):
        for k, child in enumerate(value):
            yield child, place.then(f"[{k}]", ITEM, k)
    elif isinstance(value, types.MappingProxyType):
        for key, child in value.items():
            yield child, place.then(f"[{key!r}]", ITEM, key)
    elif isinstance(value, _VIEWS):
        yield value.mapping, place.then(".mapping", ATTRIBUTE, "mapping")
    elif isinstance(value, contextvars.ContextVar):
        try:
            yield value.get(), place.then(".get()", READ)
        except LookupError:
            return
    elif isinstance(value, weakref.ref):
        yield value(), place.then("()", REFERENT)
    elif isinstance(value, BaseException):
        yield value.args, place.then(".args", ATTRIBUTE, "args")
    elif isinstance(value, collections.defaultdict):
        name = "default_factory"
        yield value.default_factory, place.then(f".{name}", ATTRIBUTE, name)
    elif isinstance(value, ctypes._Pointer) and value:
        yield value.contents, place.then(".contents", POINTED)


def children(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """What an object holds: elements, entries and attributes."""
    yield from _parts(value, place)
    if isinstance(value, GroupHolder):
        yield value.rate, place.then(".rate", ATTRIBUTE, "rate")
    if isinstance(value, dict):
        for key, child in (
            value.items() if not isinstance(value, GroupHolder) else value.surroundings()
        ):
            shown = (
                repr(key) if isinstance(key, (*NUMBERS, np.generic)) else f"<{type(key).__name__}>"
            )
            yield child, place.then(f"[{shown}]", "{it}[{key}]", key)
        if type(value) is dict or isinstance(value, GroupHolder):
            return
    if isinstance(getattr(value, "__dict__", None), dict):
        for key, child in list(vars(value).items()):
            if not key.startswith("_jitted_"):
                yield child, place.then(f".{key}", ATTRIBUTE, key)
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for key in (slots,) if isinstance(slots, str) else slots:
            if not key.startswith("__") and hasattr(value, key):
                yield getattr(value, key), place.then(f".{key}", ATTRIBUTE, key)


def elements(value: np.ndarray, place: Place) -> Iterator[tuple[Any, Place]]:
    """The objects in an array of objects."""
    if value.dtype.hasobject and value.dtype.fields is None and value.size <= 1000:
        for k, child in enumerate(value.flat):
            yield child, place.then(f".flat[{k}]", ELEMENT, k)


__all__ = ["OF_C", "children", "elements", "numbers", "shape_facts"]
