"""NumPy's functions that write into their first argument: a boxed one is updated as by an
assignment; a plain one takes plain values only, by NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...checks.ranges import out_of_range
from ...dtypes import DType
from ...errors import ShapeError
from ...ops.define import ndim_of, shape_of
from ...ops.places.keys import of_places
from ...sizes import numel, same
from ...sizes.size import known_empty
from ..operators import array_of, operand
from .in_turn import refuse_overlap
from .lookup import has_written, result_type, store, unsupported


def _integers(values: Any, dtype: DType) -> Any:
    """Python's integers in the dtype, which they have no dtype against; an OverflowError of one
    that it does not hold."""
    plain = values if type(values) in (list, tuple) else [values]
    if dtype.kind in "biu" and plain and all(type(v) is int for v in plain):
        return np.array(values, dtype)
    return values


def _fitting(function: Callable[..., Any], values: Any, array: Any) -> Any:
    """`values` as elements of the array; a TypeError where NumPy would not cast them."""
    found = operand(_integers(values, array.dtype))
    if not np.can_cast(result_type(found), array.dtype, "same_kind"):
        raise TypeError(
            f"np.{function.__name__}: the values are {describe(values)}; "
            f"they must fit to elements of {array.dtype}"
        )
    return ops.convert(found, array.dtype)


def _repeated(values: Any, places: Any) -> Any:
    """The values from the first again where there are fewer than places."""
    flat = ops.reshape(values, -1)
    return ops.take(flat, ops.mod(places, shape_of(flat)[0]))


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    source = operand(
        _integers(src, dst.dtype) if type(src) is int and dst.dtype.kind != "b" else src
    )
    chosen = operand(where)
    if not np.can_cast(result_type(source), dst.dtype, casting):
        raise TypeError(
            f"np.copyto: src is {describe(src)}; it cannot be cast to {dst.dtype} by the rule "
            f"{casting!r}"
        )
    if result_type(chosen).kind != "b":
        raise TypeError(f"np.copyto: where is {describe(where)}; it must be an array of booleans")
    store(dst, source, where, casting)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if has_written("np.put", np.put, a, ind, v, mode):
        return
    places = operand(of_places(ind) if isinstance(ind, (list, tuple)) else ind)
    places = ops.reshape(array_of(places), -1)
    size, count = numel(a.shape), shape_of(places)[0]
    values = _fitting(np.put, v, a)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f'np.put: mode must be "raise", "wrap" or "clip", not {mode!r}')
    if known_empty(size) and not known_empty(count):
        raise out_of_range("np.put: the array has no elements")
    if mode == "wrap":
        places = ops.mod(places, size)
    elif mode == "clip":
        places = ops.clip(places, 0, size - 1)
    if ndim_of(values) and not (ndim_of(values) == 1 and same(shape_of(values)[0], count)):
        if same(numel(shape_of(values)), 0):
            return
        values = _repeated(values, ops.iota(count))
    a._update(
        lambda x: ops.reshape(ops.index_update(ops.reshape(x, -1), places, values), shape_of(x))
    )


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if has_written("np.fill_diagonal", np.fill_diagonal, a, val, wrap):
        return
    if wrap is not False:
        raise unsupported("np.fill_diagonal", " with wrap=")
    if a.ndim < 2:
        raise ShapeError(f"np.fill_diagonal: a is {describe(a)}; it must have two axes or more")
    if a.ndim > 2 and not all(same(n, a.shape[0]) for n in a.shape):
        raise ShapeError(f"np.fill_diagonal: a is {describe(a)}; its axes must be of one length")
    index = np.arange(min(int(s) for s in a.shape))
    values = operand(val)
    refuse_overlap("np.fill_diagonal", a, values, np.fill_diagonal)
    if ndim_of(values):
        values = _repeated(values, index)
    a[(index,) * a.ndim] = values


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    if not has_written("np.put_along_axis", np.put_along_axis, arr, indices, values, axis):
        arr._update(ops.put_along_axis, operand(indices), operand(values), axis)


def _place(arr: Any, mask: Any, vals: Any) -> None:
    if not has_written("np.place", np.place, arr, mask, vals):
        # The n-th place that is chosen gets the n-th value.
        refuse_overlap("np.place", arr, operand(vals))
        chosen = ops.reshape(array_of(operand(mask)), -1) != 0
        _masked(np.place, arr, mask, vals, ops.cumsum(ops.convert(chosen, np.int64)) - 1)


def _putmask(a: Any, mask: Any, values: Any) -> None:
    if not has_written("np.putmask", np.putmask, a, mask, values):
        _masked(np.putmask, a, mask, values, ops.iota(numel(a.shape)))


def _masked(function: Callable[..., Any], a: Any, mask: Any, values: Any, places: Any) -> None:
    chosen, found = array_of(operand(mask)), array_of(_fitting(function, values, a))
    size = numel(shape_of(chosen))
    if not same(size, numel(a.shape)):
        raise ShapeError(
            f"np.{function.__name__}: the mask has {size} elements, and the array {numel(a.shape)}"
        )
    if same(numel(shape_of(found)), 0):
        if function is np.putmask:
            return
        raise ValueError("np.place: there are no values to place")
    shape = a.shape
    new = ops.reshape(_repeated(found, places), shape)
    a._update(lambda x: ops.where(ops.reshape(chosen != 0, shape), new, x))


WRITES: dict[Callable[..., Any], Callable[..., None]] = {
    np.copyto: _copyto,
    np.put: put,
    np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: _put_along_axis,
    np.place: _place,
    np.putmask: _putmask,
}

__all__ = ["WRITES", "put"]
