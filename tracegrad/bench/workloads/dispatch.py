"""The cost of a call: four numbers in, a value and four numbers out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload


def sum_of_squared_sines(x: Floats) -> Any:
    return np.sum(np.sin(x) ** 2)


def data(n: int) -> tuple[Floats]:
    return (np.random.default_rng(0).standard_normal(n),)


def reference(x: Floats) -> list[Any]:
    s, c = np.sin(x), np.cos(x)
    return [s @ s, 2 * s * c]


def loops(x: Floats) -> tuple[float, Floats]:
    total, gradient = 0.0, np.empty_like(x)
    for i in range(x.size):
        s = math.sin(x[i])
        total += s * s
        gradient[i] = 2.0 * s * math.cos(x[i])
    return total, gradient


def in_torch(torch: Any) -> Function:
    def f(x: Any) -> Any:
        return (torch.sin(x) ** 2).sum()

    return f


def in_casadi(ca: Any) -> Function:
    def f(x: Any) -> Any:
        return ca.sum1(ca.sin(x) ** 2)

    return f


WORKLOADS = (
    Workload(
        name="dispatch",
        derivative="value_and_grad",
        doc="sum(sin(x)^2) of four numbers: what a call costs",
        function=sum_of_squared_sines,
        data=data,
        sizes={"small": {"n": 4}, "default": {"n": 4}, "large": {"n": 4}},
        reference=reference,
        numba=loops,
        call_bound=True,
        elementwise=True,
        torch=in_torch,
        casadi=in_casadi,
    ),
)
