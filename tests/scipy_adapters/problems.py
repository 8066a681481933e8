"""Problems with known solutions."""

from __future__ import annotations

from typing import Any

import numpy as np


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def hs071(x: Any) -> Any:
    """Hock and Schittkowski's problem 71, between 1 and 5."""
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


def hs071_product(x: Any) -> Any:
    """At least 25."""
    return x[0] * x[1] * x[2] * x[3]


def hs071_squares(x: Any) -> Any:
    """Equal to 40."""
    return np.sum(x**2)


HS071_START = np.array([1.0, 5.0, 5.0, 1.0])
HS071 = np.array([1.0, 4.742999643, 3.821149979, 1.379408293])


def robertson(t: Any, y: Any) -> Any:
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return np.stack([b - a, a - b - c, c])


ROBERTSON_40 = np.array([7.158270687193941e-01, 9.185534764557338e-06, 2.841637457458413e-01])
"""At t = 40, from (1, 0, 0)."""
