"""Probability distributions with SciPy's names, arguments and methods (`logpdf`, `cdf`, `ppf`, ...)
on plain, traced and differentiated values: `tracegrad.stats`. They draw no random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ops.stats import continuous, discrete, more_continuous, multivariate

_ALL = {
    d.name: d
    for d in (
        *continuous.DISTRIBUTIONS,
        *more_continuous.DISTRIBUTIONS,
        *discrete.DISTRIBUTIONS,
        *multivariate.DISTRIBUTIONS,
    )
}
globals().update(_ALL)
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = sorted(_ALL)
