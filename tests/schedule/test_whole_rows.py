"""Zeros are not written where rows are written whole before they are read, and only there: the
results are those of plain Python wherever something else is read, or left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def forwards(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
        for j in range(m - 2, -1, -1):
            y[i, j] = y[i, j] + y[i, j + 1] / 4
    return y


def backwards(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((m, n))
    for i in range(n - 1, -1, -1):
        y[m - 1, i] = x[i, 3]
        for j in range(m - 2, -1, -1):
            y[j, i] = x[i, j] + y[j + 1, i] / 2 + y[m - 1, i]
    return y


def from_the_middle(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 9] = x[i, 9]
        for j in range(10, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
        for j in range(8, -1, -1):
            y[i, j] = x[i, j] + y[i, j + 1] / 2
    return y


def reads_ahead(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2 + (1.0 + y[i, min(j + 1, m - 1)])
    return y


def reads_another_row(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2 + (1.0 + y[n - 1 - i, j])
    return y


def leaves_an_end(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m - 1):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
    return y


def leaves_a_gap(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(2, m):
            y[i, j] = x[i, j] + y[i, j - 2] / 2
    return y


def leaves_rows(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(1, n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
    return y


def triangular(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, i + 1):
            y[i, j] = x[i, j] + y[i, j - 1] / 2
    return y


def sometimes(x: Any) -> Any:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            if x[i, j] > 0:
                y[i, j] = x[i, j] + y[i, j - 1] / 2
    return y


WHOLE = [forwards, backwards, from_the_middle]
NOT_WHOLE = [
    reads_ahead,
    reads_another_row,
    leaves_an_end,
    leaves_a_gap,
    leaves_rows,
    triangular,
    sometimes,
]


@pytest.mark.parametrize("program", [*WHOLE, *NOT_WHOLE], ids=lambda f: f.__name__)
def test_results_are_those_of_python(program: Callable[..., Any]) -> None:
    made = tg.jit(program)
    rng = np.random.default_rng(0)
    for n in (17, 13):  # the second size has code of its own, or for all that follow
        x = rng.uniform(-1, 1, (n, 21))
        np.testing.assert_array_equal(made(x), program(x))
        if n == 17:
            assert ("= 0.0\n" in made.source(x)) == (program in NOT_WHOLE)
