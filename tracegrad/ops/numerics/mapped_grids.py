"""Grids seen in other coordinates under the names of scipy.ndimage, by splines of order 0 to 5.

Computed in double precision, as SciPy does; a float32 array gives a float32 one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from ...checks import describe
from ...dtypes import FLOAT64
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...types import normalize_axis, show
from ..arrays.concatenation import stack
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import cut
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, neg, sub
from ..elementwise.derived import add, convert, mul
from ..elementwise.floating import floating
from ..elementwise.trigonometric import cos, sin
from ..totals.reductions import sum as sum_
from .images import along_axes, as_image, per_axis, sizes_of, spline_order
from .splines_on_grids import along_one, at_places, check_mode, coefficients


def _shape(name: str, given: Any, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return sizes
    shape = tuple(operator.index(n) for n in given)
    if len(shape) != len(sizes) or min(shape, default=1) < 1:
        raise ShapeError(
            f"ndimage.{name}: output_shape is {describe(given)}; for an array of {len(sizes)} axes "
            "it must have as many sizes, from 1 on"
        )
    return shape


def _mapped(
    x: Any, matrix: Any, offset: Any, shape: tuple[int, ...], order: int, mode: str, cval: Any,
    prefilter: bool,
) -> Any:  # fmt: skip
    """The grid at `matrix @ o + offset` for each place o of a grid of that shape; the first axes,
    as many as the shape has."""
    count = len(shape)
    lengths = tuple(int(n) for n in shape_of(x)[:count])
    beside = tuple(shape_of(x)[count:])
    x, margin = coefficients(x, order, mode, cval, count) if prefilter else (x, 0)
    grid = np.indices(shape, dtype=np.float64).reshape(count, -1)
    rows = []
    for k in range(count):
        at: Any = 0.0
        for j in range(count):
            entry = reshape(cut(cut(matrix, 0, k, 1), 1, j, 1), ())
            at = add(at, mul(entry, grid[j]))
        rows.append(add(at, reshape(cut(offset, 0, k, 1), ())))
    return reshape(at_places(x, rows, lengths, margin, order, mode, cval), (*shape, *beside))


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Sequence[int] | None = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """The grid at `matrix @ o + offset` for each place o of the result. `matrix` has a row for each
    axis, or is a vector (one factor for each), or has offsets in a last column, and the row
    (0, ..., 0, 1) or not. Differentiable by array, matrix and offset; of order 0 by the array
    alone. All modes of SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.affine_transform(np.arange(4.0), [0.5], 1.0, order=1)
    array([1. , 1.5, 2. , 2.5])
    """
    name = "affine_transform"
    x, dtype = as_image(name, input, output, cval)
    order, mode = spline_order(name, order), check_mode(f"ndimage.{name}", mode)
    sizes = sizes_of(name, x)
    ndim = len(sizes)
    if not ndim:
        raise ShapeError(f"ndimage.{name}: the array is one number; it must have an axis")
    shape = _shape(name, output_shape, sizes)
    m = floating(matrix, "matrix", FLOAT64)
    moves = floating(offset, "offset", FLOAT64)
    columns = tuple(shape_of(m))
    if columns in ((ndim + 1, ndim + 1), (ndim, ndim + 1)):
        # Homogeneous coordinates.
        last = np.eye(ndim + 1)[-1]
        if type(m) is np.ndarray and len(m) > ndim and not np.array_equal(m[-1], last):
            raise ValueError(
                f"ndimage.{name}: the last row of a matrix of homogeneous coordinates is zeros and "
                f"a 1, not {m[-1]}"
            )
        moves = reshape(cut(cut(m, 1, ndim, 1), 0, 0, ndim), (ndim,))
        m = cut(cut(m, 1, 0, ndim), 0, 0, ndim)
        columns = (ndim, ndim)
    if columns not in ((ndim,), (ndim, ndim)) or tuple(shape_of(moves)) not in ((), (ndim,)):
        raise ShapeError(
            f"ndimage.{name}: matrix and offset have the shapes {show(shape_of(m))} and "
            f"{show(shape_of(moves))}; for an array of {ndim} axes they must be ({ndim}, {ndim}) "
            f"and ({ndim},)"
        )
    moves = add(moves, np.zeros(ndim))
    if columns == (ndim,):
        places = [
            add(mul(np.arange(n, dtype=np.float64), cut(m, 0, k, 1)), cut(moves, 0, k, 1))
            for k, n in enumerate(shape)
        ]
        return convert(along_axes(x, places, order, mode, cval, prefilter), dtype)
    return convert(_mapped(x, m, moves, shape, order, mode, cval, prefilter), dtype)


def rotate(
    input: Any,
    angle: Any,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """The grid turned by an angle in degrees in the plane of two axes; as large as it has to be, or
    with `reshape=False` as large as it is. Differentiable by the array, and with `reshape=False` by
    the angle (not of order 0).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.rotate(np.array([[1.0, 2.0], [3.0, 4.0]]), 90, order=1)
    array([[2., 4.],
           [1., 3.]])
    """
    x, dtype = as_image("rotate", input, output, cval)
    order, mode = spline_order("rotate", order), check_mode("ndimage.rotate", mode)
    ndim = ndim_of(x)
    if ndim < 2:
        raise ShapeError(f"ndimage.rotate: an array of {ndim} axes has no plane; it takes two")
    plane = sorted(normalize_axis(operator.index(a), ndim) for a in axes)
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ValueError(f"ndimage.rotate: axes are {describe(axes)}; they must be two different")
    sizes_of("rotate", x)
    known = not isinstance(angle, Value)
    if np.shape(angle) != ():
        raise ShapeError(f"ndimage.rotate: angle is {describe(angle)}; it must be one number")
    if known:
        c, s = (f(np.float64(angle)) for f in (scipy.special.cosdg, scipy.special.sindg))
    elif reshape:
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.rotate: how large a grid is that a traced or differentiated "
            "angle turns is not known; give reshape=False"
        )
    else:
        turn = mul(convert(angle, np.dtype(np.float64)), np.pi / 180)
        c, s = cos(turn), sin(turn)
    x = moveaxis(x, plane, (0, 1))
    inside = np.array([int(n) for n in shape_of(x)[:2]])
    shape = tuple(inside.tolist())
    if reshape:
        corners = np.array([[0, 0, inside[0], inside[0]], [0, inside[1], 0, inside[1]]])
        bounds = np.array([[c, s], [-s, c]]) @ corners
        shape = tuple((np.ptp(bounds, axis=1) + 0.5).astype(int).tolist())
    middle = (np.array(shape) - 1) / 2
    here = (inside - 1) / 2
    matrix = stack([stack([c, s]), stack([neg(s), c])])
    offset = sub(here, sum_(mul(matrix, middle), 1))
    turned = _mapped(x, matrix, offset, shape, order, mode, cval, prefilter)
    return convert(moveaxis(turned, (0, 1), plane), dtype)


def zoom(
    input: Any,
    zoom: float | Sequence[float],
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """The grid with `zoom` times as many elements along all axes (one known number for all, or one
    for each); `grid_mode` measures from the outer edges of elements, not from their middles.
    Differentiable by the array.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.zoom(np.arange(3.0), 2, order=1).round(12)
    array([0. , 0.4, 0.8, 1.2, 1.6, 2. ])
    """
    x, dtype = as_image("zoom", input, output, cval)
    order, mode = spline_order("zoom", order), check_mode("ndimage.zoom", mode)
    sizes = sizes_of("zoom", x)
    factors = per_axis("zoom", "zoom", zoom, len(sizes))
    if any(isinstance(f, Value) for f in factors):
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.zoom by a traced or differentiated number: the size of the "
            "result would depend on it; use tg.ndimage.affine_transform"
        )
    places = []
    for n, factor in zip(sizes, factors, strict=True):
        count = round(n * float(factor))
        if count < 1:
            raise ShapeError(f"ndimage.zoom: of {n} elements {factor} times as many are none")
        if count > np.iinfo(np.int32).max:
            raise ShapeError(
                f"ndimage.zoom: {factor} times as many as {n} elements are more than memory "
                "can hold"
            )
        at = np.arange(count, dtype=np.float64)
        if grid_mode:
            places.append((at + 0.5) * (n / count) - 0.5)
        else:
            places.append(at * ((n - 1) / (count - 1) if count > 1 else 1.0))
    return convert(along_axes(x, places, order, mode, cval, prefilter), dtype)


def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = None, mode: str = "mirror"
) -> Any:
    """The coefficients of splines along one axis; x itself for orders 0 and 1.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.spline_filter1d(np.ones(3)).round(12)
    array([1., 1., 1.])
    """
    x, dtype = as_image("spline_filter1d", input, output)
    order = spline_order("spline_filter1d", order)
    mode = check_mode("ndimage.spline_filter1d", mode)
    kept = "mirror" if mode in ("constant", "wrap", "grid-constant") else mode
    kept = "reflect" if kept in ("grid-mirror", "nearest") else kept
    axis = normalize_axis(axis, ndim_of(x))
    return convert(along_one(x, axis, kept, order) if order > 1 else x, dtype)


def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean place of the elements along each axis, weighted by their values: a tuple of
    numbers. Labels are refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tuple(float(c) for c in tg.ndimage.center_of_mass(np.array([0.0, 1.0, 1.0])))
    (1.5,)
    """
    if labels is not None or index is not None:
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.center_of_mass with labels is not supported; take it of "
            "input * (labels == number)"
        )
    x = as_array(input)
    total = sum_(x)
    places = np.ogrid[tuple(slice(0, int(n)) for n in shape_of(x))]
    return tuple(div(sum_(mul(x, at.astype(float))), total) for at in places)


__all__ = ["affine_transform", "center_of_mass", "rotate", "spline_filter1d", "zoom"]
