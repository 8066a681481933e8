"""Exponentials, logarithms, roots and powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .value import Body, Scalar


def _sigmoid(x: Any) -> Any:
    if isinstance(x, np.complexfloating):
        return 1 / (1 + np.exp(-x))
    a = x if isinstance(x, np.floating) else np.float64(x)
    e = np.exp(-np.abs(a))
    return (e if a < 0 else type(e)(1)) / (1 + e)


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, type(x)(0)) if isinstance(x, np.floating) else np.logaddexp(x, 0.0)


def _complex_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.complex128(x)))


def _complex_log(x: Any) -> Any:
    a, b = abs(np.float64(x.real)), abs(np.float64(x.imag))
    high, low = max(a, b), min(a, b)
    size = math.hypot(a, b)
    # Near the unit circle the logarithm of the size would lose all its digits.
    length = (
        0.5 * math.log1p((high - 1.0) * (high + 1.0) + low * low)
        if 0.5 < size < 2.0
        else np.log(size)
    )
    return complex(length, math.atan2(x.imag, x.real))


def _complex_log1p(x: Any) -> Any:
    a, b = np.float64(x.real), np.float64(x.imag)
    length = (
        0.5 * math.log1p(a * (2.0 + a) + b * b)
        if abs(a) < 0.5 and abs(b) < 0.5
        else np.log(math.hypot(1.0 + a, b))
    )
    return complex(length, math.atan2(b, 1.0 + a))


def complex_exp(x: Any) -> Any:
    """Where the exponential of the real part is infinite, 0 times that is NaN."""
    return complex(np.exp(x.real), x.imag) if x.imag == 0 else np.exp(x)


def _complex_exp2(x: Any) -> Any:
    return complex(np.exp2(x.real), x.imag) if x.imag == 0 else np.exp2(x)


def _complex_expm1(x: Any) -> Any:
    a, b = np.float64(x.real), np.float64(x.imag)
    half = math.sin(0.5 * b)
    return complex(math.expm1(a) * math.cos(b) - 2.0 * half * half, math.exp(a) * math.sin(b))


def complex_power(exp: Body, log: Body) -> Body:
    """A complex power by such an exponential and logarithm."""

    def power(x: Any, y: Any) -> Any:
        # Small integer powers by multiplication; 0 to a power with positive real part is 0.
        one = x * 0 + 1
        if y == 0:
            return one
        if x == 0:
            return one * 0 if y.real > 0 else one * math.nan
        n = np.int64(y.real) if abs(y.real) <= 100 else np.int64(0)
        if n == 0 or y.imag != 0 or n != y.real:
            return exp(y * log(x))
        k, base, result = abs(n), x, one
        while k > 0:
            if k & 1:
                result = result * base
            base = base * base
            k >>= 1
        return result if n > 0 else one / result

    return power


SCALARS = (
    Scalar("exp", np.exp, "vector", complex_exp, "math.exp", "cmath.exp", cost=10, ulp=(1.0, 1.0)),
    Scalar("expm1", np.expm1, "vector", _complex_expm1, "math.expm1", cost=10, ulp=(2.0, 1.7)),
    Scalar(
        "exp2",
        np.exp2,
        "vector",
        _complex_exp2,
        ("libdevice.exp2", "libdevice.exp2f"),
        "bodies.complex_exp2",
        cost=10,
        ulp=(1.2, 1.2),
    ),
    Scalar("log", np.log, "vector", _complex_log, "math.log", "cmath.log", cost=15, ulp=(0.9, 0.9)),
    Scalar("log1p", np.log1p, "vector", _complex_log1p, "math.log1p", cost=17, ulp=(1.0, 1.0)),
    Scalar("log2", np.log2, "vector", np.log2, "math.log2", cost=20, ulp=(0.9, 0.9)),
    Scalar("log10", np.log10, "vector", np.log10, "math.log10", cost=22, ulp=(0.8, 0.8)),
    # In units of the last place of the larger operand.
    Scalar("logaddexp", np.logaddexp, "vector", device="bodies.logaddexp", cost=55, ulp=(2.0, 2.0)),
    Scalar(
        "sigmoid",
        _sigmoid,
        "vector",
        _complex_sigmoid,
        "bodies.sigmoid",
        "bodies.complex_sigmoid",
        cost=12,
        ulp=(2.6, 2.6),
    ),
    Scalar("softplus", _softplus, "vector", device="bodies.softplus", cost=50, ulp=(1.9, 1.9)),
    Scalar("sqrt", np.sqrt, "vector", np.sqrt, "math.sqrt", "cmath.sqrt", cost=5, ulp=(0.5, 0.5)),
    Scalar(
        "cbrt",
        np.cbrt,
        "vector",
        device=("libdevice.cbrt", "libdevice.cbrtf"),
        cost=22,
        ulp=(0.6, 0.6),
    ),
    Scalar("pow", native="integral", device="math.pow", integers=False, cost=75, ulp=(1.3, 1.3)),
    Scalar("pow_below_16", native="powers", cost=24),
    Scalar("pow_below_128", native="powers", cost=24),
    Scalar("pow_below_1024", native="powers", cost=24),
)
