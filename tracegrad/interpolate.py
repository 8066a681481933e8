"""Splines and monotone interpolation with SciPy's names: `tracegrad.interpolate`; piecewise linear
interpolation is `interp`."""

from __future__ import annotations

from .ops.numerics.interpolation import *  # noqa: F403
from .ops.numerics.interpolation import __all__ as __all__
