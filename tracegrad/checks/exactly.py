"""What tells values apart that Python takes for equal: 0.0 and -0.0; 1, 1.0 and True; what holds
them. Code that was made for one of them is wrong for another."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import module_of

_PLAIN = frozenset((bool, int, str, bytes, type(None)))
_LASTING = frozenset((slice, range, bytes, type(...), type(NotImplemented)))
_LASTING_MODULES = frozenset(
    ("datetime", "decimal", "fractions", "operator", "pathlib", "re", "uuid", "zoneinfo")
)


def exactly(value: Any) -> Any:
    """Equal for values that no function can tell apart, by what they hold; for objects of other
    classes that are equal. NaN is itself. The value must be hashable, as this is."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, np.generic):
        # The bytes of a long double are not all its own.
        own = value.dtype.char not in "gG"
        return kind, value.dtype, value.tobytes() if own else repr(value)
    if isinstance(value, float):
        return kind, struct.pack("d", value)
    if isinstance(value, complex):
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, tuple):
        return kind, *map(exactly, value)
    if isinstance(value, frozenset):
        return kind, frozenset(map(exactly, value))
    if kind in (range, slice):
        return kind, *map(exactly, (value.start, value.stop, value.step))
    if lasting(value):
        return kind, value, repr(value)
    return kind, value, *[exactly(x) for x in _compared(kind, value) if _hashable(x)]


def keys_of(given: dict[Any, Any]) -> tuple[Any, ...]:
    """The keys in their order, such that 1 and True are different ones."""
    return tuple([k if type(k) is str else exactly(k) for k in given])


def lasting(value: Any) -> bool:
    """Whether an object is of a kind of Python's or NumPy's whose objects never change."""
    kind = type(value)
    return (
        kind in _LASTING
        or isinstance(value, np.dtype)
        or module_of(kind).partition(".")[0] in _LASTING_MODULES
    )


def _compared(kind: type, value: Any) -> Sequence[Any]:
    """The fields by which a dataclass, or a class of attrs, compares its objects."""
    if getattr(kind, "__eq__", None) is object.__eq__:
        return ()
    if dataclasses.is_dataclass(kind):
        return [getattr(value, f.name, None) for f in dataclasses.fields(kind) if f.compare]
    fields = getattr(kind, "__attrs_attrs__", ())
    return [getattr(value, f.name, None) for f in fields if f.eq]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


__all__ = ["exactly", "keys_of", "lasting"]
