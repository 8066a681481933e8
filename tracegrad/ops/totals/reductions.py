"""Reductions: sums, products, extremes, truth and counting, and where the extremes are."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks import describe, explained_here
from ...dtypes import BOOL, INT64, UINT64
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import at_most_of, is_empty, known_less
from ...types import ArrayType, Int, normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.shape import broadcast_to, expand_dims, front, reshape, sum_axes, sum_op, transpose
from ..arrays.slices import slice_array
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, not_equal, sub, where
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.logic import logical_or
from .axes import Axis, count, keep, moved_axes, over, reduced_axes, spread, stands_for_none
from .scans import cumprod

# --- sum ------------------------------------------------------------------------------------------


def sum(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    where: Any = True,
    initial: Any = None,
) -> Any:
    """Sum over axes (all by default). Booleans and integers are summed in 64 bits; `dtype` converts
    first.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.sum(np.arange(6.0).reshape(2, 3), axis=0)
    array([3., 5., 7.])
    """
    x = as_array(x)
    if keepdims is False and dtype is None and where is True and initial is None:
        return bind(
            sum_op,
            (x,),
            over(
                axis if axis is None or type(axis) is int else reduced_axes(axis, ndim_of(x)),
                ndim_of(x),
            ),
        )
    if dtype is not None:
        x = convert(x, dtype)
    x = x if where is True else select_or(where, x, 0)
    axes = reduced_axes(axis, ndim_of(x))
    result = sum_axes(x, axes)
    result = keep(result, x, axes, keepdims)
    # NumPy sums small integers in 64 bits unless told a dtype.
    result = convert(result, dtype) if dtype is not None else result
    return result if initial is None else add(result, start_of(initial, result.dtype))


def select_or(mask: Any, x: Any, otherwise: Any) -> Any:
    """`x` where the mask holds, else a neutral value of x's own dtype."""
    return where(flags_of(mask, x), x, x.dtype.type(otherwise))


def flags_of(mask: Any, x: Any) -> Any:
    """What `where=` selects of an array, as booleans of its shape: as in NumPy, no other numbers
    are taken for them."""
    mask = as_array(mask)
    if mask.dtype.kind != "b":
        raise explained_here(
            TypeError(f"where is {describe(mask)}; it must be True, False or an array of them")
        )
    return broadcast_to(mask, shape_of(x))


def start_of(initial: Any, dtype: np.dtype[Any]) -> Any:
    """`initial=` in the dtype of the result: one number, and a real one for a real result."""
    if ndim_of(as_array(initial)) or (as_array(initial).dtype.kind == "c" and dtype.kind != "c"):
        wanted = "number" if dtype.kind == "c" else "real number"
        raise explained_here(TypeError(f"initial is {describe(initial)}; it must be a {wanted}"))
    return convert(initial, dtype)


# --- products -------------------------------------------------------------------------------------


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return (UINT64 if dtype.kind == "u" else INT64) if dtype.kind in "biu" else dtype


def _reduced(x: Any, axes: tuple[int, ...]) -> tuple[Int, ...]:
    return tuple(s for k, s in enumerate(x.type.shape) if k not in axes)


def _batch_reduction(primitive: Callable[[], Op]) -> Callable[..., Any]:
    def batch(values: Any, at: Any, size: Int, *, axes: tuple[int, ...]) -> Any:
        return [
            bind(primitive(), [front(values[0], at[0])], {"axes": tuple(a + 1 for a in axes)})
        ], [0]

    return batch


def product_of_others(x: Any, axes: tuple[int, ...]) -> Any:
    """For every element the product of all other elements along `axes`: no division, so zeros are
    exact at every order."""
    shape = shape_of(x)
    order = moved_axes(axes, len(shape))
    moved = transpose(x, order)
    lead = tuple(shape_of(moved)[: len(shape) - len(axes)])
    flat = reshape(moved, (*lead, count(shape, axes)))
    n, k = shape_of(flat)[-1], len(lead)
    if known_less(n, 1):
        return x
    end = at_most_of(n, 1)
    one = broadcast_to(flat.dtype.type(1), (*lead, end))
    start, steps = (0,) * (k + 1), (1,) * (k + 1)
    shape = (*lead, n - end)
    before = concatenate([one, cumprod(slice_array(flat, start, shape, steps), k)], k)
    rest = slice_array(flat, (*[0] * k, end), shape, steps)
    after = concatenate([cumprod(rest, k, reverse=True), one], k)
    others = reshape(mul(before, after), shape_of(moved))
    return transpose(others, tuple(int(a) for a in np.argsort(order)))


def _prod_vjp(ct: Any, x: Any, *, axes: tuple[int, ...], like: ArrayType) -> Any:
    others = product_of_others(x, axes)
    return mul(spread(ct, like.shape, axes), conj(others))


def _prod_jvp(tangents: Any, inputs: Any, outs: Any, *, axes: tuple[int, ...]) -> list[Any]:
    return [sum_axes(mul(tangents[0], product_of_others(inputs[0], axes)), axes)]


prod_op: Op = op(
    "prod",
    ["x"],
    evaluate=lambda x, *, axes: np.prod(x, axis=axes),
    infer=lambda x, *, axes: (ArrayType(_widened(x.type.dtype), _reduced(x, axes)),),
    vjp=[_prod_vjp],
    jvp=_prod_jvp,
    batch=_batch_reduction(lambda: prod_op),
    lowering=lower.Reduce("mul", 1),
    doc="Product over axes. Booleans and integers are multiplied in 64 bits.",
)


def prod(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    where: Any = True,
    initial: Any = None,
) -> Any:
    """Product over axes (all by default); gradients are exact where elements are zero.

    >>> import tracegrad as tg
    >>> float(tg.prod([2.0, 3.0, 4.0]))
    24.0
    """
    x = as_array(x)
    if dtype is not None:
        x = convert(x, dtype)
    x = x if where is True else select_or(where, x, 1)
    axes = reduced_axes(axis, ndim_of(x))
    result = keep(bind(prod_op, [x], {"axes": axes}), x, axes, keepdims)
    result = convert(result, dtype) if dtype is not None else result
    return result if initial is None else mul(result, start_of(initial, result.dtype))


# --- extremes -------------------------------------------------------------------------------------


def _check_order(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind == "c":
        # NumPy compares complex numbers by their real parts first, which no derivative rule could
        # follow.
        raise DTypeError(
            f"{name} of complex numbers is not defined; take it of their absolute value, "
            "real or imaginary part"
        )


def _extreme_infer(name: str) -> Callable[..., Types]:
    def infer(x: Any, *, axes: tuple[int, ...]) -> Types:
        _check_order(x.type.dtype, name)
        if builtins.any(is_empty(x.type.shape[a]) for a in axes):
            raise ShapeError(
                f"{name} of no elements: axes {axes} of an array of shape {show(x.type.shape)} "
                "are empty. Give initial=..., or check the size first."
            )
        return (ArrayType(x.type.dtype, _reduced(x, axes)),)

    return infer


def _ties(x: Any, out: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Which elements are extreme, and how many there are of them (spread over the reduced axes).
    Where one is NaN the result is, and it is those that are NaN."""
    mask = equal(x, spread(out, shape_of(x), axes))
    known = isinstance(out, (np.ndarray, np.generic)) and not np.isnan(out).any()
    if x.dtype.kind == "f" and not known:
        mask = logical_or(mask, not_equal(x, x))
    total = convert(sum_axes(mask, axes), out.dtype)
    return mask, total


def _extreme_vjp(ct: Any, x: Any, out: Any, *, axes: tuple[int, ...]) -> Any:
    mask, total = _ties(x, out, axes)
    return select_or(mask, spread(div(ct, total), shape_of(x), axes), 0)


def _extreme_jvp(tangents: Any, inputs: Any, outs: Any, *, axes: tuple[int, ...]) -> list[Any]:
    mask, total = _ties(inputs[0], outs[0], axes)
    return [div(sum_axes(select_or(mask, tangents[0], 0), axes), total)]


def _extreme(name: str, numpy: Callable[..., Any], identity: str, doc: str) -> Op:
    this = op(
        name,
        ["x"],
        evaluate=lambda x, *, axes: numpy(x, axis=axes),
        infer=_extreme_infer(name),
        vjp=[_extreme_vjp],
        jvp=_extreme_jvp,
        batch=_batch_reduction(lambda: this),
        lowering=lower.Reduce(name, identity),
        doc=doc,
    )
    return this


max_op = _extreme(
    "max",
    np.max,
    "lowest",
    "Largest element over axes; NaN where there is one. Ties share the gradient evenly.",
)
min_op = _extreme(
    "min",
    np.min,
    "highest",
    "Smallest element over axes; NaN where there is one. Ties share the gradient evenly.",
)


def _extreme_of(primitive: Op, x: Any, axis: Axis, keepdims: bool, initial: Any, mask: Any) -> Any:
    x = as_array(x)
    _check_order(x.dtype, primitive.name)
    axes = reduced_axes(axis, ndim_of(x))
    shape = shape_of(x)
    if mask is not True:
        if initial is None:
            raise ShapeError(
                f"{primitive.name} with where= needs initial=, the result where nothing is selected"
            )
        x = where(flags_of(mask, x), x, start_of(initial, x.dtype))
    if initial is not None:
        # One more element per result: flattened, because the reduced axes may be several.
        order = moved_axes(axes, len(shape))
        moved = transpose(x, order)
        lead = tuple(shape_of(moved)[: len(shape) - len(axes)])
        extra = broadcast_to(start_of(initial, x.dtype), (*lead, 1))
        flat = concatenate([reshape(moved, (*lead, count(shape, axes))), extra], len(lead))
        result = bind(primitive, [flat], {"axes": (len(lead),)})
        return keep(result, x, axes, keepdims)
    return keep(bind(primitive, [x], {"axes": axes}), x, axes, keepdims)


def max(
    x: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Any:
    """Largest element over axes; elements that tie share the gradient evenly.

    >>> import tracegrad as tg
    >>> float(tg.max([1.0, 3.0, 2.0]))
    3.0
    """
    return _extreme_of(max_op, x, axis, keepdims, initial, where)


def min(
    x: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Any:
    """Smallest element over axes; elements that tie share the gradient evenly.

    >>> import tracegrad as tg
    >>> float(tg.min([1.0, 3.0, 2.0]))
    1.0
    """
    return _extreme_of(min_op, x, axis, keepdims, initial, where)


amax, amin = max, min


def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Largest minus smallest element over axes.

    >>> import tracegrad as tg
    >>> float(tg.ptp([1.0, 4.0, 2.0]))
    3.0
    """
    return sub(max(x, axis, keepdims), min(x, axis, keepdims))


# --- where the extremes are -----------------------------------------------------------------------


def _arg(name: str, numpy: Callable[..., Any], combine: str, doc: str) -> Op:
    def infer(x: Any, *, axis: int) -> Types:
        shape = x.type.shape
        if is_empty(shape[axis]):
            raise ShapeError(
                f"{name} of no elements: axis {axis} of an array of shape {show(shape)} is empty"
            )
        _check_order(x.type.dtype, name)
        return (ArrayType(INT64, (*shape[:axis], *shape[axis + 1 :])),)

    this = op(
        name,
        ["x"],
        evaluate=lambda x, *, axis: numpy(x, axis=axis),
        infer=infer,
        batch=lambda values, at, size, *, axis: (
            [bind(this, [front(values[0], at[0])], {"axis": axis + 1})],
            [0],
        ),
        lowering=lower.ArgReduce(combine),
        doc=doc,
    )
    return this


argmax_op = _arg(
    "argmax",
    np.argmax,
    "max",
    "Position of the first largest element along an axis; NaN counts as largest.",
)
argmin_op = _arg(
    "argmin",
    np.argmin,
    "min",
    "Position of the first smallest element along an axis; NaN counts as smallest.",
)


def _position(primitive: Op, x: Any, axis: int | None, keepdims: bool) -> Any:
    x = as_array(x)
    _check_order(x.dtype, primitive.name)
    shape = shape_of(x)
    if axis is None or (not shape and stands_for_none(axis)):
        result = bind(primitive, [reshape(x, (-1,) if shape else (1,))], {"axis": 0})
        return reshape(result, (1,) * len(shape)) if keepdims else result
    where_ = normalize_axis(axis, len(shape))
    result = bind(primitive, [x], {"axis": where_})
    return expand_dims(result, where_) if keepdims else result


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis, or in the flattened array.

    >>> import tracegrad as tg
    >>> int(tg.argmax([1.0, 3.0, 2.0]))
    1
    """
    return _position(argmax_op, x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first smallest element along an axis, or in the flattened array.

    >>> import tracegrad as tg
    >>> int(tg.argmin([1.0, 3.0, 2.0]))
    0
    """
    return _position(argmin_op, x, axis, keepdims)


# --- truth ----------------------------------------------------------------------------------------


def _truth(name: str, numpy: Callable[..., Any], combine: str, identity: bool, doc: str) -> Op:
    this = op(
        name,
        ["x"],
        evaluate=lambda x, *, axes: numpy(x, axis=axes),
        infer=lambda x, *, axes: (ArrayType(BOOL, _reduced(x, axes)),),
        batch=_batch_reduction(lambda: this),
        lowering=lower.Reduce(combine, identity),
        doc=doc,
    )
    return this


all_op = _truth("all", np.all, "and", True, "Whether every element of a boolean array is true.")
any_op = _truth("any", np.any, "or", False, "Whether some element of a boolean array is true.")


def _as_bool(x: Any) -> Any:
    return x if x.dtype == BOOL else not_equal(x, 0)


def all(x: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether every element over these axes is true (not zero).

    >>> import tracegrad as tg
    >>> bool(tg.all([1, 2, 0]))
    False
    """
    x = _as_bool(as_array(x))
    x = x if where is True else select_or(where, x, True)
    axes = reduced_axes(axis, ndim_of(x))
    return keep(bind(all_op, [x], {"axes": axes}), x, axes, keepdims)


def any(x: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether some element over these axes is true (not zero).

    >>> import tracegrad as tg
    >>> bool(tg.any([0, 2, 0]))
    True
    """
    x = _as_bool(as_array(x))
    x = x if where is True else select_or(where, x, False)
    axes = reduced_axes(axis, ndim_of(x))
    return keep(bind(any_op, [x], {"axes": axes}), x, axes, keepdims)


def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over these axes are not zero.

    >>> import tracegrad as tg
    >>> int(tg.count_nonzero([0, 2, 5]))
    2
    """
    return sum(_as_bool(as_array(x)), axis, keepdims)


OPS = (prod_op, max_op, min_op, argmax_op, argmin_op, all_op, any_op)
