"""What code names of the classes of objects around a function: methods, properties and attributes,
of their own and of classes they inherit from, and that these are still what they were."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any

from ..dtypes import module_of
from .members import foreign, members, owner_of
from .places import ABSENT, ATTRIBUTE, ENTRY, Fact, Place, entry

_MEMBERS = (types.FunctionType, staticmethod, classmethod, property)
_OWN = (type(None), bool, int, float, str)


class NamedOfClasses:
    """The part of `Surroundings` that looks into classes."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._mentioned: set[str] = set()
        """The names of attributes that code reads."""
        self._names: dict[str, None] = {}
        """What the functions name that were met, in their order."""
        self._users: list[tuple[Any, Place, set[str]]] = []
        """Objects of the user's classes, and the names that were looked for in their classes."""
        self._members: set[tuple[int, str]] = set()
        """Methods, each with its class, that are compared, and what modules have not."""

    def _value(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        raise NotImplementedError

    def _function(self, function: Any) -> None:
        raise NotImplementedError

    def _mention(self, function: Any) -> None:
        raise NotImplementedError

    def _named_anywhere(self) -> None:
        """An object is walked once, for the function by which it is found; what any other one names
        of its class counts as well."""
        at = 0
        while at < len(self._users):
            value, place, known = self._users[at]
            cls = type(value)
            found = [n for n in members(cls) if n in self._names and n not in known]
            if "super" in self._names and "super" not in known:
                found.append("super")
                for name in known & {*members(cls)}:
                    self._hidden(cls, name, tuple(self._names))
            known.update(found)
            if found:
                self._methods(cls, place, tuple(found), getattr(value, "__dict__", None))
            # New functions may name what was not looked for in the objects before.
            at = 0 if found else at + 1
        for value, place, _ in self._users:
            self._answers(value, place)

    def _mention_all(self, cls: type) -> None:
        """Note the names that the methods of a class read."""
        for method in [m for c in cls.__mro__ if foreign(module_of(c)) for m in vars(c).values()]:
            for function in (method, *[getattr(method, a, None) for a in ("fget", "function")]):
                self._mention(function)

    def _methods(
        self, cls: type, place: Place, names: tuple[str, ...], own: Mapping[str, Any] | None
    ) -> None:
        """Methods, properties and attributes of the class of an object that the code names; an
        attribute may be shadowed later on."""
        for name in names:
            found = inspect.getattr_static(cls, name, ABSENT) if name != "__doc__" else ABSENT
            if isinstance(found, _MEMBERS):
                self._member(cls, name, found, place, own)
            if isinstance(found, property) and found.fget is not None:
                found = found.fget
            if isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            if isinstance(found, types.FunctionType) or type(found).__name__ == "Jitted":
                self._function(found)
            elif found is not ABSENT and name not in (own or ()):
                if hasattr(type(found), "__get__") and not isinstance(found, type):
                    if foreign(owner := module_of(type(found))) or owner == "functools":
                        self._value(found, entry(owner_of(cls, name), name), 4, names)
                elif not isinstance(found, _OWN) or foreign(module_of(owner_of(cls, name))):
                    self._value(found, place.then(f".{name}", ATTRIBUTE, name), 4, names)
            if "super" in names or "super" in self._names:
                self._hidden(cls, name, names)

    def _hidden(self, cls: type, name: str, names: tuple[str, ...]) -> None:
        """What `super()` finds by a name: members of bases that other ones stand before."""
        for owner in [c for c in cls.__mro__ if name in vars(c)][1:]:
            if foreign(module_of(owner)):
                self._value(vars(owner)[name], entry(owner, name), 4, names)

    def _inherited(
        self, cls: type, name: str, place: Place, depth: int, names: tuple[str, ...]
    ) -> None:
        """What a class has from another one, of the user's too, which the code names."""
        found = inspect.getattr_static(cls, name, ABSENT)
        if found is ABSENT or not foreign(module_of(owner_of(cls, name))):
            return
        if isinstance(found, (staticmethod, classmethod)):
            self._member(cls, name, found, place, vars(cls))
            self._function(found.__func__)
        elif not hasattr(type(found), "__get__") or isinstance(found, types.FunctionType):
            self._value(found, place.then(f".{name}", ATTRIBUTE, name), depth, names)

    def _answers(self, value: Any, place: Place) -> None:
        """That attributes which the class answers for (`__getattr__`) are still not there."""
        own = getattr(value, "__dict__", None)
        answer = inspect.getattr_static(type(value), "__getattr__", None)
        if isinstance(answer, types.FunctionType) and foreign(answer.__module__):
            self.facts += [
                (place.then(f".{name}", ABSENT[ENTRY], name), False)
                for name in sorted(self._mentioned)
                if isinstance(own, dict)
                and name not in own
                and inspect.getattr_static(value, name, ABSENT) is ABSENT
            ]

    def _member(
        self, cls: type, name: str, found: Any, place: Place, own: Mapping[str, Any] | None
    ) -> None:
        """That a class still has this method, and that the object has nothing instead of it."""
        owner = owner_of(cls, name)
        if not foreign(module_of(owner)):
            return
        if (id(owner), name) not in self._members:
            self._members.add((id(owner), name))
            self.facts.append((entry(owner, name), found))
        if own is not None and name not in own and not isinstance(found, property):
            self.facts.append((place.then(f".{name}", ABSENT[ENTRY], name), False))
