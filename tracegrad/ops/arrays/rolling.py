"""Arrays rolled, turned over and turned by right angles."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...sizes import SYMBOLIC, number_of, same
from ...types import axes_of, normalize_axis
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import sub
from ..elementwise.remainders import mod
from ..places.along import take
from .concatenation import concatenate
from .creation import iota
from .shape import reshape, swapaxes
from .slices import cut, flip


def _as_shift(shift: Any) -> Any:
    """A number of places, which only a run may know."""
    if isinstance(shift, SYMBOLIC):
        return shift
    if isinstance(shift, Value) and not shape_of(shift) and shift.dtype.kind in "iu":
        return shift
    try:
        return operator.index(shift)
    except TypeError:
        raise TypeError(f"a shift is an integer, not {describe(shift)}") from None


def roll(x: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The elements shifted around an axis (around the flattened array where it is None), by an
    integer for each axis; a TypeError of other shifts.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.roll(np.arange(4), 1)
    array([3, 0, 1, 2])
    """
    x = as_array(x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), shape_of(x))
    given = shift.tolist() if isinstance(shift, np.ndarray) and shift.dtype.kind in "iu" else shift
    given = list(given) if isinstance(given, (tuple, list)) else [given]
    shifts = [_as_shift(s) for s in given]
    axes = axes_of(axis)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(f"{len(shifts)} shifts along {len(axes)} axes; give one for each")
    many = max(len(shifts), len(axes))
    for k in range(many):
        s, a = shifts[k % len(shifts)], axes[k % len(axes)]
        where_ = normalize_axis(a, ndim_of(x))
        n = shape_of(x)[where_]
        if isinstance(n, int) and n == 0:
            continue
        length = number_of(n)
        if isinstance(s, Value) or isinstance(length, Value):
            x = take(x, mod(sub(iota(n), s), length), where_)
            continue
        if isinstance(n, int):
            by = s % n
        elif 0 <= s < n:
            by = s
        elif -n <= s < 0:
            by = s + n
        else:
            by = s % int(n)
        if same(by, 0):
            continue
        x = concatenate([cut(x, where_, n - by, by), cut(x, where_, 0, n - by)], where_)
    return x


def fliplr(x: Any) -> Any:
    """The elements in reverse order along the second axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fliplr(np.array([[1, 2]]))
    array([[2, 1]])
    """
    return flip(as_array(x), 1)


def flipud(x: Any) -> Any:
    """The elements in reverse order along the first axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.flipud(np.array([1, 2]))
    array([2, 1])
    """
    return flip(as_array(x), 0)


def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotated by 90 degrees k times, from the first of the axes towards the second.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    x = as_array(x)
    a, b = (normalize_axis(v, ndim_of(x)) for v in axes)
    if a == b:
        raise ShapeError(f"rot90 needs two different axes, got {tuple(axes)}")
    if isinstance(k, (float, np.floating)) and not float(k).is_integer():
        raise TypeError(f"rot90: k is {describe(k)}; it must be an integer")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (a, b))
    return swapaxes(flip(x, b), a, b) if turns == 1 else flip(swapaxes(x, a, b), b)
