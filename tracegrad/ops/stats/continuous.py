"""Continuous distributions of one variable."""

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
from ..elementwise.comparison import minimum
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sqrt, square
from ..elementwise.limits import largest, times
from ..elementwise.logic import logical_and, logical_or
from ..elementwise.powers import power
from ..elementwise.special import (
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
from ..elementwise.trigonometric import arctan2, cos, tan
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
from .distribution import (
    ABOVE_ZERO,
    FINITE,
    INFINITY,
    Univariate,
    log1p_square,
    log_of_rest,
    log_rest,
    of_tails,
    size_of,
)

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
POSITIVE = (0.0, INFINITY)
UNIT = (0.0, 1.0)


def _normal(z: Any) -> Any:
    return sub(mul(square(z), -0.5), HALF_LOG_2PI)


def _positive(parameter: Any) -> Any:
    return greater(parameter, 0)


def _finite(parameter: Any) -> Any:
    return less(absolute(parameter), INFINITY)


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
        add(xlogy(sub(a, 1.0), z), xlog1py(sub(b, 1.0), neg(z))), log_beta(a, b)
    ),
    support=UNIT,
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betaincc(a, b, z),
    ppf=lambda q, a, b: betaincinv(a, b, q),
    isf=of_tails(
        lambda q, a, b: betaincinv(a, b, q), lambda q, a, b: sub(1.0, betaincinv(b, a, q))
    )["isf"],
)


def _student(z: Any, df: Any) -> Any:
    df = largest(df)
    half = mul(add(df, 1.0), 0.5)
    scale = add(log_beta(mul(df, 0.5), 0.5), mul(log(df), 0.5))
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


def angle(z: Any) -> Any:
    """The probability of being above z of a Cauchy number: small where z is large."""
    return mul(arctan2(1.0, z), 1 / math.pi)


def cotangent(q: Any) -> Any:
    """cot(pi q) for q up to 1/2, where it is 0."""
    low = less(q, 0.25)
    return where(
        low,
        div(1.0, tan(mul(where(low, q, 0.25), math.pi))),
        tan(mul(sub(0.5, where(low, 0.25, q)), math.pi)),
    )


cauchy = Univariate(
    "cauchy",
    log_density=lambda z: sub(neg(log1p_square(z)), math.log(math.pi)),
    support=FINITE,
    cdf=lambda z: angle(neg(z)),
    sf=angle,
    **of_tails(_reflected(cotangent), cotangent),
)


def _laplace_below(z: Any) -> Any:
    # No absolute value, whose slope at 0 is neither side's.
    above = greater(z, 0)
    tail = mul(exp(where(above, neg(z), z)), 0.5)
    return where(above, sub(1.0, tail), tail)


laplace = Univariate(
    "laplace",
    log_density=lambda z: sub(neg(absolute(z)), math.log(2.0)),
    cdf=_laplace_below,
    sf=lambda z: _laplace_below(neg(z)),
    **of_tails(lambda q: log(mul(q, 2.0)), lambda q: neg(log(mul(q, 2.0)))),
)
logistic = Univariate(
    "logistic",
    log_density=lambda z: sub(neg(size_of(z)), mul(softplus(neg(size_of(z))), 2.0)),
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
    log_density=lambda z, s: sub(_normal(div(log(z), s)), add(log(z), log(s))),
    support=ABOVE_ZERO,
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
    support=ABOVE_ZERO,
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
    logsf=lambda z, c: neg(power(z, c)),
    ppf=lambda q, c: power(neg(log1p(neg(q))), div(1.0, c)),
    isf=lambda q, c: power(neg(log(q)), div(1.0, c)),
)
pareto = Univariate(
    "pareto",
    "b",
    log_density=lambda z, b: sub(log(b), mul(add(b, 1.0), log(z))),
    support=(1.0, INFINITY),
    cdf=lambda z, b: neg(expm1(neg(mul(b, log(z))))),
    sf=lambda z, b: power(z, neg(b)),
    logsf=lambda z, b: neg(mul(b, log(z))),
    ppf=lambda q, b: power(sub(1.0, q), div(-1.0, b)),
    isf=lambda q, b: power(q, div(-1.0, b)),
)
gumbel_r = Univariate(
    "gumbel_r",
    log_density=lambda z: neg(add(z, exp(neg(z)))),
    support=FINITE,
    cdf=lambda z: exp(neg(exp(neg(z)))),
    sf=lambda z: neg(expm1(neg(exp(neg(z))))),
    logcdf=lambda z: neg(exp(neg(z))),
    logsf=lambda z: log_of_rest(neg(z)),
    ppf=lambda q: neg(log(neg(log(q)))),
    isf=lambda q: neg(log(neg(log1p(neg(q))))),
)
gumbel_l = Univariate(
    "gumbel_l",
    log_density=lambda z: sub(z, exp(z)),
    support=FINITE,
    cdf=lambda z: neg(expm1(neg(exp(z)))),
    sf=lambda z: exp(neg(exp(z))),
    logcdf=log_of_rest,
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
    ppf=lambda q: mul(erfinv(q), math.sqrt(2.0)),
    isf=lambda q: neg(ndtri(mul(q, 0.5))),
)
halfcauchy = Univariate(
    "halfcauchy",
    log_density=lambda z: sub(math.log(2 / math.pi), log1p_square(z)),
    support=POSITIVE,
    cdf=lambda z: mul(arctan2(z, 1.0), 2 / math.pi),
    sf=lambda z: mul(angle(z), 2.0),
    **of_tails(lambda q: tan(mul(q, math.pi / 2)), lambda q: cotangent(mul(q, 0.5))),
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
    """In powers of w / (1 + w) and 1 + w, of w = n z / m: of large n and m no term is larger than
    the sum."""
    half_n, half_m = mul(n, 0.5), mul(m, 0.5)
    one = div(m, n)
    far = less(one, z)
    above, below = where(far, z, 1.0), where(far, 1.0, z)
    share = where(
        far,
        sub(neg(mul(half_n, log1p(div(one, above)))), log(above)),
        sub(xlogy(sub(half_n, 1.0), below), mul(half_n, log(add(below, one)))),
    )
    return sub(sub(share, mul(half_m, log1p(div(z, one)))), log_beta(half_n, half_m))


def parts_below(z: Any, a: Any, b: Any, one: Any = 1.0) -> Any:
    """The probability that a share u / (u + v) of gamma numbers of shapes a and b is below
    z / (z + one), of the share or its rest, whichever is the smaller."""
    near = less_equal(z, one)
    total = add(z, one)
    below = betainc(a, b, where(near, div(z, total), 0.5))
    return where(near, below, betaincc(b, a, where(near, 0.5, div(one, total))))


def of_parts(q: Any, a: Any, b: Any) -> Any:
    """The ratio u / v of such numbers with the probability q, at most 1/2, of being below."""
    share, rest = betaincinv(a, b, q), betaincinv(b, a, sub(1.0, q))
    # What 1 - q has lost of a small q would be more than what 1 - share loses.
    low = logical_or(less_equal(share, 0.5), less(q, 1e-3))
    return where(
        low,
        div(where(low, share, 0.5), sub(1.0, where(low, share, 0.5))),
        div(sub(1.0, where(low, 0.5, rest)), where(low, 0.5, rest)),
    )


f = Univariate(
    "f",
    "dfn dfd",
    log_density=_ratio,
    support=POSITIVE,
    valid=lambda n, m: [p(k) for k in (n, m) for p in (_positive, _finite)],
    cdf=lambda z, n, m: parts_below(z, mul(n, 0.5), mul(m, 0.5), div(m, n)),
    sf=lambda z, n, m: parts_below(div(m, n), mul(m, 0.5), mul(n, 0.5), z),
    **of_tails(
        lambda q, n, m: mul(of_parts(q, mul(n, 0.5), mul(m, 0.5)), div(m, n)),
        lambda q, n, m: div(div(m, n), of_parts(q, mul(m, 0.5), mul(n, 0.5))),
    ),
)


def _inverse_gauss(z: Any, mu: Any) -> Any:
    mu = largest(mu)
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
    ratio = div(z, mu)
    # Far away both are large and nearly the same: as their asymptotic series.
    large = greater(mul(sqrt(div(1.0, z)), sub(ratio, 1.0)), 300)
    apart = log1p(div(-2.0, add(where(large, ratio, 2.0), 1.0)))
    return add(above, log_rest(where(large, apart, minimum(sub(far, above), -1e-30))))


def _inverse_gaussian(name: str, shapes: str, fill: tuple[float, ...]) -> Univariate:
    def of(formula: Any) -> Any:
        return lambda z, *given: formula(z, *(given or map(z.dtype.type, fill)))

    return Univariate(
        name,
        shapes,
        log_density=of(_inverse_gauss),
        support=ABOVE_ZERO,
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
    support=ABOVE_ZERO,
    sf=lambda z: erf(sqrt(div(0.5, z))),
    cdf=lambda z: mul(ndtr(neg(div(1.0, sqrt(z)))), 2.0),
    ppf=lambda q: div(1.0, square(ndtri(mul(q, 0.5)))),
    isf=lambda q: div(0.5, square(erfinv(q))),
)


def _power_law(z: Any, a: Any) -> Any:
    # Where it has no bound, the end is none of its support.
    end = logical_and(equal(z, 0), less(a, 1))
    return where(end, -INFINITY, add(log(a), xlogy(sub(a, 1.0), where(end, 1.0, z))))


powerlaw = Univariate(
    "powerlaw",
    "a",
    log_density=_power_law,
    support=UNIT,
    cdf=lambda z, a: power(z, a),
    sf=lambda z, a: where(
        less(z, 0.5), sub(1.0, power(z, a)), neg(expm1(mul(a, log(where(less(z, 0.5), 0.5, z)))))
    ),
    logcdf=lambda z, a: mul(a, log(z)),
    ppf=lambda q, a: power(q, div(1.0, a)),
    isf=lambda q, a: exp(div(log1p(neg(q)), a)),
)


def _mass(a: Any, b: Any) -> Any:
    """log(ndtr(b) - ndtr(a)), taken on the side where it does not cancel."""
    flip = greater(a, 0)
    low, high = where(flip, neg(b), a), where(flip, neg(a), b)
    upper, lower = log_ndtr(high), log_ndtr(low)
    return add(upper, log_rest(sub(lower, upper)))


def _share_of_mass(side: Any, other: Any, both: Any) -> Any:
    small = less(side, sub(both, 0.7))
    return where(small, sub(side, both), log_rest(where(small, -1.0, sub(other, both))))


truncnorm = Univariate(
    "truncnorm",
    "a b",
    log_density=lambda z, a, b: sub(_normal(z), _mass(a, b)),
    support=(lambda a, b: a, lambda a, b: b),
    valid=lambda a, b: (less(a, b),),
    logcdf=lambda z, a, b: _share_of_mass(_mass(a, z), _mass(z, b), _mass(a, b)),
    logsf=lambda z, a, b: _share_of_mass(_mass(z, b), _mass(a, z), _mass(a, b)),
)
skewnorm = Univariate(
    "skewnorm",
    "a",
    log_density=lambda z, a: add(add(_normal(z), log_ndtr(times(a, z))), math.log(2.0)),
    support=FINITE,
    valid=lambda a: (equal(a, a),),
)


DISTRIBUTIONS = (
    norm, uniform, expon, gamma, chi2, beta, t, cauchy, laplace, logistic, lognorm, invgamma,
    weibull_min, pareto, gumbel_r, gumbel_l, halfnorm, halfcauchy, rayleigh, f, invgauss, wald,
    vonmises, levy, powerlaw, truncnorm, skewnorm,
)  # fmt: skip
