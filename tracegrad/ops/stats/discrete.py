"""Distributions of integers."""

from __future__ import annotations

import math
from typing import Any

from ..elementwise.arithmetic import (
    div,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.beta_functions import log_beta
from ..elementwise.comparison import floor, maximum, minimum
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sign, sqrt, square
from ..elementwise.limits import times
from ..elementwise.special import lgamma, xlog1py, xlogy
from ..elementwise.trigonometric import arcsinh, hypot, tanh
from ..scipy_special.bessel import ive
from ..scipy_special.incomplete import betainc, betaincc, gammainc, gammaincc
from ..scipy_special.zeta import zeta
from .distribution import INFINITY, Discrete, above_of


def _log_choose(n: Any, k: Any) -> Any:
    # By no difference of logarithms of factorials, which have no digits left of large n.
    return neg(add(log1p(n), log_beta(add(sub(n, k), 1.0), add(k, 1.0))))


def _share(p: Any) -> tuple[Any, ...]:
    return greater_equal(p, 0), less_equal(p, 1)


def _trials(n: Any, p: Any) -> tuple[Any, ...]:
    return greater_equal(n, 0), equal(n, floor(n)), less(n, INFINITY), *_share(p)


def _successes(k: Any, n: Any) -> tuple[Any, Any]:
    """What the incomplete beta function takes for more than k of n, where there are more."""
    return add(k, 1.0), where(less(k, n), sub(n, k), 1.0)


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
    valid=_trials,
    cdf=lambda k, n, p: where(less(k, n), betaincc(*_successes(k, n), p), 1.0),
    sf=lambda k, n, p: where(less(k, n), betainc(*_successes(k, n), p), 0.0),
)
bernoulli = Discrete(
    "bernoulli",
    "p",
    log_density=lambda k, p: add(xlogy(k, p), xlog1py(sub(1.0, k), neg(p))),
    support=(0.0, 1.0),
    valid=_share,
    cdf=lambda k, p: where(less(k, 1), sub(1.0, p), 1.0),
    sf=lambda k, p: where(less(k, 1), mul(p, 1.0), 0.0),
)
nbinom = Discrete(
    "nbinom",
    "n p",
    log_density=lambda k, n, p: add(
        neg(add(log(add(n, k)), log_beta(n, add(k, 1.0)))),
        add(mul(n, log(p)), xlog1py(k, neg(p))),
    ),
    support=(0.0, INFINITY),
    valid=lambda n, p: (greater(n, 0), less(n, INFINITY), greater(p, 0), less_equal(p, 1)),
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

betabinom = Discrete(
    "betabinom",
    "n a b",
    log_density=lambda k, n, a, b: sub(
        add(_log_choose(n, k), log_beta(add(k, a), add(sub(n, k), b))), log_beta(a, b)
    ),
    support=(0.0, lambda n, a, b: n),
    valid=lambda n, a, b: (greater_equal(n, 0), equal(n, floor(n)), greater(a, 0), greater(b, 0)),
)
hypergeom = Discrete(
    "hypergeom",
    "M n N",
    log_density=lambda k, m, n, draws: sub(
        add(_log_choose(n, k), _log_choose(sub(m, n), sub(draws, k))), _log_choose(m, draws)
    ),
    support=(
        lambda m, n, draws: maximum(add(sub(draws, m), n), 0.0),
        lambda m, n, draws: minimum(n, draws),
    ),
    valid=lambda m, n, draws: (
        greater(m, 0), greater_equal(n, 0), greater_equal(draws, 0), less_equal(n, m),
        less_equal(draws, m), *[equal(x, floor(x)) for x in (m, n, draws)],
    ),
)  # fmt: skip
randint = Discrete(
    "randint",
    "low high",
    log_density=lambda k, low, high: neg(log(add(mul(k, 0.0), sub(high, low)))),
    support=(lambda low, high: low, lambda low, high: sub(high, 1.0)),
    valid=lambda low, high: (greater(high, low), equal(low, floor(low)), equal(high, floor(high))),
    cdf=lambda k, low, high: div(add(sub(k, low), 1.0), sub(high, low)),
    sf=lambda k, low, high: above_of(add(sub(k, low), 1.0), sub(sub(high, 1.0), k), sub(high, low)),
)
planck = Discrete(
    "planck",
    "lambda_",
    log_density=lambda k, rate: sub(log(neg(expm1(neg(rate)))), times(rate, k)),
    support=(0.0, INFINITY),
    cdf=lambda k, rate: neg(expm1(neg(mul(rate, add(k, 1.0))))),
    logsf=lambda k, rate: neg(mul(rate, add(k, 1.0))),
)
dlaplace = Discrete(
    "dlaplace",
    "a",
    log_density=lambda k, a: sub(log(tanh(mul(a, 0.5))), times(a, absolute(k))),
)


def _skellam_far(k: Any, a: Any, b: Any, z: Any, radius: Any) -> Any:
    """The mass by Debye's series of the Bessel function, in which what is nearly the same of k and
    its mean is taken off before, not after."""
    mean, total = sub(a, b), add(a, b)
    off, both = sub(k, mean), add(k, mean)
    alike = greater(mul(sign(k), sign(mean)), 0)
    beside = where(alike, add(mul(div(k, radius), total), mean), 1.0)
    one = div(mul(off, div(both, radius)), beside)
    other = sub(mul(div(k, z), div(total, z)), mul(div(mean, z), div(radius, z)))
    turned = arcsinh(where(alike, one, other))
    t, s = div(1.0, radius), square(div(k, radius))
    terms = (
        (3 / 24, -5 / 24),
        (81 / 1152, -462 / 1152, 385 / 1152),
        (30375 / 414720, -369603 / 414720, 765765 / 414720, -425425 / 414720),
    )
    series: Any = 0.0
    for coefficients in reversed(terms):
        term: Any = 0.0
        for c in reversed(coefficients):
            term = add(mul(s, term), c)
        series = mul(add(series, term), t)
    height = sub(log1p(series), mul(log(mul(radius, 2 * math.pi)), 0.5))
    return add(sub(mul(off, div(both, add(radius, total))), mul(k, turned)), height)


def _skellam(k: Any, a: Any, b: Any) -> Any:
    z = mul(mul(sqrt(a), sqrt(b)), 2.0)
    radius = hypot(k, z)
    far = greater(radius, 1000)
    of_bessel = log(ive(where(far, 0.0, absolute(k)), where(far, 1.0, z)))
    tilt = sub(mul(mul(k, 0.5), sub(log(a), log(b))), square(sub(sqrt(a), sqrt(b))))
    return where(far, _skellam_far(k, a, b, z, where(far, radius, 1.0)), add(tilt, of_bessel))


skellam = Discrete("skellam", "mu1 mu2", log_density=_skellam)

zipf = Discrete(
    "zipf",
    "a",
    log_density=lambda k, a: neg(add(times(a, log(k)), log(zeta(a, 1.0)))),
    support=(1.0, INFINITY),
    valid=lambda a: (greater(a, 1),),
)
boltzmann = Discrete(
    "boltzmann",
    "lambda_ N",
    log_density=lambda k, rate, N: sub(
        log(div(expm1(neg(rate)), expm1(neg(mul(rate, N))))), times(rate, k)
    ),
    support=(0.0, lambda rate, N: sub(N, 1.0)),
    valid=lambda rate, N: (greater(rate, 0), greater(N, 0), equal(N, floor(N))),
    cdf=lambda k, rate, N: div(expm1(neg(mul(rate, add(k, 1.0)))), expm1(neg(mul(rate, N)))),
    sf=lambda k, rate, N: div(
        mul(exp(neg(mul(rate, add(k, 1.0)))), expm1(times(rate, sub(add(k, 1.0), N)))),
        expm1(neg(mul(rate, N))),
    ),
)
betanbinom = Discrete(
    "betanbinom",
    "n a b",
    log_density=lambda k, n, a, b: sub(
        log_beta(add(a, n), add(b, k)),
        add(add(log_beta(a, b), log(add(n, k))), log_beta(n, add(k, 1.0))),
    ),
    support=(0.0, INFINITY),
    valid=lambda n, a, b: (
        greater_equal(n, 0),
        equal(n, floor(n)),
        greater(a, 0),
        greater(b, 0),
    ),
)
DISTRIBUTIONS = (
    poisson, binom, bernoulli, nbinom, geom, logser, betabinom, hypergeom, randint, planck,
    dlaplace, skellam, zipf, boltzmann, betanbinom,
)  # fmt: skip
