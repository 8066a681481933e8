"""What classes say of their members: who has one, what it wraps, and the names in its code."""

from __future__ import annotations

import inspect
import types
from typing import Any

from .names import names_of
from .reach import library

_CONSTRUCTORS = frozenset(
    ("__init__", "__new__", "__post_init__", "__repr__", "__init_subclass__", "__class_getitem__")
)


def owner_of(cls: type, name: str) -> type:
    """The class that has an attribute of a class."""
    return next((c for c in cls.__mro__ if name in vars(c)), cls)


def wrapped_by(x: Any) -> Any:
    """What a decorator was put around; asked of the object's own attributes, since some objects
    answer to any name."""
    return inspect.getattr_static(x, "__wrapped__", None)


def foreign(module: Any) -> bool:
    """Whether a module is not one of the libraries', whose variables no traced function depends
    on."""
    return not library(module)


def named_in(function: Any) -> tuple[str, ...]:
    """All names that the code of a function mentions, inner functions included."""
    inner = inspect.unwrap(function) if callable(function) else function
    found = [f for f in (function, inner) if isinstance(f, types.FunctionType)]
    return tuple(dict.fromkeys([name for f in found for name in names_of(f)]))


def with_methods(cls: type, names: tuple[str, ...]) -> tuple[str, ...]:
    """These names, those of methods that Python's syntax calls (`__call__`), and those in the
    methods that these name, and so on."""
    implied = [
        n
        for c in cls.__mro__
        if foreign(c.__module__)
        for n in vars(c)
        if n[:2] == n[-2:] == "__" and n not in _CONSTRUCTORS
    ]
    found = dict.fromkeys((*names, *implied))
    todo = list(found)
    while todo:
        member = inspect.getattr_static(cls, todo.pop(), None)
        for function in (
            member,
            *[getattr(member, a, None) for a in ("fget", "__func__", "function")],
        ):
            if isinstance(function, types.FunctionType) and foreign(function.__module__):
                new = [n for n in named_in(function) if n not in found]
                found.update(dict.fromkeys(new))
                todo += new
    return tuple(found)


__all__ = ["foreign", "named_in", "owner_of", "with_methods", "wrapped_by"]
