"""Splines and monotone interpolation with SciPy's names: `tracegrad.interpolate`; piecewise linear
interpolation is `interp`."""

from __future__ import annotations

from .ops.numerics.b_splines import BSpline
from .ops.numerics.interpolation import CubicSpline, PchipInterpolator

__all__ = ["BSpline", "CubicSpline", "PchipInterpolator"]
