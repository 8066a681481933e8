"""NumPy's functions that leave NaN out, in words of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import describe, flag
from ...dtypes import real_of
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ops.define import shape_of
from ...ops.totals.axes import reduced_axes
from ..operators import array_of


def _floats(a: Any) -> Any:
    x = array_of(a)
    return x if x.dtype.kind in "fc" else ops.convert(x, np.float64)


def _instead(a: Any, value: int) -> Any:
    """The array with this number in place of NaN."""
    x = array_of(a)
    if x.dtype.kind not in "fc":
        return x
    return ops.where(ops.isnan(x), x.dtype.type(value), x)


def _no_list(axis: Any) -> None:
    if isinstance(axis, list):
        raise TypeError(f"axis is {describe(axis)}; it must be an integer, a tuple of them or None")


def nanprod(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    _no_list(axis)
    x = _instead(a, 1)
    return ops.prod(x if dtype is None else ops.convert(x, dtype), axis, keepdims=keepdims)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x = _instead(a, 0)
    return ops.cumsum(x if dtype is None else ops.convert(x, dtype), axis)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x = _instead(a, 1)
    return ops.cumprod(x if dtype is None else ops.convert(x, dtype), axis)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    _no_list(axis)
    flag("keepdims", keepdims)
    x = _floats(a) if dtype is None else ops.convert(array_of(a), dtype)
    axes = reduced_axes(axis, x.ndim)
    counts = ops.logical_not(ops.isnan(x))
    count = ops.sum(counts, axes, keepdims=True)
    count = ops.convert(count, real_of(x.dtype))
    centre = ops.div(ops.sum(_instead(x, 0), axes, keepdims=True), count)
    # Where there is NaN there is no number to differentiate by either.
    off = ops.where(counts, _instead(x, 0) - centre, x.dtype.type(0))
    total = ops.real(ops.sum(off * ops.conj(off), axes, keepdims=keepdims))
    left = ops.sum(counts, axes, keepdims=keepdims) - ddof
    kind = total.dtype.type
    enough = left > 0
    return ops.where(
        enough, total / ops.convert(ops.where(enough, left, 1), total.dtype), kind(np.nan)
    )


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    return ops.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


def _place(find: Any, instead: float, a: Any, axis: int | None, keepdims: Any) -> Any:
    x = array_of(a)
    flag("keepdims", keepdims)
    if x.dtype.kind != "f":
        return find(x, axis, keepdims)
    missing = ops.isnan(x)
    found = find(ops.where(missing, x.dtype.type(instead), x), axis, keepdims)
    nothing = ops.all(missing, axis, keepdims)
    if not (isinstance(nothing, Value) and isinstance(nothing._data, Var)):
        if np.any(nothing._data if isinstance(nothing, Value) else nothing):
            raise ValueError("All-NaN slice encountered")
        return found
    # Compiled code says so of an index that there is none of.
    count = shape_of(x)[axis] if axis is not None else shape_of(ops.reshape(x, -1))[0]
    return ops.take(ops.arange(count), ops.where(nothing, count, found))


def nanargmax(a: Any, axis: int | None = None, keepdims: Any = False) -> Any:
    return _place(ops.argmax, -np.inf, a, axis, keepdims)


def nanargmin(a: Any, axis: int | None = None, keepdims: Any = False) -> Any:
    return _place(ops.argmin, np.inf, a, axis, keepdims)


ALL = (nanprod, nancumsum, nancumprod, nanvar, nanstd, nanargmax, nanargmin)
