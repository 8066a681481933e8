"""Calibration: the likelihood of an Ornstein-Uhlenbeck process that is seen at uneven times."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def likelihood(theta: Floats, seen: Floats, gaps: Floats) -> Any:
    """theta: the logarithm of how fast it returns, its mean, the logarithm of its volatility;
    seen[n], and gaps[n - 1] in time between."""
    rate, mean, volatility = np.exp(theta[0]), theta[1], np.exp(theta[2])
    kept = np.exp(-rate * gaps)
    variance = volatility**2 * (1.0 - kept**2) / (2.0 * rate)
    miss = seen[1:] - mean - (seen[:-1] - mean) * kept
    return -0.5 * np.sum(np.log(2.0 * math.pi * variance) + miss**2 / variance)


def data(times: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return (
        np.array([0.3, 0.5, -0.2]),
        0.5 + rng.standard_normal(times),
        rng.exponential(0.5, times - 1) + 1e-3,
    )


def loops(theta: Floats, seen: Floats, gaps: Floats) -> tuple[float, Floats]:
    rate, mean, squared = math.exp(theta[0]), theta[1], math.exp(2.0 * theta[2])
    total = by_rate = by_mean = by_volatility = 0.0
    for i in range(gaps.size):
        kept = math.exp(-rate * gaps[i])
        lost = 1.0 - kept * kept
        variance = squared * lost / (2.0 * rate)
        away = seen[i] - mean
        miss = seen[i + 1] - mean - away * kept
        fit = miss * miss / variance
        total += math.log(2.0 * math.pi * variance) + fit
        by_mean += miss / variance * (1.0 - kept)
        by_volatility += fit - 1.0
        kept_slope = -gaps[i] * kept * rate
        by_rate += miss / variance * away * kept_slope
        by_rate += 0.5 * (fit - 1.0) * (-2.0 * kept * kept_slope / lost - 1.0)
    return -0.5 * total, np.array([by_rate, by_mean, by_volatility])


WORKLOADS = (
    Workload(
        name="ornstein",
        derivative="value_and_grad",
        doc="Ornstein-Uhlenbeck process: arithmetic on neighbours, three parameters",
        function=likelihood,
        data=data,
        sizes={"small": {"times": 30}, "default": {"times": 50_000}, "large": {"times": 1_000_000}},
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
    ),
)
