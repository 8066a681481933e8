"""What a function for Numba takes: arrays of the ranks and dtypes that it was made for, numbers for
numbers, and nothing else; what it needs besides, and made itself, it has."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

GIVEN = {
    "number": 3.0,
    "0-d": np.array(3.0),
    "1-d": np.arange(4.0),
    "2-d": np.arange(8.0).reshape(4, 2),
    "float32": np.arange(4, dtype=np.float32),
    "integers": np.arange(4),
    "numbers": (0.0, 1.0, 2.0, 3.0),
}
TAKEN = {"number": ("number", "0-d"), "1-d": ("1-d",), "2-d": ("2-d",)}


@pytest.mark.parametrize("made_for", TAKEN)
@pytest.mark.parametrize("derivative", [False, True])
def test_other_ranks_and_dtypes_are_typing_errors(made_for: str, derivative: bool) -> None:
    f = tg.jit(lambda x: np.sum(x) * 2.0)
    compiled = (tg.grad(f) if derivative else f).njit(GIVEN[made_for])

    @numba.njit
    def inside(x: Any) -> Any:
        return compiled(x)

    for name, x in GIVEN.items():
        if name in TAKEN[made_for]:
            wanted = np.full(np.shape(x), 2.0) if derivative else 2.0 * np.sum(x)
            np.testing.assert_array_equal(inside(x), wanted)
        else:
            with pytest.raises(numba.TypingError, match="compiled for a"):
                inside(x)
    with pytest.raises(numba.TypingError, match="called with a"):
        compiled(np.zeros((2, 2, 2)))


def test_constants_that_a_trace_makes_are_no_surroundings() -> None:
    def floored(x: Any) -> Any:
        h = np.zeros(len(x))
        for i in range(len(x)):
            h[i] = x[i] * x[i]
            if h[i] < 0.5:
                h[i] = 0.5
        return np.sum(np.log(h)) + np.sum(x * np.arange(len(x)) ** 2)

    x = np.linspace(-1.0, 1.0, 40)
    g = tg.grad(tg.jit(floored))
    np.testing.assert_allclose(g.njit(x)(x), tg.grad(floored)(x), rtol=1e-12)
    table = np.ones(40)
    with pytest.raises(TracegradError, match="reads table from its surroundings"):
        tg.jit(lambda x: floored(x) + np.sum(table * x)).njit(x)
