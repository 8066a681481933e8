"""Loops over sizes that are symbols: no attempt and no look pins them: one executable serves all
sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def library_loop(x: Any) -> Any:
    return tg.fori_loop(0, x.shape[0], lambda i, s: s * 0.5 + x[i], 0.0)


def library_loop_from_a_size(x: Any) -> Any:
    n = x.shape[0]
    return tg.fori_loop(n // 2, n - 1, lambda i, s: s + x[i] * x[i + 1], 0.0)


def over_a_length(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i] * x[i - 1]
    return s


def after_an_attempt_that_asked_for_the_size(x: Any) -> Any:
    s = 0.0
    for v in x:
        s = s * 0.9 + v
    return -s if s < 0 else s


@pytest.mark.parametrize(
    "f",
    [
        library_loop,
        library_loop_from_a_size,
        over_a_length,
        after_an_attempt_that_asked_for_the_size,
    ],
    ids=lambda f: f.__name__,
)
def test_one_entry_for_all_sizes(f: Callable[..., Any]) -> None:
    for function in (f, tg.grad(f)):
        jitted: Any = tg.jit(function)
        found = [
            jitted._entry((np.linspace(-1, 2, n),), {}).entry.graph.sizes.guards for n in (5, 7)
        ]
        assert not [k for k, holds in found[1].items() if k[0] == "==" and holds]
        entries = {id(jitted._entry((np.linspace(-1, 2, n),), {}).entry) for n in (7, 9, 30)}
        assert len(entries) == 1
    x = np.linspace(-1, 2, 30)
    np.testing.assert_allclose(tg.jit(f)(x), f(x))
