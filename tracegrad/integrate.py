"""Integrals with SciPy's names: `tracegrad.integrate`; differential equations are `odeint`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.numerics.integration import *  # noqa: F403
from .ops.numerics.integration import __all__ as _SAMPLES
from .solvers.integrals import *  # noqa: F403
from .solvers.integrals import __all__ as _FUNCTIONS

__all__ = [*_SAMPLES, *_FUNCTIONS]

publish(globals(), __all__, OFTEN)
tell_missing(globals())
