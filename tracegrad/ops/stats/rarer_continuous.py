"""Continuous distributions of one variable that are met more rarely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sign, sqrt, square
from ..elementwise.limits import largest, times
from ..elementwise.logic import logical_and, logical_or
from ..elementwise.powers import power
from ..elementwise.special import (
    erf,
    erfinv,
    lgamma,
    logaddexp,
    ndtr,
    ndtri,
    softplus,
    xlogy,
)
from ..elementwise.trigonometric import arctan2
from ..scipy_special.bessel import k1e
from ..scipy_special.degrees_and_counts import ndtri_exp
from ..scipy_special.incomplete import gammainc, gammaincc, log_ndtr
from .continuous import angle, cotangent
from .distribution import (
    ABOVE_ZERO,
    FINITE,
    INFINITY,
    OpenEnd,
    Univariate,
    log1p_square,
    log_of_rest,
    log_rest,
    near_zero,
    of_tails,
)
from .more_continuous import HALF_LOG_2PI, POSITIVE

LOG_PI = math.log(math.pi)


def _normal(z: Any) -> Any:
    return sub(mul(square(z), -0.5), HALF_LOG_2PI)


# --- of normal numbers ----------------------------------------------------------------------------


def _alpha_above(z: Any, a: Any) -> Any:
    far = greater(z, 1e4)
    gap = div(1.0, where(far, z, 1e4))
    # Taylor's series of ndtr(a) - ndtr(a - gap).
    rest = add(mul(div(a, 2.0), gap), mul(div(sub(square(a), 1.0), 6.0), square(gap)))
    tail = mul(mul(gap, exp(_normal(a))), add(rest, 1.0))
    near = sub(ndtr(a), ndtr(sub(a, div(1.0, where(far, 1e4, z)))))
    return div(where(far, tail, near), ndtr(a))


def _alpha_quantile(q: Any, a: Any) -> Any:
    gap = div(mul(q, ndtr(a)), exp(_normal(a)))
    far = less(gap, 1e-4)
    # The series above, inverted.
    third = sub(div(square(a), 2.0), div(sub(square(a), 1.0), 6.0))
    tail = mul(gap, add(sub(1.0, mul(div(a, 2.0), gap)), mul(third, square(gap))))
    near = sub(a, ndtri(mul(where(far, 0.5, sub(1.0, q)), ndtr(a))))
    return div(1.0, where(far, tail, near))


alpha = Univariate(
    "alpha",
    "a",
    log_density=lambda z, a: sub(_normal(sub(a, div(1.0, z))), add(mul(log(z), 2.0), log_ndtr(a))),
    support=ABOVE_ZERO,
    cdf=lambda z, a: div(ndtr(sub(a, div(1.0, z))), ndtr(a)),
    sf=_alpha_above,
    isf=_alpha_quantile,
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


def _folded_below(z: Any, c: Any) -> Any:
    near, even = less(z, 1e-3), square(c)
    at = where(near, z, 0.0)
    # Taylor's series, where both sides of the sum are the same but for the sign.
    more = add(mul(square(at), div(sub(even, 1.0), 6.0)), 1.0)
    first = mul(mul(at, exp(_normal(c))), mul(more, 2.0))
    z = where(near, 1.0, z)
    sides = add(erf(mul(sub(z, c), math.sqrt(0.5))), erf(mul(add(z, c), math.sqrt(0.5))))
    return where(near, first, mul(sides, 0.5))


foldnorm = Univariate(
    "foldnorm",
    "c",
    log_density=lambda z, c: sub(
        logaddexp(mul(square(sub(z, c)), -0.5), mul(square(add(z, c)), -0.5)), HALF_LOG_2PI
    ),
    support=POSITIVE,
    valid=lambda c: (greater_equal(c, 0),),
    cdf=_folded_below,
    sf=lambda z, c: add(ndtr(sub(c, z)), ndtr(neg(add(z, c)))),
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
    support=(-INFINITY, OpenEnd(0.0)),
    cdf=lambda z: erf(mul(sqrt(div(-1.0, z)), math.sqrt(0.5))),
    sf=lambda z: mul(ndtr(neg(sqrt(div(-1.0, z)))), 2.0),
    ppf=lambda q: div(-0.5, square(erfinv(q))),
    isf=lambda q: div(-1.0, square(ndtri(mul(q, 0.5)))),
)


def _power_normal(log_q: Any, c: Any) -> Any:
    """Where the upper tail, the power c of a normal number's, has that logarithm."""
    share = div(log_q, c)
    low = greater(share, -0.7)
    near = ndtri(neg(expm1(where(low, share, -1.0))))
    return where(low, near, neg(ndtri_exp(where(low, -1.0, share))))


powernorm = Univariate(
    "powernorm",
    "c",
    log_density=lambda z, c: add(add(log(c), _normal(z)), mul(sub(c, 1.0), log_ndtr(neg(z)))),
    support=FINITE,
    cdf=lambda z, c: neg(expm1(mul(c, log_ndtr(neg(z))))),
    sf=lambda z, c: exp(mul(c, log_ndtr(neg(z)))),
    logsf=lambda z, c: mul(c, log_ndtr(neg(z))),
    ppf=lambda q, c: _power_normal(log1p(neg(q)), c),
    isf=lambda q, c: _power_normal(log(q), c),
)
powerlognorm = Univariate(
    "powerlognorm",
    "c s",
    log_density=lambda z, c, s: sub(
        add(
            add(log(c), _normal(div(log(z), s))),
            mul(sub(c, 1.0), log_ndtr(neg(div(log(z), s)))),
        ),
        add(log(z), log(s)),
    ),
    support=ABOVE_ZERO,
    cdf=lambda z, c, s: neg(expm1(mul(c, log_ndtr(neg(div(log(z), s)))))),
    sf=lambda z, c, s: exp(mul(c, log_ndtr(neg(div(log(z), s))))),
    logsf=lambda z, c, s: mul(c, log_ndtr(neg(div(log(z), s)))),
    ppf=lambda q, c, s: exp(mul(s, _power_normal(log1p(neg(q)), c))),
    isf=lambda q, c, s: exp(mul(s, _power_normal(log(q), c))),
)
recipinvgauss = Univariate(
    "recipinvgauss",
    "mu",
    log_density=lambda z, mu: sub(
        neg(div(square(sub(div(1.0, mu), z)), mul(z, 2.0))),
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


def log_expm1(y: Any) -> Any:
    """log(exp(y) - 1) for y > 0, where the exponential has no value, too."""
    return add(y, log(neg(expm1(neg(y)))))


def _log_above(d: Any, exponent: Any) -> Any:
    """log(1 - (1 + exp(-exponent))^-d), where the exponential has no value, too."""
    large = greater(exponent, 37)
    inner = where(large, neg(exponent), log(softplus(neg(where(large, 0.0, exponent)))))
    return log_of_rest(add(log(d), inner))


burr = Univariate(
    "burr",
    "c d",
    log_density=lambda z, c, d: sub(
        log(mul(c, d)),
        add(mul(add(c, 1.0), log(z)), mul(add(d, 1.0), softplus(neg(mul(c, log(z)))))),
    ),
    support=ABOVE_ZERO,
    at_low=lambda c, d: near_zero(mul(c, d), log(mul(c, d))),
    logcdf=lambda z, c, d: neg(mul(d, softplus(neg(times(c, log(z)))))),
    sf=lambda z, c, d: neg(expm1(neg(mul(d, softplus(neg(times(c, log(z)))))))),
    logsf=lambda z, c, d: _log_above(d, times(c, log(z))),
    ppf=lambda q, c, d: exp(neg(div(log_expm1(neg(div(log(q), d))), c))),
    isf=lambda q, c, d: exp(neg(div(log_expm1(neg(div(log1p(neg(q)), d))), c))),
)
exponpow = Univariate(
    "exponpow",
    "b",
    log_density=lambda z, b: add(
        add(log(b), xlogy(sub(b, 1.0), z)), sub(power(z, b), expm1(power(z, b)))
    ),
    support=ABOVE_ZERO,
    at_low=lambda b: near_zero(b, log(b)),
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
    ppf=lambda q, c: neg(log_expm1(neg(div(log(q), c)))),
    isf=lambda q, c: neg(log_expm1(neg(div(log1p(neg(q)), c)))),
)


def _half_general(z: Any, beta: Any, above: bool) -> Any:
    """A side of halfgennorm's; by its slope at 0 where the power is none, as that and the
    incomplete gamma function have it only together."""
    beta = largest(beta)
    at = less(power(z, beta), np.finfo(z.dtype).tiny)
    near = mul(z, exp(sub(log(beta), lgamma(div(1.0, beta)))))
    far = power(where(at, 1.0, z), beta)
    if above:
        return where(at, sub(1.0, near), gammaincc(div(1.0, beta), far))
    return where(at, near, gammainc(div(1.0, beta), far))


halfgennorm = Univariate(
    "halfgennorm",
    "beta",
    log_density=lambda z, beta: sub(
        sub(log(largest(beta)), power(z, largest(beta))), lgamma(div(1.0, largest(beta)))
    ),
    support=POSITIVE,
    cdf=lambda z, beta: _half_general(z, beta, False),
    sf=lambda z, beta: _half_general(z, beta, True),
)


def _kappa_excess(z: Any, a: Any) -> Any:
    """log(1 + a / z^a)."""
    return softplus(sub(log(a), mul(a, log(z))))


def _kappa_above(z: Any, a: Any) -> Any:
    # At z = 0 the excess has no derivative.
    at = maximum(z, np.finfo(z.dtype).tiny)
    return where(equal(z, 0), 1.0, neg(expm1(neg(div(_kappa_excess(at, a), a)))))


def _kappa_below(z: Any, a: Any) -> Any:
    # By its slope at 0, which may be infinite.
    slope = neg(div(_log_kappa(z, a), a))
    steep = logical_and(greater(slope, 80), greater(z, 0))
    far = exp(neg(div(_kappa_excess(where(steep, z, 1.0), a), a)))
    return where(steep, far, mul(z, exp(minimum(slope, 80.0))))


def _log_kappa(z: Any, a: Any) -> Any:
    """log(a + z^a), where the power has no value, too."""
    large = greater(z, 1)
    far = where(large, z, 1.0)
    near = log(add(a, power(where(large, 1.0, z), a)))
    return where(large, add(mul(a, log(far)), _kappa_excess(far, a)), near)


def _kappa_density(z: Any, a: Any) -> Any:
    finite = less(a, INFINITY)
    a = where(finite, a, largest(a))
    value = sub(log(a), mul(add(div(1.0, a), 1.0), _log_kappa(z, a)))
    return where(logical_or(finite, less_equal(z, 1)), value, -INFINITY)


def _kappa_below_is(q: Any, a: Any) -> Any:
    return mul(q, exp(div(sub(log(a), log_rest(mul(a, log(q)))), a)))


def _kappa_above_is(q: Any, a: Any) -> Any:
    return exp(div(sub(log(a), log_expm1(neg(mul(a, log1p(neg(q)))))), a))


kappa3 = Univariate(
    "kappa3",
    "a",
    log_density=_kappa_density,
    support=POSITIVE,
    cdf=lambda z, a: _kappa_below(z, largest(a)),
    sf=lambda z, a: _kappa_above(z, largest(a)),
    logcdf=lambda z, a: neg(div(_kappa_excess(z, largest(a)), largest(a))),
    ppf=lambda q, a: _kappa_below_is(q, largest(a)),
    isf=lambda q, a: _kappa_above_is(q, largest(a)),
)
loglaplace = Univariate(
    "loglaplace",
    "c",
    log_density=lambda z, c: sub(log(mul(c, 0.5)), add(mul(c, absolute(log(z))), log(z))),
    support=ABOVE_ZERO,
    at_low=lambda c: near_zero(c, log(mul(c, 0.5))),
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


def _mielke_density(z: Any, k: Any, s: Any) -> Any:
    return sub(
        add(log(k), mul(sub(k, 1.0), log(z))),
        mul(add(div(k, s), 1.0), softplus(times(s, log(z)))),
    )


def _mielke_below(z: Any, k: Any, s: Any) -> Any:
    s = largest(s)
    return neg(mul(div(k, s), softplus(neg(mul(s, log(z))))))


def _mielke_log_above(z: Any, k: Any, s: Any) -> Any:
    low = less(z, 1)
    below = where(low, _mielke_below(where(low, z, 0.5), k, s), -1.0)
    return where(low, log_rest(below), _log_above(div(k, s), times(s, log(where(low, 2.0, z)))))


def _mielke_quantile(log_q: Any, k: Any, s: Any) -> Any:
    s = largest(s)
    return exp(neg(div(log_expm1(neg(mul(div(s, k), log_q))), s)))


mielke = Univariate(
    "mielke",
    "k s",
    log_density=_mielke_density,
    support=ABOVE_ZERO,
    at_low=lambda k, s: near_zero(k, log(k)),
    logcdf=_mielke_below,
    sf=lambda z, k, s: neg(expm1(_mielke_below(z, k, s))),
    logsf=_mielke_log_above,
    ppf=lambda q, k, s: _mielke_quantile(log(q), k, s),
    isf=lambda q, k, s: _mielke_quantile(log1p(neg(q)), k, s),
)


def _pearson(z: Any, skew: Any) -> Any:
    """The log density of a gamma number that is moved and turned to mean 0 and variance 1."""
    near = less(absolute(skew), 1.6e-5)
    rate = div(2.0, where(near, 1.0, skew))
    shape, t = square(rate), mul(rate, add(z, rate))
    there = logical_and(greater_equal(t, 0), less(t, INFINITY))
    safe = where(there, t, 1.0)
    value = sub(sub(add(log(absolute(rate)), xlogy(sub(shape, 1.0), safe)), safe), lgamma(shape))
    return where(near, _normal(z), where(there, value, -INFINITY))


pearson3 = Univariate(
    "pearson3",
    "skew",
    log_density=_pearson,
    support=FINITE,
    valid=lambda skew: (less(absolute(skew), INFINITY),),
)

# --- of Cauchy's kind -----------------------------------------------------------------------------


def _folded_cauchy(z: Any, c: Any) -> Any:
    """arctan(z - c) + arctan(z + c) as one angle, without the cancelling where z is small."""
    size = maximum(z, 1.0)
    share = div(z, size)
    rest = sub(div(add(square(c), 1.0), size), mul(z, share))
    return mul(arctan2(mul(share, 2.0), rest), 1 / math.pi)


foldcauchy = Univariate(
    "foldcauchy",
    "c",
    log_density=lambda z, c: sub(
        log(add(div(1.0, add(square(sub(z, c)), 1.0)), div(1.0, add(square(add(z, c)), 1.0)))),
        LOG_PI,
    ),
    support=POSITIVE,
    valid=lambda c: (greater_equal(c, 0),),
    cdf=_folded_cauchy,
    sf=lambda z, c: add(angle(sub(z, c)), angle(add(z, c))),
)


def _side(z: Any, a: Any) -> Any:
    return add(mul(a, sign(z)), 1.0)


def _skew_below(z: Any, a: Any) -> Any:
    left = less(z, 0)
    side = where(left, sub(1.0, a), add(a, 1.0))
    tail = mul(side, angle(div(where(left, neg(z), z), side)))
    return where(left, tail, sub(1.0, tail))


def _skew_quantile(q: Any, a: Any) -> Any:
    """For q up to 1/2, which is on either side of the peak."""
    share = div(q, sub(1.0, a))
    low = less(share, 0.5)
    below = mul(sub(a, 1.0), cotangent(where(low, share, 0.25)))
    above = div(sub(1.0, where(low, 0.5, q)), add(a, 1.0))
    return where(low, below, mul(add(a, 1.0), cotangent(where(low, 0.25, above))))


skewcauchy = Univariate(
    "skewcauchy",
    "a",
    log_density=lambda z, a: neg(add(log1p_square(div(z, _side(z, a))), LOG_PI)),
    support=FINITE,
    valid=lambda a: (less(absolute(a), 1),),
    cdf=_skew_below,
    sf=lambda z, a: _skew_below(neg(z), neg(a)),
    **of_tails(_skew_quantile, lambda q, a: neg(_skew_quantile(q, neg(a)))),
)

DISTRIBUTIONS = (
    alpha, fatiguelife, foldnorm, gibrat, levy_l, powernorm, powerlognorm, recipinvgauss,
    norminvgauss, burr, exponpow, genlogistic, halfgennorm, kappa3, loglaplace, mielke,
    pearson3, foldcauchy, skewcauchy,
)  # fmt: skip
