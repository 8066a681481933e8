"""Convolutions and filters with SciPy's names: `tracegrad.signal`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.numerics.filters import *  # noqa: F403
from .ops.numerics.filters import __all__ as __all__

publish(globals(), __all__, OFTEN)
