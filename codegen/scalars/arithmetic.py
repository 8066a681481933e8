"""Rounding, division with NumPy's signs and zero divisors, parts of numbers."""

from __future__ import annotations

from typing import Any

from .value import Scalar


def _gcd(x: Any, y: Any) -> Any:
    """Euclid's algorithm. The least integer has no absolute value, and no quotient by -1."""
    x = abs(x)
    y = abs(y)
    while y > 0 or y < -1:
        rest = x % y
        x = y
        y = rest
    return abs(x) if y == 0 else abs(y)


SCALARS = (
    *[
        Scalar(name, native="numbers")
        for name in (
            "abs_",
            "ceil",
            "floor",
            "rint",
            "round_",
            "sign",
            "square",
            "strong_mul",
            "trunc",
        )
    ],
    *[Scalar(name, native="parts") for name in ("conj", "imag", "of_parts", "real", "signbit")],
    Scalar("complex_div", native="parts", integers=False, cost=4),
    Scalar("reciprocal", native="numbers", cost=4),
    Scalar("copysign", native="numbers"),
    Scalar("nextafter", native="numbers", device=("libdevice.nextafter", "libdevice.nextafterf")),
    Scalar("floordiv", native="integral", device="bodies.quotient", integers=False, cost=8),
    Scalar("mod", native="integral", device="bodies.remainder", integers=False, cost=10),
    Scalar("gcd", _gcd, integers=False, cost=150),
    Scalar("fmod", native="integral", device="math.fmod", integers=False, cost=10),
)
