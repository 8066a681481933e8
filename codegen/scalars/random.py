"""Random numbers of a counter."""

from __future__ import annotations

from .value import Scalar

SCALARS = tuple(
    Scalar(name, native="philox", cost=30)
    for name in (
        "philox", "philox_bits", "philox_bits_array", "philox_normal", "philox_normal_array",
        "philox_uniform", "philox_uniform_array", "philox_words",
    )
)  # fmt: skip
