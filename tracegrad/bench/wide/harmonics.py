"""Geodesy: an expansion in solid harmonics, by their recursion in Cartesian coordinates, fitted to
values at points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

DEGREE = 6


def loss(cosines: Floats, sines: Floats, points: Floats, values: Floats) -> Any:
    """cosines and sines[7, 7] by degree and order; points[n, 3], values[n]."""
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    squared = x * x + y * y + z * z
    total, along, across = 0.0 * x, 1.0 + 0.0 * x, 0.0 * x
    for order in range(DEGREE + 1):
        last: Any = 0.0
        now: Any = 1.0
        for degree in range(order, DEGREE + 1):
            part = cosines[degree, order] * along + sines[degree, order] * across
            total = total + part * now
            last, now = (
                now,
                ((2 * degree + 1) * z * now - (degree + order) * squared * last)
                / (degree - order + 1),
            )
        along, across = x * along - y * across, x * across + y * along
    return np.sum((total - values) ** 2)


def data(points: int) -> tuple[Floats, ...]:
    normal = np.random.default_rng(0).standard_normal
    size = (DEGREE + 1, DEGREE + 1)
    place = normal((points, 3))
    place /= np.linalg.norm(place, axis=1, keepdims=True)
    return normal(size), normal(size), place, normal(points)


def loops(
    cosines: Floats, sines: Floats, points: Floats, values: Floats
) -> tuple[float, Floats, Floats]:
    """All basis functions of a point, then the point's share of each coefficient."""
    size, total = DEGREE + 1, 0.0
    by_cosines, by_sines = np.zeros_like(cosines), np.zeros_like(sines)
    basis, other = np.zeros((size, size)), np.zeros((size, size))
    for i in range(values.size):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        squared, along, across, fit = x * x + y * y + z * z, 1.0, 0.0, 0.0
        for order in range(size):
            last, now = 0.0, 1.0
            for degree in range(order, size):
                basis[degree, order], other[degree, order] = along * now, across * now
                fit += cosines[degree, order] * along * now + sines[degree, order] * across * now
                last, now = (
                    now,
                    ((2 * degree + 1) * z * now - (degree + order) * squared * last)
                    / (degree - order + 1),
                )
            along, across = x * along - y * across, x * across + y * along
        miss = fit - values[i]
        total += miss * miss
        for degree in range(size):
            for order in range(degree + 1):
                by_cosines[degree, order] += 2.0 * miss * basis[degree, order]
                by_sines[degree, order] += 2.0 * miss * other[degree, order]
    return total, by_cosines, by_sines


WORKLOADS = (
    Workload(
        name="harmonics",
        derivative="value_and_grad",
        doc="solid harmonics: recursions written out, a sum for each of 49 coefficients",
        function=loss,
        data=data,
        sizes={
            "small": {"points": 10},
            "default": {"points": 10_000},
            "large": {"points": 300_000},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
