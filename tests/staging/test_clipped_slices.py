"""Slices with an end that only a run knows are cut off as NumPy's are, read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_slices import by_source
from tests.staging.ways import VALUES, check_gradient, check_value

PLACES = (-9, -6, -5, -2, -1, 0, 1, 2, 4, 5, 6, 2**40, -(2**40))
"""Around the ends of five elements, and far away."""


def up_to(x: Any, k: Any) -> Any:
    return np.sum(x[:k] ** 2) + 10 * len(x[:k])


def behind(x: Any, k: Any) -> Any:
    return np.sum(x[k:] ** 2) + 10 * len(x[k:])


def without_the_first(x: Any, k: Any) -> Any:
    return np.sum(x[1:k] ** 2) + 10 * len(x[1:k])


def rows_up_to(x: Any, k: Any) -> Any:
    table = np.outer(x, x)
    return np.sum(table[1, :k]) + np.sum(table[:k] * x)


def written(x: Any, k: Any) -> Any:
    y = x.copy()
    y[:k] *= 2.0
    row = y[k:]
    row[:] = row + 1.0
    y[1:k] = -1.0
    return np.sum(y**3)


@pytest.mark.parametrize("f", [up_to, behind, without_the_first, rows_up_to, written])
def test_every_end(f: Callable[..., Any]) -> None:
    x = np.array([0.3, -1.2, 2.0, 0.7, -0.4])
    both: Any = tg.jit(tg.value_and_grad(f))
    for k in PLACES:
        _, (value, gradient) = by_source(both, x, np.int64(k))
        np.testing.assert_allclose(value, f(x.copy(), k), rtol=1e-13, err_msg=str(k))
        np.testing.assert_allclose(gradient, tg.grad(f)(x, k), rtol=1e-12, err_msg=str(k))


def counted(x: Any) -> Any:
    k = 0
    while k < x.shape[0] and x[k] < 1.0:
        k += 1
    return np.sum(x[:k] ** 2) * np.sum(x[k:] ** 3)


def packed(x: Any) -> Any:
    y, top = np.zeros(x.shape[0]), 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[top] = x[i]
            top += 1
    return np.sum(y[:top] ** 2) / top


def one_longer(x: Any) -> Any:
    """The last slice is shorter than it says."""
    total = 0.0
    for k in range(x.shape[0]):
        total += np.sum(x[: k + 2] ** 2) * x[k]
    return total


def as_many_as_before(x: Any) -> Any:
    total, top = 0.0, 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            top += 1
        total += np.sum(x[:top] * x[:top]) * x[i]
    return total


@pytest.mark.parametrize("way", [*VALUES, "grad", "jit of grad"])
@pytest.mark.parametrize("f", [counted, packed, one_longer, as_many_as_before])
def test_in_programs(f: Callable[..., Any], way: str) -> None:
    x = np.array([0.3, -1.2, 0.8, 1.7, -0.4, 0.9, 2.2])
    (check_value if way in VALUES else check_gradient)(f, way, x)


def test_second_derivatives() -> None:
    x = np.array([0.3, -1.2, 0.8, 1.7, -0.4])
    found = tg.jit(tg.hessian(counted))(x)
    np.testing.assert_allclose(found, tg.hessian(counted)(x), rtol=1e-10)


def written_between(x: Any, j: Any, k: Any) -> Any:
    table = np.outer(x, x)
    table[1, j:k] = 2.0 * x[j:k]
    table[j:k] += 1.0
    return np.sum(table**2)


PAIRS = ((-9, -2), (-2, 9), (1, 4), (3, 1), (2**40, -(2**40)), (5, 5))


def test_both_ends() -> None:
    f = written_between
    x = np.array([0.3, -1.2, 2.0, 0.7, -0.4])
    both: Any = tg.jit(tg.value_and_grad(f))
    for j, k in PAIRS:
        _, (value, gradient) = by_source(both, x, np.int64(j), np.int64(k))
        np.testing.assert_allclose(value, f(x.copy(), j, k), rtol=1e-13, err_msg=f"{j}, {k}")
        np.testing.assert_allclose(gradient, tg.grad(f)(x, j, k), rtol=1e-12, err_msg=f"{j}, {k}")


def running_means(x: Any) -> Any:
    out = np.zeros(x.shape[0])
    for k in range(x.shape[0]):
        out[k] = np.mean(x[max(0, k - 2) : k + 3])
    return np.sum(out**2)


def around_the_largest(x: Any) -> Any:
    at = 0
    for k in range(x.shape[0]):
        if x[k] > x[at]:
            at = k
    return np.sum(x[max(at - 1, 0) : at + 3] ** 2) + np.sum(x[-at:at])


@pytest.mark.parametrize("way", ["jit", "jit of vmap", "grad", "jit of grad"])
@pytest.mark.parametrize("f", [running_means, around_the_largest])
def test_both_ends_in_programs(f: Callable[..., Any], way: str) -> None:
    x = np.array([0.3, -1.2, 0.8, 1.7, -0.4, 0.9, 2.2])
    (check_value if way in VALUES else check_gradient)(f, way, x)
