"""Interpolation of values on grids whose axes have places of their own, under the names of
scipy.interpolate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ir.lines import user_line
from ...sizes import same
from ...types import show
from ..arrays.concatenation import stack
from ..arrays.shape import broadcast_to, reshape
from ..arrays.slices import cut, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, greater, less, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, convert, mul
from ..elementwise.floating import is_number
from ..elementwise.logic import isnan, logical_or
from ..places.along import take
from ..places.keys import concrete
from ..totals.sorting import searchsorted
from .interpolation import floats, rows

METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """The interpolation of `values`, an array with an axis for each vector of `points` (and further
    ones), called with places (..., axes).

    method        "linear" (in each cell, of its corners) or "nearest"
    bounds_error  whether known places outside of the grid raise ValueError
    fill_value    what there is outside without it; None: the outermost cells go on

    Points ascend or descend. Differentiable by the values, the places and the points (of "nearest"
    by the values).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> table = tg.interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), np.eye(2))
    >>> table([[0.5, 1.0], [0.0, 1.0]])
    array([0.5, 0.5])
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: float | None = np.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        self.grid = tuple(floats(p) for p in points)
        self.values = as_array(values)
        if self.values.dtype.kind not in "fc":
            self.values = convert(self.values, np.float64)
        self.method = _method(name, method)
        if fill_value is not None and (
            ndim_of(fill_value) or not is_number(fill_value, self.values.dtype)
        ):
            raise TypeError(
                f"{name}: fill_value is {describe(fill_value)}; it must be None or a number of the "
                f"values' kind, {self.values.dtype}"
            )
        self.bounds_error, self.fill_value = bool(bounds_error), fill_value
        shape = shape_of(self.values)
        if len(self.grid) > len(shape) or not self.grid:
            raise ShapeError(
                f"{name}: {len(self.grid)} vectors of points for values of shape {show(shape)}; "
                "there must be one for each of the first axes"
            )
        for k, p in enumerate(self.grid):
            if ndim_of(p) != 1 or not same(shape_of(p)[0], shape[k]) or int(shape_of(p)[0]) < 2:
                raise ShapeError(
                    f"{name}: points[{k}] has the shape {show(shape_of(p))}; it must be a vector "
                    f"of the {shape[k]} places along axis {k}, of at least 2"
                )
        self.turned = tuple(map(_turned, self.grid))
        for k, turned in enumerate(self.turned):
            if turned is None:
                raise ValueError(f"{name}: points[{k}] must strictly ascend, or descend")
        self.ascending = tuple(
            p if turned is False else flip(p, 0) if turned is True else where(turned, flip(p, 0), p)
            for p, turned in zip(self.grid, self.turned, strict=True)
        )

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at places (..., axes), or at one vector of broadcast coordinates for each
        axis."""
        method = self.method if method is None else _method("RegularGridInterpolator", method)
        count, apart = len(self.grid), isinstance(xi, tuple)
        if apart:
            parts = [floats(p) for p in xi]
            shape = np.broadcast_shapes(*[tuple(shape_of(p)) for p in parts])
            xi = stack([broadcast_to(p, shape) for p in parts], -1)
        xi = floats(xi)
        if ndim_of(xi) == 0 or (ndim_of(xi) == 1 and count == 1):
            xi = reshape(xi, (-1, 1))
        elif ndim_of(xi) == 1 and not apart:
            xi = reshape(xi, (1, -1))
        if not same(shape_of(xi)[-1], count):
            raise ShapeError(
                f"RegularGridInterpolator: places of shape {show(shape_of(xi))} for a grid of "
                f"{count} axes; the last axis must be that of the coordinates"
            )
        shape = tuple(shape_of(xi))[:-1]
        flat = reshape(xi, (-1, count))
        found = self._at([reshape(cut(flat, 1, k, 1), (-1,)) for k in range(count)], method)
        return reshape(found, (*shape, *tuple(shape_of(self.values))[count:]))

    def _at(self, places: list[Any], method: str) -> Any:
        count = len(places)
        sizes = [int(n) for n in shape_of(self.values)[:count]]
        beside = tuple(shape_of(self.values))[count:]
        cells, shares, outside = [], [], None
        for k, (p, at) in enumerate(zip(self.ascending, places, strict=True)):
            n = sizes[k]
            beyond = logical_or(less(at, cut(p, 0, 0, 1)), greater(at, cut(p, 0, n - 1, 1)))
            if self.bounds_error and _holds_somewhere(logical_or(beyond, isnan(at))):
                raise ValueError(
                    f"RegularGridInterpolator: a place is outside of the grid along axis {k}; "
                    "bounds_error=False gives fill_value there"
                )
            outside = beyond if outside is None else logical_or(outside, beyond)
            i = clip(sub(searchsorted(p, at, "right"), 1), 0, n - 2)
            low, high = take(p, i, 0), take(p, add(i, 1), 0)
            cells.append(i)
            shares.append(div(sub(at, low), sub(high, low)))
        flat = reshape(self.values, (math.prod(sizes), *beside))
        if method == "nearest":
            sides = [where(greater(t, 0.5), 1, 0) for t in shares]
            found = take(flat, self._flat(cells, sides, sizes), 0)
        else:
            found = 0.0
            for corner in itertools.product((0, 1), repeat=count):
                weight: Any = 1.0
                for side, t in zip(corner, shares, strict=True):
                    weight = mul(weight, t if side else sub(1.0, t))
                value = take(flat, self._flat(cells, corner, sizes), 0)
                found = add(found, mul(value, rows(weight, value)))
        if self.fill_value is not None:
            found = where(rows(outside, found), self.fill_value, found)
        # Of the nearest of no place; other methods' shares are NaN there.
        for at in places if method == "nearest" else ():
            found = where(rows(isnan(at), found), np.nan, found)
        return found

    def _flat(self, cells: Sequence[Any], sides: Sequence[Any], sizes: list[int]) -> Any:
        """The numbers of corners of cells that are counted along ascending points."""
        found: Any = 0
        for i, side, n, turned in zip(cells, sides, sizes, self.turned, strict=True):
            i = add(i, side)
            if turned is not False:
                back = sub(n - 1, i)
                i = back if turned is True else where(turned, back, i)
            found = add(mul(found, n), i)
        return found


def _holds_somewhere(condition: Any) -> bool:
    """Whether a condition is known, as of plain and eager values, and true of some elements."""
    traced = isinstance(condition, Value) and isinstance(condition._data, Var)
    return not traced and bool(np.any(concrete(condition, "", "")))


def _turned(points: Any) -> Any:
    """Whether points descend: True or False, None where they do neither, and a question to what is
    computed where they are traced."""
    if isinstance(points, Value) and isinstance(points._data, Var):
        return greater(cut(points, 0, 0, 1), cut(points, 0, int(shape_of(points)[0]) - 1, 1))
    steps = np.diff(np.asarray(concrete(points, "", "")))
    return False if np.all(steps > 0) else True if np.all(steps < 0) else None


def _method(name: str, method: Any) -> str:
    if method not in METHODS:
        known = method in ("slinear", "cubic", "quintic", "pchip", "splinef2d")
        kind = UnsupportedFunctionError if known else ValueError
        where_ = f"{user_line()}: interpolate." if known else ""
        raise kind(f'{where_}{name}: method is {describe(method)}; "linear" and "nearest" are here')
    return str(method)


def interpn(
    points: Sequence[Any],
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: float | None = np.nan,
) -> Any:
    """`RegularGridInterpolator(points, values, ...)(xi)`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.interpolate.interpn(([0.0, 1.0],), np.array([1.0, 3.0]), np.array([[0.5]]))
    array([2.])
    """
    found = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    # Of coordinates that are numbers this is a vector of one, and the interpolator's a number.
    one = isinstance(xi, tuple) and not any(ndim_of(floats(x)) for x in xi)
    return found([xi] if one else xi)


__all__ = ["RegularGridInterpolator", "interpn"]
