"""Diagonals of matrices and stacks of matrices."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...sizes import larger_of, smaller_of
from ...types import Int, normalize_axis, show
from ..define import ndim_of, shape_of
from ..elementwise.derived import convert
from ..matrices.products import operand
from .shape import moveaxis, reshape, sum_axes
from .slices import embed, slice_array


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of two axes as a new last axis; `offset` columns to the right of the main one
    (to the left if negative).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.diagonal(np.arange(9).reshape(3, 3), 1)
    array([1, 5])
    """
    x = operand(x)
    ndim = ndim_of(x)
    if ndim < 2:
        raise ShapeError(f"diagonal needs at least two axes, got shape {show(shape_of(x))}")
    first, second = normalize_axis(axis1, ndim), normalize_axis(axis2, ndim)
    if first == second:
        raise ShapeError(f"diagonal: axis1 and axis2 are both axis {first}")
    x = moveaxis(x, (first, second), (-2, -1))
    *batch, m, n = shape_of(x)
    row, column = (-offset, 0) if offset < 0 else (0, offset)
    size = larger_of(smaller_of(m - row, n - column), 0)
    if isinstance(n, int) and isinstance(size, int):
        start = row * n + column if size else 0
        return _part(reshape(x, (*batch, m * n)), batch, start, size, n + 1)
    # A stride that depends on a size: one more element per row, and the diagonal is the first
    # column.
    square = slice_array(x, (*[0] * len(batch), row, column), (*batch, size, size), (1,) * ndim)
    longer = embed(
        reshape(square, (*batch, size * size)), (*batch, size * (size + 1)), (0,) * (len(batch) + 1)
    )
    rows = reshape(longer, (*batch, size, size + 1))
    return reshape(slice_array(rows, (0,) * ndim, (*batch, size, 1), (1,) * ndim), (*batch, size))


def _part(x: Any, batch: list[Int], start: Int, size: Int, step: int) -> Any:
    zeros, ones = (0,) * len(batch), (1,) * len(batch)
    return slice_array(x, (*zeros, start), (*batch, size), (*ones, step))


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Sum of a diagonal; booleans and integers are summed in 64 bits.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.trace(np.arange(9).reshape(3, 3)))
    12
    """
    values = diagonal(x, offset, axis1, axis2)
    if dtype is not None:
        values = convert(values, dtype)
    result = sum_axes(values, (ndim_of(values) - 1,))
    return result if dtype is None else convert(result, dtype)
