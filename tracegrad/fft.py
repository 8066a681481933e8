"""Discrete Fourier transforms with NumPy's names, which `np.fft` calls on boxed values, and cosine
and sine transforms with SciPy's: `tracegrad.fft`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.fourier import cosines, functions
from .ops.fourier.cosines import *  # noqa: F403
from .ops.fourier.functions import *  # noqa: F403

__all__ = [*functions.__all__, *cosines.__all__]

publish(globals(), __all__, OFTEN)
tell_missing(globals())
