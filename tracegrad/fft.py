"""Discrete Fourier transforms with NumPy's names: `tracegrad.fft`, which `np.fft` calls on boxed
values."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.fourier.functions import *  # noqa: F403
from .ops.fourier.functions import __all__ as __all__

publish(globals(), __all__, OFTEN)
