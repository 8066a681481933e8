"""Functions of degrees, exponential integrals of integer orders, profiles of spectral lines, and
distribution functions of counts, with SciPy's names."""

from __future__ import annotations

import math
from typing import Any

from ...dtypes import inexact
from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..define import as_array
from ..elementwise.arithmetic import (
    complex_,
    div,
    equal,
    greater,
    greater_equal,
    imag,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.comparison import floor, maximum
from ..elementwise.derived import add, convert, mul, real
from ..elementwise.elementary import absolute, exp, expm1, log, sign, square
from ..elementwise.limits import times
from ..elementwise.logic import isnan, logical_and, logical_or
from ..elementwise.powers import power
from .bessel import of_integer
from .elliptic import ellipkm1
from .family import alike, scipys
from .incomplete import betainc, betaincc, gammainccinv
from .more_functions import odd_factorials, wofz
from .series import poch

DEGREE = math.pi / 180

# --- degrees --------------------------------------------------------------------------------------

sindg_op: Op = scipys(
    "sindg", ("x",), (lambda x: mul(cosdg(x), DEGREE),), "Sine of degrees.", parity=odd
)
cosdg_op: Op = scipys(
    "cosdg", ("x",), (lambda x: mul(sindg(x), -DEGREE),), "Cosine of degrees.", parity=even
)
tandg_op: Op = scipys(
    "tandg",
    ("x",),
    (lambda x, out: mul(add(square(out), 1.0), DEGREE),),
    "Tangent of degrees.",
    parity=odd,
)
cotdg_op: Op = scipys(
    "cotdg",
    ("x",),
    (lambda x, out: mul(add(square(out), 1.0), -DEGREE),),
    "Cotangent of degrees.",
)


def sindg(x: Any) -> Any:
    """The sine of an angle in degrees, exact at multiples of 90.

    >>> import tracegrad as tg
    >>> float(tg.special.sindg(180.0))
    -0.0
    """
    return bind(sindg_op, [x])


def cosdg(x: Any) -> Any:
    """The cosine of an angle in degrees, exact at multiples of 90.

    >>> import tracegrad as tg
    >>> round(float(tg.special.cosdg(60.0)), 12)
    0.5
    """
    return bind(cosdg_op, [x])


def tandg(x: Any) -> Any:
    """The tangent of an angle in degrees.

    >>> import tracegrad as tg
    >>> float(tg.special.tandg(45.0))
    1.0
    """
    return bind(tandg_op, [x])


def cotdg(x: Any) -> Any:
    """The cotangent of an angle in degrees.

    >>> import tracegrad as tg
    >>> float(tg.special.cotdg(45.0))
    1.0
    """
    return bind(cotdg_op, [x])


def radian(d: Any, m: Any, s: Any) -> Any:
    """An angle of degrees, minutes and seconds in radians.

    >>> import tracegrad as tg
    >>> round(float(tg.special.radian(180.0, 0.0, 0.0)), 6)
    3.141593
    """
    return mul(add(add(d, div(m, 60.0)), div(s, 3600.0)), DEGREE)


# --- exponentials ---------------------------------------------------------------------------------


def _expn_slope(n: Any, x: Any, out: Any) -> Any:
    """-E of order n - 1; for orders below 1 by the recurrence (DLMF 8.19.12)."""
    low = less(n, 2)
    below = div(sub(exp(neg(x)), mul(sub(n, 1.0), out)), x)
    return neg(where(low, below, expn(maximum(sub(n, 1.0), 1.0), x)))


expn_op: Op = scipys(
    "expn", ("n", "x"), (None, _expn_slope), "Exponential integral of order n.", of_integer("expn")
)
ndtri_exp_op: Op = scipys(
    "ndtri_exp",
    ("y",),
    (lambda y, out: mul(exp(add(y, mul(square(out), 0.5))), math.sqrt(2 * math.pi)),),
    "ndtri(exp(y)).",
)
wrightomega_op: Op = scipys(
    "wrightomega",
    ("z",),
    (lambda z, out: div(out, add(out, 1.0)),),
    "The w with w + log(w) = z.",
)


def expn(n: Any, x: Any) -> Any:
    """The exponential integral of the integer order n from 0 on (NaN beyond 1e6; what is behind the
    point is cut off), of x > 0 (from 0 on for n > 1): of `exp(-x * t) / t**n` from 1 to infinity.
    No derivative by n.

    >>> import tracegrad as tg
    >>> round(float(tg.special.expn(2, 1.0)), 6)
    0.148496
    """
    return bind(expn_op, [n, x])


def ndtri_exp(y: Any) -> Any:
    """`ndtri(exp(y))`, accurate for very small probabilities.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ndtri_exp(-1000.0)), 6)
    -44.615748
    """
    return bind(ndtri_exp_op, [y])


def wrightomega(z: Any) -> Any:
    """Wright's omega function of real numbers: the w with `w + log(w) = z`, which is Lambert's
    `W(exp(z))`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.wrightomega(0.0)), 6)
    0.567143
    """
    return bind(wrightomega_op, [z])


def powm1(x: Any, y: Any) -> Any:
    """`x**y - 1`, accurate near 0.

    >>> import tracegrad as tg
    >>> round(float(tg.special.powm1(1.0 + 1e-9, 2.0)) * 1e9, 6)
    2.0
    """
    x, y = alike(x, y)
    above = greater(x, 0)
    safe = where(above, x, 1.0)
    # The powers of 1 are 1, of infinity and NaN, too.
    number = where(logical_and(isnan(y), equal(x, 1)), 0.0, y)
    return where(above, expm1(times(number, log(safe))), sub(power(where(above, 1.0, x), y), 1.0))


def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """The density at x of the sum of a normal number of deviation sigma and a Cauchy number of
    half-width gamma; sigma or gamma may be 0.

    >>> import tracegrad as tg
    >>> round(float(tg.special.voigt_profile(0.0, 1.0, 1.0)), 6)
    0.208709
    """
    x, sigma, gamma = (
        v if v.dtype.kind == "f" else convert(v, inexact(v.dtype))
        for v in map(as_array, (x, sigma, gamma))
    )
    away = logical_or(equal(absolute(x), math.inf), equal(gamma, math.inf))
    x, gamma = where(away, 0.0, x), where(away, 1.0, gamma)
    # Far from the real axis by the series in sigma^2 (DLMF 7.12.1), of which nothing cancels.
    away_by = add(square(x), square(gamma))
    far = logical_and(
        less(mul(square(sigma), 600.0), away_by), less(mul(absolute(x), 1e-30), gamma)
    )
    beside = mul(add(add(x, gamma), sigma), 0.0)
    place = complex_(where(far, x, 0.0), add(where(far, gamma, 1.0), beside))
    ratio = div(square(where(far, sigma, 0.0)), square(place))
    tail = imag(div(add(mul(ratio, odd_factorials(ratio)), 1.0), place))
    x, gamma = where(far, 1.0, x), where(far, 1.0, gamma)
    sigma = where(far, 1.0, sigma)
    none = equal(sigma, 0)
    wide = where(none, 1.0, sigma)
    scale = mul(wide, math.sqrt(2.0))
    zero = mul(add(x, gamma), 0.0)
    profile = real(wofz(complex_(add(div(x, scale), zero), add(div(gamma, scale), zero))))
    lorentz = div(div(gamma, math.pi), add(square(x), square(gamma)))
    found = where(none, lorentz, div(profile, mul(wide, math.sqrt(2 * math.pi))))
    found = where(far, mul(tail, -1 / math.pi), found)
    return where(away, mul(sigma, 0.0), found)


# --- counts ---------------------------------------------------------------------------------------


def _of_count(n: Any, value: Any) -> Any:
    """The value for a count that is one; NaN for another, which SciPy would cut off."""
    return where(equal(n, floor(n)), value, math.nan)


def _of_chance(p: Any, value: Any) -> Any:
    """The value for a probability; NaN for what is none."""
    return where(logical_and(greater_equal(p, 0), less_equal(p, 1)), value, math.nan)


def bdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most floor(k) of n events of probability p; NaN where n is no integer.

    >>> import tracegrad as tg
    >>> round(float(tg.special.bdtr(1, 2, 0.5)), 6)
    0.75
    """
    k, n, p = alike(k, n, p)
    k = floor(k)
    all_, none = greater(add(k, 1.0), n), less(k, 0)
    a, b = where(none, 1.0, add(k, 1.0)), where(all_, 1.0, sub(n, k))
    value = where(none, math.nan, where(all_, math.nan, betaincc(a, b, p)))
    return _of_count(n, _of_chance(p, where(equal(k, n), 1.0, value)))


def bdtrc(k: Any, n: Any, p: Any) -> Any:
    """The probability of more than floor(k) of n events of probability p; NaN where n is no
    integer.

    >>> import tracegrad as tg
    >>> round(float(tg.special.bdtrc(1, 2, 0.5)), 6)
    0.25
    """
    k, n, p = alike(k, n, p)
    k = floor(k)
    all_, none = greater(add(k, 1.0), n), less(k, 0)
    a, b = where(none, 1.0, add(k, 1.0)), where(all_, 1.0, sub(n, k))
    value = where(none, 1.0, betainc(a, b, p))
    return _of_count(n, _of_chance(p, where(equal(k, n), 0.0, where(all_, math.nan, value))))


def nbdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most k failures before the n-th success of probability p; NaN
    where k or n is no integer.

    >>> import tracegrad as tg
    >>> float(tg.special.nbdtr(0, 1, 0.5))
    0.5
    """
    k, n, p = alike(k, n, p)
    return _of_count(n, _of_count(k, betainc(n, add(k, 1.0), p)))


def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    """The probability of more than k failures before the n-th success of probability p; NaN
    where k or n is no integer.

    >>> import tracegrad as tg
    >>> float(tg.special.nbdtrc(0, 1, 0.5))
    0.5
    """
    k, n, p = alike(k, n, p)
    return _of_count(n, _of_count(k, betaincc(n, add(k, 1.0), p)))


def chdtri(v: Any, p: Any) -> Any:
    """The x with `chdtrc(v, x) = p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.chdtri(2.0, 0.5)), 6)
    1.386294
    """
    v, p = alike(v, p)
    return mul(gammainccinv(mul(v, 0.5), p), 2.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """How many sequences of k of N there are, as real numbers; 0 where k > N or one is negative.
    ValueError for exact=True, which is of integers.

    >>> import tracegrad as tg
    >>> float(tg.special.perm(5.0, 2.0))
    20.0
    """
    if exact:
        raise ValueError("perm: exact=True counts with Python's integers; scipy.special.perm does")
    none = logical_or(logical_or(greater(k, N), less(N, 0)), less(k, 0))
    return where(none, 0.0, poch(where(none, 1.0, add(sub(N, k), 1.0)), where(none, 1.0, k)))


def agm(a: Any, b: Any) -> Any:
    """The arithmetic-geometric mean of real numbers of one sign.

    >>> import tracegrad as tg
    >>> round(float(tg.special.agm(1.0, 2.0)), 6)
    1.456791
    """
    a, b = alike(a, b)
    one = greater(mul(sign(a), sign(b)), 0)
    ends = logical_and(one, equal(absolute(add(mul(a, 0.5), mul(b, 0.5))), math.inf))
    x, y = where(ends, 1.0, a), where(ends, 1.0, b)
    half = add(mul(x, 0.5), mul(y, 0.5))
    ratio = mul(div(x, half), div(y, half))
    return where(ends, add(a, b), div(mul(half, math.pi / 2), ellipkm1(ratio)))


OPS = (sindg_op, cosdg_op, tandg_op, cotdg_op, expn_op, ndtri_exp_op, wrightomega_op)
__all__ = [
    "agm", "bdtr", "bdtrc", "chdtri", "cosdg", "cotdg", "expn", "nbdtr", "nbdtrc", "ndtri_exp",
    "perm", "powm1", "radian", "sindg", "tandg", "voigt_profile", "wrightomega",
]  # fmt: skip
