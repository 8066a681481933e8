"""Least squares fit of a polynomial to a step; the matrix of powers need never be stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Floats, Function, Workload


def half_squared_residual(x: Floats, t: Floats) -> Any:
    powers = t[:, None] ** np.arange(x.shape[0])
    return 0.5 * np.sum((np.sign(t) - np.sum(x * powers, axis=1)) ** 2)


def data(n: int, m: int) -> tuple[Floats, Floats]:
    return np.random.default_rng(0).standard_normal(m), -1 + 2 * np.arange(n) / (n - 1)


def reference(x: Floats, t: Floats) -> list[Any]:
    matrix = np.vander(t, x.size, increasing=True)
    return [matrix.T @ (matrix @ x - np.sign(t))]


def loops(x: Floats, t: Floats) -> tuple[Floats]:
    m, result, powers = x.size, np.zeros_like(x), np.empty_like(x)
    for i in range(t.size):
        power, residual = 1.0, -np.sign(t[i])
        for j in range(m):
            powers[j] = power
            residual += x[j] * power
            power *= t[i]
        for j in range(m):
            result[j] += residual * powers[j]
    return (result,)


def in_torch(torch: Any) -> Function:
    def f(x: Any, t: Any) -> Any:
        powers = t[:, None] ** torch.arange(x.shape[0])
        return 0.5 * torch.sum((torch.sign(t) - torch.sum(x * powers, dim=1)) ** 2)

    return f


WORKLOADS = (
    Workload(
        name="llsq",
        derivative="grad",
        doc="least squares with an implied n x m matrix: fusion of a broadcast into two reductions",
        function=half_squared_residual,
        data=data,
        sizes={"small": {"n": 16, "m": 128}, "default": {"n": 4_096, "m": 128}, "large": {"n": 65_536, "m": 128}},
        reference=reference,
        numba=loops,
        torch=in_torch,
    ),
)
