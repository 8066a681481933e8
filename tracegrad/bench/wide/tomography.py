"""Tomography: projections of an image along rays, each a weighted sum of some pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Ints, Workload
from .torch_text import same_text


def loss(image: Floats, pixels: Ints, weights: Floats, measured: Floats) -> Any:
    """image[side**2]; pixels[rays, samples] and their weights, measured[rays]."""
    return np.sum((np.sum(weights * image[pixels], axis=1) - measured) ** 2)


def data(side: int, angles: int) -> tuple[Any, ...]:
    """As many rays as pixels along a side at each angle, as many samples along each ray; those that
    leave the image weigh nothing."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0.0, math.pi, angles, endpoint=False)[:, None, None]
    across, along = np.linspace(-1, 1, side)[:, None], np.linspace(-1, 1, side)
    x = across * np.cos(angle) - along * np.sin(angle)
    y = across * np.sin(angle) + along * np.cos(angle)
    inside = (np.abs(x) <= 1) & (np.abs(y) <= 1)
    row, column = (
        np.clip((c + 1) / 2 * (side - 1), 0, side - 1).round().astype(int) for c in (x, y)
    )
    pixels = (row * side + column).reshape(-1, side)
    return (
        rng.standard_normal(side * side),
        pixels.astype(np.int64),
        (inside * rng.uniform(0.5, 1.0, inside.shape) / side).reshape(-1, side),
        rng.standard_normal(len(pixels)),
    )


def loops(image: Floats, pixels: Ints, weights: Floats, measured: Floats) -> tuple[float, Floats]:
    total, gradient = 0.0, np.zeros_like(image)
    for ray in range(measured.size):
        projected = 0.0
        for s in range(pixels.shape[1]):
            projected += weights[ray, s] * image[pixels[ray, s]]
        miss = projected - measured[ray]
        total += miss * miss
        for s in range(pixels.shape[1]):
            gradient[pixels[ray, s]] += 2.0 * miss * weights[ray, s]
    return total, gradient


WORKLOADS = (
    Workload(
        name="tomography",
        derivative="value_and_grad",
        doc="tomography: gathers along rays and their sums into pixels",
        function=loss,
        data=data,
        sizes={
            "small": {"side": 8, "angles": 5},
            "default": {"side": 100, "angles": 90},
            "large": {"side": 400, "angles": 180},
        },
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
