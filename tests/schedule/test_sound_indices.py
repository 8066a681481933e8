"""Loops at index arrays in two versions: whichever runs, values, errors and what they say are
NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad._codegen import kernel, traversal
from tracegrad.schedule import schedule

ROWS, LONG, PLACES = 3, 40, 7


def read(x: Any, i: Any, w: Any) -> Any:
    return np.sum((np.sum(w * x[i], axis=1) - 1.0) ** 2)


def from_two(x: Any, i: Any, w: Any) -> Any:
    return np.sum(np.sum(w * x[i] * x[i[::-1]], axis=1) ** 2)


def of_pairs(x: Any, i: Any, w: Any) -> Any:
    y = np.stack([x, x * x], axis=1)
    return np.sum(np.sum(w[:, :, None] * y[i], axis=1) ** 2)


def data() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal(PLACES),
        rng.integers(0, PLACES, (ROWS, LONG)),
        rng.standard_normal((ROWS, LONG)),
    )


def versions(f: Callable[..., Any], *args: Any) -> int:
    """How many loops stand behind the question whether their indices are sound."""
    graph = tg.jit(f).graphs(*args)[-1]
    program = schedule(graph, ("C",) * len(graph.inputs))
    return sum(
        isinstance(s, kernel.If) and any(isinstance(t, kernel.Loop) for t in s.then)
        for p in program.phases
        for s in traversal.within(p.body)
    )


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("f", [read, from_two, of_pairs])
def test_wherever_an_index_counts_from_the_end(f: Callable[..., Any]) -> None:
    x, i, w = data()
    g = tg.value_and_grad(f)
    compiled = tg.jit(g)
    assert versions(g, x, i, w) >= 1
    for row, k in [(0, 0), (1, LONG - 1), (2, 17)]:
        for index in (-1, -PLACES, PLACES - 1, 0):
            j = i.copy()
            j[row, k] = index
            expected = g(x, j, w)
            for a, b in zip(compiled(x, j, w), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("index", [PLACES, -PLACES - 1, 2**63 - 1, -(2**63), 2**62])
def test_wherever_an_index_is_out_of_range(index: int) -> None:
    x, i, w = data()
    compiled = tg.jit(tg.value_and_grad(read))
    compiled(x, i, w)
    for row, k in [(0, 0), (1, LONG - 1), (2, 17)]:
        j = i.copy()
        j[row, k] = index
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0"):
            compiled(x, j, w)


def test_native_code_has_both() -> None:
    x, i, w = data()
    compiled = tg.jit(tg.value_and_grad(read))
    i[1, 5] = -3
    for a, b in zip(compiled(x, i, w), tg.value_and_grad(read)(x, i, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    for index in (PLACES, -(2**63), 2**63 - 1):
        i[2, 39] = index
        with pytest.raises(IndexError, match=f"index {index} is out of bounds"):
            compiled(x, i, w)


def test_short_loops_and_other_integers_stay() -> None:
    x, i, w = data()
    assert versions(tg.grad(read), x, i[:, :8], w[:, :8]) == 0
    assert versions(tg.grad(read), x, i.astype(np.int32), w) == 0
