"""Loops along which what is computed changes from element to element with a short period go over
whole periods; results are those of eager code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def pairs(x: Any) -> Any:
    return np.sum(np.sin(x[0::2] * x[1::2]))


def of_three(x: Any) -> Any:
    return np.sum(np.exp(0.1 * x[::3]) * x[1::3] * x[2::3])


def backwards(x: Any) -> Any:
    return np.sum(x[::-2] ** 3) + np.sum(x[1::2] ** 2)


def both_axes(x: Any) -> Any:
    y = x.reshape(6, -1)
    return np.sum(np.sin(y[::2, 1::2]) * y[1::2, ::2])


def levels(x: Any) -> Any:
    while x.shape[0] > 3:
        x = np.tanh(x[0::2]) * x[1::2] + x[0::2]
    return np.sum(x)


def by_column(x: Any) -> Any:
    """A sum over the axis with the period, and one over the other."""
    y = x.reshape(-1, 6)
    total = y * np.sum(y, axis=1)[:, None]
    return np.sum(np.sum(total[0::2] * total[1::2], axis=0) ** 2)


def of_rows(x: Any) -> Any:
    """The adjoint with a period is summed over its rows, one for each factor."""
    y = x.reshape(-1, 3)
    below = np.exp(y[:, 0])[:, None] * y
    return np.sum(below[0::2] * below[1::2])


FUNCTIONS = [pairs, of_three, backwards, both_axes, levels, by_column, of_rows]


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_eager(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).standard_normal(24)
    g = tg.value_and_grad(f)
    for found, expected in zip(tg.jit(g)(x), g(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(("step", "size"), [(2, 30), (3, 30), (2, 7)])
def test_every_start_and_length(step: int, size: int) -> None:
    x = np.random.default_rng(0).standard_normal((size, 2))
    for start in range(step):
        for stop in (size, size - 1):
            g = tg.grad(lambda x, start=start, stop=stop: np.sum(x[start:stop:step] ** 3) * x[0, 0])
            np.testing.assert_allclose(tg.jit(g)(x), g(x), rtol=1e-13, atol=1e-13)


def test_native_code_keeps_nan_inf_and_signs_of_zeros() -> None:
    x = np.arange(32.0)
    x[[1, 6, 9]] = np.nan, np.inf, -np.inf
    weight = -np.zeros(16)

    def f(x: Any) -> Any:
        return np.sum(x[0::2] * x[1::2]) + np.sum(x[1::2] * weight)

    with np.errstate(invalid="ignore"):
        found, expected = tg.jit(tg.grad(f))(x), tg.grad(f)(x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_no_place_asks_for_its_part() -> None:
    x = np.ones((32, 50))
    f = tg.jit(tg.grad(lambda x: np.sum(np.exp(x[0::2]) * x[1::2])))
    assert "%" not in f.source(x).partition('"""')[2].partition('"""')[2]
