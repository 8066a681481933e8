"""All special functions with SciPy's names."""

from __future__ import annotations

from ..elementwise.beta_functions import beta, betaln
from ..elementwise.elementary import cbrt, exp2, expm1, log1p
from ..elementwise.special import (
    digamma,
    entr,
    erf,
    erfc,
    erfinv,
    expit,
    factorial,
    gamma,
    gammaln,
    logit,
    ndtr,
    ndtri,
    polygamma,
    psi,
    softplus,
    xlog1py,
    xlogy,
)  # fmt: skip
from ..elementwise.trigonometric import sinc
from . import (
    bessel,
    bessel_made,
    compositions,
    degrees_and_counts,
    elliptic,
    exponential_sums,
    hypergeometric,
    incomplete,
    integrals,
    lambert,
    more_functions,
    orthogonal,
    series,
    several_results,
    spherical_harmonics,
    symmetric,
    tails,
)
from . import kelvin as _kelvin
from . import struve as _struve
from . import zeta as _zeta
from .bessel import *  # noqa: F403
from .bessel_made import *  # noqa: F403
from .compositions import *  # noqa: F403
from .degrees_and_counts import *  # noqa: F403
from .elliptic import *  # noqa: F403
from .exponential_sums import *  # noqa: F403
from .hypergeometric import *  # noqa: F403
from .incomplete import *  # noqa: F403
from .integrals import *  # noqa: F403
from .kelvin import *  # noqa: F403
from .lambert import *  # noqa: F403
from .more_functions import *  # noqa: F403
from .orthogonal import *  # noqa: F403
from .series import *  # noqa: F403
from .several_results import *  # noqa: F403
from .spherical_harmonics import *  # noqa: F403
from .struve import *  # noqa: F403
from .symmetric import *  # noqa: F403
from .tails import *  # noqa: F403
from .zeta import zeta as zeta
from .zeta import zetac as zetac

_FAMILIES = (
    bessel, bessel_made, compositions, degrees_and_counts, elliptic, exponential_sums,
    hypergeometric, incomplete, integrals, _kelvin, lambert, more_functions, orthogonal, series,
    several_results, spherical_harmonics, _struve, symmetric, tails, _zeta,
)  # fmt: skip
__all__ = [
    "beta", "betaln", "cbrt", "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1",
    "factorial", "gamma", "gammaln", "log1p", "logit", "ndtr", "ndtri",
    "polygamma", "psi", "sinc", "softplus", "xlog1py", "xlogy",
    *[name for family in _FAMILIES for name in family.__all__],
]  # fmt: skip
OPS = tuple(op for family in _FAMILIES for op in getattr(family, "OPS", ()))
