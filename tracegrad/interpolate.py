"""Splines, monotone interpolation and tables with SciPy's names: `tracegrad.interpolate`; piecewise
linear interpolation is `interp`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.numerics.b_splines import BSpline
from .ops.numerics.interpolating_splines import make_interp_spline
from .ops.numerics.interpolation import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
)
from .ops.numerics.regular_grids import RegularGridInterpolator, interpn

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator",
    "RegularGridInterpolator", "interpn", "make_interp_spline",
]  # fmt: skip

publish(globals(), __all__, OFTEN)
tell_missing(globals())
