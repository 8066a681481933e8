"""Analytic signals, trends, and convolutions of pictures, with scipy.signal's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import describe
from ...errors import DTypeError, ShapeError, UnsupportedFunctionError
from ...ir.lines import user_line
from ...types import normalize_axis, show
from ..arrays.shape import moveaxis
from ..arrays.slices import cut, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import sub
from ..elementwise.derived import convert, mul
from ..elementwise.floating import is_number
from ..fourier.functions import fft, ifft
from ..totals.reductions import sum as sum_
from ..totals.statistics import mean
from .convolutions import convolve, correlate


def _signal(name: str, x: Any, axis: int) -> tuple[Any, int]:
    x = as_array(x)
    if ndim_of(x) < 1:
        raise ShapeError(f"{name}: a signal is needed, not a number")
    if x.dtype.kind not in "fc":
        x = convert(x, np.float64)
    return x, normalize_axis(axis, ndim_of(x))


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal of a real one: its spectrum without the negative frequencies, the others
    doubled. N: cut to so many elements, or continued with zeros.

    >>> import tracegrad as tg
    >>> abs(tg.signal.hilbert([1.0, 0.0, -1.0, 0.0])).round(12)
    array([1., 1., 1., 1.])
    """
    x, axis = _signal("hilbert", x, axis)
    if x.dtype.kind == "c":
        raise DTypeError(f"{user_line()}: hilbert: x must be real, not {x.dtype}")
    n = shape_of(x)[axis] if N is None else N
    if not isinstance(n, int):
        raise ShapeError("hilbert: the size along the axis must be known; mark it static")
    if n <= 0:
        raise ValueError(f"hilbert: N is {n}; it must be positive")
    factors = np.zeros(n, x.dtype)
    factors[: (n + 1) // 2] = 2.0
    factors[0] = 1.0
    if n % 2 == 0:
        factors[n // 2] = 1.0
    shape = tuple(n if k == axis else 1 for k in range(ndim_of(x)))
    return ifft(mul(fft(x, n, axis), factors.reshape(shape)), axis=axis)


def frequency(name: str, fs: Any) -> Any:
    """A sampling frequency, which is plain."""
    if np.ndim(fs) != 0 or not is_number(fs, np.dtype(np.float64)) or not fs > 0:
        raise ValueError(f"{name}: fs is {describe(fs)}; it must be a number above 0")
    return fs


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0) -> Any:
    """The data without their mean ("constant") or the line that fits them best ("linear"), along an
    axis. One piece: `bp` other than 0 is refused.

    >>> import tracegrad as tg
    >>> tg.signal.detrend([1.0, 3.0, 5.0]).round(12) + 0.0
    array([0., 0., 0.])
    """
    x, axis = _signal("detrend", data, axis)
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError(f'detrend: type is {type!r}; it must be "linear" or "constant"')
    level = sub(x, mean(x, axis=axis, keepdims=True))
    if type in ("constant", "c"):
        return level
    if np.any(np.asarray(bp) != 0):
        raise UnsupportedFunctionError(
            f"{user_line()}: detrend: bp is not supported; take the pieces x[start:stop] one by one"
        )
    n = shape_of(x)[axis]
    if not isinstance(n, int):
        raise ShapeError("detrend: the size along the axis must be known; mark it static")
    # The line through the mean: its slope is the share of the centred places.
    places = np.arange(n) - (n - 1) / 2
    norm = np.sqrt(np.sum(places**2))
    places = np.asarray(places / norm if n > 1 else places, level.dtype)
    last = moveaxis(level, axis, -1)
    share = sum_(mul(last, places), axis=-1, keepdims=True)
    return moveaxis(sub(last, mul(share, places)), -1, axis)


def _plane(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> tuple[Any, Any]:
    a, b = as_array(in1), as_array(in2)
    for word, x in (("in1", a), ("in2", b)):
        if ndim_of(x) != 2:
            raise ShapeError(f"{name}: {word} must be a matrix, not of shape {show(shape_of(x))}")
    if boundary != "fill" or fillvalue != 0:
        raise UnsupportedFunctionError(
            f"{user_line()}: {name}: what is outside is 0 (boundary='fill'); continue in1 with "
            "np.pad, and take mode='valid'"
        )
    return a, b


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The convolution of two matrices, zeros around them. mode as of `convolve`.

    >>> import tracegrad as tg
    >>> tg.signal.convolve2d([[1.0, 2.0]], [[1.0], [1.0]])
    array([[1., 2.],
           [1., 2.]])
    """
    return convolve(*_plane("convolve2d", in1, in2, boundary, fillvalue), mode)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The correlation of two matrices, zeros around them. "same" begins at the middle of in2, which
    is one further than that of `correlate` where its size is even, as SciPy has it.

    >>> import tracegrad as tg
    >>> tg.signal.correlate2d([[1.0, 2.0]], [[0.0, 1.0]], "valid")
    array([[2.]])
    """
    a, b = _plane("correlate2d", in1, in2, boundary, fillvalue)
    sizes = list(zip(shape_of(a), shape_of(b), strict=True))
    if mode == "same":
        found = correlate(a, b)
        for axis, (m, n) in enumerate(sizes):
            found = cut(found, axis, n // 2, m)
        return found
    if mode == "valid" and any(m < n for m, n in sizes):
        return flip(correlate(b, a, mode), (0, 1))
    return correlate(a, b, mode)


__all__ = ["convolve2d", "correlate2d", "detrend", "hilbert"]
