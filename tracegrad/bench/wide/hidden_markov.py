"""Sequences: the likelihood of a hidden Markov model by the forward algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from ..workloads import control
from .torch_text import same_text


def likelihood(logits: Floats, means: Floats, seen: Floats) -> Any:
    """logits[k, k] of the next state, in each row; means[k] of what is seen[t] in a state."""
    relative = np.exp(logits)
    moves = relative / np.sum(relative, axis=1)[:, None]

    def step(state: Any, value: Any) -> Any:
        joint = (state @ moves) * np.exp(-0.5 * (value - means) ** 2)
        whole = np.sum(joint)
        return joint / whole, np.log(whole)

    start = 0.0 * means + 1.0 / means.shape[0]
    each = control.scan(step, start, seen)[1]
    return np.sum(each) - seen.shape[0] * 0.5 * math.log(2.0 * math.pi)


def data(states: int, times: int) -> tuple[Floats, ...]:
    normal = np.random.default_rng(0).standard_normal
    return (
        normal((states, states)) + 2.0 * np.eye(states),
        2.0 * normal(states),
        2.0 * normal(times),
    )


def loops(logits: Floats, means: Floats, seen: Floats) -> tuple[float, Floats, Floats]:
    """Forward states are kept; back in time what follows weighs them."""
    k, times = means.size, seen.size
    moves = np.exp(logits)
    for i in range(k):
        moves[i] /= moves[i].sum()
    states, dense, ahead = np.empty((times + 1, k)), np.empty((times, k)), np.empty((times, k))
    states[0], sums, total = 1.0 / k, np.empty(times), 0.0
    for t in range(times):
        whole = 0.0
        for j in range(k):
            ahead[t, j] = 0.0
        for i in range(k):
            for j in range(k):
                ahead[t, j] += states[t, i] * moves[i, j]
        for j in range(k):
            dense[t, j] = math.exp(-0.5 * (seen[t] - means[j]) ** 2)
            states[t + 1, j] = ahead[t, j] * dense[t, j]
            whole += states[t + 1, j]
        for j in range(k):
            states[t + 1, j] /= whole
        sums[t] = whole
        total += math.log(whole)
    bar, joint, d_moves, d_means = np.zeros(k), np.empty(k), np.zeros((k, k)), np.zeros(k)
    for back in range(times):
        t = times - 1 - back
        mean = 0.0
        for j in range(k):
            mean += bar[j] * states[t + 1, j]
        for j in range(k):
            pull = (bar[j] - mean + 1.0) / sums[t] * dense[t, j]
            d_means[j] += pull * ahead[t, j] * (seen[t] - means[j])
            joint[j] = pull
        for i in range(k):
            carried = 0.0
            for j in range(k):
                d_moves[i, j] += joint[j] * states[t, i]
                carried += joint[j] * moves[i, j]
            bar[i] = carried
    d_logits = np.empty((k, k))
    for i in range(k):
        mean = 0.0
        for j in range(k):
            mean += d_moves[i, j] * moves[i, j]
        for j in range(k):
            d_logits[i, j] = moves[i, j] * (d_moves[i, j] - mean)
    return total - times * 0.5 * math.log(2.0 * math.pi), d_logits, d_means


WORKLOADS = (
    Workload(
        name="hidden_markov",
        derivative="value_and_grad",
        doc="hidden Markov model: a loop of products with a small matrix",
        function=likelihood,
        data=data,
        sizes={
            "small": {"states": 3, "times": 12},
            "default": {"states": 8, "times": 1_000},
            "large": {"states": 32, "times": 10_000},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
        loops=True,
    ),
)
