"""Arrays joined along an axis that is there, or along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...dtypes import promote
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Types, op, operand_kinds
from ...sizes import meeting, same
from ...types import ArrayType, Int, Shape, normalize_axis, show
from ..define import in_order, ndim_of, of_list, of_shape, shape_of
from ..elementwise.derived import convert
from .shape import broadcast_to, expand_dims, front, reshape, reshape_op, reshaped
from .slices import slice_array


def _concatenate_infer(*xs: Any, axis: int) -> Types:
    first = xs[0].type.shape
    total: Int = 0
    for x in xs:
        shape = x.type.shape
        if len(shape) != len(first) or any(
            not same(a, b) for k, (a, b) in enumerate(zip(shape, first, strict=True)) if k != axis
        ):
            raise ShapeError(
                f"cannot concatenate shapes {' and '.join(show(y.type.shape) for y in xs)} along "
                f"axis {axis}: all other axes must agree"
            )
        total = total + shape[axis]
    return (ArrayType(promote(*operand_kinds(xs)), (*first[:axis], total, *first[axis + 1 :])),)


def _behind(lo: tuple[Int, ...], index: tuple[Int, ...]) -> tuple[Int, ...]:
    """An index of the result as one of the part that starts at `lo`."""
    return tuple(i - b for i, b in zip(index, lo, strict=True))


def _concatenate_boxes(
    in_shapes: Any, out_shape: Shape, params: dict[str, Any]
) -> tuple[lower.Box, ...]:
    axis, offset, boxes = params["axis"], 0, []
    for k, shape in enumerate(in_shapes):
        lo = tuple(offset if a == axis else 0 for a in range(len(out_shape)))
        hi = tuple(offset + shape[axis] if a == axis else s for a, s in enumerate(out_shape))
        boxes.append(lower.Box(lo, hi, k, partial(_behind, lo)))
        offset = offset + shape[axis]
    return tuple(boxes)


def _concatenate_vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, axis: int) -> list[Any]:
    ct, offset, result = cts[0], 0, []
    for x, want in zip(inputs, wanted, strict=True):
        shape = shape_of(x)
        if want:
            start = tuple(offset if a == axis else 0 for a in range(len(shape)))
            result.append(convert_like(slice_array(ct, start, shape, (1,) * len(shape)), x))
        else:
            result.append(None)
        offset = offset + shape[axis]
    return result


def convert_like(ct: Any, x: Any) -> Any:
    """A cotangent in the dtype of the value it belongs to."""
    from_dtype, to_dtype = ct.dtype, x.dtype
    if from_dtype == to_dtype:
        return ct
    return convert(ct, to_dtype)


def _concatenate_jvp(tangents: Any, inputs: Any, outs: Any, *, axis: int) -> list[Any]:
    parts = [
        broadcast_to(outs[0].dtype.type(0), shape_of(x)) if t is None else t
        for t, x in zip(tangents, inputs, strict=True)
    ]
    return [bind(concatenate_op, parts, {"axis": axis})]


def _concatenate_batch(values: Any, axes: Any, size: Int, *, axis: int) -> Any:
    parts = [
        broadcast_to(expand_dims(v, 0), (size, *shape_of(v))) if a is None else front(v, a)
        for v, a in zip(values, axes, strict=True)
    ]
    return [bind(concatenate_op, parts, {"axis": axis + 1})], [0]


concatenate_op = op(
    "concatenate",
    ["xs"],
    evaluate=lambda *xs, axis: np.concatenate(xs, axis),
    infer=_concatenate_infer,
    vjp=_concatenate_vjp,
    jvp=_concatenate_jvp,
    batch=_concatenate_batch,
    lowering=lower.Piecewise(_concatenate_boxes),
    variadic=True,
    types_only=("xs", "out"),
    doc="Arrays joined along an axis.",
)


def _parts(arrays: Sequence[Any]) -> list[Any]:
    parts = list(arrays) if type(arrays) is list else in_order(arrays)
    if any(isinstance(x, (list, tuple)) for x in parts):
        return [of_list(x) for x in parts]
    return parts


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays joined along an existing axis (flattened first where `axis` is None)."""
    parts = _parts(arrays)
    if not parts:
        raise ShapeError("concatenate needs at least one array")
    if axis is None:
        parts, axis = [reshape(x, -1) for x in parts], 0
    if any(ndim_of(x) == 0 for x in parts):
        raise ShapeError(
            "zero-dimensional arrays cannot be concatenated; use stack, or reshape them to (1,)"
        )
    axis = normalize_axis(axis, ndim_of(parts[0]))
    return bind(concatenate_op, _beside(parts, axis), {"axis": axis})


def _beside(parts: list[Any], axis: int) -> list[Any]:
    """The parts with all other axes as long as the first's, where only a run knows it."""
    if meeting() is None:
        return parts
    first = shape_of(parts[0])
    found = []
    for k, x in enumerate(parts):
        shape = (*first[:axis], *shape_of(x)[axis : axis + 1], *first[axis + 1 :])
        text = f"of the arrays to join, 0 and {k} differ in length along another axis than {axis}"
        fit = of_shape(x, shape, text)
        found.append(x if fit is None else fit)
    return found


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    parts = _parts(arrays)
    if not parts:
        raise ShapeError("stack needs at least one array")
    shapes = [shape_of(x) for x in parts]
    if meeting() is None and any(s != shapes[0] for s in shapes):
        raise ShapeError(f"stack needs arrays of one shape, got {' and '.join(map(show, shapes))}")
    first = shapes[0]
    where = normalize_axis(axis, len(first) + 1)
    if meeting() is not None:
        return concatenate([expand_dims(x, where) for x in parts], where)
    # All have one shape, so what the two would ask of each part is known.
    params = reshaped(first, (*first[:where], 1, *first[where:]))
    assert params is not None
    rows = [bind(reshape_op, (x,), params) for x in parts]
    return bind(concatenate_op, rows, {"axis": where})


OPS = (concatenate_op,)
