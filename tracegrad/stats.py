"""Probability distributions with SciPy's names, arguments and methods (`logpdf`, `cdf`, `ppf`, ...)
on plain, traced and differentiated values, and summaries of samples: `tracegrad.stats`. They draw
no random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.stats import (
    continuous,
    discrete,
    more_continuous,
    multivariate,
    on_intervals,
    rarer_continuous,
    summaries,
)
from .ops.stats.kernel_density import gaussian_kde as gaussian_kde
from .ops.stats.summaries import *  # noqa: F403

_ALL = {
    d.name: d
    for d in (
        *continuous.DISTRIBUTIONS,
        *more_continuous.DISTRIBUTIONS,
        *rarer_continuous.DISTRIBUTIONS,
        *on_intervals.DISTRIBUTIONS,
        *discrete.DISTRIBUTIONS,
        *multivariate.DISTRIBUTIONS,
    )
}
globals().update(_ALL)
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = sorted([*_ALL, *summaries.__all__, "gaussian_kde"])

publish(globals(), [*summaries.__all__, "gaussian_kde"], OFTEN)
tell_missing(globals())
