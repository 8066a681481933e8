"""Steps that do something only where a flag is set: collected first they give the bits of the
program in order, whatever is set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def handed_down(flags: Any, g: Any) -> Any:
    """Each step changes what others read."""
    g = g.copy()
    n = flags.shape[0]
    for i in range(n):
        for k in range(n):
            if flags[i, k]:
                g[i, 0] += 0.5 * g[k, 1]
                g[k, 1] = g[i, 0] - g[n - 1 - k, 1]
    return g


def backwards(flags: Any, g: Any) -> Any:
    g = g.copy()
    n = flags.shape[0]
    for i in range(n):
        for k in range(n - 1, 0, -1):
            if flags[k, i]:
                g[k - 1, 0] += 0.5 * g[k, 0]
    return g


def a_part(flags: Any, g: Any) -> Any:
    g = g.copy()
    n = flags.shape[0]
    for k in range(3, n - 2):
        if flags[1, k]:
            g[k + 2, 0] -= 0.25 * g[k - 3, 0]
    return g


def flags_change(flags: Any, g: Any) -> Any:
    flags, g = flags.copy(), g.copy()
    n = flags.shape[0]
    for k in range(n - 1):
        if flags[0, k]:
            flags[0, k + 1] = not flags[0, k + 1]
            g[k + 1, 0] += g[k, 0]
    return g


def each_its_own(flags: Any, g: Any) -> Any:
    g = g.copy()
    for k in range(flags.shape[0]):
        if flags[0, k]:
            g[k, 0] = g[k, 1] * g[k, 1]
    return g


def triangular(flags: Any, g: Any) -> Any:
    g = g.copy()
    n = flags.shape[0]
    for i in range(n):
        for k in range(i):
            if flags[i, k]:
                g[k, 0] += g[i, 1] - g[0, 0]
    return g


COLLECTED = {
    handed_down: True,
    backwards: True,
    a_part: True,
    flags_change: False,
    each_its_own: False,
    triangular: False,
}


@pytest.mark.parametrize("program", COLLECTED, ids=lambda f: f.__name__)
def test_bits_are_those_of_the_program_in_order(program: Callable[..., Any]) -> None:
    f = tg.jit(program)
    for n, dtype in ((21, float), (40, float), (33, np.float32), (7, float)):
        rng = np.random.default_rng(n)
        g = rng.standard_normal((n, 2)).astype(dtype)
        for flags in (
            rng.uniform(size=(n, n)) < 0.2,
            np.ones((n, n), bool),
            np.zeros((n, n), bool),
        ):
            found, expected = f(flags, g), program(flags, g)
            np.testing.assert_array_equal(found, expected, strict=True)
    assert ("steps[" in f.source(np.ones((21, 21), bool), np.zeros((21, 2)))) == COLLECTED[program]


def shortest(d: Any) -> Any:
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return np.sum(d * d)


def test_an_adjoint_asks_its_flags_together() -> None:
    rng = np.random.default_rng(0)
    d, along = rng.uniform(1, 9, (24, 24)), rng.standard_normal((24, 24))
    value, gradient = tg.jit(tg.value_and_grad(shortest))(d)
    assert value == pytest.approx(shortest(d), rel=1e-14)
    ends = [shortest(d + sign * 1e-6 * along) for sign in (1, -1)]
    np.testing.assert_allclose(np.sum(gradient * along), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)
    assert "steps[" in tg.jit(tg.grad(shortest)).source(d)
