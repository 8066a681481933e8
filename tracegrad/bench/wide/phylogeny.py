"""Phylogenetics: the likelihood of a tree by Felsenstein's pruning, with the model of Jukes and
Cantor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Workload
from .torch_text import same_text


def likelihood(lengths: Floats, leaves: Floats, counts: Floats) -> Any:
    """lengths[2 k - 2] of the branches of a balanced tree, from the leaves to the root;
    leaves[k, sites, 4], 1.0 at the base that is seen; counts[sites]."""
    partial, start = leaves, 0
    while partial.shape[0] > 1:
        count = partial.shape[0]
        kept = np.exp(-4.0 / 3.0 * lengths[start : start + count])[:, None, None]
        below = kept * partial + (1.0 - kept) / 4.0 * np.sum(partial, axis=2)[:, :, None]
        partial, start = below[0::2] * below[1::2], start + count
    return np.sum(counts * np.log(np.sum(partial[0], axis=1) / 4.0))


def data(leaves: int, sites: int) -> tuple[Floats, ...]:
    """Bases that mostly agree."""
    rng = np.random.default_rng(0)
    common = rng.integers(0, 4, sites)
    seen = np.where(rng.random((leaves, sites)) < 0.8, common, rng.integers(0, 4, (leaves, sites)))
    return (
        rng.uniform(0.02, 0.3, 2 * leaves - 2),
        np.eye(4)[seen],
        rng.integers(1, 9, sites).astype(np.float64),
    )


def loops(lengths: Floats, leaves: Floats, counts: Floats) -> tuple[float, Floats]:
    """Site by site: from the leaves to the root and back; two branches meet in one node."""
    first, nodes = leaves.shape[0], 2 * leaves.shape[0] - 1
    kept, slope, total = np.exp(-4.0 / 3.0 * lengths), np.zeros_like(lengths), 0.0
    partial, below, sums = np.empty((nodes, 4)), np.empty((nodes, 4)), np.empty(nodes)
    above = np.empty((nodes, 4))
    for site in range(counts.size):
        for node in range(nodes):
            if node < first:
                for s in range(4):
                    partial[node, s] = leaves[node, site, s]
            else:
                left = 2 * (node - first)
                for s in range(4):
                    partial[node, s] = below[left, s] * below[left + 1, s]
            sums[node] = partial[node, 0] + partial[node, 1] + partial[node, 2] + partial[node, 3]
            if node < nodes - 1:
                rest = (1.0 - kept[node]) / 4.0 * sums[node]
                for s in range(4):
                    below[node, s] = kept[node] * partial[node, s] + rest
        total += counts[site] * math.log(sums[nodes - 1] / 4.0)
        for s in range(4):
            above[nodes - 1, s] = counts[site] / sums[nodes - 1]
        for back in range(nodes - first):
            node = nodes - 1 - back
            left = 2 * (node - first)
            for child, other in ((left, left + 1), (left + 1, left)):
                together, by_kept = 0.0, 0.0
                for s in range(4):
                    bar = above[node, s] * below[other, s]
                    above[child, s] = bar
                    together += bar
                    by_kept += bar * (partial[child, s] - sums[child] / 4.0)
                slope[child] += by_kept
                for s in range(4):
                    above[child, s] = (
                        kept[child] * above[child, s] + (1.0 - kept[child]) / 4.0 * together
                    )
    return total, -4.0 / 3.0 * kept * slope


WORKLOADS = (
    Workload(
        name="phylogeny",
        derivative="value_and_grad",
        doc="likelihood of a tree of species: levels of small products",
        function=likelihood,
        data=data,
        sizes={
            "small": {"leaves": 8, "sites": 9},
            "default": {"leaves": 32, "sites": 2_000},
            "large": {"leaves": 64, "sites": 20_000},
        },
        reference=loops,
        numba=loops,
        torch=same_text(likelihood),
    ),
)
