"""New arrays in a function that is traced: plain ones, until a traced value is written into them or
their elements and sizes are traced."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from .. import ops
from ..faces.lists import with_arrays
from ..faces.numpy import laying, results
from ..faces.traced_memory import note_choice
from ..ir.dispatch import STATE
from ..ops.arrays import tapers
from ..ops.define import of_list
from ..ops.elementwise.derived import convert_op, fitted
from ..sizes import SYMBOLIC
from ..tensor import Array, Boxed, inside
from .lists import Grown
from .places import any_in, followed

_OF_OPS = (
    "zeros", "ones", "empty", "eye", "identity", "arange", "linspace", "logspace",
    "indices", "tri",
)  # fmt: skip
_WINDOWS = ("hanning", "hamming", "blackman", "bartlett", "kaiser")


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    found = ops.full(shape, fill_value, dtype)
    number = isinstance(fill_value, SYMBOLIC) and not found.shape
    return results.own_memory(found if number else fill_value, found)


NEW: dict[Any, Callable[..., Any]] = {
    **{getattr(np, n): getattr(ops, n) for n in _OF_OPS},
    np.full: _full,
    **{getattr(np, n): getattr(tapers, n) for n in _WINDOWS},
    np.fft.fftfreq: ops.fft.fftfreq,
    np.fft.rfftfreq: ops.fft.rfftfreq,
}
"""NumPy's functions that make arrays of sizes and numbers, and the operations of that name."""


def stacked(values: Any, dtype: Any = None) -> Any:
    """`np.array(values)` of nested sequences in which traced values stand."""
    if not any_in(values, followed, 8):
        return np.array(values, dtype)
    if dtype is None:
        return of_list(values)
    target = np.dtype(dtype)
    return ops.convert(of_list(fitted(values, target, "array")), target)


def array(
    values: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    **options: Any,
) -> Any:
    """`np.array(values, dtype)`."""
    if isinstance(values, Boxed):
        found = _taken(values, dtype, copy, order)
    else:
        found = stacked(values, dtype)
    missing = ndmin - found.ndim
    return ops.expand_dims(found, tuple(range(missing))) if missing > 0 else found


def asarray(
    values: Any,
    dtype: Any = None,
    order: str | None = "K",
    *,
    copy: bool | None = None,
    **options: Any,
) -> Any:
    """`np.asarray(values, dtype)`."""
    if isinstance(values, Boxed):
        return _taken(values, dtype, copy, order)
    return stacked(values, dtype)


def in_c_order(a: Any, dtype: Any = None, **options: Any) -> Any:
    """`np.ascontiguousarray(a, dtype)`, which has at least one axis."""
    found = asarray(a, dtype, "C")
    return found if found.ndim else results.reshape(found, (1,))


def columns_first(a: Any, dtype: Any = None, **options: Any) -> Any:
    """`np.asfortranarray(a, dtype)`, which has at least one axis."""
    found = asarray(a, dtype, "F")
    return found if found.ndim else results.reshape(found, (1,))


def _taken(values: Any, dtype: Any, copy: bool | None, order: str | None) -> Any:
    """A traced array in this dtype and order: a copy, itself where `copy` is not asked for, or, for
    a copy that is forbidden, an error if it takes one."""
    target = values.dtype if dtype is None else np.dtype(dtype)
    turned = order in ("C", "F") and values.ndim > 0 and not laying.lies(values, order)
    if copy is False and (target != values.dtype or turned):
        raise ValueError(
            f"Unable to avoid copy while creating an array of {target} of one of {values.dtype}"
            f"{f' in order {order}' if turned else ''}. Leave copy=False out to have it copied."
        )
    # Of one of Python's numbers an array, which may wrap around as Python's do not.
    number = values.array_type.weak and target == values.dtype
    found = convert_op(values, dtype=target) if number else ops.convert(values, target)
    if turned or (copy and order in ("C", "F")):
        new = laying.copied(found, order)
        if not copy:
            note_choice(new, values)
        return new
    if order in ("C", "F") and values.ndim > 0:
        note_choice(found, values)
    return results.own_memory(values, found) if copy else found


def from_iterator(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """`np.fromiter(iter, dtype, count)`."""
    values = list(iter if count < 0 else islice(iter, count))
    if not any(map(followed, values)) or any(map(np.ndim, values)):
        return np.fromiter(values, dtype, count)
    if len(values) < count:
        raise ValueError(
            f"iterator too short: Expected {count} but iterator had only {len(values)} items."
        )
    return stacked(values, dtype)


OF_VALUES: dict[Any, Callable[..., Any]] = {
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asarray,
    np.ascontiguousarray: in_c_order,
    np.asfortranarray: columns_first,
}
"""NumPy's functions that make arrays of values."""


def made(function: Any, args: Any, kwargs: Any) -> Any:
    """A new array of traced sizes or values; None where plain NumPy makes it."""
    if function in OF_VALUES:
        if any_in(args, followed, 8):
            given = {k: v for k, v in kwargs.items() if k not in ("subok", "like")}
            return results.in_memory(OF_VALUES[function](*args, **given))
    elif function is np.fromiter:
        return from_iterator(*args, **kwargs)
    elif function in NEW and any_in((args, kwargs), _new_kind):
        return results.in_memory(NEW[function](*args, **_known(kwargs)))
    return None


def with_lists(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function of NumPy's, which looks for traced values among them and not in
    their lists: `np.sum([a, b])`."""
    if not isinstance(function, (np.ufunc, type(np.sum))):
        return args, kwargs
    return with_arrays(function, args, kwargs, lambda x: any_in(x, followed, 8))


def with_rows(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function of NumPy's with the arrays of lists that loops filled; and its
    result, if that follows from such an array."""
    if function not in OF_VALUES and not isinstance(function, (np.ufunc, type(np.sum))):
        return args, None
    if function in _JOINED and type(args[0]) is Grown:
        first = args[0].array()
        known = first is not None and not set(kwargs) - {"axis"}
        found = _JOINED[function](first, *args[1:], **kwargs) if known else None
        if found is not None:
            return args, array(found)
        return (args[0].written_out(), *args[1:]), None
    return tuple([_read(a) if type(a) is Grown else a for a in args]), None


def _read(x: Grown) -> Any:
    found = x.array()
    return x.written_out() if found is None else found


def _stack(x: Any, axis: int = 0) -> Any:
    return ops.moveaxis(x, 0, axis)


def _concatenate(x: Any, axis: int | None = 0) -> Any:
    if axis is None or x.ndim < 2:
        return ops.reshape(x, (-1,)) if x.ndim > 1 else None
    at = axis % (x.ndim - 1) if -x.ndim < axis < x.ndim - 1 else None
    if at is None:
        return None
    moved = ops.moveaxis(x, 0, at)
    shape = tuple(moved.shape)
    return ops.reshape(moved, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))


def _vstack(x: Any) -> Any:
    return x[:, None] if x.ndim == 1 else x if x.ndim == 2 else _concatenate(x)


def _hstack(x: Any) -> Any:
    return x if x.ndim == 1 else _concatenate(x, 0 if x.ndim == 2 else 1)


def _column_stack(x: Any) -> Any:
    return x[None, :] if x.ndim == 1 else x.T if x.ndim == 2 else _concatenate(x, 1)


_JOINED: dict[Any, Callable[..., Any]] = {
    np.stack: _stack, np.concatenate: _concatenate, np.vstack: _vstack, np.hstack: _hstack,
    np.column_stack: _column_stack,
}  # fmt: skip
"""NumPy's functions that join a list of arrays, of the array that has them as rows; None where that
is for the list to say."""


def _known(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if k not in ("order", "subok", "like")}


def _new_kind(x: Any) -> bool:
    return isinstance(x, SYMBOLIC) or followed(x)


def boxed(found: np.ndarray[Any, Any]) -> Any:
    """A new plain array as one that traced values can be written into."""
    if not STATE.traces:
        return results.in_memory(Array(found))
    if found.size and found.dtype.kind in "biufc":
        first = found.flat[0]
        if (found == first).all() and not np.signbit(first.real):
            return _own(ops.full(found.shape, first, found.dtype))
    return _own(found)


def new_array(shape: Any, dtype: Any) -> Any:
    """Zeros that traced values can be written into."""
    return _own(ops.zeros(shape, dtype)) if STATE.traces else Array(np.zeros(shape, dtype))


def _own(x: Any) -> Any:
    return results.in_memory(x if isinstance(x, Boxed) else inside(x))


__all__ = ["boxed", "made", "new_array", "stacked", "with_lists", "with_rows"]
