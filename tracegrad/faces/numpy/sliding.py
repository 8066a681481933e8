"""Windows that slide over an array, as a view of it: they show what is written to it later."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ops.arrays.windows import sheared
from ...ops.define import shape_of
from ...sizes import less
from ...types import normalize_axis, show
from ..operators import array_of
from .lookup import unsupported
from .results import broadcast_to, expand_dims

NAME = "np.lib.stride_tricks.sliding_window_view"


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """The windows of this shape, along the last axes of the result."""
    if writeable:
        raise unsupported(NAME, " with writeable=True")
    x = array_of(x)
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if axis is None:
        axes = tuple(range(len(shape_of(x))))
    else:
        given = tuple(axis) if np.iterable(axis) else (axis,)
        axes = tuple(normalize_axis(k, len(shape_of(x))) for k in given)
    if len(sizes) != len(axes):
        raise ShapeError(
            f"window_shape has {len(sizes)} sizes for {len(axes)} axes; give one for each"
        )
    for k, size in zip(axes, sizes, strict=True):
        x = _along(x, k, size)
    return x


def _along(x: Any, axis: int, size: Any) -> Any:
    if isinstance(size, Value):
        raise TypeError(f"window_shape has to be of integers, not {describe(size)}")
    shape = shape_of(x)
    if less(size, 0) or less(shape[axis], size):
        raise ShapeError(
            f"a window of {size} does not fit axis {axis} of an array of shape {show(shape)}"
        )
    repeated = broadcast_to(expand_dims(x, -1), (*shape, size))
    op, params = sheared(repeated, axis, shape[axis] - size + 1)
    return repeated._viewed(op, repeated, params, repeated._bind(op, [repeated], params))
