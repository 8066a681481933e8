"""What a function reads without being given it: arrays by reference, and scalars and functions that the trace relied on."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .tensor import Boxed

Reader = Callable[[], Any]
_SCALARS = (bool, int, float, complex, str, type(None), np.generic)
_LIMIT = 5000


class Surroundings:
    """The variables around a function: closure cells, globals that its code names, and what hangs on them.

    arrays      id(array) -> (path, reader), to find a captured array again at the next call
    facts       (reader, value): Python scalars and functions as they were while tracing
    """

    def __init__(self, function: Any) -> None:
        self.arrays: dict[int, tuple[str, Reader]] = {}
        self.facts: list[tuple[str, Reader, Any]] = []
        self._seen: set[int] = set()
        self._count = 0
        self._function(function)

    def _function(self, function: Any) -> None:
        if isinstance(function, types.MethodType):
            self._value(function.__self__, "self", lambda: function.__self__, 0)
            function = function.__func__
        function = inspect.unwrap(function)
        code = getattr(function, "__code__", None)
        if code is None or id(function) in self._seen:
            return
        self._seen.add(id(function))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._value(value, name, lambda cell=cell: cell.cell_contents, 0)  # type: ignore[misc]
        space = function.__globals__
        for name in _names(code):
            if name in space:
                self._value(space[name], name, lambda space=space, name=name: space.get(name), 0)  # type: ignore[misc]

    def _value(self, value: Any, path: str, read: Reader, depth: int) -> None:
        self._count += 1
        if self._count > _LIMIT:
            return
        if isinstance(value, (np.ndarray, Boxed)):
            self.arrays[id(value)] = (path, read)
            self.facts.append((path, read, value))
        elif isinstance(value, _SCALARS):
            self.facts.append((path, read, value))
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            self.facts.append((path, read, value))
            if not (getattr(value, "__module__", "") or "").startswith(("numpy", "scipy", "tracegrad")):
                self._function(value)
        elif isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)) or id(value) in self._seen or depth > 4:
            return
        else:
            self._seen.add(id(value))
            inner = getattr(value, "function", None)
            if callable(inner) and type(value).__name__ == "Jitted":
                self._function(inner)
                return
            for name, child, reader in _children(value, read):
                self._value(child, path + name, reader, depth + 1)


def _names(code: types.CodeType) -> Iterator[str]:
    """The globals that a function and those inside it read; `co_names` would also list attributes, so that `x.mean` seemed to read `mean`."""
    yield from dict.fromkeys(i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _children(value: Any, read: Reader) -> Iterator[tuple[str, Any, Reader]]:
    if isinstance(value, (list, tuple)):
        for k, child in enumerate(value):
            yield f"[{k}]", child, lambda k=k: read()[k]  # type: ignore[misc]
    elif isinstance(value, dict):
        for key, child in value.items():
            yield f"[{key!r}]", child, lambda key=key: read()[key]  # type: ignore[misc]
    elif isinstance(getattr(value, "__dict__", None), dict):
        for key, child in list(vars(value).items()):
            yield f".{key}", child, lambda key=key: getattr(read(), key)  # type: ignore[misc]
