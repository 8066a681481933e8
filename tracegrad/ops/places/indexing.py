"""Indexing as NumPy does it: x[key], functional writes through a key, and taking along an axis."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..._codegen import integers
from ..._codegen import lowering as lower
from ...devices import to_host
from ...errors import ConcretizationError, DTypeError, ShapeError
from ...ir.dispatch import STATE, Value, bind
from ...ir.graph import Var
from ...ir.op import Op, Types, op
from ...ir.trace import is_left_over, left_over, user_line
from ...types import Int, Shape, broadcast_shapes, same, show
from ..arrays.shape import (
    broadcast_to,
    embed,
    flip,
    reshape,
    reshape_op,
    select_op,
    slice_array,
    slice_op,
)
from ..define import as_array, front, ndim_of, shape_of
from ..elementwise.arithmetic import add, convert, where
from .gathering import (
    MOST,
    Placed,
    Places,
    Window,
    Windows,
    add_at,
    gather_at,
    put_at,
    result_shape,
)
from .spans import has_traced_ends, slice_part, span

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
    if any(isinstance(n, int) and n == 0 for n in size):
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


# --- reading a key --------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A key in three steps: a slice of x, its `shape` without the axes of integers and with new
    axes, index arrays into that."""

    start: Shape
    size: Shape
    step: tuple[int, ...]
    shape: Shape
    indices: tuple[Any, ...]
    axes: tuple[int, ...]
    at: int
    unique: bool
    windows: Windows

    def places(self) -> tuple[Any, ...]:
        """Where the index arrays point, as gather_at, add_at and put_at take it."""
        return self.axes, self.at, (), self.unique, self.windows


def concrete(x: Any, asked: str, instead: str) -> np.ndarray[Any, Any]:
    """The values of x, or a ConcretizationError where x is traced."""
    if not isinstance(x, Value):
        return np.asarray(x)
    if isinstance(x._data, Var):
        if is_left_over(x._data):
            raise left_over(x._data)
        raise ConcretizationError(
            f"{user_line()}: {asked} needs the values of a traced array ({x._data.type}), which are not known while the function "
            f"is traced. {instead}"
        )
    if x._base is not None:
        x._refresh()
    return np.asarray(to_host(x._data))


def _nonzero(mask: Any) -> tuple[np.ndarray[Any, Any], ...]:
    instead = (
        "The result's size would depend on the data: use tg.where(mask, x, 0), or a reduction's where= argument, or compute the "
        "mask from static values."
    )
    return np.nonzero(concrete(mask, "indexing with a boolean mask", instead))


def _entry(item: Any) -> Any:
    """One part of a key as None, Ellipsis, slice, integer, or an index array (with dtype)."""
    if item is None or item is Ellipsis or isinstance(item, (slice, integers.Integer)):
        return item
    if isinstance(item, (bool, np.bool_, int, np.integer)):
        return np.asarray(item) if isinstance(item, (bool, np.bool_)) else int(item)
    if isinstance(item, (list, tuple, range)):
        if any(part is None or part is Ellipsis or isinstance(part, slice) for part in item):
            raise IndexError(
                "an index must be an integer, a slice, None, ..., or an array. Several indices are a tuple, not a list."
            )
        # An empty list means no elements, of integer kind; boxed entries are joined by the caller's
        # own stack.
        item = as_array(item)
        item = item.astype(np.int64) if item.size == 0 else item
    if not hasattr(item, "dtype"):
        if hasattr(item, "__index__"):
            return operator.index(item)
        raise IndexError(
            f"an index must be an integer, a slice, None, ..., or an array of integers or booleans, not {type(item).__name__}"
        )
    if item.dtype.kind not in "biu":
        raise IndexError(
            f"arrays used as indices must be of integer or boolean dtype, not {item.dtype}. Convert with .astype(int)."
        )
    if (
        ndim_of(item) == 0
        and item.dtype.kind != "b"
        and not (isinstance(item, Value) and (STATE.traces or isinstance(item._data, Var)))
    ):
        return int(concrete(item, "", ""))
    return item


def _bound(value: Any, size: Int, default: Int, low: Int, high: Int) -> Int:
    """One end of a slice, clipped to [low, high]."""
    if value is None:
        return default
    place: Int = value if isinstance(value, integers.Integer) else slice_part(value)
    place = place + size if place < 0 else place
    return low if place < low else high if place > high else place


def _slice_range(item: slice, size: Int) -> tuple[Int, Int, int]:
    """start, number of elements, step."""
    step = 1 if item.step is None else slice_part(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        start, stop = _bound(item.start, size, 0, 0, size), _bound(item.stop, size, size, 0, size)
        span = stop - start
    else:
        start, stop = (
            _bound(item.start, size, size - 1, -1, size - 1),
            _bound(item.stop, size, -1, -1, size - 1),
        )
        span = start - stop
    if span <= 0:
        return 0, 0, 1
    return start, (span + abs(step) - 1) // abs(step), step


def _integer_place(item: Int, size: Int, axis: int) -> Int:
    if item < 0:
        if item + size < 0:
            raise IndexError(f"index {item} is out of bounds for axis {axis} with size {size}")
        return item + size
    if item >= size:
        raise IndexError(f"index {item} is out of bounds for axis {axis} with size {size}")
    return item


def _check_mask(mask: Any, shape: Shape, axis: int) -> None:
    for k, n in enumerate(shape_of(mask)):
        if axis + k < len(shape) and not same(shape[axis + k], n):
            raise IndexError(
                f"boolean index did not match the indexed array along axis {axis + k}: its size is {shape[axis + k]}, the mask's is {n}"
            )


def make_plan(shape: Shape, key: Any) -> Plan:
    """What the key means for an array of this shape."""
    entries = [_entry(item) for item in (key if isinstance(key, tuple) else (key,))]
    used = sum(
        0
        if e is None or e is Ellipsis
        else ndim_of(e)
        if hasattr(e, "dtype") and e.dtype.kind == "b"
        else 1
        for e in entries
    )
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed"
        )
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    start: list[Int] = []
    size: list[Int] = []
    step: list[int] = []
    result: list[Int] = []
    indices: list[Any] = []
    axes: list[int] = []
    runs: list[
        int
    ] = []  # positions in the key of integers and index arrays: where the block goes depends on their neighbourhood
    windows: list[Window | None] = []
    at = -1
    masks = 0

    def whole(n: Int) -> None:
        start.append(0)
        size.append(n)
        step.append(1)
        result.append(n)

    for place, e in enumerate(entries):
        axis = len(start)
        if e is None:
            result.append(1)
        elif e is Ellipsis:
            for n in shape[axis : axis + len(shape) - used]:
                whole(n)
        elif isinstance(e, slice):
            found = span(e) if has_traced_ends(e) else e
            if isinstance(found, slice):
                b, n, s = _slice_range(found, shape[axis])
                start.append(b)
                size.append(n)
                step.append(s)
                result.append(n)
            else:
                axes.append(len(result))
                indices.append(found[0])
                windows.append(found[1])
                whole(shape[axis])
        else:
            at = len(result) - windows.count(None) if at < 0 else at
            runs.append(place)
            if not hasattr(e, "dtype"):
                start.append(_integer_place(e, shape[axis], axis))
                size.append(1)
                step.append(1)
            elif e.dtype.kind == "b" and ndim_of(e) == 0:
                masks += 2
                axes.append(len(result))
                result.append(1)
                indices.append(
                    np.zeros(
                        int(bool(concrete(e, "indexing with a boolean", "Use tg.where."))), np.int64
                    )
                )
                windows.append(None)
            elif e.dtype.kind == "b":
                masks += 1
                _check_mask(e, shape, axis)
                for places in _nonzero(e):
                    axes.append(len(result))
                    indices.append(places)
                    windows.append(None)
                    whole(shape[len(start)])
            else:
                axes.append(len(result))
                indices.append(e)
                windows.append(None)
                whole(shape[axis])
    adjacent = not runs or runs == list(range(runs[0], runs[-1] + 1))
    single_mask = (
        masks == 1
        and all(isinstance(i, np.ndarray) for i in indices)
        and sum(hasattr(e, "dtype") for e in entries) == 1
    )
    unique = single_mask or all(ndim_of(i) == 0 for i in indices)
    first = at if adjacent and at >= 0 else 0
    return Plan(
        tuple(start),
        tuple(size),
        tuple(step),
        tuple(result),
        tuple(indices),
        tuple(axes),
        first,
        unique,
        tuple(windows),
    )


def _basic(x: Any, plan: Plan) -> Any:
    if plan.shape != plan.size and not _only_new_axes(shape_of(x), plan):
        return bind(
            select_op,
            (x,),
            {"start": plan.start, "size": plan.size, "step": plan.step, "shape": plan.shape},
        )
    view = slice_array(x, plan.start, plan.size, plan.step)
    return view if plan.shape == plan.size else reshape(view, plan.shape)


def _hashable(key: Any) -> Any:
    """A key of plain integers, slices, None and `...` in a form that can be looked up; None for any
    other."""
    kind = type(key)
    if kind is slice:
        parts = (key.start, key.stop, key.step)
        return (slice, *parts) if _PLAIN.issuperset(map(type, parts)) else None
    if kind is int or key is None or key is Ellipsis:
        return (key,)
    if kind is tuple:
        found = [_hashable(item) if type(item) is not tuple else None for item in key]
        return None if None in found else (tuple, *found)
    return None


_PLAIN = frozenset((int, type(None)))


@lru_cache(maxsize=4096)
def _known_plan(shape: Shape, known: Any) -> Plan:
    """The plan for a key as `_hashable` gives it: running code asks for the same few again and
    again."""
    return make_plan(shape, _key_of(known))


def _only_new_axes(shape: Shape, plan: Plan) -> bool:
    """Whether the key takes all of x as it is, or under a shape with new axes."""
    whole = plan.size == shape and all(s == 1 for s in plan.step)
    return whole and (plan.shape == shape or len(plan.shape) > len(shape))


class Reading(NamedTuple):
    """What reads a key of integers and slices: an operation with its parameters, and the key with
    which NumPy shows the same."""

    op: Op
    params: dict[str, Any]
    key: Any


def reading(shape: Shape, key: Any) -> Reading | None:
    """How running code reads a key from an array of this shape; None where that takes more than one
    view."""
    kind = type(key)
    if kind is int or key is None or key is Ellipsis:
        return _known_reading(shape, (key,))
    if kind is slice:
        start, stop, step = key.start, key.stop, key.step
        if (
            step is None
            and (start is None or type(start) is int)
            and (stop is None or type(stop) is int)
        ):
            return _known_reading(shape, (slice, start, stop, None))
    known = _hashable(key) if kind is slice or kind is tuple else None
    return None if known is None else _known_reading(shape, known)


@lru_cache(maxsize=4096)
def _known_reading(shape: Shape, known: Any) -> Reading | None:
    plan = _known_plan(shape, known)
    if plan.indices:
        return None
    key = made if type(made := _key_of(known)) is tuple else (made,)
    # With the ellipsis NumPy gives a view of 0 dimensions in place of a number.
    key = key if Ellipsis in key else (*key, Ellipsis)
    if _only_new_axes(shape, plan):
        return Reading(reshape_op, {"shape": plan.shape}, key)
    params = {"start": plan.start, "size": plan.size, "step": plan.step}
    return (
        Reading(slice_op, params, key)
        if plan.shape == plan.size
        else Reading(select_op, {**params, "shape": plan.shape}, key)
    )


def _key_of(known: Any) -> Any:
    if known[0] is slice:
        return slice(*known[1:])
    return tuple([_key_of(item) for item in known[1:]]) if known[0] is tuple else known[0]


def _plain(x: Any, key: Any) -> bool:
    """Whether NumPy alone can answer."""
    if STATE.traces or not isinstance(x, np.ndarray):
        return False
    return not any(
        isinstance(item, (Value, integers.Integer))
        for item in (key if isinstance(key, tuple) else (key,))
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
    known = None if STATE.traces else _hashable(key)
    plan = make_plan(shape_of(x), key) if known is None else _known_plan(shape_of(x), known)
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


def as_value(value: Any, like: Any, shape: Shape) -> Any:
    """What is to be written, in the dtype of the target and broadcast to the written places."""
    if type(value) is complex and like.dtype.kind != "c":
        raise DTypeError(
            f"the complex number {value} cannot be written into an array of {like.dtype}; write its real part"
        )
    value = convert(as_array(value), like.dtype)
    while ndim_of(value) > len(shape) and same(shape_of(value)[0], 1):
        value = reshape(value, shape_of(value)[1:])
    if broadcast_or_none(shape_of(value), shape) is None:
        raise ShapeError(
            f"values of shape {show(shape_of(value))} cannot be written to indexed places of shape {show(shape)}"
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
    if isinstance(key, (list, np.ndarray)):
        key = np.asarray(key)
    return key if getattr(key, "dtype", None) == np.bool_ and ndim_of(key) > 0 else None


def _masked(x: Any, mask: Any, value: Any) -> Any:
    """x where the mask does not hold, `value` where it does; None where the value lists an element
    per true entry."""
    shape, depth = shape_of(x), ndim_of(mask)
    if depth > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but the mask has {depth} dimensions"
        )
    _check_mask(mask, shape, 0)
    value = as_array(value)
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
    return _write(x, key, value, False)


def index_add_at(x: Any, key: Any, value: Any) -> Any:
    """A new array: x with value added at `x[key]`; a place named twice receives both (np.add.at).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_add_at(np.zeros(3), [0, 0, 2], 1.0)
    array([2., 0., 1.])
    """
    return _write(as_array(x), key, value, True)


def _write(x: Any, key: Any, value: Any, accumulate: bool) -> Any:
    plan = make_plan(shape_of(x), key)
    view = _basic(x, plan) if plan.indices or accumulate else None
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
        view = (add_at if accumulate else put_at)(view, value, plan.indices, *plan.places())
    else:
        value = as_value(value, x, plan.shape)
        view = add(view, value) if accumulate else value
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
