"""NumPy's functions that call a function of the user's along axes, choose among arrays and repeat
them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe, flag
from ...checks.kinds import INT
from ...errors import ConcretizationError, DTypeError, ShapeError
from ...ir.dispatch import STATE
from ...ir.lines import user_line
from ...ops.define import ndim_of, of_shape, shape_of
from ...ops.places.keys import concrete
from ...types import broadcast_shapes, normalize_axis
from ..operators import array_of, operand
from .laying import lying
from .lookup import plain, result_type, store_exactly, tracked, unsupported

MOST_SLICES = 16
"""So many slices are traced one by one."""


def lines_of(arr: Any, axis: int) -> tuple[Any, tuple[Any, ...], int]:
    """The lines of an array along an axis as the rows of a matrix, the sizes of its other axes, and
    the axis from the front."""
    x = array_of(arr)
    place = normalize_axis(axis, ndim_of(x))
    shape = tuple(shape_of(x))
    others = (*shape[:place], *shape[place + 1 :])
    return ops.reshape(ops.moveaxis(x, place, -1), (math.prod(others), shape[place])), others, place


def from_lines(found: Any, others: tuple[Any, ...], place: int) -> Any:
    """What a function gave for each line, its axes in the place of the axis of the lines."""
    inner = tuple(shape_of(found))[1:]
    whole = ops.reshape(found, (*others, *inner))
    count = len(others)
    return ops.moveaxis(
        whole,
        tuple(range(count, count + len(inner))),
        tuple(range(place, place + len(inner))),
    )


def check_lines(func1d: Any, axis: Any) -> None:
    if not callable(func1d):
        raise TypeError(f"func1d is {describe(func1d)}; it must be a function of a vector")
    _whole("axis", axis)


def _whole(word: str, number: Any) -> None:
    if not INT.accepts(number):
        raise TypeError(f"{word} is {describe(number)}; it must be an integer")


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    check_lines(func1d, axis)
    rows, others, place = lines_of(arr, axis)
    count = shape_of(rows)[0]
    if STATE.traces and (not isinstance(count, int) or count > MOST_SLICES):
        raise ConcretizationError(
            f"{user_line()}: np.apply_along_axis over {count} slices would trace {func1d!r:.60} as "
            "often. Write tg.vmap(f), or tg.map(f, rows), which trace it once."
        )
    if int(count) == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    found = [array_of(func1d(rows[k], *args, **kwargs)) for k in range(int(count))]
    return from_lines(ops.stack(found), others, place)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    x = array_of(a)
    for axis in axes if isinstance(axes, (tuple, list, np.ndarray)) else (axes,):
        _whole("an axis", axis)
        place = normalize_axis(int(axis), ndim_of(x))
        made = func(x, place)
        if isinstance(made, (tuple, list)):
            raise TypeError(f"func gave {describe(made)}; it must give an array")
        found = array_of(made)
        if ndim_of(found) not in (ndim_of(x), ndim_of(x) - 1):
            raise ShapeError("the function must keep all axes, or drop one")
        x = found if ndim_of(found) == ndim_of(x) else ops.expand_dims(found, place)
    return x


@lying("C")
def choose(a: Any, choices: Sequence[Any], out: Any = None, mode: str = "raise") -> Any:
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f'mode is {describe(mode)}; it must be "raise", "wrap" or "clip"')
    if isinstance(choices, (set, frozenset, dict)):
        raise TypeError(f"choices is {describe(choices)}; it must be a sequence of arrays")
    index = array_of(a)
    if result_type(index).kind not in "biu":
        raise TypeError(f"a is {describe(a)}; it must be of integers")
    found = [operand(c) for c in choices]
    given = [array_of(c) for c in found]
    count = len(given)
    if not count:
        raise ValueError("choices is empty; there is nothing to choose from")
    index = ops.convert(index, np.int64)
    # Where it is outside, a number that reading refuses.
    index = (
        ops.where(index < 0, count, index)
        if mode == "raise"
        else ops.mod(index, count)
        if mode == "wrap"
        else ops.clip(index, 0, count - 1)
    )
    dtype = result_type(*found)
    shape = broadcast_shapes(shape_of(index), *map(shape_of, given))
    stacked = ops.stack([ops.broadcast_to(ops.convert(c, dtype), shape) for c in given])
    where = ops.expand_dims(ops.broadcast_to(index, shape), 0)
    found = ops.squeeze(ops.take_along_axis(stacked, where, 0), 0)
    return found if out is None else store_exactly(out, found, "unsafe")


def resize(a: Any, new_shape: Any) -> Any:
    flat = ops.reshape(array_of(a), -1)
    if isinstance(new_shape, (bool, np.bool_)):
        raise TypeError(f"new_shape is {describe(new_shape)}; it must be sizes")
    shape = tuple(map(operator.index, np.atleast_1d(np.asarray(new_shape, object))))
    if any(n < 0 for n in shape):
        raise ShapeError(f"new_shape is {shape}; its sizes must not be negative")
    count, total = int(shape_of(flat)[0]), math.prod(shape)
    if not count:
        return ops.zeros_like(flat, shape=shape)
    return ops.reshape(ops.take(flat, np.arange(total) % count, 0), shape)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The order by the last key, equal ones by the key before, and so on: what sorting keeps in
    order is sorted by one key after the other."""
    _whole("axis", axis)
    rows = [array_of(k) for k in (keys if isinstance(keys, (tuple, list)) else array_of(keys))]
    if not rows:
        raise TypeError("keys is empty; there must be one key at least")
    order = ops.argsort(rows[0], axis)
    for key in rows[1:]:
        key = of_shape(key, shape_of(rows[0]), "all keys need to be the same shape")
        if key is None:
            raise ShapeError("lexsort: all keys need to be the same shape")
        again = ops.argsort(ops.take_along_axis(key, order, axis), axis)
        order = ops.take_along_axis(order, again, axis)
    return order


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    first, last = (array_of(operand(v)) for v in (start, stop))
    _whole("axis", axis)
    if "c" in (result_type(first).kind, result_type(last).kind):
        raise unsupported("np.geomspace", " with complex ends")
    for word, end in (("start", first), ("stop", last)):
        if not tracked(end) and not np.all(plain(end)):
            raise ValueError(f"{word} is {describe(end)}; a geometric sequence has no zero")
    share = ops.linspace(0.0, 1.0, num, endpoint=flag("endpoint", endpoint))
    ndim = max(ndim_of(first), ndim_of(last))
    share = ops.reshape(share, (-1, *(1,) * ndim))
    found = first * ops.power(last / first, share)
    if num > 1 and endpoint:
        # The ends are what is given, to the last digit.
        ends = ops.broadcast_to(ops.convert(last, found.dtype), shape_of(found)[1:])
        found = ops.concatenate([found[:-1], ops.expand_dims(ends, 0)])
    found = found if dtype is None else ops.convert(found, np.dtype(dtype))
    return ops.moveaxis(found, 0, axis) if axis else found


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    x = array_of(p)
    if result_type(x).kind == "c":
        raise DTypeError("p is complex; unwrap its np.angle")
    for word, number in (("discont", discont), ("period", period)):
        if number is not None and ndim_of(array_of(operand(number))):
            raise ShapeError(f"{word} is {describe(number)}; it must be one number")
    kind = result_type(x, period)
    if result_type(x).kind == kind.kind == "u":
        raise DTypeError(
            f"p is {describe(x)} and period a whole number: steps down have no place in unsigned "
            "integers; give signed ones, or floats"
        )
    place = normalize_axis(axis, ndim_of(x))
    # Of unsigned integers steps wrap around, as NumPy's do.
    d = ops.diff(x, 1, place)
    x, d = (a if result_type(a).kind == "f" else ops.convert(a, np.float64) for a in (x, d))
    half = operand(period) / 2
    limit = half if discont is None else ops.maximum(operand(discont), half)
    within = ops.mod(d + half, operand(period)) - half
    within = ops.where(ops.logical_and(within == -half, d > 0), half, within)
    turns = ops.where(ops.absolute(d) < limit, ops.convert(d * 0, d.dtype), within - d)
    start = ops.moveaxis(x, place, 0)[:1]
    rest = ops.moveaxis(x, place, 0)[1:] + ops.moveaxis(ops.cumsum(turns, place), place, 0)
    return ops.convert(ops.moveaxis(ops.concatenate([start, rest]), 0, place), kind)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """Real numbers as they are; complex ones if all imaginary parts are so small, which takes their
    values."""
    x = array_of(a)
    if result_type(x).kind != "c":
        return x
    values = concrete(
        x, "np.real_if_close", "Its dtype would depend on the data: take np.real(z), or keep z."
    )
    return ops.real(x) if np.isrealobj(np.real_if_close(values, tol)) else x


def _square(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    def indices(arr: Any, k: int = 0) -> Any:
        shape = tuple(map(int, shape_of(array_of(arr))))
        if len(shape) != 2:
            raise ValueError(f"np.{name}: the array has {len(shape)} axes; it must be a matrix")
        return make(shape[0], k, shape[1])

    return indices


tril_indices_from = _square("tril_indices_from", np.tril_indices)
triu_indices_from = _square("triu_indices_from", np.triu_indices)


def diag_indices_from(arr: Any) -> Any:
    shape = tuple(map(int, shape_of(array_of(arr))))
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ValueError(
            f"np.diag_indices_from: the array has the shape {shape}; it must have two axes or "
            "more, all as long"
        )
    return np.diag_indices(shape[0], len(shape))
