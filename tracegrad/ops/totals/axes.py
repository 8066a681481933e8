"""The axes of a reduction: which they are, how many elements they hold, and results put back over
them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...checks import flag
from ...errors import ShapeError
from ...sizes import numel
from ...types import Int, axes_of, normalize_axis
from ..arrays.shape import broadcast_to, reshape
from ..define import shape_of

Axis = int | Sequence[int] | None


def normalize_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` means, sorted; None is all of them."""
    if axis is None:
        return (0,) if ndim == 1 else tuple(range(ndim))
    numbers = axes_of(axis)
    if len(numbers) == 1:
        return (normalize_axis(numbers[0], ndim),)
    axes = sorted(normalize_axis(a, ndim) for a in numbers)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"repeated axis in {numbers}")
    return tuple(axes)


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes of a ufunc's reduction: as NumPy's, it takes 0 and -1 for an array without axes."""
    return () if ndim == 0 and stands_for_none(axis) else normalize_axes(axis, ndim)


def stands_for_none(axis: Any) -> bool:
    """Whether this is what NumPy takes for an axis where an array has none."""
    return isinstance(axis, (int, np.integer)) and axis in (0, -1)


@lru_cache(maxsize=4096)
def over(axis: Axis, ndim: int) -> dict[str, Any]:
    """The parameters of a reduction, of which running code uses few."""
    return {"axes": reduced_axes(axis, ndim)}


def kept(shape: Sequence[Int], axes: Sequence[int]) -> tuple[Int, ...]:
    """`shape` with size 1 along the reduced axes."""
    return tuple(1 if k in axes else s for k, s in enumerate(shape))


def spread(x: Any, shape: Sequence[Int], axes: Sequence[int]) -> Any:
    """A reduced value repeated along the axes that were reduced."""
    return broadcast_to(reshape(x, kept(shape, axes)), tuple(shape))


def keep(result: Any, x: Any, axes: Sequence[int], keepdims: Any) -> Any:
    """The reduced axes put back with size 1, where asked."""
    if keepdims is False:
        return result
    return reshape(result, kept(shape_of(x), axes)) if flag("keepdims", keepdims) else result


def count(shape: Sequence[Any], axes: Sequence[int]) -> Any:
    """How many elements each result of a reduction combines."""
    return numel(shape[a] for a in axes)


def moved_axes(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The order that brings `axes` to the end."""
    return (*[k for k in range(ndim) if k not in axes], *axes)
