"""Rows that go step by step, some of them abreast: the bits are those of plain Python, whatever
goes from row to row, and however many rows are left over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def filtered(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m), x.dtype)
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
        for j in range(m - 2, -1, -1):
            y[i, j] = y[i, j] + y[i, j + 1] / 4
    return y


def upwards(x: Any) -> Any:
    """Rows from the last to the first, written to columns."""
    n, m = x.shape
    y = np.zeros((m, n), x.dtype)
    for i in range(n - 1, -1, -1):
        for j in range(1, m):
            y[j, i] = x[i, j] - y[j - 1, i] / 2
    return y


def totals(x: Any) -> Any:
    """A sum goes from row to row, in order; the last row's is read behind the loop."""
    n, m = x.shape
    y = x.copy()
    total, last = 0.1, 0.0
    for i in range(n):
        last = x[i, 0] + 0.3
        for j in range(1, m):
            last = last / 2 + x[i, j]
            y[i, j] = last
        total = total / 3 + last
        y[i, 0] = total
    return np.append(y.ravel(), total + last)


def hands_on(x: Any) -> Any:
    """A number goes from row to row through the inner loop."""
    n, m = x.shape
    y, last = x.copy(), 0.5
    for i in range(n):
        for j in range(m):
            last = last / 2 + x[i, j]
            y[i, j] = last
    return y


def depends(x: Any) -> Any:
    """Each row reads the one before."""
    n, m = x.shape
    y = x.copy()
    for i in range(1, n):
        for j in range(1, m):
            y[i, j] = y[i, j - 1] / 2 + y[i - 1, j]
    return y


def shared(x: Any) -> Any:
    """All rows use one other row."""
    n, m = x.shape
    y, row = x.copy(), np.zeros(m, x.dtype)
    for i in range(n):
        for j in range(1, m):
            row[j] = row[j - 1] / 2 + x[i, j]
        for j in range(m):
            y[i, j] = row[j]
    return y


def deeper(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((2, n, m), x.dtype)
    for k in range(2):
        for i in range(n):
            y[k, i, 0] = x[i, k]
            for j in range(1, m):
                y[k, i, j] = x[i, j] - y[k, i, j - 1] / 2
    return y


PROGRAMS = [filtered, upwards, totals, hands_on, depends, shared, deeper]
ABREAST = {filtered, upwards, totals, deeper}


def data(n: int, m: int, dtype: Any = float) -> Any:
    return np.random.default_rng(n * m).uniform(-1, 1, (n, m)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_bits_are_those_of_python(program: Callable[..., Any], dtype: Any) -> None:
    made = tg.jit(program)
    for n in (12, 9, 11, 1):  # the second size has its own code, or code for all that follow
        x = data(n, 24, dtype)
        expected = program(x)
        np.testing.assert_array_equal(made(x), expected, strict=expected.dtype != float)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_where_rows_go_abreast(program: Callable[..., Any]) -> None:
    text = tg.jit(program).source(data(13, 24))
    assert ("range(0, 3)" in text) == (program in ABREAST)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(program: Callable[..., Any]) -> None:
    x, v = data(9, 24), data(24, 9).T
    w = np.random.default_rng(1).standard_normal(program(x).shape)
    gradient = tg.jit(tg.grad(lambda x: np.sum(w * program(x))))(x)
    # All of them are linear, but for what they begin with.
    np.testing.assert_allclose(np.sum(gradient * v), np.sum(w * (program(x + v) - program(x))))
