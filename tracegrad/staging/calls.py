"""Calls: of the user's functions by their rewritten versions, of Python's functions by operations
where traced values are given."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import operator
from abc import ABCMeta
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from .. import ops
from ..faces.numpy.writes import WRITES
from ..faces.operators import as_number
from ..ir.dispatch import STATE
from ..ir.forms import as_length
from ..sizes import Size
from ..tensor import Boxed
from .aliases import arrays_of, root_of
from .constructors import boxed, made, with_lists, with_rows
from .containers import of_container, with_lists_of_queues
from .extremes import BUILTINS, extreme_of
from .functions import is_dispatcher
from .holding import held_together
from .iterables import COUNTED, Backwards, by_number, counted, everywhere, numbered, side_by_side
from .kept_lists import plain_arguments, to_grown
from .lengths import length_of, sized_call
from .letters import Letter, place_in
from .lists import Grown
from .masks import by_mask
from .numba_objects import is_generalized
from .numpy_objects import is_mapping, mapped
from .of_numbers import OF_TRACED, rounds, total, weak, whole
from .orders import ordered
from .places import any_in, followed, unknown
from .regions import Refused, born, is_born
from .session import Session, current
from .tables import Tabled, length_of_table


def _extreme(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if set(kwargs) - {"key"} or not args:
        return NotImplemented
    values = list(args[0]) if len(args) == 1 else list(args)
    key = kwargs.get("key")
    keys = values if key is None else [key(v) for v in values]
    if any(getattr(v, "shape", ()) for v in (*values, *keys)):
        return NotImplemented
    same = key is None
    values = held_together(values)
    keys = values if same else held_together(keys)
    best, first = values[0], keys[0]
    for v, k in zip(values[1:], keys[1:], strict=True):
        better = k < first if name == "min" else k > first
        best, first = ops.where(better, v, best), ops.where(better, k, first)
    return as_number(best, *values)


def _truths(name: str, args: tuple[Any, ...]) -> Any:
    values = list(args[0])
    found: Any = name == "all"
    for v in values:
        truth = v if getattr(v, "dtype", None) == np.bool_ or isinstance(v, bool) else v != 0
        found = (ops.logical_and if name == "all" else ops.logical_or)(found, truth)
    return found


_OF_SIZES: dict[Any, Callable[[Any], Any]] = {
    builtins.int: lambda n: n,
    builtins.float: lambda n: n * 1.0,
}
"""Those that a size need not be pinned for."""
CHANGING = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update"),
        *("setdefault", "popitem", "add", "discard", "appendleft", "popleft"),
    )
)
"""Methods that change a list, dict, set or deque."""
OWN = frozenset(("fill", "sort", "partition", "put", "itemset", "resize"))
"""Methods that write into their own array."""


def called(function: Any) -> str:
    """A function's name as its caller writes it."""
    name = getattr(function, "__name__", type(function).__name__)
    numpy = isinstance(function, np.ufunc) or getattr(function, "__module__", None) == "numpy"
    return f"np.{name}" if numpy else name


def written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], str]:
    """The arrays that a call writes into besides its method's own, and how messages call it."""
    out = kwargs.get("out")
    if out is not None:
        return list(out) if isinstance(out, tuple) else [out], f"{called(function)}, out="
    if isinstance(function, np.ufunc) or is_generalized(function):
        return list(args[function.nin :]), f"{called(function)}, out="
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    ufunc = owner if name == "at" and isinstance(owner, np.ufunc) else None
    if ufunc is not None or (_hashable(function) and function in WRITES):
        whose = f"np.{ufunc.__name__}.at" if ufunc is not None else f"np.{name}"
        return list(args[:1]) or [x for k, x in kwargs.items() if k in ("a", "arr", "dst")], whose
    return [], ""


class CallHelpers:
    """The helper of calls."""

    line_of: Callable[[int], str]
    effect: Callable[[int, str], None]
    printed: Callable[..., None]
    collected: Callable[..., Any]
    fields_begun: Callable[..., None]
    code: Any

    def call(self, line: int, number: int, function: Any, *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)`."""
        session = current()
        if session is None:
            return function(*args, **kwargs)
        kind = type(function)
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        into, who = written(function, args, kwargs)
        if name in OWN and isinstance(owner, np.ndarray) and name != "fill":
            into, who = [owner], name
        for array in into:
            if isinstance(array, np.ndarray):
                self._plain(line, array, (args, kwargs), who)  # type: ignore[attr-defined]
        if session.merged:
            for x in arrays_of([*into, owner if name in OWN else None]):
                session.before_write(root_of(x), self.line_of(line))
        if isinstance(owner, np.ndarray) and name == "fill":
            self.set_item(line, args[0], owner, ...)  # type: ignore[attr-defined]
            return None
        found = of_container(self, line, number, function, args, kwargs, session)
        if found is not NotImplemented:
            return found
        args = with_lists_of_queues(function, args)
        if session.regions and name in CHANGING:
            # Of what stands for a list of the user's while it is traced, too.
            if type(owner) is Grown and name in ("append", "extend", "sort"):
                pass
            elif (isinstance(owner, (list, dict, set)) and not is_born(session, owner)) or (
                _stands_in(owner)
            ):
                container = "list" if isinstance(owner, list) else type(owner).__name__
                if isinstance(owner, list) and name in ("append", "extend", "pop", "insert"):
                    to_grown(owner)
                self.effect(line, f"{container}.{name}")
        check = functools.partial(self.check, line)  # type: ignore[attr-defined]
        if args and type(args[0]) is Letter:
            if function is builtins.ord:
                return args[0].code
            if name in ("index", "find") and isinstance(owner, str):
                return place_in(function, args[0], check)
            if function in (builtins.isinstance, builtins.type):
                args = ("?", *args[1:])
        if any(type(a) is Tabled for a in args):
            if function is builtins.len:
                return as_length(weak(length_of_table(args[0])))
            if function in (builtins.isinstance, builtins.type):
                args = ([], *args[1:])
            elif function is builtins.sorted and not args[0].nested:
                args = (list(args[0]), *args[1:])
            elif function in (*BUILTINS, builtins.sum) and len(args) == 1 and args[0].of_python:
                return weak(self.call(line, number, function, args[0].copied(), **kwargs))
            elif not (isinstance(function, FunctionType) and session.is_users(function.__code__)):
                if function not in (builtins.zip, builtins.enumerate, builtins.reversed):
                    args, kwargs = plain_arguments(function, args, kwargs)
        if (new := ordered(self, line, function, args, kwargs)) is not NotImplemented:
            return new[0]
        if any(type(a) is Grown for a in args):
            if (new := extreme_of(function, args, kwargs, check)) is not None:
                return new
            args, joined = with_rows(function, args, kwargs)
            if joined is not None:
                return joined
        for special in (sized_call, extreme_of):
            if (new := special(function, args, kwargs, check)) is not None:
                return new
        new = by_mask(function, args, kwargs)
        if new is not None:
            return new
        new = made(function, args, kwargs) if _hashable(function) else None
        if new is not None:
            return new
        if is_mapping(function):
            new = mapped(session, function, args, kwargs)
            if new is not None:
                return new
        args, kwargs = with_lists(function, args, kwargs)
        if kind in (FunctionType, MethodType, functools.partial) or is_dispatcher(function):
            found = self._users(session, function, args, kwargs)
        elif isinstance(function, type) and _is_plain(session, function):
            # So that the `__init__` of the user's is one of the functions that may be rewritten.
            found = object.__new__(function)
            born(session, found)
            session.version(MethodType(found.__init__.__func__, found))(*args, **kwargs)
        elif kind is type or kind is BuiltinMethodType or kind.__name__ in _KINDS:
            found = self._builtin(session, line, function, args, kwargs)
        else:
            found = self._users(session, function, args, kwargs)
        if isinstance(function, type) and dataclasses.is_dataclass(function) and STATE.traces:
            self.fields_begun(line, number, found)
        if session.regions and isinstance(function, type) and _is_maker(function):
            born(session, found)
        if type(found) is collections.deque:
            session.lists[id(found)] = found, (self.code, number)
        if type(found) is np.ndarray and _is_new(function, found, args):
            return self._own(session, number, found)
        return found

    def combined(self, line: int, number: int, name: str, *operands: Any) -> Any:
        """`a + b`, `-a` and the like, of which the function keeps the result."""
        found = getattr(operator, name)(*operands)
        session = current()
        if session is None or type(found) is not np.ndarray:
            return found
        if not all(isinstance(x, np.generic) or type(x) in _OF_ARRAYS for x in operands):
            return found
        return self._own(session, number, found)

    def _own(self, session: Session, number: int, array: np.ndarray[Any, Any]) -> Any:
        """An array that this function made at a place of its text: traced from its start where it
        is to hold traced values."""
        site = self.code, number
        if site in session.sites:
            return boxed(array)
        session.made_at(array, site)
        return array

    def _users(self, session: Session, function: Any, args: Any, kwargs: Any) -> Any:
        if getattr(function, "__module__", None) == "numba.misc.special" and (
            getattr(function, "__name__", "") == "prange"
        ):
            return counted(args)
        args, kwargs = _staged(session, args, kwargs)
        return session.version(function)(*args, **kwargs)

    def _builtin(self, session: Session, line: int, function: Any, args: Any, kwargs: Any) -> Any:
        if function is builtins.len and isinstance(args[0], Boxed) and args[0].ndim:
            # Python's own gives an integer, and so a graph for that size alone.
            return length_of(args[0])
        if function is builtins.range:
            return counted(args)
        if function is _PRANGE.get("prange"):
            return counted(args)
        if function is builtins.zip and not kwargs.keys() - {"strict"}:
            strict = bool(kwargs.get("strict"))
            return side_by_side(args, lambda: zip(*args, strict=strict), strict)
        if function is builtins.enumerate:
            start = kwargs.get("start", args[1] if len(args) > 1 else 0)
            return numbered(args[0], start, lambda: enumerate(args[0], start))
        if function is builtins.reversed:
            part = by_number(args[0])
            return reversed(args[0]) if part is None else Backwards(part)
        if function in (np.ndindex, np.ndenumerate) and not kwargs:
            places = everywhere(function, args)
            return function(*args) if places is None else places
        if function is builtins.print:
            return self.printed(line, args, kwargs)
        if function is builtins.setattr and len(args) == 3:
            self.set_attribute(line, args[2], args[0], args[1])  # type: ignore[attr-defined]
            return None
        if function is builtins.delattr and session.regions:
            self.effect(line, "delattr")
        if function is builtins.sum and type(args[0]) is Grown:
            return total(*args, **kwargs)
        if rounds(function, args, kwargs) and _open(args[0]):
            if function is not builtins.round or _is_one(args[0]):
                return whole(function, self, line, args[0])
        if len(args) == 1 and type(args[0]) is Size and function in _OF_SIZES and STATE.traces:
            return _OF_SIZES[function](args[0])
        try:
            replaced = OF_TRACED.get(function)
        except TypeError:
            replaced = None
        if replaced is not None and any_in(args, _open):
            return replaced(*args, **kwargs)
        if function in (builtins.min, builtins.max) and any_in(args, _open):
            found = _extreme(function.__name__, args, _staged(session, (), kwargs)[1])
            if found is not NotImplemented:
                return found
        if function in (builtins.any, builtins.all) and STATE.traces:
            values = list(args[0])
            if any_in(values, unknown):
                return _truths(function.__name__, (values,))
            return function(values)
        if args and isinstance(args[0], COUNTED) and function in (list, tuple):
            if isinstance(args[0].count, Boxed):
                return self.collected(line, args[0], lambda item: item)
            return function(list(args[0]))
        args, kwargs = _staged(session, args, kwargs)
        return function(*args, **kwargs)


def _staged(session: Session, args: Any, kwargs: Any) -> Any:
    """The arguments with functions of the user's in their versions, which libraries may call."""

    def version(x: Any) -> Any:
        if type(x) in _FUNCTIONS:
            return session.version(x)
        if type(x) in (list, tuple) and any(type(v) in _FUNCTIONS for v in x):
            return type(x)(map(version, x))
        return x

    return tuple(map(version, args)), {k: version(v) for k, v in kwargs.items()}


_FUNCTIONS = (FunctionType, MethodType, functools.partial)
_KINDS = frozenset(("ufunc", "_ArrayFunctionDispatcher", "method-wrapper"))
_PRANGE: dict[str, Any] = {}


def _is_one(x: Any) -> bool:
    """Whether `round` gives an integer: of one real number of NumPy's or Python's."""
    return bool(STATE.traces) and not (x.shape or x.boxes_everything) and x.dtype.kind != "c"


def _open(x: Any) -> bool:
    """Whether Python's own function of it would stop, or lose its derivative."""
    return followed(x) and (not STATE.traces or unknown(x))


def _stands_in(x: Any) -> bool:
    return str(vars(type(x)).get("__module__")).startswith("tracegrad.surroundings")


def _is_plain(session: Session, kind: Any) -> bool:
    """Whether making an object of a class is to call an `__init__` of the user's."""
    return (
        type(kind) in (type, ABCMeta)
        and kind.__new__ is object.__new__
        and not getattr(kind, "__abstractmethods__", None)
        and isinstance(kind.__init__, FunctionType)
        and session.is_users(kind.__init__.__code__)
    )


def _is_maker(kind: Any) -> bool:
    """Whether calling a class makes something new: its `__new__` is none of the user's."""
    return not isinstance(getattr(kind, "__new__", None), FunctionType)


def _hashable(f: Any) -> bool:
    return getattr(type(f), "__hash__", None) is not None


_OF_ARRAYS = (np.ndarray, bool, int, float, complex, list, tuple)
"""Operands of which an operator makes an array that nobody else holds."""


def _is_new(function: Any, found: Any, args: Any) -> bool:
    """Whether nobody else holds the memory, which some makers of NumPy's give as a view of it."""
    return (found.base is None or function is np.linspace) and not any(found is a for a in args)


__all__ = ["CallHelpers", "Refused"]
