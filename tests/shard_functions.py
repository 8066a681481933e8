"""Functions of shards that the tests of `tg.scale` send to workers, and shards for them."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (4, 5, 7, 4, 1, 0, 9, 3, 3, 6, 2)
"""Rows of the shards: uneven, one, none."""


def rows(dtype: Any = np.float64, sizes: tuple[int, ...] = SIZES) -> list[Any]:
    rng = np.random.default_rng(len(sizes))
    return [
        {
            "x": rng.normal(size=(n, 3)).astype(dtype),
            "y": rng.integers(0, 2, size=n).astype(dtype),
        }
        for n in sizes
    ]


def logistic(theta, shard):
    """A number: the negative log likelihood."""
    z = shard["x"] @ theta
    return np.sum(np.logaddexp(0.0, z) - shard["y"] * z)


def statistics(theta, shard):
    """A tree: sums, and how many."""
    z = np.tanh(shard["x"] @ theta["w"] + theta["b"])
    return {"moments": np.stack([np.sum(z), np.sum(z * z)]), "rows": np.sum(shard["y"] >= 0.0)}


def per_row(theta, shard):
    """An array with a row for each of the shard's."""
    return np.sin(shard["x"] * theta)


def lowest(theta, shard):
    """What logsumexp is of: a number of any size."""
    return -800.0 + 500.0 * np.sum(theta) + 0.1 * np.sum(shard["x"] @ theta)
