"""Log-sum-exp, written from max, exp and sum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload


def logsumexp(x: Floats) -> Any:
    a = np.max(x)
    return a + np.log(np.sum(np.exp(x - a)))


def data(n: int) -> tuple[Floats]:
    return (np.random.default_rng(0).normal(0.0, 3.0, n),)


def reference(x: Floats) -> list[Any]:
    weights = np.exp(x - x.max())
    return [weights / weights.sum()]


def loops(x: Floats) -> tuple[Floats]:
    n, largest, total, result = np.uint64(x.size), np.full(8, -np.inf), 0.0, np.empty_like(x)
    for i in range(n):
        # Eight running maxima, which do not wait for one another.
        lane = i & np.uint64(7)
        largest[lane] = x[i] if x[i] > largest[lane] else largest[lane]
    a = largest.max()
    for i in range(n):
        result[i] = math.exp(x[i] - a)
        total += result[i]
    for i in range(n):
        result[i] *= 1.0 / total
    return (result,)


def in_torch(torch: Any) -> Function:
    def f(x: Any) -> Any:
        a = torch.max(x)
        return a + torch.log(torch.sum(torch.exp(x - a)))

    return f


def in_casadi(ca: Any) -> Function:
    def f(x: Any) -> Any:
        a = ca.mmax(x)
        return a + ca.log(ca.sum1(ca.exp(x - a)))

    return f


LSE = Workload(
    name="lse",
    derivative="grad",
    doc="log-sum-exp: reductions that depend on one another",
    function=logsumexp,
    data=data,
    sizes={"small": {"n": 2_500}, "default": {"n": 320_000}, "large": {"n": 5_000_000}},
    reference=reference,
    numba=loops,
    torch=in_torch,
    casadi=in_casadi,
)
WORKLOADS = (
    LSE,
    replace(
        LSE,
        variant="short",
        doc="log-sum-exp of few numbers, which stay in the cache",
        sizes={"small": {"n": 100}, "default": {"n": 2_500}, "large": {"n": 2_500}},
    ),
)
