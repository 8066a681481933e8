"""Interpolation with radial basis functions: weights, centres and widths fitted to values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def loss(weights: Floats, centres: Floats, widths: Floats, points: Floats, values: Floats) -> Any:
    """weights[k], centres[k, 2], widths[k]; points[n, 2], values[n]."""
    squared = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    basis = np.exp(-squared * widths)
    return np.sum((basis @ weights - values) ** 2) / values.shape[0]


def data(points: int, centres: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal(centres),
        rng.uniform(-1, 1, (centres, 2)),
        rng.uniform(1.0, 5.0, centres),
        rng.uniform(-1, 1, (points, 2)),
        rng.standard_normal(points),
    )


def loops(
    weights: Floats, centres: Floats, widths: Floats, points: Floats, values: Floats
) -> tuple[float, Floats, Floats, Floats]:
    count, total = weights.size, 0.0
    d_weights, d_widths, d_x, d_y = (
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
    )
    basis, squared, columns = np.empty(count), np.empty(count), centres.T.copy()
    for i in range(values.size):
        x, y, fit = points[i, 0], points[i, 1], 0.0
        for k in range(count):
            squared[k] = (x - columns[0, k]) ** 2 + (y - columns[1, k]) ** 2
        for k in range(count):
            basis[k] = math.exp(-squared[k] * widths[k])
        for k in range(count):
            fit += basis[k] * weights[k]
        miss = fit - values[i]
        total += miss * miss
        for k in range(count):
            slope = miss * basis[k]
            d_weights[k] += slope
            slope *= weights[k]
            d_widths[k] -= slope * squared[k]
            slope *= widths[k]
            d_x[k] += slope * (x - columns[0, k])
            d_y[k] += slope * (y - columns[1, k])
    scale = 2.0 / values.size
    d_centres = np.empty_like(centres)
    d_centres[:, 0], d_centres[:, 1] = 2.0 * scale * d_x, 2.0 * scale * d_y
    return total / values.size, scale * d_weights, d_centres, scale * d_widths


WORKLOADS = (
    Workload(
        name="radial",
        derivative="value_and_grad",
        doc="radial basis functions: Gaussians of all pairs, sums to both sides",
        function=loss,
        data=data,
        sizes={
            "small": {"points": 20, "centres": 5},
            "default": {"points": 5_000, "centres": 100},
            "large": {"points": 50_000, "centres": 200},
        },
        argnums=(0, 1, 2),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
