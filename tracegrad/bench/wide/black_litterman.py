"""Portfolios: how much the views of an investor are worth, after Black and Litterman."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text

TAU, AVERSION = 0.05, 2.5


def utility(
    expected: Floats, doubt: Floats, prior: Floats, covariance: Floats, views: Floats
) -> Any:
    """expected[k] and doubt[k] (logarithms of variances) of views[k, n]; prior[n] and
    covariance[n, n] of the assets."""
    shared = TAU * covariance @ views.T
    uncertain = views @ shared + np.diag(np.exp(doubt))
    mean = prior + shared @ np.linalg.solve(uncertain, expected - views @ prior)
    return mean @ np.linalg.solve(covariance, mean) / (2.0 * AVERSION)


def data(assets: int, views: int) -> tuple[Floats, ...]:
    """Factors that assets share, and noise of their own."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    loadings = 0.1 * normal((assets, 10))
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.01, 0.05, assets))
    return (
        0.05 * normal(views),
        np.log(rng.uniform(0.001, 0.01, views)),
        0.05 + 0.02 * normal(assets),
        covariance,
        normal((views, assets)) / assets,
    )


def loops(
    expected: Floats, doubt: Floats, prior: Floats, covariance: Floats, views: Floats
) -> tuple[Any, ...]:
    """The weights are the slope in the mean, and no matrix is needed for the other slopes."""
    variance = np.exp(doubt)
    shared = TAU * (covariance @ views.T.copy())
    uncertain = views @ shared
    for i in range(doubt.size):
        uncertain[i, i] += variance[i]
    solved = np.linalg.solve(uncertain, expected - views @ prior)
    mean = prior + shared @ solved
    weights = np.linalg.solve(covariance, mean) / AVERSION
    slope = np.linalg.solve(uncertain, TAU * (views @ (covariance @ weights)))
    return mean @ weights / 2.0, slope, -slope * solved * variance


WORKLOADS = (
    Workload(
        name="black_litterman",
        derivative="value_and_grad",
        doc="Black and Litterman's portfolio: products and two systems of equations",
        function=utility,
        data=data,
        sizes={
            "small": {"assets": 20, "views": 5},
            "default": {"assets": 300, "views": 60},
            "large": {"assets": 1_000, "views": 200},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(utility),
    ),
)
