"""Filters of arrays that are Fourier transforms, under the names of scipy.ndimage: each element
times what the transform of the filter is there."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...dtypes import FLOAT64, real_of
from ...errors import DTypeError
from ...ir.dispatch import Value
from ...types import normalize_axis
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import complex_, div, equal, neg, where
from ..elementwise.derived import convert, mul
from ..elementwise.elementary import exp, square
from ..elementwise.logic import logical_or
from ..elementwise.trigonometric import cos, sin
from .images import as_image, per_axis

LARGEST = 2**31 - 1
"""The largest size that SciPy takes."""


def _frequencies(
    name: str, input: Any, given: Any, word: str, n: Any, axis: int, output: Any
) -> tuple[Any, np.dtype[Any], list[tuple[Any, Any]]]:
    """The array, the dtype of what is real in the result, and for each axis the number given, and
    the frequencies in cycles per element, in the shape of that axis. Of a transform of real numbers
    only the half along `axis` is there, n before it."""
    x = as_array(input)
    if output is not None:
        as_image(name, np.zeros(0), output)
    if as_array(given).dtype.kind == "c":
        raise DTypeError(f"ndimage.{name}: {word} must be real, not complex")
    dtype = x.dtype if x.dtype.kind in "fc" else FLOAT64
    ndim = ndim_of(x)
    n = operator.index(n)
    if n > LARGEST:
        raise ValueError(f"ndimage.{name}: n is {n}; it must be a size, up to {LARGEST}")
    axis = normalize_axis(axis, ndim)
    numbers = per_axis(name, word, given if _plain(given) else as_array(given), ndim)
    steps = []
    for k, (number, size) in enumerate(zip(numbers, shape_of(x), strict=True)):
        count = int(size)
        if k == axis and n >= 0:
            at = np.arange(count) / n
        else:
            at = np.fft.fftfreq(count) if count else np.zeros(0)
        number = number if isinstance(number, Value) else float(number)
        steps.append((number, at.reshape(-1, *(1,) * (ndim - 1 - k))))
    return convert(x, dtype), real_of(dtype), steps


def _plain(x: Any) -> bool:
    return isinstance(x, (int, float, list, tuple))


def fourier_gaussian(
    input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Any:
    """The transform of an array under a Gaussian of width sigma, one for all axes or one for each.
    n is the size before a transform of real numbers along `axis`, negative for a full one.
    Differentiable by both.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.fourier_gaussian(np.ones(4), 1.0).round(3)
    array([1.   , 0.291, 0.007, 0.291])
    """
    x, dtype, steps = _frequencies("fourier_gaussian", input, sigma, "sigma", n, axis, output)
    for width, at in steps:
        bell = exp(mul(-2 * np.pi**2 * at * at, square(as_array(width))))
        x = mul(x, convert(bell, dtype))
    return x


def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """The transform of an array under means of `size` elements, one number for all axes or one for
    each; n and axis as of `fourier_gaussian`. Differentiable by both.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.fourier_uniform(np.ones(4), 2.0).round(3)
    array([1.   , 0.637, 0.   , 0.637])
    """
    x, dtype, steps = _frequencies("fourier_uniform", input, size, "size", n, axis, output)
    for width, at in steps:
        if not isinstance(width, Value) and width == 0:
            raise ValueError("ndimage.fourier_uniform: size is 0; it must not be")
        turn = mul(np.pi * at, width)
        none = logical_or(equal(turn, 0.0), at == 0)
        wave = where(none, 1.0, div(sin(turn), where(none, 1.0, turn)))
        x = mul(x, convert(wave, dtype))
    return x


def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """The transform of an array moved by `shift` elements, one number for all axes or one for each;
    n and axis as of `fourier_gaussian`. Complex; differentiable by both.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> np.fft.ifft(tg.ndimage.fourier_shift(np.fft.fft([1.0, 2.0, 3.0]), 1.0)).real.round(12)
    array([3., 1., 2.])
    """
    x, dtype, steps = _frequencies("fourier_shift", input, shift, "shift", n, axis, output)
    if x.dtype.kind != "c":  # of real numbers in double precision, as SciPy's
        x, dtype = convert(x, np.dtype(complex)), FLOAT64
    for move, at in steps:
        turn = mul(2 * np.pi * at, move)
        x = mul(x, complex_(convert(cos(turn), dtype), convert(neg(sin(turn)), dtype)))
    return x


__all__ = ["fourier_gaussian", "fourier_shift", "fourier_uniform"]
