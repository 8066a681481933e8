"""Interpolation of grids and smoothing under the names of scipy.ndimage.

Computed in double precision, as SciPy does; a float32 array gives a float32 one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import FLOAT64
from ...errors import DTypeError, ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...sizes import same
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.padding import pad
from ..arrays.shape import reshape
from ..arrays.slices import cut, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, sub, where
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.elementary import exp
from ..elementwise.floating import floating, is_number
from ..elementwise.logic import logical_or
from ..places.along import take
from ..totals.reductions import sum as sum_
from .splines_on_grids import ORDERS, at_places, check_mode, coefficients, support

PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""NumPy's words for what continues an array under a filter."""
MOST_DERIVATIVES = 100
"""Each is a step for the weights of a Gaussian."""


def as_image(name: str, x: Any, output: Any = None, cval: Any = 0.0) -> tuple[Any, np.dtype[Any]]:
    """The array in double precision, and the dtype of the result. `cval` has to be a number, in
    modes that do not ask for it, too."""
    if output is not None:
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.{name} with output= is not supported; use the returned array"
        )
    x = as_array(x)
    if x.dtype.kind not in "fc":
        raise DTypeError(
            f"ndimage.{name}: an array of {x.dtype} would be rounded to integers; convert it with "
            ".astype(float)"
        )
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    if not is_number(cval, x.dtype):
        raise TypeError(
            f"ndimage.{name}: cval is {describe(cval)}; it must be a number of the array's kind"
        )
    return convert(x, np.dtype(wide)), x.dtype


def spline_order(name: str, order: Any) -> int:
    if isinstance(order, bool) or order not in ORDERS:
        raise ValueError(
            f"ndimage.{name}: order is {order!r}; it must be an integer from 0 (nearest) and 1 "
            "(linear) to 5"
        )
    return int(order)


def sizes_of(name: str, x: Any) -> tuple[int, ...]:
    sizes = tuple(int(n) for n in shape_of(x))
    if not all(sizes):
        raise ShapeError(f"ndimage.{name}: the array is empty: its shape is {show(shape_of(x))}")
    return sizes


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """The values of a grid at places between its elements: `coordinates` (ndim, ...) in elements,
    by splines of order 0 to 5. Differentiable by both; of order 0 by the array alone. All modes of
    SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.map_coordinates(np.arange(6.0).reshape(2, 3), [[0.5], [1.0]], order=1)
    array([2.5])
    """
    x, dtype = as_image("map_coordinates", input, output, cval)
    order, mode = (
        spline_order("map_coordinates", order),
        check_mode("ndimage.map_coordinates", mode),
    )
    places = floating(coordinates, "coordinates", FLOAT64)
    ndim = ndim_of(x)
    if ndim == 0 or ndim_of(places) == 0 or shape_of(places)[0] != ndim:
        raise ShapeError(
            f"ndimage.map_coordinates: coordinates have the shape {show(shape_of(places))}; for an "
            f"array of {ndim} axes the first size must be {ndim}"
        )
    lengths = sizes_of("map_coordinates", x)
    x, margin = coefficients(x, order, mode, cval) if prefilter else (x, 0)
    shape = tuple(shape_of(places))[1:]
    rows = [reshape(cut(places, 0, k, 1), (-1,)) for k in range(ndim)]
    found = at_places(x, rows, lengths, margin, order, mode, cval)
    return convert(reshape(found, shape), dtype)


def per_axis(name: str, word: str, given: Any, ndim: int) -> list[Any]:
    """One number for all axes, or one for each."""
    if isinstance(given, (list, tuple)) or (not isinstance(given, str) and ndim_of(given)):
        values = list(given)
        if any(map(ndim_of, values)):
            raise ValueError(f"ndimage.{name}: {word} is {describe(given)}; it must be a vector")
        if len(values) != ndim:
            raise ValueError(
                f"ndimage.{name}: {word} has {len(values)} elements for {ndim} axes; give one for "
                "each, or one for all"
            )
        return values
    return [given] * ndim


def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """The grid moved by `shift` elements (one number for all axes, or one for each) by splines of
    order 0 to 5. Differentiable by both; of order 0 by the array alone.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.shift(np.arange(4.0), 0.5, order=1)
    array([0. , 0.5, 1.5, 2.5])
    """
    x, dtype = as_image("shift", input, output, cval)
    order, mode = spline_order("shift", order), check_mode("ndimage.shift", mode)
    moves = per_axis("shift", "shift", as_array(shift), ndim_of(x))
    lengths = sizes_of("shift", x)
    places = [
        sub(np.arange(n, dtype=np.float64), move) for n, move in zip(lengths, moves, strict=True)
    ]
    return convert(along_axes(x, places, order, mode, cval, prefilter), dtype)


def along_axes(x: Any, places: list[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """The spline of a grid at the grid of places that has one vector of them for each axis."""
    lengths = [int(n) for n in shape_of(x)]
    x, margin = coefficients(x, order, mode, cval) if prefilter else (x, 0)
    outside: Any = None
    for k, (n, at) in enumerate(zip(lengths, places, strict=True)):
        index, weights, beyond, out = support(at, n, margin, order, mode)
        count, after = int(shape_of(at)[0]), (1,) * (ndim_of(x) - k - 1)
        values = take(x, index, k)
        if beyond is not None:
            values = where(reshape(beyond, (count, order + 1, *after)), x.dtype.type(cval), values)
        x = sum_(mul(values, reshape(weights, (count, order + 1, *after))), k + 1)
        if out is not None:
            out = reshape(out, (count, *after))
            outside = out if outside is None else logical_or(outside, out)
    return x if outside is None else where(outside, x.dtype.type(cval), x)


def continued(x: Any, axis: int, before: int, after: int, mode: str, cval: Any) -> Any:
    """The array with so many elements more at both ends of an axis."""
    padding: Any = PADDING[mode]
    n: Any = shape_of(x)[axis]
    if not all(isinstance(s, int) for s in shape_of(x)):
        widths = [(before, after) if k == axis else (0, 0) for k in range(ndim_of(x))]
        more = {"constant_values": cval} if padding == "constant" else {}
        return pad(x, widths, padding, **more)
    if padding == "constant":
        sides = [
            mul(np.ones((*shape_of(x)[:axis], m, *shape_of(x)[axis + 1 :]), x.dtype), cval)
            for m in (before, after)
        ]
        return concatenate([sides[0], x, sides[1]], axis)
    return take(x, np.pad(np.arange(n), (before, after), mode=padding), axis)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """The sums of each element and its neighbours along an axis, times weights of which the middle
    one (`len(weights) // 2`, moved by `origin`) is the element's, complex weights conjugated. All
    modes of SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.correlate1d(np.array([1.0, 2.0, 4.0]), [0.0, 0.0, 1.0])
    array([2., 4., 4.])
    """
    x, dtype = as_image("correlate1d", input, output, cval)
    w = conj(as_array(weights))
    return convert(correlated("correlate1d", x, w, axis, mode, cval, origin), dtype)


def correlated(
    name: str, x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0
) -> Any:
    check_mode(f"ndimage.{name}", mode)
    w = floating(weights, f"ndimage.{name}: weights", x.dtype)
    if ndim_of(w) != 1 or shape_of(w)[0] == 0:
        raise ShapeError(
            f"ndimage.{name}: weights have the shape {show(shape_of(w))}; they must be a vector "
            "that is not empty"
        )
    axis = normalize_axis(axis, ndim_of(x))
    n, taps = shape_of(x)[axis], int(shape_of(w)[0])
    before = taps // 2 + operator.index(origin)
    if not 0 <= before < taps:
        raise ValueError(f"ndimage.{name}: origin is {origin}; the middle must be in the weights")
    if same(n, 0):
        return x
    longer = continued(x, axis, before, taps - 1 - before, mode, cval)
    total: Any = None
    for k in range(taps):
        term = mul(cut(longer, axis, k, n), cut(w, 0, k, 1) if ndim_of(x) else w)
        total = term if total is None else add(total, term)
    return total


def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """`correlate1d` with the weights backwards.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.convolve1d(np.array([1.0, 2.0, 4.0]), [0.0, 0.0, 1.0])
    array([1., 1., 2.])
    """
    x, dtype = as_image("convolve1d", input, output, cval)
    w = as_array(weights)
    count = int(shape_of(w)[0]) if ndim_of(w) == 1 else 1
    turned = flip(w, 0) if ndim_of(w) == 1 else w
    middle = -operator.index(origin) - (1 if count % 2 == 0 else 0)
    return convert(correlated("convolve1d", x, turned, axis, mode, cval, middle), dtype)


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The weights of a correlation with a Gaussian, or with its derivative of an order, which is
    the Gaussian times a polynomial."""
    at = np.arange(-radius, radius + 1, dtype=np.float64)
    inverse = div(1.0, mul(sigma, sigma))
    bell = exp(mul(-0.5 * at * at, inverse))
    bell = div(bell, sum_(bell))
    polynomial: list[Any] = [1.0]
    for _ in range(order):
        longer = [*polynomial, 0.0, 0.0]
        polynomial = [
            sub(
                mul(longer[k + 1], k + 1.0),
                mul(longer[k - 1], inverse) if k else 0.0,
            )
            for k in range(len(polynomial) + 1)
        ]
    factor: Any = 0.0
    for c in reversed(polynomial):
        factor = add(mul(factor, at), c)
    return flip(mul(bell, factor), 0)


def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """The array along an axis under a Gaussian of width sigma, or under its derivative of that
    order. Differentiable by the array, and by sigma where `radius` says how many elements count on
    each side.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.gaussian_filter1d(np.array([0.0, 1.0, 0.0]), 0.5).round(3)
    array([0.107, 0.787, 0.107])
    """
    x, dtype = as_image("gaussian_filter1d", input, output, cval)
    name = "gaussian_filter1d"
    return convert(_smoothed(name, x, sigma, axis, order, mode, cval, truncate, radius), dtype)


def _smoothed(
    name: str, x: Any, sigma: Any, axis: int, order: Any, mode: str, cval: Any, truncate: Any,
    radius: Any,
) -> Any:  # fmt: skip
    order = operator.index(order)
    if not 0 <= order <= MOST_DERIVATIVES:
        raise ValueError(
            f"ndimage.{name}: order is {order}; it must be from 0 to {MOST_DERIVATIVES}"
        )
    if as_array(sigma).dtype.kind == "c":
        raise DTypeError(f"ndimage.{name}: sigma is {describe(sigma)}; it must be real")
    if radius is None:
        if isinstance(sigma, Value):
            raise UnsupportedFunctionError(
                f"{user_line()}: ndimage.{name}: how many elements a traced or differentiated "
                "sigma takes in is not known; give radius="
            )
        radius = int(float(truncate) * float(sigma) + 0.5)
    radius = operator.index(radius)
    if radius < 0:
        raise ValueError(f"ndimage.{name}: radius is {radius}; it must not be negative")
    if not isinstance(sigma, Value) and not (math.isfinite(sigma) and sigma):
        raise ValueError(f"ndimage.{name}: sigma is {sigma}; it must be finite, and not 0")
    return correlated(name, x, _gaussian(sigma, order, radius), axis, mode, cval)


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: int | Sequence[int] = 0,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """The array under a Gaussian of width sigma along all axes, or `axes`, or under derivatives of
    it (`order`); sigma, order, mode and radius are one for all of these axes, or one for each.
    Differentiable as `gaussian_filter1d`. All modes of SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.gaussian_filter(np.eye(2), 0.5).round(3)
    array([[0.809, 0.191],
           [0.191, 0.809]])
    """
    x, dtype = as_image("gaussian_filter", input, output, cval)
    ndim = ndim_of(x)
    given = range(ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    along = [normalize_axis(operator.index(a), ndim) for a in given]
    if len(set(along)) != len(along):
        raise ValueError(f"ndimage.gaussian_filter: axes are {describe(axes)}; one occurs twice")
    sigma = sigma if isinstance(sigma, (int, float)) else as_array(sigma)
    sigmas, orders, modes, reaches = (
        per_axis("gaussian_filter", word, v, len(along))
        for word, v in (("sigma", sigma), ("order", order), ("mode", mode), ("radius", radius))
    )
    for axis, s, o, m, r in zip(along, sigmas, orders, modes, reaches, strict=True):
        check_mode("ndimage.gaussian_filter", m)
        if isinstance(s, Value) or s > 1e-15:
            x = _smoothed("gaussian_filter", x, s, axis, o, m, cval, truncate, r)
    return convert(x, dtype)


def spline_filter(input: Any, order: int = 3, output: Any = None, mode: str = "mirror") -> Any:
    """The coefficients of the spline through a grid, as `map_coordinates` and `shift` take them
    with prefilter=False; in double precision, as SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.spline_filter(np.ones(3)).round(12)
    array([1., 1., 1.])
    """
    x, _ = as_image("spline_filter", input, output)
    if isinstance(order, bool) or order not in ORDERS[2:]:
        raise ValueError(f"ndimage.spline_filter: order is {order!r}; it must be from 2 to 5")
    mode = check_mode("ndimage.spline_filter", mode)
    kept = "mirror" if mode == "grid-constant" else "reflect" if mode == "nearest" else mode
    return coefficients(x, order, kept, 0.0)[0]


__all__ = [
    "convolve1d", "correlate1d", "gaussian_filter", "gaussian_filter1d", "map_coordinates", "shift",
    "spline_filter",
]  # fmt: skip
