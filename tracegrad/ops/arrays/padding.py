"""Padding: with a constant, or with what the array holds near or at its other end."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...sizes import at_most_of, less
from ...types import Int, normalize_axis, show
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, sub
from ..elementwise.comparison import floor, rint
from ..elementwise.derived import add, convert, mul
from ..fits import refuse_less
from ..places.along import take
from ..places.indexing import as_value
from ..totals.quantiles import median
from ..totals.reductions import max as maximum_of
from ..totals.reductions import min as minimum_of
from ..totals.statistics import mean
from .concatenation import concatenate
from .shape import broadcast_to, reshape
from .slices import cut, embed, flip


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        found = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pair = np.broadcast_to(np.asarray(width), (2,)).tolist()
            found[normalize_axis(axis, ndim)] = (pair[0], pair[1])
        return found
    try:
        widths = [
            (operator.index(a), operator.index(b))
            for a, b in np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()
        ]
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"pad_width {pad_width!r} must be one integer, a (before, after) pair, "
            f"or a pair for each of the {ndim} axes"
        ) from error
    return widths


def _one_side(x: Any, axis: int, amount: int, mode: str, before: bool) -> Any:
    """At most `amount` elements that continue x beyond one end, in order."""
    n: Int = shape_of(x)[axis]
    if mode == "edge":
        shape = shape_of(x)
        return broadcast_to(
            cut(x, axis, 0 if before else n - at_most_of(n, 1), 1),
            (*shape[:axis], amount, *shape[axis + 1 :]),
        )
    skip = 1 if mode == "reflect" else 0
    if mode == "wrap":
        return cut(x, axis, n - amount if before else 0, amount)
    return flip(cut(x, axis, skip if before else n - skip - amount, amount), axis)


def _extended(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    n = shape_of(x)[axis]
    refuse_less(n, 1, ShapeError, _nothing_to_repeat(axis, mode))
    if not isinstance(n, int) and mode != "edge" and less(n, max(before, after) + 1):
        n = int(n)  # a size of its own, where parts would reach beyond x
    if isinstance(n, int) and (mode == "wrap" or n == 1 or max(before, after) >= n):
        # Beyond one period the parts would be many: one gather by the positions that NumPy pads.
        padded: Any = np.pad
        return take(x, padded(np.arange(n), (before, after), mode=mode), axis)
    parts = [x]
    if before > 0:
        parts.insert(0, _one_side(x, axis, before, mode, True))
    if after > 0:
        parts.append(_one_side(x, axis, after, mode, False))
    return concatenate(parts, axis)


NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda self: "not given"})()
"""None means all elements."""
_STATISTICS = {"maximum": maximum_of, "mean": mean, "median": median, "minimum": minimum_of}
_OPTIONS = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    **dict.fromkeys(_STATISTICS, "stat_length"),
    **dict.fromkeys(("reflect", "symmetric"), "reflect_type"),
}
_MODES = sorted({*_OPTIONS, "edge", "empty", "wrap"})


def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    stat_length: Any = NOT_GIVEN,
    end_values: Any = None,
    reflect_type: str = "even",
) -> Any:
    """x with elements added before and behind each axis: a number, a (before, after) pair, a pair
    per axis, or a dict by axis.

    mode            "constant", "edge", "reflect" (without the edge), "symmetric" (with it), "wrap",
                    "linear_ramp" (from the edge to `end_values`, 0), "maximum", "mean", "median",
                    "minimum" (of the `stat_length` elements next to the end; None: of all), "empty"
                    (zeros)
    constant_values, end_values, stat_length
                    one, a (before, after) pair, or a pair per axis
    reflect_type    "even", or "odd": what is reflected is turned about the edge, 2 * edge - x

    ShapeError for widths that do not fit, and for an empty axis that has nothing to repeat;
    ValueError for options of another mode. Functions as modes are not supported.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.pad(np.array([1, 2, 3]), (2, 1), mode="reflect")
    array([3, 2, 1, 2, 3, 2])
    >>> tg.pad(np.array([1.0, 2.0]), 2, mode="linear_ramp")
    array([0. , 0.5, 1. , 2. , 1. , 0. ])
    """
    x = as_array(x)
    ndim = ndim_of(x)
    widths = _widths(pad_width, ndim)
    if any(w < 0 for pair in widths for w in pair):
        raise ShapeError(f"padding cannot be negative, got {pad_width!r}; slice the array instead")
    if callable(mode):
        raise ValueError("mode is a function; join what it would write with np.concatenate instead")
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    given = {
        "stat_length": stat_length is not NOT_GIVEN,
        "end_values": end_values is not None,
        "reflect_type": reflect_type != "even",
    }
    foreign = [name for name, there in given.items() if there and name != _OPTIONS.get(mode)]
    if foreign:
        raise ValueError(f"mode {mode!r} has no {foreign[0]}")
    if mode in ("constant", "empty"):
        return _constant(x, widths, constant_values if mode == "constant" else 0)
    lengths = (
        None if stat_length is None or stat_length is NOT_GIVEN else _widths(stat_length, ndim)
    )
    least = 1 if mode in ("maximum", "minimum") else 0
    if lengths is not None and any(length < least for pair in lengths for length in pair):
        raise ValueError(f"stat_length is {stat_length!r}; it yields no value for padding")
    ends = _by_side(0 if end_values is None else end_values, ndim)
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        if mode == "linear_ramp":
            x = _ramps(x, axis, (before, after), ends)
        elif mode in _STATISTICS:
            x = _averaged(x, axis, (before, after), mode, lengths[axis] if lengths else None)
        elif reflect_type == "odd":
            x = _turned(x, axis, before, after, mode)
        elif reflect_type == "even":
            x = _extended(x, axis, before, after, mode)
        else:
            raise ValueError(f'reflect_type is {reflect_type!r}; it must be "even" or "odd"')
    return x


def _nothing_to_repeat(axis: int, mode: str) -> str:
    return f"cannot pad the empty axis {axis} with mode {mode!r}: it has nothing to repeat"


def _by_side(values: Any, ndim: int) -> Callable[[int, int], Any]:
    """The value of an axis and a side out of one, a pair, or a pair for each axis."""
    if hasattr(values, "dtype") and not isinstance(values, np.ndarray):
        if ndim_of(values) == 0:
            return lambda axis, side: values
        pairs = broadcast_to(values, (ndim, 2))
        return lambda axis, side: reshape(cut(cut(pairs, 0, axis, 1), 1, side, 1), ())
    per_side = np.broadcast_to(np.asarray(values), (ndim, 2))
    return lambda axis, side: per_side[axis, side]


def _around(x: Any, axis: int, before: Any, after: Any) -> Any:
    """x between what stands before and behind it, which may be nothing."""
    return concatenate([p for p in (before, x, after) if p is not None], axis)


def _ramps(x: Any, axis: int, widths: tuple[int, int], ends: Callable[[int, int], Any]) -> Any:
    shape = shape_of(x)
    refuse_less(shape[axis], 1, ShapeError, _nothing_to_repeat(axis, "linear_ramp"))

    def ramp(side: int) -> Any:
        width = widths[side]
        if not width:
            return None
        edge = cut(x, axis, 0 if side == 0 else shape[axis] - at_most_of(shape[axis], 1), 1)
        if x.dtype.kind in "biu":
            edge = convert(edge, np.float64)
        end = as_value(ends(axis, side), edge, shape_of(edge))
        step = div(sub(edge, end), float(width))
        k = np.arange(width, dtype=np.result_type(step.dtype))
        along = reshape(k, tuple(width if a == axis else 1 for a in range(len(shape))))
        found = add(mul(along, step), end)
        if x.dtype.kind in "iu":
            found = floor(found)
        found = convert(found, x.dtype)
        return found if side == 0 else flip(found, axis)

    return _around(x, axis, ramp(0), ramp(1))


def _averaged(
    x: Any, axis: int, widths: tuple[int, int], mode: str, lengths: tuple[int, int] | None
) -> Any:
    shape = shape_of(x)
    n = shape[axis]
    refuse_less(n, 1, ShapeError, _nothing_to_repeat(axis, mode))

    def level(side: int) -> Any:
        if not widths[side]:
            return None
        length = n if lengths is None else lengths[side]
        length = n if length > n else length
        part = cut(x, axis, 0 if side == 0 else n - length, length)
        found = _STATISTICS[mode](part, axis=axis, keepdims=True)
        if x.dtype.kind in "iu" and found.dtype.kind == "f":
            found = rint(found)
        wide = (*shape[:axis], widths[side], *shape[axis + 1 :])
        return broadcast_to(convert(found, x.dtype), wide)

    return _around(x, axis, level(0), level(1))


def _turned(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """Reflected about the edges, in NumPy's steps: each adds at most whole periods of what there is
    by then, 2 * edge - element."""
    n = shape_of(x)[axis]
    if not isinstance(n, int):
        raise ShapeError(f"mode {mode!r} with reflect_type 'odd' needs a size that is known")
    if n == 0:
        raise ShapeError(_nothing_to_repeat(axis, mode))
    if n == 1:
        return _extended(x, axis, before, after, "edge")
    skip = 1 if mode == "reflect" else 0
    dtype, period = x.dtype, n - skip

    def side(amount: int, at_front: bool) -> Any:
        if not amount:
            return None
        a = convert(x, np.int64) if dtype.kind == "b" else x
        edge = cut(a, axis, 0 if at_front else n - 1, 1)
        turned = sub(mul(edge, a.dtype.type(2)), _one_side(a, axis, amount, mode, at_front))
        return convert(turned, dtype)

    while before or after:
        most = (n - skip) // period * period
        left, right = min(before, most), min(after, most)
        x = _around(x, axis, side(left, True), side(right, False))
        before, after, n = before - left, after - right, n + left + right
    return x


def _constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    shape = shape_of(x)
    if isinstance(values, (int, float)) and values == 0:
        if not any(w for pair in widths for w in pair):
            return x
        padded = tuple(n + a + b for n, (a, b) in zip(shape, widths, strict=True))
        return embed(x, padded, tuple(a for a, _ in widths))
    value_of = _by_side(values, len(shape))
    for axis, (before, after) in enumerate(widths):
        old = shape_of(x)
        sides = [
            as_value(value_of(axis, side), x, (*old[:axis], width, *old[axis + 1 :]))
            if width
            else None
            for side, width in ((0, before), (1, after))
        ]
        x = _around(x, axis, *sides) if before or after else x
    if ndim_of(x) != len(shape):
        raise ShapeError(f"constant_values do not fit an array of shape {show(shape)}")
    return x
