"""Windows and short-time Fourier transforms under torch's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..config import default_dtype
from ..nn.functional import pad
from ..nn.functional.common import known
from ..sizes import known_less
from ..tensors import tensor
from . import fft
from .methods import tensor_of


def _window(name: str, length: Any, periodic: bool, terms: tuple[float, ...], dtype: Any) -> Any:
    """`sum(terms[k] * cos(2 pi k j / n))`; periodic: as the first elements of a longer one."""
    if isinstance(length, bool) or not isinstance(length, int) or length < 0:
        raise RuntimeError(f"{name}: window_length is {length!r}; it must not be negative")
    n = length if periodic else length - 1
    angles = 2 * math.pi * np.arange(length) / max(n, 1)
    values = sum((c * np.cos(k * angles) for k, c in enumerate(terms)), np.zeros(length))
    return tensor(values if length > 1 else np.ones(length), dtype=dtype or default_dtype())


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Any:
    """Hann's window: `sin(pi j / n) ** 2`.

    >>> import tracegrad.torch as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, (0.5, -0.5), dtype)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Any:
    """Hamming's window: `alpha - beta * cos(2 pi j / n)`."""
    return _window("hamming_window", window_length, periodic, (alpha, -beta), dtype)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Any:
    """Blackman's window: `0.42 - 0.5 cos(2 pi j / n) + 0.08 cos(4 pi j / n)`."""
    return _window("blackman_window", window_length, periodic, (0.42, -0.5, 0.08), dtype)


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Any:
    """Fourier transforms of overlapping pieces of a signal (..., n): (..., frequencies, pieces).

    n_fft        length of a piece; hop_length: how far they are apart (n_fft // 4)
    window       of win_length elements, which stands in the middle of a piece
    center       pieces have their middle at 0, hop_length, ...; the signal is continued by pad_mode
    onesided     the frequencies 0 to n_fft // 2 alone; by default of real signals

    Complex results only: `return_complex=False` is refused, as torch means to; take
    `torch.view_as_real`.
    """
    x = tensor_of("stft", input)
    if return_complex is False:
        raise RuntimeError("stft: return_complex=False is refused; take torch.view_as_real of it")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got one of {x.ndim} dimensions")
    hop, curve = _pieces("stft", n_fft, hop_length, win_length, window, x)
    real = x.dtype.kind != "c"
    onesided = real if onesided is None else onesided
    if onesided and not real:
        raise RuntimeError("stft: onesided=True needs a real signal")
    if center:
        rows = x.reshape(-1, 1, x.shape[-1])
        rows = pad(rows, (n_fft // 2, n_fft // 2), pad_mode)
        x = rows.reshape(*x.shape[:-1], rows.shape[-1])
    if known_less(x.shape[-1], n_fft):
        raise RuntimeError(f"stft: {n_fft} elements a piece, and the signal has {x.shape[-1]}")
    pieces = x.unfold(-1, n_fft, hop) * curve
    found = (fft.rfft if onesided else fft.fft)(pieces, norm="ortho" if normalized else None)
    return found.transpose(-2, -1)


def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """The signal whose `stft` comes nearest: pieces times the window are added up, and divided by
    the sum of the squares of the windows. Arguments as of `stft`; `length` of the signal."""
    x = tensor_of("istft", input)
    if x.ndim not in (2, 3) or x.dtype.kind != "c":
        raise RuntimeError(
            "istft: expected a complex tensor (frequencies, pieces), or a batch of them, but got "
            f"{x.dtype} of shape {tuple(x.shape)}"
        )
    onesided = (not return_complex) if onesided is None else onesided
    bins = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != bins:
        raise RuntimeError(f"istft: expected {bins} frequencies, but got {x.shape[-2]}")
    hop, curve = _pieces("istft", n_fft, hop_length, win_length, window, x.real)
    norm = "ortho" if normalized else None
    pieces = x.transpose(-2, -1)
    if onesided:
        pieces = fft.irfft(pieces, n_fft, norm=norm)
    else:
        pieces = fft.ifft(pieces, norm=norm)
        pieces = pieces if return_complex else pieces.real
    count = int(x.shape[-1])
    total = n_fft + hop * (count - 1)
    places = np.arange(n_fft) + hop * np.arange(count)[:, None]
    batch = x.shape[:-2]
    rows = (pieces * curve).reshape(-1, count * n_fft)
    at = tensor(places.reshape(-1))
    zeros = rows.new_zeros((rows.shape[0], total))
    added = zeros.index_add(1, at, rows)
    squares = ops.broadcast_to(curve * curve, (count, n_fft)).reshape(-1)
    weights = curve.new_zeros((total,)).index_add(0, at, squares)
    start = n_fft // 2 if center else 0
    end = total if length is None else start + length
    end = end - n_fft // 2 if length is None and center else end
    stop = min(end, total)
    divisors = weights[start:stop]
    there = known(divisors)
    if there is not None and there.size and np.abs(there).min() < 1e-11:
        raise RuntimeError("istft: the windows overlap to 0 somewhere, where nothing is known")
    found = added[:, start:stop] / divisors
    if end > stop:
        found = pad(found, (0, end - stop))
    return found.reshape(*batch, found.shape[-1])


def _pieces(name: str, n_fft: Any, hop: Any, win: Any, window: Any, like: Any) -> tuple[int, Any]:
    """How far pieces are apart, and the window over all of a piece."""
    hop = n_fft // 4 if hop is None else hop
    win = n_fft if win is None else win
    if n_fft < 1 or hop < 1 or not 0 < win <= n_fft:
        raise RuntimeError(
            f"{name}: n_fft is {n_fft}, hop_length {hop} and win_length {win}; expected positive "
            "ones, and win_length <= n_fft"
        )
    if window is None:
        curve = like.new_ones((win,))
    else:
        curve = tensor_of(name, window)
        if tuple(curve.shape) != (win,):
            raise RuntimeError(
                f"{name}: expected a window of {win} elements, not of shape {tuple(curve.shape)}"
            )
    left = (n_fft - win) // 2
    return hop, pad(curve, (left, n_fft - win - left)) if win < n_fft else curve


__all__ = ["blackman_window", "hamming_window", "hann_window", "istft", "stft"]
