"""Functions of numbers in terms of what Python's `math` has: for devices, whose libraries have no
others, and for libraries in C, which have no SciPy."""

from __future__ import annotations

import cmath
import math
from typing import Any

from . import elementary

BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B(2k) / (2k), k = 1, 2, ...: the terms of digamma's asymptotic series."""


def greatest(total: Any, value: Any) -> Any:
    """The larger of two numbers; NaN if either is."""
    return total if total >= value or total != total else value


def least(total: Any, value: Any) -> Any:
    """The smaller of two numbers; NaN if either is."""
    return total if total <= value or total != total else value


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    e = math.exp(-math.fabs(x))
    return (e if x < 0 else 1) / (1 + e)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return x if x != x else (x if x > 0 else 0.0) + math.log1p(math.exp(-math.fabs(x)))


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), without overflow; equal infinities stay."""
    if x == y:
        return x + math.log(2.0)
    high = x if x > y or x != x else y
    return high + math.log1p(math.exp(-math.fabs(x - y)))


def remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of `y`, as NumPy's."""
    m = math.fmod(x, y)
    if y == 0:
        return m
    if m == 0:
        return math.copysign(0.0, y)
    return m + y if (y < 0) != (m < 0) else m


def quotient(x: Any, y: Any) -> Any:
    """The quotient rounded down, as NumPy's: exact where the division itself would be rounded
    up."""
    if y == 0:
        return x / y
    m = math.fmod(x, y)
    d = (x - m) / y
    if m != 0 and (y < 0) != (m < 0):
        d = d - 1
    if d == 0:
        return math.copysign(0.0, x / y)
    f = math.floor(d)
    return f + 1.0 if d - f > 0.5 else f + 0.0


def lgamma(x: Any) -> Any:
    """log |gamma(x)|; SciPy's convention is that it falls to -inf."""
    return x if x == -math.inf else math.lgamma(x)


def digamma(x: Any) -> Any:
    """The derivative of log gamma: reflection, recurrence to x >= 10, then the asymptotic series
    (Abramowitz and Stegun 6.3.5-18)."""
    total = 0.0
    if x <= 0:
        # Of a number that is not negative this is exact.
        part = -x % 1.0 if x > -math.inf else 0.0
        if part == 0:
            return math.copysign(math.inf, -x) if x == 0 else math.nan
        total = math.pi / math.tan(math.pi * (part - 1.0 if part > 0.5 else part))
        x = 1.0 - x
    while x < 10.0:
        total -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = 0.0
    for k in range(6, -1, -1):
        series = (series + BERNOULLI[k]) * square
    return total + math.log(x) - 0.5 / x - series


def trigamma(x: Any) -> Any:
    """The derivative of digamma, by the same means (6.4.6-12)."""
    turned, total = 0.0, 0.0
    if x <= 0:
        part = math.fmod(x, 1.0) if x > -math.inf else 0.0
        if part == 0:
            return math.inf
        root = math.pi / math.sin(math.pi * (part + 1.0 if part < -0.5 else part))
        turned = root * root
        x = 1.0 - x
    while x < 10.0:
        total += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = 0.0
    for k in range(6, -1, -1):
        series = (series + BERNOULLI[k] * (2 * k + 2)) * square
    total += inverse + 0.5 * square + series * inverse
    return turned - total if turned > 0 else total


def complex_exp2(x: Any) -> Any:
    """2 to a complex power."""
    return cmath.exp(x * math.log(2.0))


def complex_sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + cmath.exp(-x))


complex_power = elementary.complex_power(cmath.exp, cmath.log)


def neither(x: Any, y: Any) -> Any:
    """Whether no part of a complex number is infinite or NaN."""
    return math.isfinite(x) and math.isfinite(y)


def infinite(x: Any, y: Any) -> Any:
    """Whether a part of a complex number is infinite."""
    return math.isinf(x) or math.isinf(y)


def no_number(x: Any, y: Any) -> Any:
    """Whether a part of a complex number is NaN."""
    return math.isnan(x) or math.isnan(y)
