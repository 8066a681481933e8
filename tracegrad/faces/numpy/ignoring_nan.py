"""NumPy's functions that leave NaN out, in words of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import flag
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ops.define import shape_of
from ...ops.totals.ignoring_nan import nanprod, nanstd, nanvar
from ..operators import array_of


def _instead(a: Any, value: int) -> Any:
    """The array with this number in place of NaN."""
    x = array_of(a)
    if x.dtype.kind not in "fc":
        return x
    return ops.where(ops.isnan(x), x.dtype.type(value), x)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x = _instead(a, 0)
    return ops.cumsum(x if dtype is None else ops.convert(x, dtype), axis)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    x = _instead(a, 1)
    return ops.cumprod(x if dtype is None else ops.convert(x, dtype), axis)


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
