"""NumPy's functions that make index arrays of others: open meshes, and places in an array as one
number or as one for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ir.lines import program_place, user_line
from ...ops.check import check, error_text
from ...ops.define import ndim_of, shape_of
from ..operators import array_of, operand
from .lookup import boxes_in, plain, tracked

MODES = ("raise", "wrap", "clip")


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors along one axis each; a vector of booleans stands for the places of True."""
    found = []
    for k, given in enumerate(args):
        x = array_of(operand(given))
        if ndim_of(x) != 1:
            raise ValueError(f"np.ix_: argument {k} has {ndim_of(x)} axes; it must be a vector")
        if x.dtype.kind == "b":
            x = ops.nonzero(x)[0]
        elif not isinstance(given, Value) and np.size(given) == 0:
            x = np.zeros(0, np.intp)
        shape = [1] * len(args)
        shape[k] = shape_of(x)[0]
        found.append(ops.reshape(x, tuple(shape)))
    return tuple(found)


def _places(name: str, x: Any) -> Any:
    x = array_of(operand(x))
    if x.dtype.kind not in "iu":
        raise TypeError(f"{user_line()}: {name}: places must be integers, not {describe(x)}")
    return ops.convert(x, np.int64)


def _sizes(name: str, dims: Any) -> tuple[int, ...]:
    if any(tracked(n) for n in boxes_in(dims)):
        raise TypeError(f"{user_line()}: {name}: the sizes of axes must be known")
    sizes = np.asarray(plain(dims))
    if sizes.dtype.kind not in "iu" or sizes.ndim > 1:
        raise TypeError(f"{user_line()}: {name}: the shape must be integers, not {describe(dims)}")
    return tuple(map(int, np.atleast_1d(sizes)))


def _columns_first(name: str, order: Any) -> bool:
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order is {order!r}; it is 'C' or 'F'")
    return bool(order == "F")


def _within(name: str, place: Any, size: int) -> None:
    """ValueError where a place is none of `size`: at once, or when compiled code has run."""
    wrong = ops.any(ops.logical_or(place < 0, place >= size))
    text = f"{name}: a place is out of range of {size} elements"
    if isinstance(wrong, Value) and isinstance(wrong._data, Var):
        check(ops.convert(wrong, np.int64), (error_text(ValueError(text), *program_place()),))
    elif bool(wrong):
        raise ValueError(f"{user_line()}: {text}")


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The number along each axis, of places in the flattened array."""
    sizes, by_columns = _sizes("np.unravel_index", shape), _columns_first("np.unravel_index", order)
    rest = _places("np.unravel_index", indices)
    _within("np.unravel_index", rest, int(np.prod(sizes, dtype=object)))
    found: list[Any] = []
    for size in sizes if by_columns else sizes[::-1]:
        # Of an axis without elements there are no places.
        found.append(rest % max(size, 1))
        rest = rest // max(size, 1)
    return tuple(found if by_columns else found[::-1])


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Places in the flattened array, of a number along each axis."""
    name = "np.ravel_multi_index"
    sizes, by_columns = _sizes(name, dims), _columns_first(name, order)
    given = list(multi_index) if isinstance(multi_index, (tuple, list)) else list(iter(multi_index))
    if len(given) != len(sizes):
        raise ShapeError(f"{name}: {len(given)} index arrays for {len(sizes)} axes")
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    if len(modes) != len(sizes) or any(m not in MODES for m in modes):
        raise ValueError(f"{name}: mode is {mode!r}; it is 'raise', 'wrap' or 'clip'")
    total: Any = np.int64(0)
    factor = 1
    axes = range(len(sizes))
    for k in axes if by_columns else reversed(axes):
        place = _places(name, given[k])
        if modes[k] == "raise":
            _within(name, place, sizes[k])
        elif modes[k] == "wrap":
            place = place % sizes[k]
        else:
            place = ops.clip(place, 0, sizes[k] - 1)
        total = total + place * factor
        factor *= sizes[k]
    return total
