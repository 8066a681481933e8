"""The cost of a clustering: squared distances of points to their nearest centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload


def cost(centres: Floats, points: Floats) -> Any:
    squared = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squared, axis=1))


def data(n: int, k: int, d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((n, d))
    return points[rng.choice(n, k, replace=False)] + 0.1 * rng.standard_normal((k, d)), points


def nearest(centres: Floats, points: Floats) -> Any:
    """The index of the nearest centre of each point."""
    return np.stack([np.sum((points - c) ** 2, axis=1) for c in centres]).argmin(axis=0)


def gradient(centres: Floats, points: Floats) -> list[Any]:
    which, result = nearest(centres, points), np.zeros_like(centres)
    np.add.at(result, which, 2 * (centres[which] - points))
    return [result]


def hessian_product(centres: Floats, points: Floats, v: Floats) -> list[Any]:
    counts = np.bincount(nearest(centres, points), minlength=len(centres))
    return [2 * counts[:, None] * v]


LANES = 64


def nearest_loop(centres: Floats, points: Floats) -> Any:
    """Sixty-four points at a time, so that distances and minima are vectors."""
    n, d, lanes = np.uint64(points.shape[0]), np.uint64(points.shape[1]), np.uint64(LANES)
    which, at = np.empty(points.shape[0], np.int64), np.empty(LANES, np.int64)
    block, squared, best = np.zeros((points.shape[1], LANES)), np.empty(LANES), np.empty(LANES)
    for start in range(np.uint64(0), n, lanes):
        count = min(lanes, n - start)
        for i in range(count):
            for c in range(d):
                block[c, i] = points[start + i, c]
        best[:] = np.inf
        for k in range(np.uint64(centres.shape[0])):
            squared[:] = 0.0
            for c in range(d):
                for i in range(lanes):
                    squared[i] += (block[c, i] - centres[k, c]) ** 2
            for i in range(lanes):
                closer = squared[i] < best[i]
                best[i] = squared[i] if closer else best[i]
                at[i] = k if closer else at[i]
        for i in range(count):
            which[start + i] = at[i]
    return which


def gradient_loop(centres: Floats, points: Floats) -> tuple[Floats]:
    which, result = nearest_loop(centres, points), np.zeros_like(centres)
    for i in range(np.uint64(points.shape[0])):
        for c in range(np.uint64(centres.shape[1])):
            result[which[i], c] += 2.0 * (centres[which[i], c] - points[i, c])
    return (result,)


def hessian_product_loop(centres: Floats, points: Floats, v: Floats) -> tuple[Floats]:
    counts = np.zeros(centres.shape[0])
    for k in nearest_loop(centres, points):
        counts[k] += 2.0
    return (counts.reshape((-1, 1)) * v,)


def in_torch(torch: Any) -> Function:
    def f(centres: Any, points: Any) -> Any:
        squared = torch.sum((points[:, None, :] - centres[None, :, :]) ** 2, dim=2)
        return torch.sum(torch.amin(squared, dim=1))

    return f


SIZES = {
    "small": {"n": 200, "k": 10, "d": 4},
    "default": {"n": 10_000, "k": 100, "d": 8},
    "large": {"n": 100_000, "k": 100, "d": 8},
}

WORKLOADS = (
    Workload(
        name="kmeans",
        derivative="grad",
        doc="k-means cost: a minimum over broadcast distances",
        function=cost,
        data=data,
        sizes=SIZES,
        reference=gradient,
        numba=gradient_loop,
        torch=in_torch,
    ),
    Workload(
        name="kmeans",
        derivative="hvp",
        doc="Hessian-vector product of the k-means cost",
        function=cost,
        data=data,
        sizes=SIZES,
        reference=hessian_product,
        numba=hessian_product_loop,
        torch=in_torch,
    ),
)
