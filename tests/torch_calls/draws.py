"""Arrays for the calls, drawn from a generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], Any]


def real(*shape: int, scale: float = 1.5) -> Make:
    return lambda rng: rng.standard_normal(shape) * scale


def positive(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.2, 2.0, shape)


def exactly(*values: Any) -> Make:
    return lambda rng: np.array(values)


def floats(*values: Any) -> Make:
    return lambda rng: np.array(values, float)


def whole(low: int, high: int, *shape: int) -> Make:
    return lambda rng: rng.integers(low, high, shape)


def flags(*shape: int) -> Make:
    return lambda rng: rng.uniform(size=shape) < 0.5


def definite(n: int) -> Make:
    def make(rng: np.random.Generator) -> Any:
        a = rng.standard_normal((n, n))
        return a @ a.T + n * np.eye(n)

    return make


NAN = float("nan")
M = real(3, 4)
Case = tuple[Callable[..., Any], tuple[Make, ...]]
