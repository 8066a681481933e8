"""Computer vision: the energy of an optical flow that may jump (total variation)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

SMOOTH, SMALL = 0.1, 1e-3


def energy(u: Floats, v: Floats, along_x: Floats, along_y: Floats, in_time: Floats) -> Any:
    """All [height, width]: the flow, and the slopes of the images."""
    fits = np.sqrt((along_x * u + along_y * v + in_time) ** 2 + SMALL)
    ux, uy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    vx, vy = v[1:, :-1] - v[:-1, :-1], v[:-1, 1:] - v[:-1, :-1]
    return np.sum(fits) + SMOOTH * np.sum(np.sqrt(ux**2 + uy**2 + vx**2 + vy**2 + SMALL))


def data(side: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return tuple([rng.standard_normal((side, side)) for _ in range(5)])


def loops(
    u: Floats, v: Floats, along_x: Floats, along_y: Floats, in_time: Floats
) -> tuple[float, Floats, Floats]:
    """Row by row: the slopes of a row's differences first, then each entry gathers its own."""
    rows, columns = u.shape
    total, du, dv = 0.0, np.empty_like(u), np.empty_like(v)
    ux, uy = np.zeros((2, columns)), np.zeros((2, columns))
    vx, vy = np.zeros((2, columns)), np.zeros((2, columns))
    for i in range(rows):
        now, last = i % 2, (i + 1) % 2
        if i < rows - 1:
            for j in range(columns - 1):
                a, b = u[i + 1, j] - u[i, j], u[i, j + 1] - u[i, j]
                c, d = v[i + 1, j] - v[i, j], v[i, j + 1] - v[i, j]
                root = math.sqrt(a * a + b * b + c * c + d * d + SMALL)
                total += SMOOTH * root
                factor = SMOOTH / root
                ux[now, j], uy[now, j] = a * factor, b * factor
                vx[now, j], vy[now, j] = c * factor, d * factor
        else:
            ux[now], uy[now], vx[now], vy[now] = 0.0, 0.0, 0.0, 0.0
        for j in range(columns):
            miss = along_x[i, j] * u[i, j] + along_y[i, j] * v[i, j] + in_time[i, j]
            root = math.sqrt(miss * miss + SMALL)
            total += root
            factor = miss / root
            du[i, j] = along_x[i, j] * factor - ux[now, j] - uy[now, j] + ux[last, j]
            dv[i, j] = along_y[i, j] * factor - vx[now, j] - vy[now, j] + vx[last, j]
        for j in range(1, columns):
            du[i, j] += uy[now, j - 1]
            dv[i, j] += vy[now, j - 1]
    return total, du, dv


WORKLOADS = (
    Workload(
        name="optical_flow",
        derivative="value_and_grad",
        doc="optical flow with total variation: shifted slices of images",
        function=energy,
        data=data,
        sizes={"small": {"side": 9}, "default": {"side": 400}, "large": {"side": 2_000}},
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(energy),
    ),
)
