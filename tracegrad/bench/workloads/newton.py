"""Roots of many cubic equations by Newton's iteration: a loop of which each item decides when it
ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Workload
from . import control

TOLERANCE = 1e-12


def root(c: Any) -> Any:
    def value(x: Any) -> Any:
        return ((x + c[0]) * x + c[1]) * x + c[2]

    def slope(x: Any) -> Any:
        return (3 * x + 2 * c[0]) * x + c[1]

    return control.while_loop(
        lambda x: abs(value(x)) > TOLERANCE, lambda x: x - value(x) / slope(x), 1.0 + 0.0 * c[0]
    )


def roots(coefficients: Floats) -> Any:
    return np.sum(control.vmap(root)(coefficients))


def data(n: int) -> tuple[Floats]:
    rng = np.random.default_rng(0)
    return (np.stack([rng.uniform(1, 2, n), rng.uniform(1, 2, n), -rng.uniform(1, 3, n)], 1),)


def reference(coefficients: Floats) -> list[Any]:
    """By the implicit function theorem, at roots that NumPy finds."""
    a, b, c = coefficients.T
    x = np.ones(len(a))
    for _ in range(30):
        x = x - (((x + a) * x + b) * x + c) / ((3 * x + 2 * a) * x + b)
    return [-np.stack([x * x, x, np.ones_like(x)], 1) / ((3 * x + 2 * a) * x + b)[:, None]]


def loops(coefficients: Floats) -> tuple[Floats]:
    """The iterates are kept, and each step is taken back."""
    result = np.empty_like(coefficients)
    path = np.empty(100)
    for k in range(len(coefficients)):
        a, b, c = coefficients[k, 0], coefficients[k, 1], coefficients[k, 2]
        x, n = 1.0, 0
        f = ((x + a) * x + b) * x + c
        while abs(f) > TOLERANCE:
            path[n] = x
            n += 1
            x -= f / ((3 * x + 2 * a) * x + b)
            f = ((x + a) * x + b) * x + c
        bar, da, db, dc = 1.0, 0.0, 0.0, 0.0
        for i in range(n):
            x = path[n - 1 - i]
            f, inverse = ((x + a) * x + b) * x + c, 1 / ((3 * x + 2 * a) * x + b)
            df, ds = -bar * inverse, bar * f * inverse * inverse
            da += df * x * x + 2 * x * ds
            db += df * x + ds
            dc += df
            bar = ds * (6 * x + 2 * a)
        result[k, 0], result[k, 1], result[k, 2] = da, db, dc
    return (result,)


WORKLOADS = (
    Workload(
        name="newton",
        derivative="grad",
        doc="a while loop that each of many equations ends for itself",
        function=roots,
        data=data,
        sizes={"small": {"n": 100}, "default": {"n": 100_000}, "large": {"n": 1_000_000}},
        reference=reference,
        numba=loops,
        loops=True,
    ),
)
