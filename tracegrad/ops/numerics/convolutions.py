"""Convolutions and correlations along all axes, under the names of scipy.signal."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import FLOAT64, promote
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.lines import user_line
from ...sizes import numel, same
from ...types import show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.padding import pad
from ..arrays.shape import reshape
from ..arrays.slices import cut, flip, slice_array
from ..arrays.windows import windows
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import where
from ..elementwise.comparison import round_
from ..elementwise.derived import add, conj, convert, mul
from ..fourier.functions import factored_length, fftn, ifftn, irfftn, rfftn
from ..matrices.products import matmul
from ..places.along import take
from ..totals.reductions import sum as sum_

FEW = 32
"""So many products of whole arrays are less than transforms of several axes."""
SHORT, LITTLE = 256, 1 << 20
"""Elements of a shorter vector, and products in all, that are less than transforms of vectors."""


def _operands(in1: Any, in2: Any, mode: Any) -> tuple[Any, Any]:
    """The arrays in one dtype; for "valid" the larger one first."""
    x, y = as_array(in1), as_array(in2)
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f'convolve: mode is {describe(mode)}; it must be "full", "same" or "valid"'
        )
    if ndim_of(x) != ndim_of(y):
        raise ShapeError(
            f"convolve: in1 and in2 must have as many axes, not shapes {show(shape_of(x))} and "
            f"{show(shape_of(y))}"
        )
    dtype = promote(x.dtype, y.dtype)
    x, y = convert(x, dtype), convert(y, dtype)
    if mode == "valid" and ndim_of(x):
        pairs = list(zip(shape_of(x), shape_of(y), strict=True))
        larger = all(m >= n for m, n in pairs)
        if not larger and not all(m <= n for m, n in pairs):
            raise ValueError('convolve: for mode="valid" one array must be as large along all axes')
        x, y = (x, y) if larger else (y, x)
    return x, y


def _through_transforms(x: Any, y: Any) -> Any:
    """The full convolution through transforms of all axes, each of a length of small factors."""
    sizes = tuple(m + n - 1 for m, n in zip(shape_of(x), shape_of(y), strict=True))
    shape: Any = tuple(map(factored_length, sizes))
    if x.dtype.kind == "c" or y.dtype.kind == "c":
        full = ifftn(mul(fftn(x, shape), fftn(y, shape)), shape)
    else:
        full = irfftn(mul(rfftn(x, shape), rfftn(y, shape)), shape)
    for axis, size in enumerate(sizes):
        full = cut(full, axis, 0, size)
    return full


def within(x: Any, y: Any) -> Any:
    """The convolution of two vectors where the shorter one, y, lies within x."""
    return matmul(flip(y, (0,)), windows(x, 0, int(shape_of(y)[0])))


def of_vectors(x: Any, y: Any) -> Any:
    """The full convolution of two vectors, product by product. Beyond the ends nothing is
    multiplied, so what is infinite or NaN reaches its neighbours only."""
    if shape_of(y)[0] > shape_of(x)[0]:
        x, y = y, x
    n, m = shape_of(x)[0], int(shape_of(y)[0])
    if m == 1:
        return within(x, y)
    # Before the first window there are m - 1 sums of what x begins with, and as many behind the
    # last of what it ends with.
    rows, taps = np.arange(m - 1)[:, None], np.arange(m)
    places = np.concatenate([rows - taps, rows - taps + m - 1])
    inside = np.concatenate([taps <= rows, taps > rows])
    places += np.repeat([0, m - 1], m - 1)[:, None]
    both = concatenate([cut(x, 0, 0, m - 1), cut(x, 0, n - m + 1, m - 1)])
    # Both factors are 0 elsewhere, for the sake of the adjoint: it has products with either.
    near = where(inside, take(both, places.clip(0, 2 * m - 3), 0), x.dtype.type(0))
    products = mul(near, where(inside, y, y.dtype.type(0)))
    ends = sum_(products, 1, dtype=products.dtype)
    return concatenate([cut(ends, 0, 0, m - 1), within(x, y), cut(ends, 0, m - 1, m - 1)])


def _of_products(x: Any, y: Any) -> Any:
    """The full convolution, product by product."""
    if ndim_of(x) == 1:
        return of_vectors(x, y)
    if numel(shape_of(y)) > numel(shape_of(x)):
        x, y = y, x
    sizes, total = tuple(map(int, shape_of(y))), None
    for at in itertools.product(*map(range, sizes)):
        weight = reshape(slice_array(y, at, (1,) * len(at), (1,) * len(at)), (1,) * len(at))
        # Zeros come behind the product: an infinite weight has no business with them.
        around = [(k, n - 1 - k) for k, n in zip(at, sizes, strict=True)]
        term = pad(mul(x, weight), around)
        total = term if total is None else add(total, term)
    return total


def _of_integers(x: Any, y: Any) -> Any:
    """The full convolution of integers, exact but for what wraps around: that of vectors which hold
    their rows one after the other, each as long as those of the result."""
    if numel(shape_of(y)) > numel(shape_of(x)):
        x, y = y, x
    shape = tuple(m + n - 1 for m, n in zip(shape_of(x), shape_of(y), strict=True))

    def in_one_row(v: Any) -> Any:
        rows = [(0, 0), *((0, k - n) for k, n in zip(shape[1:], shape_of(v)[1:], strict=True))]
        return reshape(pad(v, rows), (-1,))

    # Without the zeros behind the last element, which would lie beyond the result.
    a, b = in_one_row(x), in_one_row(y)
    behind = sum(
        (k - n) * numel(shape[axis + 1 :])
        for axis, (k, n) in enumerate(zip(shape, shape_of(y), strict=True))
        if axis
    )
    b = cut(b, 0, 0, shape_of(b)[0] - behind)
    m = int(shape_of(b)[0])
    return reshape(within(pad(a, [(m - 1, numel(shape) - int(shape_of(a)[0]))]), b), shape)


def _is_small(x: Any, y: Any) -> bool:
    """Whether single products are less work than transforms."""
    few, many = sorted((numel(shape_of(x)), numel(shape_of(y))))
    if ndim_of(x) == 1:
        return bool(few <= SHORT and few * many <= LITTLE)
    return bool(few <= FEW)


def _part(full: Any, x: Any, y: Any, mode: str) -> Any:
    if mode == "full":
        return full
    for axis, (m, n) in enumerate(zip(shape_of(x), shape_of(y), strict=True)):
        full = cut(full, axis, (n - 1) // 2 if mode == "same" else n - 1,
                   m if mode == "same" else m - n + 1)  # fmt: skip
    return full


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution of two arrays with as many axes, along all of them, by Fourier transforms.
    mode: "full", "same" (the middle, of the size of in1) or "valid" (where nothing is added). A NaN
    reaches all of the result, and rounding is that of its largest element. Integers are converted
    to float64.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.fftconvolve([1.0, 2.0], [1.0, 1.0]).round(12)
    array([1., 3., 2.])
    """
    if axes is not None:
        raise UnsupportedFunctionError(
            f"{user_line()}: signal.fftconvolve with axes= is not supported; write "
            "tg.fft.irfft(tg.fft.rfft(x, n, axis) * tg.fft.rfft(y, n, axis), n, axis)"
        )
    x, y = as_array(in1), as_array(in2)
    if x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        dtype = promote(x.dtype, y.dtype, FLOAT64)
        x, y = convert(x, dtype), convert(y, dtype)
    return _convolved(x, y, mode, "fft")


def _convolved(in1: Any, in2: Any, mode: str, method: str) -> Any:
    x, y = _operands(in1, in2, mode)
    if ndim_of(x) == 0:
        return mul(x, y)
    if any(same(n, 0) for n in (*shape_of(x), *shape_of(y))):
        return zeros((0,), dtype=x.dtype)
    if x.dtype.kind not in "fc":
        if method == "fft":
            return convert(round_(fftconvolve(x, y, mode)), x.dtype)
        return _part(_of_integers(x, y), x, y, mode)
    direct = method == "direct" or (method == "auto" and _is_small(x, y))
    return _part((_of_products if direct else _through_transforms)(x, y), x, y, mode)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays with as many axes, along all of them. method: "direct" (product
    by product: each element has its own rounding), "fft" (`fftconvolve`), or "auto", whichever is
    less work by the sizes. Integers and booleans remain what they are, by products but for "fft",
    which is rounded; of nothing it is an empty vector.

    >>> import tracegrad as tg
    >>> tg.signal.convolve([1e20, 2.0], [1.0, 1.0])
    array([1.e+20, 1.e+20, 2.e+00])
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(
            f'convolve: method is {describe(method)}; it must be "auto", "direct" or "fft"'
        )
    return _convolved(in1, in2, mode, method)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays with as many axes: `convolve` with the conjugate of in2, taken
    backwards along all axes.

    >>> import tracegrad as tg
    >>> tg.signal.correlate([1.0, 2.0], [0.0, 1.0])
    array([1., 2., 0.])
    """
    x, y = as_array(in1), as_array(in2)
    every = tuple(range(ndim_of(y)))
    smaller = any(m < n for m, n in zip(shape_of(x), shape_of(y), strict=False))
    if mode == "valid" and ndim_of(x) == ndim_of(y) and smaller:
        # The larger one is held, the other moved: the same products, backwards.
        return conj(flip(convolve(y, conj(flip(x, every)), mode, method), every))
    return convolve(x, conj(flip(y, every)) if every else conj(y), mode, method)


__all__ = ["convolve", "correlate", "fftconvolve"]
