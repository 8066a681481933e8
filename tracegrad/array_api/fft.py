"""The standard's extension for Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensors import as_tensor
from .results import all_of

_TRANSFORMS = """
fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn
""".split()  # noqa: SIM905 - a list of names
globals().update(all_of(np.fft, _TRANSFORMS))


def _frequencies(found: Any, dtype: Any, device: Any) -> Any:
    made = as_tensor(found if dtype is None else found.astype(dtype))
    return made if device is None else made.to(device)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of `n` samples at distances `d`."""
    return _frequencies(np.fft.fftfreq(n, d), dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of `n` real samples at distances `d`."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype, device)


__all__ = [*_TRANSFORMS, "fftfreq", "rfftfreq"]
