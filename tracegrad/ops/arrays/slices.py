"""Slices of an array, and an array as a slice of zeros: each is the other's adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...ir.dispatch import bind
from ...sizes import same
from ...types import ArrayType, Int, Shape, axes_of, normalize_axis
from ..define import as_array, linear, shape_of
from .shape import expand_dims, front, reshape


def _slice_evaluate(x: Any, *, start: Shape, size: Shape, step: tuple[int, ...]) -> Any:
    parts: list[Any] = []
    for b, n, s in zip(start, size, step, strict=True):
        end = b + n * s
        parts.append(slice(0, 0) if n == 0 else slice(b, end if end >= 0 else None, s))
    return np.asarray(x)[tuple(parts)]


def _slice_batch(
    values: Any, axes: Any, n: Int, *, start: Shape, size: Shape, step: tuple[int, ...]
) -> Any:
    return [
        bind(
            slice_op,
            [front(values[0], axes[0])],
            {"start": (0, *start), "size": (n, *size), "step": (1, *step)},
        )
    ], [0]


slice_op = linear(
    "slice",
    evaluate=_slice_evaluate,
    infer=lambda x, *, start, size, step: (ArrayType(x.type.dtype, tuple(size)),),
    adjoint=lambda ct, *, start, step, like: embed(ct, like.shape, start, step, absent=True),
    batch=_slice_batch,
    lowering=lower.View(
        lambda index, i, o, params: tuple(
            b + k * s for b, k, s in zip(params["start"], index, params["step"], strict=True)
        )
    ),
    view=True,
    doc="out[i] = x[start + i * step], `size` elements along each axis.",
)


def _select_batch(
    values: Any,
    axes: Any,
    n: Int,
    *,
    start: Shape,
    size: Shape,
    step: tuple[int, ...],
    shape: Shape,
) -> Any:
    params = {"start": (0, *start), "size": (n, *size), "step": (1, *step), "shape": (n, *shape)}
    return [bind(select_op, [front(values[0], axes[0])], params)], [0]


def _select_composed(
    x: Any, *, start: Shape, size: Shape, step: tuple[int, ...], shape: Shape
) -> Any:
    return reshape(slice_array(x, start, size, step), shape)


select_op = linear(
    "select",
    evaluate=lambda x, *, start, size, step, shape: slice_op.evaluate(
        x, start=start, size=size, step=step
    ).reshape(shape),
    infer=lambda x, *, start, size, step, shape: (ArrayType(x.type.dtype, tuple(shape)),),
    adjoint=lambda ct, *, start, size, step, like: embed(
        reshape(ct, size), like.shape, start, step, absent=True
    ),
    batch=_select_batch,
    composed=_select_composed,
    view=True,
    doc="A slice without some of its axes of size 1, or with new ones.",
)


def slice_array(x: Any, start: Sequence[Int], size: Sequence[Int], step: Sequence[int]) -> Any:
    """`out[i] = x[start + i * step]` along every axis."""
    if (
        tuple(size) == shape_of(x)
        and all(isinstance(b, int) and b == 0 for b in start)
        and all(s == 1 for s in step)
    ):
        return x
    return bind(slice_op, (x,), {"start": tuple(start), "size": tuple(size), "step": tuple(step)})


def cut(x: Any, axis: int, start: Int, size: Int, step: int = 1) -> Any:
    """`size` elements along one axis."""
    shape = shape_of(x)
    return slice_array(
        x,
        tuple(start if k == axis else 0 for k in range(len(shape))),
        tuple(size if k == axis else n for k, n in enumerate(shape)),
        tuple(step if k == axis else 1 for k in range(len(shape))),
    )


def _embed_evaluate(x: Any, *, shape: Any, start: Any, absent: bool) -> Any:
    x = np.asarray(x)
    out = np.zeros(shape, x.dtype)
    out[tuple([slice(b, b + n) for b, n in zip(start, x.shape, strict=True)])] = x
    return out


def _embed_boxes(in_shapes: Any, out_shape: Shape, params: dict[str, Any]) -> tuple[lower.Box, ...]:
    start = params["start"]
    hi = tuple(b + n for b, n in zip(start, in_shapes[0], strict=True))
    return (
        lower.Box(
            start, hi, 0, lambda index: tuple(i - b for i, b in zip(index, start, strict=True))
        ),
    )


def _embed_batch(
    values: Any, axes: Any, n: Int, *, shape: Shape, start: Shape, absent: bool
) -> Any:
    return [
        bind(
            embed_op,
            [front(values[0], axes[0])],
            {"shape": (n, *shape), "start": (0, *start), "absent": absent},
        )
    ], [0]


embed_op = linear(
    "embed",
    evaluate=_embed_evaluate,
    infer=lambda x, *, shape, start, absent: (ArrayType(x.type.dtype, tuple(shape)),),
    adjoint=lambda ct, *, start, like: slice_array(ct, start, like.shape, (1,) * len(start)),
    batch=_embed_batch,
    lowering=lower.Piecewise(_embed_boxes, absent=lambda params: bool(params["absent"])),
    doc=(
        "Zeros of `shape` with x from `start` on. Where they are `absent`, "
        "as in the adjoint of a slice, adding one adds nothing."
    ),
)


def embed(
    x: Any,
    shape: Sequence[Int],
    start: Sequence[Int],
    step: Sequence[int] | None = None,
    absent: bool = False,
) -> Any:
    """Zeros of `shape`, with `out[start + i * step] = x[i]`.

    Where the zeros are `absent`, as in adjoints, a compiled sum leaves them out: -0.0 plus one of
    them stays -0.0.
    """
    if step is None or all(s == 1 for s in step):
        return bind(embed_op, [x], {"shape": tuple(shape), "start": tuple(start), "absent": absent})
    # Other steps are built from unit ones: reverse for negative steps, spread by padding a new axis
    # behind each element.
    begin = list(start)
    for axis, s in enumerate(step):
        size = shape_of(x)[axis]
        if s < 0:
            begin[axis] = begin[axis] + (size - 1) * s
            x = flip(x, axis)
        if abs(s) > 1 and not same(size, 0):
            old = shape_of(x)
            spread = expand_dims(x, axis + 1)
            padded = embed(
                spread,
                (*old[: axis + 1], abs(s), *old[axis + 1 :]),
                (0,) * (len(old) + 1),
                absent=absent,
            )
            flat = reshape(padded, (*old[:axis], size * abs(s), *old[axis + 1 :]))
            x = slice_array(
                flat,
                (0,) * len(old),
                (*old[:axis], (size - 1) * abs(s) + 1, *old[axis + 1 :]),
                (1,) * len(old),
            )
    return embed(
        x,
        shape,
        [b if n != 0 else 0 for b, n in zip(begin, shape_of(x), strict=True)],
        absent=absent,
    )


def flip(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The elements in reverse order along one, several or all axes."""
    x = as_array(x)
    shape = shape_of(x)
    axes = (
        range(len(shape))
        if axis is None
        else [normalize_axis(a, len(shape)) for a in axes_of(axis)]
    )
    start = tuple(s - 1 if k in axes else 0 for k, s in enumerate(shape))
    return slice_array(x, start, shape, tuple(-1 if k in axes else 1 for k in range(len(shape))))


OPS = (slice_op, select_op, embed_op)
