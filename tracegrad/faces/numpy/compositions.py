"""NumPy functions that are compositions of operations, under NumPy's own signatures."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe, flag
from ...checks.kinds import INT
from ...dtypes import kind_of, promote
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ops.define import ndim_of, shape_of
from ...ops.fits import refuse_less
from ...ops.matrices.products import alike
from ...ops.numerics.convolutions import of_vectors, within
from ...ops.numerics.late_convolutions import convolved, is_late_vector
from ...sizes import form, larger_of, number_of, same
from ...sizes.owners import is_late
from ...types import normalize_axis
from ..operators import array_of, operand
from ..tensor.casts import own
from . import laying
from .laying import lying
from .lookup import result_type, store_exactly, unsupported


def cumulative(running: Callable[..., Any], start: int) -> Callable[..., Any]:
    """np.cumulative_sum and np.cumulative_prod, by the function of an axis."""

    def cumulative(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        x = array_of(x)
        if axis is None:
            if ndim_of(x) > 1:
                raise ValueError(f"axis must be given for an array of {ndim_of(x)} axes")
            x, axis = ops.reshape(x, -1), 0
        result = running(x, axis, dtype)
        if flag("include_initial", include_initial):
            place = normalize_axis(axis, ndim_of(x))
            shape = tuple(1 if k == place else n for k, n in enumerate(shape_of(result)))
            first = ops.broadcast_to(result.dtype.type(start), shape)
            result = ops.concatenate([first, result], place)
        return result if out is None else store_exactly(out, result)

    return cumulative


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    choices, result = [operand(c) for c in choicelist], operand(default)
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist has {len(condlist)} entries, and choicelist {len(choicelist)}")
    for k, condition in enumerate(condlist):
        if result_type(operand(condition)).kind != "b":
            raise TypeError(
                f"condlist[{k}] is {describe(condition)}; it must be an array of booleans"
            )
    # One after the other, a weak number would take its dtype from the first that it meets.
    dtype = promote(*map(kind_of, (*choices, result)))
    result, choices = ops.convert(result, dtype), [ops.convert(c, dtype) for c in choices]
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = ops.where(condition, choice, result)
    return laying.laid(result, "C", None)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    x = operand(x)
    arrays = (list, np.ndarray, Value)
    # NumPy's rule: what holds no lists and arrays is itself one condition.
    one = ndim_of(x) and (
        ndim_of(condlist) == 1
        if isinstance(condlist, (np.ndarray, Value))
        else len(condlist) and not isinstance(condlist[0], arrays)
    )
    conditions = [ops.convert(operand(c), bool) for c in ([condlist] if one else condlist)]
    functions = list(funclist)
    if len(functions) - len(conditions) not in (0, 1):
        raise ValueError(
            f"there are {len(conditions)} conditions, so funclist must hold {len(conditions)} or "
            f"{len(conditions) + 1} functions or numbers, not {len(functions)}"
        )
    for k, c in enumerate(conditions):
        if ndim_of(c) and shape_of(c) != shape_of(x):
            raise ShapeError(
                f"condition {k} has the shape {shape_of(c)}; it must have that of x, {shape_of(x)}"
            )
    values = [f(x, *args, **kw) if callable(f) else operand(f) for f in functions]
    if any(ndim_of(v) for v, f in zip(values, functions, strict=True) if not callable(f)):
        raise unsupported("np.piecewise", " with arrays in funclist (a number or a function each)")
    result = values.pop() if len(functions) == len(conditions) + 1 else 0.0
    for condition, value in zip(conditions, values, strict=True):
        result = ops.where(condition, value, result)
    if result_type(result).kind == "c" and x.dtype.kind != "c":
        raise unsupported("np.piecewise", " with complex values over a real array")
    made = ops.convert(ops.broadcast_to(result, x.shape), x.dtype)
    return own(type(x), made) if isinstance(x, Value) and not isinstance(made, Value) else made


def polyval(p: Any, x: Any) -> Any:
    # A number of Python's decides the dtype here, as an array does.
    x = np.asarray(x) if type(x) in (bool, int, float, complex) else x
    result: Any = ops.zeros_like(operand(x))
    for coefficient in array_of(p):
        result = result * x + coefficient
    return result


def column_count(count: Any) -> int:
    """So many columns, each an operation: no more than anybody can mean."""
    number = -1 if isinstance(count, bool) else operator.index(count)
    if not 0 <= number <= 1 << 16:
        raise ValueError(f"N is {number}; it must be a number of columns from 0 to {1 << 16}")
    return number


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    if ndim_of(x) != 1:
        raise ShapeError(f"x must be a vector, not an array of shape {shape_of(x)}")
    count = shape_of(x)[0] if N is None else column_count(N)
    x = ops.convert(x, np.promote_types(x.dtype, int))
    if count == 0:
        return ops.zeros((shape_of(x)[0], 0), x.dtype)
    columns = [ops.power(x, k) for k in range(count)]
    return ops.stack(columns if increasing else columns[::-1], 1)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    by_rows, biased = flag("rowvar", rowvar), flag("bias", bias)
    rows = array_of(m)
    rows = ops.convert(rows, np.promote_types(rows.dtype, np.float64))
    rows = (
        ops.reshape(rows, (1, -1))
        if ndim_of(rows) <= 1
        else rows
        if by_rows
        else ops.transpose(rows)
    )
    if y is not None:
        other = array_of(y)
        rows = ops.convert(rows, np.promote_types(rows.dtype, other.dtype))
        other = (
            ops.reshape(other, (1, -1))
            if ndim_of(other) <= 1
            else other
            if by_rows
            else ops.transpose(other)
        )
        rows = ops.concatenate([rows, other], 0)
    if ddof is not None and not INT.accepts(ddof):
        raise TypeError(f"ddof is {describe(ddof)}; it must be an integer")
    lost = (0 if biased else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        n = shape_of(rows)[1]
        count: Any = (
            ops.maximum(number_of(n) - lost, 0) if is_late(form(n)) else larger_of(n - lost, 0)
        )
        centred = rows - ops.mean(rows, axis=1, keepdims=True)
        weighted = centred
    else:
        weights = _weights_of_columns(rows, fweights, aweights)
        total = ops.sum(weights)
        centred = rows - ops.sum(rows * weights, axis=1, keepdims=True) / total
        weighted = centred * weights
        count = total if aweights is None else ops.sum(weights * array_of(aweights)) / total
        # NumPy's divisor is never negative: with 0 there is no number.
        count = ops.maximum(total - lost * (1 if aweights is None else count), 0)
    return ops.squeeze(ops.matmul(weighted, ops.conj(ops.transpose(centred))) / count)


def _weights_of_columns(rows: Any, fweights: Any, aweights: Any) -> Any:
    """The weights of observations: how often each stands there, times its own."""
    total: Any = 1.0
    for word, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = array_of(given)
        if shape_of(one) != (shape_of(rows)[1],):
            raise ShapeError(
                f"{word} have the shape {shape_of(one)}; it must be ({shape_of(rows)[1]},)"
            )
        if word == "fweights" and one.dtype.kind not in "iu":
            raise TypeError(f"fweights are of {one.dtype}; they must be integers")
        total = total * one
    return total


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = cov(x, y, rowvar)
    if ndim_of(c) == 0:
        return c / c
    spread = ops.sqrt(ops.real(ops.diagonal(c)))
    return c / spread[:, None] / spread[None, :]


def _late_convolution(x: Any, y: Any, mode: str, *, turned: bool = False) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f'mode is {describe(mode)}; it must be "full", "same" or "valid"')
    one, other = alike(x, y)
    return convolved(one, other, mode, turned=turned)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    if ndim_of(array_of(a)) > 1 or ndim_of(array_of(v)) > 1:
        raise ShapeError(
            f"convolve takes vectors, not arrays of shapes {shape_of(array_of(a))} "
            f"and {shape_of(array_of(v))}"
        )
    x, kernel = ops.reshape(array_of(a), -1), ops.reshape(array_of(v), -1)
    if is_late_vector(x) or is_late_vector(kernel):
        return _late_convolution(x, kernel, mode)
    if shape_of(kernel)[0] > shape_of(x)[0]:
        x, kernel = kernel, x
    n, m = shape_of(x)[0], int(shape_of(kernel)[0])
    if m == 0:
        raise ValueError("convolve needs arrays that are not empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f'mode is {describe(mode)}; it must be "full", "same" or "valid"')
    if mode == "valid":
        return within(x, kernel)
    full = of_vectors(x, kernel)
    return full[(m - 1) // 2 : (m - 1) // 2 + n] if mode == "same" else full


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = array_of(a), array_of(v)
    if ndim_of(a) != 1 or ndim_of(v) != 1:
        raise ShapeError(
            f"correlate takes vectors, not arrays of shapes {shape_of(a)} and {shape_of(v)}"
        )
    if is_late_vector(a) or is_late_vector(v):
        return _late_convolution(a, ops.conj(v)[::-1], mode, turned=True)
    if shape_of(v)[0] > shape_of(a)[0]:
        # The longer one is held, the other moved: the same products, backwards.
        return ops.conj(correlate(v, a, mode))[::-1]
    return convolve(a, ops.conj(v)[::-1], mode)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = ops.reshape(array_of(ary), -1)
    parts = []
    for name, more in (("to_begin", to_begin), ("to_end", to_end)):
        if more is not None:
            more = array_of(more)
            if not np.can_cast(result_type(more), flat.dtype, "same_kind"):
                raise TypeError(
                    f"{name} is {describe(more)}; it must fit to elements of {flat.dtype}"
                )
            parts.append(ops.convert(ops.reshape(more, -1), flat.dtype))
        if name == "to_begin":
            parts.append(flat[1:] - flat[:-1])
    return ops.concatenate(parts)


def block(arrays: Any) -> Any:
    def joined(part: Any, axis: int) -> Any:
        if not isinstance(part, list):
            value = array_of(part)
            return (
                ops.reshape(value, (1,) * (ndim - ndim_of(value)) + tuple(shape_of(value)))
                if ndim_of(value) < ndim
                else value
            )
        return ops.concatenate([joined(p, axis + 1) for p in part], axis)

    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def rank(part: Any) -> int:
        return max(map(rank, part)) if isinstance(part, list) else ndim_of(array_of(part))

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))
    return joined(arrays, ndim - levels)


@lying("K")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = array_of(f)
    axes = (
        range(f.ndim)
        if axis is None
        else [normalize_axis(a, f.ndim) for a in ((axis,) if isinstance(axis, int) else axis)]
    )
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    steps = [operand(h) for h in steps]
    if len(steps) != len(axes):
        raise TypeError(
            f"{len(steps)} spacings for {len(axes)} axes; give one for each, or one for all"
        )
    if edge_order not in (1, 2) or isinstance(edge_order, bool):
        raise ValueError(f"edge_order is {describe(edge_order)}; it must be 1 or 2")
    if f.dtype.kind == "b":
        raise TypeError("f is an array of bool; there is no difference of two flags")
    # Differences of integers could wrap around.
    f = f if f.dtype.kind in "fc" else ops.convert(f, np.float64)
    if f.dtype.kind == "f" and any(result_type(h).kind == "c" for h in steps):
        raise unsupported("np.gradient", " with a complex spacing of real values")
    for k, h in zip(axes, steps, strict=True):
        least = edge_order + 1
        text = f"f has the size {{size}} along axis {k}; a difference takes {least} elements"
        refuse_less(f.shape[k], least, ValueError, text)
        if ndim_of(h) > 1 or (ndim_of(h) == 1 and not same(shape_of(h)[0], f.shape[k])):
            raise ShapeError(
                f"coordinates have the shape {shape_of(h)} for {f.shape[k]} elements along axis {k}"
            )
    results = []
    for k, h in zip(axes, steps, strict=True):
        h = ops.convert(h, f.dtype) if isinstance(h, (Value, np.ndarray, np.generic)) else h
        x = ops.moveaxis(f, k, 0)
        slopes = _uneven(x, h, edge_order) if ndim_of(h) else _even(x, h, edge_order)
        joined, n = ops.concatenate(slopes), shape_of(x)[0]
        # Of a length that only a run knows the parts are as long as the whole where it has 2.
        joined = ops.take(joined, ops.iota(n), 0) if is_late(form(n)) else joined
        results.append(ops.moveaxis(joined, 0, k))
    return results[0] if len(results) == 1 else tuple(results)


def _row(x: Any, k: int) -> Any:
    """One element along the first axis, which stays, counted from the end where k is negative."""
    n = shape_of(x)[0]
    if not is_late(form(n)):
        return x[k : k + 1] if k != -1 else x[k:]
    return ops.take(x, ops.reshape(number_of(n) + k if k < 0 else np.int64(k), (1,)), 0)


def _even(x: Any, h: Any, edge_order: int) -> list[Any]:
    inner = (x[2:] - x[:-2]) / (2.0 * h)
    if edge_order == 1:
        return [(_row(x, 1) - _row(x, 0)) / h, inner, (_row(x, -1) - _row(x, -2)) / h]
    return [
        (4.0 * _row(x, 1) - 3.0 * _row(x, 0) - _row(x, 2)) / (2.0 * h),
        inner,
        (3.0 * _row(x, -1) - 4.0 * _row(x, -2) + _row(x, -3)) / (2.0 * h),
    ]


def _uneven(x: Any, places: Any, edge_order: int) -> list[Any]:
    """Slopes of the parabolas through each three neighbours."""
    h = ops.reshape(ops.diff(places), (-1, *(1,) * (ndim_of(x) - 1)))
    chords = (x[1:] - x[:-1]) / h
    before, behind = h[:-1], h[1:]
    inner = (before * chords[1:] + behind * chords[:-1]) / (before + behind)
    if edge_order == 1:
        return [_row(chords, 0), inner, _row(chords, -1)]
    first, last = (2.0 * _row(chords, k) - _row(inner, k) for k in (0, -1))
    return [first, inner, last]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if period is None:
        return ops.interp(x, xp, fp, left, right)
    if ndim_of(operand(period)) or (not isinstance(period, Value) and period == 0):
        raise ValueError(f"period is {describe(period)}; it must be a number other than 0")
    width = ops.absolute(operand(period))
    places, values = ops.mod(array_of(operand(xp)), width), array_of(operand(fp))
    order = ops.argsort(places)
    places, values = ops.take(places, order, 0), ops.take(values, order, 0)
    places = ops.concatenate([places[-1:] - width, places, places[:1] + width])
    values = ops.concatenate([values[-1:], values, values[:1]])
    return ops.interp(ops.mod(operand(x), width), places, values)
