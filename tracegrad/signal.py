"""Convolutions and filters with SciPy's names: `tracegrad.signal`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.numerics.filters import *  # noqa: F403
from .ops.numerics.filters import __all__ as _filters
from .ops.numerics.signals import *  # noqa: F403
from .ops.numerics.signals import __all__ as _signals

__all__ = [*_filters, *_signals]

publish(globals(), __all__, OFTEN)
