"""Means, variances and norms: compositions that stay stable in their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks import describe, explained_here
from ...dtypes import check, promote
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import Value, bind
from ...ir.op import Op, odd, op
from ...sizes import form, larger_of, number_of, numel, same
from ...sizes.owners import is_late
from ...types import ArrayType, normalize_axis, show
from ..arrays.shape import broadcast_to, front, reshape
from ..define import as_array, linear, ndim_of, of_shape, shape_of
from ..elementwise.arithmetic import div, equal, imag, not_equal, sub
from ..elementwise.arithmetic import where as where_
from ..elementwise.comparison import maximum
from ..elementwise.derived import add, convert, elementwise, mul, real
from ..elementwise.elementary import abs as abs_
from ..elementwise.elementary import sqrt, square
from ..elementwise.powers import power
from .axes import Axis, count, keep, normalize_axes, spread
from .reductions import flags_of
from .reductions import max as max_
from .reductions import min as min_
from .reductions import sum as sum_

stop_gradient_op = elementwise(
    "stop_gradient",
    ("x",),
    numpy=np.array,
    code="{x}",
    partials=None,
    result="promote",
    parity=odd,
    passes=0,
    doc="The value alone.",
)


def _no_grad_types(x: Any) -> Any:
    return (x.type,)


def _no_grad_jvp(tangents: Any, inputs: Any, outs: Any) -> Any:
    # What is computed under `no_grad` has no history, and neither have its tangents.
    return [None if t is None else bind(no_grad_op, [t]) for t in tangents]


def _no_grad_batch(values: Any, axes: Any, size: Any) -> Any:
    return [bind(no_grad_op, values)], list(axes)


no_grad_op: Op = op(
    "no_grad",
    ["x"],
    evaluate=np.array,
    infer=_no_grad_types,
    jvp=_no_grad_jvp,
    batch=_no_grad_batch,
    lowering=lower.Pointwise("{x}"),
    compute=lambda x: (x.type.dtype,),
    parity=odd,
    passes=0,
    doc=(
        "The value, through which only forward mode goes: "
        "where a graph was traced it left the tape."
    ),
)


overwritten_op = elementwise(
    "overwritten",
    ("old", "new"),
    # Of their common shape: a batch may have one of them alone.
    numpy=lambda old, new: np.where(False, old, new),
    code="{new}",
    partials=(1, None),
    result="promote",
    passes=1,
    doc=(
        "A new value that a traced function wrote while nothing was recorded: "
        "the tape still leads to the old one."
    ),
)


def stop_gradient(x: Any) -> Any:
    """`x` as a constant for every derivative."""
    return bind(stop_gradient_op, [x])


def as_floats(x: Any) -> Any:
    """x as floating-point numbers, as NumPy averages them: integers and booleans in float64."""
    x = as_array(x)
    return (
        x
        if x.dtype.kind in "fc"
        else convert(x, np.float64 if x.dtype.kind in "biu" else check(x.dtype))
    )


# --- means ----------------------------------------------------------------------------------------


def _mean_evaluate(x: Any, *, axes: tuple[int, ...]) -> Any:
    return np.add.reduce(x, axes) / (
        x.size if len(axes) == x.ndim else numel([x.shape[a] for a in axes])
    )


def _mean_adjoint(ct: Any, *, axes: tuple[int, ...], like: Any) -> Any:
    n = count(like.shape, axes)
    # 0 elements have no mean, and no place for its gradient either.
    ct = mul(ct, 1 / n if n != 0 else 0)
    return (
        broadcast_to(ct, like.shape)
        if len(axes) == len(like.shape)
        else spread(ct, like.shape, axes)
    )


def _mean_composed(x: Any, *, axes: tuple[int, ...]) -> Any:
    total, n = sum_(x, axes), count(shape_of(x), axes)
    if not is_late(form(n)):
        return div(total, n)
    nothing = equal(number_of(n), 0)
    return where_(nothing, x.dtype.type(np.nan), div(total, larger_of(n, 1)))


mean_op = linear(
    "mean",
    evaluate=_mean_evaluate,
    infer=lambda x, *, axes: (
        ArrayType(x.type.dtype, tuple([s for k, s in enumerate(x.type.shape) if k not in axes])),
    ),
    adjoint=_mean_adjoint,
    batch=lambda values, at, size, *, axes: (
        [mean(front(values[0], at[0]), tuple(a + 1 for a in axes))],
        [0],
    ),
    composed=_mean_composed,
    doc="Mean over axes of floating-point numbers.",
)


def mean(
    x: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None, *, where: Any = True
) -> Any:
    """Mean over axes (all by default); integers are averaged in float64.

    >>> import tracegrad as tg
    >>> float(tg.mean([1, 2, 6]))
    3.0
    """
    if dtype is not None and np.dtype(dtype).kind in "biu":
        return convert(mean(convert(as_array(x), dtype), axis, keepdims, where=where), dtype)
    x = as_floats(x if dtype is None else convert(as_array(x), dtype))
    axes = normalize_axes(axis, ndim_of(x))
    if where is not True:
        chosen = flags_of(where, x)
        return div(
            sum_(x, axes, keepdims, where=chosen),
            convert(sum_(chosen, axes, keepdims), _real_dtype(x)),
        )
    if type(n := count(shape_of(x), axes)) is int and n == 0:
        # NaN, of which the derivative is 0 in either direction.
        return keep(add(sum_(x, axes), x.dtype.type(np.nan)), x, axes, keepdims)
    return keep(bind(mean_op, (x,), {"axes": axes}), x, axes, keepdims)


def _real_dtype(x: Any) -> Any:
    return np.zeros(0, x.dtype).real.dtype


def average(x: Any, axis: Axis = None, weights: Any = None, keepdims: bool = False) -> Any:
    """Mean over axes, weighted where weights are given (of x's shape, or a vector along one axis).

    >>> import tracegrad as tg
    >>> float(tg.average([1.0, 4.0], weights=[2.0, 1.0]))
    2.0
    """
    if weights is None:
        return mean(x, axis, keepdims)
    x, weights = as_floats(x), as_array(weights)
    weights = convert(weights, promote(x.dtype, weights.dtype))
    shape = shape_of(x)
    axes = normalize_axes(axis, len(shape))
    along = ndim_of(weights) == len(axes) == 1
    wanted = [shape[axes[0]]] if along else shape
    fit = of_shape(weights, wanted, "average: weights and what they are for differ in length")
    if fit is None:
        raise ShapeError(
            f"weights of shape {show(shape_of(weights))} fit neither the array of shape "
            f"{show(shape)} nor the averaged axis"
        )
    if along:
        fit = reshape(fit, tuple(n if k == axes[0] else 1 for k, n in enumerate(shape)))
    weights = broadcast_to(fit, shape)
    return div(sum_(mul(x, weights), axes, keepdims), sum_(weights, axes, keepdims))


COUNTED = (Value, np.ndarray, np.generic)
"""What counts of selected elements are, where sizes are integers and expressions of symbols."""


def check_ddof(ddof: Any) -> None:
    """See that it is a real number."""
    if (
        not isinstance(ddof, (float, np.number)) and (ndim_of(ddof) or np.iscomplexobj(ddof))
    ) or isinstance(ddof, (complex, np.complexfloating)):
        raise explained_here(TypeError(f"ddof is {describe(ddof)}; it must be a real number"))


def _degrees(total: Any, ddof: Any, dtype: Any) -> Any:
    """How many elements count, less `ddof`, and at least 0: a size, or numbers beside a result of
    this dtype."""
    check_ddof(ddof)
    known = total if isinstance(total, COUNTED) else number_of(total)
    if isinstance(known, COUNTED):
        return convert(maximum(sub(known, ddof), 0), dtype)
    if isinstance(ddof, int):
        return larger_of(total - ddof, 0)
    # A number without a dtype: it takes no part in that of the result.
    return (
        max(int(total) - float(ddof), 0.0)
        if isinstance(ddof, (float, np.number))
        else np.maximum(int(total) - ddof, 0)
    )


def squared_distances(
    x: Any, axis: Axis, keepdims: bool, dtype: Any, where: Any, mean_of: Any
) -> tuple[Any, Any]:
    """The sum over axes of the squared distances from the mean of what `where` selects, and how
    many these are."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise explained_here(
            TypeError(f"dtype is {np.dtype(dtype)}; a variance is calculated in floats")
        )
    x = as_floats(x) if dtype is None else as_array(x)
    shape = shape_of(x)
    axes = normalize_axes(axis, len(shape))
    chosen = where if where is True else flags_of(where, x)
    # The mean and the total are of the given dtype, what is between them is not: NumPy's meaning.
    centre = mean(x, axes, True, dtype, where=chosen) if mean_of is None else mean_of
    # A number of Python's takes no part in the dtype.
    centered = sub(x, broadcast_to(centre, shape) if ndim_of(centre) else centre)
    if chosen is not True:
        centered = where_(chosen, centered, centered.dtype.type(0))
    if mean_of is not None and centered.dtype.kind == "c" and x.dtype.kind != "c":
        raise explained_here(
            DTypeError(f"mean is complex and the values are {x.dtype}: their mean is real")
        )
    squares = (
        add(square(real(centered)), square(imag(centered)))
        if centered.dtype.kind == "c"
        else square(centered)
    )
    squares = squares if dtype is None else convert(squares, dtype)
    many = count(shape, axes) if chosen is True else sum_(chosen, axes, keepdims)
    return sum_(squares, axes, keepdims), many


def var(
    x: Any,
    axis: Axis = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    dtype: Any = None,
    where: Any = True,
    mean: Any = None,
) -> Any:
    """Variance over axes: the mean squared distance from the mean, with `n - ddof` as divisor
    (`correction` is another name for ddof). `where` selects the elements that count, `mean` is
    their mean where it is known, with the reduced axes kept.

    >>> import tracegrad as tg
    >>> float(tg.var([1.0, 3.0]))
    1.0
    """
    total, many = squared_distances(x, axis, keepdims, dtype, where, mean)
    ddof = ddof if correction is None else correction
    return div(total, _degrees(many, ddof, total.dtype))


def safe_sqrt(x: Any) -> Any:
    """Square root with derivative 0 at 0, of every order: what a norm or a standard deviation
    needs."""
    zero = equal(x, 0)
    return where_(zero, x.dtype.type(0), sqrt(where_(zero, x.dtype.type(1), x)))


def std(
    x: Any,
    axis: Axis = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    dtype: Any = None,
    where: Any = True,
    mean: Any = None,
) -> Any:
    """Standard deviation over axes; its derivative is 0 where all elements are equal. See `var`.

    >>> import tracegrad as tg
    >>> float(tg.std([1.0, 3.0]))
    1.0
    """
    return safe_sqrt(
        var(x, axis, ddof, keepdims, correction=correction, dtype=dtype, where=where, mean=mean)
    )


# --- norms ----------------------------------------------------------------------------------------


def vector_norm(x: Any, ord: Any = 2, axis: Axis = None, keepdims: bool = False) -> Any:
    """The p-norm over axes, all elements of them as one vector; `ord` is p, inf, -inf or 0. Its
    derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> float(tg.vector_norm([3.0, 4.0]))
    5.0
    """
    x = as_floats(x)
    axes = normalize_axes(axis, ndim_of(x))
    if ord == 2:
        squares = add(square(real(x)), square(imag(x))) if x.dtype.kind == "c" else square(x)
        return safe_sqrt(sum_(squares, axes, keepdims))
    size = abs_(x)
    if ord == np.inf:
        return largest(size, axes, keepdims)
    if ord == -np.inf:
        return min_(size, axes, keepdims)
    if ord == 0:
        return sum_(convert(not_equal(x, 0), size.dtype), axes, keepdims)
    if ord == 1:
        return sum_(size, axes, keepdims)
    p = float(ord)
    zero = equal(size, 0) if p > 0 else np.False_
    # At a zero element |x|**p has an infinite derivative for p < 1; the direction 0 is torch's
    # choice, and 0 for p > 1.
    terms = where_(zero, size.dtype.type(0), power(where_(zero, size.dtype.type(1), size), p))
    total = sum_(terms, axes, keepdims)
    if p < 0:
        return power(total, 1 / p)
    none = equal(total, 0)
    return where_(none, total.dtype.type(0), power(where_(none, total.dtype.type(1), total), 1 / p))


def largest(size: Any, axes: Axis, keepdims: bool = False) -> Any:
    """The largest of values that are not negative: 0 of none, as norms have it."""
    along = normalize_axes(axes, ndim_of(size))
    none = any(same(shape_of(size)[k], 0) for k in along)
    return max_(size, along, keepdims, initial=0.0) if none else max_(size, along, keepdims)


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """A vector norm (one axis, or no `ord`) or a matrix norm (two axes: "fro", 1, -1, inf, -inf),
    with `numpy.linalg.norm`'s meaning.

    >>> import tracegrad as tg
    >>> float(tg.norm([[3.0, 0.0], [0.0, 4.0]]))
    5.0
    """
    x = as_floats(x)
    axes = normalize_axes(axis, ndim_of(x))
    if ord is None:
        return vector_norm(x, 2, axes, keepdims)
    if len(axes) == 1:
        return vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError(
            f"a norm of order {ord!r} is defined over one axis or two, not {len(axes)}"
        )
    if ord == "fro":
        return vector_norm(x, 2, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(
            f'the order of a matrix norm here is "fro", 1, -1, inf or -inf, not {ord!r}; '
            "linalg.norm has those by singular values"
        )
    row, column = (
        (normalize_axis(a, ndim_of(x)) for a in axis) if isinstance(axis, (tuple, list)) else axes
    )
    summed, other = (row, column) if abs(ord) == 1 else (column, row)
    totals = sum_(abs_(x), summed, keepdims=True)
    result = (largest if ord > 0 else min_)(totals, other, keepdims=True)
    return (
        result
        if keepdims
        else reshape(result, tuple(n for k, n in enumerate(shape_of(x)) if k not in axes))
    )


OPS = (mean_op, no_grad_op, overwritten_op, stop_gradient_op)
