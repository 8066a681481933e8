"""Quantiles of weighted elements, by the inverse of their distribution function, as NumPy's.

Which element a quantile is depends on the weights; its value has no derivative by them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import explained_here
from ...dtypes import FLOAT64
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...types import show
from ..arrays.concatenation import stack
from ..arrays.shape import broadcast_to, expand_dims, reshape, squeeze, transpose
from ..arrays.slices import cut
from ..define import as_array, shape_of
from ..elementwise.arithmetic import div, equal, less, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import convert
from ..elementwise.logic import isnan, logical_not
from ..places.along import take_along_axis
from .axes import count, kept, moved_axes, normalize_axes
from .reductions import sum as total
from .scans import cumsum
from .sorting import argsort, check_order


def weighted_quantiles(
    x: Any, q: Any, axis: Any, keepdims: bool, method: str, weights: Any, skip: bool
) -> Any:
    """The quantiles q (0 to 1, an array of known numbers) over axes; the weights have the shape of
    x, or that of the axes. NaN without weight; `skip` leaves NaN among the elements out."""
    if method != "inverted_cdf":
        raise explained_here(
            ValueError(f'method is {method!r}; with weights it must be "inverted_cdf"')
        )
    if np.any((q < 0) | (q > 1) | np.isnan(q)):
        raise ValueError("quantiles must lie between 0 and 1 (percentiles between 0 and 100)")
    x = as_array(x)
    check_order(x.dtype)
    shape = shape_of(x)
    axes = normalize_axes(axis, len(shape))
    lead = tuple(s for k, s in enumerate(shape) if k not in axes)
    n = count(shape, axes)
    if not n:
        raise ShapeError(f"a quantile of no elements: axes {axes} of shape {show(shape)} are empty")
    order = moved_axes(axes, len(shape))
    flat = reshape(transpose(x, order), (*lead, n))
    share = reshape(transpose(_spread(weights, shape, axis, axes), order), (*lead, n))
    places = argsort(flat, -1)
    flat, share = take_along_axis(flat, places, -1), take_along_axis(share, places, -1)
    missing = isnan(flat) if x.dtype.kind == "f" else None
    if skip and missing is not None:
        share = where(missing, 0.0, share)
    reached = cumsum(share, -1)
    reached = div(reached, cut(reached, len(lead), n - 1, 1))
    unknown: Any = isnan(squeeze(cut(reached, len(lead), n - 1, 1), -1))
    if missing is not None and not skip:
        unknown = unknown | squeeze(cut(missing, len(lead), n - 1, 1), -1)
    # An element without weight in front is no quantile 0.
    reached = where(equal(reached, 0), -1.0, reached)
    last = n - 1
    if skip and missing is not None:
        last = maximum(total(logical_not(missing), -1), 1) - 1
    nothing = np.nan if x.dtype.kind == "f" else 0

    def one(q: Any) -> Any:
        steps = convert(reached, q.dtype) if q.dtype.kind == "f" else reached
        index = minimum(total(less(steps, q), -1), last)
        found = squeeze(take_along_axis(flat, expand_dims(index, -1), -1), -1)
        found = where(unknown, x.dtype.type(nothing), found)
        return reshape(found, kept(shape, axes) if keepdims else lead)

    if q.ndim == 0:
        return one(q[()])
    found = stack([one(v) for v in q.ravel()])
    return reshape(found, (*q.shape, *shape_of(found)[1:]))


def _spread(weights: Any, shape: Any, axis: Any, axes: tuple[int, ...]) -> Any:
    """The weights as an array of the shape of the elements."""
    w = as_array(weights)
    if tuple(shape_of(w)) != tuple(shape):
        if axis is None:
            raise ShapeError(
                f"weights have the shape {show(shape_of(w))}, and the elements {show(shape)}: "
                "name the axis"
            )
        given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        along = [k % len(shape) for k in given]
        if tuple(shape_of(w)) != tuple(shape[k] for k in along):
            raise ShapeError(
                f"weights have the shape {show(shape_of(w))}; along the axes {tuple(along)} of "
                f"elements of shape {show(shape)} it must be "
                f"{show(tuple(shape[k] for k in along))}"
            )
        w = transpose(w, tuple(int(k) for k in np.argsort(along)))
        w = reshape(w, tuple(s if k in axes else 1 for k, s in enumerate(shape)))
    if not isinstance(w, Value):
        if np.any(w < 0):
            raise ValueError("weights must not be negative")
        if not np.all(np.isfinite(w)):
            raise ValueError("weights must be finite")
    return broadcast_to(convert(w, FLOAT64), tuple(shape))
