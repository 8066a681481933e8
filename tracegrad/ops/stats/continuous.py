"""Continuous distributions of one variable."""

from __future__ import annotations

import math
from typing import Any

from ..elementwise.arithmetic import div, greater, greater_equal, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sqrt, square
from ..elementwise.powers import power
from ..elementwise.special import (
    betaln,
    erf,
    erfinv,
    lgamma,
    log_sigmoid,
    logit,
    ndtr,
    ndtri,
    sigmoid,
    softplus,
    xlog1py,
    xlogy,
)
from ..elementwise.trigonometric import arctan, cos, tan
from ..scipy_special.bessel import i0e
from ..scipy_special.incomplete import (
    betainc,
    betaincc,
    betaincinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    log_ndtr,
    stdtr,
    stdtrit,
)
from .distribution import FINITE, INFINITY, Univariate

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
POSITIVE = (0.0, INFINITY)
UNIT = (0.0, 1.0)


def _normal(z: Any) -> Any:
    return sub(mul(square(z), -0.5), HALF_LOG_2PI)


def _reflected(f: Any) -> Any:
    return lambda q, *shapes: neg(f(q, *shapes))


norm = Univariate(
    "norm",
    log_density=_normal,
    cdf=ndtr,
    sf=lambda z: ndtr(neg(z)),
    logcdf=log_ndtr,
    logsf=lambda z: log_ndtr(neg(z)),
    ppf=ndtri,
    isf=_reflected(ndtri),
)
uniform = Univariate(
    "uniform",
    log_density=lambda z: mul(z, 0.0),
    support=UNIT,
    cdf=lambda z: mul(z, 1.0),
    ppf=lambda q: mul(q, 1.0),
)
expon = Univariate(
    "expon",
    log_density=neg,
    support=POSITIVE,
    cdf=lambda z: neg(expm1(neg(z))),
    sf=lambda z: exp(neg(z)),
    logsf=neg,
    ppf=lambda q: neg(log1p(neg(q))),
    isf=lambda q: neg(log(q)),
)
gamma = Univariate(
    "gamma",
    "a",
    log_density=lambda z, a: sub(sub(xlogy(sub(a, 1.0), z), z), lgamma(a)),
    support=POSITIVE,
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    ppf=lambda q, a: gammaincinv(a, q),
    isf=lambda q, a: gammainccinv(a, q),
)
chi2 = Univariate(
    "chi2",
    "df",
    log_density=lambda z, df: sub(
        sub(xlogy(sub(mul(df, 0.5), 1.0), z), mul(z, 0.5)),
        add(lgamma(mul(df, 0.5)), mul(df, 0.5 * math.log(2.0))),
    ),
    support=POSITIVE,
    cdf=lambda z, df: gammainc(mul(df, 0.5), mul(z, 0.5)),
    sf=lambda z, df: gammaincc(mul(df, 0.5), mul(z, 0.5)),
    ppf=lambda q, df: mul(gammaincinv(mul(df, 0.5), q), 2.0),
    isf=lambda q, df: mul(gammainccinv(mul(df, 0.5), q), 2.0),
)
beta = Univariate(
    "beta",
    "a b",
    log_density=lambda z, a, b: sub(
        add(xlogy(sub(a, 1.0), z), xlog1py(sub(b, 1.0), neg(z))), betaln(a, b)
    ),
    support=UNIT,
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betaincc(a, b, z),
    ppf=lambda q, a, b: betaincinv(a, b, q),
)


def _student(z: Any, df: Any) -> Any:
    half = mul(add(df, 1.0), 0.5)
    scale = add(betaln(mul(df, 0.5), 0.5), mul(log(df), 0.5))
    return sub(neg(xlog1py(half, div(square(z), df))), scale)


t = Univariate(
    "t",
    "df",
    log_density=_student,
    cdf=lambda z, df: stdtr(df, z),
    sf=lambda z, df: stdtr(df, neg(z)),
    ppf=lambda q, df: stdtrit(df, q),
    isf=lambda q, df: neg(stdtrit(df, q)),
)
cauchy = Univariate(
    "cauchy",
    log_density=lambda z: sub(neg(log1p(square(z))), math.log(math.pi)),
    cdf=lambda z: add(mul(arctan(z), 1 / math.pi), 0.5),
    sf=lambda z: sub(0.5, mul(arctan(z), 1 / math.pi)),
    ppf=lambda q: div(-1.0, tan(mul(q, math.pi))),
    isf=lambda q: div(1.0, tan(mul(q, math.pi))),
)
laplace = Univariate(
    "laplace",
    log_density=lambda z: sub(neg(absolute(z)), math.log(2.0)),
    cdf=lambda z: where(
        greater(z, 0),
        sub(1.0, mul(exp(neg(absolute(z))), 0.5)),
        mul(exp(neg(absolute(z))), 0.5),
    ),
    sf=lambda z: where(
        greater(z, 0),
        mul(exp(neg(absolute(z))), 0.5),
        sub(1.0, mul(exp(neg(absolute(z))), 0.5)),
    ),
    ppf=lambda q: where(
        greater(q, 0.5),
        neg(log(mul(sub(1.0, where(greater(q, 0.5), q, 0.5)), 2.0))),
        log(mul(where(greater(q, 0.5), 0.5, q), 2.0)),
    ),
)
logistic = Univariate(
    "logistic",
    log_density=lambda z: sub(neg(absolute(z)), mul(softplus(neg(absolute(z))), 2.0)),
    cdf=sigmoid,
    sf=lambda z: sigmoid(neg(z)),
    logcdf=log_sigmoid,
    logsf=lambda z: log_sigmoid(neg(z)),
    ppf=logit,
    isf=_reflected(logit),
)
lognorm = Univariate(
    "lognorm",
    "s",
    log_density=lambda z, s: sub(_normal(div(log(z), s)), log(mul(z, s))),
    support=(5e-324, INFINITY),
    cdf=lambda z, s: ndtr(div(log(z), s)),
    sf=lambda z, s: ndtr(neg(div(log(z), s))),
    logcdf=lambda z, s: log_ndtr(div(log(z), s)),
    logsf=lambda z, s: log_ndtr(neg(div(log(z), s))),
    ppf=lambda q, s: exp(mul(ndtri(q), s)),
    isf=lambda q, s: exp(neg(mul(ndtri(q), s))),
)
invgamma = Univariate(
    "invgamma",
    "a",
    log_density=lambda z, a: sub(neg(mul(add(a, 1.0), log(z))), add(lgamma(a), div(1.0, z))),
    support=(5e-324, INFINITY),
    cdf=lambda z, a: gammaincc(a, div(1.0, z)),
    sf=lambda z, a: gammainc(a, div(1.0, z)),
    ppf=lambda q, a: div(1.0, gammainccinv(a, q)),
    isf=lambda q, a: div(1.0, gammaincinv(a, q)),
)
weibull_min = Univariate(
    "weibull_min",
    "c",
    log_density=lambda z, c: sub(add(log(c), xlogy(sub(c, 1.0), z)), power(z, c)),
    support=POSITIVE,
    cdf=lambda z, c: neg(expm1(neg(power(z, c)))),
    sf=lambda z, c: exp(neg(power(z, c))),
    logsf=lambda z, c: neg(power(z, c)),
    ppf=lambda q, c: power(neg(log1p(neg(q))), div(1.0, c)),
    isf=lambda q, c: power(neg(log(q)), div(1.0, c)),
)
pareto = Univariate(
    "pareto",
    "b",
    log_density=lambda z, b: sub(log(b), mul(add(b, 1.0), log(z))),
    support=(1.0, INFINITY),
    cdf=lambda z, b: sub(1.0, power(z, neg(b))),
    sf=lambda z, b: power(z, neg(b)),
    logsf=lambda z, b: neg(mul(b, log(z))),
    ppf=lambda q, b: power(sub(1.0, q), div(-1.0, b)),
    isf=lambda q, b: power(q, div(-1.0, b)),
)
gumbel_r = Univariate(
    "gumbel_r",
    log_density=lambda z: neg(add(z, exp(neg(z)))),
    cdf=lambda z: exp(neg(exp(neg(z)))),
    sf=lambda z: neg(expm1(neg(exp(neg(z))))),
    logcdf=lambda z: neg(exp(neg(z))),
    ppf=lambda q: neg(log(neg(log(q)))),
    isf=lambda q: neg(log(neg(log1p(neg(q))))),
)
gumbel_l = Univariate(
    "gumbel_l",
    log_density=lambda z: sub(z, exp(z)),
    cdf=lambda z: neg(expm1(neg(exp(z)))),
    sf=lambda z: exp(neg(exp(z))),
    logsf=lambda z: neg(exp(z)),
    ppf=lambda q: log(neg(log1p(neg(q)))),
    isf=lambda q: log(neg(log(q))),
)
halfnorm = Univariate(
    "halfnorm",
    log_density=lambda z: add(_normal(z), math.log(2.0)),
    support=POSITIVE,
    cdf=lambda z: erf(mul(z, math.sqrt(0.5))),
    sf=lambda z: mul(ndtr(neg(z)), 2.0),
    ppf=lambda q: ndtri(mul(add(q, 1.0), 0.5)),
    isf=lambda q: neg(ndtri(mul(q, 0.5))),
)
halfcauchy = Univariate(
    "halfcauchy",
    log_density=lambda z: sub(math.log(2 / math.pi), log1p(square(z))),
    support=POSITIVE,
    cdf=lambda z: mul(arctan(z), 2 / math.pi),
    ppf=lambda q: tan(mul(q, math.pi / 2)),
    isf=lambda q: div(1.0, tan(mul(q, math.pi / 2))),
)
rayleigh = Univariate(
    "rayleigh",
    log_density=lambda z: sub(log(z), mul(square(z), 0.5)),
    support=POSITIVE,
    cdf=lambda z: neg(expm1(mul(square(z), -0.5))),
    sf=lambda z: exp(mul(square(z), -0.5)),
    logsf=lambda z: mul(square(z), -0.5),
    ppf=lambda q: sqrt(mul(log1p(neg(q)), -2.0)),
    isf=lambda q: sqrt(mul(log(q), -2.0)),
)


def _ratio(z: Any, n: Any, m: Any) -> Any:
    half_n, half_m = mul(n, 0.5), mul(m, 0.5)
    front = add(mul(half_m, log(m)), mul(half_n, log(n)))
    kernel = sub(xlogy(sub(half_n, 1.0), z), mul(add(half_n, half_m), log(add(m, mul(n, z)))))
    return sub(add(front, kernel), betaln(half_n, half_m))


def _share(z: Any, n: Any, m: Any) -> Any:
    return div(mul(n, z), add(m, mul(n, z)))


def _of_share(share: Any, n: Any, m: Any) -> Any:
    return div(mul(m, share), mul(n, sub(1.0, share)))


f = Univariate(
    "f",
    "dfn dfd",
    log_density=_ratio,
    support=POSITIVE,
    cdf=lambda z, n, m: betainc(mul(n, 0.5), mul(m, 0.5), _share(z, n, m)),
    # Where z is large, 1 less the share has lost its digits.
    sf=lambda z, n, m: betainc(mul(m, 0.5), mul(n, 0.5), div(m, add(m, mul(n, z)))),
    ppf=lambda q, n, m: _of_share(betaincinv(mul(n, 0.5), mul(m, 0.5), q), n, m),
    isf=lambda q, n, m: div(1.0, _of_share(betaincinv(mul(m, 0.5), mul(n, 0.5), q), m, n)),
)


def _inverse_gauss(z: Any, mu: Any) -> Any:
    off = div(sub(z, mu), mu)
    return sub(mul(log(z), -1.5), add(HALF_LOG_2PI, div(square(off), mul(z, 2.0))))


def _inverse_gauss_parts(z: Any, mu: Any) -> tuple[Any, Any, Any]:
    """The probabilities of being below and above on the near side, and what the far one adds."""
    root = sqrt(div(1.0, z))
    near = mul(root, sub(div(z, mu), 1.0))
    far = add(div(2.0, mu), log_ndtr(neg(mul(root, add(div(z, mu), 1.0)))))
    return log_ndtr(near), log_ndtr(neg(near)), far


def _inverse_gauss_below(z: Any, mu: Any) -> Any:
    below, _, far = _inverse_gauss_parts(z, mu)
    return add(below, log1p(exp(sub(far, below))))


def _inverse_gauss_above(z: Any, mu: Any) -> Any:
    _, above, far = _inverse_gauss_parts(z, mu)
    return add(above, log1p(neg(exp(sub(far, above)))))


def _inverse_gaussian(name: str, shapes: str, fill: tuple[float, ...]) -> Univariate:
    def of(formula: Any) -> Any:
        return lambda z, *given: formula(z, *(given or fill))

    return Univariate(
        name,
        shapes,
        log_density=of(_inverse_gauss),
        support=(5e-324, INFINITY),
        cdf=lambda *given: exp(of(_inverse_gauss_below)(*given)),
        sf=lambda *given: exp(of(_inverse_gauss_above)(*given)),
        logcdf=of(_inverse_gauss_below),
        logsf=of(_inverse_gauss_above),
    )


invgauss = _inverse_gaussian("invgauss", "mu", ())
wald = _inverse_gaussian("wald", "", (1.0,))
vonmises = Univariate(
    "vonmises",
    "kappa",
    log_density=lambda z, kappa: sub(
        mul(kappa, sub(cos(z), 1.0)), add(log(i0e(kappa)), math.log(2 * math.pi))
    ),
    valid=lambda kappa: (greater_equal(kappa, 0),),
)
levy = Univariate(
    "levy",
    log_density=lambda z: sub(mul(log(z), -1.5), add(HALF_LOG_2PI, div(0.5, z))),
    support=(5e-324, INFINITY),
    sf=lambda z: erf(sqrt(div(0.5, z))),
    cdf=lambda z: mul(ndtr(neg(div(1.0, sqrt(z)))), 2.0),
    ppf=lambda q: div(1.0, square(ndtri(mul(q, 0.5)))),
    isf=lambda q: div(0.5, square(erfinv(q))),
)
powerlaw = Univariate(
    "powerlaw",
    "a",
    log_density=lambda z, a: add(log(a), xlogy(sub(a, 1.0), z)),
    support=UNIT,
    cdf=lambda z, a: power(z, a),
    logcdf=lambda z, a: mul(a, log(z)),
    ppf=lambda q, a: power(q, div(1.0, a)),
)


def _mass(a: Any, b: Any) -> Any:
    """log(ndtr(b) - ndtr(a)), taken on the side where it does not cancel."""
    flip = greater(a, 0)
    low, high = where(flip, neg(b), a), where(flip, neg(a), b)
    upper, lower = log_ndtr(high), log_ndtr(low)
    return add(upper, log1p(neg(exp(sub(lower, upper)))))


truncnorm = Univariate(
    "truncnorm",
    "a b",
    log_density=lambda z, a, b: sub(_normal(z), _mass(a, b)),
    support=(lambda a, b: a, lambda a, b: b),
    valid=lambda a, b: (less(a, b),),
    logcdf=lambda z, a, b: sub(_mass(a, z), _mass(a, b)),
    cdf=lambda z, a, b: exp(sub(_mass(a, z), _mass(a, b))),
)
skewnorm = Univariate(
    "skewnorm",
    "a",
    log_density=lambda z, a: add(add(_normal(z), log_ndtr(mul(a, z))), math.log(2.0)),
    support=FINITE,
    valid=lambda a: (),
)


DISTRIBUTIONS = (
    norm, uniform, expon, gamma, chi2, beta, t, cauchy, laplace, logistic, lognorm, invgamma,
    weibull_min, pareto, gumbel_r, gumbel_l, halfnorm, halfcauchy, rayleigh, f, invgauss, wald,
    vonmises, levy, powerlaw, truncnorm, skewnorm,
)  # fmt: skip
