"""Convolutions and filters with SciPy's names: `tracegrad.signal`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.numerics.convolutions import *  # noqa: F403
from .ops.numerics.convolutions import __all__ as _convolutions
from .ops.numerics.filters import *  # noqa: F403
from .ops.numerics.filters import __all__ as _filters
from .ops.numerics.signals import *  # noqa: F403
from .ops.numerics.signals import __all__ as _signals

__all__ = [*_convolutions, *_filters, *_signals]

publish(globals(), __all__, OFTEN)
