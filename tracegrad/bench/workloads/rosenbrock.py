"""Rosenbrock's valley: memory bandwidth at a million variables, a tridiagonal Hessian at a
hundred."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Floor, Function, Workload


def rosenbrock(x: Floats) -> Any:
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


def data(n: int) -> tuple[Floats]:
    return (np.random.default_rng(0).uniform(-2.0, 2.0, n),)


def gradient(x: Floats) -> list[Any]:
    valley, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    result = np.zeros_like(x)
    result[:-1] = -2 * rest - 400 * x[:-1] * valley
    result[1:] += 200 * valley
    return [np.sum(rest**2) + 100 * np.sum(valley**2), result]


def bands(x: Floats) -> tuple[Floats, Floats]:
    """The diagonal of the Hessian and the one beside it."""
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 2 - 400 * (x[1:] - 3 * x[:-1] ** 2)
    diagonal[1:] += 200
    return diagonal, -400 * x[:-1]


def hessian(x: Floats) -> list[Any]:
    diagonal, beside = bands(x)
    return [np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)]


def hessian_product(x: Floats, v: Floats) -> list[Any]:
    diagonal, beside = bands(x)
    result = diagonal * v
    result[:-1] += beside * v[1:]
    result[1:] += beside * v[:-1]
    return [result]


def copy(x: Floats) -> tuple[Floats]:
    return (x.copy(),)


# Indices of loops are unsigned: the wraparound of negative ones keeps Numba's loops from being
# vectorised.


def gradient_loop(x: Floats) -> tuple[float, Floats]:
    one, last = np.uint64(1), np.uint64(x.size - 1)
    result = np.empty_like(x)
    valley = x[1] - x[0] * x[0]
    result[0] = -2.0 * (1.0 - x[0]) - 400.0 * x[0] * valley
    total = (1.0 - x[0]) ** 2 + 100.0 * valley * valley
    for i in range(one, last):
        a, rest = x[i], 1.0 - x[i]
        valley = x[i + one] - a * a
        total += rest * rest + 100.0 * valley * valley
        result[i] = -2.0 * rest - 400.0 * a * valley + 200.0 * (a - x[i - one] * x[i - one])
    result[last] = 200.0 * (x[last] - x[last - one] ** 2)
    return total, result


def hessian_loop(x: Floats) -> tuple[Floats]:
    one, last = np.uint64(1), np.uint64(x.size - 1)
    result = np.zeros((x.size, x.size))
    for i in range(last):
        result[i, i] += 2.0 - 400.0 * (x[i + one] - 3.0 * x[i] * x[i])
        result[i + one, i + one] += 200.0
        result[i, i + one] = result[i + one, i] = -400.0 * x[i]
    return (result,)


def hessian_product_loop(x: Floats, v: Floats) -> tuple[Floats]:
    one, last = np.uint64(1), np.uint64(x.size - 1)
    result = np.empty_like(x)
    result[0] = (2.0 - 400.0 * (x[1] - 3.0 * x[0] * x[0])) * v[0] - 400.0 * x[0] * v[1]
    for i in range(one, last):
        before, a = x[i - one], x[i]
        result[i] = (202.0 - 400.0 * (x[i + one] - 3.0 * a * a)) * v[i] - 400.0 * (
            a * v[i + one] + before * v[i - one]
        )
    result[last] = 200.0 * v[last] - 400.0 * x[last - one] * v[last - one]
    return (result,)


def in_torch(torch: Any) -> Function:
    def f(x: Any) -> Any:
        return torch.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)

    return f


def in_casadi(ca: Any) -> Function:
    def f(x: Any) -> Any:
        return ca.sum1((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)

    return f


WORKLOADS = (
    Workload(
        name="rosenbrock",
        derivative="value_and_grad",
        doc="chained Rosenbrock function: shifted slices, limited by memory bandwidth",
        function=rosenbrock,
        data=data,
        sizes={"small": {"n": 10_000}, "default": {"n": 1_000_000}, "large": {"n": 10_000_000}},
        reference=gradient,
        numba=gradient_loop,
        floor=Floor("copy", copy, copy),
        elementwise=True,
        torch=in_torch,
        casadi=in_casadi,
    ),
    Workload(
        name="rosenbrock",
        derivative="hessian",
        doc="dense Hessian of the chained Rosenbrock function",
        function=rosenbrock,
        data=data,
        sizes={"small": {"n": 10}, "default": {"n": 100}, "large": {"n": 500}},
        reference=hessian,
        numba=hessian_loop,
        torch=in_torch,
        casadi=in_casadi,
    ),
    Workload(
        name="rosenbrock",
        derivative="hvp",
        doc="Hessian-vector product of the chained Rosenbrock function",
        function=rosenbrock,
        data=data,
        sizes={"small": {"n": 100}, "default": {"n": 10_000}, "large": {"n": 1_000_000}},
        reference=hessian_product,
        numba=hessian_product_loop,
        elementwise=True,
        torch=in_torch,
        casadi=in_casadi,
    ),
)
