"""Functions that Numba compiles, of the kinds that its documentation shows, as they are: values,
gradients, and both in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import differences


@numba.njit
def trace_of_tanh(a: Any) -> Any:
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum((a + trace) ** 2)


@numba.njit
def sum_of_elements(a: Any) -> Any:
    total = 0.0
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            total += a[i, j] * (i + 1)
    return total


@numba.njit(fastmath=True)
def identity_of_angles(a: Any) -> Any:
    return np.sum(np.cos(a) ** 2 + np.sin(a) * a)


@numba.njit(parallel=True)
def in_parallel(a: Any) -> Any:
    total = 0.0
    for i in numba.prange(a.shape[0]):
        if a[i, 0] > 0:
            total += math.sqrt(a[i, 0]) * a[i, 1]
        else:
            total -= a[i, 0] ** 2
    return total


@numba.njit
def logistic_steps(a: Any) -> Any:
    weights = np.zeros(a.shape[1])
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    for _ in range(15):
        weights = weights + 0.1 * np.dot(signs / (1 + np.exp(signs * np.dot(a, weights))), a)
    return np.sum(weights**2)


@numba.njit(inline="always")
def larger(p: Any, q: Any) -> Any:
    return p if p > q else q


@numba.njit
def escapes(re: Any, im: Any) -> Any:
    z = complex(0.0, 0.0)
    steps = 0
    while steps < 20 and abs(z) < 2:
        z = z * z + complex(re, im)
        steps += 1
    return abs(z) * steps


@numba.njit
def of_other_functions(a: Any) -> Any:
    best = -1e9
    for row in a:
        best = larger(best, row[0] * row[1])
    return best + escapes(0.3 * a[0, 0], 0.2 * a[1, 1])


FUNCTIONS: list[Callable[..., Any]] = [
    trace_of_tanh,
    sum_of_elements,
    identity_of_angles,
    in_parallel,
    logistic_steps,
    of_other_functions,
]
A = np.random.default_rng(3).normal(size=(4, 4))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_of_numba(function: Any) -> None:
    expected, slopes = function.py_func(A), differences(function.py_func, A)
    np.testing.assert_allclose(tg.jit(function)(A), expected, rtol=1e-12)
    for gradient in (tg.grad(function), tg.jit(tg.grad(function))):
        np.testing.assert_allclose(gradient(A), slopes, rtol=2e-5, atol=2e-6)
