"""Robust statistics: a mixture of straight fits with heavy tails (Student's t of 4 degrees)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

FREEDOM = 4.0
CONSTANT = math.lgamma(2.5) - math.lgamma(2.0) - 0.5 * math.log(FREEDOM * math.pi)


def likelihood(
    logits: Floats, slopes: Floats, spread: Floats, covariates: Floats, values: Floats
) -> Any:
    """logits[k], slopes[k, p], spread[k] (logarithms); covariates[n, p], values[n]."""
    miss = (values[:, None] - covariates @ slopes.T) / np.exp(spread)
    each = logits - spread - 0.5 * (FREEDOM + 1.0) * np.log(1.0 + miss**2 / FREEDOM)
    largest = np.max(each, axis=1)
    whole = largest + np.log(np.sum(np.exp(each - largest[:, None]), axis=1))
    return np.sum(whole) + values.shape[0] * (CONSTANT - np.log(np.sum(np.exp(logits))))


def data(points: int, fits: int, covariates: int) -> tuple[Floats, ...]:
    normal = np.random.default_rng(0).standard_normal
    return (
        0.3 * normal(fits),
        normal((fits, covariates)),
        0.2 * normal(fits),
        normal((points, covariates)),
        2.0 * normal(points),
    )


def loops(
    logits: Floats, slopes: Floats, spread: Floats, covariates: Floats, values: Floats
) -> tuple[float, Floats, Floats, Floats]:
    fits, wide = slopes.shape
    d_logits, d_slopes, d_spread = np.zeros(fits), np.zeros_like(slopes), np.zeros(fits)
    miss, each, near = np.empty(fits), np.empty(fits), np.empty(fits)
    scale, total = np.exp(spread), 0.0
    for i in range(values.size):
        largest = -np.inf
        for k in range(fits):
            fit = 0.0
            for c in range(wide):
                fit += slopes[k, c] * covariates[i, c]
            miss[k] = (values[i] - fit) / scale[k]
            near[k] = 1.0 + miss[k] * miss[k] / FREEDOM
            each[k] = logits[k] - spread[k] - 0.5 * (FREEDOM + 1.0) * math.log(near[k])
            largest = max(largest, each[k])
        whole = 0.0
        for k in range(fits):
            each[k] = math.exp(each[k] - largest)
            whole += each[k]
        total += largest + math.log(whole)
        for k in range(fits):
            weight = each[k] / whole
            pull = weight * (FREEDOM + 1.0) / FREEDOM * miss[k] / near[k]
            d_logits[k] += weight
            d_spread[k] += pull * miss[k] - weight
            for c in range(wide):
                d_slopes[k, c] += pull / scale[k] * covariates[i, c]
    prior = np.exp(logits)
    value = total + values.size * (CONSTANT - math.log(prior.sum()))
    return value, d_logits - values.size * prior / prior.sum(), d_slopes, d_spread


WORKLOADS = (
    Workload(
        name="mixture_regression",
        derivative="value_and_grad",
        doc="robust mixture of regressions: a softmax over few columns",
        function=likelihood,
        data=data,
        sizes={
            "small": {"points": 30, "fits": 3, "covariates": 2},
            "default": {"points": 20_000, "fits": 4, "covariates": 5},
            "large": {"points": 500_000, "fits": 4, "covariates": 5},
        },
        argnums=(0, 1, 2),
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
    ),
)
