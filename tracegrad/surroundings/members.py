"""What classes say of their members: who has one, what it wraps, and the names in its code."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterable
from typing import Any

from ..dtypes import module_of
from .names import names_of
from .reach import library

_MAKERS = ("__init__", "__new__", "__post_init__")
"""What runs where a class is called."""
_NOT_CALLED = frozenset(
    (
        *_MAKERS,
        "__repr__", "__init_subclass__", "__module__",
        "__annotations__", "__dataclass_fields__", "__dataclass_params__",
    )
)  # fmt: skip
"""What a class has under the names of Python's syntax, and code asks for by name only."""


def owner_of(cls: type, name: str) -> type:
    """The class that has an attribute of a class."""
    return next((c for c in cls.__mro__ if name in vars(c)), cls)


def bound(x: Any) -> bool:
    """Whether something is a method of an object, of Python's code or of C's."""
    if isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return not isinstance(x.__self__, (types.ModuleType, types.NoneType))
    return isinstance(x, types.MethodType)


def wrapped_by(x: Any) -> Any:
    """What a decorator was put around; asked of the object's own attributes, since some objects
    answer to any name."""
    return inspect.getattr_static(x, "__wrapped__", None)


def names_found(x: Any) -> set[str]:
    """The names by which `inspect.getattr_static` finds something of an object, all at once."""
    kinds: list[type] = [*type(x).__mro__]
    if isinstance(x, type):
        kinds += x.__mro__
    spaces: list[Iterable[str]] = [vars(c) for c in kinds]
    if not isinstance(x, type):
        with contextlib.suppress(AttributeError):
            spaces.append(object.__getattribute__(x, "__dict__"))
    return {name for space in spaces for name in space}


def foreign(module: Any) -> bool:
    """Whether a module is not one of the libraries', whose variables no traced function depends
    on."""
    return not library(module)


def named_in(function: Any) -> tuple[str, ...]:
    """All names that the code of a function mentions, inner functions included."""
    inner = inspect.unwrap(function) if callable(function) else function
    found = [f for f in (function, inner) if isinstance(f, types.FunctionType)]
    return tuple(dict.fromkeys([name for f in found for name in names_of(f)]))


def members(cls: type) -> tuple[str, ...]:
    """The names of all that the user's classes among a class and its bases have."""
    return tuple(dict.fromkeys([n for c in cls.__mro__ if foreign(module_of(c)) for n in vars(c)]))


def _called(cls: type, made: bool) -> list[str]:
    """The names of what Python's syntax calls; of a class that is `made` objects of, methods only,
    and those which make them."""
    names = [n for n in members(cls) if n[:2] == n[-2:] == "__" and n not in _NOT_CALLED]
    return [n for n in (*_MAKERS, *names) if _function_of(cls, n)] if made else names


def _function_of(cls: type, name: str) -> bool:
    found = inspect.getattr_static(cls, name, None)
    return inspect.isfunction(getattr(found, "__func__", found))


def with_methods(cls: type, names: tuple[str, ...], *, made: bool = False) -> tuple[str, ...]:
    """These names, those of methods that Python's syntax calls for objects of a class, and those in
    the methods that these name, and so on. `made` says that the function makes the objects."""
    called = _called(cls, made)
    found = dict.fromkeys((*names, *called))
    if "__match_args__" in found:
        found.update(dict.fromkeys(getattr(cls, "__match_args__", ())))
    there = names_found(cls)
    todo = [n for n in found if n in there]
    while todo:
        member = inspect.getattr_static(cls, todo.pop(), None)
        for function in (
            member,
            *[getattr(member, a, None) for a in ("fget", "__func__", "function")],
        ):
            if isinstance(function, types.FunctionType) and foreign(function.__module__):
                new = [n for n in named_in(function) if n not in found]
                found.update(dict.fromkeys(new))
                todo += [n for n in new if n in there]
    return tuple(found)


__all__ = [
    "bound", "foreign", "members", "named_in", "names_found", "owner_of", "with_methods",
    "wrapped_by",
]  # fmt: skip
