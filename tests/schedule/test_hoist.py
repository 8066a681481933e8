"""What every pass of a parallel loop reads at one place is read once before it, where the loop does
not write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad._codegen import kernel

N = 20_000
X = np.random.default_rng(0).standard_normal(N)


def read_once(function: Callable[..., Any], *given: Any) -> list[str]:
    """The buffers of which parallel phases read numbers before their loops."""
    programs = tg.jit(function).programs(*given)
    return [
        s.value.buffer
        for phase in programs[-1].program.phases
        for s in phase.local
        if isinstance(s, kernel.Let) and isinstance(s.value, kernel.Load)
    ]


@pytest.mark.parametrize(
    ("function", "given", "count"),
    [
        (lambda x: np.exp(x - np.max(x)), (X,), 1),
        (lambda a, x: a * x, (np.array(2.0), X), 1),
        (lambda w, x: np.sin(w[1] * x) + w[0], (np.array([3.0, 0.5]), X), 2),
        (lambda x: x - x[::-1], (X,), 0),
    ],
    ids=["maximum", "number", "parameters", "none"],
)
def test_read_once(function: Callable[..., Any], given: tuple[Any, ...], count: int) -> None:
    assert len(read_once(function, *given)) == count
    np.testing.assert_allclose(tg.jit(function)(*given), function(*given), rtol=1e-14)


def test_an_empty_loop_reads_nothing() -> None:
    """The first element is not read where its size is not known."""
    f = tg.jit(lambda x: np.sin(x) * x[0] if x.shape[0] else np.sin(x))
    for n in (N, 2 * N, 0):
        x = X[:1].repeat(n)
        np.testing.assert_allclose(f(x), np.sin(x) * X[0], rtol=1e-14)
