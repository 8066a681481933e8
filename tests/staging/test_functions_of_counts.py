"""Functions of `math` of numbers that loops count are Python's floats, which widen no float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([3.0, -1.0, 2.0])


@pytest.mark.parametrize("stage", ["auto", True])
def test_functions_of_the_number_of_a_loop_are_numbers(stage: Any) -> None:
    """`math.cos(2.0 * k)` is a float of Python's in plain Python, and where the loop is kept."""

    def program(x: Any) -> Any:
        s = 0.0
        for k in range(40):
            s += x[k % 3] * math.cos(2.0 * k) * math.sqrt(k) + math.fabs(k) * math.log(k + 1, 3)
        return s

    for dtype in (np.float32, np.float64):
        x = X.astype(dtype)
        found = tg.jit(program, stage=stage)(x)
        assert found.dtype == program(x).dtype
        np.testing.assert_allclose(found, program(x), rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        *(math.erf, math.erfc, lambda k: math.gamma(k + 1), lambda k: math.lgamma(k + 1)),
        *(lambda k: math.hypot(k, 2.0), lambda k: math.hypot(k, 1.0, 2), math.exp),
        *(lambda k: math.dist([k, 1.0], [2.0, k]), lambda k: math.atan2(k, 2), math.isinf),
        *(lambda k: math.pow(k, 2), lambda k: math.prod([k, 2.0]), lambda k: math.fsum([k, 1.0])),
    ],
)
def test_functions_of_a_count_are_numbers(function: Callable[[Any], Any]) -> None:
    def program(x: Any) -> Any:
        k, y = 0, x * np.float32(0)
        while k < x[0]:
            k += 1
            y = y + function(k) * x
        return y

    x = np.array([3.0, -1.0], np.float32)
    found = tg.jit(program)(x)
    assert found.dtype == program(x).dtype == np.float32
    np.testing.assert_allclose(found, program(x), rtol=1e-5)
