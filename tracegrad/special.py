"""Special functions with SciPy's names: `tracegrad.special`. The ufuncs of `scipy.special` call
them on boxed values; its Python functions (logsumexp, softmax, multigammaln, polygamma, ...) want
plain arrays, and these are written in their place."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.scipy_special.functions import *  # noqa: F403
from .ops.scipy_special.functions import __all__ as __all__

publish(globals(), __all__, OFTEN)
tell_missing(globals())
