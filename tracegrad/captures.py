"""What a function reads without being given it: arrays by reference, and scalars and functions that the trace relied on."""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ir.graph import Graph
from .ops.random import Generator
from .runtime.execute import Executable
from .tensor import Boxed
from .transforms.tracing import Traced, leaf_type

Reader = Callable[[], Any]
Fact = tuple[str, Reader, Any]
_SCALARS = (bool, int, float, complex, str, type(None), np.generic)
_LIMIT = 5000
_LIBRARIES = ("numpy", "scipy", "tracegrad")


@dataclass(eq=False)
class Entry:
    """One traced signature: its graph, what it captured, and what must still be true of the surroundings."""

    traced: Traced
    graph: Graph
    readers: list[tuple[str, Callable[[], Any] | None]]
    """Per capture its path and how to read it again (None: found nowhere, the object itself is kept)."""
    facts: list[tuple[str, Callable[[], Any], Any]]
    pattern: tuple[tuple[Any, ...], ...]
    again: Callable[[], Entry]
    """Trace the same signature once more."""
    contents: dict[int, bytes] | None = None
    """Captured ndarrays as they were: NumPy may have computed with them while tracing, and the results are constants of the graph."""
    views: bool = False
    """Whether a constant is a view of one of them."""
    executable: Executable | None = None

    def holds(self) -> bool:
        """Whether the scalars and functions around the traced function are what they were."""
        return all(unchanged(read, value) for _, read, value in self.facts)

    def captured(self) -> list[Any] | None:
        """The captured values as they are now; None where one changed its type."""
        values = []
        for (_, read), old in zip(self.readers, self.traced.captures, strict=True):
            new = old if read is None else read()
            if new is not old:
                if type(new) is not type(old) or leaf_type(new) != leaf_type(old):
                    return None
            values.append(new)
        return values

    def outdated(self, captured: Sequence[Any]) -> bool:
        """Whether captured arrays changed in a way that may change constants of the graph."""
        if self.views and any(x is not old for x, old in zip(captured, self.traced.captures, strict=True)):
            return True
        return self.contents is not None and any(content(captured[k]) != old for k, old in self.contents.items())

    def same_graph(self, other: Entry) -> bool:
        """Whether a second trace gave the same operations on the same constants."""

        def constants(entry: Entry) -> list[Any]:
            return [(x.dtype, content(x)) for (_, read), x in zip(entry.readers, entry.traced.captures, strict=True) if read is None]

        return str(self.graph) == str(other.graph) and constants(self) == constants(other)


def unchanged(read: Callable[[], Any], value: Any) -> bool:
    """Whether what is read around the function is what it was."""
    try:
        now = read()
    except (AttributeError, KeyError, IndexError, ValueError, TypeError):
        return False
    if isinstance(value, Content):
        return now is value.array and content(now) == value.bytes
    if now is value:
        return True
    # By their text, so that nan is nan and -0.0 is not 0.0.
    return (
        type(now) is type(value)
        and isinstance(now, (bool, int, float, complex, str, np.generic, frozenset))
        and (repr(now) == repr(value) if isinstance(now, (float, complex, np.generic)) else now == value)
    )


class Content:
    """An array that only NumPy read while tracing: the graph holds what was computed from these elements."""

    def __init__(self, array: Any) -> None:
        self.array, self.bytes = array, content(array)


class Surroundings:
    """The variables around a function: closure cells, globals that its code names, and what hangs on them.

    arrays      id(array) -> (path, reader), to find a captured array again at the next call
    facts       (path, reader, value): Python scalars, functions, types and lengths as they were while tracing
    """

    def __init__(self, function: Any) -> None:
        self.arrays: dict[int, tuple[str, Reader]] = {}
        self.facts: list[Fact] = []
        self._foreign_generators: list[Any] = []
        self._seen: set[int] = set()
        self._count = 0
        self._function(function)

    def drawn(self) -> list[str]:
        """The states of NumPy's generators that the function may draw from."""
        states = [g.bit_generator.state if isinstance(g, np.random.Generator) else g.get_state() for g in self._foreign_generators]
        return [repr(state) for state in [*states, np.random.get_state()]]  # noqa: NPY002

    def _function(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            owner = function.__self__
            self._value(owner, "self", lambda: owner, 0, _names(function.__func__))
            self._function(function.__func__)
            return
        if isinstance(function, functools.partial):
            self._function(function.func)
            given = (function.args, function.keywords)
            self._value(given, "partial", lambda: given, 0, ())
            return
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if hasattr(function, "__wrapped__"):
            self._function(function.__wrapped__)
        code = getattr(function, "__code__", None)
        if code is None:
            if not isinstance(function, (type, types.BuiltinFunctionType, np.ufunc)) and _foreign(type(function).__module__):
                self._value(function, "self", lambda: function, 0, _names(type(function).__call__))
                self._function(type(function).__call__)
            return
        names = tuple(dict.fromkeys(_names(function)))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._value(value, name, lambda cell=cell: cell.cell_contents, 0, names)  # type: ignore[misc]
        for value in (function.__defaults__, function.__kwdefaults__):
            if value:
                self._value(value, "default", lambda value=value: value, 0, names)  # type: ignore[misc]
        space = function.__globals__
        if not _foreign(space.get("__name__")):
            return
        for name in dict.fromkeys(_globals(code)):
            if name in space:
                self._value(space[name], name, lambda space=space, name=name: space.get(name), 0, names)  # type: ignore[misc]

    def _value(self, value: Any, path: str, read: Reader, depth: int, names: tuple[str, ...]) -> None:
        self._count += 1
        if self._count > _LIMIT:
            return
        if isinstance(value, (np.ndarray, Boxed)):
            self.arrays[id(value)] = (path, read)
            self.facts.append((path, read, value))
        elif isinstance(value, _SCALARS):
            self.facts.append((path, read, value))
        elif isinstance(value, Generator):
            # Its arrays change at each call, and the trace reads them as captures only.
            for name in ("key", "counter"):
                self.arrays[id(getattr(value, name))] = (f"{path}.{name}", lambda name=name: getattr(read(), name))  # type: ignore[misc]
        elif isinstance(value, (np.random.Generator, np.random.RandomState)):
            self._foreign_generators.append(value)
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            if isinstance(value, types.FunctionType):
                self.facts.append((path, read, value))
            if _foreign(getattr(value, "__module__", "")):
                self._function(value)
        elif isinstance(value, (types.ModuleType, type)):
            owner = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            if _foreign(owner) and depth < 3 and owner != "builtins":
                for name in names:
                    if name in vars(value) and not isinstance(vars(value)[name], types.ModuleType):
                        self._value(vars(value)[name], f"{path}.{name}", lambda name=name: vars(read())[name], depth + 1, names)  # type: ignore[misc]
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc)) or id(value) in self._seen or depth > 4:
            return
        elif isinstance(value, functools.partial) or hasattr(value, "__wrapped__") or type(value).__name__ == "Jitted":
            self.facts.append((path, read, value))
            self._function(value)
        else:
            self._seen.add(id(value))
            self.facts.append((path, lambda: type(read()), type(value)))
            if isinstance(value, (list, tuple, dict)):
                self.facts.append((path, lambda: len(read()), len(value)))
            elif isinstance(value, (set, frozenset)) and len(value) < 100:
                self.facts.append((path, lambda: frozenset(read()), frozenset(value)))
            for name, child, reader in _children(value, read):
                self._value(child, path + name, reader, depth + 1, names)
            if _foreign(type(value).__module__) and type(value).__module__ != "builtins":
                self._methods(type(value), path, names)

    def _methods(self, cls: type, path: str, names: tuple[str, ...]) -> None:
        """Methods, properties and attributes of the class of an object that the code names."""
        for name in names:
            found = inspect.getattr_static(cls, name, None)
            if isinstance(found, property) and found.fget is not None:
                found = found.fget
            if isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            if isinstance(found, types.FunctionType) or type(found).__name__ == "Jitted":
                self._function(found)
            elif isinstance(found, (*_SCALARS, np.ndarray, Boxed)) and found is not None:
                self._value(found, f"{path}.{name}", lambda name=name: inspect.getattr_static(cls, name), 4, names)  # type: ignore[misc]


def content(x: Any) -> bytes | None:
    """The bytes of an array that is there now; None for a traced one."""
    data = x._data if isinstance(x, Boxed) else x
    return data.tobytes() if isinstance(data, np.ndarray) else None


def _foreign(module: Any) -> bool:
    """Whether a module is not one of the libraries', whose variables no traced function depends on."""
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


def _globals(code: types.CodeType) -> Iterator[str]:
    """The globals that a function and those inside it read: without attributes, or `x.mean` would seem to read a variable `mean`."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant)


def _children(value: Any, read: Reader) -> Iterator[tuple[str, Any, Reader]]:
    if isinstance(value, (list, tuple)):
        for k, child in enumerate(value):
            yield f"[{k}]", child, lambda k=k: read()[k]  # type: ignore[misc]
        return
    if isinstance(value, dict):
        for key, child in value.items():
            yield f"[{key!r}]", child, lambda key=key: read()[key]  # type: ignore[misc]
        return
    if isinstance(getattr(value, "__dict__", None), dict):
        for key, child in list(vars(value).items()):
            if not key.startswith("_jitted_"):
                yield f".{key}", child, lambda key=key: getattr(read(), key)  # type: ignore[misc]
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for key in (slots,) if isinstance(slots, str) else slots:
            if not key.startswith("__") and hasattr(value, key):
                yield f".{key}", getattr(value, key), lambda key=key: getattr(read(), key)  # type: ignore[misc]
