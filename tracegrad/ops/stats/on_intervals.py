"""Continuous distributions of one variable on an interval: of angles, of straight lines, and
cut off at both ends."""

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
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, sqrt, square
from ..elementwise.limits import times
from ..elementwise.powers import power
from ..elementwise.special import xlog1py, xlogy
from ..elementwise.trigonometric import arcsin, cos, sin
from ..scipy_special.incomplete import betainc
from .distribution import Univariate, above_of
from .more_continuous import UNIT

# --- of circles and angles ------------------------------------------------------------------------

anglit = Univariate(
    "anglit",
    log_density=lambda z: log(absolute(cos(mul(z, 2.0)))),
    support=(-math.pi / 4, math.pi / 4),
    cdf=lambda z: square(sin(add(z, math.pi / 4))),
    sf=lambda z: square(cos(add(z, math.pi / 4))),
    ppf=lambda q: sub(arcsin(sqrt(q)), math.pi / 4),
)


def _hill(z: Any) -> Any:
    """(u - sin u) / (2 pi) of u = z + pi, where all its digits would cancel, too."""
    u = add(add(z, math.pi), 1.2246467991473532e-16)
    near = less(u, 0.5)
    s = square(where(near, u, 0.0))
    series: Any = 1.0
    for k in (110, 72, 42, 20):
        series = sub(1.0, mul(mul(s, 1 / k), series))
    first = mul(mul(s, where(near, u, 0.0)), mul(series, 1 / 6))
    return mul(where(near, first, add(u, sin(z))), 1 / (2 * math.pi))


cosine = Univariate(
    "cosine",
    log_density=lambda z: sub(log1p(cos(z)), math.log(2 * math.pi)),
    support=(-math.pi, math.pi),
    cdf=_hill,
    sf=lambda z: _hill(neg(z)),
)
semicircular = Univariate(
    "semicircular",
    log_density=lambda z: add(mul(log(mul(sub(1.0, z), add(z, 1.0))), 0.5), math.log(2 / math.pi)),
    support=(-1.0, 1.0),
    cdf=lambda z: betainc(1.5, 1.5, mul(add(z, 1.0), 0.5)),
    sf=lambda z: betainc(1.5, 1.5, mul(sub(1.0, z), 0.5)),
)
rdist = Univariate(
    "rdist",
    "c",
    log_density=lambda z, c: sub(
        xlog1py(sub(mul(c, 0.5), 1.0), neg(square(z))), log_beta(0.5, mul(c, 0.5))
    ),
    support=(-1.0, 1.0),
    cdf=lambda z, c: betainc(mul(c, 0.5), mul(c, 0.5), mul(add(z, 1.0), 0.5)),
    sf=lambda z, c: betainc(mul(c, 0.5), mul(c, 0.5), mul(sub(1.0, z), 0.5)),
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


def _slope_below(z: Any, c: Any) -> Any:
    left, top = less(z, c), less(c, 1)
    # 1 - (1 - z)^2 / (1 - c), whose digits are those of z where c is 0.
    falling = div(sub(mul(z, sub(2.0, z)), c), sub(1.0, where(top, c, 0.0)))
    return where(left, mul(z, _peak(z, c)), where(top, falling, 1.0))


triang = Univariate(
    "triang",
    "c",
    log_density=lambda z, c: add(log(_peak(z, c)), math.log(2)),
    support=UNIT,
    valid=lambda c: (greater_equal(c, 0), less_equal(c, 1)),
    cdf=_slope_below,
    sf=lambda z, c: _slope_below(sub(1.0, z), sub(1.0, c)),
)


def _trapezoid(z: Any, c: Any, d: Any) -> Any:
    height = add(sub(d, c), 1.0)
    rising, falling = less(z, c), greater(z, d)
    up = log(div(where(rising, z, 1.0), where(rising, c, 1.0)))
    down = log(div(where(falling, sub(1.0, z), 1.0), where(falling, sub(1.0, d), 1.0)))
    return sub(add(math.log(2), where(rising, up, where(falling, down, 0.0))), log(height))


def _ramp_below(z: Any, c: Any, d: Any) -> Any:
    rising, falling, flat = less(z, c), greater(z, d), add(sub(d, c), 1.0)
    up = div(square(z), mul(where(rising, c, 1.0), flat))
    rest = div(square(sub(1.0, z)), mul(where(falling, sub(1.0, d), 1.0), flat))
    middle = div(sub(mul(z, 2.0), c), flat)
    return where(rising, up, where(falling, sub(1.0, rest), middle))


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
    cdf=_ramp_below,
    sf=lambda z, c, d: _ramp_below(sub(1.0, z), sub(1.0, d), sub(1.0, c)),
)

# --- cut off at both ends -------------------------------------------------------------------------

truncpareto = Univariate(
    "truncpareto",
    "b c",
    log_density=lambda z, b, c: sub(
        log(div(b, neg(expm1(neg(times(log(c), b)))))), mul(add(b, 1.0), log(z))
    ),
    support=(1.0, lambda b, c: c),
    valid=lambda b, c: (greater(absolute(b), 0), greater(c, 1)),
    cdf=lambda z, b, c: div(expm1(neg(mul(b, log(z)))), expm1(neg(times(log(c), b)))),
    sf=lambda z, b, c: div(
        mul(exp(neg(mul(b, log(z)))), expm1(neg(times(sub(log(c), log(z)), b)))),
        expm1(neg(times(log(c), b))),
    ),
    ppf=lambda q, b, c: exp(neg(div(log1p(mul(q, expm1(neg(times(log(c), b))))), b))),
)


def _gap(a: Any, b: Any, c: Any) -> Any:
    """a^c - b^c for 0 <= a <= b, where neither has a value, too."""
    none = equal(b, 0)
    a, b = where(none, 1.0, a), where(none, 1.0, b)
    return mul(power(b, c), expm1(mul(c, sub(log(a), log(b)))))


truncweibull_min = Univariate(
    "truncweibull_min",
    "c a b",
    log_density=lambda z, c, a, b: sub(
        add(log(c), xlogy(sub(c, 1.0), z)),
        sub(log(neg(expm1(_gap(a, b, c)))), _gap(a, z, c)),
    ),
    support=(lambda c, a, b: a, lambda c, a, b: b),
    valid=lambda c, a, b: (greater_equal(a, 0), greater(b, a), greater(c, 0)),
    cdf=lambda z, c, a, b: div(expm1(_gap(a, z, c)), expm1(_gap(a, b, c))),
    sf=lambda z, c, a, b: div(mul(exp(_gap(a, z, c)), expm1(_gap(z, b, c))), expm1(_gap(a, b, c))),
)


def _span(a: Any, b: Any) -> Any:
    return sub(log(b), log(a))


def _log_uniform(name: str) -> Univariate:
    return Univariate(
        name,
        "a b",
        log_density=lambda z, a, b: neg(add(log(z), log(_span(a, b)))),
        support=(lambda a, b: a, lambda a, b: b),
        valid=lambda a, b: (greater(a, 0), greater(b, a)),
        cdf=lambda z, a, b: div(sub(log(z), log(a)), _span(a, b)),
        sf=lambda z, a, b: above_of(sub(log(z), log(a)), sub(log(b), log(z)), _span(a, b)),
        ppf=lambda q, a, b: exp(add(log(a), mul(q, _span(a, b)))),
        isf=lambda q, a, b: exp(add(mul(log(b), sub(1.0, q)), mul(log(a), q))),
    )


loguniform, reciprocal = _log_uniform("loguniform"), _log_uniform("reciprocal")

DISTRIBUTIONS = (
    anglit, cosine, semicircular, rdist, wrapcauchy, bradford, triang, trapezoid, truncpareto,
    truncweibull_min, loguniform, reciprocal,
)  # fmt: skip
