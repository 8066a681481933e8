"""Signals of the transforms of their segments, with scipy.signal's name."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import complex_of, inexact
from ...errors import ShapeError
from ...ir.lines import user_line
from ...types import normalize_axis, show
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import cut, embed
from ..define import as_array, ndim_of, shape_of
from ..elementwise.derived import convert, mul, real
from ..fourier.functions import ifft, irfft
from ..places.along import take
from ..totals.reductions import sum as sum_
from .spectra import _window

TINY = 1e-10
"""Up to this size of the sum of squared windows a sample is not known, in SciPy's as here."""


def istft(
    Zxx: Any, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True,
    boundary: bool = True, time_axis: int = -1, freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[Any, Any]:  # fmt: skip
    """Times, and the signals that have these transforms of segments (`tg.signal.stft`), by the
    least squares of overlapping segments (Griffin and Lim, 1984). Zxx of shape (..., frequencies,
    segments), real or complex; a result is real for `input_onesided`. Linear in Zxx; windows,
    lengths and the sampling frequency are plain. A warning where samples are under no window.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> _, _, spectra = tg.signal.stft(np.arange(8.0), nperseg=4)
    >>> tg.signal.istft(spectra, nperseg=4)[1].round(6) + 0.0
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    Zxx = as_array(Zxx)
    if ndim_of(Zxx) < 2:
        raise ShapeError(
            f"istft: Zxx has the shape {show(shape_of(Zxx))}; it must have axes of frequencies and "
            "of segments"
        )
    axes = [normalize_axis(a, ndim_of(Zxx)) for a in (time_axis, freq_axis)]
    if axes[0] == axes[1]:
        raise ValueError(f"istft: time_axis and freq_axis are the same one, {axes[0]}")
    Zxx = convert(Zxx, complex_of(inexact(Zxx.dtype)))
    Zxx = moveaxis(Zxx, axes, (-2, -1))
    segments, frequencies = shape_of(Zxx)[-2:]
    if not isinstance(segments, int) or not isinstance(frequencies, int):
        raise ShapeError("istft: the numbers of segments and frequencies must be known")
    usual = 2 * (frequencies - 1) if input_onesided else frequencies
    size = usual if nperseg is None else operator.index(nperseg)
    odd = input_onesided and size == usual + 1
    length = (size if odd else usual) if nfft is None else operator.index(nfft)
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    step = size - overlap
    if size < 1 or length < size or not 0 <= overlap < size or scaling not in ("spectrum", "psd"):
        raise ValueError(
            f"istft: nperseg={size}, noverlap={overlap}, nfft={length}, scaling="
            f"{describe(scaling)}; nperseg must be from 1 on, noverlap less, nfft no less, and "
            "scaling 'spectrum' or 'psd'"
        )
    weights = _window("istft", window, size, size)
    if len(weights) != size:
        raise ValueError(f"istft: the window has {len(weights)} elements; they must be {size}")
    parts = (irfft if input_onesided else ifft)(Zxx, length)
    parts = cut(parts, ndim_of(parts) - 1, 0, size)
    scale = weights.sum() if scaling == "spectrum" else np.sqrt(fs * np.sum(weights**2))
    parts = mul(parts, (weights * scale).astype(real(parts).dtype))
    # Each sample is a sum over the segments that hold it; one place more stands for none.
    total = size + (segments - 1) * step
    held = np.arange(total)[:, None] // step - np.arange(-(-size // step))
    offset = np.arange(total)[:, None] - held * step
    there = (held >= 0) & (held < segments) & (offset < size)
    places = np.where(there, held * size + offset, segments * size)
    batch = shape_of(parts)[:-2]
    flat = reshape(parts, (*batch, segments * size))
    flat = embed(flat, (*batch, segments * size + 1), (0,) * (len(batch) + 1))
    x = sum_(take(flat, places, -1), -1)
    norm = np.sum(np.where(there, weights[np.where(there, offset, 0)] ** 2, 0.0), -1)
    if boundary and size > 1:
        total -= 2 * (size // 2)
        x, norm = cut(x, len(batch), size // 2, total), norm[size // 2 :][:total]
    if np.any(norm <= TINY):
        warnings.warn(
            f"{user_line()}: istft: some samples are under no window, and are not known"
            + ("" if boundary else " (perhaps because boundary is False)"),
            stacklevel=2,
        )
    x = mul(x, (1 / np.where(norm > TINY, norm, 1.0)).astype(real(x).dtype))
    place = axes[0] - (axes[1] < axes[0])
    return np.arange(total) / float(fs), moveaxis(x, -1, place)


__all__ = ["istft"]
