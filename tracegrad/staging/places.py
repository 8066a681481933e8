"""Where a program keeps its values: variables, boxed arrays, attributes and items of containers. A
branch or a body that becomes a graph reads and leaves them there."""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Sequence
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol

import numpy as np

from ..dtypes import module_of
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.of_sizes import of_sizes
from ..ops import convert
from ..tensor import Boxed
from ..weak import WEAK
from .lists import Grown
from .opaque import HELD, Opaque, opaque
from .read_only import Arrays, lock, unlock
from .tables import Tabled


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()
"""What stands for the value of a variable that does not exist."""
NUMBERS = (bool, int, float, complex)


def is_leaf(x: Any) -> bool:
    """Whether a graph can hold it."""
    return isinstance(x, (Boxed, np.ndarray, np.generic, *NUMBERS)) and not (
        isinstance(x, np.ndarray) and x.dtype.hasobject
    )


def traced(x: Any) -> bool:
    """Whether it is a value that nobody knows yet."""
    if not isinstance(x, Boxed):
        return False
    if x._base is not None:
        x._refresh()
    return type(x._data) is Var


def unknown(x: Any) -> bool:
    """Whether it is such a value, and does not follow from sizes alone."""
    return traced(x) and (bool(x.shape) or of_sizes(x._data) is None)


def followed(x: Any) -> bool:
    """Whether a plain array could not hold it: it is traced, or has a derivative."""
    return isinstance(x, Boxed) and (
        traced(x) or x.requires_grad or bool(x._tangents and STATE.levels)
    )


def any_in(values: Any, test: Any, depth: int = 3) -> bool:
    """Whether a test holds for a value, or for one in the tuples, lists and dicts."""
    if type(values) is Grown:
        values = values.contents()
    elif type(values) is Tabled:
        values = (values.box,)
    # What stands for a list of the user's while it is traced must not be read.
    if isinstance(values, tuple) or type(values) is list:
        return depth > 0 and any(any_in(v, test, depth - 1) for v in values)
    if type(values) is dict:
        return depth > 0 and any(any_in(v, test, depth - 1) for v in values.values())
    if type(values) is slice:
        return any_in((values.start, values.stop, values.step), test)
    return bool(test(values))


def fields(x: Any) -> dict[str, Any] | None:
    """The attributes of an object of the user's."""
    kind = type(x)
    if issubclass(kind, (type, FunctionType, ModuleType)) or module_of(kind).startswith(
        "tracegrad"
    ):
        return None
    found = getattr(x, "__dict__", None)
    return found if type(found) is dict else None


# --- places ---------------------------------------------------------------------------------------


class VariablePlace:
    """A variable of the user's function."""

    lasts = False

    def __init__(self, name: str, cell: CellType) -> None:
        self.name, self.cell = name, cell
        self.key: Any = id(cell)

    def get(self) -> Any:
        """Its value; MISSING where it has none."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def put(self, value: Any) -> None:
        """Bind it, or unbind it."""
        if value is not MISSING:
            self.cell.cell_contents = value
        elif self.get() is not MISSING:
            del self.cell.cell_contents


class AttributePlace:
    """An attribute of an object that was there before."""

    lasts = False

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.attribute = owner, name
        self.name = f"{type(owner).__name__}.{name}"
        self.key: Any = (id(owner), name)

    def get(self) -> Any:
        """Its value; MISSING where it has none."""
        return getattr(self.owner, self.attribute, MISSING)

    def put(self, value: Any) -> None:
        """Set it."""
        if value is not MISSING:
            setattr(self.owner, self.attribute, value)
        elif self.get() is not MISSING:
            delattr(self.owner, self.attribute)


class ItemPlace:
    """An item of a list or a dict that was there before."""

    lasts = False

    def __init__(self, owner: Any, index: Any) -> None:
        self.owner, self.index = owner, index
        self.name = f"{type(owner).__name__}[{index!r}]"
        self.key: Any = (id(owner), "item", index)

    def get(self) -> Any:
        """Its value; MISSING where it has none."""
        try:
            return self.owner[self.index]
        except (KeyError, IndexError):
            return MISSING

    def put(self, value: Any) -> None:
        """Set it."""
        if value is not MISSING:
            self.owner[self.index] = value
        elif self.get() is not MISSING:
            del self.owner[self.index]


class BoxPlace:
    """What a boxed array holds. While a graph of a branch or a body is made, the same box holds a
    variable of that, so that all names and views of it show it."""

    lasts = False

    def __init__(self, box: Boxed) -> None:
        self.box = box
        self.name = getattr(box._data, "name", "") or "an array"
        self.key: Any = id(box)

    def get(self) -> Any:
        """The value, in a box of its own."""
        return self.box._alias()

    def put(self, value: Any) -> None:
        """Write the whole array."""
        self.box._write(convert(value, self.box.dtype))

    def enter(self, value: Boxed) -> None:
        """Hold a variable of the innermost trace, until it is left."""
        box = self.box
        box._data = value._data
        box._adopt(value)
        box._version_counter[1] += 1

    def state(self) -> Any:
        """What the box is now."""
        return self.box._state()

    def restore(self, before: Any) -> None:
        """Be again what the box was."""
        self.box._restore(before)


class StagedPlace(Protocol):
    """What all places have."""

    name: str
    key: Any
    lasts: bool
    """Whether it matters what a branch left there that ended with an exception."""

    def get(self) -> Any:
        """The value; MISSING where there is none."""

    def put(self, value: Any) -> None:
        """Change it."""


def variables(functions: Sequence[Any], names: Sequence[str]) -> list[VariablePlace]:
    """The variables of these names that the functions share."""
    cells: dict[str, CellType] = {}
    for f in functions:
        if isinstance(f, FunctionType):
            cells.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return [VariablePlace(n, cells[n]) for n in names if n in cells]


def reachable(functions: Sequence[Any], grown: bool = False) -> list[Any]:
    """The containers and plain arrays that variables of these functions lead to; lists that grow,
    too, if they are asked for."""
    found: dict[int, Any] = {}
    stack = [
        c.cell_contents
        for f in functions
        if isinstance(f, FunctionType)
        for c in f.__closure__ or ()
        if _is_full(c)
    ]
    while stack and len(found) < 4096:
        x = stack.pop()
        if id(x) in found:
            continue
        if type(x) in (list, tuple) or (grown and type(x) is Grown):
            found[id(x)] = x
            items = list.__iter__(x) if isinstance(x, list) else iter(x)
            stack.extend(itertools.islice(items, 256))
        elif type(x) is dict:
            found[id(x)] = x
            stack.extend(list(x.values())[:256])
        elif type(x) in ATOMS or type(x) is Grown:
            continue
        elif isinstance(x, (set, np.ndarray, Boxed)):
            found[id(x)] = x
        elif type(x) is Tabled:
            stack.append(x.box)
        elif isinstance(x, dict):
            found[id(x)] = x
            stack.extend([*list(x.values())[:256], type(x)])
        elif isinstance(x, (FunctionType, MethodType, functools.partial)):
            found[id(x)] = x
            stack.extend(_parts_of(x))
        elif (inner := fields(x)) is not None:
            found[id(x)] = x
            stack += [inner, type(x)]
        else:
            found[id(x)] = x
            if hasattr(type(x), "__next__"):
                stack += [y for y in gc.get_referents(x) if not isinstance(y, UNENTERED)]
            elif isinstance(x, HELD):
                stack += [*list(x)[:256], type(x)]
            elif not isinstance(x, type):
                stack.append(type(x))
    return list(found.values())


ATOMS = frozenset((*NUMBERS, str, bytes, range, slice, type(None), np.bool_, np.float64, np.int64))
"""What changes nothing and leads to nothing."""
UNENTERED = (type, ModuleType, FrameType)


def _parts_of(x: Any) -> list[Any]:
    """What a function has around it."""
    if isinstance(x, MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    return [c.cell_contents for c in x.__closure__ or () if _is_full(c)]


def _is_full(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


class Around:
    """The lists, dicts, sets and plain arrays around a body, which must not change while it is
    made a graph: it would happen once, and not at each pass."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self.kept: list[tuple[Any, Any]] = []
        self.cells: list[tuple[CellType, Any, str]] = []
        self.opaque: list[Opaque] = []
        """Whose state cannot be put back."""
        arrays: Arrays = []
        for x in reachable(functions):
            if type(x) in (list, set):
                self.kept.append((x, list(x)))
            elif isinstance(x, dict):
                self.kept.append((x, dict(x)))
            elif isinstance(x, FunctionType):
                for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
                    if _is_full(cell):
                        self.cells.append((cell, cell.cell_contents, name))
            elif isinstance(x, np.ndarray):
                arrays.append(x)
            elif (found := opaque(x)) is not None:
                self.opaque.append(found)
        self.locked, writable = lock(arrays)
        self.copies = [(x, x.copy()) for x in writable]

    def close(self, carried: set[Any]) -> str:
        """Put everything back; what was changed, in words, but for the places that are carried."""
        unlock(self.locked)
        changed = ""
        for array, was in self.copies:
            if array.tobytes() != was.tobytes():
                array[...], changed = was, "an array"
        for cell, was, name in self.cells:
            if id(cell) not in carried and (not _is_full(cell) or cell.cell_contents is not was):
                cell.cell_contents, changed = was, f"the variable {name!r} of another function"
        for x, before in self.kept:
            now = list(x) if isinstance(x, (list, set)) else dict(x)
            if _same(now, before):
                continue
            changed = changed or f"a {type(x).__name__}"
            x.clear()
            x.extend(before) if isinstance(x, list) else x.update(before)
        return changed

    def for_good(self) -> str:
        """What was changed that cannot be put back, in words."""
        return next((x.name for x in self.opaque if x.changed()), "")


def _same(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return all(k in b and b[k] is v for k, v in a.items())
    return all(x is y for x, y in zip(a, b, strict=True))


__all__ = [
    "MISSING", "NUMBERS", "WEAK", "Around", "AttributePlace", "BoxPlace", "ItemPlace",
    "StagedPlace", "VariablePlace", "any_in", "fields", "followed", "is_leaf", "reachable",
    "traced", "unknown",
    "variables",
]  # fmt: skip
