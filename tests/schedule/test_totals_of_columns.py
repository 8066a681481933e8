"""Totals over rows for each of a few columns are kept in registers, and share the loop with others
over the same rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def logistic(w: Any, X: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (X @ w)))


def data(n: int, columns: int, order: Any = "C", dtype: Any = np.float64) -> tuple[Any, ...]:
    rng = np.random.default_rng(n + columns)
    given = rng.normal(size=columns), rng.normal(size=(n, columns)), np.sign(rng.normal(size=n))
    w, X, y = (x.astype(dtype) for x in given)
    return w, np.asarray(X, order=order), y


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 3, 500, 20_000])
def test_value_and_gradient(columns: int, n: int) -> None:
    w, X, y = data(n, columns)
    value, gradient = tg.jit(tg.value_and_grad(logistic))(w, X, y)
    z = -y * (X @ w)
    np.testing.assert_allclose(value, np.mean(np.logaddexp(0.0, z)), rtol=1e-12)
    np.testing.assert_allclose(gradient, (-y / (1 + np.exp(-z))) @ X / n, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_layouts_and_precisions(order: str, dtype: str) -> None:
    w, X, y = data(700, 3, order, dtype)
    found = tg.jit(tg.grad(logistic))(w, X, y)
    assert found.dtype == dtype
    z = -y * (X @ w)
    close = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found, (-y / (1 + np.exp(-z))) @ X / 700, rtol=close)


COMBINED = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "all": lambda a, k: np.all(a > -9, k),
    "any": lambda a, k: np.any(a > 2, k),
}


@pytest.mark.parametrize("name", COMBINED)
@pytest.mark.parametrize("n", [1, 40, 9000])
def test_what_combines_over_rows(name: str, n: int) -> None:
    """Of a transposed array, so that the short axis stands first and runs innermost."""
    X = data(n, 3)[1]
    if n == 40:
        X[7, 1] = np.nan

    def f(a: Any) -> Any:
        return COMBINED[name](a.T * 1.0, 1), COMBINED["sum"](np.cos(a), None)

    with np.errstate(all="ignore"):
        for found, expected in zip(tg.jit(f)(X), f(X), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_of_no_rows() -> None:
    found = tg.jit(lambda a: np.sum(a.T * 2.0, 1))(np.ones((0, 3)))
    np.testing.assert_array_equal(found, np.zeros(3))


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_rows_are_read_once(columns: int) -> None:
    source = tg.jit(tg.value_and_grad(logistic)).source(*data(500, columns))
    assert len(re.findall(r"for \w+ in range\(0, 500\)", source)) == 1
    assert len(re.findall(r"= X\[", source)) == columns


def test_of_all_sizes() -> None:
    jitted = tg.jit(tg.value_and_grad(logistic))
    for n in (3, 50, 51, 10_000):
        w, X, y = data(n, 3)
        value, gradient = jitted(w, X, y)
        z = -y * (X @ w)
        np.testing.assert_allclose(value, np.mean(np.logaddexp(0.0, z)), rtol=1e-12)
        np.testing.assert_allclose(gradient, (-y / (1 + np.exp(-z))) @ X / n, rtol=1e-10)


@pytest.mark.parametrize("shape", [(3, 500, 40), (1, 700, 16), (5, 1, 33), (2, 0, 20), (4, 90, 7)])
def test_weighed_rows_of_stacked_matrices_are_read_along_memory(shape: tuple[int, ...]) -> None:
    """Weights lie along the axis that is summed, and do not move with the columns."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape), rng.normal(size=shape[:2])

    def f(x: Any, w: Any) -> Any:
        return np.sum(w[:, :, None] * x, axis=1), np.sum(w, axis=1)

    compiled = tg.jit(f)
    for found, expected in zip(compiled(x, w), f(x, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    if shape[2] >= 16 and shape[1] > 15:
        assert re.search(r"x\[(\w+), (\w+), (\w+)\]", compiled.source(x, w)).groups() in (
            ("i", "j", "k"),
            ("0", "i", "j"),
        )
