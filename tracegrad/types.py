"""Types of values in a graph: a dtype and a shape whose entries are ints or integer expressions
over symbols."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._codegen import integers
from .checks import explained_here
from .dtypes import SHORT, check
from .errors import AxisError, ConcretizationError, ShapeError
from .sizes import same, same_shape, seen_shape, shown
from .sizes.owners import COUNT as COUNT

Int = integers.Int
Shape = tuple[Int, ...]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of one array: `f64[4, n]` is printed for float64 of shape (4, n)."""

    dtype: np.dtype[Any]
    shape: Shape = ()
    weak: bool = False
    """True for a Python scalar that is an argument: it does not raise the dtype of what it meets
    (NEP 50)."""

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Int:
        return integers.product(self.shape)

    def __str__(self) -> str:
        dtype = SHORT.get(self.dtype.name, self.dtype.name)
        return f"{dtype}[{', '.join(map(shown, self.shape))}]{'~' if self.weak else ''}"

    @property
    def seen(self) -> ArrayType:
        """The type with the sizes as a traced function sees them: for the rules of operations."""
        shape = seen_shape(self.shape)
        return self if shape is self.shape else ArrayType(self.dtype, shape, self.weak)

    def with_shape(self, shape: Shape) -> ArrayType:
        return ArrayType(self.dtype, shape)


def type_of(value: Any) -> ArrayType:
    """The type of a concrete array, NumPy scalar or Python scalar."""
    # What has a dtype is an array, on whatever device.
    array = value if hasattr(value, "dtype") else np.asarray(value)
    key = array.dtype, array.shape
    found = _TYPES.get(key)
    if found is None:
        if len(_TYPES) > 4096:
            _TYPES.clear()
        found = _TYPES[key] = ArrayType(check(array.dtype), array.shape)
    return found


_TYPES: dict[tuple[np.dtype[Any], tuple[int, ...]], ArrayType] = {}
"""Types that were met: the tape asks for one with every operation, and making one costs three times
as much as finding it."""


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcasting rule; sizes are compared with `same`."""
    if len(shapes) == 2:
        a, b = shapes
        if not b or a is b:
            return tuple(a)
        if not a:
            return tuple(b)
    ndim = max(map(len, shapes), default=0)
    result: list[Int] = []
    for axis in range(-ndim, 0):
        size: Int = 1
        for shape in shapes:
            if len(shape) < -axis:
                continue
            d = shape[axis]
            if d == 1 if type(d) is int else same(d, 1):
                continue
            if size == 1 if type(size) is int else same(size, 1):
                size = d
            elif not same(size, d):
                raise ShapeError(
                    f"shapes {' and '.join(show(s) for s in shapes)} cannot be broadcast together: "
                    f"axis {axis} has sizes {size} and {d}, and neither is 1. Reshape one of them, "
                    "or add an axis with x[:, None]."
                )
        result.append(size)
    return tuple(result)


def equal_types(a: ArrayType, b: ArrayType) -> bool:
    """Whether two types are one, as `same` says it of their sizes."""
    return a.dtype == b.dtype and a.weak == b.weak and same_shape(a.shape, b.shape)


def show(shape: Shape) -> str:
    return "(" + ", ".join(map(shown, shape)) + ("," if len(shape) == 1 else "") + ")"


def axis_number(axis: Any) -> int:
    """The integer that an axis is. A float is no axis, and neither is an array that has axes
    itself: it was meant as an operand (`max(x, y)`), and one element must not make an axis of
    it."""
    if (
        hasattr(axis, "__index__")
        and not getattr(axis, "shape", ())
        and not isinstance(axis, (bool, np.bool_))
    ):
        try:
            return operator.index(axis)
        except ConcretizationError:
            raise
        except TypeError:
            pass  # an array of floats without axes
    what = "an array" if hasattr(axis, "shape") and axis.shape else repr(axis)
    raise explained_here(
        TypeError(f"an axis is an integer, not {what} of type {type(axis).__name__}")
    )


def axes_of(axis: Any) -> tuple[int, ...]:
    """The numbers of one axis or several."""
    if type(axis) is int:
        return (axis,)
    if isinstance(axis, (tuple, list, range)):
        return tuple([a if type(a) is int else axis_number(a) for a in axis])
    return (axis_number(axis),)


def normalize_axis(axis: int, ndim: int) -> int:
    """A non-negative axis, or an AxisError; a TypeError for what is no integer."""
    if type(axis) is not int:
        axis = axis_number(axis)
    if not -ndim <= axis < max(ndim, 1) or (ndim == 0):
        message = f"axis {axis} is out of range for an array of {ndim} dimension{'s' * (ndim != 1)}"
        raise explained_here(AxisError(message))
    return axis % ndim
