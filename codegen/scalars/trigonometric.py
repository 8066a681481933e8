"""Trigonometric and hyperbolic functions, their inverses, and lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .value import Body, Scalar


def _entire(
    name: str, python: Body, cost: int, ulp: tuple[float, float], of_complex: Body | None = None
) -> Scalar:
    """A function that NumPy, Numba and the device's libraries have for real and for complex
    numbers; Numba's form `of_complex` where its own loses special values."""
    return Scalar(
        name,
        python,
        "vector",
        of_complex or python,
        f"math.{name}",
        f"cmath.{name}",
        cost=cost,
        ulp=ulp,
    )


def _complex_sin(x: Any) -> Any:
    return complex(x.real, np.sinh(x.imag)) if x.real == 0 else np.sin(x)


def _complex_cos(x: Any) -> Any:
    a, b = x.real, x.imag
    # The sign of a product, which would be NaN where one is infinite.
    return complex(np.cosh(b), -a * math.copysign(1.0, b)) if a == 0 else np.cos(x)


def _complex_sinh(x: Any) -> Any:
    return complex(np.sinh(x.real), x.imag) if x.imag == 0 else np.sinh(x)


def _complex_cosh(x: Any) -> Any:
    a, b = x.real, x.imag
    return complex(np.cosh(a), math.copysign(1.0, a) * b) if b == 0 else np.cosh(x)


def _complex_tanh(x: Any) -> Any:
    """By the tangent, which does not overflow."""
    turned = np.tan(complex(-x.imag, x.real))
    return complex(turned.imag, -turned.real)


def _complex_acosh(x: Any) -> Any:
    """By the arc cosine, which keeps small real parts."""
    turned = np.arccos(x)
    return complex(abs(turned.imag), math.copysign(turned.real, x.imag))


def _sinc_derivative(x: Any, n: Any) -> Any:
    t = np.pi * x
    if abs(t) < n + 3:
        # The power series, where the recurrence would cancel.
        first = (n + 1) // 2
        term = (t if n % 2 else 1.0) * (-1.0 if first % 2 else 1.0) / (2 * first + 1)
        total = term
        for m in range(first, first + 2 * n + 20):
            term = (
                term * (-(t * t) * (2 * m + 1)) / ((2 * m + 3) * (2 * m + 1 - n) * (2 * m + 2 - n))
            )
            total += term
        return total
    # t s(k) + k s(k-1) = sin(t + k pi/2)
    value = np.sin(t) / t
    for k in range(1, n + 1):
        value = (np.sin(t + k * (np.pi / 2)) - k * value) / t
    return value


SCALARS = (
    _entire("sin", np.sin, 17, (0.9, 0.9), _complex_sin),
    _entire("cos", np.cos, 17, (0.9, 0.9), _complex_cos),
    _entire("tan", np.tan, 18, (2.4, 2.4)),
    _entire("asin", np.arcsin, 10, (2.5, 2.7)),
    _entire("acos", np.arccos, 11, (1.3, 1.3)),
    _entire("atan", np.arctan, 16, (3.0, 2.0)),
    _entire("sinh", np.sinh, 13, (2.6, 2.5), _complex_sinh),
    _entire("cosh", np.cosh, 10, (1.6, 1.6), _complex_cosh),
    _entire("tanh", np.tanh, 15, (2.8, 2.8), _complex_tanh),
    _entire("asinh", np.arcsinh, 40, (2.1, 2.0)),
    _entire("acosh", np.arccosh, 38, (2.9, 2.8), _complex_acosh),
    _entire("atanh", np.arctanh, 29, (2.3, 2.2)),
    Scalar("atan2", np.arctan2, "vector", device="math.atan2", cost=19, ulp=(2.9, 2.0)),
    Scalar("hypot", np.hypot, "vector", device="math.hypot", cost=7, ulp=(1.1, 1.1)),
    Scalar("angle", native="parts", cost=19),
    Scalar("sinc", native="numbers", cost=22),
    Scalar("sinc_derivative", native="numbers", cost=22),
)
