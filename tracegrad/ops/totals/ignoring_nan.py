"""Reductions that leave NaN out: sums, products, means, variances and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import describe, explained_here
from ..define import as_array, ndim_of
from ..elementwise.arithmetic import div, greater, sub
from ..elementwise.arithmetic import where as where_
from ..elementwise.derived import convert
from ..elementwise.logic import isnan, logical_and, logical_not, logical_or
from .axes import Axis, reduced_axes
from .reductions import all as all_
from .reductions import flags_of, prod, start_of
from .reductions import max as max_
from .reductions import min as min_
from .reductions import sum as sum_
from .statistics import as_floats, check_ddof, mean, safe_sqrt, squared_distances, var


def _numbers(x: Any, where: Any) -> Any:
    """Which elements count: those that `where` selects and that are not NaN."""
    if x.dtype.kind not in "fc":
        return where
    there = logical_not(isnan(x))
    return there if where is True else logical_and(there, flags_of(where, x))


def _no_list(axis: Any) -> None:
    if isinstance(axis, list):
        raise explained_here(
            TypeError(f"axis is {describe(axis)}; it must be an integer, a tuple of them or None")
        )


def nansum(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    where: Any = True,
    initial: Any = None,
) -> Any:
    """Sum over axes of what is not NaN.

    >>> import tracegrad as tg
    >>> float(tg.nansum([1.0, float("nan"), 2.0]))
    3.0
    """
    x = as_array(x)
    return sum_(x, axis, keepdims, dtype, where=_numbers(x, where), initial=initial)


def nanprod(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    where: Any = True,
    initial: Any = None,
) -> Any:
    """Product over axes of what is not NaN."""
    _no_list(axis)
    x = as_array(x)
    return prod(x, axis, keepdims, dtype, where=_numbers(x, where), initial=initial)


def nanmean(
    x: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None, *, where: Any = True
) -> Any:
    """Mean over axes of what is not NaN.

    >>> import tracegrad as tg
    >>> float(tg.nanmean([1.0, float("nan"), 2.0]))
    1.5
    """
    x = as_floats(x) if dtype is None else as_array(x)
    axes = reduced_axes(axis, ndim_of(x))
    return mean(x, axes, keepdims, dtype, where=_numbers(x, where))


def nanvar(
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
    """Variance over axes of what is not NaN; NaN where there are not more numbers than `ddof`."""
    _no_list(axis)
    ddof = ddof if correction is None else correction
    check_ddof(ddof)
    if as_array(x).dtype.kind not in "fc":  # as NumPy's: nothing can be missing
        return var(x, axis, ddof, keepdims, dtype=dtype, where=where, mean=mean)
    x = as_floats(x if dtype is None else convert(as_array(x), dtype))
    # NumPy subtracts it in place.
    mean = mean if mean is None else convert(mean, x.dtype)
    axes = reduced_axes(axis, ndim_of(x))
    total, left = squared_distances(x, axes, keepdims, None, _numbers(x, where), mean)
    left = sub(left, ddof)
    enough = greater(left, 0)
    # Where there is NaN there is no number to differentiate by either.
    divisor = convert(where_(enough, left, 1), total.dtype)
    return where_(enough, div(total, divisor), total.dtype.type(np.nan))


def nanstd(
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
    """Standard deviation over axes of what is not NaN; its derivative is 0 where all of that is
    equal. See `nanvar`."""
    return safe_sqrt(
        nanvar(x, axis, ddof, keepdims, correction=correction, dtype=dtype, where=where, mean=mean)
    )


def nanmax(
    x: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Any:
    """Largest element over axes that is not NaN (NaN where all are).

    >>> import tracegrad as tg
    >>> float(tg.nanmax([1.0, float("nan"), 2.0]))
    2.0
    """
    return _extreme(max_, x, axis, keepdims, -np.inf, initial, where)


def nanmin(
    x: Any, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = True
) -> Any:
    """Smallest element over axes that is not NaN (NaN where all are).

    >>> import tracegrad as tg
    >>> float(tg.nanmin([1.0, float("nan"), 2.0]))
    1.0
    """
    return _extreme(min_, x, axis, keepdims, np.inf, initial, where)


def _extreme(
    extreme: Any, x: Any, axis: Axis, keepdims: bool, neutral: float, initial: Any, where: Any
) -> Any:
    x = as_array(x)
    if x.dtype.kind != "f":
        return extreme(x, axis, keepdims, initial=initial, where=where)
    missing, least = isnan(x), x.dtype.type(neutral)
    lost: Any = np.True_
    if initial is not None:
        initial = start_of(initial, x.dtype)
        lost = isnan(initial)
        initial = where_(lost, least, initial)
    found = extreme(where_(missing, least, x), axis, keepdims, initial=initial, where=where)
    unseen = missing if where is True else logical_or(missing, logical_not(flags_of(where, x)))
    nothing = logical_and(lost, all_(unseen, axis, keepdims))
    return where_(nothing, x.dtype.type(np.nan), found)
