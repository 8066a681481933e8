"""Interpolation of grids, filters and smoothing with SciPy's names: `tracegrad.ndimage`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.numerics import images, mapped_grids, neighbourhoods
from .ops.numerics.images import *  # noqa: F403
from .ops.numerics.mapped_grids import *  # noqa: F403
from .ops.numerics.neighbourhoods import *  # noqa: F403

__all__ = [*images.__all__, *mapped_grids.__all__, *neighbourhoods.__all__]

publish(globals(), __all__, OFTEN)
tell_missing(globals())
