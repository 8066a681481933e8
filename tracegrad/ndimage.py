"""Interpolation of grids, filters and smoothing with SciPy's names: `tracegrad.ndimage`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.numerics import (
    fourier_filters,
    images,
    mapped_grids,
    measurements,
    morphology,
    neighbourhoods,
    order_filters,
)
from .ops.numerics.fourier_filters import *  # noqa: F403
from .ops.numerics.images import *  # noqa: F403
from .ops.numerics.mapped_grids import *  # noqa: F403
from .ops.numerics.measurements import *  # noqa: F403
from .ops.numerics.morphology import *  # noqa: F403
from .ops.numerics.neighbourhoods import *  # noqa: F403
from .ops.numerics.order_filters import *  # noqa: F403

__all__ = [
    *fourier_filters.__all__, *images.__all__, *mapped_grids.__all__, *measurements.__all__,
    *morphology.__all__, *neighbourhoods.__all__, *order_filters.__all__,
]  # fmt: skip

publish(globals(), __all__, OFTEN)
tell_missing(globals())
