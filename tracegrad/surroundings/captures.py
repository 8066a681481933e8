"""What a function reads without being given it: arrays by reference, and scalars and functions that
the trace relied on."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import random
import sys
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..autograd.function import Function
from ..checks.exactly import lasting
from ..dtypes import module_of
from ..holders import GroupHolder, ModuleHolder, OptimizerHolder, RuleHolder
from ..labels import table_of
from ..ops.random import Generator
from ..ops.sparse.operand import is_sparse
from ..ops.sparse.pattern import FORMATS, layout_of
from ..staging.functions import home_of, is_dispatcher, is_users
from ..tensor import Boxed
from .asked import asked_of, goes_on_unbound, goes_on_without, may_appear
from .insides import children, elements, numbers, shape_facts
from .members import bound, foreign, named_in, names_found, with_methods, wrapped_by
from .named_of_classes import DEEPEST, NamedOfClasses
from .names import (
    given_to,
    iterates,
    loaded,
    modules_of,
    not_loaded,
    texts_of,
    variables_of,
)
from .places import (
    ABSENT,
    ATTRIBUTE,
    BEHIND,
    BYTES,
    CODE,
    ENTRY,
    ITEM,
    KEYS,
    LAYOUT,
    LENGTH,
    NAMED,
    ORDER_OF_ATTRIBUTES,
    TABLE,
    TYPE,
    UNBOUND,
    Place,
    root,
)
from .reach import reads_itself

_SCALARS = (bool, int, float, complex, str, type(None), np.generic)
_LIMIT = 5000
_DYNAMIC = {"__dict__", "__getattribute__", "attrgetter", "getattr", "vars"}
"""Names in code which reads attributes that it does not name."""
_MOST_CODE = 300
"""Functions searched for the names of attributes; where there are more, every attribute counts."""
_MOST_ASKED = 20_000
"""Pairs of an object and an attribute that it may lack; where there are more, as in packages of
thousands of functions, what the user's own functions ask for counts."""
_LARGE = (TABLE, BYTES)
_RULES = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")
"""The methods of a Function that may be the user's."""
STATEFUL = (ModuleHolder, OptimizerHolder)
"""Arguments that are passed as they are, and whose arrays are read and written by reference."""


class Surroundings(NamedOfClasses):
    """The variables around a function: closure cells, globals that its code names, and what hangs
    on them.

    arrays      id(array) -> place, to find a captured array again at the next call
    facts       (place, value): Python scalars, functions, types and lengths while tracing
    """

    def __init__(self, function: Any, given: Sequence[tuple[Any, type, Any]] = ()) -> None:
        super().__init__()
        self.arrays: dict[int, Place] = {}
        self.not_loaded: set[str] = set()
        """What the functions import that is no module yet."""
        self._whole: set[Place | None] = set()
        """Dataclasses, as trees read field by field, and what library code reads."""
        self._seen: set[int] = set()
        self._at: dict[int, Place] = {}
        """Where objects were found first."""
        self._scanned: set[types.CodeType] = set()
        self._count = 0
        self._home = home_of(function)
        self._iterated = False
        """Whether code has loops or takes things apart, so that the order of dicts may count."""
        self._parts: set[int] = set()
        """Dicts of modules, by their ids."""
        self._function(function)
        for place, _, value in given:
            # A model among the arguments is read like one around the function.
            self._value(
                value,
                root(place if isinstance(place, str) else f"argument {place}", value),
                0,
                named_in(function),
            )
        self._named_anywhere()
        asked = self._asked
        if len(asked) * len(self._objects) > _MOST_ASKED:
            asked = self._asked_by_users
        self.facts += [
            (place.then(f".{name}", ABSENT[ATTRIBUTE], name), False)
            for x, place in (self._objects if asked else ())
            for name in sorted(asked - names_found(x))
        ]
        if not self._iterated:
            self.facts = [
                (Place(p.path, LENGTH, None, p.before), len(v)) if p.code == KEYS else (p, v)
                for p, v in self.facts
            ]
        if not self._mentioned & _DYNAMIC and len(self._scanned) < _MOST_CODE:
            # Arrays may be large, and are compared at each call.
            self.facts = [
                (p, value)
                for p, value in self.facts
                if not (isinstance(value, (np.ndarray, Boxed)) or p.code in _LARGE) or self._read(p)
            ]

    def _mention(self, function: Any) -> None:
        """Note the names that a function reads, and those that the functions read which it
        names."""
        code = getattr(function, "__code__", None)
        if code is None or code in self._scanned or len(self._scanned) >= _MOST_CODE:
            return
        self._scanned.add(code)
        self._iterated |= iterates(code)
        names = loaded(code)
        self._mentioned.update(names)
        for name in names & function.__globals__.keys():
            other = function.__globals__[name]
            if isinstance(other, types.FunctionType) and foreign(other.__module__):
                self._mention(other)

    def _read(self, place: Place | None) -> bool:
        """Whether the attributes on the way to a place are named by any code: the data set kept
        beside a model's weights is not."""
        while place is not None:
            if (
                place.code == ATTRIBUTE
                and place.key not in self._mentioned
                and place.before not in self._whole
            ):
                return False
            place = place.before
        return True

    def asked(self, boxes: Sequence[Any]) -> Iterator[tuple[Any, Place]]:
        """Of these boxes those that are found again, and where."""
        return ((x, self.arrays[id(x)]) for x in boxes if id(x) in self.arrays)

    def first(self, x: Any) -> Place | None:
        """Where code names an object first that is neither a number nor an array."""
        return self._at.get(id(x))

    def _function(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            owner = function.__self__
            self._value(owner, root("self", owner), 0, named_in(function.__func__))
            self._function(function.__func__)
            return
        if isinstance(function, functools.partial):
            self._function(function.func)
            given = (function.args, function.keywords)
            self._value(given, root("partial", given), 0, ())
            return
        if isinstance(function, RuleHolder):
            self._value(function, root(function.__name__, function), 0, ())
            return
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        wrapped = wrapped_by(function)
        if wrapped is not None and not isinstance(wrapped, ModuleHolder):
            self._function(wrapped)
        function = function.py_func if is_dispatcher(function) else function
        code = getattr(function, "__code__", None)
        if code is None:
            kind = type(function)
            if isinstance(function, STATEFUL) or (
                not isinstance(function, (type, types.BuiltinFunctionType, np.ufunc))
                and foreign(module_of(kind))
            ):
                if wrapped is None or isinstance(function, ModuleHolder):
                    self._seen.discard(id(function))
                self._value(function, root("self", function), 0, named_in(kind.__call__))
                self._function(kind.__call__)
            return
        names = named_in(function)
        self._mentioned.update(names)
        self._asked |= asked_of(function)
        if is_users(code, self._home):
            self._asked_by_users |= asked_of(function)
        if foreign(function.__globals__.get("__name__")):
            # Tools that load edited modules again put new code into functions that are there.
            self.facts.append((root("", function).then(function.__name__, CODE), code))
            self._iterated |= iterates(code)
            self._names.update(dict.fromkeys(names))
        if foreign(function.__module__):  # that of the user's, if a library's function wraps it
            for name, value in function.__dict__.items():
                if name[:1] != "_":
                    place = root(function.__name__, function).then(f".{name}", ENTRY, name)
                    self._value(value, place, 4, names)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                if goes_on_unbound(function):
                    self.facts.append((Place(name, UNBOUND, cell), True))
                continue
            self._value(value, Place(name, "{key}.cell_contents", cell), 0, names)
        for attribute in ("__defaults__", "__kwdefaults__"):
            if value := getattr(function, attribute):
                self._mentioned.add(attribute)
                place = root("", function).then("default", ATTRIBUTE, attribute)
                self._value(value, place, 0, names)
        space = function.__globals__
        if not foreign(space.get("__name__")):
            return
        texts = texts_of(function)
        asked = tuple(may_appear(function, texts))
        self._space(space, names, (*variables_of(code), *texts), asked)
        self._loads(function)
        for name, module in modules_of(function, names):
            if foreign(name):
                self._value(module, root(name, module), 0, names)

    def _loads(self, function: types.FunctionType) -> None:
        """What a function imports that is no module yet: it may go on where it does not become
        one."""
        missing = not_loaded(function)
        self.not_loaded |= missing
        modules = root("sys.modules", sys.modules)
        for name in sorted(missing) if goes_on_without(function) else ():
            parent = name.rpartition(".")[0]
            if not (parent in sys.modules and foreign(parent)):
                self.facts.append((modules.then(f"[{name!r}]", ABSENT[ITEM], name), False))

    def _space(
        self,
        space: dict[str, Any],
        names: tuple[str, ...],
        read: tuple[str, ...],
        asked: tuple[str, ...] = (),
    ) -> None:
        """The variables of a module that are read, or asked for, which may not be there, by code
        with these names."""
        variables = root("", space)
        for name in dict.fromkeys((*read, *asked)):
            if name in space:
                self._value(space[name], variables.then(name, ITEM, name), 0, names)
            elif name in asked and (id(space), name) not in self._members:
                self._members.add((id(space), name))
                self.facts.append((variables.then(name, ABSENT[ITEM], name), False))

    def _value(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        if type(value) in weakref.ProxyTypes:
            self.facts.append((place, value))
            with contextlib.suppress(ReferenceError):
                self._value(value.__repr__.__self__, place.then("", BEHIND), depth + 1, names)
            return
        if isinstance(value, _SCALARS) or lasting(value):
            self.facts.append((place, value))
            self._names.update(dict.fromkeys(given_to(value)))
            self._as_object(value, place, depth, names)
            return
        self._count += 1
        if self._count > _LIMIT:
            return
        if isinstance(value, (np.ndarray, Boxed)):
            self._array(value, place, depth, names)
        elif isinstance(value, Generator):
            # Its arrays change at each call, and the trace reads them as captures only.
            for name in ("key", "counter"):
                self.arrays[id(getattr(value, name))] = place.then(f".{name}", ATTRIBUTE, name)
        elif isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
            return  # whose states are compared (outside.py)
        elif isinstance(value, types.FunctionType):
            self._plain_function(value, place, names)
        elif bound(value):
            self._bound(value, place, depth, names)
        elif isinstance(value, RuleHolder):
            self.facts.append((place, value))
            for name in ("function", "forward", "backward", "rule"):
                if (rule := getattr(value, name, None)) is not None:
                    self.facts.append((place.then(f".{name}", ATTRIBUTE, name), rule))
                    self._function(rule)
        elif isinstance(value, type) and issubclass(value, Function):
            self.facts.append((place, value))
            for method in _RULES:
                self._function(getattr(value, method))
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            self.facts.append((place, value))
        elif isinstance(value, (types.ModuleType, type)):
            self._named_space(value, place, depth, names)
        elif id(value) in self._seen or depth > DEEPEST:
            if (first := self._at.get(id(value))) is not None and first is not place:
                # What is read of it is read there.
                self.facts.append((place.same(first), True))
        elif (
            isinstance(value, functools.partial)
            or wrapped_by(value) is not None
            or type(value).__name__ == "Jitted"
        ):
            self.facts.append((place, value))
            self._function(value)
        else:
            self._object(value, place, depth, names)

    def _as_object(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """What a number, text or array of one of the user's classes has besides its value."""
        if foreign(module_of(type(value))) and id(value) not in self._seen and depth <= DEEPEST:
            self._seen.add(id(value))
            self._attributes(value, place, depth, names)

    def _array(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        self.arrays[id(value)] = place
        self.facts.append((place, value))
        if not isinstance(value, Boxed):
            self._as_object(value, place, depth, names)
        for child, where in elements(value, place) if type(value) is np.ndarray else ():
            self._value(child, where, depth + 1, names)
        if not isinstance(value, Boxed):
            return
        if value._grad is not None:
            self.arrays[id(value._grad)] = place.then(".grad", ATTRIBUTE, "_grad")
        for hook in value._hooks.functions() if value._hooks is not None else ():
            self._function(hook)

    def _bound(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """A method of an object: that of another one may be there at a later call."""
        self._mentioned.add("__self__")
        if isinstance(value, types.MethodType):
            method = value.__func__
            names = named_in(method)
            self._value(method, place.then(".__func__", ATTRIBUTE, "__func__"), depth + 1, names)
        else:
            name = value.__name__
            self.facts.append((place.then(".__name__", ATTRIBUTE, "__name__"), name))
        owner = value.__self__
        self._value(owner, place.then(".__self__", ATTRIBUTE, "__self__"), depth + 1, names)

    def _plain_function(self, value: Any, place: Place, names: tuple[str, ...]) -> None:
        self.facts.append((place, value))
        if not foreign(getattr(value, "__module__", "")) and not isinstance(
            wrapped_by(value), ModuleHolder
        ):
            return
        self._function(value)
        self._objects.append((value, place))
        self._described(value, place, names)
        space = getattr(value, "__globals__", None)
        if "__globals__" in names and space is not None and id(space) not in self._seen:
            self._seen.add(id(space))
            self._space(space, names, names)

    def _object(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """A container, or an instance of a class: its type, its parts, and what of its class the
        code names."""
        self._seen.add(id(value))
        self._at[id(value)] = place
        self.facts.append((place.then("", TYPE), type(value)))
        held = (ModuleHolder, GroupHolder)
        self.facts += shape_facts(
            value, place, ordered=not isinstance(value, held) and id(value) not in self._parts
        )
        if dataclasses.is_dataclass(value) or reads_itself(value):
            self._whole.add(place)
        if is_sparse(value) and value.format in FORMATS:
            # The graph holds the places of entries; the data is read like any array.
            self._whole.add(place)
            self.facts.append((place.then("", LAYOUT), layout_of(value)))
            self._value(value.data, place.then(".data", ATTRIBUTE, "data"), depth, names)
            return
        if (table := table_of(value)) is not None:
            self.facts.append((place.then("", TABLE), table))
            return
        self._attributes(value, place, depth, names)

    def _attributes(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        """What an object holds, and what of its class the code names."""
        own = getattr(value, "__dict__", None)
        if self._mentioned & {"vars", "__dict__"} and isinstance(own, dict):
            self.facts.append((place.then("", ORDER_OF_ATTRIBUTES), [*vars(value)]))
        if "dir" in self._mentioned:
            self.facts.append((place.then("", NAMED), dir(value)))
        model = isinstance(value, ModuleHolder)
        users = foreign(module_of(type(value))) and module_of(type(value)) != "builtins"
        if model:
            names = (*names, "forward")
            # What a module keeps its parts in is not ordered anew.
            self._parts |= {id(x) for x in vars(value).values() if isinstance(x, dict)}
        if users or isinstance(own, dict):
            self._objects.append((value, place))
        if users:
            names = with_methods(type(value), names)
            self._users.append((value, place, set(names)))
        if all_at_once := [*numbers(value, place)]:
            self.facts += all_at_once
            if not users:
                return
        for child, where in children(value, place):
            # Modules hold modules in dicts, as deep as the model is: what they hold is no deeper
            # than they are.
            self._value(child, where, depth - 1 if model else depth + 1, names)
        if users:
            self._described(type(value), place.then("", TYPE), names)
            self._methods(type(value), place, names, own)
            self._mention_all(type(value))
