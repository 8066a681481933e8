"""Diagonals of matrices and stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError
from ...ir.dispatch import Value, bind
from ...ir.op import Op, op
from ...sizes import larger_of, smaller_of
from ...types import Int, normalize_axis, show, type_of
from ..define import ndim_of, shape_of
from ..elementwise.derived import add, convert
from ..matrices.products import operand
from ..places.indexing import index_update
from .creation import iota, zeros
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
    params = {"offset": offset, "dims": (first, second)}
    if not isinstance(x, Value):
        return np.diagonal(x, offset, first, second)
    return x._bind(diagonal_op, [x], params)


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


# --- the view -------------------------------------------------------------------------------------


def _evaluate(x: Any, *, offset: int, dims: tuple[int, int]) -> Any:
    shown = np.diagonal(x, offset, *dims)
    # NumPy leaves it to its next version to make this view writable.
    shown.flags.writeable = x.flags.writeable
    return shown


def _composed(x: Any, *, offset: int, dims: tuple[int, int]) -> Any:
    """By slices of what is contiguous."""
    result = _by_slices(x, offset, dims)
    return x._viewed(diagonal_op, x, {"offset": offset, "dims": dims}, result)


def _by_slices(x: Any, offset: int, dims: tuple[int, int]) -> Any:
    ndim = ndim_of(x)
    x = moveaxis(x, dims, (-2, -1))
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


def _on_diagonal(ct: Any, *, offset: int, dims: tuple[int, int], like: Any) -> Any:
    """The adjoint: an array of zeros but for this diagonal."""
    last = len(like.shape) - 2, len(like.shape) - 1
    rest = [n for k, n in enumerate(like.shape) if k not in dims]
    places = iota(shape_of(ct)[-1])
    key = (..., add(places, max(-offset, 0)), add(places, max(offset, 0)))
    shape = (*rest, like.shape[dims[0]], like.shape[dims[1]])
    return moveaxis(index_update(zeros(shape, ct.dtype), key, ct), last, dims)


def _batch(values: Any, axes: Any, size: Int, *, offset: int, dims: tuple[int, int]) -> Any:
    params = {"offset": offset, "dims": (dims[0] + 1, dims[1] + 1)}
    return [bind(diagonal_op, [moveaxis(values[0], axes[0], 0)], params)], [0]


diagonal_op: Op = op(
    "diagonal",
    ["x"],
    evaluate=_evaluate,
    infer=lambda x, *, offset, dims: (type_of(_evaluate(x.value, offset=offset, dims=dims)),),
    vjp=[_on_diagonal],
    # A tangent need not be a value yet, and is nothing that is written to.
    jvp=lambda tangents, inputs, outs, *, offset, dims: [diagonal(tangents[0], offset, *dims)],
    batch=_batch,
    composed=_composed,
    doc=(
        "A view of a diagonal, which steps in two axes at once, so that slices of what is not "
        "contiguous cannot show it."
    ),
    view=True,
)
