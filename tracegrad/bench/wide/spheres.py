"""Ray tracing: the depth at which rays from one eye meet the nearest of many spheres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

FAR = 20.0


def loss(centres: Floats, radii: Floats, rays: Floats, seen: Floats) -> Any:
    """centres[k, 3], radii[k]; rays[n, 3] of length one from the origin, seen[n] their depths."""
    along = rays @ centres.T
    gap = along**2 - np.sum(centres**2, axis=1) + radii**2
    hit = gap > 0.0
    depth = np.where(hit, along - np.sqrt(np.where(hit, gap, 1.0)), FAR)
    return np.sum((np.min(depth, axis=1) - seen) ** 2)


def data(rays: int, spheres: int) -> tuple[Floats, ...]:
    """Spheres in front of the eye, rays into the square that they fill."""
    rng = np.random.default_rng(0)
    place = rng.uniform(-3, 3, (spheres, 2))
    centres = np.concatenate([place, rng.uniform(6, 12, (spheres, 1))], axis=1)
    towards = np.concatenate([rng.uniform(-0.5, 0.5, (rays, 2)), np.ones((rays, 1))], axis=1)
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    return centres, rng.uniform(0.3, 1.0, spheres), towards, rng.uniform(5, FAR, rays)


def loops(
    centres: Floats, radii: Floats, rays: Floats, seen: Floats
) -> tuple[float, Floats, Floats]:
    count = radii.size
    depths, least, columns = np.empty(count), np.empty(count), centres.T.copy()
    for k in range(count):
        least[k] = centres[k, 0] ** 2 + centres[k, 1] ** 2 + centres[k, 2] ** 2 - radii[k] ** 2
    d_centres, d_radii, total = np.zeros_like(centres), np.zeros_like(radii), 0.0
    for i in range(rays.shape[0]):
        x, y, z = rays[i, 0], rays[i, 1], rays[i, 2]
        for k in range(count):
            along = x * columns[0, k] + y * columns[1, k] + z * columns[2, k]
            gap = along * along - least[k]
            depths[k] = along - math.sqrt(gap) if gap > 0.0 else FAR
        best = np.argmin(depths)
        miss = depths[best] - seen[i]
        total += miss * miss
        along = x * centres[best, 0] + y * centres[best, 1] + z * centres[best, 2]
        gap = along * along - least[best]
        if gap > 0.0:
            root = math.sqrt(gap)
            for c in range(3):
                slope = rays[i, c] - (along * rays[i, c] - centres[best, c]) / root
                d_centres[best, c] += 2.0 * miss * slope
            d_radii[best] -= 2.0 * miss * radii[best] / root
    return total, d_centres, d_radii


WORKLOADS = (
    Workload(
        name="spheres",
        derivative="value_and_grad",
        doc="rays and spheres: the nearest of all depths, with `where`",
        function=loss,
        data=data,
        sizes={
            "small": {"rays": 50, "spheres": 4},
            "default": {"rays": 20_000, "spheres": 32},
            "large": {"rays": 200_000, "spheres": 64},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
