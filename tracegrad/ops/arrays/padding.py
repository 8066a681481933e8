"""Padding: with a constant, or with what the array holds near or at its other end."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...types import Int, normalize_axis, show
from ..define import as_array, ndim_of, shape_of
from ..places.along import take
from ..places.indexing import as_value
from .concatenation import concatenate
from .shape import broadcast_to
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
            cut(x, axis, 0 if before else n - 1, 1), (*shape[:axis], amount, *shape[axis + 1 :])
        )
    skip = 1 if mode == "reflect" else 0
    if mode == "wrap":
        return cut(x, axis, n - amount if before else 0, amount)
    return flip(cut(x, axis, skip if before else n - skip - amount, amount), axis)


def _extended(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    n = shape_of(x)[axis]
    if isinstance(n, int) and n == 0:
        raise ShapeError(
            f"cannot pad the empty axis {axis} with mode {mode!r}: it has nothing to repeat"
        )
    known = isinstance(n, int)
    if known and (mode == "wrap" or n == 1 or max(before, after) >= n):
        # Beyond one period the parts would be many: one gather by the positions that NumPy pads.
        padded: Any = np.pad
        return take(x, padded(np.arange(n), (before, after), mode=mode), axis)
    parts = [x]
    if before > 0:
        parts.insert(0, _one_side(x, axis, before, mode, True))
    if after > 0:
        parts.append(_one_side(x, axis, after, mode, False))
    return concatenate(parts, axis)


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """x with elements added before and behind each axis: a number, a (before, after) pair, a pair
    per axis, or a dict by axis.

    `mode` is "constant" (`constant_values`, likewise), "edge", "reflect" (without the edge),
    "symmetric" (with it) or "wrap".

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.pad(np.array([1, 2, 3]), (2, 1), mode="reflect")
    array([3, 2, 1, 2, 3, 2])
    """
    x = as_array(x)
    ndim = ndim_of(x)
    widths = _widths(pad_width, ndim)
    if any(w < 0 for pair in widths for w in pair):
        raise ShapeError(f"padding cannot be negative, got {pad_width!r}; slice the array instead")
    if mode == "constant":
        return _constant(x, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(
            f'mode must be "constant", "edge", "reflect", "symmetric" or "wrap", not {mode!r}'
        )
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _extended(x, axis, before, after, mode)
    return x


def _constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    shape = shape_of(x)
    if isinstance(values, (int, float)) and values == 0:
        if not any(w for pair in widths for w in pair):
            return x
        padded = tuple(n + a + b for n, (a, b) in zip(shape, widths, strict=True))
        return embed(x, padded, tuple(a for a, _ in widths))
    plain = not hasattr(values, "dtype") or isinstance(values, np.ndarray)
    per_side = np.broadcast_to(np.asarray(values), (len(shape), 2)) if plain else None
    for axis, (before, after) in enumerate(widths):
        old = shape_of(x)
        parts = [x]
        for side, width in ((0, before), (1, after)):
            if width:
                value = as_value(
                    values if per_side is None else per_side[axis, side],
                    x,
                    (*old[:axis], width, *old[axis + 1 :]),
                )
                parts.insert(0 if side == 0 else len(parts), value)
        x = concatenate(parts, axis) if len(parts) > 1 else x
    if ndim_of(x) != len(shape):
        raise ShapeError(f"constant_values do not fit an array of shape {show(shape)}")
    return x
