"""Running combinations along an axis: cumulative sums, products and extremes, and first-order
linear recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks import flag
from ...dtypes import INT64, UINT64, promote
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op, operand_kinds
from ...sizes import at_most_of, known_less, same
from ...types import ArrayType, Int, normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import iota
from ..arrays.shape import broadcast_to, front, reshape, sum_axes
from ..arrays.slices import cut, slice_array
from ..define import as_array, linear, ndim_of, of_list, shape_of
from ..elementwise.arithmetic import div, equal, not_equal, sub, where
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.logic import logical_or
from ..places.along import take_along_axis


def _running_type(x: Any, *, axis: int, reverse: bool) -> Types:
    kind = x.type.dtype
    return (
        ArrayType(
            (UINT64 if kind.kind == "u" else INT64) if kind.kind in "biu" else kind, x.type.shape
        ),
    )


def _reversed(x: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (slice(None, None, -1),)]


def _run(function: Any, x: Any, axis: int, reverse: bool) -> Any:
    x = np.asarray(x)
    return (
        np.ascontiguousarray(_reversed(function(_reversed(x, axis), axis=axis), axis))
        if reverse
        else function(x, axis=axis)
    )


def shifted(x: Any, axis: int, reverse: bool) -> Any:
    """The neighbour before each element (after it where `reverse`), 0 at the end that has none."""
    shape = shape_of(x)
    n = shape[axis]
    if known_less(n, 1):
        return x
    size = (*shape[:axis], n - 1, *shape[axis + 1 :])
    zero = broadcast_to(x.dtype.type(0), (*shape[:axis], 1, *shape[axis + 1 :]))
    start = tuple(1 if reverse and k == axis else 0 for k in range(len(shape)))
    rest = slice_array(x, start, size, (1,) * len(shape))
    return concatenate([rest, zero] if reverse else [zero, rest], axis)


cumsum_op: Op = linear(
    "cumsum",
    evaluate=lambda x, *, axis, reverse: _run(np.cumsum, x, axis, reverse),
    infer=_running_type,
    adjoint=lambda ct, *, axis, reverse: bind(
        cumsum_op, [ct], {"axis": axis, "reverse": not reverse}
    ),
    batch=lambda values, at, size, *, axis, reverse: (
        [bind(cumsum_op, [front(values[0], at[0])], {"axis": axis + 1, "reverse": reverse})],
        [0],
    ),
    lowering=lower.Scan("add"),
    doc="Sums of the elements up to each one along an axis (from each one on, where `reverse`).",
)


# y[i] = a[i] * y[i - 1] + b[i] is closed under differentiation: its adjoint is the same recurrence
# run backwards. The rules of products are built on it, so that zeros among the factors need no
# division and stay exact at every order.


def _recurrence_evaluate(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    dtype = np.result_type(a, b)
    first = np.moveaxis(np.asarray(a), axis, 0)
    second = np.moveaxis(np.asarray(b), axis, 0)
    out = np.empty(second.shape, dtype)
    running = np.zeros(second.shape[1:], dtype)
    n = len(second)
    started = False
    for i in range(n - 1, -1, -1) if reverse else range(n):
        running = first[i] * running + second[i] if started else second[i]
        out[i] = running
        started = True
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _recurrence_infer(a: Any, b: Any, *, axis: int, reverse: bool) -> Types:
    if len(a.type.shape) != len(b.type.shape) or not all(
        same(m, n) for m, n in zip(a.type.shape, b.type.shape, strict=True)
    ):
        raise ShapeError(
            "linear_recurrence needs coefficients and terms of one shape, "
            f"got {show(a.type.shape)} and {show(b.type.shape)}"
        )
    return (ArrayType(promote(*operand_kinds([a, b])), b.type.shape),)


def _recurrence_backward(ct: Any, a: Any, axis: int, reverse: bool) -> Any:
    """Cotangents of the terms: what reaches y[i] directly, and through y[i + 1]."""
    return bind(
        recurrence_op,
        [conj(shifted(a, axis, not reverse)), ct],
        {"axis": axis, "reverse": not reverse},
    )


def _recurrence_jvp(
    tangents: Any, inputs: Any, outs: Any, *, axis: int, reverse: bool
) -> list[Any]:
    ta, tb = tangents
    term = tb
    if ta is not None:
        moved = mul(ta, shifted(outs[0], axis, reverse))
        term = moved if tb is None else add(moved, tb)
    return [bind(recurrence_op, [inputs[0], term], {"axis": axis, "reverse": reverse})]


def _recurrence_batch(values: Any, at: Any, size: Int, *, axis: int, reverse: bool) -> Any:
    parts = [
        broadcast_to(v, (size, *shape_of(v))) if k is None else front(v, k)
        for v, k in zip(values, at, strict=True)
    ]
    return [bind(recurrence_op, parts, {"axis": axis + 1, "reverse": reverse})], [0]


def _recurrence_call(
    in_types: Any, out_types: Any, params: dict[str, Any]
) -> tuple[str, tuple[Any, ...]]:
    return "linear_recurrence", (params["axis"], params["reverse"])


recurrence_op: Op = op(
    "linear_recurrence",
    ["a", "b"],
    evaluate=_recurrence_evaluate,
    infer=_recurrence_infer,
    vjp=[
        lambda ct, a, out, *, axis, reverse: mul(
            _recurrence_backward(ct, a, axis, reverse), conj(shifted(out, axis, reverse))
        ),
        lambda ct, a, *, axis, reverse: _recurrence_backward(ct, a, axis, reverse),
    ],
    jvp=_recurrence_jvp,
    batch=_recurrence_batch,
    lowering=lower.Kernel(_recurrence_call),
    doc=(
        "y[i] = a[i] * y[i - 1] + b[i] along an axis, from y[0] = b[0] (from the "
        "end, where `reverse`)."
    ),
)


def linear_recurrence(a: Any, b: Any, axis: int = -1, reverse: bool = False) -> Any:
    """`y[i] = a[i] * y[i - 1] + b[i]` along an axis, from `y[0] = b[0]`; `a` and `b` have one
    shape.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linear_recurrence(np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 1.0]))
    array([1.  , 1.5 , 1.75])
    """
    a, b = of_list(a), of_list(b)
    if hasattr(a, "dtype") and hasattr(b, "dtype") and a.dtype != b.dtype:
        # Beforehand, so that the gradient of each comes back in its own dtype.
        dtype = promote(a.dtype, b.dtype)
        a, b = convert(a, dtype), convert(b, dtype)
    return bind(
        recurrence_op, [a, b], {"axis": normalize_axis(axis, ndim_of(b)), "reverse": reverse}
    )


def _cumprod_vjp(ct: Any, x: Any, out: Any, *, axis: int, reverse: bool) -> Any:
    return mul(_recurrence_backward(ct, x, axis, reverse), conj(_before(out, axis, reverse)))


def _before(out: Any, axis: int, reverse: bool) -> Any:
    """The product of what comes before each element: 1 for the first."""
    shape = shape_of(out)
    n = shape[axis]
    if known_less(n, 1):
        return out
    one = broadcast_to(out.dtype.type(1), (*shape[:axis], 1, *shape[axis + 1 :]))
    start = tuple(1 if reverse and k == axis else 0 for k in range(len(shape)))
    rest = slice_array(out, start, (*shape[:axis], n - 1, *shape[axis + 1 :]), (1,) * len(shape))
    return concatenate([rest, one] if reverse else [one, rest], axis)


def _cumprod_jvp(tangents: Any, inputs: Any, outs: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [
        bind(
            recurrence_op,
            [inputs[0], mul(tangents[0], _before(outs[0], axis, reverse))],
            {"axis": axis, "reverse": reverse},
        )
    ]


cumprod_op: Op = op(
    "cumprod",
    ["x"],
    evaluate=lambda x, *, axis, reverse: _run(np.cumprod, x, axis, reverse),
    infer=_running_type,
    vjp=[_cumprod_vjp],
    jvp=_cumprod_jvp,
    batch=lambda values, at, size, *, axis, reverse: (
        [bind(cumprod_op, [front(values[0], at[0])], {"axis": axis + 1, "reverse": reverse})],
        [0],
    ),
    lowering=lower.Scan("mul"),
    doc=(
        "Products of the elements up to each one along an axis (from each one on, where `reverse`)."
    ),
)


def _running_extreme(name: str, numpy: Any, combine: str) -> Op:
    this = op(
        name,
        ["x"],
        evaluate=lambda x, *, axis, reverse: _run(numpy.accumulate, x, axis, reverse),
        infer=lambda x, *, axis, reverse: (x.type,),
        batch=lambda values, at, size, *, axis, reverse: (
            [bind(this, [front(values[0], at[0])], {"axis": axis + 1, "reverse": reverse})],
            [0],
        ),
        lowering=lower.Scan(combine),
        doc=(
            f"Running {combine}imum along an axis, without derivative: "
            f"{name[8:]} takes it from the element picked."
        ),
    )
    return this


running_max_op = _running_extreme("running_cummax", np.maximum, "max")
running_min_op = _running_extreme("running_cummin", np.minimum, "min")


def _along(x: Any, axis: int | None) -> tuple[Any, int]:
    x = x if hasattr(x, "dtype") and hasattr(x, "shape") else np.asarray(x)
    if axis is None or (not shape_of(x) and axis in (0, -1)):
        return reshape(x, (-1,) if shape_of(x) else (1,)), 0
    return x, normalize_axis(axis, ndim_of(x))


def cumsum(x: Any, axis: int | None = None, dtype: Any = None, *, reverse: bool = False) -> Any:
    """Running sum along an axis (of the flattened array where it is None).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    flag("reverse", reverse)
    x, place = _along(x, axis)
    x = x if dtype is None else convert(x, dtype)
    result = bind(cumsum_op, [x], {"axis": place, "reverse": reverse})
    return result if dtype is None else convert(result, dtype)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None, *, reverse: bool = False) -> Any:
    """Running product along an axis (of the flattened array where it is None); gradients are exact
    at zeros.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    flag("reverse", reverse)
    x, place = _along(x, axis)
    x = x if dtype is None else convert(x, dtype)
    result = bind(cumprod_op, [x], {"axis": place, "reverse": reverse})
    return result if dtype is None else convert(result, dtype)


def _picked(primitive: Op, x: Any, axis: int | None) -> tuple[Any, Any]:
    """A running extreme read from the element it is (the last of equal ones), and that element's
    index."""
    x, place = _along(x, axis)
    shape = shape_of(x)
    extreme = bind(primitive, [x], {"axis": place, "reverse": False})
    index = reshape(iota(shape[place]), tuple(n if k == place else 1 for k, n in enumerate(shape)))
    # NaN equals nothing: an element that is NaN is the running extreme too.
    here = logical_or(equal(x, extreme), not_equal(x, x))
    found = bind(
        running_max_op,
        [where(here, broadcast_to(index, shape), 0)],
        {"axis": place, "reverse": False},
    )
    return take_along_axis(x, found, place), found


def cummax(x: Any, axis: int | None = None) -> tuple[Any, Any]:
    """Running maximum along an axis and the index of the element it is (the last of equal ones);
    the gradient goes to that element.

    >>> import tracegrad as tg
    >>> tg.cummax([1.0, 3.0, 2.0])
    (array([1., 3., 3.]), array([0, 1, 1]))
    """
    return _picked(running_max_op, x, axis)


def cummin(x: Any, axis: int | None = None) -> tuple[Any, Any]:
    """Running minimum along an axis and the index of the element it is (the last of equal ones);
    the gradient goes to that element.

    >>> import tracegrad as tg
    >>> tg.cummin([3.0, 1.0, 2.0])
    (array([3., 1., 1.]), array([0, 1, 1]))
    """
    return _picked(running_min_op, x, axis)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of neighbours along an axis.

    >>> import tracegrad as tg
    >>> tg.diff([1.0, 4.0, 9.0])
    array([3., 5.])
    """
    x = as_array(x)
    if not shape_of(x) or axis is None:
        raise ShapeError("diff goes along an axis of an array that has at least one")
    x, place = _along(x, axis)
    if n < 0:
        raise ValueError(f"the order of a difference must not be negative, got {n}")
    if n == 0:
        return x
    shape = shape_of(x)
    ends = []
    for end in (prepend, append):
        if end is not None and ndim_of(end) == 0:
            end = broadcast_to(
                end if hasattr(end, "dtype") else np.asarray(end),
                (*shape[:place], 1, *shape[place + 1 :]),
            )
        ends.append([] if end is None else [end])
    if ends != [[], []]:
        x = concatenate([*ends[0], x, *ends[1]], place)
    for _ in range(n):
        size = shape_of(x)[place]
        if known_less(size, 1):
            break
        count = size - at_most_of(size, 1)
        behind, before = cut(x, place, 1, count), cut(x, place, 0, count)
        x = not_equal(behind, before) if x.dtype.kind == "b" else sub(behind, before)
    return x


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples y along an axis by the trapezoidal rule, at places x (a vector, or of
    y's shape) or `dx` apart.

    >>> import tracegrad as tg
    >>> float(tg.trapezoid([1.0, 2.0, 3.0]))
    4.0
    """
    y = as_array(y)
    x = None if x is None else as_array(x)
    if not shape_of(y) or axis is None:
        raise ShapeError("trapezoid: it goes along an axis of y, which must have one")
    y, place = _along(y, axis)
    n = shape_of(y)[place]
    count = 0 if known_less(n, 1) else n - at_most_of(n, 1)
    if x is not None:
        if ndim_of(x) == 1:
            places = shape_of(x)[0]
            if isinstance(places, int) and isinstance(n, int) and places != n:
                raise ShapeError(
                    f"trapezoid: x has the shape {show(shape_of(x))}, and y {show(shape_of(y))} "
                    f"along axis {place}"
                )
            step = diff(x)
            dx = reshape(step, tuple(-1 if k == place else 1 for k in range(ndim_of(y))))
        else:
            dx = diff(x, axis=place)
    pairs = add(cut(y, place, 1, count), cut(y, place, 0, count))
    return sum_axes(div(mul(pairs, dx), 2.0), (place,))


OPS = (cumsum_op, recurrence_op, cumprod_op, running_max_op, running_min_op)
