"""Continuous distributions of one variable that are met more rarely."""

from __future__ import annotations

import math
from typing import Any

from ..elementwise.arithmetic import div, greater, greater_equal, less, less_equal, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sign, sqrt, square
from ..elementwise.powers import power
from ..elementwise.special import (
    betaln,
    erf,
    lgamma,
    logaddexp,
    ndtr,
    ndtri,
    softplus,
    xlog1py,
    xlogy,
)
from ..elementwise.trigonometric import arcsin, arctan, cos, sin, tan
from ..scipy_special.bessel import k1e
from ..scipy_special.incomplete import betainc, betaincc, gammainc, gammaincc, log_ndtr
from .distribution import FINITE, INFINITY, Univariate
from .more_continuous import ABOVE_ZERO, HALF_LOG_2PI, POSITIVE, UNIT

LOG_PI = math.log(math.pi)


def _normal(z: Any) -> Any:
    return sub(mul(square(z), -0.5), HALF_LOG_2PI)


# --- of normal numbers ----------------------------------------------------------------------------

alpha = Univariate(
    "alpha",
    "a",
    log_density=lambda z, a: sub(_normal(sub(a, div(1.0, z))), add(mul(log(z), 2.0), log_ndtr(a))),
    support=ABOVE_ZERO,
    cdf=lambda z, a: div(ndtr(sub(a, div(1.0, z))), ndtr(a)),
    ppf=lambda q, a: div(1.0, sub(a, ndtri(mul(q, ndtr(a))))),
)
fatiguelife = Univariate(
    "fatiguelife",
    "c",
    log_density=lambda z, c: sub(
        sub(log1p(z), add(add(log(mul(c, 2.0)), mul(log(z), 1.5)), HALF_LOG_2PI)),
        div(square(sub(z, 1.0)), mul(mul(z, square(c)), 2.0)),
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, c: ndtr(div(sub(sqrt(z), div(1.0, sqrt(z))), c)),
    sf=lambda z, c: ndtr(div(sub(div(1.0, sqrt(z)), sqrt(z)), c)),
)
foldnorm = Univariate(
    "foldnorm",
    "c",
    log_density=lambda z, c: sub(
        logaddexp(mul(square(sub(z, c)), -0.5), mul(square(add(z, c)), -0.5)), HALF_LOG_2PI
    ),
    support=POSITIVE,
    valid=lambda c: (greater_equal(c, 0),),
    cdf=lambda z, c: mul(
        add(erf(mul(sub(z, c), math.sqrt(0.5))), erf(mul(add(z, c), math.sqrt(0.5)))), 0.5
    ),
)
gibrat = Univariate(
    "gibrat",
    log_density=lambda z: sub(_normal(log(z)), log(z)),
    support=ABOVE_ZERO,
    cdf=lambda z: ndtr(log(z)),
    sf=lambda z: ndtr(neg(log(z))),
    ppf=lambda q: exp(ndtri(q)),
    isf=lambda q: exp(neg(ndtri(q))),
)
levy_l = Univariate(
    "levy_l",
    log_density=lambda z: sub(div(0.5, z), add(mul(log(neg(z)), 1.5), HALF_LOG_2PI)),
    support=(-INFINITY, -5e-324),
    cdf=lambda z: erf(mul(sqrt(div(-1.0, z)), math.sqrt(0.5))),
)
powernorm = Univariate(
    "powernorm",
    "c",
    log_density=lambda z, c: add(add(log(c), _normal(z)), mul(sub(c, 1.0), log_ndtr(neg(z)))),
    support=FINITE,
    cdf=lambda z, c: neg(expm1(mul(c, log_ndtr(neg(z))))),
    sf=lambda z, c: exp(mul(c, log_ndtr(neg(z)))),
    logsf=lambda z, c: mul(c, log_ndtr(neg(z))),
    ppf=lambda q, c: neg(ndtri(power(sub(1.0, q), div(1.0, c)))),
    isf=lambda q, c: neg(ndtri(power(q, div(1.0, c)))),
)
powerlognorm = Univariate(
    "powerlognorm",
    "c s",
    log_density=lambda z, c, s: sub(
        add(
            add(log(c), _normal(div(log(z), s))),
            mul(sub(c, 1.0), log_ndtr(neg(div(log(z), s)))),
        ),
        log(mul(z, s)),
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, c, s: neg(expm1(mul(c, log_ndtr(neg(div(log(z), s)))))),
    sf=lambda z, c, s: exp(mul(c, log_ndtr(neg(div(log(z), s))))),
    logsf=lambda z, c, s: mul(c, log_ndtr(neg(div(log(z), s)))),
    ppf=lambda q, c, s: exp(neg(mul(s, ndtri(power(sub(1.0, q), div(1.0, c)))))),
    isf=lambda q, c, s: exp(neg(mul(s, ndtri(power(q, div(1.0, c)))))),
)
recipinvgauss = Univariate(
    "recipinvgauss",
    "mu",
    log_density=lambda z, mu: sub(
        neg(div(square(sub(1.0, mul(mu, z))), mul(mul(z, square(mu)), 2.0))),
        add(mul(log(z), 0.5), HALF_LOG_2PI),
    ),
    support=ABOVE_ZERO,
)
norminvgauss = Univariate(
    "norminvgauss",
    "a b",
    log_density=lambda z, a, b: add(
        sub(add(log(a), log(k1e(mul(a, sqrt(add(square(z), 1.0)))))), LOG_PI),
        sub(
            add(sqrt(mul(sub(a, b), add(a, b))), mul(b, z)),
            add(mul(a, sqrt(add(square(z), 1.0))), mul(log1p(square(z)), 0.5)),
        ),
    ),
    support=FINITE,
    valid=lambda a, b: (greater(a, 0), less(absolute(b), a)),
)

# --- of powers and exponentials -------------------------------------------------------------------

burr = Univariate(
    "burr",
    "c d",
    log_density=lambda z, c, d: sub(
        log(mul(c, d)),
        add(mul(add(c, 1.0), log(z)), mul(add(d, 1.0), softplus(neg(mul(c, log(z)))))),
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, c, d: exp(neg(mul(d, softplus(neg(mul(c, log(z))))))),
    sf=lambda z, c, d: neg(expm1(neg(mul(d, softplus(neg(mul(c, log(z)))))))),
    ppf=lambda q, c, d: power(expm1(neg(div(log(q), d))), div(-1.0, c)),
)
exponpow = Univariate(
    "exponpow",
    "b",
    log_density=lambda z, b: add(
        add(log(b), xlogy(sub(b, 1.0), z)), sub(power(z, b), expm1(power(z, b)))
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, b: neg(expm1(neg(expm1(power(z, b))))),
    sf=lambda z, b: exp(neg(expm1(power(z, b)))),
    ppf=lambda q, b: power(log1p(neg(log1p(neg(q)))), div(1.0, b)),
    isf=lambda q, b: power(log1p(neg(log(q))), div(1.0, b)),
)
genlogistic = Univariate(
    "genlogistic",
    "c",
    log_density=lambda z, c: sub(sub(log(c), z), mul(add(c, 1.0), softplus(neg(z)))),
    support=FINITE,
    cdf=lambda z, c: exp(neg(mul(c, softplus(neg(z))))),
    sf=lambda z, c: neg(expm1(neg(mul(c, softplus(neg(z)))))),
    logcdf=lambda z, c: neg(mul(c, softplus(neg(z)))),
    ppf=lambda q, c: neg(log(expm1(neg(div(log(q), c))))),
    isf=lambda q, c: neg(log(expm1(neg(div(log1p(neg(q)), c))))),
)
halfgennorm = Univariate(
    "halfgennorm",
    "beta",
    log_density=lambda z, beta: sub(sub(log(beta), power(z, beta)), lgamma(div(1.0, beta))),
    support=POSITIVE,
    cdf=lambda z, beta: gammainc(div(1.0, beta), power(z, beta)),
    sf=lambda z, beta: gammaincc(div(1.0, beta), power(z, beta)),
)
kappa3 = Univariate(
    "kappa3",
    "a",
    log_density=lambda z, a: sub(log(a), mul(add(div(1.0, a), 1.0), log(add(a, power(z, a))))),
    support=POSITIVE,
    cdf=lambda z, a: mul(z, power(add(a, power(z, a)), div(-1.0, a))),
    ppf=lambda q, a: power(div(a, sub(power(q, neg(a)), 1.0)), div(1.0, a)),
)
loglaplace = Univariate(
    "loglaplace",
    "c",
    log_density=lambda z, c: sub(log(mul(c, 0.5)), add(mul(c, absolute(log(z))), log(z))),
    support=ABOVE_ZERO,
    cdf=lambda z, c: where(less(z, 1), mul(power(z, c), 0.5), sub(1.0, mul(power(z, neg(c)), 0.5))),
    sf=lambda z, c: where(less(z, 1), sub(1.0, mul(power(z, c), 0.5)), mul(power(z, neg(c)), 0.5)),
    ppf=lambda q, c: where(
        less(q, 0.5),
        power(mul(q, 2.0), div(1.0, c)),
        power(mul(sub(1.0, q), 2.0), div(-1.0, c)),
    ),
    isf=lambda q, c: where(
        greater(q, 0.5),
        power(mul(sub(1.0, q), 2.0), div(1.0, c)),
        power(mul(q, 2.0), div(-1.0, c)),
    ),
)
mielke = Univariate(
    "mielke",
    "k s",
    log_density=lambda z, k, s: sub(
        add(log(k), mul(sub(k, 1.0), log(z))),
        mul(add(div(k, s), 1.0), softplus(mul(s, log(z)))),
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, k, s: exp(neg(mul(div(k, s), softplus(neg(mul(s, log(z))))))),
    ppf=lambda q, k, s: power(expm1(neg(mul(div(s, k), log(q)))), div(-1.0, s)),
)
truncpareto = Univariate(
    "truncpareto",
    "b c",
    log_density=lambda z, b, c: sub(
        log(div(b, neg(expm1(neg(mul(b, log(c))))))), mul(add(b, 1.0), log(z))
    ),
    support=(1.0, lambda b, c: c),
    valid=lambda b, c: (greater(absolute(b), 0), greater(c, 1)),
    cdf=lambda z, b, c: div(expm1(neg(mul(b, log(z)))), expm1(neg(mul(b, log(c))))),
    ppf=lambda q, b, c: exp(neg(div(log1p(mul(q, expm1(neg(mul(b, log(c)))))), b))),
)
truncweibull_min = Univariate(
    "truncweibull_min",
    "c a b",
    log_density=lambda z, c, a, b: sub(
        add(log(c), xlogy(sub(c, 1.0), z)),
        add(sub(power(z, c), power(a, c)), log(neg(expm1(sub(power(a, c), power(b, c)))))),
    ),
    support=(lambda c, a, b: a, lambda c, a, b: b),
    valid=lambda c, a, b: (greater_equal(a, 0), greater(b, a), greater(c, 0)),
    cdf=lambda z, c, a, b: div(
        expm1(sub(power(a, c), power(z, c))), expm1(sub(power(a, c), power(b, c)))
    ),
)


def _pearson(z: Any, skew: Any) -> Any:
    """The log density of a gamma number that is moved and turned to mean 0 and variance 1."""
    near = less(absolute(skew), 1.6e-5)
    rate = div(2.0, where(near, 1.0, skew))
    shape, t = square(rate), mul(rate, add(z, rate))
    safe = where(greater(t, 0), t, 1.0)
    value = sub(sub(add(log(absolute(rate)), xlogy(sub(shape, 1.0), safe)), safe), lgamma(shape))
    return where(near, _normal(z), where(greater(t, 0), value, -INFINITY))


pearson3 = Univariate(
    "pearson3",
    "skew",
    log_density=_pearson,
    support=FINITE,
    valid=lambda skew: (less(absolute(skew), INFINITY),),
)

# --- of circles and angles ------------------------------------------------------------------------

anglit = Univariate(
    "anglit",
    log_density=lambda z: log(cos(mul(z, 2.0))),
    support=(-math.pi / 4, math.pi / 4),
    cdf=lambda z: square(sin(add(z, math.pi / 4))),
    sf=lambda z: square(cos(add(z, math.pi / 4))),
    ppf=lambda q: sub(arcsin(sqrt(q)), math.pi / 4),
)
cosine = Univariate(
    "cosine",
    log_density=lambda z: sub(log1p(cos(z)), math.log(2 * math.pi)),
    support=(-math.pi, math.pi),
    cdf=lambda z: mul(add(add(z, math.pi), sin(z)), 1 / (2 * math.pi)),
    sf=lambda z: mul(sub(sub(math.pi, z), sin(z)), 1 / (2 * math.pi)),
)
semicircular = Univariate(
    "semicircular",
    log_density=lambda z: add(mul(log(mul(sub(1.0, z), add(z, 1.0))), 0.5), math.log(2 / math.pi)),
    support=(-1.0, 1.0),
    cdf=lambda z: add(
        mul(add(mul(z, sqrt(mul(sub(1.0, z), add(z, 1.0)))), arcsin(z)), 1 / math.pi), 0.5
    ),
)
rdist = Univariate(
    "rdist",
    "c",
    log_density=lambda z, c: sub(
        xlog1py(sub(mul(c, 0.5), 1.0), neg(square(z))), betaln(0.5, mul(c, 0.5))
    ),
    support=(-1.0, 1.0),
    cdf=lambda z, c: betainc(mul(c, 0.5), mul(c, 0.5), mul(add(z, 1.0), 0.5)),
    sf=lambda z, c: betaincc(mul(c, 0.5), mul(c, 0.5), mul(add(z, 1.0), 0.5)),
)
wrapcauchy = Univariate(
    "wrapcauchy",
    "c",
    log_density=lambda z, c: sub(
        log(mul(sub(1.0, c), add(c, 1.0))),
        log(mul(sub(add(square(c), 1.0), mul(mul(c, cos(z)), 2.0)), 2 * math.pi)),
    ),
    support=(0.0, 2 * math.pi),
    valid=lambda c: (greater(c, 0), less(c, 1)),
)

# --- of Cauchy's kind -----------------------------------------------------------------------------

foldcauchy = Univariate(
    "foldcauchy",
    "c",
    log_density=lambda z, c: sub(
        log(add(div(1.0, add(square(sub(z, c)), 1.0)), div(1.0, add(square(add(z, c)), 1.0)))),
        LOG_PI,
    ),
    support=POSITIVE,
    valid=lambda c: (greater_equal(c, 0),),
    cdf=lambda z, c: mul(add(arctan(sub(z, c)), arctan(add(z, c))), 1 / math.pi),
)


def _side(z: Any, a: Any) -> Any:
    return add(mul(a, sign(z)), 1.0)


skewcauchy = Univariate(
    "skewcauchy",
    "a",
    log_density=lambda z, a: neg(add(log1p(square(div(z, _side(z, a)))), LOG_PI)),
    support=FINITE,
    valid=lambda a: (less(absolute(a), 1),),
    cdf=lambda z, a: add(
        mul(mul(_side(z, a), arctan(div(z, _side(z, a)))), 1 / math.pi), mul(sub(1.0, a), 0.5)
    ),
    ppf=lambda q, a: where(
        less(q, mul(sub(1.0, a), 0.5)),
        mul(sub(1.0, a), tan(mul(div(sub(q, mul(sub(1.0, a), 0.5)), sub(1.0, a)), math.pi))),
        mul(add(a, 1.0), tan(mul(div(sub(q, mul(sub(1.0, a), 0.5)), add(a, 1.0)), math.pi))),
    ),
)

# --- of straight lines ----------------------------------------------------------------------------

bradford = Univariate(
    "bradford",
    "c",
    log_density=lambda z, c: sub(log(c), add(log1p(mul(c, z)), log(log1p(c)))),
    support=UNIT,
    cdf=lambda z, c: div(log1p(mul(c, z)), log1p(c)),
    ppf=lambda q, c: div(expm1(mul(q, log1p(c))), c),
)


def _peak(z: Any, c: Any) -> Any:
    """The share of the highest density: 1 at z = c, also where that is 0 or 1."""
    left, top = less(z, c), less(c, 1)
    up = div(where(left, z, 1.0), where(left, c, 1.0))
    down = div(sub(1.0, where(left, 0.0, z)), sub(1.0, where(top, c, 0.0)))
    return where(left, up, where(top, down, 1.0))


triang = Univariate(
    "triang",
    "c",
    log_density=lambda z, c: add(log(_peak(z, c)), math.log(2)),
    support=UNIT,
    valid=lambda c: (greater_equal(c, 0), less_equal(c, 1)),
    cdf=lambda z, c: where(
        less(z, c),
        mul(z, _peak(z, c)),
        sub(1.0, mul(sub(1.0, z), _peak(z, c))),
    ),
)


def _trapezoid(z: Any, c: Any, d: Any) -> Any:
    height = add(sub(d, c), 1.0)
    rising, falling = less(z, c), greater(z, d)
    up = log(div(where(rising, z, 1.0), where(rising, c, 1.0)))
    down = log(div(where(falling, sub(1.0, z), 1.0), where(falling, sub(1.0, d), 1.0)))
    return sub(add(math.log(2), where(rising, up, where(falling, down, 0.0))), log(height))


trapezoid = Univariate(
    "trapezoid",
    "c d",
    log_density=_trapezoid,
    support=UNIT,
    valid=lambda c, d: (
        greater_equal(c, 0),
        less_equal(c, 1),
        less_equal(d, 1),
        greater_equal(d, c),
    ),
    cdf=lambda z, c, d: where(
        less(z, c),
        div(square(z), mul(where(less(z, c), c, 1.0), add(sub(d, c), 1.0))),
        where(
            greater(z, d),
            sub(
                1.0,
                div(
                    square(sub(1.0, z)),
                    mul(where(greater(z, d), sub(1.0, d), 1.0), add(sub(d, c), 1.0)),
                ),
            ),
            div(sub(mul(z, 2.0), c), add(sub(d, c), 1.0)),
        ),
    ),
)

DISTRIBUTIONS = (
    alpha, fatiguelife, foldnorm, gibrat, levy_l, powernorm, powerlognorm, recipinvgauss,
    norminvgauss, burr, exponpow, genlogistic, halfgennorm, kappa3, loglaplace, mielke,
    truncpareto, truncweibull_min, pearson3, anglit, cosine, semicircular, rdist, wrapcauchy,
    foldcauchy, skewcauchy, bradford, triang, trapezoid,
)  # fmt: skip
