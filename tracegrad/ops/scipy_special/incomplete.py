"""Incomplete gamma and beta functions with their inverses, the tails of the normal distribution,
exponential integrals. Derivatives by the parameters a and b are integrals (`quantile_slopes`)."""

from __future__ import annotations

import math
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op
from ..elementwise.arithmetic import div, equal, greater, less, neg, sub, where
from ..elementwise.beta_functions import log_beta
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp, square
from ..elementwise.limits import largest
from ..elementwise.logic import logical_and, logical_or
from ..elementwise.powers import power
from ..elementwise.special import lgamma, xlog1py, xlogy
from .family import scipys
from .quantile_slopes import beta_slope, beta_slopes, gamma_slope

ROOT_PI = math.sqrt(math.pi)

# --- gamma and beta -------------------------------------------------------------------------------


def _gamma_density(a: Any, x: Any) -> Any:
    # At x = 0 its logarithm has no derivatives, and the power has those of each order.
    edge = equal(x, 0)
    powers = xlogy(sub(a, 1.0), where(edge, 1.0, x))
    found = exp(sub(sub(powers, x), lgamma(a)))
    return mul(power(where(edge, x, 1.0), sub(a, 1.0)), found)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    low, high = equal(x, 0), equal(x, 1)
    powers = xlogy(sub(a, 1.0), where(low, 1.0, x))
    powers = add(powers, xlog1py(sub(b, 1.0), neg(where(high, 0.0, x))))
    size = sub(powers, log_beta(a, b))
    # Where the divisor is no number, so many powers of x are 0.
    size = where(logical_and(logical_or(low, high), greater(size, 700.0)), 700.0, size)
    at = where(low, x, where(high, sub(1.0, x), 1.0))
    return mul(power(at, sub(where(high, b, a), 1.0)), exp(size))


def _by_shape(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) by a."""
    return where(
        greater(x, 0),
        neg(mul(_gamma_density(a, where(greater(x, 0), x, 1.0)), gamma_slope(a, x))),
        0.0,
    )


def _by_shapes(which: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of I_x(a, b) by a or b."""
    inside = logical_and(greater(x, 0), less(x, 1))
    density = _beta_density(a, b, where(inside, x, 0.5))
    return where(inside, neg(mul(density, beta_slopes(a, b, x)[which])), 0.0)


gammainc_op: Op = scipys("gammainc", ("a", "x"), (_by_shape, _gamma_density), "P(a, x).")
gammaincc_op: Op = scipys(
    "gammaincc",
    ("a", "x"),
    (lambda a, x: neg(_by_shape(a, x)), lambda a, x: neg(_gamma_density(a, x))),
    "1 - P(a, x).",
)
gammaincinv_op: Op = scipys(
    "gammaincinv",
    ("a", "p"),
    (lambda a, out: gamma_slope(a, out), lambda a, out: div(1.0, _gamma_density(a, out))),
    "The x with gammainc(a, x) = p.",
)
gammainccinv_op: Op = scipys(
    "gammainccinv",
    ("a", "p"),
    (lambda a, out: gamma_slope(a, out), lambda a, out: div(-1.0, _gamma_density(a, out))),
    "The x with gammaincc(a, x) = p.",
)
betainc_op: Op = scipys(
    "betainc",
    ("a", "b", "x"),
    (
        lambda a, b, x: _by_shapes(0, a, b, x),
        lambda a, b, x: _by_shapes(1, a, b, x),
        _beta_density,
    ),
    "I_x(a, b).",
)
betaincc_op: Op = scipys(
    "betaincc",
    ("a", "b", "x"),
    (
        lambda a, b, x: neg(_by_shapes(0, a, b, x)),
        lambda a, b, x: neg(_by_shapes(1, a, b, x)),
        lambda a, b, x: neg(_beta_density(a, b, x)),
    ),
    "1 - I_x(a, b).",
)
betaincinv_op: Op = scipys(
    "betaincinv",
    ("a", "b", "p"),
    (
        lambda a, b, out: beta_slopes(a, b, out)[0],
        lambda a, b, out: beta_slopes(a, b, out)[1],
        lambda a, b, out: div(1.0, _beta_density(a, b, out)),
    ),
    "The x with betainc(a, b, x) = p.",
)
betainccinv_op: Op = scipys(
    "betainccinv",
    ("a", "b", "p"),
    (
        lambda a, b, out: beta_slopes(a, b, out)[0],
        lambda a, b, out: beta_slopes(a, b, out)[1],
        lambda a, b, out: div(-1.0, _beta_density(a, b, out)),
    ),
    "The x with betaincc(a, b, x) = p.",
)


def gammainc(a: Any, x: Any) -> Any:
    """Lower incomplete gamma function, divided by gamma(a).

    >>> import tracegrad as tg
    >>> round(float(tg.special.gammainc(1.0, 1.0)), 6)
    0.632121
    """
    return bind(gammainc_op, [a, x])


def gammaincc(a: Any, x: Any) -> Any:
    """Upper incomplete gamma function, divided by gamma(a).

    >>> import tracegrad as tg
    >>> round(float(tg.special.gammaincc(1.0, 1.0)), 6)
    0.367879
    """
    return bind(gammaincc_op, [a, x])


def gammaincinv(a: Any, p: Any) -> Any:
    """The x with `gammainc(a, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gammaincinv(1.0, 0.5)), 6)
    0.693147
    """
    return bind(gammaincinv_op, [a, p])


def gammainccinv(a: Any, p: Any) -> Any:
    """The x with `gammaincc(a, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gammainccinv(1.0, 0.5)), 6)
    0.693147
    """
    return bind(gammainccinv_op, [a, p])


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Regularized incomplete beta function.

    >>> import tracegrad as tg
    >>> round(float(tg.special.betainc(1.0, 2.0, 0.5)), 6)
    0.75
    """
    return bind(betainc_op, [a, b, x])


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """`1 - betainc(a, b, x)`, accurate near x = 1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.betaincc(1.0, 2.0, 0.5)), 6)
    0.25
    """
    return bind(betaincc_op, [a, b, x])


def betainccinv(a: Any, b: Any, p: Any) -> Any:
    """The x with `betaincc(a, b, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.betainccinv(1.0, 1.0, 0.25)), 6)
    0.75
    """
    return bind(betainccinv_op, [a, b, p])


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """The x with `betainc(a, b, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.betaincinv(1.0, 1.0, 0.25)), 6)
    0.25
    """
    return bind(betaincinv_op, [a, b, p])


# --- the normal distribution ----------------------------------------------------------------------


def _erfcx_slope(x: Any, out: Any) -> Any:
    """2 x erfcx(x) - 2 / sqrt(pi), which cancels for large x: there by its series in 1 / x^2."""
    far = greater(x, 26.0)
    t = div(0.5, mul(*(where(far, x, 30.0),) * 2))
    series: Any = 1.0
    for k in (13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        series = sub(1.0, mul(mul(series, t), k))
    return where(
        far, mul(mul(series, t), -2.0 / ROOT_PI), sub(mul(mul(out, x), 2.0), 2.0 / ROOT_PI)
    )


erfcx_op: Op = scipys("erfcx", ("x",), (_erfcx_slope,), "exp(x^2) erfc(x).")


def _log_ndtr_slope(x: Any) -> Any:
    """The density over the distribution function: by erfcx, which overflows for large x; there the
    distribution function is 1."""
    far = greater(x, 30.0)
    density = exp(mul(square(where(far, x, 30.0)), -0.5))
    near = div(1.0, erfcx(mul(where(far, 0.0, x), -math.sqrt(0.5))))
    return mul(where(far, mul(density, 0.5), near), math.sqrt(2 / math.pi))


log_ndtr_op: Op = scipys("log_ndtr", ("x",), (_log_ndtr_slope,), "log(ndtr(x)).")
erfcinv_op: Op = scipys(
    "erfcinv", ("y",), (lambda out: mul(exp(mul(out, out)), -ROOT_PI / 2),), "Inverse of erfc."
)


def erfcx(x: Any) -> Any:
    """`exp(x**2) * erfc(x)`, which does not vanish for large x.

    >>> import tracegrad as tg
    >>> float(tg.special.erfcx(0.0))
    1.0
    """
    return bind(erfcx_op, [x])


def log_ndtr(x: Any) -> Any:
    """Logarithm of the distribution function of the standard normal distribution, accurate far into
    the lower tail, as are its derivatives.

    >>> import tracegrad as tg
    >>> round(float(tg.special.log_ndtr(-100.0)), 3)
    -5005.524
    """
    return bind(log_ndtr_op, [x])


def erfcinv(y: Any) -> Any:
    """Inverse of `erfc` on [0, 2].

    >>> import tracegrad as tg
    >>> round(float(tg.special.erfcinv(0.5)), 6)
    0.476936
    """
    return bind(erfcinv_op, [y])


# --- Student's t ----------------------------------------------------------------------------------


def _student_density(df: Any, t: Any) -> Any:
    df = largest(df)
    half = mul(add(df, 1.0), 0.5)
    kernel = xlog1py(neg(half), div(mul(t, t), df))
    return div(exp(sub(kernel, log_beta(mul(df, 0.5), 0.5))), df**0.5)


def _student_slope(df: Any, t: Any) -> Any:
    """The derivative of the quantile t by df. t * t / (df + t * t) is the quantile z of
    beta(1/2, df/2) whose probability is that of what lies between -t and t. Near the normal
    distribution, where all digits of it cancel, by the series in 1 / df."""
    square = mul(t, t)
    normal = logical_and(greater(df, 3e4), less(mul(square, 1e4), df))
    full = largest(df)
    series = div(mul(square, mul(sub(1.0, square), 1 / 12)), full)
    series = div(add(mul(add(square, 1.0), 0.25), series), full)
    df = where(normal, 3e4, df)
    inside = greater(square, 0)
    whole = add(where(inside, square, 1.0), df)
    z, y = div(where(inside, square, 1.0), whole), div(df, whole)
    by_df = mul(neg(beta_slope(mul(df, 0.5), 0.5, y, z)), 0.5)
    # t = sqrt(df * z / y), and dz / y**2 is what z / y changes by.
    slope = add(div(z, y), mul(df, div(by_df, mul(y, y))))
    slope = where(inside, div(mul(slope, 0.5), where(inside, t, 1.0)), 0.0)
    return where(normal, neg(mul(t, div(series, full))), slope)


stdtr_op: Op = scipys(
    "stdtr",
    ("df", "t"),
    (
        lambda df, t: neg(mul(_student_density(df, t), _student_slope(df, t))),
        _student_density,
    ),
    "Student's t distribution.",
)
stdtrit_op: Op = scipys(
    "stdtrit",
    ("df", "p"),
    (
        lambda df, out: _student_slope(df, out),
        lambda df, out: div(1.0, _student_density(df, out)),
    ),
    "Quantiles of Student's t distribution.",
)


def stdtr(df: Any, t: Any) -> Any:
    """Distribution function of Student's t distribution.

    >>> import tracegrad as tg
    >>> float(tg.special.stdtr(3.0, 0.0))
    0.5
    """
    return bind(stdtr_op, [df, t])


def stdtrit(df: Any, p: Any) -> Any:
    """Quantiles of Student's t distribution.

    >>> import tracegrad as tg
    >>> round(float(tg.special.stdtrit(1.0, 0.75)), 6)
    1.0
    """
    return bind(stdtrit_op, [df, p])


# --- exponential integrals ------------------------------------------------------------------------

expi_op: Op = scipys("expi", ("x",), (lambda x: div(exp(x), x),), "Exponential integral Ei.")
exp1_op: Op = scipys("exp1", ("x",), (lambda x: neg(div(exp(neg(x)), x)),), "E1.")


def expi(x: Any) -> Any:
    """Exponential integral Ei.

    >>> import tracegrad as tg
    >>> round(float(tg.special.expi(1.0)), 6)
    1.895118
    """
    return bind(expi_op, [x])


def exp1(x: Any) -> Any:
    """Exponential integral E1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.exp1(1.0)), 6)
    0.219384
    """
    return bind(exp1_op, [x])


OPS = (
    gammainc_op, gammaincc_op, gammaincinv_op, gammainccinv_op, betainc_op, betaincc_op,
    betainccinv_op, betaincinv_op, erfcx_op, log_ndtr_op, erfcinv_op, stdtr_op, stdtrit_op,
    expi_op, exp1_op,
)  # fmt: skip
__all__ = [
    "betainc", "betaincc", "betainccinv", "betaincinv", "erfcinv", "erfcx", "exp1", "expi",
    "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "log_ndtr", "stdtr", "stdtrit",
]  # fmt: skip
