"""Time series: the likelihood of a local linear trend by Kalman's filter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from ..workloads import control
from .torch_text import same_text

VAGUE = 10.0


def likelihood(theta: Floats, seen: Floats) -> Any:
    """theta: logarithms of the variances of level, slope and noise; seen[t]."""
    level, slope, noise = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])

    def step(state: Any, value: Any) -> Any:
        a, b, p, q, r = (state[k] for k in range(5))
        a, p, q, r = a + b, p + 2.0 * q + r + level, q + r, r + slope
        variance, miss = p + noise, value - a
        gain, other = p / variance, q / variance
        moved = np.stack(
            [a + gain * miss, b + other * miss, p - gain * p, q - gain * q, r - other * q]
        )
        return moved, np.log(2.0 * math.pi * variance) + miss**2 / variance

    vague = VAGUE + 0.0 * theta[0]
    nothing = 0.0 * theta[0]
    start = np.stack([nothing, nothing, vague, nothing, vague])
    return -0.5 * np.sum(control.scan(step, start, seen)[1])


def data(times: int) -> tuple[Floats, ...]:
    normal = np.random.default_rng(0).standard_normal
    return (
        np.log(np.array([0.1, 0.01, 1.0])),
        np.cumsum(0.3 * normal(times)) + normal(times),
    )


def loops(theta: Floats, seen: Floats) -> tuple[float, Floats]:
    """The states before each step are kept, and each step is taken back."""
    level, slope, noise = math.exp(theta[0]), math.exp(theta[1]), math.exp(theta[2])
    times, total = seen.size, 0.0
    path = np.empty((times, 5))
    a, b, p, q, r = 0.0, 0.0, VAGUE, 0.0, VAGUE
    for t in range(times):
        a, p, q, r = a + b, p + 2.0 * q + r + level, q + r, r + slope
        path[t, 0], path[t, 1], path[t, 2], path[t, 3], path[t, 4] = a, b, p, q, r
        variance, miss = p + noise, seen[t] - a
        total += math.log(2.0 * math.pi * variance) + miss * miss / variance
        gain, other = p / variance, q / variance
        a, b, p, q, r = (
            a + gain * miss,
            b + other * miss,
            p - gain * p,
            q - gain * q,
            r - other * q,
        )
    da = db = dp = dq = dr = d_level = d_slope = d_noise = 0.0
    for back in range(times):
        t = times - 1 - back
        a, p, q = path[t, 0], path[t, 2], path[t, 3]
        variance, miss = p + noise, seen[t] - a
        gain, other = p / variance, q / variance
        d_gain = da * miss - dp * p - dq * q
        d_other = db * miss - dr * q
        d_miss = da * gain + db * other + 2.0 * miss / variance
        d_variance = 1.0 / variance - miss * miss / (variance * variance)
        d_variance -= (d_gain * gain + d_other * other) / variance
        d_noise += d_variance
        da, dp, dq = (
            da - d_miss,
            dp * (1.0 - gain) + d_gain / variance + d_variance,
            dq * (1.0 - gain) - dr * other + d_other / variance,
        )
        d_level, d_slope = d_level + dp, d_slope + dr
        db, dq, dr = db + da, dq + 2.0 * dp, dr + dq + dp
    return -0.5 * total, -0.5 * np.array([d_level * level, d_slope * slope, d_noise * noise])


WORKLOADS = (
    Workload(
        name="kalman",
        derivative="value_and_grad",
        doc="Kalman's filter of a local linear trend: a loop of scalars",
        function=likelihood,
        data=data,
        sizes={"small": {"times": 12}, "default": {"times": 2_000}, "large": {"times": 50_000}},
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
        loops=True,
    ),
)
