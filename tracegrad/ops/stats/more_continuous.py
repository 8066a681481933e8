"""Further continuous distributions of one variable."""

from __future__ import annotations

import math
from typing import Any

from ..elementwise.arithmetic import div, equal, greater, greater_equal, less, neg, sub, where
from ..elementwise.beta_functions import log_beta
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sqrt, square
from ..elementwise.limits import largest, times
from ..elementwise.logic import logical_and
from ..elementwise.powers import power
from ..elementwise.special import (
    erf,
    erfc,
    erfinv,
    lgamma,
    log_sigmoid,
    logit,
    ndtr,
    ndtri,
    sigmoid,
    softplus,
    xlogy,
)
from ..elementwise.trigonometric import arcsin, arcsinh, arctan, arctanh, sin, sinh, tan, tanh
from ..scipy_special.bessel import i0e
from ..scipy_special.compositions import expm1_over, log1p_over
from ..scipy_special.incomplete import (
    erfcinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    log_ndtr,
)
from .continuous import of_parts, parts_below
from .distribution import (
    ABOVE_ZERO,
    FINITE,
    INFINITY,
    OpenEnd,
    Univariate,
    log_of_rest,
    near_zero,
    of_tails,
    size_of,
    small_or_rest,
)

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
LOG_2 = math.log(2.0)
POSITIVE = (0.0, INFINITY)
UNIT = (0.0, 1.0)


def _normal(z: Any) -> Any:
    return sub(mul(square(z), -0.5), HALF_LOG_2PI)


def _half_square(z: Any) -> Any:
    return mul(square(z), 0.5)


# --- of gamma functions ---------------------------------------------------------------------------

maxwell = Univariate(
    "maxwell",
    log_density=lambda z: add(sub(xlogy(2.0, z), _half_square(z)), 0.5 * math.log(2 / math.pi)),
    support=POSITIVE,
    cdf=lambda z: gammainc(1.5, _half_square(z)),
    sf=lambda z: gammaincc(1.5, _half_square(z)),
    ppf=lambda q: sqrt(mul(gammaincinv(1.5, q), 2.0)),
    isf=lambda q: sqrt(mul(gammainccinv(1.5, q), 2.0)),
)
chi = Univariate(
    "chi",
    "df",
    log_density=lambda z, df: sub(
        sub(xlogy(sub(df, 1.0), z), _half_square(z)),
        add(lgamma(mul(df, 0.5)), mul(sub(mul(df, 0.5), 1.0), LOG_2)),
    ),
    support=POSITIVE,
    cdf=lambda z, df: gammainc(mul(df, 0.5), _half_square(z)),
    sf=lambda z, df: gammaincc(mul(df, 0.5), _half_square(z)),
    ppf=lambda q, df: sqrt(mul(gammaincinv(mul(df, 0.5), q), 2.0)),
    isf=lambda q, df: sqrt(mul(gammainccinv(mul(df, 0.5), q), 2.0)),
)
nakagami = Univariate(
    "nakagami",
    "nu",
    log_density=lambda z, nu: sub(
        add(xlogy(nu, nu), xlogy(sub(mul(nu, 2.0), 1.0), z)),
        add(sub(lgamma(nu), LOG_2), mul(nu, square(z))),
    ),
    support=POSITIVE,
    cdf=lambda z, nu: gammainc(nu, mul(nu, square(z))),
    sf=lambda z, nu: gammaincc(nu, mul(nu, square(z))),
    ppf=lambda q, nu: sqrt(div(gammaincinv(nu, q), nu)),
    isf=lambda q, nu: sqrt(div(gammainccinv(nu, q), nu)),
)
erlang = Univariate(
    "erlang",
    "a",
    log_density=lambda z, a: sub(sub(xlogy(sub(a, 1.0), z), z), lgamma(a)),
    support=POSITIVE,
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    ppf=lambda q, a: gammaincinv(a, q),
    isf=lambda q, a: gammainccinv(a, q),
)


def _gengamma_at_zero(a: Any, c: Any) -> Any:
    rising = greater(c, 0)
    rate = where(rising, c, 1.0)
    return where(rising, near_zero(mul(rate, a), sub(log(rate), lgamma(a))), -INFINITY)


gengamma = Univariate(
    "gengamma",
    "a c",
    log_density=lambda z, a, c: sub(
        add(log(absolute(c)), mul(sub(mul(c, a), 1.0), log(z))), add(power(z, c), lgamma(a))
    ),
    support=ABOVE_ZERO,
    at_low=_gengamma_at_zero,
    valid=lambda a, c: (greater(a, 0), greater(absolute(c), 0)),
    cdf=lambda z, a, c: where(greater(c, 0), gammainc(a, power(z, c)), gammaincc(a, power(z, c))),
    sf=lambda z, a, c: where(greater(c, 0), gammaincc(a, power(z, c)), gammainc(a, power(z, c))),
)


def _far_below(log_q: Any, c: Any) -> Any:
    """Where the lower tail, exp(c z) / gamma(c + 1), has that logarithm."""
    return div(add(log_q, lgamma(add(c, 1.0))), c)


def _log_gamma_below(z: Any, c: Any) -> Any:
    far = less(z, -40)
    tail = sub(mul(c, where(far, z, -40.0)), lgamma(add(c, 1.0)))
    below, above = [g(c, exp(where(far, 0.0, z))) for g in (gammainc, gammaincc)]
    return where(far, tail, small_or_rest(below, above))


def _log_gamma_quantile(q: Any, c: Any) -> Any:
    far = less(_far_below(log(q), c), -40)
    near = log(gammaincinv(c, where(far, 0.5, q)))
    return where(far, _far_below(log(q), c), near)


loggamma = Univariate(
    "loggamma",
    "c",
    log_density=lambda z, c: sub(sub(mul(c, z), exp(z)), lgamma(c)),
    support=FINITE,
    logcdf=_log_gamma_below,
    cdf=lambda z, c: gammainc(c, exp(z)),
    sf=lambda z, c: gammaincc(c, exp(z)),
    ppf=_log_gamma_quantile,
    isf=lambda q, c: log(gammainccinv(c, q)),
)
dgamma = Univariate(
    "dgamma",
    "a",
    log_density=lambda z, a: sub(
        sub(xlogy(sub(a, 1.0), absolute(z)), absolute(z)), add(lgamma(a), LOG_2)
    ),
    support=FINITE,
)
gennorm = Univariate(
    "gennorm",
    "beta",
    log_density=lambda z, beta: sub(
        sub(log(mul(largest(beta), 0.5)), lgamma(div(1.0, largest(beta)))),
        power(size_of(z), largest(beta)),
    ),
)
betaprime = Univariate(
    "betaprime",
    "a b",
    log_density=lambda z, a, b: sub(
        xlogy(sub(a, 1.0), z), add(mul(add(a, b), log1p(z)), log_beta(a, b))
    ),
    support=ABOVE_ZERO,
    cdf=parts_below,
    sf=lambda z, a, b: parts_below(1.0, b, a, z),
    **of_tails(of_parts, lambda q, a, b: div(1.0, of_parts(q, b, a))),
)

# --- extremes -------------------------------------------------------------------------------------


def _bound(c: Any, sign: float) -> Any:
    """1 / c where c has the sign, else infinity on that side."""
    has = greater(mul(c, sign), 0)
    return where(has, div(1.0, where(has, c, sign)), sign * INFINITY)


def _reduced(z: Any, c: Any) -> Any:
    return log1p_over(neg(c), z)


def _genextreme(z: Any, c: Any) -> Any:
    # At an end of the support g is infinite, and there is no density where it had no bound.
    end = logical_and(equal(mul(c, z), 1), greater(c, 1))
    g = where(end, 0.0, maximum(_reduced(where(end, 0.0, z), c), -1e3))
    value = sub(where(equal(c, 1), 0.0, mul(sub(c, 1.0), g)), exp(neg(g)))
    return where(end, -INFINITY, value)


genextreme = Univariate(
    "genextreme",
    "c",
    log_density=_genextreme,
    support=(lambda c: _bound(c, -1.0), lambda c: _bound(c, 1.0)),
    inside=0.0,
    valid=lambda c: (less(absolute(c), INFINITY),),
    cdf=lambda z, c: exp(neg(exp(neg(_reduced(z, c))))),
    logcdf=lambda z, c: neg(exp(neg(_reduced(z, c)))),
    sf=lambda z, c: neg(expm1(neg(exp(neg(_reduced(z, c)))))),
    ppf=lambda q, c: expm1_over(neg(c), neg(log(neg(log(q))))),
    isf=lambda q, c: expm1_over(neg(c), neg(log(neg(log1p(neg(q)))))),
)
genpareto = Univariate(
    "genpareto",
    "c",
    log_density=lambda z, c: where(equal(c, -1), 0.0, neg(mul(add(c, 1.0), log1p_over(c, z)))),
    support=(lambda c: mul(c, 0.0), lambda c: neg(_bound(c, -1.0))),
    inside=0.0,
    valid=lambda c: (less(absolute(c), INFINITY),),
    cdf=lambda z, c: neg(expm1(neg(log1p_over(c, z)))),
    sf=lambda z, c: exp(neg(log1p_over(c, z))),
    logsf=lambda z, c: neg(log1p_over(c, z)),
    ppf=lambda q, c: expm1_over(c, neg(log1p(neg(q)))),
    isf=lambda q, c: expm1_over(c, neg(log(q))),
)
weibull_max = Univariate(
    "weibull_max",
    "c",
    log_density=lambda z, c: sub(add(log(c), xlogy(sub(c, 1.0), neg(z))), power(neg(z), c)),
    support=(-INFINITY, 0.0),
    cdf=lambda z, c: exp(neg(power(neg(z), c))),
    logcdf=lambda z, c: neg(power(neg(z), c)),
    sf=lambda z, c: neg(expm1(neg(power(neg(z), c)))),
    ppf=lambda q, c: neg(power(neg(log(q)), div(1.0, c))),
    isf=lambda q, c: neg(power(neg(log1p(neg(q))), div(1.0, c))),
)
invweibull = Univariate(
    "invweibull",
    "c",
    log_density=lambda z, c: sub(sub(log(c), mul(add(c, 1.0), log(z))), power(z, neg(c))),
    support=ABOVE_ZERO,
    cdf=lambda z, c: exp(neg(power(z, neg(c)))),
    logcdf=lambda z, c: neg(power(z, neg(c))),
    sf=lambda z, c: neg(expm1(neg(power(z, neg(c))))),
    logsf=lambda z, c: log_of_rest(neg(times(c, log(z)))),
    ppf=lambda q, c: power(neg(log(q)), div(-1.0, c)),
    isf=lambda q, c: power(neg(log1p(neg(q))), div(-1.0, c)),
)
exponweib = Univariate(
    "exponweib",
    "a c",
    log_density=lambda z, a, c: sub(
        add(
            add(log(a), log(c)),
            add(xlogy(sub(a, 1.0), neg(expm1(neg(power(z, c))))), mul(sub(c, 1.0), log(z))),
        ),
        power(z, c),
    ),
    support=ABOVE_ZERO,
    at_low=lambda a, c: near_zero(mul(a, c), add(log(a), log(c))),
    cdf=lambda z, a, c: power(neg(expm1(neg(power(z, c)))), a),
    sf=lambda z, a, c: neg(expm1(mul(a, log1p(neg(exp(neg(power(z, c)))))))),
    ppf=lambda q, a, c: power(neg(log1p(neg(power(q, div(1.0, a))))), div(1.0, c)),
    isf=lambda q, a, c: power(neg(log(neg(expm1(div(log1p(neg(q)), a))))), div(1.0, c)),
)
dweibull = Univariate(
    "dweibull",
    "c",
    log_density=lambda z, c: sub(
        add(log(mul(c, 0.5)), xlogy(sub(c, 1.0), absolute(z))), power(absolute(z), c)
    ),
    support=FINITE,
)
gompertz = Univariate(
    "gompertz",
    "c",
    log_density=lambda z, c: sub(add(log(c), z), mul(c, expm1(z))),
    support=POSITIVE,
    cdf=lambda z, c: neg(expm1(neg(mul(c, expm1(z))))),
    sf=lambda z, c: exp(neg(mul(c, expm1(z)))),
    logsf=lambda z, c: neg(mul(c, expm1(z))),
    ppf=lambda q, c: log1p(div(neg(log1p(neg(q))), c)),
    isf=lambda q, c: log1p(div(neg(log(q)), c)),
)

# --- powers and logarithms ------------------------------------------------------------------------


lomax = Univariate(
    "lomax",
    "c",
    log_density=lambda z, c: sub(log(c), mul(add(c, 1.0), log1p(z))),
    support=POSITIVE,
    cdf=lambda z, c: neg(expm1(neg(mul(c, log1p(z))))),
    sf=lambda z, c: exp(neg(mul(c, log1p(z)))),
    logsf=lambda z, c: neg(mul(c, log1p(z))),
    ppf=lambda q, c: expm1(div(neg(log1p(neg(q))), c)),
    isf=lambda q, c: expm1(div(neg(log(q)), c)),
)
fisk = Univariate(
    "fisk",
    "c",
    log_density=lambda z, c: sub(
        add(log(c), mul(sub(c, 1.0), log(z))), mul(softplus(mul(c, log(z))), 2.0)
    ),
    support=ABOVE_ZERO,
    at_low=lambda c: near_zero(c, log(c)),
    cdf=lambda z, c: sigmoid(times(c, log(z))),
    sf=lambda z, c: sigmoid(neg(times(c, log(z)))),
    logcdf=lambda z, c: log_sigmoid(times(c, log(z))),
    logsf=lambda z, c: log_sigmoid(neg(times(c, log(z)))),
    ppf=lambda q, c: exp(div(logit(q), c)),
    isf=lambda q, c: exp(neg(div(logit(q), c))),
)


def _burr(z: Any, c: Any, d: Any) -> Any:
    return mul(d, softplus(times(c, log(z))))


def _burr_below(z: Any, c: Any, d: Any) -> Any:
    # log(log(1 + z^c)) is that of the power where this has no value.
    power_of = times(c, log(z))
    small = less(power_of, -37)
    inner = where(small, power_of, log(softplus(where(small, 0.0, power_of))))
    return log_of_rest(add(log(d), inner))


burr12 = Univariate(
    "burr12",
    "c d",
    log_density=lambda z, c, d: sub(
        add(add(log(c), log(d)), mul(sub(c, 1.0), log(z))), _burr(z, c, add(d, 1.0))
    ),
    support=ABOVE_ZERO,
    at_low=lambda c, d: near_zero(c, add(log(c), log(d))),
    cdf=lambda z, c, d: neg(expm1(neg(_burr(z, c, d)))),
    sf=lambda z, c, d: exp(neg(_burr(z, c, d))),
    logcdf=_burr_below,
    logsf=lambda z, c, d: neg(_burr(z, c, d)),
    ppf=lambda q, c, d: power(expm1(div(neg(log1p(neg(q))), d)), div(1.0, c)),
    isf=lambda q, c, d: power(expm1(div(neg(log(q)), d)), div(1.0, c)),
)

# --- of normal and exponential numbers ------------------------------------------------------------


def _unbounded(z: Any, a: Any, b: Any) -> Any:
    return add(a, mul(b, arcsinh(z)))


def _bounded(z: Any, a: Any, b: Any) -> Any:
    return add(a, mul(b, logit(z)))


def _scale_alone(a: Any, b: Any) -> tuple[Any, ...]:
    return (greater(b, 0), equal(a, a))


johnsonsu = Univariate(
    "johnsonsu",
    "a b",
    log_density=lambda z, a, b: add(
        sub(log(b), mul(log1p(square(z)), 0.5)), _normal(_unbounded(z, a, b))
    ),
    valid=_scale_alone,
    cdf=lambda z, a, b: ndtr(_unbounded(z, a, b)),
    sf=lambda z, a, b: ndtr(neg(_unbounded(z, a, b))),
    logcdf=lambda z, a, b: log_ndtr(_unbounded(z, a, b)),
    logsf=lambda z, a, b: log_ndtr(neg(_unbounded(z, a, b))),
    ppf=lambda q, a, b: sinh(div(sub(ndtri(q), a), b)),
    isf=lambda q, a, b: neg(sinh(div(add(ndtri(q), a), b))),
)
johnsonsb = Univariate(
    "johnsonsb",
    "a b",
    log_density=lambda z, a, b: add(
        sub(log(b), add(log(z), log1p(neg(z)))), _normal(_bounded(z, a, b))
    ),
    support=(OpenEnd(0.0), OpenEnd(1.0)),
    valid=_scale_alone,
    cdf=lambda z, a, b: ndtr(_bounded(z, a, b)),
    sf=lambda z, a, b: ndtr(neg(_bounded(z, a, b))),
    logcdf=lambda z, a, b: log_ndtr(_bounded(z, a, b)),
    logsf=lambda z, a, b: log_ndtr(neg(_bounded(z, a, b))),
    ppf=lambda q, a, b: sigmoid(div(sub(ndtri(q), a), b)),
    isf=lambda q, a, b: sigmoid(neg(div(add(ndtri(q), a), b))),
)


def _tail(z: Any, k: Any) -> Any:
    """The logarithm of what the exponential number adds to the tail of the normal one."""
    rate = div(1.0, k)
    return add(sub(mul(square(rate), 0.5), mul(z, rate)), log_ndtr(sub(z, rate)))


exponnorm = Univariate(
    "exponnorm",
    "K",
    log_density=lambda z, k: sub(_tail(z, k), log(k)),
    support=FINITE,
    cdf=lambda z, k: sub(ndtr(z), exp(_tail(z, k))),
    sf=lambda z, k: add(ndtr(neg(z)), exp(_tail(z, k))),
)
moyal = Univariate(
    "moyal",
    log_density=lambda z: sub(mul(add(z, exp(neg(z))), -0.5), HALF_LOG_2PI),
    support=FINITE,
    cdf=lambda z: erfc(mul(exp(mul(z, -0.5)), math.sqrt(0.5))),
    sf=lambda z: erf(mul(exp(mul(z, -0.5)), math.sqrt(0.5))),
    ppf=lambda q: neg(log(mul(square(erfcinv(q)), 2.0))),
    isf=lambda q: neg(log(mul(square(erfinv(q)), 2.0))),
)
rice = Univariate(
    "rice",
    "b",
    log_density=lambda z, b: add(sub(log(z), mul(square(sub(z, b)), 0.5)), log(i0e(mul(z, b)))),
    support=ABOVE_ZERO,
    valid=lambda b: (greater(b, -5e-324),),
)
truncexpon = Univariate(
    "truncexpon",
    "b",
    log_density=lambda z, b: neg(add(z, log(neg(expm1(neg(b)))))),
    support=(0.0, lambda b: b),
    inside=0.0,
    cdf=lambda z, b: div(expm1(neg(z)), expm1(neg(b))),
    sf=lambda z, b: div(mul(exp(neg(z)), expm1(sub(z, b))), expm1(neg(b))),
    ppf=lambda q, b: neg(log1p(mul(q, expm1(neg(b))))),
)
laplace_asymmetric = Univariate(
    "laplace_asymmetric",
    "kappa",
    log_density=lambda z, kappa: sub(
        where(greater(z, 0), neg(mul(z, kappa)), div(minimum(z, 0.0), kappa)),
        log(add(kappa, div(1.0, kappa))),
    ),
)
halflogistic = Univariate(
    "halflogistic",
    log_density=lambda z: sub(sub(LOG_2, z), mul(softplus(neg(z)), 2.0)),
    support=POSITIVE,
    cdf=lambda z: tanh(mul(z, 0.5)),
    sf=lambda z: mul(sigmoid(neg(z)), 2.0),
    ppf=lambda q: mul(arctanh(q), 2.0),
    isf=lambda q: sub(log1p(sub(1.0, q)), log(q)),
)


def _hyperbolic(z: Any) -> Any:
    """The probability of being above z, without the exponential of a large number."""
    small = mul(arctan(exp(neg(size_of(z)))), 2 / math.pi)
    return where(greater_equal(z, 0), small, sub(1.0, small))


hypsecant = Univariate(
    "hypsecant",
    log_density=lambda z: neg(
        add(size_of(z), add(log1p(exp(mul(size_of(z), -2.0))), math.log(math.pi / 2)))
    ),
    cdf=lambda z: _hyperbolic(neg(z)),
    sf=lambda z: _hyperbolic(z),
    ppf=lambda q: log(tan(mul(q, math.pi / 2))),
    isf=lambda q: neg(log(tan(mul(q, math.pi / 2)))),
)
arcsine = Univariate(
    "arcsine",
    log_density=lambda z: sub(mul(add(log(z), log1p(neg(z))), -0.5), math.log(math.pi)),
    support=UNIT,
    cdf=lambda z: mul(arcsin(sqrt(z)), 2 / math.pi),
    ppf=lambda q: square(sin(mul(q, math.pi / 2))),
)

DISTRIBUTIONS = (
    maxwell, chi, nakagami, erlang, gengamma, loggamma, dgamma, gennorm, betaprime, genextreme,
    genpareto, weibull_max, invweibull, exponweib, dweibull, gompertz,
    lomax, fisk, burr12, johnsonsu, johnsonsb, exponnorm, moyal, rice, truncexpon,
    laplace_asymmetric, halflogistic, hypsecant, arcsine,
)  # fmt: skip
