"""Interpolation of grids and smoothing with SciPy's names: `tracegrad.ndimage`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .ops.numerics.images import *  # noqa: F403
from .ops.numerics.images import __all__ as __all__

publish(globals(), __all__, OFTEN)
