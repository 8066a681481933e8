"""Whole programs, as people wrote them for NumPy: the value is NumPy's, the gradient that of finite
differences, at several sizes; from the second size on one executable serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.programs import matrices, simulations, vectors
from tests.staging.ways import differences, value

RNG = np.random.default_rng(7)
SIZES = (5, 7, 9)
VECTORS = [*vectors.PROGRAMS, *simulations.PROGRAMS]
INPUTS = {
    **{p: [RNG.normal(size=n) + 0.1 for n in SIZES] for p in VECTORS},
    **{p: [RNG.normal(size=(n, n)) for n in (4, 5, 6)] for p in matrices.PROGRAMS},
}
BY_SIZE = {"kalman", "rnn", "clenshaw", "householder", "gram_schmidt"}
"""Programs that trace as they are at small sizes, and are written out for each of them."""


@pytest.mark.parametrize("program", INPUTS, ids=lambda p: p.__name__)
def test_program(program: Callable[[Any], Any]) -> None:
    both: Any = tg.jit(tg.value_and_grad(program))
    entries = []
    for x in INPUTS[program]:
        before = x.copy()
        found, gradient = both(x)
        np.testing.assert_allclose(found, value(program, x), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(program, x), rtol=2e-5, atol=1e-6)
        np.testing.assert_array_equal(x, before)
        entries.append(len({id(e) for e in both._signatures.entries.values()}))
    if program.__name__ not in BY_SIZE:
        assert entries[2] == entries[1]
    x = INPUTS[program][0]
    np.testing.assert_allclose(tg.grad(program)(x), both(x)[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "program", [*simulations.SMOOTH, *matrices.SMOOTH], ids=lambda p: p.__name__
)
def test_second_derivatives(program: Callable[[Any], Any]) -> None:
    x = INPUTS[program][0]
    direction, step = np.cos(np.arange(x.size)).reshape(x.shape), 1e-5
    gradient = tg.grad(program)
    expected = (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)
    found = tg.jit(lambda x: tg.hvp(program, x, direction))(x)
    scale = 1 + np.max(np.abs(expected))
    np.testing.assert_allclose(found / scale, expected / scale, atol=2e-6)
