"""Sorting and searching. Sorted values are gathered at the order, so their gradient goes back to
where each came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks import flag
from ...dtypes import INT64
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, Int, normalize_axis, show
from ..arrays.shape import expand_dims, front, reshape, sum_axes
from ..arrays.slices import flip
from ..define import as_array, ndim_of, of_list, of_shape, shape_of
from ..elementwise.arithmetic import div, equal, less, less_equal, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import isfinite, isnan, logical_and, logical_not, logical_or
from ..fits import refuse_less
from ..places.along import take_along_axis
from ..places.gathering import gather_at


def check_order(dtype: np.dtype[Any]) -> None:
    """A DTypeError for complex numbers."""
    if dtype.kind == "c":
        raise DTypeError(
            "complex numbers have no order; sort by their absolute value, "
            "real or imaginary part with argsort and take_along_axis"
        )


def _argsort_infer(x: Any, *, axis: int) -> Types:
    check_order(x.type.dtype)
    return (ArrayType(INT64, x.type.shape),)


def _argsort_call(
    in_types: Any, out_types: Any, params: dict[str, Any]
) -> tuple[str, tuple[Any, ...]]:
    return "argsort", (params["axis"],)


argsort_op: Op = op(
    "argsort",
    ["x"],
    evaluate=lambda x, *, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=_argsort_infer,
    batch=lambda values, at, size, *, axis: (
        [bind(argsort_op, [front(values[0], at[0])], {"axis": axis + 1})],
        [0],
    ),
    lowering=lower.Kernel(_argsort_call),
    doc="The stable order of the elements along an axis; NaN comes last.",
)


def _flat(x: Any, axis: int | None) -> tuple[Any, int]:
    x = as_array(x)
    if axis is None:
        return reshape(x, (-1,) if shape_of(x) else (1,)), 0
    return x, normalize_axis(axis, ndim_of(x))


def argsort(x: Any, axis: int | None = -1, descending: bool = False, stable: bool = True) -> Any:
    """Indices that sort along an axis (the flattened array where it is None). Always stable; NaN
    counts as largest.

    >>> import tracegrad as tg
    >>> tg.argsort([3.0, 1.0, 2.0])
    array([1, 2, 0])
    """
    flag("stable", stable)
    # As NumPy's: of an array of 0 dimensions there is one index.
    x = of_list(x)
    x, place = _flat(x, None if ndim_of(x) == 0 and axis in (0, -1) else axis)
    check_order(x.dtype)
    if not descending:
        return bind(argsort_op, [x], {"axis": place})
    # Equal elements keep their order when the reversed array is sorted and the result is reversed
    # again.
    order = bind(argsort_op, [flip(x, place)], {"axis": place})
    return sub(shape_of(x)[place] - 1, flip(order, place))


def sort(x: Any, axis: int | None = -1, descending: bool = False) -> Any:
    """The elements in order along an axis (of the flattened array where it is None), NaN last; of
    equal ones each keeps its gradient.

    >>> import tracegrad as tg
    >>> tg.sort([3.0, 1.0, 2.0])
    array([1., 2., 3.])
    """
    x, place = _flat(x, axis)
    return take_along_axis(x, argsort(x, place, descending), place, unique=True)


# --- searching ------------------------------------------------------------------------------------


def _search_infer(a: Any, v: Any, *, side: str) -> Types:
    if a.type.ndim != 1:
        raise ShapeError(
            f"searchsorted needs a sorted vector, got an array of shape {show(a.type.shape)}"
        )
    return (ArrayType(INT64, v.type.shape),)


def _search_batch(values: Any, at: Any, size: Int, *, side: str) -> Any:
    a, v = values
    if at[0] is None:
        return [bind(searchsorted_op, [a, front(v, at[1])], {"side": side})], [0]
    # Every lane has its own vector: count the elements before each value, NaN being the largest.
    a = front(a, at[0])
    v = front(v, at[1]) if at[1] is not None else expand_dims(v, 0)
    ndim = ndim_of(v) - 1
    a = reshape(a, (size, *(1,) * ndim, shape_of(a)[1]))
    v = expand_dims(v, -1)
    if side == "left":
        before = logical_or(less(a, v), logical_and(isnan(v), logical_not(isnan(a))))
    else:
        before = logical_or(less_equal(a, v), isnan(v))
    return [sum_axes(before, (ndim + 1,))], [0]


def _search_call(
    in_types: Any, out_types: Any, params: dict[str, Any]
) -> tuple[str, tuple[Any, ...]]:
    return "searchsorted", (params["side"] == "right",)


searchsorted_op: Op = op(
    "searchsorted",
    ["a", "v"],
    evaluate=lambda a, v, *, side: np.asarray(np.searchsorted(a, v, side)),
    infer=_search_infer,
    batch=_search_batch,
    lowering=lower.Kernel(_search_call),
    doc=(
        "Where each v would be inserted into the sorted vector a, before (left) or "
        "behind (right) its equals."
    ),
)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where each element of v would go in the sorted vector a (or in `a[sorter]`): before its
    equals (left) or behind them (right).

    >>> import tracegrad as tg
    >>> tg.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5])
    array([1, 2])
    """
    if side not in ("left", "right"):
        raise ValueError(f'side must be "left" or "right", not {side!r}')
    a, v = as_array(a), as_array(v)
    if sorter is not None:
        a = gather_at(a, [as_array(sorter)], (0,), 0)
    if a.dtype != v.dtype:
        dtype = np.result_type(a.dtype, v.dtype)
        a, v = convert(a, dtype), convert(v, dtype)
    return bind(searchsorted_op, [a, v], {"side": side})


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Piecewise linear interpolation through the points (xp, fp), xp increasing; beyond them the
    end values, or `left` and `right`.

    Differentiable in x, xp and fp; at a point of xp the slope is that of the piece to its right.

    >>> import tracegrad as tg
    >>> float(tg.interp(1.5, [1.0, 2.0], [10.0, 20.0]))
    15.0
    """
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise DTypeError("interp needs real places; complex numbers have no order")
    for name, given, kinds in (("x", x, "biuf"), ("xp", xp, "biuf"), ("fp", fp, "biufc")):
        if given.dtype.kind not in kinds:
            raise DTypeError(f"interp: {name} is an array of {given.dtype}; it must be of numbers")
    if ndim_of(xp) != 1 or ndim_of(fp) != 1:
        raise ShapeError(
            f"interp needs vectors of points and values, got shapes {show(shape_of(xp))} and "
            f"{show(shape_of(fp))}"
        )
    n = shape_of(xp)[0]
    fit = of_shape(fp, (n,), "interp: fp and xp are not of the same length.")
    if fit is None:
        raise ShapeError(
            f"interp needs as many values as points, got {show(shape_of(xp))} points and "
            f"{show(shape_of(fp))} values"
        )
    refuse_less(n, 1, ShapeError, "interp needs at least one point")
    left, right = (end if end is None else as_array(end) for end in (left, right))
    if any(end is not None and ndim_of(end) for end in (left, right)):
        raise ShapeError("interp needs one number as left and as right")
    # As NumPy does it, in double precision whatever is given.
    x, xp = convert(x, np.float64), convert(xp, np.float64)
    fp = convert(fit, np.complex128 if fp.dtype.kind == "c" else np.float64)
    first, last = (gather_at(fp, [np.int64(k)], (0,), 0, (), True) for k in (0, -1))
    low, high = (gather_at(xp, [np.int64(k)], (0,), 0, (), True) for k in (0, -1))
    if same(n, 1):
        inside = where(isnan(x), x, first)
    else:
        k = clip(sub(searchsorted(xp, x, "right"), 1), 0, n - 2)
        x0, x1, y0, y1 = (gather_at(p, [add(k, d)], (0,), 0) for p in (xp, fp) for d in (0, 1))
        # No number lies in a piece without width, whose slope would not be finite.
        width = where(equal(x0, x1), np.float64(1), sub(x1, x0))
        slope = div(sub(y1, y0), width)
        # Infinite values are the value of the piece, but for a point that has another: as NumPy's.
        level = logical_or(equal(x, x0), logical_or(equal(y0, y1), isfinite(y1)))
        lost = logical_and(isnan(add(mul(slope, sub(x, x0)), y0)), level)
        inside = add(mul(where(lost, slope.dtype.type(0), slope), sub(x, x0)), y0)
    result = where(less(x, low), first if left is None else left, inside)
    # The end point itself is a value, not an end of a piece: exactly `fp[-1]`.
    result = where(equal(x, high), last, result)
    return where(less(high, x), last if right is None else right, result)


OPS = (argsort_op, searchsorted_op)
