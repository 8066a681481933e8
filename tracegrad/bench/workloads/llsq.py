"""Least squares fit of a polynomial to a step; the matrix of powers need never be stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload


def half_squared_residual(x: Floats, t: Floats) -> Any:
    powers = t[:, None] ** np.arange(x.shape[0])
    return 0.5 * np.sum((np.sign(t) - np.sum(x * powers, axis=1)) ** 2)


def data(n: int, m: int) -> tuple[Floats, Floats]:
    return np.random.default_rng(0).standard_normal(m), -1 + 2 * np.arange(n) / (n - 1)


def reference(x: Floats, t: Floats) -> list[Any]:
    matrix = np.vander(t, x.size, increasing=True)
    return [matrix.T @ (matrix @ x - np.sign(t))]


LANES = 64


def loops(x: Floats, t: Floats) -> tuple[Floats]:
    """Sixty-four points at a time: the recurrence of the powers is serial for one point, and these
    run side by side."""
    m, lanes = np.uint64(x.size), np.uint64(LANES)
    result, sums = np.empty_like(x), np.zeros((x.size, LANES))
    part, power, residual = np.zeros(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, t.size, LANES):
        count = min(LANES, t.size - start)
        part[:count] = t[start : start + count]
        power[:], residual[:] = 1.0, -np.sign(part)
        for j in range(m):
            for i in range(lanes):
                residual[i] += x[j] * power[i]
                power[i] *= part[i]
        residual[count:] = 0.0
        for j in range(m):
            for i in range(lanes):
                sums[j, i] += residual[i]
                residual[i] *= part[i]
    for j in range(m):
        result[j] = sums[j].sum()
    return (result,)


def in_torch(torch: Any) -> Function:
    def f(x: Any, t: Any) -> Any:
        powers = t[:, None] ** torch.arange(x.shape[0])
        return 0.5 * torch.sum((torch.sign(t) - torch.sum(x * powers, dim=1)) ** 2)

    return f


LLSQ = Workload(
    name="llsq",
    derivative="grad",
    doc="least squares with an implied n x m matrix: fusion of a broadcast into two reductions",
    function=half_squared_residual,
    data=data,
    sizes={
        "small": {"n": 16, "m": 128},
        "default": {"n": 4_096, "m": 128},
        "large": {"n": 65_536, "m": 128},
    },
    reference=reference,
    numba=loops,
    torch=in_torch,
)
WORKLOADS = (
    LLSQ,
    replace(
        LLSQ,
        variant="short",
        doc="the same least squares over few points, less work than a call costs elsewhere",
        sizes={
            "small": {"n": 5, "m": 7},
            "default": {"n": 16, "m": 128},
            "large": {"n": 16, "m": 128},
        },
    ),
)
