"""What a function reads without being given it: arrays by reference, and scalars and functions that
the trace relied on."""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import random
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.function import Function
from ..custom.rules import Custom
from ..holders import GroupHolder, ModuleHolder, OptimizerHolder
from ..ir.graph import Graph
from ..ops.random import Generator
from ..runtime.execute import Executable
from ..tensor import Boxed
from ..transforms.tracing import Change, Standing, Traced, leaf_type, standing_of

Fact = tuple["Place", Any]
_SCALARS = (bool, int, float, complex, str, type(None), np.generic)
_NUMBERS = (int, float, complex, np.generic)
_LIMIT = 5000
_DEEPEST = 20
_DYNAMIC = {"__dict__", "__getattribute__", "attrgetter", "getattr", "vars"}
"""Names in code which reads attributes that it does not name."""
_MOST_CODE = 300
"""Functions searched for the names of attributes; where there are more, every attribute counts."""
_CONSTRUCTORS = frozenset(
    ("__init__", "__new__", "__post_init__", "__repr__", "__init_subclass__", "__class_getitem__")
)
_LIBRARIES = ("numpy", "scipy", "tracegrad")
STATEFUL = (ModuleHolder, OptimizerHolder)
"""Arguments that are passed as they are, and whose arrays are read and written by reference."""


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


ATTRIBUTE = "getattr({it}, {key})"
READERS: dict[str, Callable[[Any, Any], Any]] = {
    "{key}": lambda it, key: key,
    "{key}.cell_contents": lambda it, key: key.cell_contents,
    "{it}[{key}]": lambda it, key: it[key],
    "{it}.__dict__[{key}]": lambda it, key: it.__dict__[key],
    ATTRIBUTE: lambda it, key: getattr(it, key),
    "type({it})": lambda it, key: type(it),
    "len({it})": lambda it, key: len(it),
    "frozenset({it})": lambda it, key: frozenset(it),
    "{it}._grad is None": lambda it, key: it._grad is None,
}
"""The ways to read, as code for the callers that are compiled (compiled/callers.py) and as
functions."""


def root(path: str, value: Any) -> Place:
    """A place that is always the same object."""
    return Place(path, "{key}", value)


@dataclass(eq=False)
class Entry:
    """One traced signature: its graph, what it captured, and what must still be true of the
    surroundings."""

    traced: Traced
    graph: Graph
    places: list[Place | None]
    """Per capture where it is read again (None: found nowhere, the object itself is kept)."""
    facts: list[Fact]
    pattern: tuple[tuple[Any, ...], ...]
    again: Callable[[], Entry]
    """Trace the same signature once more."""
    contents: dict[int, bytes] = field(default_factory=dict)
    """Captured ndarrays as they were: NumPy may have computed with them while tracing, and the
    results shaped the graph."""
    views: bool = False
    """Whether a constant is a view of one of them."""
    harmless: dict[int, int] = field(default_factory=dict)
    """How often a change of such an array left the graph as it was; see `trust`."""
    executable: Executable | None = None
    mode: bool | None = None
    """The grad mode while tracing, which decides what happens to Tensors that the function makes;
    None where it does not matter."""
    given_up: tuple[int, ...] = ()
    """The leaves whose memory results may take."""
    standing: tuple[Standing, ...] = ()
    """Where the captured values stood on the tape."""
    changes: tuple[tuple[Change, Place | None], ...] = ()
    """What a call changes besides its arguments' elements, and where the changed boxes are
    found."""
    stored: tuple[Any, ...] = ()
    """What a call stores in Python's variables (`state.Stored`); the values are outputs behind the
    changes."""
    holder: list[Any] = field(default_factory=list)
    """Where what is stored finds the arguments of the call."""
    bounds: dict[int, int] = field(default_factory=dict)
    """Of captured Python integers up to what they may grow before the function is traced again."""

    def store(self, outs: Sequence[Any], given: Sequence[Any]) -> None:
        """Store in Python's variables what a call computed, whose arguments are `given` as (args,
        kwargs)."""
        self.holder[:] = given
        end = len(self.traced.history)
        results = iter(outs[end - sum(s.results for s in self.stored) : end])
        for stored in self.stored:
            stored.carry_out(results)
        self.holder.clear()

    def holds(self) -> bool:
        """Whether the scalars and functions around the traced function are what they were."""
        return all(unchanged(place, value) for place, value in self.facts)

    def captured(self) -> list[Any] | None:
        """The captured values as they are now; None where one is gone or changed its type."""
        values: list[Any] = []
        for place, old, standing in zip(
            self.places, self.traced.captures, self.standing, strict=True
        ):
            try:
                new = old if place is None else place()
            except UNREADABLE:
                return None
            if new is not old:
                # In an enclosing trace a traced number may stand for a number.
                kinds = type(new) is type(old) or (
                    isinstance(new, Boxed) and isinstance(old, _NUMBERS)
                )
                if not kinds or leaf_type(new) != leaf_type(old):
                    return None
                if (
                    len(values) in self.bounds
                    and isinstance(new, int)
                    and abs(new) > self.bounds[len(values)]
                ):
                    return None
            if isinstance(new, Boxed):
                now = standing_of(new)
                if now[:2] != standing[:2] or (self.traced.swept and now.hooks != standing.hooks):
                    return None
            values.append(new)
        return values

    def changed(self, leaves: Sequence[Any]) -> list[tuple[Change, Any]]:
        """What a call changes, and the boxes of now; a gradient that is written to is the box of
        now."""
        found = []
        for change, place in self.changes:
            box = (
                leaves[change.target]
                if isinstance(change.target, int)
                else change.target
                if place is None
                else place()
            )
            found.append((change, box._grad if change.what == "grad data" else box))
        return found

    def outdated(self, captured: Sequence[Any]) -> list[int]:
        """The captured arrays that changed in a way that may change the graph."""
        rebound = {
            k
            for k, (x, old) in enumerate(zip(captured, self.traced.captures, strict=True))
            if self.views and x is not old
        }
        return sorted(
            rebound | {k for k, old in self.contents.items() if content(captured[k]) != old}
        )

    def trust(self, changed: Sequence[int]) -> None:
        """Note that changed arrays gave the same graph: such an array is operand only, and is no
        longer compared.

        One change settles it for real numbers, as for the weights of a training loop; of integers
        and masks, which often decide sizes and positions, several changes may give the same graph
        by chance.
        """
        for k in changed:
            self.harmless[k] = self.harmless.get(k, 0) + 1
            if self.harmless[k] >= (1 if self.traced.captures[k].dtype.kind in "fc" else 4):
                self.contents.pop(k, None)

    def same_graph(self, other: Entry) -> bool:
        """Whether a second trace gave the same operations on the same constants."""

        def constants(entry: Entry) -> list[Any]:
            return [
                (x.dtype, content(x))
                for place, x in zip(entry.places, entry.traced.captures, strict=True)
                if place is None
            ]

        return str(self.graph) == str(other.graph) and constants(self) == constants(other)


def unchanged(place: Place, value: Any) -> bool:
    """Whether what is read around the function is what it was."""
    try:
        now = place()
    except UNREADABLE:
        return False
    if isinstance(value, Content):
        return now is value.array and content(now) == value.bytes
    return now is value or same(now, value)


UNREADABLE = (AttributeError, KeyError, IndexError, ValueError, TypeError)
"""What reading a variable that is gone may raise."""


def same(now: Any, value: Any) -> bool:
    """Whether another object is the same number, text or set."""
    # By their text, so that nan is nan and -0.0 is not 0.0.
    return (
        type(now) is type(value)
        and isinstance(now, (bool, int, float, complex, str, np.generic, frozenset))
        and (
            repr(now) == repr(value)
            if isinstance(now, (float, complex, np.generic))
            else now == value
        )
    )


class Content:
    """An array that only NumPy read while tracing: the graph holds what was computed from these
    elements."""

    def __init__(self, array: Any) -> None:
        self.array, self.bytes = array, content(array)


class Surroundings:
    """The variables around a function: closure cells, globals that its code names, and what hangs
    on them.

    arrays      id(array) -> place, to find a captured array again at the next call
    facts       (place, value): Python scalars, functions, types and lengths as they were while
                tracing
    """

    def __init__(self, function: Any, given: Sequence[tuple[Any, type, Any]] = ()) -> None:
        self.arrays: dict[int, Place] = {}
        self.facts: list[Fact] = []
        self._whole: set[Place | None] = set()
        """Dataclasses: as trees they are read field by field."""
        self._seen: set[int] = set()
        self._mentioned: set[str] = set()
        self._scanned: set[types.CodeType] = set()
        self._count = 0
        self._function(function)
        for place, _, value in given:
            # A model among the arguments is read like one around the function.
            self._value(
                value,
                root(place if isinstance(place, str) else f"argument {place}", value),
                0,
                _names(function),
            )
        if not self._mentioned & _DYNAMIC and len(self._scanned) < _MOST_CODE:
            # Arrays may be large, and are compared at each call.
            self.facts = [
                (p, value)
                for p, value in self.facts
                if not isinstance(value, (np.ndarray, Boxed)) or self._read(p)
            ]

    def _mention(self, function: Any) -> None:
        """Note the names that a function reads, and those that the functions read which it
        names."""
        code = getattr(function, "__code__", None)
        if code is None or code in self._scanned or len(self._scanned) >= _MOST_CODE:
            return
        self._scanned.add(code)
        names = _loaded(code)
        self._mentioned.update(names)
        for name in names & function.__globals__.keys():
            other = function.__globals__[name]
            if isinstance(other, types.FunctionType) and _foreign(other.__module__):
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

    def _function(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            owner = function.__self__
            self._value(owner, root("self", owner), 0, _names(function.__func__))
            self._function(function.__func__)
            return
        if isinstance(function, functools.partial):
            self._function(function.func)
            given = (function.args, function.keywords)
            self._value(given, root("partial", given), 0, ())
            return
        if isinstance(function, Custom):
            self._value(function, root(function.__name__, function), 0, ())
            return
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        wrapped = _wrapped(function)
        if wrapped is not None and not isinstance(wrapped, ModuleHolder):
            self._function(wrapped)
        code = getattr(function, "__code__", None)
        if code is None:
            kind = type(function)
            if isinstance(function, STATEFUL) or (
                not isinstance(function, (type, types.BuiltinFunctionType, np.ufunc))
                and _foreign(kind.__module__)
            ):
                if wrapped is None or isinstance(function, ModuleHolder):
                    self._seen.discard(id(function))
                self._value(function, root("self", function), 0, _names(kind.__call__))
                self._function(kind.__call__)
            return
        names = tuple(dict.fromkeys(_names(function)))
        self._mentioned.update(names)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._value(value, Place(name, "{key}.cell_contents", cell), 0, names)
        for value in (function.__defaults__, function.__kwdefaults__):
            if value:
                self._value(value, root("default", value), 0, names)
        space = function.__globals__
        if not _foreign(space.get("__name__")):
            return
        variables = root("", space)
        for name in dict.fromkeys(_globals(code)):
            if name in space:
                self._value(space[name], variables.then(name, "{it}[{key}]", name), 0, names)

    def _value(self, value: Any, place: Place, depth: int, names: tuple[str, ...]) -> None:
        self._count += 1
        if self._count > _LIMIT:
            return
        if isinstance(value, (np.ndarray, Boxed)):
            self.arrays[id(value)] = place
            self.facts.append((place, value))
            if isinstance(value, Boxed) and value._grad is not None:
                self.arrays[id(value._grad)] = place.then(".grad", ATTRIBUTE, "_grad")
            for hook in (
                value._hooks.functions()
                if isinstance(value, Boxed) and value._hooks is not None
                else ()
            ):
                self._function(hook)
        elif isinstance(value, _SCALARS):
            self.facts.append((place, value))
        elif isinstance(value, Generator):
            # Its arrays change at each call, and the trace reads them as captures only.
            for name in ("key", "counter"):
                self.arrays[id(getattr(value, name))] = place.then(f".{name}", ATTRIBUTE, name)
        elif isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
            return  # whose states are compared (outside.py)
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            if isinstance(value, types.FunctionType):
                self.facts.append((place, value))
            if _foreign(getattr(value, "__module__", "")) or isinstance(
                _wrapped(value), ModuleHolder
            ):
                self._function(value)
        elif isinstance(value, Custom):
            self.facts.append((place, value))
            for name in ("function", "forward", "backward", "rule"):
                if (rule := getattr(value, name, None)) is not None:
                    self.facts.append((place.then(f".{name}", ATTRIBUTE, name), rule))
                    self._function(rule)
        elif isinstance(value, type) and issubclass(value, Function):
            self.facts.append((place, value))
            for method in ("forward", "setup_context", "backward", "vjp", "jvp", "vmap"):
                self._function(getattr(value, method))
        elif isinstance(value, (types.ModuleType, type)):
            owner = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            if _foreign(owner) and depth < 3 and owner != "builtins":
                for name in names:
                    if name in vars(value) and not isinstance(vars(value)[name], types.ModuleType):
                        self._value(
                            vars(value)[name],
                            place.then(f".{name}", "{it}.__dict__[{key}]", name),
                            depth + 1,
                            names,
                        )
        elif (
            isinstance(value, (types.BuiltinFunctionType, np.ufunc))
            or id(value) in self._seen
            or depth > _DEEPEST
        ):
            return
        elif (
            isinstance(value, functools.partial)
            or _wrapped(value) is not None
            or type(value).__name__ == "Jitted"
        ):
            self.facts.append((place, value))
            self._function(value)
        else:
            self._seen.add(id(value))
            self.facts.append((place.then("", "type({it})"), type(value)))
            if isinstance(value, (list, tuple, dict)):
                self.facts.append((place.then("", "len({it})"), len(value)))
            elif isinstance(value, (set, frozenset)) and len(value) < 100:
                self.facts.append((place.then("", "frozenset({it})"), frozenset(value)))
            if dataclasses.is_dataclass(value):
                self._whole.add(place)
            model = isinstance(value, ModuleHolder)
            own = _foreign(type(value).__module__) and type(value).__module__ != "builtins"
            if model:
                names = (*names, "forward")
            if own:
                names = _with_methods(type(value), names)
            for child, where in _children(value, place):
                # Modules hold modules in dicts, as deep as the model is: what they hold is no
                # deeper than they are.
                self._value(child, where, depth - 1 if model else depth + 1, names)
            if own:
                self._methods(type(value), place, names, getattr(value, "__dict__", {}))
                for method in [
                    m
                    for c in type(value).__mro__
                    for m in vars(c).values()
                    if _foreign(c.__module__)
                ]:
                    for function in (
                        method,
                        getattr(method, "fget", None),
                        getattr(method, "function", None),
                    ):
                        self._mention(function)

    def _methods(
        self, cls: type, place: Place, names: tuple[str, ...], own: Mapping[str, Any]
    ) -> None:
        """Methods, properties and attributes of the class of an object that the code names; an
        attribute may be shadowed later on."""
        for name in names:
            found = inspect.getattr_static(cls, name, None)
            if isinstance(found, property) and found.fget is not None:
                found = found.fget
            if isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            if isinstance(found, types.FunctionType) or type(found).__name__ == "Jitted":
                self._function(found)
            elif (
                isinstance(found, (*_SCALARS, np.ndarray, Boxed))
                and found is not None
                and name not in own
            ):
                self._value(found, place.then(f".{name}", ATTRIBUTE, name), 4, names)


def _wrapped(x: Any) -> Any:
    """What a decorator was put around; asked of the object's own attributes, since some objects
    answer to any name."""
    return inspect.getattr_static(x, "__wrapped__", None)


def content(x: Any) -> bytes | None:
    """The bytes of an array that is there now; None for a traced one."""
    data = x._data if isinstance(x, Boxed) else x
    return data.tobytes() if isinstance(data, np.ndarray) else None


def _foreign(module: Any) -> bool:
    """Whether a module is not one of the libraries', whose variables no traced function depends
    on."""
    return (module or "").split(".")[0] not in _LIBRARIES


def _names(function: Any) -> tuple[str, ...]:
    """All names that the code of a function mentions, inner functions included."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    own = getattr(function, "__code__", None)
    return (*(_of_code(own) if own else ()), *(_of_code(code) if code and code is not own else ()))


def _of_code(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(constant)


@functools.lru_cache(maxsize=4096)
def _loaded(code: types.CodeType) -> frozenset[str]:
    """The names that code reads: unlike `_of_code` without those that it only stores, as
    constructors do."""
    own = {
        i.argval
        for i in dis.get_instructions(code)
        if i.opname.startswith("LOAD_") and isinstance(i.argval, str)
    }
    return frozenset(
        own.union(*[_loaded(c) for c in code.co_consts if isinstance(c, types.CodeType)])
    )


def _globals(code: types.CodeType) -> Iterator[str]:
    """The globals that a function and those inside it read: without attributes, or `x.mean` would
    seem to read a variable `mean`."""
    yield from (
        i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    )
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant)


def _with_methods(cls: type, names: tuple[str, ...]) -> tuple[str, ...]:
    """These names, those of methods that Python's syntax calls (`__call__`), and those in the
    methods that these name, and so on."""
    implied = [
        n
        for c in cls.__mro__
        if _foreign(c.__module__)
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
            if isinstance(function, types.FunctionType) and _foreign(function.__module__):
                new = [n for n in _names(function) if n not in found]
                found.update(dict.fromkeys(new))
                todo += new
    return tuple(found)


def _children(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    if isinstance(value, (list, tuple)):
        for k, child in enumerate(value):
            yield child, place.then(f"[{k}]", "{it}[{key}]", k)
        return
    if isinstance(value, GroupHolder):
        yield value.rate, place.then(".rate", ATTRIBUTE, "rate")
    if isinstance(value, dict):
        for key, child in (
            value.items() if not isinstance(value, GroupHolder) else value.surroundings()
        ):
            shown = repr(key) if isinstance(key, _SCALARS) else f"<{type(key).__name__}>"
            yield child, place.then(f"[{shown}]", "{it}[{key}]", key)
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
