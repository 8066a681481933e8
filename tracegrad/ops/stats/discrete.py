"""Distributions of integers."""

from __future__ import annotations

from typing import Any

from ..elementwise.arithmetic import equal, greater, greater_equal, less_equal, neg, sub
from ..elementwise.comparison import floor
from ..elementwise.derived import add, mul
from ..elementwise.elementary import expm1, log, log1p
from ..elementwise.special import lgamma, xlog1py, xlogy
from ..scipy_special.incomplete import betainc, betaincc, gammainc, gammaincc
from .distribution import INFINITY, Discrete


def _log_choose(n: Any, k: Any) -> Any:
    return sub(lgamma(add(n, 1.0)), add(lgamma(add(k, 1.0)), lgamma(add(sub(n, k), 1.0))))


def _share(p: Any) -> tuple[Any, ...]:
    return greater_equal(p, 0), less_equal(p, 1)


poisson = Discrete(
    "poisson",
    "mu",
    log_density=lambda k, mu: sub(sub(xlogy(k, mu), lgamma(add(k, 1.0))), mu),
    support=(0.0, INFINITY),
    valid=lambda mu: (greater_equal(mu, 0),),
    cdf=lambda k, mu: gammaincc(add(k, 1.0), mu),
    sf=lambda k, mu: gammainc(add(k, 1.0), mu),
)
binom = Discrete(
    "binom",
    "n p",
    log_density=lambda k, n, p: add(
        _log_choose(n, k), add(xlogy(k, p), xlog1py(sub(n, k), neg(p)))
    ),
    support=(0.0, lambda n, p: n),
    valid=lambda n, p: (greater_equal(n, 0), equal(n, floor(n)), *_share(p)),
)
bernoulli = Discrete(
    "bernoulli",
    "p",
    log_density=lambda k, p: add(xlogy(k, p), xlog1py(sub(1.0, k), neg(p))),
    support=(0.0, 1.0),
    valid=_share,
)
nbinom = Discrete(
    "nbinom",
    "n p",
    log_density=lambda k, n, p: add(
        sub(lgamma(add(n, k)), add(lgamma(add(k, 1.0)), lgamma(n))),
        add(mul(n, log(p)), xlog1py(k, neg(p))),
    ),
    support=(0.0, INFINITY),
    valid=lambda n, p: (greater(n, 0), greater(p, 0), less_equal(p, 1)),
    cdf=lambda k, n, p: betainc(n, add(k, 1.0), p),
    sf=lambda k, n, p: betaincc(n, add(k, 1.0), p),
)
geom = Discrete(
    "geom",
    "p",
    log_density=lambda k, p: add(xlog1py(sub(k, 1.0), neg(p)), log(p)),
    support=(1.0, INFINITY),
    valid=lambda p: (greater(p, 0), less_equal(p, 1)),
    cdf=lambda k, p: neg(expm1(mul(k, log1p(neg(p))))),
    logsf=lambda k, p: mul(k, log1p(neg(p))),
)
logser = Discrete(
    "logser",
    "p",
    log_density=lambda k, p: sub(xlogy(k, p), add(log(k), log(neg(log1p(neg(p)))))),
    support=(1.0, INFINITY),
    valid=lambda p: (greater(p, 0), greater(1.0, p)),
)

DISTRIBUTIONS = (poisson, binom, bernoulli, nbinom, geom, logser)
