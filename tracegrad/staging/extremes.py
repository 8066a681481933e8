"""The largest and the least element of what only a run knows the length of."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..sizes import form as size_form
from ..sizes.owners import is_late
from ..tensor import Boxed
from .lengths import length_of
from .lists import Grown

EXTREMES: dict[Any, bool] = {
    builtins.max: True, builtins.min: False, np.max: True, np.min: False, np.amax: True,
    np.amin: False,
}  # fmt: skip
"""Functions that give the largest, or the least, of a list."""
BUILTINS = (builtins.max, builtins.min)
EMPTY = ("min() iterable argument is empty", "max() iterable argument is empty")
METHODS = {"max": True, "min": False}
Check = Callable[[Any, Callable[[], BaseException]], None]
Found = Callable[[Any, bool], Any]


def extreme_of(function: Any, args: Any, kwargs: Any, check: Check) -> Any:
    """What a call gives that asks for the largest or the least; None where it asks for something
    else, or of what the trace knows the length."""
    if kwargs:
        return None
    if isinstance(owner := getattr(function, "__self__", None), Boxed):
        largest, args = METHODS.get(function.__name__), (owner, *args)
    else:
        largest = EXTREMES.get(function) if _hashable(function) else None
    if largest is None or len(args) != 1:
        return None
    found = _by_python if function in BUILTINS else _found
    if type(args[0]) is Grown:
        return _of_list(args[0], largest, found, check)
    return _of_array(args[0], largest, found, check) if isinstance(args[0], Boxed) else None


def _of_list(owner: Grown, largest: bool, found: Found, check: Check) -> Any:
    if not owner.stacked or not owner.stacked.counted:
        return None
    x = owner.ready()
    assert x is not None
    if x.form is None or len(x.form.kinds) != 1 or x.form.kinds[0].shape or not x.arrays:
        return None
    (array,) = x.arrays
    if array.dtype.kind not in "iuf":
        return None
    check(ops.greater(x.count, 0), partial(ValueError, EMPTY[largest]))
    there = ops.less(ops.arange(x.base + x.most), x.count)
    return found(ops.where(there, array, _start(array.dtype, largest)), largest)


def _of_array(x: Boxed, largest: bool, found: Found, check: Check) -> Any:
    if found is _by_python and x.ndim != 1:
        return None
    if x.dtype.kind not in "iuf" or not any(is_late(size_form(n)) for n in x.shape):
        return None
    flat = ops.reshape(x, -1)
    what = "maximum" if largest else "minimum"
    error = f"zero-size array to reduction operation {what} which has no identity"
    if found is _by_python:
        error = EMPTY[largest]
    check(ops.greater(length_of(flat), 0), partial(ValueError, error))
    return found(flat, largest)


def _by_python(x: Any, largest: bool) -> Any:
    """Python's own takes what compares as larger, and so passes NaNs but a first one."""
    if x.dtype.kind != "f":
        return _found(x, largest)
    start = _start(x.dtype, largest)
    # The check speaks first, not an index into nothing.
    first = ops.take(ops.concatenate([x, ops.reshape(start, 1)], 0), 0)
    others = ops.where(ops.isnan(x), start, x)
    return ops.where(ops.isnan(first), first, _found(others, largest))


def _found(x: Any, largest: bool) -> Any:
    return (ops.max if largest else ops.min)(x, initial=_start(x.dtype, largest))


def _start(dtype: np.dtype[Any], largest: bool) -> Any:
    """What no element lies behind."""
    if dtype.kind == "f":
        return np.array(-np.inf if largest else np.inf, dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.min if largest else limits.max, dtype)


def _hashable(x: Any) -> bool:
    return getattr(type(x), "__hash__", None) is not None


__all__ = ["extreme_of"]
