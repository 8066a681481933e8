"""Spectral densities and resampling of signals, with scipy.signal's names: differentiable by the
signals; windows, lengths and the sampling frequency are plain."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._codegen import loading
from ...checks import describe
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.lines import user_line
from ...sizes import same
from ...types import normalize_axis, show
from ..arrays.shape import moveaxis
from ..arrays.slices import cut, embed
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, imag
from ..elementwise.derived import add, conj, convert, mul, real
from ..elementwise.elementary import absolute, square
from ..fourier.functions import fft, irfft, rfft
from ..places.along import take
from ..totals.quantiles import median
from ..totals.statistics import mean
from .signals import detrend as detrended
from .signals import frequency

SCALINGS = ("density", "spectrum")


def _series(name: str, word: str, x: Any, axis: int) -> tuple[Any, int]:
    """A signal with its axis last, and how many samples it has."""
    x = as_array(x)
    if ndim_of(x) < 1:
        raise ShapeError(f"{name}: {word} is one number; it must be a signal")
    x = x if x.dtype.kind in "fc" else convert(x, np.float64)
    x = moveaxis(x, normalize_axis(axis, ndim_of(x)), -1)
    n = shape_of(x)[-1]
    if not isinstance(n, int):
        raise ShapeError(f"{name}: the number of samples must be known; mark it static")
    if n < 1:
        raise ShapeError(f"{name}: {word} has no samples")
    return x, n


def _window(name: str, window: Any, nperseg: Any, n: int) -> Any:
    """The window's values, as many as a segment has."""
    if isinstance(window, (str, tuple)):
        count = min(256 if nperseg is None else operator.index(nperseg), n)
        if count < 1:
            raise ValueError(f"{name}: nperseg is {nperseg!r}; it must be from 1 on")
        return loading.imported("scipy.signal").get_window(window, count)
    values = np.asarray(window)
    if values.ndim != 1 or values.size > n or nperseg not in (None, values.size):
        raise ValueError(
            f"{name}: the window has the shape {values.shape}; it must be a vector of nperseg "
            f"elements, at most the {n} samples"
        )
    return values


class _Segments:
    """How signals are cut into segments, and what their spectra are multiplied with."""

    def __init__(
        self, name: str, n: int, is_real: bool, fs: Any, window: Any, nperseg: Any, noverlap: Any,
        nfft: Any, return_onesided: bool, scaling: str,
    ) -> None:  # fmt: skip
        fs = frequency(name, fs)
        self.window = _window(name, window, nperseg, n)
        self.size = len(self.window)
        self.overlap = self.size // 2 if noverlap is None else operator.index(noverlap)
        self.nfft = self.size if nfft is None else operator.index(nfft)
        if not 0 <= self.overlap < self.size:
            raise ValueError(f"{name}: noverlap is {noverlap!r}; it must be less than {self.size}")
        if self.nfft < self.size:
            raise ValueError(f"{name}: nfft is {nfft!r}; it must be at least {self.size}")
        if scaling not in SCALINGS:
            raise ValueError(f"{name}: scaling is {scaling!r}; it must be one of {SCALINGS}")
        self.onesided = bool(return_onesided) and is_real
        self.starts = np.arange(0, n - self.size + 1, self.size - self.overlap)
        power = float(np.sum(self.window**2))
        self.scale = 1 / (fs * power) if scaling == "density" else 1 / float(
            np.sum(self.window)) ** 2  # fmt: skip
        step = np.fft.rfftfreq if self.onesided else np.fft.fftfreq
        self.frequencies = step(self.nfft, 1 / fs)
        self.times = (self.starts + self.size / 2) / fs

    def spectra(self, name: str, x: Any, detrend: Any) -> Any:
        """The transforms of the segments: (..., segments, frequencies)."""
        parts = take(x, self.starts[:, None] + np.arange(self.size), -1)
        if isinstance(detrend, str):
            parts = detrended(parts, -1, detrend)
        elif detrend is not False:
            raise ValueError(
                f'{name}: detrend is {describe(detrend)}; it must be "constant", "linear" or False'
            )
        parts = mul(parts, self.window.astype(real(parts).dtype))
        return (rfft if self.onesided else fft)(parts, self.nfft)

    def doubled(self, power: Any) -> Any:
        """A spectrum of both signs, on the positive side."""
        if not self.onesided:
            return mul(power, self.scale)
        factors = np.full(len(self.frequencies), 2 * self.scale)
        factors[0] = self.scale
        if self.nfft % 2 == 0:
            factors[-1] = self.scale
        return mul(power, factors.astype(real(power).dtype))


def _density(
    name: str, x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, onesided: bool, scaling: str, axis: int,
) -> tuple[_Segments, Any, Any]:  # fmt: skip
    """The segments, their (cross) spectra (..., segments, frequencies), and the axis."""
    given = as_array(x)
    first, n = _series(name, "x", x, axis)
    second, is_real = first, first.dtype.kind == "f"
    if y is not None:
        second, other = _series(name, "y", y, axis)
        is_real = is_real and second.dtype.kind == "f"
        if not same(n, other):
            raise ShapeError(
                f"{name}: x and y have the shapes {show(shape_of(x))} and {show(shape_of(y))}; "
                "they must have as many samples"
            )
    cut_ = _Segments(
        name, n, is_real, fs, window, nperseg, noverlap, nfft, onesided, scaling
    )  # fmt: skip
    spectra = cut_.spectra(name, first, detrend)
    if y is None:
        power: Any = add(square(real(spectra)), square(imag(spectra)))
    else:
        power = mul(conj(spectra), cut_.spectra(name, second, detrend))
    # From the end, as arrays of fewer axes are broadcast.
    return cut_, cut_.doubled(power), normalize_axis(axis, ndim_of(given)) - ndim_of(given)


def _averaged(name: str, power: Any, average: str) -> Any:
    if average == "mean":
        return mean(power, axis=-2)
    if average != "median" or power.dtype.kind == "c":
        raise ValueError(
            f'{name}: average is {average!r}; it must be "mean" (or "median", of one signal)'
        )
    # The median of a chi squared distribution is less than its mean.
    count = int(shape_of(power)[-2])
    pairs = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return div(median(power, -2), 1 + float(np.sum(1 / (pairs + 1) - 1 / pairs)))


def welch(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the power spectral density of signals by Welch's method: the mean (or
    median) over segments that overlap.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> frequencies, power = tg.signal.welch(np.sin(np.arange(64.0)), nperseg=16)
    >>> float(frequencies[np.argmax(power)])
    0.1875
    """
    found, power, axis = _density("welch", x, None, fs, window, nperseg, noverlap, nfft, detrend,
                                  return_onesided, scaling, axis)  # fmt: skip
    return found.frequencies, moveaxis(_averaged("welch", power, average), -1, axis)


def csd(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the cross power spectral density of two signals with as many samples, by
    Welch's method.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.csd(np.arange(8.0), np.ones(8), nperseg=4)[1].shape
    (3,)
    """
    found, power, axis = _density("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend,
                                  return_onesided, scaling, axis)  # fmt: skip
    return found.frequencies, moveaxis(_averaged("csd", power, average), -1, axis)


def coherence(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the squared coherence of two signals with as many samples, by Welch's
    method.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> x = np.sin(np.arange(32.0) ** 2)
    >>> tg.signal.coherence(x, x, nperseg=8)[1].round(6)
    array([1., 1., 1., 1., 1.])
    """
    options = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, across = csd(x, y, *options, axis=axis)
    powers = [welch(v, *options, axis=axis)[1] for v in (x, y)]
    return frequencies, div(square(absolute(across)), mul(*powers))


def periodogram(
    x: Any, fs: float = 1.0, window: Any = "boxcar", nfft: int | None = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the power spectral density of signals by one transform, of `nfft` samples
    where that is given.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.periodogram(np.array([1.0, -1.0, 1.0, -1.0]))[1].round(12) + 0.0
    array([0., 0., 4.])
    """
    x, n = _series("periodogram", "x", x, axis)
    count = n if nfft is None else operator.index(nfft)
    if count < n:
        x = cut(x, ndim_of(x) - 1, 0, count)
    found, power = welch(x, fs, window, min(n, count), 0, count, detrend, return_onesided, scaling)
    return found, moveaxis(power, -1, normalize_axis(axis, ndim_of(x)))


def spectrogram(
    x: Any, fs: float = 1.0, window: Any = ("tukey", 0.25), nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Frequencies, times, and the power spectral density of each segment of signals: the axis of
    the samples becomes that of the frequencies, and the times are last. mode: "psd" alone.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.spectrogram(np.arange(16.0), nperseg=8)[2].shape
    (5, 2)
    """
    if mode != "psd":
        raise UnsupportedFunctionError(
            f"{user_line()}: signal.spectrogram with mode={mode!r} is not supported; use "
            "tg.signal.stft"
        )
    n = _series("spectrogram", "x", x, axis)[1]
    size = len(_window("spectrogram", window, nperseg, n))
    overlap = size // 8 if noverlap is None else noverlap
    found, power, axis = _density("spectrogram", x, None, fs, window, nperseg, overlap, nfft,
                                  detrend, return_onesided, scaling, axis)  # fmt: skip
    return found.frequencies, found.times, moveaxis(moveaxis(power, -2, -1), -2, axis - 1)


def stft(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: int = 256,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = False,
    return_onesided: bool = True, boundary: str | None = "zeros", padded: bool = True,
    axis: int = -1, scaling: str = "spectrum",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Frequencies, times, and the transforms of the segments of signals, which are continued by
    zeros (`boundary="zeros"` or None): the axis of the samples becomes that of the frequencies,
    and the times are last. scaling="spectrum" (other ones are refused).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.signal.stft(np.arange(16.0), nperseg=8)[2].shape
    (5, 5)
    """
    if scaling != "spectrum" or boundary not in ("zeros", None):
        raise UnsupportedFunctionError(
            f"{user_line()}: signal.stft with scaling={scaling!r} and boundary={boundary!r} is not "
            'supported; scaling="spectrum" with boundary="zeros" or None is'
        )
    place = normalize_axis(axis, ndim_of(as_array(x)))
    x, n = _series("stft", "x", x, axis)
    weights = _window("stft", window, nperseg, n)
    size = len(weights)
    step = size - (size // 2 if noverlap is None else operator.index(noverlap))
    before = size // 2 if boundary else 0
    longer = n + 2 * before
    if padded and step > 0:
        longer += (-(longer - size) % step) % size
    last = ndim_of(x) - 1
    if longer != n:
        x = embed(x, (*shape_of(x)[:-1], longer), (*[0] * last, before))
    found = _Segments("stft", longer, x.dtype.kind == "f", fs, weights, size, noverlap, nfft,
                      return_onesided, scaling)  # fmt: skip
    spectra = mul(found.spectra("stft", x, detrend), found.scale**0.5)
    times = found.times - (size / 2 / fs if boundary else 0.0)
    return found.frequencies, times, moveaxis(moveaxis(spectra, -2, -1), -2, place)


def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Real signals as `num` samples of the same length of time, by their Fourier transforms; with
    the plain places `t` of the samples also the new places. Windows and spectra are refused.

    >>> import tracegrad as tg
    >>> tg.signal.resample([1.0, 0.0, -1.0, 0.0], 8).round(6)
    array([ 1.      ,  0.707107,  0.      , -0.707107, -1.      , -0.707107,
            0.      ,  0.707107])
    """
    if window is not None or domain != "time":
        raise UnsupportedFunctionError(
            f"{user_line()}: signal.resample with window= or domain= is not supported; multiply "
            "the spectrum, tg.fft.rfft(x)"
        )
    place = normalize_axis(axis, ndim_of(as_array(x)))
    x, n = _series("resample", "x", x, axis)
    num = operator.index(num)
    if num < 1 or x.dtype.kind == "c":
        raise ValueError(f"resample: num is {num} and x of {x.dtype}; from 1 on, of real numbers")
    least = min(n, num)
    spectrum = cut(rfft(x), ndim_of(x) - 1, 0, least // 2 + 1)
    if least % 2 == 0 and num != n:
        # What stood for both signs, or is to stand for both.
        factors = np.ones(least // 2 + 1, x.dtype)
        factors[-1] = 2.0 if num < n else 0.5
        spectrum = mul(spectrum, factors)
    found = moveaxis(mul(irfft(spectrum, num), num / n), -1, place)
    if t is None:
        return found
    t = np.asarray(t)
    return found, np.arange(num) * (t[1] - t[0]) * n / num + t[0]


__all__ = ["coherence", "csd", "periodogram", "resample", "spectrogram", "stft", "welch"]
