"""Operations that rearrange: reshape, transpose, broadcasting, slices and their adjoints,
concatenation."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..._codegen import integers
from ..._codegen import lowering as lower
from ...checks import REFUSED, explained_here
from ...dtypes import INT64, UINT64
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Types
from ...sizes import INTEGRAL, OF_SHAPES, SIZES, meeting, numel, same, same_shape, seen
from ...types import ArrayType, Int, Shape, axes_of, broadcast_shapes, normalize_axis, show
from ..define import linear, ndim_of, of_list, shape_of

# --- reshape --------------------------------------------------------------------------------------


def _reshape_infer(x: Any, *, shape: Shape) -> Types:
    if not same(x.type.size, integers.product(shape)):
        raise ShapeError(
            f"cannot reshape an array of shape {show(x.type.shape)} ({x.type.size} "
            f"elements) into {show(shape)}"
        )
    return (ArrayType(x.type.dtype, shape),)


def _reshape_index(
    index: Shape, in_shape: Shape, out_shape: Shape, params: dict[str, Any]
) -> Shape:
    """The input index of an output index: through the flat position, except where both shapes agree
    up to axes of size 1."""
    long = [[s for s in shape if not same(s, 1)] for shape in (in_shape, out_shape)]
    if same_shape(*long):
        kept = iter([i for i, s in zip(index, out_shape, strict=True) if not same(s, 1)])
        return tuple(0 if same(s, 1) else next(kept) for s in in_shape)
    flat: Int = 0
    for i, s in zip(index, out_shape, strict=True):
        flat = flat * s + i
    result: list[Int] = []
    for s in reversed(in_shape):
        result.append(flat % s)
        flat = flat // s
    return tuple(reversed(result))


reshape_op = linear(
    "reshape",
    evaluate=lambda x, *, shape: (x if isinstance(x, np.ndarray) else np.asarray(x)).reshape(shape),
    infer=_reshape_infer,
    adjoint=lambda ct, *, like: reshape(ct, like.shape),
    batch=lambda values, axes, size, *, shape: (
        [reshape(front(values[0], axes[0]), (size, *shape))],
        [0],
    ),
    lowering=lower.View(_reshape_index, reshape=True),
    view=True,
    passes=0,
    doc="The same elements in C order under another shape.",
)


def reshape(x: Any, shape: int | Sequence[Int]) -> Any:
    """The same elements in C order under another shape; one entry may be -1.

    >>> import tracegrad as tg
    >>> tg.reshape(tg.arange(6), (2, -1)).shape
    (2, 3)
    """
    try:
        given = (shape,) if isinstance(shape, INTEGRAL) else tuple(shape)
        params = reshaped(shape_of(x), given)
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    return x if params is None else bind(reshape_op, (x,), params)


def reshaped(old: Shape, given: tuple[Any, ...]) -> dict[str, Any] | None:
    """The parameters for another shape; None where it is the shape that is there."""
    # Running code asks for the same few again and again; what is found for symbolic sizes holds for
    # one trace.
    return _reshaped(old, given) if SIZES.open else _known_reshaped(old, given)


def _reshaped(old: Shape, given: tuple[Any, ...]) -> dict[str, Any] | None:
    new: Shape = tuple([seen(s) if isinstance(s, OF_SHAPES) else operator.index(s) for s in given])
    if new == old:
        return None
    at = next((k for k, s in enumerate(new) if isinstance(s, int) and s == -1), None)
    if at is not None:
        known = numel([*new[:at], *new[at + 1 :]])
        total = numel(old)
        if same(known, 0) or not same(known * (total // known), total):
            raise ShapeError(
                f"cannot reshape an array of shape {show(old)} into {show(new)}: "
                f"{total} elements do not divide by {known}"
            )
        new = (*new[:at], total // known, *new[at + 1 :])
        if new == old:
            return None
    return {"shape": new}


_known_reshaped = lru_cache(maxsize=4096)(_reshaped)


def expand_dims(x: Any, axis: int | Sequence[int]) -> Any:
    """New axes of size 1 at these positions of the result."""
    x, axes = of_list(x), axes_of(axis)
    if len(axes) == 1:
        old_shape = shape_of(x)
        at = normalize_axis(axes[0], len(old_shape) + 1)
        return reshape(x, (*old_shape[:at], 1, *old_shape[at:]))
    ndim = ndim_of(x) + len(axes)
    places = {normalize_axis(a, ndim) for a in axes}
    if len(places) != len(axes):
        raise ShapeError(f"repeated axis in {axes}")
    old = iter(shape_of(x))
    return reshape(x, tuple(1 if k in places else next(old) for k in range(ndim)))


def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Without axes of size 1: all of them, or the given ones."""
    x = of_list(x)
    shape = shape_of(x)
    if axis is None or (not shape and isinstance(axis, (int, np.integer)) and axis in (0, -1)):
        axes = [k for k, s in enumerate(shape) if same(s, 1)]
    else:
        axes = [normalize_axis(a, len(shape)) for a in axes_of(axis)]
    for a in axes:
        if not same(shape[a], 1):
            raise ShapeError(
                f"cannot squeeze axis {a} of an array of shape {show(shape)}: "
                f"its size is {shape[a]}, not 1"
            )
    return reshape(x, tuple(s for k, s in enumerate(shape) if k not in axes))


# --- transpose ------------------------------------------------------------------------------------

transpose_op = linear(
    "transpose",
    evaluate=lambda x, *, axes: (x if isinstance(x, np.ndarray) else np.asarray(x)).transpose(axes),
    infer=lambda x, *, axes: (ArrayType(x.type.dtype, tuple(x.type.shape[a] for a in axes)),),
    adjoint=lambda ct, *, axes: transpose(ct, tuple(int(a) for a in np.argsort(axes))),
    batch=lambda values, ax, size, *, axes: (
        [transpose(front(values[0], ax[0]), (0, *[a + 1 for a in axes]))],
        [0],
    ),
    lowering=lower.View(
        lambda index, i, o, params: tuple(index[params["axes"].index(k)] for k in range(len(index)))
    ),
    view=True,
    doc="The axes in another order.",
)


def front(x: Any, axis: int) -> Any:
    """`x` with its batch axis first."""
    return (
        x
        if axis == 0
        else bind(transpose_op, [x], {"axes": (axis, *[k for k in range(ndim_of(x)) if k != axis])})
    )


@lru_cache(maxsize=64)
def backwards(ndim: int) -> dict[str, Any]:
    """The parameters of a transpose that reverses all axes."""
    return {"axes": tuple(range(ndim - 1, -1, -1))}


def transpose(x: Any, axes: Sequence[int] | None = None) -> Any:
    """The axes in the given order (reversed by default)."""
    x = of_list(x)
    ndim = ndim_of(x)
    if axes is None:
        return x if ndim < 2 else bind(transpose_op, (x,), backwards(ndim))
    try:
        order = tuple([normalize_axis(a, ndim) for a in axes])
        same_order = list(range(ndim))
        if sorted(order) != same_order:
            raise ShapeError(
                f"axes {tuple(axes or ())} are no permutation of the {ndim} axes of an array of "
                f"shape {show(shape_of(x))}"
            )
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    return x if list(order) == same_order else bind(transpose_op, (x,), {"axes": order})


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Axes `source` at positions `destination`, the others in their order."""
    x = of_list(x)
    ndim = ndim_of(x)
    src = [normalize_axis(a, ndim) for a in axes_of(source)]
    dst = [normalize_axis(a, ndim) for a in axes_of(destination)]
    order = [a for a in range(ndim) if a not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return transpose(x, order)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    x = of_list(x)
    ndim = ndim_of(x)
    order = list(range(ndim))
    a, b = normalize_axis(axis1, ndim), normalize_axis(axis2, ndim)
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


# --- broadcasting ---------------------------------------------------------------------------------


def _broadcast_infer(x: Any, *, shape: Shape) -> Types:
    if not same_shape(broadcast_shapes(x.type.shape, shape), shape):
        raise ShapeError(
            f"an array of shape {show(x.type.shape)} cannot be broadcast to {show(shape)}"
        )
    return (ArrayType(x.type.dtype, tuple(shape)),)


def _broadcast_index(
    index: Shape, in_shape: Shape, out_shape: Shape, params: dict[str, Any]
) -> Shape:
    return tuple(
        0 if same(s, 1) else i
        for i, s in zip(index[len(out_shape) - len(in_shape) :], in_shape, strict=True)
    )


def _broadcast_batch(values: Any, axes: Any, size: Int, *, shape: Shape) -> Any:
    x = front(values[0], axes[0])
    missing = len(shape) - (ndim_of(x) - 1)
    x = expand_dims(x, tuple(range(1, 1 + missing))) if missing else x
    return [broadcast_to(x, (size, *shape))], [0]


def _broadcast_evaluate(x: Any, *, shape: tuple[int, ...]) -> Any:
    if getattr(x, "shape", ()):
        return np.broadcast_to(x, shape)
    # One number everywhere, as in the gradient of every sum: NumPy's own function takes 5 us to
    # make this view.
    value = np.array(x)
    if value.ndim:
        return np.broadcast_to(value, shape)
    result: Any = np.ndarray(shape, value.dtype, value, 0, (0,) * len(shape))
    result.flags.writeable = False
    return result


broadcast_to_op = linear(
    "broadcast_to",
    evaluate=_broadcast_evaluate,
    infer=_broadcast_infer,
    adjoint=lambda ct, *, like: sum_to(ct, like.shape),
    batch=_broadcast_batch,
    lowering=lower.View(_broadcast_index),
    passes=0,
    doc="Axes of size 1, and new leading axes, repeated without copying.",
)


def broadcast_to(x: Any, shape: int | Sequence[Int]) -> Any:
    """`x` with axes of size 1, and new leading axes, repeated (without copying)."""
    try:
        target = (shape,) if isinstance(shape, OF_SHAPES) else tuple(shape)
        if getattr(x, "shape", None) == target:
            return x
        meet = meeting()
        met = None if meet is None else meet.to(x, target)
        return bind(broadcast_to_op, (x if met is None else met,), {"shape": target})
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def sum_to(x: Any, shape: Sequence[Int]) -> Any:
    """Sum over the axes that broadcasting `shape` to x's shape would repeat: the adjoint of
    `broadcast_to`."""
    old, new = shape_of(x), tuple(shape)
    extra = len(old) - len(new)
    if not extra and old == new:
        return x
    axes = (
        *range(extra),
        *[
            extra + k
            for k, s in enumerate(new)
            if isinstance(s, int) and s == 1 and not same(old[extra + k], 1)
        ],
    )
    if not axes:
        return reshape(x, new)
    summed = sum_axes(x, axes)
    return summed if type(x) is np.ndarray and len(axes) == extra else reshape(summed, new)


def _sum_infer(x: Any, *, axes: tuple[int, ...]) -> Types:
    kind = x.type.dtype
    dtype = (UINT64 if kind.kind == "u" else INT64) if kind.kind in "biu" else kind
    return (ArrayType(dtype, tuple(s for k, s in enumerate(x.type.shape) if k not in axes)),)


def _sum_adjoint(ct: Any, *, axes: tuple[int, ...], like: ArrayType) -> Any:
    shape = like.shape
    if len(axes) == len(shape):
        return broadcast_to(ct, shape)
    return broadcast_to(reshape(ct, [1 if k in axes else s for k, s in enumerate(shape)]), shape)


sum_op = linear(
    "sum",
    evaluate=lambda x, *, axes: np.add.reduce(x, axes),
    infer=_sum_infer,
    adjoint=_sum_adjoint,
    batch=lambda values, ax, size, *, axes: (
        [sum_axes(front(values[0], ax[0]), tuple(a + 1 for a in axes))],
        [0],
    ),
    lowering=lower.Reduce("add", 0),
    doc="Sum over axes: the adjoint of broadcasting. Booleans and integers are summed in 64 bits.",
)


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Sum over these (normalized) axes, which disappear."""
    return bind(sum_op, (x,), {"axes": axes})


OPS = (reshape_op, transpose_op, broadcast_to_op, sum_op)
