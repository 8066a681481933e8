"""Writes behind a condition become writes of what it chooses, where nothing waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import by_source


def shortest(x: Any) -> Any:
    d = np.outer(x, x) + 3.0
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


def swaps(x: Any) -> Any:
    a = x.copy()
    for phase in range(a.shape[0]):
        for i in range(phase % 2, a.shape[0] - 1, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return a


def two_arrays(x: Any) -> Any:
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(3):
        for i in range(a.shape[0]):
            b[i] = b[i] + a[i]
            if a[i] > b[i]:
                b[i] = a[i]
                a[i] = -b[i]
    return a + 10.0 * b


def bubbles(x: Any) -> Any:
    a = x.copy()
    for _ in range(a.shape[0]):
        for i in range(a.shape[0] - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return a


def one_place(x: Any) -> Any:
    best = np.full(2, -9.0)
    for _ in range(3):
        for i in range(x.shape[0]):
            if x[i] > best[1]:
                best[1] = x[i]
    return best


def one_behind_the_other(x: Any) -> Any:
    a = x.copy()
    for _ in range(3):
        for i in range(1, a.shape[0]):
            if a[i] > a[i - 1]:
                a[i] = a[i - 1] + 0.5
    return a


@pytest.mark.parametrize(
    ("f", "stays"),
    [
        (shortest, False),
        (swaps, False),
        (bubbles, True),
        (one_place, True),
        (one_behind_the_other, True),
    ],
)
def test_which(f: Callable[..., Any], stays: bool) -> None:
    x = np.array([0.3, np.nan, -1.2, -0.0, 0.0, 1.7, -0.4, np.inf, 2.2])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(by_source(f)(x), f(x))
    text = tg.jit(f).source(x)
    assert ("if " in text[text.rindex('"""') :]) is stays


def test_what_is_read_in_between() -> None:
    x = np.array([0.3, -1.2, -0.0, 0.0, 1.7, -0.4, 2.2])
    np.testing.assert_array_equal(by_source(two_arrays)(x), two_arrays(x))


@pytest.mark.parametrize("f", [shortest, swaps])
def test_compiled(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(3).standard_normal(9)
    loss = lambda x: np.sum(f(x) * np.arange(f(x).size).reshape(f(x).shape))  # noqa: E731
    np.testing.assert_array_equal(tg.jit(f)(x), f(x))
    np.testing.assert_allclose(tg.jit(tg.grad(loss))(x), tg.grad(loss)(x), rtol=1e-12)
