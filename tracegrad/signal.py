"""Convolutions and filters with SciPy's names: `tracegrad.signal`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.numerics.convolutions import *  # noqa: F403
from .ops.numerics.convolutions import __all__ as _convolutions
from .ops.numerics.filters import *  # noqa: F403
from .ops.numerics.filters import __all__ as _filters
from .ops.numerics.inverse_spectra import *  # noqa: F403
from .ops.numerics.inverse_spectra import __all__ as _inverse
from .ops.numerics.resampling import *  # noqa: F403
from .ops.numerics.resampling import __all__ as _resampling
from .ops.numerics.signals import *  # noqa: F403
from .ops.numerics.signals import __all__ as _signals
from .ops.numerics.spectra import *  # noqa: F403
from .ops.numerics.spectra import __all__ as _spectra
from .ops.numerics.waves import *  # noqa: F403
from .ops.numerics.waves import __all__ as _waves

__all__ = [
    *_convolutions, *_filters, *_inverse, *_resampling, *_signals, *_spectra, *_waves,
]  # fmt: skip

publish(globals(), __all__, OFTEN)
tell_missing(globals())
