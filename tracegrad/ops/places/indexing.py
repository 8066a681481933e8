"""Indexing as NumPy does it: x[key], functional writes through a key, and taking along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import STATE, Value, bind
from ...ir.op import Op, Types, op
from ...sizes import SYMBOLIC, meeting, same
from ...sizes.size import known_empty
from ...types import Int, Shape, broadcast_shapes, show
from ..arrays.shape import broadcast_to, front, reshape
from ..arrays.slices import embed, flip, select_op, slice_array
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import where
from ..elementwise.derived import add, convert, fitted
from .gathering import MOST, Placed, Places, add_at, gather_at, put_at
from .keys import (
    ReadingPlan,
    check_mask,
    concrete,
    hashable,
    known_plan,
    make_plan,
    of_places,
    only_new_axes,
)
from .positions import result_shape

# --- writing a box --------------------------------------------------------------------------------


def _put_evaluate(x: Any, y: Any, *, start: tuple[int, ...]) -> Any:
    out = np.array(x)
    out[tuple(slice(b, b + n) for b, n in zip(start, np.shape(y), strict=True))] = y
    return out


def _put_infer(x: Any, y: Any, *, start: Shape) -> Types:
    if len(x.type.shape) != len(y.type.shape):
        shapes = (
            f"{show(y.type.shape)} cannot be written into an array of shape {show(x.type.shape)}"
        )
        raise ShapeError(f"values of shape {shapes}: the ranks differ")
    return (x.type,)


def _put_boxes(in_shapes: Any, out_shape: Shape, params: dict[str, Any]) -> tuple[lower.Box, ...]:
    """The written box, and around it two boxes of x per axis, before and behind, within the written
    range of earlier axes."""
    start = params["start"]
    stop = tuple(b + n for b, n in zip(start, in_shapes[1], strict=True))
    boxes = [
        lower.Box(
            start, stop, 1, lambda index: tuple(i - b for i, b in zip(index, start, strict=True))
        )
    ]
    for axis, size in enumerate(out_shape):
        for lo, hi in ((0, start[axis]), (stop[axis], size)):
            if not (isinstance(lo, int) and isinstance(hi, int) and lo == hi):
                low = (*start[:axis], lo, *[0] * (len(out_shape) - axis - 1))
                boxes.append(
                    lower.Box(
                        low, (*stop[:axis], hi, *out_shape[axis + 1 :]), 0, lambda index: index
                    )
                )
    return tuple(boxes)


def _put_batch(values: Any, at: Any, size: Int, *, start: Shape) -> Any:
    parts = [
        broadcast_to(v, (size, *shape_of(v))) if k is None else front(v, k)
        for v, k in zip(values, at, strict=True)
    ]
    return [bind(slice_put_op, parts, {"start": (0, *start)})], [0]


def _put_jvp(tangents: Any, inputs: Any, outs: Any, *, start: Shape) -> list[Any]:
    parts = [
        broadcast_to(x.dtype.type(0), shape_of(x)) if t is None else t
        for t, x in zip(tangents, inputs, strict=True)
    ]
    return [bind(slice_put_op, parts, {"start": start})]


slice_put_op: Op = op(
    "slice_put",
    ["x", "y"],
    evaluate=_put_evaluate,
    infer=_put_infer,
    vjp=[
        lambda ct, y, *, start: bind(
            slice_put_op, [ct, broadcast_to(ct.dtype.type(0), shape_of(y))], {"start": start}
        ),
        lambda ct, *, start, like: slice_array(ct, start, like.shape, (1,) * len(start)),
    ],
    jvp=_put_jvp,
    batch=_put_batch,
    lowering=lower.Piecewise(_put_boxes),
    doc="x with y in the box that begins at `start`.",
)


def slice_put(x: Any, y: Any, start: Sequence[Int], step: Sequence[int]) -> Any:
    """x with `out[start + i * step] = y[i]`; y has x's rank and dtype."""
    size = shape_of(y)
    if known_empty(*size):
        return x
    backwards = tuple(k for k, s in enumerate(step) if s < 0)
    if all(abs(s) == 1 for s in step):
        begin = tuple(
            b - (n - 1) if s < 0 else b for b, n, s in zip(start, size, step, strict=True)
        )
        y = flip(y, backwards) if backwards else y
        return (
            y
            if all(same(m, n) for m, n in zip(size, shape_of(x), strict=True))
            else bind(slice_put_op, [x, y], {"start": begin})
        )
    written = embed(broadcast_to(np.True_, size), shape_of(x), start, step)
    return where(written, embed(y, shape_of(x), start, step), x)


def _basic(x: Any, plan: ReadingPlan) -> Any:
    if plan.shape != plan.size and not only_new_axes(shape_of(x), plan):
        return bind(
            select_op,
            (x,),
            {"start": plan.start, "size": plan.size, "step": plan.step, "shape": plan.shape},
        )
    view = slice_array(x, plan.start, plan.size, plan.step)
    return view if plan.shape == plan.size else reshape(view, plan.shape)


def _plain(x: Any, key: Any) -> bool:
    """Whether NumPy alone can answer."""
    if STATE.traces or not isinstance(x, np.ndarray):
        return False
    return not any(
        isinstance(item, (Value, *SYMBOLIC)) for item in (key if isinstance(key, tuple) else (key,))
    )


def getitem(x: Any, key: Any) -> Any:
    """`x[key]` with NumPy's meaning: integers, slices, None, ..., integer arrays (which may be
    traced), and boolean masks of known value.

    The ends of a slice may be traced where their difference is known, as in `x[i - 1:i + 2]`; both
    must then be inside the axis. Raises IndexError where an index is out of range,
    ConcretizationError for a traced mask and a slice of unknown size.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.getitem(np.arange(6).reshape(2, 3), (slice(None), [0, 2]))
    array([[0, 2],
           [3, 5]])
    """
    if _plain(x, key):
        return x[key]
    x = as_array(x)
    known = None if STATE.traces else hashable(key)
    plan = make_plan(shape_of(x), key) if known is None else known_plan(shape_of(x), known)
    view = _basic(x, plan)
    if not plan.indices:
        return view
    found = gather_at(view, plan.indices, *plan.places())
    if not (
        STATE.traces
        and len(plan.indices) <= MOST
        and isinstance(view, Value)
        and all(ndim_of(i) == 0 for i in plan.indices)
    ):
        return found
    # To NumPy this is a basic key, which gives a view.
    return view._viewed(Placed(plan.indices), view, Places(*plan.places()).params(), found)


# --- writing through a key ------------------------------------------------------------------------


def as_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """What is to be written, in the dtype of the target; an error for a number of Python's that
    it does not hold."""
    if type(value) is complex and dtype.kind != "c":
        raise DTypeError(
            f"the complex number {value} cannot be written into an array of "
            f"{dtype}; write its real part"
        )
    if isinstance(value, float) and dtype.kind in "iu" and not math.isfinite(value):
        raise ValueError(f"{value} has no {dtype}, and cannot be written into an array of it")
    return convert(as_array(fitted(value, dtype, "a write")), dtype)


def as_value(value: Any, like: Any, shape: Shape) -> Any:
    """What is to be written, in the dtype of the target and broadcast to the written places."""
    value = as_element(value, like.dtype)
    while ndim_of(value) > len(shape) and same(shape_of(value)[0], 1):
        value = reshape(value, shape_of(value)[1:])
    if (meet := meeting()) is not None and (met := meet.to(value, shape)) is not None:
        value = met
    if broadcast_or_none(shape_of(value), shape) is None:
        raise ShapeError(
            f"values of shape {show(shape_of(value))} cannot be written to indexed places "
            f"of shape {show(shape)}"
        )
    return broadcast_to(value, shape)


def broadcast_or_none(shape: Shape, target: Shape) -> Shape | None:
    """`target` where `shape` broadcasts to it."""
    try:
        found = broadcast_shapes(shape, target)
    except ShapeError:
        return None
    return (
        target
        if len(found) == len(target) and all(same(m, n) for m, n in zip(found, target, strict=True))
        else None
    )


def _sole_mask(key: Any) -> Any:
    """The mask where the key is one boolean array (and perhaps `...` behind it), else None."""
    if isinstance(key, tuple):
        key = key[0] if len(key) == 1 or (len(key) == 2 and key[1] is Ellipsis) else None
    if isinstance(key, list):
        key = of_places(key)
    elif isinstance(key, np.ndarray):
        key = np.asarray(key)
    return key if getattr(key, "dtype", None) == np.bool_ and ndim_of(key) > 0 else None


def _masked(x: Any, mask: Any, value: Any) -> Any:
    """x where the mask does not hold, `value` where it does; None where the value lists an element
    per true entry, and where the mask is empty and x is not."""
    shape, depth = shape_of(x), ndim_of(mask)
    if depth > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, "
            f"but the mask has {depth} dimensions"
        )
    check_mask(mask, shape, 0, nothing=True)
    if any(not same(m, n) for m, n in zip(shape_of(mask), shape, strict=False)):
        return None
    value = as_array(fitted(value, x.dtype, "a write"))
    rest = len(shape) - depth
    if ndim_of(value) > rest:
        if ndim_of(value) != rest + 1 or not (
            isinstance(shape_of(value)[0], int) and shape_of(value)[0] == 1
        ):
            return None
        value = reshape(value, shape_of(value)[1:])
    return where(
        reshape(mask, (*shape_of(mask), *[1] * rest)), as_value(value, x, shape[depth:]), x
    )


def index_update(x: Any, key: Any, value: Any) -> Any:
    """A new array: x after `x[key] = value`, differentiable in x and value. Of several values for
    one place the last stays.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_update(np.zeros(4), slice(1, 3), 5.0)
    array([0., 5., 5., 0.])
    """
    x = as_array(x)
    mask = _sole_mask(key)
    if mask is not None:
        chosen = _masked(x, mask, value)
        if chosen is not None:
            return chosen
    return written(x, key, value, put_at)


def index_add_at(x: Any, key: Any, value: Any) -> Any:
    """A new array: x with value added at `x[key]`; a place named twice receives both (np.add.at).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_add_at(np.zeros(3), [0, 0, 2], 1.0)
    array([2., 0., 1.])
    """
    return written(as_array(x), key, value, add_at, add)


def written(
    x: Any,
    key: Any,
    value: Any,
    write: Callable[..., Any],
    combine: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """A new array: x with what `write` makes of `x[key]` and value at index arrays, and `combine`
    elsewhere (None: the value)."""
    plan = make_plan(shape_of(x), key)
    view = _basic(x, plan) if plan.indices or combine else None
    if plan.indices:
        value = as_value(
            value,
            x,
            result_shape(
                plan.shape,
                [tuple(shape_of(i)) for i in plan.indices],
                Places(*plan.places()).params(),
            ),
        )
        view = write(view, value, plan.indices, *plan.places())
    else:
        value = as_value(value, x, plan.shape)
        view = combine(view, value) if combine else value
    if all(same(m, n) for m, n in zip(plan.size, shape_of(x), strict=True)) and all(
        s == 1 for s in plan.step
    ):
        return reshape(view, shape_of(x))
    return slice_put(x, reshape(view, plan.size), plan.start, plan.step)


def nonzero(x: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """The indices of the elements that are not zero, one array per axis. Needs known values: a
    traced array is refused.

    >>> import tracegrad as tg
    >>> tg.nonzero([0, 3, 0, 5])
    (array([1, 3]),)
    """
    return np.nonzero(
        concrete(
            x,
            "nonzero",
            "The result's size would depend on the data: use tg.where(condition, a, b) instead.",
        )
    )


OPS = (slice_put_op,)
