"""A small neural network: products, tanh, cross-entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Floor, Function, Workload


def loss(w1: Floats, b1: Floats, w2: Floats, b2: Floats, x: Floats, labels: Floats) -> Any:
    """Mean cross-entropy; the labels are one-hot rows."""
    logits = np.tanh(x @ w1 + b1) @ w2 + b2
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - np.sum(labels * shifted, axis=1))


def data(batch: int, inputs: int, hidden: int, classes: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((inputs, hidden)) / math.sqrt(inputs),
        0.1 * rng.standard_normal(hidden),
        rng.standard_normal((hidden, classes)) / math.sqrt(hidden),
        0.1 * rng.standard_normal(classes),
        rng.standard_normal((batch, inputs)),
        np.eye(classes)[rng.integers(0, classes, batch)],
    )


def reference(
    w1: Floats, b1: Floats, w2: Floats, b2: Floats, x: Floats, labels: Floats
) -> list[Any]:
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    d_logits = (np.exp(log_p) - labels) / len(x)
    d_h = (d_logits @ w2.T) * (1 - h**2)
    return [
        -np.sum(labels * log_p) / len(x),
        x.T @ d_h,
        d_h.sum(axis=0),
        h.T @ d_logits,
        d_logits.sum(axis=0),
    ]


def loops(
    w1: Floats, b1: Floats, w2: Floats, b2: Floats, x: Floats, labels: Floats
) -> tuple[Any, ...]:
    n, classes = labels.shape
    h = x @ w1
    for i in range(n):
        for j in range(b1.size):
            h[i, j] = math.tanh(h[i, j] + b1[j])
    p, total = h @ w2, 0.0
    for i in range(n):
        largest, norm = -np.inf, 0.0
        for j in range(classes):
            p[i, j] += b2[j]
            largest = max(largest, p[i, j])
        for j in range(classes):
            total -= labels[i, j] * (p[i, j] - largest)
            p[i, j] = math.exp(p[i, j] - largest)
            norm += p[i, j]
        total += math.log(norm)
        for j in range(classes):
            p[i, j] = (p[i, j] / norm - labels[i, j]) / n
    d_h, d_b1, d_b2 = p @ w2.T, np.zeros_like(b1), np.zeros_like(b2)
    for i in range(np.uint64(n)):
        for j in range(np.uint64(b1.size)):
            d_h[i, j] *= 1.0 - h[i, j] * h[i, j]
            d_b1[j] += d_h[i, j]
        for j in range(np.uint64(classes)):
            d_b2[j] += p[i, j]
    return total / n, x.T @ d_h, d_b1, h.T @ p, d_b2


def products(
    w1: Floats, b1: Floats, w2: Floats, b2: Floats, x: Floats, labels: Floats
) -> tuple[Floats, ...]:
    """The five products, of matrices of the same shapes and layouts."""
    h = x @ w1
    return h, h @ w2, labels @ w2.T, x.T @ h, h.T @ labels


def in_torch(torch: Any) -> Function:
    def f(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, labels)

    return f


def in_casadi(ca: Any) -> Function:
    def f(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
        rows = x.shape[0]
        logits = ca.tanh(x @ w1 + ca.repmat(b1.T, rows, 1)) @ w2 + ca.repmat(b2.T, rows, 1)
        # tanh bounds the logits, so that the exponentials need no shift.
        return (ca.sum1(ca.log(ca.sum2(ca.exp(logits)))) - ca.sum1(ca.sum2(labels * logits))) / rows

    return f


WORKLOADS = (
    Workload(
        name="mlp",
        derivative="value_and_grad",
        doc="a network of two layers with cross-entropy: matrix products with fused surroundings",
        function=loss,
        data=data,
        sizes={
            "small": {"batch": 8, "inputs": 6, "hidden": 5, "classes": 3},
            "default": {"batch": 128, "inputs": 64, "hidden": 128, "classes": 10},
            "large": {"batch": 1_024, "inputs": 256, "hidden": 512, "classes": 10},
        },
        argnums=(0, 1, 2, 3),
        reference=reference,
        numba=loops,
        floor=Floor("BLAS", products, products),
        torch=in_torch,
        casadi=in_casadi,
    ),
)
