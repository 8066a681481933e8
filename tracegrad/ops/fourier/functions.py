"""Discrete Fourier transforms with the names, arguments and scales of numpy.fft, by kernels of our
own in compiled code.

Any length is transformed in a time that grows as n log n. float32 gives complex64, integers and
booleans are float64. Every function is linear in its array, and differentiable to all orders.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import loading
from ...checks import describe
from ...dtypes import COMPLEX128, FLOAT64, real_of
from ...errors import DTypeError, ShapeError
from ...sizes import OF_SHAPES, less, same
from ...types import Int, normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import arange
from ..arrays.rolling import roll
from ..arrays.slices import cut, embed, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div
from ..elementwise.derived import conj, convert, mul
from ..elementwise.elementary import sqrt
from .transforms import fft_along, irfft_along, rfft_along

NORMS = ("backward", "ortho", "forward")
Axes = int | Sequence[int] | None


# --- arguments ------------------------------------------------------------------------------------


def _numbers(name: str, x: Any, real: bool = False) -> Any:
    """The array in a dtype that can be transformed."""
    x = as_array(x)
    if x.dtype.kind not in "biufc":
        raise DTypeError(f"fft.{name}: a is an array of {x.dtype}; it must be of numbers")
    if real and x.dtype.kind == "c":
        raise DTypeError(
            f"fft.{name}: a is an array of {x.dtype}; it must be real "
            f"(fft.{name.replace('ihfft', 'ifft').replace('rfft', 'fft')} takes complex numbers)"
        )
    if ndim_of(x) == 0:
        raise ShapeError(f"fft.{name}: a is one number; a transform needs an axis")
    return x if x.dtype.kind in "fc" else convert(x, FLOAT64)


def _complex(x: Any) -> Any:
    if x.dtype.kind == "c":
        return x
    return convert(x, np.complex64 if x.dtype == np.float32 else COMPLEX128)


def _count(name: str, n: Any, word: str = "n") -> Int:
    """A length that was given."""
    if not isinstance(n, OF_SHAPES) or isinstance(n, bool):
        try:
            n = operator.index(n)
        except TypeError:
            raise TypeError(f"fft.{name}: {word} is {describe(n)}; it must be an integer") from None
    if less(n, 1):
        raise ValueError(f"fft.{name}: {word} is {n}; a transform has at least 1 element")
    return n  # type: ignore[no-any-return]


def _norm(name: str, norm: Any) -> str:
    if norm is None:
        return "backward"
    if norm not in NORMS:
        words = '"backward", "ortho" or "forward"'
        raise ValueError(f"fft.{name}: norm is {norm!r}; it must be {words}")
    return str(norm)


def factored_length(n: Int) -> Int:
    """The least length from n on that has small prime factors only, for what may be transformed
    with zeros behind it; n itself where only a run knows it."""
    return int(loading.imported("scipy.fft").next_fast_len(n, True)) if isinstance(n, int) else n


def _resized(x: Any, axis: int, n: Int) -> Any:
    """n elements along an axis: the first ones, or all and then zeros."""
    shape = shape_of(x)
    if same(n, shape[axis]):
        return x
    if less(n, shape[axis]):
        return cut(x, axis, 0, n)
    return embed(x, (*shape[:axis], n, *shape[axis + 1 :]), (0,) * len(shape))


def _scaled(x: Any, n: Int, norm: str, inverse: bool) -> Any:
    """The results with the factor of a transform of length n."""
    if norm == ("forward" if inverse else "backward"):
        return x
    kind = real_of(x.dtype)
    if isinstance(n, int):
        return mul(x, kind.type(1 / n if norm != "ortho" else 1 / np.sqrt(n)))
    return div(x, convert(n, kind) if norm != "ortho" else sqrt(convert(n, kind)))


def _opposite(norm: str) -> str:
    return NORMS[2 - NORMS.index(norm)]


# --- one axis -------------------------------------------------------------------------------------


def _whole(half: Any, n: Int, axis: int) -> Any:
    """The spectrum of n real elements out of its half."""
    if same(n, 1) or same(n, 2):
        return half
    rest = flip(cut(half, axis, 1, (n - 1) // 2), axis)
    return concatenate([half, conj(rest)], axis)


def _along(x: Any, n: Int, axis: int, norm: str, inverse: bool) -> Any:
    x = _resized(x, axis, n)
    if x.dtype.kind == "f":
        # Half of the work: the other half of the spectrum are conjugates.
        whole = _whole(rfft_along(x, axis), n, axis)
        return _scaled(conj(whole) if inverse else whole, n, norm, inverse)
    return _scaled(fft_along(x, axis, inverse), n, norm, inverse)


def _one(name: str, a: Any, n: Any, axis: int, norm: Any, real: bool = False) -> Any:
    """The array, the length, the axis from the front and the scale."""
    a = _numbers(name, a, real)
    axis = normalize_axis(axis, ndim_of(a))
    n = shape_of(a)[axis] if n is None else n
    return a, _count(name, n), axis, _norm(name, norm)


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`out[k] = sum(a[j] * exp(-2j * pi * j * k / n))` along an axis.

    n     cut to so many elements, or continued with zeros
    norm  "backward": no factor; "forward": 1 / n; "ortho": 1 / sqrt(n)

    >>> import tracegrad as tg
    >>> tg.fft.fft([1.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.-0.j])
    """
    a, n, axis, norm = _one("fft", a, n, axis, norm)
    return _along(a, n, axis, norm, False)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft` with the same `norm`.

    >>> import tracegrad as tg
    >>> tg.fft.ifft([4.0 + 0j, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    a, n, axis, norm = _one("ifft", a, n, axis, norm)
    return _along(a, n, axis, norm, True)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 elements of `fft` of a real array, which say all; DTypeError for complex
    ones.

    >>> import tracegrad as tg
    >>> tg.fft.rfft([1.0, 1.0, 1.0, 1.0])
    array([4.+0.j, 0.+0.j, 0.+0.j])
    """
    a, n, axis, norm = _one("rfft", a, n, axis, norm, True)
    return _scaled(rfft_along(_resized(a, axis, n), axis), n, norm, False)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`: n real elements, by default 2 * (m - 1) out of m. The imaginary parts
    of the first element and, for even n, of the last one are not read.

    >>> import tracegrad as tg
    >>> tg.fft.irfft([4.0 + 0j, 0.0, 0.0])
    array([1., 1., 1., 1.])
    """
    return _to_real("irfft", a, n, axis, norm, True)


def _to_real(name: str, a: Any, n: Any, axis: int, norm: Any, inverse: bool) -> Any:
    a = _complex(_numbers(name, a))
    axis = normalize_axis(axis, ndim_of(a))
    n = _count(name, 2 * (shape_of(a)[axis] - 1) if n is None else n)
    a = _resized(a if inverse else conj(a), axis, n // 2 + 1)
    return _scaled(irfft_along(a, axis, n), n, _norm(name, norm), inverse)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real `fft` of n elements of which the first m are given, the others being their
    conjugates; n is 2 * (m - 1) by default.

    >>> import tracegrad as tg
    >>> tg.fft.hfft([1.0 + 0j, 1.0, 1.0])
    array([4., 0., 0., 0.])
    """
    return _to_real("hfft", a, n, axis, norm, False)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`: the first n // 2 + 1 elements of `ifft` of a real array.

    >>> import tracegrad as tg
    >>> tg.fft.ihfft([4.0, 0.0, 0.0, 0.0])
    array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    a, n, axis, norm = _one("ihfft", a, n, axis, norm, True)
    return conj(_scaled(rfft_along(_resized(a, axis, n), axis), n, norm, True))


# --- several axes ---------------------------------------------------------------------------------


def _several(
    name: str, a: Any, s: Any, axes: Any, norm: Any, real: bool = False, to_real: bool = False
) -> tuple[Any, list[Int], list[int], str]:
    """The array, a length for each axis, the axes from the front, and the scale."""
    a = _numbers(name, a, real)
    shape = shape_of(a)
    given = None if s is None else [s] if isinstance(s, OF_SHAPES) else list(s)
    if axes is None:
        places = list(range(len(shape)))
        if given is not None:
            places = places[len(shape) - len(given) :]
    else:
        chosen: Any = [axes] if isinstance(axes, OF_SHAPES) else axes
        places = [normalize_axis(k, len(shape)) for k in chosen]
    if given is not None and len(given) != len(places):
        raise ValueError(
            f"fft.{name}: s has {len(given)} lengths for {len(places)} axes of an array of shape "
            f"{show(shape)}"
        )
    if not places and (real or to_real):
        raise ValueError(f"fft.{name}: axes is empty; it must name at least one axis")
    lengths: list[Int] = []
    for k, axis in enumerate(places):
        n: Any = shape[axis]
        if given is None and to_real and k == len(places) - 1:
            n = 2 * (n - 1)
        elif given is not None and given[k] is not None and not same(given[k], -1):
            n = given[k]
        lengths.append(_count(name, n, "s"))
    return a, lengths, places, _norm(name, norm)


def _all(a: Any, lengths: Any, places: Any, norm: str, inverse: bool) -> Any:
    for n, axis in reversed(list(zip(lengths, places, strict=True))):
        a = _along(a, n, axis, norm, inverse)
    return a


def fftn(a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: str | None = None) -> Any:
    """`fft` along several axes, all by default; `s` are the lengths along them.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.fftn(np.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _complex(_all(*_several("fftn", a, s, axes, norm), False))


def ifftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: str | None = None
) -> Any:
    """The inverse of `fftn`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.ifftn(np.ones((2, 2), complex)).real
    array([[1., 0.],
           [0., 0.]])
    """
    return _complex(_all(*_several("ifftn", a, s, axes, norm), True))


def rfftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: str | None = None
) -> Any:
    """`rfft` along the last of several axes, then `fft` along the others.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.rfftn(np.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    a, lengths, places, norm = _several("rfftn", a, s, axes, norm, real=True)
    a = rfft(a, lengths[-1], places[-1], norm)  # type: ignore[arg-type]
    return _all(a, lengths[:-1], places[:-1], norm, False)


def irfftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: str | None = None
) -> Any:
    """The inverse of `rfftn`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.irfftn(np.array([[4.0 + 0j, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    a, lengths, places, norm = _several("irfftn", a, s, axes, norm, to_real=True)
    for n, axis in zip(lengths[:-1], places[:-1], strict=True):
        a = _along(a, n, axis, norm, True)
    return irfft(a, lengths[-1], places[-1], norm)  # type: ignore[arg-type]


def fft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Any:
    """`fftn` along the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.fft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _complex(_all(*_several("fft2", a, s, axes, norm), False))


def ifft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Any:
    """`ifftn` along the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.ifft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _complex(_all(*_several("ifft2", a, s, axes, norm), True))


def rfft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Any:
    """`rfftn` along the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.rfft2(np.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return rfftn(a, s, axes, norm)


def irfft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: str | None = None
) -> Any:
    """`irfftn` along the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.fft.irfft2(np.ones((3, 2, 3), complex)).shape
    (3, 2, 4)
    """
    return irfftn(a, s, axes, norm)


# --- frequencies ----------------------------------------------------------------------------------


def fftfreq(n: int, d: Any = 1.0) -> Any:
    """The frequencies that belong to the results of `fft` of n elements at distances d.
    Differentiable in d.

    >>> import tracegrad as tg
    >>> tg.fft.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    n = _count("fftfreq", n)  # type: ignore[assignment]
    ahead = (n - 1) // 2 + 1
    both = concatenate([arange(0, ahead), arange(-(n // 2), 0)])
    return div(convert(both, FLOAT64), mul(d, n))


def rfftfreq(n: int, d: Any = 1.0) -> Any:
    """The frequencies that belong to the results of `rfft` of n elements at distances d.

    >>> import tracegrad as tg
    >>> tg.fft.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    n = _count("rfftfreq", n)  # type: ignore[assignment]
    return div(convert(arange(0, n // 2 + 1), FLOAT64), mul(d, n))


def _shift(name: str, x: Any, axes: Axes, back: bool) -> Any:
    x = as_array(x)
    shape = shape_of(x)
    chosen = range(len(shape)) if axes is None else [axes] if isinstance(axes, OF_SHAPES) else axes
    for axis in chosen:
        axis = normalize_axis(axis, len(shape))
        half = shape[axis] // 2
        x = roll(x, -half if back else half, axis)
    return x


def fftshift(x: Any, axes: Axes = None) -> Any:
    """The element of frequency 0 moved to the middle of the axes, all by default.

    >>> import tracegrad as tg
    >>> tg.fft.fftshift([0.0, 1.0, -2.0, -1.0])
    array([-2., -1.,  0.,  1.])
    """
    return _shift("fftshift", x, axes, False)


def ifftshift(x: Any, axes: Axes = None) -> Any:
    """The inverse of `fftshift`.

    >>> import tracegrad as tg
    >>> tg.fft.ifftshift([-2.0, -1.0, 0.0, 1.0])
    array([ 0.,  1., -2., -1.])
    """
    return _shift("ifftshift", x, axes, True)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
