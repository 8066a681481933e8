"""What code names of modules and classes around a function, and of the classes of objects: methods,
properties and attributes, of their own and of classes they inherit from, and that these are still
what they were."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from typing import Any

from ..dtypes import module_of
from .members import foreign, members, names_found, owner_of, with_methods
from .places import ABSENT, ATTRIBUTE, ENTRY, NAMED, Fact, Place, entry

_MEMBERS = (types.FunctionType, staticmethod, classmethod, property)
_OWN = (type(None), bool, int, float, str)
_DESCRIPTIONS = ("__name__", "__qualname__", "__doc__", "__annotations__", "__bases__", "__mro__")
"""What functions and classes have that stands in no `__dict__`, or there as a descriptor."""
_ALL_NAMES = {"__dict__", "dir", "getmembers", "getmembers_static"}
"""Names in code which asks a class or module for all that it has."""
DEEPEST = 20
"""So many steps from a variable what objects hold is looked at."""


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
        self._spaces: dict[int, tuple[Any, Place, int]] = {}
        """Modules and classes by their ids, where they were found and how deep."""
        self._looked: set[tuple[int, str]] = set()
        """The names that were looked up in them."""
        self._objects: list[tuple[Any, Place]] = []
        """Instances of the user's classes, these themselves, the user's functions and modules."""
        self._asked: set[str] = set()
        """The attributes that some function asks for, which may not be there."""
        self._asked_by_users: set[str] = set()
        """Those that a function of the user's program asks for, not of an installed package."""

    def _value(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        raise NotImplementedError

    def _function(self, function: Any) -> None:
        raise NotImplementedError

    def _mention(self, function: Any) -> None:
        raise NotImplementedError

    def _named_anywhere(self) -> None:
        """Objects, modules and classes are walked once, for the function by which they are found;
        what any other one names of them counts as well."""
        before = (-1, -1, -1)
        # New functions may name what was not looked for in what was met before.
        while before != (before := (len(self._names), len(self._users), len(self._spaces))):
            for value, place, known in self._users:
                self._named_of_object(value, place, known)
            names = tuple(self._names)
            for value, place, depth in [*self._spaces.values()]:
                self._look(value, place, depth, names)
        for value, place, _ in self._users:
            self._answers(value, place)

    def _named_of_object(self, value: Any, place: Place, known: set[str]) -> None:
        cls = type(value)
        found = [n for n in members(cls) if n in self._names and n not in known]
        if "super" in self._names and "super" not in known:
            found.append("super")
            for name in known & {*members(cls)}:
                self._hidden(cls, name, tuple(self._names))
        known.update(found)
        if found:
            self._methods(cls, place, tuple(found), getattr(value, "__dict__", None))

    def _named_space(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """A module or class, and what of it the code names."""
        of_class = isinstance(value, type)
        owner = module_of(value) if of_class else value.__name__
        # That a library's name is put to another module is not expected: 30 ns a call.
        if of_class or foreign(owner):
            self.facts.append((place, value))
        if not foreign(owner) or depth > DEEPEST or owner == "builtins":
            return
        if id(value) not in self._spaces:
            self._spaces[id(value)] = value, place, depth
            self._objects.append((value, place))
            if vars(value).get("_is_runtime_protocol"):
                self._asked |= {*members(value)}
                self._asked_by_users |= {*members(value)}
        self._look(value, place, depth, names)

    def _look(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """What code with these names reads of a module or class, as far as it is not known."""
        of_class = isinstance(value, type)
        if of_class:
            names = with_methods(value, names, made=True)
            if by_metaclass := foreign(module_of(type(value))):
                names = with_methods(type(value), names)
        new = [n for n in dict.fromkeys(names) if (id(value), n) not in self._looked]
        self._looked.update([(id(value), n) for n in new])
        if of_class:
            self._described(value, place, new)
            if by_metaclass:
                self._methods(type(value), place, tuple(new), vars(value))
        if _ALL_NAMES & {*new}:
            self.facts.append((place.then("", NAMED), dir(value)))
            self._look(value, place, depth, tuple(n for n in vars(value) if n[:2] != "__"))
        for name in new:
            found = vars(value).get(name, ABSENT)
            if found is not ABSENT:
                self._value(found, place.then(f".{name}", ENTRY, name), depth + 1, names)
            elif of_class:
                self._inherited(value, name, place, depth + 1, names)
            elif (answer := vars(value).get("__getattr__")) is not None:
                self.facts.append((place.then(f".{name}", ABSENT[ENTRY], name), False))
                where = place.then(".__getattr__", ENTRY, "__getattr__")
                self._value(answer, where, depth + 1, names)

    def _described(self, value: Any, place: Place, names: Iterable[str]) -> None:
        """What Python keeps of a function or class, as far as code names it."""
        for name in _DESCRIPTIONS:
            if name in names and name not in getattr(value, "__dict__", ()):
                if (found := getattr(value, name, ABSENT)) is not ABSENT:
                    where = place.then(f".{name}", ATTRIBUTE, name)
                    self._value(found, where, DEEPEST - 2, ())

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
        there = names_found(cls)
        for name in [n for n in names if n in there]:
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
        owner = owner_of(cls, name)
        # What only the metaclass has is no member of the class.
        found = vars(owner).get(name, ABSENT)
        if found is ABSENT or not foreign(module_of(owner)):
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
                for name in sorted(self._mentioned - names_found(value))
                if isinstance(own, dict) and name not in own
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
