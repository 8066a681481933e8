"""Finite elements: the area of a membrane over an unstructured mesh of triangles, under a load."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Ints, Workload
from .torch_text import same_text


def energy(
    height: Floats, load: Floats, triangles: Ints, along_x: Floats, along_y: Floats, area: Floats
) -> Any:
    """height[n], load[n]; triangles[m, 3] are numbers of nodes, along_x[m, 3] and along_y[m, 3] the
    slopes of their shape functions, area[m]."""
    corners = height[triangles]
    slope_x, slope_y = np.sum(along_x * corners, axis=1), np.sum(along_y * corners, axis=1)
    return np.sum(area * np.sqrt(1.0 + slope_x**2 + slope_y**2)) - np.sum(load * height)


def data(side: int) -> tuple[Any, ...]:
    """A square of so many nodes a side, each moved a little, numbered in random order."""
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side), indexing="ij")
    x, y = (a.ravel() + 0.25 / side * rng.uniform(-1, 1, side * side) for a in (x, y))
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    lower = np.stack([corner, corner + side, corner + 1], axis=1)
    upper = np.stack([corner + side + 1, corner + 1, corner + side], axis=1)
    number = rng.permutation(side * side)
    triangles = np.concatenate([lower, upper])
    (x0, x1, x2), (y0, y1, y2) = x[triangles].T, y[triangles].T
    twice = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    along_x = np.stack([y1 - y2, y2 - y0, y0 - y1], axis=1) / twice[:, None]
    along_y = np.stack([x2 - x1, x0 - x2, x1 - x0], axis=1) / twice[:, None]
    order = rng.permutation(len(triangles))
    normal = rng.standard_normal
    return (
        normal(side * side) / side,
        normal(side * side) / side**2,
        number[triangles][order],
        along_x[order],
        along_y[order],
        twice[order] / 2,
    )


def loops(
    height: Floats, load: Floats, triangles: Ints, along_x: Floats, along_y: Floats, area: Floats
) -> tuple[float, Floats]:
    total, gradient = 0.0, -load
    for i in range(height.size):
        total -= load[i] * height[i]
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        u, v, w = height[a], height[b], height[c]
        slope_x = along_x[t, 0] * u + along_x[t, 1] * v + along_x[t, 2] * w
        slope_y = along_y[t, 0] * u + along_y[t, 1] * v + along_y[t, 2] * w
        root = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
        total += area[t] * root
        factor = area[t] / root
        slope_x, slope_y = slope_x * factor, slope_y * factor
        gradient[a] += along_x[t, 0] * slope_x + along_y[t, 0] * slope_y
        gradient[b] += along_x[t, 1] * slope_x + along_y[t, 1] * slope_y
        gradient[c] += along_x[t, 2] * slope_x + along_y[t, 2] * slope_y
    return total, gradient


WORKLOADS = (
    Workload(
        name="elements",
        derivative="value_and_grad",
        doc="finite elements on an unstructured mesh: gathers, sums into nodes",
        function=energy,
        data=data,
        sizes={"small": {"side": 8}, "default": {"side": 150}, "large": {"side": 700}},
        reference=loops,
        numba=loops,
        torch=same_text(energy),
    ),
)
