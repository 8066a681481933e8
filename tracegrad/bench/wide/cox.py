"""Survival: Cox's partial likelihood, subjects sorted by time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def likelihood(beta: Floats, covariates: Floats, died: Floats) -> Any:
    """beta[p]; covariates[n, p] from the one who stayed longest, died[n] is 1.0 or 0.0."""
    risk = covariates @ beta
    largest = np.max(risk, axis=0)
    at_risk = largest + np.log(np.cumsum(np.exp(risk - largest), axis=0))
    return np.sum(died * (risk - at_risk))


def data(subjects: int, covariates: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return (
        0.3 * rng.standard_normal(covariates),
        rng.standard_normal((subjects, covariates)),
        (rng.random(subjects) < 0.6).astype(np.float64),
    )


def loops(beta: Floats, covariates: Floats, died: Floats) -> tuple[float, Floats]:
    risk = covariates @ beta
    n, largest = risk.size, risk.max()
    relative, sums, value, running = np.exp(risk - largest), np.empty(risk.size), 0.0, 0.0
    for i in range(n):
        running += relative[i]
        sums[i] = running
    for i in range(n):
        value += died[i] * (risk[i] - largest - math.log(sums[i]))
    slope, running = np.empty(n), 0.0
    for back in range(n):
        i = n - 1 - back
        running += died[i] / sums[i]
        slope[i] = died[i] - relative[i] * running
    return value, slope @ covariates


WORKLOADS = (
    Workload(
        name="cox",
        derivative="value_and_grad",
        doc="Cox's partial likelihood: running sums between two products",
        function=likelihood,
        data=data,
        sizes={
            "small": {"subjects": 25, "covariates": 3},
            "default": {"subjects": 20_000, "covariates": 20},
            "large": {"subjects": 500_000, "covariates": 20},
        },
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
    ),
)
