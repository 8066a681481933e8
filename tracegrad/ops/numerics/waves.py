"""Smoothing, waves and frequency responses, with scipy.signal's names."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..._codegen import loading
from ...checks import describe
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import cut, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, greater_equal, less, less_equal, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, expm1, log
from ..elementwise.elementary import square as squared
from ..elementwise.floating import floating
from ..elementwise.logic import logical_and
from ..elementwise.powers import power
from ..elementwise.remainders import mod
from ..elementwise.trigonometric import cos
from ..matrices.products import matmul
from .convolutions import convolve, fftconvolve
from .filters import extended, lfilter, sections_of, sosfilt, sosfilt_zi
from .images import convolve1d
from .order_filters import median_filter
from .signals import frequency


def _whole(word: str, n: Any) -> int:
    try:
        found = -1 if isinstance(n, (bool, np.bool_)) else operator.index(n)
    except TypeError:
        found = -1
    if not 0 <= found < 1 << 30:
        raise ValueError(f"savgol_filter: {word} is {describe(n)}; it must be a known integer")
    return found


def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> Any:  # fmt: skip
    """The values (or derivatives) in the middle of polynomials that are fitted to the elements of a
    window; at both ends of the last polynomial ("interp"), or of x continued as `ndimage` does.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.savgol_filter(np.arange(6.0) ** 2, 5, 2).round(12) + 0.0
    array([ 0.,  1.,  4.,  9., 16., 25.])
    """
    window_length, polyorder, deriv = (
        _whole(word, n)
        for word, n in (
            ("window_length", window_length),
            ("polyorder", polyorder),
            ("deriv", deriv),
        )
    )
    if polyorder >= window_length:
        raise ValueError(
            f"savgol_filter: polyorder is {polyorder} and window_length {window_length}; it must "
            "be less"
        )
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.number)):
        raise ValueError(f"savgol_filter: delta is {describe(delta)}; it must be a known number")
    weights = loading.imported("scipy.signal").savgol_coeffs(
        window_length, polyorder, deriv=deriv, delta=delta
    )
    x = floating(x, "x")
    if ndim_of(x) == 0:
        raise ShapeError("savgol_filter: x is one number; a filter needs an axis")
    if mode != "interp":
        return convolve1d(x, weights.astype(x.dtype), axis, mode=mode, cval=cval)
    place = normalize_axis(axis, ndim_of(x))
    rows = moveaxis(x, place, -1)
    n, last = int(shape_of(rows)[-1]), ndim_of(rows) - 1
    if window_length > n:
        raise ValueError(
            f"savgol_filter: window_length is {window_length} for {n} elements; it must be at most "
            'as many for mode="interp"'
        )
    half = window_length // 2
    # What the polynomial through the outermost window is there, as a matrix.
    at = np.arange(window_length, dtype=np.float64)
    fit = np.linalg.pinv(np.vander(at, polyorder + 1))
    below, above = (
        (np.vander(p, polyorder + 1 - deriv) if deriv <= polyorder else np.zeros((len(p), 0)))
        @ _derived(fit, deriv)
        / delta**deriv
        for p in (at[:half], at[window_length - half :])
    )
    # Windows of even length belong to the element behind their middle.
    starts = np.arange(1 - window_length % 2, n - window_length + 1)
    windows = starts[:, None] + np.arange(window_length)
    middle = matmul(rows[..., windows], weights[::-1].astype(x.dtype))
    first = matmul(cut(rows, last, 0, window_length), below.T.astype(x.dtype))
    final = matmul(cut(rows, last, n - window_length, window_length), above.T.astype(x.dtype))
    return moveaxis(concatenate([first, middle, final], last), -1, place)


def _derived(fit: Any, order: int) -> Any:
    """The coefficients, highest power first, of the derivatives of polynomials."""
    for _ in range(order):
        degree = len(fit) - 1
        fit = fit[:-1] * np.arange(degree, 0, -1)[:, None]
    return fit


def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """The signals x filtered forwards and backwards by sections of second order, continued at both
    ends as by `filtfilt`. Where sos is traced or differentiated, `padlen` has to be given.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.sosfiltfilt([[0.5, 0.5, 0, 1, 0, 0]], np.arange(8.0)).round(12)
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    sections = sections_of("sosfiltfilt", sos)
    if padlen is None:
        if isinstance(sos, Value):
            raise ValueError("sosfiltfilt: sos is traced or differentiated; give padlen")
        plain = np.asarray(sos)
        least = min(int(np.sum(plain[:, 2] == 0)), int(np.sum(plain[:, 5] == 0)))
        padlen = 3 * (2 * len(sections) + 1 - least)
    longer, n, margin, place = extended("sosfiltfilt", x, axis, padtype, padlen)
    state = sosfilt_zi(sos)
    state = state[(slice(None), *[None] * (ndim_of(longer) - 1), slice(None))]
    for _ in range(2):
        longer, _state_after = sosfilt(sos, longer, -1, mul(state, longer[None, ..., :1]))
        longer = flip(longer, -1)
    return moveaxis(cut(longer, ndim_of(longer) - 1, margin, n), -1, place)


def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Medians of odd numbers of neighbours along each axis (3 by default), zeros around the array.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.medfilt(np.array([1.0, 5.0, 2.0, 3.0]))
    array([1., 2., 3., 2.])
    """
    x = as_array(volume)
    sizes = np.broadcast_to(3 if kernel_size is None else kernel_size, (max(ndim_of(x), 1),))
    if np.any(sizes % 2 != 1) or np.any(sizes < 1):
        raise ValueError(f"medfilt: kernel_size is {describe(kernel_size)}; it must be odd")
    return median_filter(x, tuple(int(n) for n in sizes), mode="constant")


def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """`medfilt` of a matrix.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.medfilt2d(np.ones((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    x = as_array(input)
    if ndim_of(x) != 2:
        raise ShapeError(f"medfilt2d: a matrix is needed, not an array of {show(shape_of(x))}")
    return medfilt(x, kernel_size)


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """`fftconvolve`; in one piece.

    >>> import tracegrad as tg
    >>> tg.signal.oaconvolve([1.0, 2.0], [1.0, 1.0]).round(12)
    array([1., 3., 2.])
    """
    return fftconvolve(in1, in2, mode, axes)


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """The quotient and the remainder of polynomials, highest power first: signal = convolve(
    divisor, quotient) + remainder.

    >>> import tracegrad as tg
    >>> tg.signal.deconvolve([1.0, 3.0, 2.0], [1.0, 1.0])
    (array([1., 2.]), array([0., 0., 0.]))
    """
    num, den = as_array(signal), as_array(divisor)
    for word, v in (("signal", num), ("divisor", den)):
        if ndim_of(v) != 1:
            raise ShapeError(f"deconvolve: {word} must be a vector, not of {show(shape_of(v))}")
    n, d = int(shape_of(num)[0]), int(shape_of(den)[0])
    if not n or not d:
        raise ShapeError(f"deconvolve: {'divisor' if n else 'signal'} is empty")
    if d > n:
        return np.zeros(0), num
    impulse = np.zeros(n - d + 1)
    impulse[0] = 1.0
    quotient = lfilter(num, den, impulse)
    return quotient, sub(num, convolve(den, quotient, "full", "direct"))


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None,
    fs: float = 2 * math.pi, include_nyquist: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the response of the filter of numerator b and denominator a there: of `worN`
    frequencies up to half the sampling frequency fs (`whole`: all of it), or of an array of them.

    >>> import tracegrad as tg
    >>> abs(tg.signal.freqz([0.5, 0.5], worN=2)[1]).round(6)
    array([1.      , 0.707107])
    """
    if plot is not None:
        raise ValueError("freqz: plot is not taken; plot what is returned")
    fs = frequency("freqz", fs)
    if np.ndim(worN) == 0:
        n = 512 if worN is None else operator.index(worN)
        end = fs if whole else fs / 2
        places = np.linspace(0, end, n, endpoint=include_nyquist and not whole)
    else:
        places = np.asarray(worN, np.float64)
    angle = 2 * np.pi * places / fs
    above, below = (_polynomial(v, angle) for v in (b, a))
    return places, div(above, below)


def _polynomial(coefficients: Any, angle: Any) -> Any:
    c = as_array(coefficients)
    if ndim_of(c) == 0:
        c = reshape(c, (1,))
    if ndim_of(c) != 1:
        raise ShapeError(f"freqz: b and a must be vectors, not of shape {show(shape_of(c))}")
    return matmul(np.exp(-1j * angle[..., None] * np.arange(int(shape_of(c)[0]))), add(c, 0j))


# --- waves ----------------------------------------------------------------------------------------


def sawtooth(t: Any, width: Any = 1) -> Any:
    """A wave of period 2 pi that rises from -1 to 1 over the share `width` of it, and falls. NaN
    where width is not from 0 to 1.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> float(tg.signal.sawtooth(np.pi))
    0.0
    """
    width = as_array(width)
    turn = mul(mod(t, 2 * math.pi), 1 / (2 * math.pi))
    rises = less(turn, width)
    up = sub(div(mul(turn, 2.0), where(rises, width, 1.0)), 1.0)
    down = div(sub(add(width, 1.0), mul(turn, 2.0)), where(rises, 1.0, sub(1.0, width)))
    known = logical_and(greater_equal(width, 0), less_equal(width, 1))
    return where(known, where(rises, up, down), math.nan)


def square(t: Any, duty: Any = 0.5) -> Any:
    """A wave of period 2 pi that is 1 over the share `duty` of it, and then -1. NaN where duty is
    not from 0 to 1.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.square(np.array([1.0, 4.0]))
    array([ 1., -1.])
    """
    duty = as_array(duty)
    high = less(mod(t, 2 * math.pi), mul(duty, 2 * math.pi))
    known = logical_and(greater_equal(duty, 0), less_equal(duty, 1))
    return where(known, where(high, 1.0, -1.0), math.nan)


def chirp(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", phi: Any = 0,
    vertex_zero: bool = True, *, complex: bool = False,
) -> Any:  # fmt: skip
    """A cosine whose frequency goes from f0 at time 0 to f1 at time t1: "linear", "quadratic",
    "logarithmic" or "hyperbolic"; phi in degrees.

    >>> import tracegrad as tg
    >>> float(tg.signal.chirp(0.0, 1.0, 1.0, 2.0))
    1.0
    """
    if complex:
        raise ValueError("chirp: complex=True is not supported; take two waves, phi and phi - 90")
    # Numbers of Python's would be doubles where they meet, and of t's dtype in a trace.
    f0, t1, f1 = as_array(f0), as_array(t1), as_array(f1)
    turn = 2 * math.pi
    if method in ("linear", "lin", "li"):
        rate = div(sub(f1, f0), t1)
        phase = add(mul(f0, t), mul(mul(rate, 0.5), squared(t)))
    elif method in ("quadratic", "quad", "q"):
        rate = div(sub(f1, f0), squared(t1))
        if vertex_zero:
            phase = add(mul(f0, t), mul(rate, mul(power(t, 3), 1 / 3)))
        else:
            rest = sub(power(sub(t1, t), 3), power(t1, 3))
            phase = add(mul(f1, t), mul(rate, mul(rest, 1 / 3)))
    elif method in ("logarithmic", "log", "lo"):
        scale = div(t1, log(div(f1, f0)))
        phase = mul(mul(scale, f0), expm1(div(t, scale)))
    elif method in ("hyperbolic", "hyp"):
        pole = div(mul(neg(f1), t1), sub(f0, f1))
        phase = mul(mul(neg(pole), f0), log(absolute(sub(1.0, div(t, pole)))))
    else:
        raise ValueError(
            f'chirp: method is {describe(method)}; it must be "linear", "quadratic", '
            '"logarithmic" or "hyperbolic"'
        )
    # A Python number stays one, so that it does not decide the dtype.
    turned = phi * (math.pi / 180) if type(phi) in (int, float) else mul(phi, math.pi / 180)
    return cos(add(mul(phase, turn), turned))


__all__ = [
    "chirp", "deconvolve", "freqz", "medfilt", "medfilt2d", "oaconvolve", "savgol_filter",
    "sawtooth", "sosfiltfilt", "square",
]  # fmt: skip
