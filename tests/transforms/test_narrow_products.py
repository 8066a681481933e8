"""Products of a narrow matrix with one that is computed for it are sums in the loop that computes
it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

RNG = np.random.default_rng(8)
ROWS, WIDE = 300, 33


def left(w: Any, x: Any) -> Any:
    return w.T @ (x * x - 1.0)


def right(w: Any, x: Any) -> Any:
    return (x * x - 1.0).T @ w


def behind_a_row(w: Any, x: Any) -> Any:
    """What is multiplied depends on a minimum of its row."""
    return w.T @ np.where(x == np.min(x, axis=1, keepdims=True), x, 0.0)


def gradient(w: Any, x: Any) -> Any:
    return tg.grad(lambda x: np.sum(np.tanh(w @ x) ** 2))(x)


def given(columns: int, dtype: Any) -> tuple[Any, Any]:
    return RNG.normal(size=(ROWS, columns)).astype(dtype), RNG.normal(size=(ROWS, WIDE)).astype(
        dtype
    )


def products(f: Any, *args: Any) -> int:
    return [n.op.name for n in tg.jit(f).graphs(*args)[1].nodes].count("matmul")


@pytest.mark.parametrize("f", [left, right, behind_a_row])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 3, 4])
def test_values(f: Any, dtype: Any, columns: int) -> None:
    args = given(columns, dtype)
    found = tg.jit(f)(*args)
    assert found.dtype == dtype
    assert not products(f, *args)
    tolerance = 1e-12 if dtype is np.float64 else 2e-5
    np.testing.assert_allclose(found, f(*args), rtol=tolerance, atol=tolerance * ROWS)


def test_gradient() -> None:
    w, x = RNG.normal(size=(ROWS, 3)), RNG.normal(size=(3, WIDE))
    assert not products(gradient, w, x)
    np.testing.assert_allclose(tg.jit(gradient)(w, x), gradient(w, x), rtol=1e-11)


@pytest.mark.parametrize("f", [left, right, behind_a_row])
def test_special_values(f: Any) -> None:
    """A zero times an infinite number is NaN, in the sums as in the product."""
    w, x = given(2, np.float64)
    w[3, 0], w[7, 1], w[20] = 0.0, np.nan, np.inf
    x[3, 4], x[9, 5], x[20, 6] = np.inf, np.nan, 1.0
    with np.errstate(invalid="ignore"):
        expected = f(w, x)
    np.testing.assert_allclose(tg.jit(f)(w, x), expected, rtol=1e-12)


def test_sizes_and_threads() -> None:
    """One code for any number of rows, with the same bits for any number of threads."""
    f = tg.jit(left)
    for rows in (100, 5_000, 40, 0):
        w, x = RNG.normal(size=(rows, 3)), RNG.normal(size=(rows, WIDE))
        np.testing.assert_allclose(f(w, x), left(w, x), rtol=1e-11, atol=1e-11)
    w, x = RNG.normal(size=(20_000, 3)), RNG.normal(size=(20_000, WIDE))
    threads = tg.get_num_threads()
    try:
        results = []
        for number in (1, 2, 3):
            tg.set_num_threads(number)
            results.append(f(w, x))
    finally:
        tg.set_num_threads(threads)
    assert all(np.array_equal(results[0], r) for r in results)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda w, x: w.T @ x, [(300, 3), (300, 33)]),  # it lies in memory
        (left, [(300, 5), (300, 33)]),  # too many sums
        (left, [(300, 3), (300, 15)]),  # short rows
        (left, [(20, 3), (20, 33)]),  # few rows
        (lambda w, x: (w.T @ np.exp(x), np.exp(x)), [(300, 3), (300, 33)]),  # it is stored anyway
    ],
)
def test_others_stay_products(f: Any, shapes: Any) -> None:
    assert products(f, *map(np.ones, shapes)) == 1
