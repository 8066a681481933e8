"""The largest and the least element of what only a run knows the length of, and where they are."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from .._codegen import lowering
from ..ir.forms import python_if_none
from ..schedule.values import identity
from ..sizes import form as size_form
from ..sizes.owners import is_late
from ..tensor import Boxed
from .lengths import length_of
from .lists import Grown
from .places import MISSING, is_leaf

EXTREMES: dict[Any, bool] = {
    builtins.max: True, builtins.min: False, np.max: True, np.min: False, np.amax: True,
    np.amin: False,
}  # fmt: skip
"""Functions that give the largest, or the least, of a list."""
POSITIONS = {np.argmax: True, np.argmin: False}
BUILTINS = (builtins.max, builtins.min)
EMPTY = ("min() iterable argument is empty", "max() iterable argument is empty")
METHODS = {"max": True, "min": False, "argmax": True, "argmin": False}
Check = Callable[[Any, Callable[[], BaseException]], None]
Found = Callable[[Any, bool], Any]


def extreme_of(function: Any, args: Any, kwargs: Any, check: Check) -> Any:
    """What a call gives that asks for the largest or the least; None where it asks for something
    else, or of what the trace knows the length."""
    default = kwargs.get("default", MISSING)
    if kwargs and (len(kwargs) > 1 or function not in BUILTINS or not _is_number(default)):
        return None
    found: Found = _found
    if isinstance(owner := getattr(function, "__self__", None), Boxed):
        largest, args = METHODS.get(function.__name__), (owner, *args)
        if function.__name__ in ("argmax", "argmin"):
            found = _place
    elif not _hashable(function):
        return None
    elif function is np.ptp:
        largest, found = True, _range
    elif function in POSITIONS:
        largest, found = POSITIONS[function], _place
    else:
        largest = EXTREMES.get(function)
        if function in BUILTINS:
            found = _by_python
    if largest is None or len(args) != 1:
        return None
    if type(args[0]) is Grown:
        return _of_list(args[0], largest, found, check, default)
    return (
        _of_array(args[0], largest, found, check, default) if isinstance(args[0], Boxed) else None
    )


def _is_number(x: Any) -> bool:
    """Whether it may stand where there is no largest: a traced value chooses between numbers."""
    return is_leaf(x) and not np.shape(x)


def _of_list(owner: Grown, largest: bool, found: Found, check: Check, default: Any) -> Any:
    if not owner.stacked or not owner.stacked.counted:
        return None
    x = owner.ready()
    assert x is not None
    if x.form is None or len(x.form.kinds) != 1 or x.form.kinds[0].shape or not x.arrays:
        return None
    (array,) = x.arrays
    if array.dtype.kind not in "iuf":
        return None
    some = ops.greater(x.count, 0)
    if default is MISSING:
        check(some, partial(ValueError, _of_none(found, largest)))
    there = ops.less(ops.arange(x.base + x.most), x.count)

    def filled(largest: bool) -> Any:
        """The rows, of which those that are not there are never chosen."""
        return ops.where(there, array, _start(array.dtype, largest))

    if found is _range:
        value = ops.sub(_found(filled(True), True), _found(filled(False), False))
    else:
        value = found(filled(largest), largest)
    if default is not MISSING:
        value = python_if_none(ops.where(some, value, default), x.count, default)
    return x.as_items(value) if found is _by_python else value


def _of_array(x: Boxed, largest: bool, found: Found, check: Check, default: Any) -> Any:
    if found is _by_python and x.ndim != 1:
        return None
    if x.dtype.kind not in "iuf" or not any(is_late(size_form(n)) for n in x.shape):
        return None
    flat = ops.reshape(x, -1)
    some = ops.greater(length_of(flat), 0)
    if default is not MISSING:
        value = ops.where(some, found(flat, largest), default)
        return python_if_none(value, length_of(flat), default)
    check(some, partial(ValueError, _of_none(found, largest)))
    return found(flat, largest)


def _of_none(found: Found, largest: bool) -> str:
    """What Python or NumPy says of no elements."""
    if found is _by_python:
        return EMPTY[largest]
    if found is _place:
        return f"attempt to get arg{'max' if largest else 'min'} of an empty sequence"
    what = "maximum" if largest else "minimum"
    return f"zero-size array to reduction operation {what} which has no identity"


def _by_python(x: Any, largest: bool) -> Any:
    """Python's own takes what compares as larger, and so passes NaNs but a first one."""
    if x.dtype.kind != "f":
        return _found(x, largest)
    start = _start(x.dtype, largest)
    # The check speaks first, not an index into nothing.
    first = ops.take(ops.concatenate([x, ops.reshape(start, 1)], 0), 0)
    others = ops.where(ops.isnan(x), start, x)
    return ops.where(ops.isnan(first), first, _found(others, largest))


def _place(x: Any, largest: bool) -> Any:
    """Of the first one; behind the last element stands one more, so that there is one."""
    more = ops.concatenate([x, ops.reshape(_start(x.dtype, largest), 1)], 0)
    return (ops.argmax if largest else ops.argmin)(more)


def _range(x: Any, _largest: bool) -> Any:
    return ops.sub(_found(x, True), _found(x, False))


def _found(x: Any, largest: bool) -> Any:
    return (ops.max if largest else ops.min)(x, initial=_start(x.dtype, largest))


def _start(dtype: np.dtype[Any], largest: bool) -> Any:
    """What no element lies behind."""
    rule = lowering.Reduce("max", "lowest") if largest else lowering.Reduce("min", "highest")
    return np.array(identity(rule, dtype), dtype)


def _hashable(x: Any) -> bool:
    return getattr(type(x), "__hash__", None) is not None


__all__ = ["extreme_of"]
