"""What a function can reach of Python's state: all that is found from its variables, with what it
held before the function ran.

A walk over objects by identity, without a limit of depth. Functions of the user are entered through
their closures, defaults and the globals that their code names, objects through their attributes and
the methods of their classes, containers through what they hold. What belongs to Python's own
library, NumPy, SciPy and this library is not entered, but for modules, optimizers and containers.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import random
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import module_of
from ..holders import ModuleHolder, OptimizerHolder, RuleHolder, ScheduleHolder
from ..ir.contents import SMALL
from ..staging.opaque import standing
from ..tensor import Boxed
from .insides import OF_C
from .names import modules_of, names_of
from .places import ATTRIBUTE, CELL, ENTRY, ITEM
from .variables import (
    Contents,
    Reached,
    Variables,
    attributes,
    cell_of,
    class_attributes,
    copied,
    dict_of,
    named,
    slots_of,
    slotted,
)

_ATOMS = frozenset(
    (
        int,
        float,
        bool,
        complex,
        str,
        bytes,
        range,
        slice,
        type(None),
        type(...),
        np.dtype,
        types.CodeType,
        np.ufunc,
        np.bool_,
    )
)
_FRAMEWORKS = (
    "numpy",
    "scipy",
    "tracegrad",
    "numba",
    "llvmlite",
    "optree",
    "torch",
    "jax",
    "pandas",
    "matplotlib",
)
_TOOLS = ("pytest", "_pytest", "IPython", "ipykernel", "pluggy", "coverage", "hypothesis")
_LIBRARIES = frozenset(sys.stdlib_module_names) | {*_FRAMEWORKS, *_TOOLS, "builtins"}
_CLOSED = frozenset(
    (
        "logging",
        "threading",
        "_thread",
        "asyncio",
        "concurrent",
        "multiprocessing",
        "unittest",
        "io",
        "_io",
        "re",
        "importlib",
        "warnings",
    )
)
"""Modules whose objects change by themselves, or hold nothing that a function computes with."""


def library(module: Any) -> bool:
    """Whether a module belongs to a library, whose variables are no state of the user's program."""
    return isinstance(module, str) and module.split(".")[0] in _LIBRARIES


def reads_itself(value: Any) -> bool:
    """Whether an object is of NumPy or SciPy, whose code reads attributes of it that no code of the
    user's names."""
    return module_of(type(value)).partition(".")[0] in ("numpy", "scipy")


class Reach:
    """The walk. `variables` and `contents` are what the function may change, `codes` the code that
    it may run."""

    def __init__(self, function: Any, given: Sequence[tuple[Any, type, Any]] = ()) -> None:
        self.seen: dict[int, Any] = {}
        """By their ids the objects that were there before; holding them keeps the ids theirs."""
        self.found: dict[int, Reached] = {}
        """By their ids the arrays and Tensors."""
        self.variables: list[Variables] = []
        self.contents: list[Contents] = []
        self.arrays: list[Reached] = []
        self.codes: dict[types.CodeType, None] = {}
        self.generators: list[Reached] = []
        """Where random numbers may come from; their states are compared (outside.py)."""
        self.mentioned: set[str] = set()
        """The names in that code."""
        self._modules: list[tuple[Reached, set[str]]] = []
        self._todo: list[Reached] = [
            Reached(value, None, str(place) if isinstance(place, str) else f"argument {place}")
            for place, _, value in given
        ]
        self._todo.append(
            Reached(
                function,
                None,
                function.__name__ if isinstance(function, types.FunctionType) else "self",
            )
        )
        while self._todo:
            while self._todo:
                self._visit(self._todo.pop())
            for node, taken in self._modules:
                if names := self.mentioned - taken:
                    taken |= names
                    self._variables(node, ENTRY, named(vars(node.value), tuple(names)))

    def holding(self, node: Reached) -> tuple[Variables, Any] | None:
        """The variable that an object was found in; None where that cannot be bound anew."""
        for v in self.variables:
            if v.code == node.code and (
                v.node.value is node.key if v.code == CELL else v.node is node.before
            ):
                return v, "" if v.code == CELL else node.key
        return None

    def names(self, module: types.ModuleType) -> bool:
        """Whether the code that may run names a module: what it makes may be changed by other
        threads meanwhile."""
        return (
            id(module) in self.seen
            or id(getattr(module, "_inst", None)) in self.seen
            or module.__name__ in self.mentioned
        )

    def _push(self, node: Reached) -> None:
        if type(node.value) not in _ATOMS:
            self._todo.append(node)

    def _variables(self, node: Reached, code: str, read: Callable[[], Mapping[Any, Any]]) -> None:
        found = Variables(node, code, read)
        self.variables.append(found)
        for key, value in found.before.items():
            if type(value) not in _ATOMS:
                self._todo.append(found.child(key, value))

    def _visit(self, node: Reached) -> None:
        value = node.value
        kind = type(value)
        if kind in _ATOMS or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        visit = self._KINDS.get(kind)
        if visit is not None:
            visit(self, node)
        elif isinstance(value, Boxed):
            self.found[id(value)] = node
            for hook in value._hooks.functions() if value._hooks is not None else ():
                self._push(Reached(hook, None, getattr(hook, "__name__", "hook")))
        elif isinstance(value, np.ndarray):
            self._array(node)
        elif isinstance(value, type):
            self._class(node)
        elif kind.__name__ == "Jitted" and library(module_of(kind)):
            self._jitted(node)
        else:
            self._object(node)

    # --- code -------------------------------------------------------------------------------------

    def _function(self, node: Reached) -> None:
        function = node.value
        module = function.__globals__.get("__name__")
        code = function.__code__
        wrapped = function.__dict__.get("__wrapped__")
        if wrapped is not None:
            self._push(node.then(wrapped, "", ATTRIBUTE, "__wrapped__"))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self.seen:
                self.seen[id(cell)] = cell
                self._variables(Reached(cell, None, name), CELL, cell_of(cell))
        if library(module):
            return
        self._code(code)
        for defaults in (function.__defaults__, function.__kwdefaults__):
            if defaults:
                self._push(Reached(defaults, None, "default"))
        if function.__dict__:
            self._variables(node, ENTRY, copied(function.__dict__))
        names = names_of(function)
        self.mentioned.update(names)
        for name, imported in modules_of(function, names):
            if not library(name):
                self._push(Reached(imported, None, name))
        self._variables(
            Reached(function.__globals__, None, ""), ITEM, named(function.__globals__, names)
        )

    def _code(self, code: types.CodeType) -> None:
        self.codes.setdefault(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)

    def _method(self, node: Reached) -> None:
        self._push(
            node.then(node.value.__self__, "", ATTRIBUTE, "__self__")
            if node.before
            else Reached(node.value.__self__, None, "self")
        )
        self._push(node.then(node.value.__func__, "", ATTRIBUTE, "__func__"))

    def _builtin(self, node: Reached) -> None:
        owner = getattr(node.value, "__self__", None)
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            self._push(node.then(owner, "", ATTRIBUTE, "__self__"))

    def _partial(self, node: Reached) -> None:
        for name in ("func", "args", "keywords"):
            self._push(node.then(getattr(node.value, name), "", ATTRIBUTE, name))

    def _jitted(self, node: Reached) -> None:
        self._push(node.then(node.value.function, "", ATTRIBUTE, "function"))
        own = vars(node.value)
        hidden = _JITTED

        def read() -> dict[str, Any]:
            return {key: own[key] for key in own if key[0] != "_" and key not in hidden}

        self._variables(node, ENTRY, read)

    def _module(self, node: Reached) -> None:
        if not library(node.value.__name__):
            self._modules.append((node, set()))

    def _class(self, node: Reached) -> None:
        for cls in node.value.__mro__:
            if library(module_of(cls)) or (cls is not node.value and id(cls) in self.seen):
                continue
            self.seen[id(cls)] = cls
            here = node if cls is node.value else Reached(cls, None, cls.__name__)
            for member in list(vars(cls).values()):
                for function in (
                    member,
                    *[
                        getattr(member, name, None)
                        for name in ("fget", "fset", "fdel", "func", "__func__", "function")
                    ],
                ):
                    if isinstance(function, types.FunctionType):
                        self._todo.append(Reached(function, None, function.__name__))
            self._variables(here, ATTRIBUTE, class_attributes(cls))

    # --- objects ----------------------------------------------------------------------------------

    def _object(self, node: Reached) -> None:
        value = node.value
        kind = type(value)
        top = module_of(kind).split(".")[0]
        if top in _CLOSED and not isinstance(value, threading.local):
            return
        if top in _FRAMEWORKS and not isinstance(
            value, (ModuleHolder, OptimizerHolder, ScheduleHolder, RuleHolder, dict)
        ):
            if top == "numpy":
                self.generators.append(node)
            return
        if isinstance(value, random.Random):
            self.generators.append(node)
            return
        if isinstance(value, dict):
            self._variables(node, ITEM, copied(value))
        elif isinstance(value, (list, collections.deque)):
            self._elements(node)
        elif isinstance(value, (set, frozenset)):
            self._set(node)
        elif isinstance(value, tuple):
            self._tuple(node)
        elif isinstance(value, bytearray) or kind.__name__ == "array":
            self.contents.append(
                Contents(
                    node,
                    "changes the elements of",
                    lambda: value[:],
                    lambda before: value.__setitem__(slice(None), before),
                )
            )
        elif isinstance(value, OF_C):
            self._of_c(node)
        if not library(module_of(kind)):
            self._push(node.then(kind, "", "type({it})", None))
        own = dict_of(value)
        if own is not None:
            hidden = (
                "state"
                if isinstance(value, OptimizerHolder) and library(type(value).step.__module__)
                else None
            )
            self._variables(node, ENTRY, attributes(own, hidden))
        slots = [n for c in kind.__mro__ if not library(module_of(c)) for n in slots_of(c)]
        if slots:
            self._variables(node, ATTRIBUTE, slotted(value, tuple(slots)))
        if own is None and not slots and hasattr(kind, "__next__"):
            self._iterator(node)

    def _of_c(self, node: Reached) -> None:
        value: Any = node.value

        def reset(before: bytes) -> None:
            ctypes.memmove(ctypes.byref(value), before, len(before))

        self.contents.append(Contents(node, "changes", lambda: bytes(value), reset))
        if isinstance(value, ctypes._Pointer) and value:
            self._push(Reached(value.contents, None, f"{node.path}.contents"))

    def _iterator(self, node: Reached) -> None:
        value = node.value
        self.contents.append(Contents(node, "advances", standing(value), None))
        for k, child in enumerate(gc.get_referents(value)):
            if not isinstance(child, (type, types.ModuleType, types.FrameType)):
                self._push(Reached(child, None, f"{node.path} ({k})"))

    def _dict(self, node: Reached) -> None:
        self._variables(node, ITEM, copied(node.value))

    def _elements(self, node: Reached) -> None:
        value = node.value

        def reset(before: list[Any]) -> None:
            value.clear()
            value.extend(before)

        self.contents.append(Contents(node, "changes the length of", lambda: list(value), reset))
        if isinstance(value, list):
            self._variables(node, ITEM, lambda: dict(enumerate(value)))
        else:
            for k, child in enumerate(value):
                self._push(node.then(child, f"[{k}]", ITEM, k))

    def _set(self, node: Reached) -> None:
        value = node.value
        if type(value) is not frozenset:

            def reset(before: frozenset[Any]) -> None:
                value.clear()
                value.update(before)

            self.contents.append(Contents(node, "changes", lambda: frozenset(value), reset))
        for child in value:
            self._push(Reached(child, None, node.path))

    def _tuple(self, node: Reached) -> None:
        for k, child in enumerate(node.value):
            self._push(node.then(child, f"[{k}]", ITEM, k))

    def _array(self, node: Reached) -> None:
        value = node.value
        self.found[id(value)] = node
        if value.dtype.hasobject:
            for k, child in enumerate(value.ravel().tolist()):
                self._push(Reached(child, None, f"{node.path}[{k}]"))
        elif value.flags.writeable:
            if value.nbytes <= SMALL:  # larger ones are locked while the function runs

                def reset(before: bytes) -> None:
                    value[...] = np.frombuffer(before, value.dtype).reshape(value.shape)

                self.contents.append(
                    Contents(node, "changes the elements of", value.tobytes, reset)
                )
            else:
                self.arrays.append(node)

    _KINDS: ClassVar[dict[type, Callable[[Reach, Reached], None]]] = {
        types.FunctionType: _function,
        types.MethodType: _method,
        types.BuiltinFunctionType: _builtin,
        functools.partial: _partial,
        types.ModuleType: _module,
        dict: _dict,
        list: _elements,
        tuple: _tuple,
        np.ndarray: _array,
    }


_JITTED = frozenset(("function", "checked", "static_argnames", "donated"))


__all__ = ["Reach", "library", "reads_itself"]
