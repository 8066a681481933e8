"""Ecology: rates of predators and prey fitted to counts, by the classical Runge-Kutta method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Workload
from ..workloads import control
from .torch_text import same_text

STEP = 0.02


def loss(rates: Floats, start: Floats, counts: Floats) -> Any:
    """rates[4], start[2] (prey, predators); counts[steps, 2] after each step."""

    def slope(state: Any) -> Any:
        prey, predators = state[0], state[1]
        meetings = prey * predators
        return np.stack(
            [rates[0] * prey - rates[1] * meetings, rates[2] * meetings - rates[3] * predators]
        )

    def step(state: Any, seen: Any) -> Any:
        a = slope(state)
        b = slope(state + STEP / 2 * a)
        c = slope(state + STEP / 2 * b)
        d = slope(state + STEP * c)
        moved = state + STEP / 6 * (a + 2.0 * b + 2.0 * c + d)
        return moved, np.sum((moved - seen) ** 2)

    total = control.scan(step, start, counts)[1]
    return np.sum(total)


def data(steps: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return (
        np.array([1.1, 0.4, 0.1, 0.4]),
        np.array([10.0, 5.0]),
        rng.uniform(1.0, 12.0, (steps, 2)),
    )


def loops(rates: Floats, start: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
    """The states before each step are kept, the stages computed again."""
    r0, r1, r2, r3 = rates
    steps, h, total = counts.shape[0], STEP, 0.0
    path = np.empty((steps + 1, 2))
    x, y = start
    path[0, 0], path[0, 1] = x, y
    xs, ys, weights = np.empty(4), np.empty(4), (1.0, 2.0, 2.0, 1.0)
    before = (0.0, h / 2, h / 2, h)
    for i in range(steps):
        kx = ky = sum_x = sum_y = 0.0
        for s in range(4):
            u, v = x + before[s] * kx, y + before[s] * ky
            kx, ky = r0 * u - r1 * u * v, r2 * u * v - r3 * v
            sum_x, sum_y = sum_x + weights[s] * kx, sum_y + weights[s] * ky
        x, y = x + h / 6 * sum_x, y + h / 6 * sum_y
        path[i + 1, 0], path[i + 1, 1] = x, y
        total += (x - counts[i, 0]) ** 2 + (y - counts[i, 1]) ** 2
    bar_x = bar_y = d0 = d1 = d2 = d3 = 0.0
    for back in range(steps):
        i = steps - 1 - back
        bar_x += 2.0 * (path[i + 1, 0] - counts[i, 0])
        bar_y += 2.0 * (path[i + 1, 1] - counts[i, 1])
        kx = ky = 0.0
        for s in range(4):
            xs[s], ys[s] = path[i, 0] + before[s] * kx, path[i, 1] + before[s] * ky
            kx = r0 * xs[s] - r1 * xs[s] * ys[s]
            ky = r2 * xs[s] * ys[s] - r3 * ys[s]
        later_x = later_y = all_x = all_y = 0.0
        for s in range(3, -1, -1):
            after = before[s + 1] if s < 3 else 0.0
            px, py = h / 6 * weights[s] * bar_x, h / 6 * weights[s] * bar_y
            px, py = px + after * later_x, py + after * later_y
            u, v = xs[s], ys[s]
            d0, d1, d2, d3 = d0 + px * u, d1 - px * u * v, d2 + py * u * v, d3 - py * v
            later_x = px * (r0 - r1 * v) + py * r2 * v
            later_y = py * (r2 * u - r3) - px * r1 * u
            all_x, all_y = all_x + later_x, all_y + later_y
        bar_x, bar_y = bar_x + all_x, bar_y + all_y
    return total, np.array([d0, d1, d2, d3]), np.array([bar_x, bar_y])


WORKLOADS = (
    Workload(
        name="lotka_volterra",
        derivative="value_and_grad",
        doc="predators and prey: a loop of small steps, fitted",
        function=loss,
        data=data,
        sizes={"small": {"steps": 10}, "default": {"steps": 1_000}, "large": {"steps": 20_000}},
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
        loops=True,
    ),
)
