"""Indices in narrow dtypes wrap around, as NumPy's do: what is known of the numbers that they are
made of is not known of them. (It was: a loop read and wrote elsewhere.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import by_source

N = 300


def read(x: Any, dtype: Any) -> Any:
    out = np.zeros(N)
    for n in range(N):
        out[n] = x[np.asarray(n).astype(dtype)]
    return out


def written(x: Any, dtype: Any) -> Any:
    out = np.zeros(N)
    for n in range(N):
        out[np.asarray(n).astype(dtype)] = x[n]
    return out


def read_again(x: Any, dtype: Any) -> Any:
    out = x.copy()
    for n in range(200):
        out[n] = 0.5 * out[np.asarray(2 * n).astype(dtype) + 1] + x[n]
    return out


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("program", [read, written, read_again])
def test_narrow_indices(program: Callable[..., Any], dtype: Any) -> None:
    x = np.arange(float(N))
    f = lambda x: program(x, dtype)  # noqa: E731
    if program is read_again and dtype is np.int16:
        x = np.arange(500.0)
    np.testing.assert_array_equal(by_source(f)(x), f(x))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_gradients_through_them(dtype: Any) -> None:
    x = np.arange(float(N))
    expected = np.zeros(N)
    places = np.arange(N).astype(dtype).astype(int)
    np.add.at(expected, places, 2.0 * x[places])

    def loss(x: Any) -> Any:
        total = 0.0
        for n in range(N):
            total += x[np.asarray(n).astype(dtype)] ** 2
        return total

    np.testing.assert_allclose(tg.jit(tg.grad(loss))(x), expected)
