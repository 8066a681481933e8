"""Windows along an axis, for convolutions and pooling: one view, `shear`, whose adjoint is the same
view the other way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...ir.dispatch import bind
from ...types import ArrayType, Int, Shape
from ..define import linear, shape_of
from .shape import broadcast_to, expand_dims, front, sum_axes
from .slices import cut, embed


def _shear_evaluate(x: Any, *, axis: int, along: int, slope: int, start: Int, size: Int) -> Any:
    x = np.asarray(x)
    shape, strides = list(x.shape), list(x.strides)
    shape[along] = size
    strides[axis] += slope * strides[along]
    if not all(shape):
        return np.empty(shape, x.dtype)
    first = x[tuple([slice(start, None) if k == along else slice(None) for k in range(x.ndim)])]
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def _shear_index(index: Shape, in_shape: Shape, out_shape: Shape, params: dict[str, Any]) -> Shape:
    along = params["along"]
    place = params["start"] + index[along] + index[params["axis"]] * params["slope"]
    return (*index[:along], place, *index[along + 1 :])


def _shear_adjoint(ct: Any, *, axis: int, along: int, slope: int, start: Int, like: Any) -> Any:
    """Element (k, m) receives what was read from there: (k, m - start - slope * k), zero
    outside."""
    rows, length = like.shape[axis], like.shape[along]
    shape = list(like.shape)
    # With zeros before and after, every place of x has a place in the cotangent.
    reach = slope * (rows - 1)
    before = start + (reach if slope > 0 else 0)
    shape[along] = length + (reach if slope > 0 else -reach)
    padded = embed(ct, shape, [before if k == along else 0 for k in range(len(shape))], absent=True)
    return _shear(padded, axis, along, -slope, before - start, length)


def _shear_batch(
    values: Any, axes: Any, n: Int, *, axis: int, along: int, slope: int, start: Int, size: Int
) -> Any:
    return [_shear(front(values[0], axes[0]), axis + 1, along + 1, slope, start, size)], [0]


def _shear_infer(x: Any, *, axis: int, along: int, slope: int, start: Int, size: Int) -> Any:
    return (
        ArrayType(
            x.type.dtype, tuple(size if k == along else s for k, s in enumerate(x.type.shape))
        ),
    )


shear_op = linear(
    "shear",
    evaluate=_shear_evaluate,
    infer=_shear_infer,
    adjoint=_shear_adjoint,
    batch=_shear_batch,
    lowering=lower.View(_shear_index),
    doc=(
        "out[.., k, .., i, ..] = x[.., k, .., start + i + slope * k, ..]: "
        "row k of `axis` moved along another axis."
    ),
)


def _shear(x: Any, axis: int, along: int, slope: int, start: Int, size: Int) -> Any:
    return bind(
        shear_op, [x], {"axis": axis, "along": along, "slope": slope, "start": start, "size": size}
    )


def sheared(x: Any, along: int, size: Int) -> tuple[Any, dict[str, Any]]:
    """What shows the windows along an axis of an array that is repeated along a last one, as a step
    of a view: `out[.., i, .., k] = x[.., i + k, .., k]`, of which there are `size`."""
    last = len(shape_of(x)) - 1
    return shear_op, {"axis": last, "along": along, "slope": 1, "start": 0, "size": size}


def windows(x: Any, axis: int, size: int, step: int = 1, dilation: int = 1) -> Any:
    """The windows of `size` elements along an axis, as a new axis before it: `out[.., k, o, ..] =
    x[.., o * step + k * dilation, ..]`.

    Without a copy where NumPy runs it. Windows that would reach beyond the end are left out; there
    must be at least one.

    >>> import numpy as np
    >>> from tracegrad.ops.arrays.windows import windows
    >>> windows(np.arange(5.0), 0, 3)
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    """
    shape = shape_of(x)
    reach = shape[axis] - dilation * (size - 1)
    repeated = broadcast_to(expand_dims(x, axis), (*shape[:axis], size, *shape[axis:]))
    moved = _shear(repeated, axis, axis + 1, dilation, 0, reach)
    return moved if step == 1 else cut(moved, axis + 1, 0, (reach - 1) // step + 1, step)


def overlap(x: Any, axis: int, length: Int, step: int = 1, dilation: int = 1) -> Any:
    """The adjoint of `windows`: an axis of `length` elements, each the sum of what the windows
    (axes `axis`, `axis + 1`) hold of it."""
    shape = shape_of(x)
    size = shape[axis]
    reach = length - dilation * (size - 1)
    whole = (*shape[: axis + 1], reach, *shape[axis + 2 :])
    if step != 1:
        x = embed(
            x,
            whole,
            [0] * len(shape),
            [step if k == axis + 1 else 1 for k in range(len(shape))],
            absent=True,
        )
    before = dilation * (size - 1)
    around = (*shape[: axis + 1], reach + 2 * before, *shape[axis + 2 :])
    padded = embed(
        x, around, [before if k == axis + 1 else 0 for k in range(len(shape))], absent=True
    )
    return sum_axes(_shear(padded, axis, axis + 1, -dilation, before, length), (axis,))


OPS = (shear_op,)
