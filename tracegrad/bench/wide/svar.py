"""Econometrics: the likelihood of a structural vector autoregression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def likelihood(impact: Floats, lagged: Floats, now: Floats, before: Floats) -> Any:
    """impact[k, k] of what happens at once, lagged[k, l] of the past; now[t, k], before[t, l]."""
    shocks = now @ impact.T - before @ lagged.T
    return now.shape[0] * np.linalg.slogdet(impact)[1] - 0.5 * np.sum(shocks**2)


def data(series: int, lags: int, times: int) -> tuple[Floats, ...]:
    normal = np.random.default_rng(0).standard_normal
    return (
        np.eye(series) + 0.1 * normal((series, series)),
        0.1 * normal((series, series * lags)),
        normal((times, series)),
        normal((times, series * lags)),
    )


def loops(
    impact: Floats, lagged: Floats, now: Floats, before: Floats
) -> tuple[float, Floats, Floats]:
    shocks = now @ impact.T.copy() - before @ lagged.T.copy()
    total = 0.0
    for t in range(shocks.shape[0]):
        for k in range(shocks.shape[1]):
            total += shocks[t, k] * shocks[t, k]
    value = now.shape[0] * np.linalg.slogdet(impact)[1] - 0.5 * total
    turned = shocks.T.copy()
    return value, now.shape[0] * np.linalg.inv(impact).T - turned @ now, turned @ before


WORKLOADS = (
    Workload(
        name="svar",
        derivative="value_and_grad",
        doc="structural vector autoregression: long thin products and a determinant",
        function=likelihood,
        data=data,
        sizes={
            "small": {"series": 3, "lags": 2, "times": 20},
            "default": {"series": 12, "lags": 4, "times": 2_000},
            "large": {"series": 40, "lags": 4, "times": 20_000},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
    ),
)
