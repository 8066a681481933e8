"""All special functions with SciPy's names."""

from __future__ import annotations

from ..elementwise.elementary import cbrt, exp2, expm1, log1p
from ..elementwise.special import (
    beta,
    betaln,
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
    compositions,
    exponential_sums,
    hypergeometric,
    incomplete,
    more_functions,
    series,
)
from .bessel import *  # noqa: F403
from .compositions import *  # noqa: F403
from .exponential_sums import *  # noqa: F403
from .hypergeometric import *  # noqa: F403
from .incomplete import *  # noqa: F403
from .more_functions import *  # noqa: F403
from .series import *  # noqa: F403

__all__ = [
    "beta", "betaln", "cbrt", "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1",
    "factorial", "gamma", "gammaln", "log1p", "logit", "ndtr", "ndtri",
    "polygamma", "psi", "sinc", "softplus", "xlog1py", "xlogy",
    *bessel.__all__, *compositions.__all__, *exponential_sums.__all__, *hypergeometric.__all__,
    *incomplete.__all__, *more_functions.__all__, *series.__all__,
]  # fmt: skip
OPS = (
    *bessel.OPS, *compositions.OPS, *hypergeometric.OPS, *incomplete.OPS, *more_functions.OPS,
    *series.OPS,
)  # fmt: skip
