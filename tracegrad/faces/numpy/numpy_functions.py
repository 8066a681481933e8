"""NumPy functions that are no operation: questions about a value, writes into it, and what is made
in other words (`compositions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import flag
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ops.arrays.transfer import place_of
from ...ops.define import shape_of
from ...ops.matrices import scipy_names
from ...sizes import form, meeting, same, traced_number
from ...sizes.owners import is_late
from ...types import normalize_axis
from ..operators import array_of, operand
from ..tensor.casts import own
from ..write_checks import read_only
from . import (
    along,
    bits,
    compositions,
    counting,
    floats,
    histograms,
    index_numbers,
    laying,
    polynomials,
    results,
    sets,
    sliding,
)
from .in_turn import overlap
from .lookup import dtype_of, plain, result_type, store, store_exactly
from .writes import WRITES


def _shape(a: Any) -> Any:
    return shape_of(a) if isinstance(a, Value) else np.shape(a)


def _size(a: Any, axis: Any = None) -> Any:
    shape = _shape(array_of(a))
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    total: Any = 1
    for k in axes:
        total = total * shape[k]
    return total


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
        order = given.get("order", order)
        given = {k: v for k, v in given.items() if k not in ("order", "subok")}
        if not isinstance(a, Value):
            return make(a, **given)
        return laying.laid(own(type(a), make(a, **given), device=place_of(a)), order, a)

    return like


def _full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    value = operand(fill_value)
    return results.own_memory(value, _like(ops.full_like)(a, value, *args, **kwargs))


def _einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = True,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
) -> Any:
    """As NumPy's, which computes in the dtype that the operands and `out` are promoted to."""
    if dtype is None and out is not None:
        in_turn = not isinstance(operands[0], str)
        arrays = operands[: len(operands) // 2 * 2 : 2] if in_turn else operands[1:]
        dtype = result_type(*map(operand, arrays), out)
    result = results.einsum(*operands, optimize=optimize, dtype=dtype)
    return result if out is None else store_exactly(out, result, casting)


def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    view = results.broadcast_to(array, shape)
    return read_only(array[...] if view is array else view)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return read_only(ops.diagonal(a, offset, axis1, axis2))


def _diag(v: Any, k: int = 0) -> Any:
    return read_only(ops.diag(v, k)) if len(_shape(v)) == 2 else ops.diag(v, k)


def _windows(x: Any, *args: Any, **options: Any) -> Any:
    return read_only(sliding.sliding_window_view(x, *args, **options))


def _array_repr(a: Any, *_: Any, **__: Any) -> str:
    return repr(a)


def _array_str(a: Any, *_: Any, **__: Any) -> str:
    return str(a)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = operand(a1), operand(a2)
    if len(_shape(x)) != len(_shape(y)):
        return False
    fits, meet = True, meeting()
    for axis, (n, m) in enumerate(zip(_shape(x), _shape(y), strict=True)):
        if same(n, m):
            continue
        if meet is None or not (is_late(form(n)) or is_late(form(m))):
            return False
        fits = ops.logical_and(fits, ops.equal(traced_number(n), traced_number(m)))
        y = meet.spread(y, axis, form(n))
    alike = x == y
    if equal_nan:
        alike = ops.logical_or(alike, ops.logical_and(x != x, y != y))
    return ops.logical_and(fits, ops.all(alike)) if fits is not True else ops.all(alike)


def _reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    if copy is not None:
        flag("copy", copy)
    return results.in_order(array_of(a), shape, order)


def _ravel(a: Any, order: str = "C") -> Any:
    x = array_of(a)
    return laying.in_one_row(x, results.in_order(x, (-1,), order))


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return laying.copied(a, order) if isinstance(a, Value) else ops.positive(a)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return results.converted(x, dtype, copy=copy)


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
    return tuple(results.broadcast_to(a, total.shape) for a in arrays)


def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis = normalize_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return results.moveaxis(a, axis, start - 1 if axis < start else start)


def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(ops.moveaxis(x, axis, 0))


def _where(condition: Any, *both: Any) -> Any:
    if not both:
        return ops.nonzero(condition)
    if len(both) == 1:
        raise ValueError("np.where: either both or neither of x and y should be given")
    return ops.where(condition, *map(operand, both))


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
    flat = axis is None
    result = results.take(ops.reshape(x, -1) if flat else x, keep, 0 if flat else axis)
    return result if out is None else store(out, result)


def _compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    if np.ndim(plain(condition)) != 1:
        raise ShapeError(f"condition must be a vector, not of shape {np.shape(plain(condition))}")
    return _chosen(condition, a, axis, out)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    **WRITES,
    np.shape: _shape,
    np.ndim: lambda a: len(_shape(array_of(a))),
    np.size: _size,
    np.iscomplexobj: lambda x: result_type(x).kind == "c",
    np.isrealobj: lambda x: result_type(x).kind != "c",
    np.result_type: result_type,
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(
        dtype_of(from_) or from_, to.dtype if isinstance(to, Value) else to, casting
    ),
    np.einsum: _einsum,
    np.array_repr: _array_repr,
    np.array_str: _array_str,
    np.array2string: _array_str,
    np.array_equal: _array_equal,
    np.may_share_memory: lambda a, b, max_work=None: overlap(a, b),
    np.shares_memory: lambda a, b, max_work=None: overlap(a, b),
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
    np.broadcast_to: _broadcast_to,
    np.diagonal: _diagonal,
    np.diag: _diag,
    np.lib.stride_tricks.sliding_window_view: _windows,
    np.rollaxis: _rollaxis,
    np.unstack: _unstack,
    np.sort: counting.sort,
    np.argsort: counting.argsort,
    np.partition: counting.partition,
    np.argpartition: counting.argpartition,
    np.bincount: counting.bincount,
    np.digitize: counting.digitize,
    np.dsplit: counting.dsplit,
    np.delete: counting.delete,
    np.insert: counting.insert,
    np.sort_complex: counting.sort_complex,
    np.histogram: histograms.histogram,
    np.histogram2d: histograms.histogram2d,
    np.histogramdd: histograms.histogramdd,
    np.histogram_bin_edges: histograms.histogram_bin_edges,
    np.ix_: index_numbers.ix_,
    np.unravel_index: index_numbers.unravel_index,
    np.ravel_multi_index: index_numbers.ravel_multi_index,
    np.packbits: bits.packbits,
    np.unpackbits: bits.unpackbits,
    np.polyfit: polynomials.polyfit,
    np.polyadd: polynomials.polyadd,
    np.polysub: polynomials.polysub,
    np.polymul: polynomials.polymul,
    np.polydiv: polynomials.polydiv,
    np.polyder: polynomials.polyder,
    np.polyint: polynomials.polyint,
    np.roots: polynomials.roots,
    np.poly: polynomials.poly,
    np.unique: sets.unique,
    np.unique_values: sets.unique_values,
    np.unique_counts: sets.unique_counts,
    np.unique_inverse: sets.unique_inverse,
    np.unique_all: sets.unique_all,
    np.isin: sets.isin,
    np.union1d: sets.union1d,
    np.intersect1d: sets.intersect1d,
    np.setdiff1d: sets.setdiff1d,
    np.setxor1d: sets.setxor1d,
    np.trim_zeros: sets.trim_zeros,
    np.apply_along_axis: along.apply_along_axis,
    np.apply_over_axes: along.apply_over_axes,
    np.choose: along.choose,
    np.resize: along.resize,
    np.lexsort: along.lexsort,
    np.geomspace: along.geomspace,
    np.unwrap: along.unwrap,
    np.real_if_close: along.real_if_close,
    np.tril_indices_from: along.tril_indices_from,
    np.triu_indices_from: along.triu_indices_from,
    np.diag_indices_from: along.diag_indices_from,
    np.interp: compositions.interp,
    np.i0: floats.i0,
    np.select: compositions.select,
    np.piecewise: compositions.piecewise,
    np.where: _where,
    np.polyval: compositions.polyval,
    np.vander: compositions.vander,
    np.cov: compositions.cov,
    np.corrcoef: compositions.corrcoef,
    np.convolve: compositions.convolve,
    np.correlate: compositions.correlate,
    np.ediff1d: compositions.ediff1d,
    np.block: compositions.block,
    np.gradient: compositions.gradient,
    np.cumulative_sum: compositions.cumulative(ops.cumsum, 0),
    np.cumulative_prod: compositions.cumulative(ops.cumprod, 1),
    np.iscomplex: _iscomplex,
    np.isreal: _isreal,
    np.flatnonzero: _flatnonzero,
    np.argwhere: _argwhere,
    np.compress: _compress,
    np.extract: _chosen,
    np.linalg.eig: lambda a: scipy_names.eig(array_of(a)),
    np.linalg.eigvals: lambda a: scipy_names.eigvals(array_of(a)),
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: ops.trace(
        x if dtype is None else ops.convert(x, dtype), offset, -2, -1
    ),
    np.linalg.diagonal: lambda x, /, *, offset=0: _diagonal(x, offset, -2, -1),
}
"""By NumPy's function."""

ARRAYS: frozenset[Callable[..., Any]] = frozenset({
    np.apply_along_axis, np.block, np.copy, np.cov, np.cross, np.empty_like,
    np.expand_dims, np.full_like, np.i0, np.isin, np.linalg.tensordot, np.linalg.tensorsolve,
    np.ones_like, np.pad, np.piecewise, np.polyint, np.real_if_close, np.resize,
    np.roll, np.select, np.tensordot, np.tile, np.where, np.zeros_like,
})  # fmt: skip
"""Those of NumPy's functions that give an array also where it has no axes; of most others what has
none is a number, which `+=` replaces."""
