"""Rounding, division with NumPy's signs and zero divisors, parts of numbers."""

from __future__ import annotations

from .value import Scalar

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
    Scalar("fmod", native="integral", device="math.fmod", integers=False, cost=10),
)
