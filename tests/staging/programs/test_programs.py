"""Whole programs, as people wrote them for NumPy: the value is NumPy's, the gradient that of finite
differences, at two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.programs import matrices, vectors
from tests.staging.ways import differences, value

RNG = np.random.default_rng(7)
INPUTS = {
    **{p: [RNG.normal(size=n) + 0.1 for n in (5, 7)] for p in vectors.PROGRAMS},
    **{p: [RNG.normal(size=(n, n)) for n in (4, 5)] for p in matrices.PROGRAMS},
}


@pytest.mark.parametrize("program", INPUTS, ids=lambda p: p.__name__)
def test_program(program: Callable[[Any], Any]) -> None:
    both = tg.jit(tg.value_and_grad(program))
    for x in INPUTS[program]:
        before = x.copy()
        found, gradient = both(x)
        np.testing.assert_allclose(found, value(program, x), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(program, x), rtol=2e-5, atol=1e-6)
        np.testing.assert_array_equal(x, before)
    x = INPUTS[program][0]
    np.testing.assert_allclose(tg.grad(program)(x), both(x)[1], rtol=1e-9, atol=1e-12)
