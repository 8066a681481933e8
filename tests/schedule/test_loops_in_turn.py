"""What is added at places follows the blocks of the loop that computes it, where both fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad._codegen import kernel, traversal

N, M = 300, 9_001
RANDOM = np.random.default_rng(0)
X, S = RANDOM.standard_normal(N), RANDOM.standard_normal(M)
CORNERS = RANDOM.integers(-N, N, (M, 3))
W = RANDOM.standard_normal((M, 3))


def surface(x: Any, corners: Any, w: Any) -> Any:
    return np.sum(np.sqrt(1 + np.sum(w * x[corners], axis=1) ** 2))


def weighed(x: Any, corners: Any, w: Any) -> Any:
    slopes = np.sum(w * x[corners], axis=1)
    return np.sum(slopes * slopes * S)


def dear(x: Any, corners: Any, w: Any) -> Any:
    """The loop that threads share takes longer than the one in order."""
    s = np.sum(w * x[corners], axis=1)
    return np.sum(np.exp(np.sin(s)) * np.log1p(np.exp(s)) * np.arctan(s))


def sharing(x: Any, corners: Any, w: Any) -> Any:
    """All rows are needed before the first place is written to."""
    slopes = np.sum(w * x[corners], axis=1)
    return np.sum(slopes * slopes) ** 2


def function(x: Any, corners: Any, w: Any) -> Any:
    """A row that computes a function is left to vectors."""
    return np.sum(np.tanh(np.sum(w * x[corners], axis=1)))


def twice(x: Any, corners: Any, w: Any) -> Any:
    """Places of two arrays of different lengths."""
    return np.sum(np.sum(w * x[corners] * S[corners], axis=1) ** 2)


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "surface": (surface, "one"),
    "weighed": (weighed, "one"),
    "function": (function, "turns"),
    "two lengths": (twice, "one"),
    "dear": (dear, "apart"),
    "a total between": (sharing, "apart"),
}


def how(program: kernel.Program) -> str:
    """Whether one loop over blocks has loops over rows, of which one adds at places, or one loop
    does both."""
    loops = [
        s
        for phase in program.phases
        if phase.kind == "serial"
        for s in traversal.within(phase.body)
        if isinstance(s, kernel.Loop)
    ]
    if any(sum(isinstance(t, kernel.Loop) for t in s.body) > 1 for s in loops):
        return "turns"
    inner = [t for s in loops for t in s.body if isinstance(t, kernel.Loop)]
    return "one" if any(isinstance(s, kernel.If) for t in inner for s in t.body) else "apart"


@pytest.mark.parametrize("name", CASES)
def test_in_turn(name: str) -> None:
    function, expected = CASES[name]
    g = tg.jit(tg.value_and_grad(function))
    assert how(g.programs(X, CORNERS, W)[-1].program) == expected
    value, slopes = g(X, CORNERS, W)
    wanted, wanted_slopes = tg.value_and_grad(function)(X, CORNERS, W)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(slopes, wanted_slopes, rtol=1e-11, atol=1e-11)
    one = tg.get_num_threads()
    try:
        tg.set_num_threads(2)
        again = g(X, CORNERS, W)
    finally:
        tg.set_num_threads(one)
    np.testing.assert_array_equal(again[0], value)
    np.testing.assert_array_equal(again[1], slopes)
    for wrong in (N, -N - 1, 2**63 - 1, -(2**63)):
        corners = CORNERS.copy()
        corners[M - 1, 2] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0"):
            g(X, corners, W)
