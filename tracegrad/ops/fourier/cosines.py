"""Discrete cosine and sine transforms with the names, arguments and scales of scipy.fft, of types 1
to 4, made of Fourier transforms.

They are linear in their array, and differentiable to all orders. float32 stays float32, integers
become float64, and complex arrays are transformed part by part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import real_of
from ...errors import ShapeError
from ...sizes import less
from ...types import Int
from ..arrays.concatenation import concatenate
from ..arrays.creation import arange
from ..arrays.shape import reshape
from ..arrays.slices import cut, embed, flip
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import complex_, div, imag, neg, sub
from ..elementwise.derived import add, convert, mul, real
from ..elementwise.remainders import mod
from ..elementwise.trigonometric import cos, sin
from .functions import Axes, _one, _opposite, _resized, _scaled, _several
from .transforms import fft_along, irfft_along, rfft_along

ROOT = math.sqrt(2.0)
MOST_TURNS = 1 << 17
"""So many turns are constants of a compiled function where the length is known; more of them, and
those of a length that is not, are computed in each call."""


# --- parts ----------------------------------------------------------------------------------------


def _shaped(v: Any, axis: int, ndim: int) -> Any:
    """A vector along one of so many axes."""
    return reshape(v, tuple(-1 if k == axis else 1 for k in range(ndim)))


def _turns(x: Any, count: Int, start: float, step: float, n: Int, axis: int) -> tuple[Any, Any]:
    """Cosine and sine of `pi * (start + step * k) / n` for k from 0 to count - 1, along an axis of
    x. Compiled loops compute them side by side, as exp of a complex number they would not."""
    if isinstance(count, int) and isinstance(n, int) and count <= MOST_TURNS:
        known = (np.arange(count) * step + start) * (math.pi / n)
        dtype = real_of(x.dtype)
        return tuple(_shaped(of(known).astype(dtype), axis, ndim_of(x)) for of in (np.cos, np.sin))
    places = arange(0, count) if not isinstance(count, int) else np.arange(count)
    angles = div(mul(add(mul(places, step), start), math.pi), convert(n, np.float64))
    angles = _shaped(angles, axis, ndim_of(x))
    dtype = real_of(x.dtype)
    return convert(cos(angles), dtype), convert(sin(angles), dtype)


def _turned(x: Any, turns: tuple[Any, Any]) -> Any:
    """A real or complex x times `exp(-1j * angle)`."""
    c, s = turns
    if x.dtype.kind != "c":
        return complex_(mul(x, c), neg(mul(x, s)))
    a, b = real(x), imag(x)
    return complex_(add(mul(a, c), mul(b, s)), sub(mul(b, c), mul(a, s)))


def _times_at(x: Any, axis: int, place: str, factor: float) -> Any:
    """The array with its first element, or its last one, along an axis times a factor."""
    n = shape_of(x)[axis]
    factor = x.dtype.type(factor)
    if place == "first":
        return concatenate([mul(cut(x, axis, 0, 1), factor), cut(x, axis, 1, n - 1)], axis)
    return concatenate([cut(x, axis, 0, n - 1), mul(cut(x, axis, n - 1, 1), factor)], axis)


def _alternating(x: Any, axis: int) -> Any:
    """`x[k] * (-1)**k`."""
    n = shape_of(x)[axis]
    places = np.arange(n) if isinstance(n, int) else arange(0, n)
    signs = sub(1, mul(mod(places, 2), 2))
    return mul(x, _shaped(convert(signs, real_of(x.dtype)), axis, ndim_of(x)))


# --- cosines --------------------------------------------------------------------------------------


def _cosines_1(x: Any, axis: int) -> Any:
    n = shape_of(x)[axis]
    if less(n, 2):
        raise ShapeError(f"fft.dct: type 1 takes at least 2 elements along the axis, not {n}")
    around = concatenate([x, flip(cut(x, axis, 1, n - 2), axis)], axis)
    return real(rfft_along(around, axis))


def _cosines_2(x: Any, axis: int) -> Any:
    # Makhoul 1980: elements of even places, then those of odd ones backwards.
    n = shape_of(x)[axis]
    odd = flip(cut(x, axis, 1, n // 2, 2), axis)
    both = concatenate([cut(x, axis, 0, (n + 1) // 2, 2), odd], axis)
    half = rfft_along(both, axis)
    # The second half of the spectrum: conjugates, whose turns are those of the first half times i.
    low = _turned(half, _turns(x, n // 2 + 1, 0.0, 0.5, n, axis))
    high = neg(imag(cut(low, axis, 1, (n - 1) // 2)))
    return mul(concatenate([real(low), flip(high, axis)], axis), x.dtype.type(2))


def _cosines_3(x: Any, axis: int) -> Any:
    n = shape_of(x)[axis]
    count = n // 2 + 1
    low = cut(x, axis, 0, count)
    # x[n - k] for k = 0 (nothing), 1, ..., n // 2.
    high = flip(cut(x, axis, n - n // 2, n // 2), axis)
    shape, start = list(shape_of(x)), [0] * ndim_of(x)
    shape[axis], start[axis] = count, 1
    high = embed(high, tuple(shape), tuple(start))
    wide = complex_(low, neg(high))
    both = irfft_along(_turned(wide, _turns(x, count, 0.0, -0.5, n, axis)), axis, n)
    odd = flip(cut(both, axis, (n + 1) // 2, n // 2), axis)
    even = cut(both, axis, 0, (n + 1) // 2)
    return _interleaved(even, odd, n, axis)


def _interleaved(even: Any, odd: Any, n: Int, axis: int) -> Any:
    """even[0], odd[0], even[1], ..., n of them."""
    shape, start = list(shape_of(even)), [0] * ndim_of(even)
    step = [1] * ndim_of(even)
    shape[axis], step[axis] = n, 2
    first = embed(even, tuple(shape), tuple(start), tuple(step))
    start[axis] = 1
    return add(first, embed(odd, tuple(shape), tuple(start), tuple(step)))


def _cosines_4(x: Any, axis: int) -> Any:
    n = shape_of(x)[axis]
    turned = _turned(x, _turns(x, n, 0.0, 0.5, n, axis))
    whole = fft_along(_resized(turned, axis, 2 * n), axis, False)
    found = _turned(cut(whole, axis, 0, n), _turns(x, n, 0.25, 0.5, n, axis))
    return mul(real(found), x.dtype.type(2))


# --- sines ----------------------------------------------------------------------------------------


def _sines_1(x: Any, axis: int) -> Any:
    n = shape_of(x)[axis]
    shape, start = list(shape_of(x)), [0] * ndim_of(x)
    shape[axis], start[axis] = n + 1, 1
    ahead = embed(x, tuple(shape), tuple(start))
    behind = neg(flip(x, axis))
    start[axis] = 1
    around = concatenate([ahead, embed(behind, tuple(shape), tuple(start))], axis)
    return neg(imag(cut(rfft_along(around, axis), axis, 1, n)))


def _sines_2(x: Any, axis: int) -> Any:
    return flip(_cosines_2(_alternating(x, axis), axis), axis)


def _sines_3(x: Any, axis: int) -> Any:
    return _alternating(_cosines_3(flip(x, axis), axis), axis)


def _sines_4(x: Any, axis: int) -> Any:
    return _alternating(_cosines_4(flip(x, axis), axis), axis)


Transform = Callable[[Any, int], Any]
COSINES: dict[int, Transform] = {1: _cosines_1, 2: _cosines_2, 3: _cosines_3, 4: _cosines_4}
SINES: dict[int, Transform] = {1: _sines_1, 2: _sines_2, 3: _sines_3, 4: _sines_4}
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _of_type(name: str, type: Any, inverse: bool) -> int:
    if isinstance(type, bool) or type not in INVERSE:
        raise ValueError(f"fft.{name}: type is {describe(type)}; it must be 1, 2, 3 or 4")
    return INVERSE[type] if inverse else int(type)


def _transformed(
    x: Any, kind: int, n: Int, axis: int, norm: str, sines: bool, orthogonalize: Any
) -> Any:
    """One axis. The scale of `norm` is that of the transform of type `kind` forwards."""
    if x.dtype.kind == "c":
        parts = [
            _transformed(part, kind, n, axis, norm, sines, orthogonalize)
            for part in (real(x), imag(x))
        ]
        return complex_(*parts)
    x = _resized(x, axis, n)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    place = "last" if sines else "first"
    if orthogonal and kind == 3:
        x = _times_at(x, axis, place, ROOT)
    if orthogonal and kind == 1 and not sines:
        x = _times_at(_times_at(x, axis, "first", ROOT), axis, "last", ROOT)
    found = (SINES if sines else COSINES)[kind](x, axis)
    if orthogonal and kind == 2:
        found = _times_at(found, axis, place, 1 / ROOT)
    if orthogonal and kind == 1 and not sines:
        found = _times_at(_times_at(found, axis, "first", 1 / ROOT), axis, "last", 1 / ROOT)
    length = 2 * n if kind != 1 else 2 * (n + 1) if sines else 2 * (n - 1)
    return _scaled(found, length, norm, False)


def _along_one(
    name: str, x: Any, type: Any, n: Any, axis: int, norm: Any, orthogonalize: Any
) -> Any:
    inverse, sines = name[0] == "i", name[-2] == "s"
    kind = _of_type(name, type, inverse)
    x, length, axis, norm = _one(name, x, n, axis, norm)
    norm = _opposite(norm) if inverse else norm
    return _transformed(x, kind, length, axis, norm, sines, orthogonalize)


def _along_several(
    name: str, x: Any, type: Any, s: Any, axes: Axes, norm: Any, orthogonalize: Any
) -> Any:
    inverse, sines = name[0] == "i", name[-3] == "s"
    kind = _of_type(name, type, inverse)
    x, lengths, places, norm = _several(name, x, s, axes, norm)
    norm = _opposite(norm) if inverse else norm
    for n, axis in zip(lengths, places, strict=True):
        x = _transformed(x, kind, n, axis, norm, sines, orthogonalize)
    return x


# --- functions ------------------------------------------------------------------------------------


def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The discrete cosine transform along an axis. Type 2, the default, is
    `out[k] = 2 * sum(x[j] * cos(pi * k * (2 * j + 1) / (2 * n)))`; the other types are SciPy's.

    n              cut to so many elements, or continued with zeros
    norm           "backward": no factor; "forward": that of the inverse; "ortho": its square root
    orthogonalize  whether the elements that stand alone are scaled so that the matrix is
                   orthogonal; by default where norm is "ortho"

    overwrite_x and workers have no meaning here. ShapeError for one number, and for type 1 of fewer
    than 2 elements; ValueError for other types and norms.

    >>> import tracegrad as tg
    >>> tg.fft.dct([1.0, 1.0, 1.0, 1.0]).round(12) + 0.0
    array([8., 0., 0., 0.])
    """
    return _along_one("dct", x, type, n, axis, norm, orthogonalize)


def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The inverse of `dct` with the same type and `norm`.

    >>> import tracegrad as tg
    >>> tg.fft.idct([8.0, 0.0, 0.0, 0.0]).round(12)
    array([1., 1., 1., 1.])
    """
    return _along_one("idct", x, type, n, axis, norm, orthogonalize)


def dst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The discrete sine transform along an axis. Type 2, the default, is
    `out[k] = 2 * sum(x[j] * sin(pi * (k + 1) * (2 * j + 1) / (2 * n)))`; arguments as of `dct`.

    >>> import tracegrad as tg
    >>> tg.fft.dst([1.0, -1.0]).round(12) + 0.0
    array([0., 4.])
    """
    return _along_one("dst", x, type, n, axis, norm, orthogonalize)


def idst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The inverse of `dst` with the same type and `norm`.

    >>> import tracegrad as tg
    >>> tg.fft.idst([0.0, 4.0]).round(12)
    array([ 1., -1.])
    """
    return _along_one("idst", x, type, n, axis, norm, orthogonalize)


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """`dct` along several axes, all by default; `s` are the lengths along them.

    >>> import tracegrad as tg
    >>> tg.fft.dctn([[1.0, 1.0], [1.0, 1.0]]).round(12) + 0.0
    array([[16.,  0.],
           [ 0.,  0.]])
    """
    return _along_several("dctn", x, type, s, axes, norm, orthogonalize)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The inverse of `dctn`.

    >>> import tracegrad as tg
    >>> tg.fft.idctn([[16.0, 0.0], [0.0, 0.0]]).round(12)
    array([[1., 1.],
           [1., 1.]])
    """
    return _along_several("idctn", x, type, s, axes, norm, orthogonalize)


def dstn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """`dst` along several axes, all by default; `s` are the lengths along them.

    >>> import tracegrad as tg
    >>> tg.fft.dstn([[1.0, -1.0]], axes=1).round(12) + 0.0
    array([[0., 4.]])
    """
    return _along_several("dstn", x, type, s, axes, norm, orthogonalize)


def idstn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """The inverse of `dstn`.

    >>> import tracegrad as tg
    >>> tg.fft.idstn([[0.0, 4.0]], axes=1).round(12)
    array([[ 1., -1.]])
    """
    return _along_several("idstn", x, type, s, axes, norm, orthogonalize)


__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]
