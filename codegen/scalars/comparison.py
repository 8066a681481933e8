"""Extremes, selection, tests of numbers, logic and bits."""

from __future__ import annotations

from .value import Scalar

SCALARS = (
    *[
        Scalar(name, native="numbers")
        for name in (
            "clip",
            "fmax",
            "fmin",
            "heaviside",
            "isfinite",
            "isinf",
            "isnan",
            "maximum",
            "minimum",
            "where",
        )
    ],
    Scalar("select", native="support"),
    *[
        Scalar(name, native="parts")
        for name in (
            "bitwise_and",
            "bitwise_not",
            "bitwise_or",
            "bitwise_xor",
            "invert",
            "logical_and",
            "logical_not",
            "logical_or",
        )
    ],
    Scalar("logical_xor", native="parts"),
    Scalar("left_shift", native="integral"),
    Scalar("right_shift", native="integral"),
)
