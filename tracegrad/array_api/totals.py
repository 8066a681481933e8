"""Functions of the standard that reduce and accumulate."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .results import given, of, operand


def _total(name: str) -> Any:
    function = getattr(np, name)

    def total(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        operand(x)
        if dtype is not None and x.dtype != dtype:
            x = ops.convert(x, np.dtype(dtype))
        found = given(function(x, axis=axis, keepdims=keepdims))
        return found if dtype is None or found.dtype == dtype else ops.convert(found, dtype)

    total.__name__ = total.__qualname__ = name
    return of(total, name)


sum, prod = map(_total, ("sum", "prod"))


def _reduction(name: str) -> Any:
    function = getattr(np, name)
    return of(
        lambda x, /, *, axis=None, keepdims=False: function(x, axis=axis, keepdims=keepdims), name
    )


all, any, max, mean, min = map(_reduction, ("all", "any", "max", "mean", "min"))


def _spread(name: str) -> Any:
    function = getattr(np, name)

    def spread(
        x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False
    ) -> Any:
        return function(x, axis=axis, ddof=correction, keepdims=keepdims)

    return of(spread, name)


std, var = map(_spread, ("std", "var"))


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return given(np.sum(operand(x).detach() != 0, axis=axis, keepdims=keepdims, dtype=np.int64))


def _cumulative(name: str) -> Any:
    function, start = getattr(np, name), {"cumsum": 0, "cumprod": 1}[name]

    def cumulative(
        x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        if axis is None:
            if operand(x).ndim > 1:
                raise ValueError(f"axis is needed for an array of {x.ndim} dimensions")
            axis = 0
        if not x.ndim:
            raise ValueError("an array without dimensions has no axis to go along")
        if dtype is not None and x.dtype != dtype:
            x = ops.convert(x, np.dtype(dtype))
        found = given(function(x, axis=axis))
        if dtype is not None and found.dtype != dtype:
            found = ops.convert(found, np.dtype(dtype))
        if include_initial:
            shape = list(found.shape)
            shape[axis] = 1
            found = given(np.concatenate([given(np.full(shape, start, found.dtype)), found], axis))
        return found

    return of(cumulative, {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}[name])


cumulative_sum, cumulative_prod = map(_cumulative, ("cumsum", "cumprod"))


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, `n` times."""
    parts = [p for p in (prepend, operand(x), append) if p is not None]
    return given(np.diff(np.concatenate(parts, axis) if len(parts) > 1 else x, n, axis))


__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]
