"""Language: one block of self-attention with several heads, and its three matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def loss(query: Floats, key: Floats, value: Floats, words: Floats, wanted: Floats) -> Any:
    """query, key and value[heads, d, d / heads]; words[t, d], wanted[heads, t, d / heads]."""
    asked, kept, told = words @ query, words @ key, words @ value
    scores = asked @ np.swapaxes(kept, 1, 2) / math.sqrt(query.shape[2])
    relative = np.exp(scores - np.max(scores, axis=2)[:, :, None])
    weights = relative / np.sum(relative, axis=2)[:, :, None]
    return np.sum((weights @ told - wanted) ** 2) / words.shape[0]


def data(words: int, wide: int, heads: int) -> tuple[Floats, ...]:
    normal, narrow = np.random.default_rng(0).standard_normal, wide // heads
    matrices = [normal((heads, wide, narrow)) / math.sqrt(wide) for _ in range(3)]
    return *matrices, normal((words, wide)), normal((heads, words, narrow))


def loops(
    query: Floats, key: Floats, value: Floats, words: Floats, wanted: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Head by head; a row's slopes are taken less their mean under its weights."""
    heads, _, narrow = query.shape
    count, root, total = words.shape[0], math.sqrt(narrow), 0.0
    d_query, d_key, d_value = np.empty_like(query), np.empty_like(key), np.empty_like(value)
    turned = words.T.copy()
    for h in range(heads):
        asked, kept, told = words @ query[h], words @ key[h], words @ value[h]
        weights = asked @ kept.T.copy()
        for i in range(count):
            largest, whole = -np.inf, 0.0
            for j in range(count):
                weights[i, j] /= root
                largest = max(largest, weights[i, j])
            for j in range(count):
                weights[i, j] = math.exp(weights[i, j] - largest)
            for j in range(count):
                whole += weights[i, j]
            for j in range(count):
                weights[i, j] /= whole
        miss = weights @ told - wanted[h]
        for i in range(count):
            for c in range(narrow):
                total += miss[i, c] * miss[i, c]
                miss[i, c] *= 2.0 / count
        d_value[h] = turned @ (weights.T.copy() @ miss)
        slope = miss @ told.T.copy()
        for i in range(count):
            mean = 0.0
            for j in range(count):
                mean += slope[i, j] * weights[i, j]
            for j in range(count):
                slope[i, j] = (slope[i, j] - mean) * weights[i, j] / root
        d_query[h] = turned @ (slope @ kept)
        d_key[h] = turned @ (slope.T.copy() @ asked)
    return total / count, d_query, d_key, d_value


WORKLOADS = (
    Workload(
        name="attention",
        derivative="value_and_grad",
        doc="self-attention: stacks of products around a softmax",
        function=loss,
        data=data,
        sizes={
            "small": {"words": 6, "wide": 8, "heads": 2},
            "default": {"words": 256, "wide": 128, "heads": 4},
            "large": {"words": 1_024, "wide": 512, "heads": 8},
        },
        argnums=(0, 1, 2),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
