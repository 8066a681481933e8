"""Hyperbolic functions, their inverses, and the logistic function, from exp and log without
branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translation.symbolic import copysign, fabs, fma, select, sqrt
from .exponentials import FUNCTIONS as EXPONENTIALS
from .exponentials import STEPS
from .formats import FORMATS, Format, Function, Table


def build(f: Format) -> dict[str, Function]:
    real, integer = f.real, f.integer
    zero, one, half, two, quarter = real(0), real(1), real(0.5), real(2), real(0.25)
    infinity, nan, ln2, two_bits = real(np.inf), real(np.nan), real(np.log(2)), integer(2)
    steps, own = STEPS[f.name], EXPONENTIALS[f.name]
    reduce, growth, power_of_two = steps.reduce, steps.growth, steps.power_of_two
    exp, expm1, log1p = own["exp"], own["expm1"], own["log1p"]
    highest = real(np.arccosh(np.longdouble(np.finfo(real).max)))
    tiny, large = real(2.0 ** -(f.mantissa // 2 + 2)), real(2.0 ** (f.mantissa + 8))

    def tanh(x: Any) -> Any:
        e = expm1(-two * fabs(x))
        return copysign(-e / (two + e), x)

    def sigmoid(x: Any) -> Any:
        e = exp(-fabs(x))
        return select(x < zero, e, one) / (one + e)

    def softplus(x: Any) -> Any:
        return select(x > zero, x, select(x <= zero, zero, x)) + log1p(exp(-fabs(x)))

    def logaddexp(x: Any, y: Any) -> Any:
        # Equal arguments first: the difference of two infinities is no number.
        high = select(x == x, select(x > y, x, y), x)
        return select(x == y, x + ln2, high + log1p(exp(-fabs(x - y))))

    def sinh(x: Any) -> Any:
        a = fabs(x)
        n, r = reduce(a)
        # A quarter of 2**n, since 2**n overflows before the result does; h is half of exp(a) - 1.
        q = power_of_two(n - two_bits)
        h = fma(growth(r), q, q - quarter) * two
        y = h + h / fma(two, h, one)
        y = select(a > highest, infinity, select(a < tiny, a, y))
        return copysign(y, x)

    def cosh(x: Any) -> Any:
        a = fabs(x)
        n, r = reduce(a)
        q = power_of_two(n - two_bits)
        e = fma(growth(r), q, q) * two
        return select(a > highest, infinity, e + quarter / e)

    def asinh(x: Any) -> Any:
        a = fabs(x)
        s = a * a
        big = a > large
        # For large a this is log(2a), and 1 + a no different from a.
        u = select(big, a, a + s / (one + sqrt(one + s)))
        return copysign(log1p(u) + select(big, ln2, zero), x)

    def acosh(x: Any) -> Any:
        t = x - one
        big = x > large
        u = select(big, x, t + sqrt(t * (t + two)))
        return select(x < one, nan, log1p(u) + select(big, ln2, zero))

    def atanh(x: Any) -> Any:
        a = fabs(x)
        return copysign(half * log1p((a + a) / (one - a)), x)

    return {"tanh": tanh, "sigmoid": sigmoid, "softplus": softplus, "logaddexp": logaddexp,
            "sinh": sinh, "cosh": cosh, "asinh": asinh, "acosh": acosh, "atanh": atanh}  # fmt: skip


FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
