"""Inner compiled functions that write to arrays of the outer function's, under derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

W = np.array([[0.31, 0.53], [0.72, -0.23]])
C = np.array([[2.0, -1.0], [0.5, 3.0]])
Jit = Callable[[Callable[..., Any]], Callable[..., Any]]


def constant_into_an_argument(w: Any, jit: Jit) -> Any:
    """The inner function takes its history from an argument of the outer one."""
    y = w * 1.0

    def outer(v: Any, a: Any) -> Any:
        def inner(u: Any) -> Any:
            a[...] = C
            return np.sum(a) * u

        return jit(inner)(w[0, 0]) + np.sum(a) * v

    return jit(outer)(w[0, 1], y) + np.sum(y)


def written_beside_another(w: Any, jit: Jit) -> Any:
    y, z = w * 1.0, w * 2.0

    def outer(v: Any, a: Any) -> Any:
        def inner(u: Any, b: Any) -> Any:
            z[...] = w
            a[...] = C
            return np.sum(z) * u + np.sum(b)

        return jit(inner)(w[0, 0], z * 1.0) + np.sum(a) * v

    return jit(outer)(w[0, 1], y) + np.sum(y) + np.sum(z * w)


def read_and_written_in_a_branch(w: Any, jit: Jit) -> Any:
    """What the adjoint reads of an array is what was there before the call."""
    u, a = np.ones_like(w), w * 1.0

    def inner(v: Any, a: Any) -> Any:
        if w[0, 0] > 0:
            u[...] -= v
            a[...] = u * a[1, 1]
        return np.sum(u) * v

    return jit(inner)(w[0, 1], a) + np.sum(u) + np.sum(a * C)


def through_a_view_in_a_branch(w: Any, jit: Jit) -> Any:
    u, a = np.ones_like(w) * w[0, 0], w * 1.0
    rows = u[::-1]

    def inner(v: Any, a: Any) -> Any:
        if w[0, 0] > 0:
            a[...] = u * a[1, 1] * u
            rows[0] *= v
        return np.sum(u * u) * v

    return jit(inner)(w[0, 1], a) + np.sum(rows * C) + np.sum(a * C)


FUNCTIONS = [
    constant_into_an_argument,
    written_beside_another,
    read_and_written_in_a_branch,
    through_a_view_in_a_branch,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradient(function: Callable[..., Any]) -> None:
    def plain(w: Any) -> Any:
        return function(w, lambda f: f)

    expected = np.zeros_like(W)
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = 1e-6
        expected[place] = (plain(W + step) - plain(W - step)) / 2e-6

    def f(w: Any) -> Any:
        return function(w, tg.jit)

    for gradient in (tg.grad(f), tg.jit(tg.grad(f)), tg.grad(tg.jit(f))):
        np.testing.assert_allclose(gradient(W.copy()), expected, rtol=1e-6, atol=1e-7)


def test_overlaps_name_what_was_called() -> None:
    def write(a: Any, b: Any) -> Any:
        a[...] = np.sin(b)
        return a.sum()

    def f(x: Any) -> Any:
        z = x * 1.0
        return tg.checkpoint(write)(z, z[::-1])

    with pytest.raises(ValueError, match=r"^checkpoint: the argument"):
        tg.jit(f)(np.arange(3.0))
