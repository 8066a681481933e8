"""The cost of a clustering: squared distances of points to their nearest centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Floats, Function, Workload


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


def gradient_loop(centres: Floats, points: Floats) -> tuple[Floats]:
    result = np.zeros_like(centres)
    for i in range(points.shape[0]):
        best, at = np.inf, 0
        for j in range(centres.shape[0]):
            squared = 0.0
            for k in range(centres.shape[1]):
                squared += (points[i, k] - centres[j, k]) ** 2
            if squared < best:
                best, at = squared, j
        for k in range(centres.shape[1]):
            result[at, k] += 2.0 * (centres[at, k] - points[i, k])
    return (result,)


def hessian_product_loop(centres: Floats, points: Floats, v: Floats) -> tuple[Floats]:
    result = np.zeros_like(centres)
    for i in range(points.shape[0]):
        best, at = np.inf, 0
        for j in range(centres.shape[0]):
            squared = 0.0
            for k in range(centres.shape[1]):
                squared += (points[i, k] - centres[j, k]) ** 2
            if squared < best:
                best, at = squared, j
        for k in range(centres.shape[1]):
            result[at, k] += 2.0 * v[at, k]
    return (result,)


def in_torch(torch: Any) -> Function:
    def f(centres: Any, points: Any) -> Any:
        squared = torch.sum((points[:, None, :] - centres[None, :, :]) ** 2, dim=2)
        return torch.sum(torch.amin(squared, dim=1))

    return f


SIZES = {"small": {"n": 200, "k": 10, "d": 4}, "default": {"n": 10_000, "k": 100, "d": 8}, "large": {"n": 100_000, "k": 100, "d": 8}}

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
