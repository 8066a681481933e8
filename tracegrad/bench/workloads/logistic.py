"""Logistic regression with an L2 penalty, on a real table and on random data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.linalg import blas

from ..workload import Floats, Floor, Function, Workload

PENALTY = 1e-3


def loss(w: Floats, x: Floats, y: Floats) -> Any:
    """The mean over rows; the labels y are -1 and 1."""
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5 * PENALTY * np.sum(w**2)


def random_data(n: int, d: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((n, d)), rng.standard_normal(d) / math.sqrt(d)
    return (
        rng.standard_normal(d) / math.sqrt(d),
        x,
        np.where(x @ w + rng.logistic(size=n) > 0, 1.0, -1.0),
    )


def breast_cancer(n: int, d: int) -> tuple[Floats, ...]:
    """The breast cancer table that comes with scikit-learn (569 x 30), standardised."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise ImportError(
            "the breast cancer table comes with scikit-learn: pip install 'tracegrad[bench]'"
        ) from None
    x, y = load_breast_cancer(return_X_y=True)
    x, y = x[:n, :d], y[:n]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return (
        0.1 * np.random.default_rng(0).standard_normal(x.shape[1]),
        np.ascontiguousarray(x),
        np.where(y == 1, 1.0, -1.0),
    )


def gradient(w: Floats, x: Floats, y: Floats) -> list[Any]:
    margin = y * (x @ w)
    value = -np.mean(special.log_expit(margin)) + 0.5 * PENALTY * (w @ w)
    return [value, x.T @ (-y * special.expit(-margin)) / len(y) + PENALTY * w]


def hessian(w: Floats, x: Floats, y: Floats) -> list[Any]:
    p = special.expit(x @ w)
    return [x.T @ ((p * (1 - p) / len(y))[:, None] * x) + PENALTY * np.eye(len(w))]


def gradient_loop(w: Floats, x: Floats, y: Floats) -> tuple[Any, Floats]:
    n = y.size
    margin, value = x @ w, 0.0
    for i in range(np.uint64(n)):
        z = y[i] * margin[i]
        e = math.exp(-abs(z))
        value += math.log1p(e) + max(-z, 0.0)
        margin[i] = -y[i] * (1.0 if z < 0 else e) / ((1.0 + e) * n)
    return value / n + 0.5 * PENALTY * (w @ w), margin @ x + PENALTY * w


def hessian_loop(w: Floats, x: Floats, y: Floats) -> tuple[Floats]:
    e = np.exp(-np.abs(x @ w))
    weights = e / ((1.0 + e) ** 2 * y.size)
    result = x.T @ (weights.reshape((-1, 1)) * x)
    for j in range(w.size):
        result[j, j] += PENALTY
    return (result,)


def gradient_products(w: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return x @ w, y @ x


def hessian_products(w: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The product of a matrix with its own transpose takes half the work of a general one."""
    return np.asarray(blas.dgemv(1.0, x.T, w, trans=1)), np.asarray(blas.dsyrk(1.0, x.T))


def symmetric_products(w: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    return x @ w, np.triu(x.T @ x)


GRADIENT_FLOOR = Floor("BLAS", gradient_products, gradient_products)
HESSIAN_FLOOR = Floor("BLAS", hessian_products, symmetric_products, compiled=False)


def in_torch(torch: Any) -> Function:
    def f(w: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.softplus(
            -y * (x @ w), threshold=1000
        ).mean() + 0.5 * PENALTY * torch.sum(w**2)

    return f


def in_casadi(ca: Any) -> Function:
    def f(w: Any, x: Any, y: Any) -> Any:
        z = -y * (x @ w)
        return ca.sum1(ca.fmax(z, 0) + ca.log1p(ca.exp(-ca.fabs(z)))) / x.shape[
            0
        ] + 0.5 * PENALTY * ca.sumsqr(w)

    return f


REAL = {"small": {"n": 100, "d": 5}, "default": {"n": 569, "d": 30}, "large": {"n": 569, "d": 30}}
RANDOM = {
    "small": {"n": 200, "d": 10},
    "default": {"n": 10_000, "d": 100},
    "large": {"n": 100_000, "d": 100},
}

WORKLOADS = (
    Workload(
        name="logistic",
        variant="breast cancer",
        derivative="value_and_grad",
        doc="logistic regression on scikit-learn's breast cancer table",
        function=loss,
        data=breast_cancer,
        sizes=REAL,
        reference=gradient,
        numba=gradient_loop,
        torch=in_torch,
        casadi=in_casadi,
    ),
    Workload(
        name="logistic",
        variant="breast cancer",
        derivative="hessian",
        doc="Hessian of logistic regression on scikit-learn's breast cancer table",
        function=loss,
        data=breast_cancer,
        sizes=REAL,
        reference=hessian,
        numba=hessian_loop,
        torch=in_torch,
        casadi=in_casadi,
    ),
    Workload(
        name="logistic",
        variant="random",
        derivative="value_and_grad",
        doc="logistic regression on random data",
        function=loss,
        data=random_data,
        sizes=RANDOM,
        reference=gradient,
        numba=gradient_loop,
        floor=GRADIENT_FLOOR,
        torch=in_torch,
        casadi=in_casadi,
    ),
    Workload(
        name="logistic",
        variant="random",
        derivative="hessian",
        doc="Hessian of logistic regression on random data",
        function=loss,
        data=random_data,
        sizes=RANDOM,
        reference=hessian,
        numba=hessian_loop,
        floor=HESSIAN_FLOOR,
        torch=in_torch,
    ),
)
