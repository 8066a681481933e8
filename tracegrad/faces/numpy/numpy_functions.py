"""NumPy functions that are no operation: questions about a value, writes into it, and compositions
under NumPy's own signatures."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...dtypes import promote
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ops.arrays.transfer import place_of
from ...ops.define import ndim_of, shape_of
from ...types import normalize_axis
from ..operators import array_of, operand
from ..tensor.casts import own
from . import results
from .lookup import plain, store, unsupported


def _shape(a: Any) -> Any:
    return shape_of(a) if isinstance(a, Value) else np.shape(a)


def _size(a: Any, axis: Any = None) -> Any:
    shape = _shape(array_of(a))
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    total: Any = 1
    for k in axes:
        total = total * shape[k]
    return total


def _dtype_of(x: Any) -> np.dtype[Any] | None:
    return x.dtype if isinstance(x, (Value, np.ndarray, np.generic)) else None


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    kinds: list[Any] = []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
            kinds.append(type(x))
        else:
            kinds.append(_dtype_of(x) or np.dtype(x))
    return promote(*kinds)


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    """zeros_like and its kin: the result is boxed as the prototype is and lies where that does, so
    that it can take up traced and differentiated values."""

    def like(
        a: Any,
        *args: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        device: Any = None,
    ) -> Any:
        names = (
            ("dtype", "order", "subok", "shape")
            if make is not ops.full_like
            else ("fill_value", "dtype", "order", "subok", "shape")
        )
        given = {"dtype": dtype, "shape": shape, **dict(zip(names, args, strict=False))}
        given = {k: v for k, v in given.items() if k not in ("order", "subok")}
        return (
            own(type(a), make(a, **given), device=place_of(a))
            if isinstance(a, Value)
            else make(a, **given)
        )

    return like


def _full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    return _like(ops.full_like)(a, operand(fill_value), *args, **kwargs)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    store(dst, operand(src), where)


def _array_repr(a: Any, *_: Any, **__: Any) -> str:
    return repr(a)


def _array_str(a: Any, *_: Any, **__: Any) -> str:
    return str(a)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = operand(a1), operand(a2)
    if _shape(x) != _shape(y):
        return False
    same = x == y
    return ops.all(ops.logical_or(same, ops.logical_and(x != x, y != y)) if equal_nan else same)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if mode != "raise":
        raise unsupported("np.put", f" with mode={mode!r}")
    flat = a.reshape(-1)
    flat[np.asarray(ind)] = v


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if wrap is not False:
        raise unsupported("np.fill_diagonal", " with wrap=")
    index = np.arange(min(int(s) for s in a.shape))
    a[(index,) * a.ndim] = val


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    arr._update(ops.put_along_axis, indices, operand(values), axis)


def _ordered(shape: Sequence[Any] | Any, x: Any, order: str | None) -> Any:
    if order in (None, "C", "A", "K"):
        return results.reshape(x, shape)
    if order != "F":
        raise ValueError(f"order must be C, F or A, not {order!r}")
    target = (shape,) if not isinstance(shape, (tuple, list)) else tuple(shape)
    return results.transpose(results.reshape(results.transpose(x), target[::-1]))


def _reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    return _ordered(shape, array_of(a), order)


def _ravel(a: Any, order: str = "C") -> Any:
    return _ordered((-1,), array_of(a), order)


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return ops.positive(a)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return results.own_memory(x, ops.convert(x, dtype)) if copy else ops.convert(x, dtype)


def _allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    return ops.all(ops.isclose(operand(a), operand(b), rtol, atol, equal_nan))


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = array_of(arr), array_of(values)
    if axis is None:
        arr, values, axis = ops.reshape(arr, -1), ops.reshape(values, -1), 0
    return ops.concatenate([arr, values], axis)


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [array_of(a) for a in args]
    total = arrays[0] * 0 == 0
    for a in arrays[1:]:
        total = ops.logical_or(total, a == a)
    return tuple(ops.broadcast_to(a, total.shape) for a in arrays)


def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis = normalize_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return results.moveaxis(a, axis, start - 1 if axis < start else start)


def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(ops.moveaxis(x, axis, 0))


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    result = operand(default)
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist has {len(condlist)} entries, and choicelist {len(choicelist)}")
    for k, condition in enumerate(condlist):
        if _result_type(operand(condition)).kind != "b":
            raise TypeError(
                f"condlist[{k}] is {describe(condition)}; it must be an array of booleans"
            )
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = ops.where(condition, operand(choice), result)
    return result


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    conditions = [
        operand(c) for c in (condlist if isinstance(condlist, (list, tuple)) else [condlist])
    ]
    functions = list(funclist)
    values = [f(x, *args, **kw) if callable(f) else f for f in functions]
    result = values.pop() if len(functions) == len(conditions) + 1 else 0.0
    for condition, value in zip(conditions, values, strict=True):
        result = ops.where(condition, value, result)
    if _result_type(result).kind == "c" and x.dtype.kind != "c":
        raise unsupported("np.piecewise", " with complex values over a real array")
    return ops.convert(ops.broadcast_to(result, x.shape), x.dtype)


def _polyval(p: Any, x: Any) -> Any:
    result: Any = operand(x) * 0
    for coefficient in array_of(p):
        result = result * x + coefficient
    return result


def column_count(count: Any) -> int:
    """So many columns, each an operation: no more than anybody can mean."""
    number = -1 if isinstance(count, bool) else operator.index(count)
    if not 0 <= number <= 1 << 16:
        raise ValueError(f"N is {number}; it must be a number of columns from 0 to {1 << 16}")
    return number


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    if ndim_of(x) != 1:
        raise ShapeError(f"x must be a vector, not an array of shape {shape_of(x)}")
    count = shape_of(x)[0] if N is None else column_count(N)
    x = ops.convert(x, np.promote_types(x.dtype, int))
    columns = [ops.power(x, k) for k in range(count)]
    return ops.stack(columns if increasing else columns[::-1], 1)


def _cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    rows = array_of(m)
    rows = ops.convert(rows, np.promote_types(rows.dtype, np.float64))
    rows = (
        ops.reshape(rows, (1, -1))
        if ndim_of(rows) <= 1
        else rows
        if rowvar
        else ops.transpose(rows)
    )
    if y is not None:
        other = array_of(y)
        rows = ops.convert(rows, np.promote_types(rows.dtype, other.dtype))
        other = (
            ops.reshape(other, (1, -1))
            if ndim_of(other) <= 1
            else other
            if rowvar
            else ops.transpose(other)
        )
        rows = ops.concatenate([rows, other], 0)
    count = shape_of(rows)[1] - ((0 if bias else 1) if ddof is None else ddof)
    centred = rows - ops.mean(rows, axis=1, keepdims=True)
    return ops.squeeze(ops.matmul(centred, ops.conj(ops.transpose(centred))) / count)


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = _cov(x, y, rowvar)
    if ndim_of(c) == 0:
        return c / c
    spread = ops.sqrt(ops.real(ops.diagonal(c)))
    return c / spread[:, None] / spread[None, :]


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    if ndim_of(array_of(a)) > 1 or ndim_of(array_of(v)) > 1:
        raise ShapeError(
            f"convolve takes vectors, not arrays of shapes {_shape(array_of(a))} "
            f"and {_shape(array_of(v))}"
        )
    x, kernel = ops.reshape(array_of(a), -1), ops.reshape(array_of(v), -1)
    if shape_of(kernel)[0] > shape_of(x)[0]:
        x, kernel = kernel, x
    n, m = int(shape_of(x)[0]), int(shape_of(kernel)[0])
    if m == 0:
        raise ValueError("convolve needs arrays that are not empty")
    margin = {"full": m - 1, "same": m - 1, "valid": 0}[mode]
    padded = (
        ops.concatenate([np.zeros(margin, x.dtype), x, np.zeros(margin, x.dtype)]) if margin else x
    )
    # Row k holds the window under output k: one product with the reversed kernel.
    windows = np.arange(n + 2 * margin - m + 1)[:, None] + np.arange(m)[None, :]
    full = ops.matmul(padded[windows], kernel[::-1])
    return full[(m - 1) // 2 : (m - 1) // 2 + n] if mode == "same" else full


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    swapped = shape_of(array_of(v))[0] > shape_of(array_of(a))[0]
    result = _convolve(a, ops.conj(array_of(v))[::-1], mode)
    if swapped and mode == "same":
        raise unsupported("np.correlate", " with mode='same' and a second array that is longer")
    return result


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = ops.reshape(array_of(ary), -1)
    parts = [flat[1:] - flat[:-1]]
    if to_begin is not None:
        parts.insert(0, ops.reshape(array_of(to_begin), -1))
    if to_end is not None:
        parts.append(ops.reshape(array_of(to_end), -1))
    return ops.concatenate(parts)


def _block(arrays: Any) -> Any:
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


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = (
        range(f.ndim)
        if axis is None
        else [normalize_axis(a, f.ndim) for a in ((axis,) if isinstance(axis, int) else axis)]
    )
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if edge_order != 1 or any(ndim_of(h) for h in steps):
        raise unsupported("np.gradient", " with edge_order=2 or with coordinates")
    # Differences of integers could wrap around.
    f = f if f.dtype.kind in "fc" else ops.convert(f, np.float64)
    if f.dtype.kind == "f" and any(_result_type(h).kind == "c" for h in steps):
        raise unsupported("np.gradient", " with a complex spacing of real values")
    results = []
    for k, h in zip(axes, steps, strict=True):
        h = ops.convert(h, f.dtype) if isinstance(h, (Value, np.ndarray, np.generic)) else h
        x = ops.moveaxis(f, k, 0)
        inner = (x[2:] - x[:-2]) / (2.0 * h)
        results.append(
            ops.moveaxis(
                ops.concatenate([(x[1:2] - x[:1]) / h, inner, (x[-1:] - x[-2:-1]) / h]), 0, k
            )
        )
    return results[0] if len(results) == 1 else tuple(results)


def _iscomplex(x: Any) -> Any:
    return ops.not_equal(ops.imag(x), 0)


def _isreal(x: Any) -> Any:
    return ops.equal(ops.imag(x), 0)


def _flatnonzero(a: Any) -> Any:
    return ops.nonzero(ops.reshape(a, -1))[0]


def _argwhere(a: Any) -> Any:
    return np.stack([plain(i) for i in ops.nonzero(a)], 1)


def _chosen(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    x, keep = array_of(a), np.flatnonzero(plain(condition))
    result = ops.take(ops.reshape(x, -1) if axis is None else x, keep, 0 if axis is None else axis)
    return result if out is None else store(out, result)


def _compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    if np.ndim(plain(condition)) != 1:
        raise ShapeError(f"condition must be a vector, not of shape {np.shape(plain(condition))}")
    return _chosen(condition, a, axis, out)


def _putmask(a: Any, mask: Any, values: Any) -> None:
    chosen = operand(values)
    if _size(mask) != _size(a):
        raise ShapeError(f"mask has {_size(mask)} elements, and the array {_size(a)}")
    if ndim_of(chosen) and shape_of(chosen) != shape_of(a):
        raise unsupported("np.putmask", " with values of another shape than the array's")
    a._update(lambda x: ops.where(mask, ops.convert(chosen, x.dtype), x))


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: lambda a: len(_shape(array_of(a))),
    np.size: _size,
    np.iscomplexobj: lambda x: _result_type(x).kind == "c",
    np.isrealobj: lambda x: _result_type(x).kind != "c",
    np.result_type: _result_type,
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(
        _dtype_of(from_) or from_, _dtype_of(to) or to, casting
    ),
    np.copyto: _copyto,
    np.array_repr: _array_repr,
    np.array_str: _array_str,
    np.array2string: _array_str,
    np.array_equal: _array_equal,
    np.put: _put,
    np.fill_diagonal: _fill_diagonal,
    np.put_along_axis: _put_along_axis,
    np.may_share_memory: lambda a, b, max_work=None: a is b,
    np.shares_memory: lambda a, b, max_work=None: a is b,
    np.zeros_like: _like(ops.zeros_like),
    np.ones_like: _like(ops.ones_like),
    np.empty_like: _like(ops.empty_like),
    np.full_like: _full_like,
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.copy: _copy,
    np.astype: _astype,
    np.allclose: _allclose,
    np.append: _append,
    np.array_equiv: lambda a1, a2: ops.all(ops.equal(operand(a1), operand(a2))),
    np.broadcast_arrays: _broadcast_arrays,
    np.rollaxis: _rollaxis,
    np.unstack: _unstack,
    np.select: _select,
    np.piecewise: _piecewise,
    np.polyval: _polyval,
    np.vander: _vander,
    np.cov: _cov,
    np.corrcoef: _corrcoef,
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.ediff1d: _ediff1d,
    np.block: _block,
    np.gradient: _gradient,
    np.iscomplex: _iscomplex,
    np.isreal: _isreal,
    np.flatnonzero: _flatnonzero,
    np.argwhere: _argwhere,
    np.compress: _compress,
    np.extract: _chosen,
    np.putmask: _putmask,
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: ops.trace(
        x if dtype is None else ops.convert(x, dtype), offset, -2, -1
    ),
    np.linalg.diagonal: lambda x, /, *, offset=0: ops.diagonal(x, offset, -2, -1),
}
"""By NumPy's function."""
