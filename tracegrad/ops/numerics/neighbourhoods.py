"""Functions of each element's neighbours under the names of scipy.ndimage: correlations, means
and differences. Computed in double precision, as SciPy does; a float32 array gives a
float32 one."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ...types import normalize_axis, show
from ..arrays.shape import reshape
from ..arrays.slices import flip, slice_array
from ..define import ndim_of, shape_of
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.elementary import sqrt, square
from ..elementwise.floating import floating
from .images import as_image, continued, correlated, gaussian_filter, per_axis
from .splines_on_grids import check_mode

Axes = int | Sequence[int] | None


# --- neighbours -----------------------------------------------------------------------------------


def axes_along(name: str, x: Any, axes: Axes) -> list[int]:
    """The axes from the front; none twice."""
    ndim = ndim_of(x)
    given: Any = range(ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    along = [normalize_axis(operator.index(a), ndim) for a in given]
    if len(set(along)) != len(along):
        raise ValueError(f"ndimage.{name}: axes are {describe(axes)}; one occurs twice")
    return along


def _before(name: str, count: int, origin: Any) -> int:
    """How many neighbours in front of an element belong to it."""
    before = count // 2 + operator.index(origin)
    if not 0 <= before < count:
        raise ValueError(f"ndimage.{name}: origin is {origin}; the middle must be in the window")
    return before


def shifts(
    name: str, x: Any, sizes: Sequence[int], modes: Any, cval: Any, origins: Any
) -> Callable[[tuple[int, ...]], Any]:
    """The array seen by the neighbour at a place of the window, which has one size for each
    axis."""
    shape = tuple(shape_of(x))
    for axis, (count, mode, origin) in enumerate(zip(sizes, modes, origins, strict=True)):
        check_mode(f"ndimage.{name}", mode)
        before = _before(name, count, origin)
        if shape[axis]:
            x = continued(x, axis, before, count - 1 - before, mode, cval)
    return lambda at: slice_array(x, at, shape, (1,) * len(shape))


def _weighted(name: str, x: Any, w: Any, modes: Any, cval: Any, origins: Any) -> Any:
    ndim = ndim_of(x)
    sizes = [int(n) for n in shape_of(w)]
    if len(sizes) != ndim or not all(sizes):
        raise ShapeError(
            f"ndimage.{name}: weights have the shape {show(shape_of(w))}; for an array of {ndim} "
            "axes they must have as many, none of them empty"
        )
    seen = shifts(name, x, sizes, modes, cval, origins)
    total: Any = None
    for at in itertools.product(*map(range, sizes)):
        if type(w) is np.ndarray and w[at] == 0:
            continue
        term = mul(seen(at), reshape(slice_array(w, at, (1,) * ndim, (1,) * ndim), (1,) * ndim))
        total = term if total is None else add(total, term)
    return mul(x, 0.0) if total is None else total


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
) -> Any:
    """The sums of each element's neighbours times weights of as many axes, of which the middle one
    (`size // 2`, moved by `origin`) is the element's own, complex weights conjugated.
    Differentiable by both. All modes of SciPy's. Each weight is one term: for large windows
    `tg.signal.fftconvolve` takes less.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.correlate(np.array([[1.0, 2.0], [3.0, 5.0]]), [[0.0, 0.0, 1.0]])
    array([[2., 2.],
           [5., 5.]])
    """
    x, dtype = as_image("correlate", input, output, cval)
    w = conj(floating(weights, "weights", x.dtype))
    modes, origins = (per_axis("correlate", word, v, ndim_of(x))
                      for word, v in (("mode", mode), ("origin", origin)))  # fmt: skip
    return convert(_weighted("correlate", x, w, modes, cval, origins), dtype)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
) -> Any:
    """`correlate` with the weights backwards along all axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.convolve(np.array([[1.0, 2.0], [3.0, 5.0]]), [[0.0, 0.0, 1.0]])
    array([[1., 1.],
           [3., 3.]])
    """
    x, dtype = as_image("convolve", input, output, cval)
    w = floating(weights, "weights", x.dtype)
    modes, origins = (per_axis("convolve", word, v, ndim_of(x))
                      for word, v in (("mode", mode), ("origin", origin)))  # fmt: skip
    if ndim_of(w) == len(origins):
        origins = [-operator.index(o) - (int(n) % 2 == 0)
                   for o, n in zip(origins, shape_of(w), strict=True)]  # fmt: skip
    turned = flip(w, tuple(range(ndim_of(w)))) if ndim_of(w) else w
    return convert(_weighted("convolve", x, turned, modes, cval, origins), dtype)


# --- means and differences ------------------------------------------------------------------------


def _mean(name: str, x: Any, size: Any, axis: int, mode: str, cval: Any, origin: Any) -> Any:
    size = operator.index(size)
    if size < 1:
        raise ValueError(f"ndimage.{name}: size is {size}; it must be from 1 on")
    return correlated(name, x, np.full(size, 1.0 / size), axis, mode, cval, origin)


def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """The mean of `size` neighbours along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.uniform_filter1d(np.array([0.0, 3.0, 6.0]), 3).round(12)
    array([1., 3., 5.])
    """
    x, dtype = as_image("uniform_filter1d", input, output, cval)
    return convert(_mean("uniform_filter1d", x, size, axis, mode, cval, origin), dtype)


def uniform_filter(
    input: Any,
    size: int | Sequence[int] = 3,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The mean over windows of `size` elements along all axes, or `axes`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.uniform_filter(np.array([[0.0, 3.0], [3.0, 6.0]]), 2).round(12)
    array([[0. , 1.5],
           [1.5, 3. ]])
    """
    x, dtype = as_image("uniform_filter", input, output, cval)
    along = axes_along("uniform_filter", x, axes)
    sizes, modes, origins = (
        per_axis("uniform_filter", word, v, len(along))
        for word, v in (("size", size), ("mode", mode), ("origin", origin))
    )
    for axis, n, m, o in zip(along, sizes, modes, origins, strict=True):
        x = _mean("uniform_filter", x, n, axis, m, cval, o)
    return convert(x, dtype)


def _edges(
    name: str, input: Any, axis: int, output: Any, mode: Any, cval: Any, middle: float
) -> Any:
    x, dtype = as_image(name, input, output, cval)
    axis = normalize_axis(axis, ndim_of(x))
    modes = per_axis(name, "mode", mode, ndim_of(x))
    x = correlated(name, x, [-1.0, 0.0, 1.0], axis, modes[axis], cval)
    for k in range(ndim_of(x)):
        if k != axis:
            x = correlated(name, x, [1.0, middle, 1.0], k, modes[k], cval)
    return convert(x, dtype)


def sobel(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
) -> Any:
    """The difference of both neighbours along an axis, under weights 1, 2, 1 along the others.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.sobel(np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]]))
    array([[ 4., 12.,  8.],
           [ 4., 12.,  8.]])
    """
    return _edges("sobel", input, axis, output, mode, cval, 2.0)


def prewitt(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
) -> Any:
    """The difference of both neighbours along an axis, summed over three along each of the others.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.prewitt(np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]]))
    array([[3., 9., 6.],
           [3., 9., 6.]])
    """
    return _edges("prewitt", input, axis, output, mode, cval, 1.0)


def laplace(
    input: Any,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    *,
    axes: Axes = None,
) -> Any:
    """The sum of second differences along all axes, or `axes`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.laplace(np.array([0.0, 1.0, 4.0, 9.0]))
    array([ 1.,  2.,  2., -5.])
    """
    x, dtype = as_image("laplace", input, output, cval)
    along = axes_along("laplace", x, axes)
    modes = per_axis("laplace", "mode", mode, len(along))
    total: Any = x if not along else None  # as SciPy's
    for axis, m in zip(along, modes, strict=True):
        term = correlated("laplace", x, [1.0, -2.0, 1.0], axis, m, cval)
        total = term if total is None else add(total, term)
    return convert(total, dtype)


def _of_orders(
    name: str, input: Any, sigma: Any, order: int, output: Any, mode: Any, cval: Any, axes: Axes,
    options: dict[str, Any], part: Callable[[Any], Any],
) -> tuple[Any, Any]:  # fmt: skip
    """The sum over axes of a function of the array under a Gaussian that is differentiated along
    the axis."""
    x, dtype = as_image(name, input, output, cval)
    along = axes_along(name, x, axes)
    modes = per_axis(name, "mode", mode, len(along))
    total: Any = mul(x, 0.0) if not along else None
    for axis, m in zip(along, modes, strict=True):  # SciPy's: a mode is of a term, not of an axis
        orders = [order if k == axis else 0 for k in along]
        smooth = gaussian_filter(x, sigma, orders, None, m, cval, axes=along, **options)
        term = part(smooth)
        total = term if total is None else add(total, term)
    return total, dtype


def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    *,
    axes: Axes = None,
    **kwargs: Any,
) -> Any:
    """The sum of second derivatives along all axes, or `axes`, under a Gaussian of width sigma;
    `truncate` and `radius` as of `gaussian_filter`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.gaussian_laplace(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5).round(3) + 0.0
    array([ 0.016,  1.277, -3.146,  1.277,  0.016])
    """
    total, dtype = _of_orders(
        "gaussian_laplace", input, sigma, 2, output, mode, cval, axes, kwargs, lambda x: x
    )
    return convert(total, dtype)


def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    *,
    axes: Axes = None,
    **kwargs: Any,
) -> Any:
    """The length of the gradient along all axes, or `axes`, under a Gaussian of width sigma;
    `truncate` and `radius` as of `gaussian_filter`. No derivative where it is 0.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.gaussian_gradient_magnitude(np.array([0.0, 0.0, 1.0, 1.0]), 0.5).round(3)
    array([0.002, 0.428, 0.428, 0.002])
    """
    total, dtype = _of_orders(
        "gaussian_gradient_magnitude", input, sigma, 1, output, mode, cval, axes, kwargs, square
    )
    return convert(sqrt(total), dtype)


__all__ = [
    "convolve", "correlate", "gaussian_gradient_magnitude", "gaussian_laplace", "laplace",
    "prewitt", "sobel", "uniform_filter", "uniform_filter1d",
]  # fmt: skip
