"""Physics of spins: the mean field of Ising's model on a grid, iterated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

ITERATIONS, DAMPING = 8, 0.5


def loss(field: Floats, coupling: Floats, wanted: Floats) -> Any:
    """field[n, n] and wanted[n, n] magnetisations on a torus; coupling is a number."""
    spins = np.tanh(field)
    for _ in range(ITERATIONS):
        near = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
        near = near + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        spins = DAMPING * spins + (1.0 - DAMPING) * np.tanh(field + coupling * near)
    return np.sum((spins - wanted) ** 2)


def data(side: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return (
        0.5 * rng.standard_normal((side, side)),
        np.array(0.2),
        np.tanh(rng.standard_normal((side, side))),
    )


def neighbours(spins: Floats, into: Floats) -> None:
    """The sums of the four neighbours on the torus."""
    n = spins.shape[0]
    for i in range(n):
        above, below = (i - 1) % n, (i + 1) % n
        into[i, 0] = spins[above, 0] + spins[below, 0] + spins[i, n - 1] + spins[i, 1]
        into[i, n - 1] = spins[above, n - 1] + spins[below, n - 1] + spins[i, n - 2] + spins[i, 0]
        for j in range(1, n - 1):
            into[i, j] = spins[above, j] + spins[below, j] + spins[i, j - 1] + spins[i, j + 1]


def loops(field: Floats, coupling: Floats, wanted: Floats) -> tuple[float, Floats, Floats]:
    """All sums and hyperbolic tangents are kept; a sum of neighbours is its own transpose."""
    n, strength = field.shape[0], coupling.item()
    near, turned = np.empty((ITERATIONS, n, n)), np.empty((ITERATIONS, n, n))
    start = np.tanh(field)
    spins, total = start.copy(), 0.0
    for step in range(ITERATIONS):
        neighbours(spins, near[step])
        for i in range(n):
            for j in range(n):
                turned[step, i, j] = math.tanh(field[i, j] + strength * near[step, i, j])
                spins[i, j] = DAMPING * spins[i, j] + (1.0 - DAMPING) * turned[step, i, j]
    back, by_field, by_coupling = np.empty((n, n)), np.zeros((n, n)), 0.0
    for i in range(n):
        for j in range(n):
            miss = spins[i, j] - wanted[i, j]
            total += miss * miss
            back[i, j] = 2.0 * miss
    slope, around = np.empty((n, n)), np.empty((n, n))
    for reverse in range(ITERATIONS):
        step = ITERATIONS - 1 - reverse
        for i in range(n):
            for j in range(n):
                value = back[i, j] * (1.0 - DAMPING) * (1.0 - turned[step, i, j] ** 2)
                by_field[i, j] += value
                by_coupling += value * near[step, i, j]
                slope[i, j] = value
        neighbours(slope, around)
        for i in range(n):
            for j in range(n):
                back[i, j] = DAMPING * back[i, j] + strength * around[i, j]
    for i in range(n):
        for j in range(n):
            by_field[i, j] += back[i, j] * (1.0 - start[i, j] ** 2)
    return total, by_field, np.array(by_coupling)


WORKLOADS = (
    Workload(
        name="ising",
        derivative="value_and_grad",
        doc="mean field of spins on a torus: rolled arrays and tanh, eight times",
        function=loss,
        data=data,
        sizes={"small": {"side": 5}, "default": {"side": 200}, "large": {"side": 1_000}},
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
