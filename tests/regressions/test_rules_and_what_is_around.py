"""A function with rules of its own that reads a differentiated value around it: its rules say
nothing of that, so a compiled derivative by it is refused. It was 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X, W = np.array([1.5, -2.0]), np.array([0.3, 0.7])


def _by_vjp(g: Callable[[Any], Any]) -> Any:
    made = tg.custom_vjp(g)
    made.defvjp(lambda v: (g(v), v), lambda v, ct: (3 * ct,))
    return made


def _by_jvp(g: Callable[[Any], Any]) -> Any:
    made = tg.custom_jvp(g)
    made.defjvp(lambda primals, tangents: (g(*primals), 3 * tangents[0]))
    return made


def _program(ruled: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def f(x: Any, w: Any) -> Any:
        u = read(w * w)
        return ruled(lambda v: v * np.sum(u))(x[0])

    return f


@pytest.mark.parametrize("ruled", [_by_vjp, _by_jvp])
def test_a_derivative_by_what_is_around(ruled: Callable[[Any], Any]) -> None:
    f = _program(ruled, lambda u: u)
    for derivative in (
        lambda: tg.jit(tg.grad(f, 1))(X, W),
        lambda: tg.grad(tg.jit(f), (0, 1))(X, W),
        lambda: tg.jit(tg.grad(f, (0, 1)))(X, W),
    ):
        with pytest.raises(tg.TracegradError, match="Pass it as an argument"):
            derivative()


@pytest.mark.parametrize("ruled", [_by_vjp, _by_jvp])
def test_where_none_is_wanted(ruled: Callable[[Any], Any]) -> None:
    f = _program(ruled, lambda u: u)
    assert np.array_equal(tg.jit(tg.grad(f))(X, W), [3.0, 0.0])
    stopped = _program(ruled, tg.stop_gradient)
    given, around = tg.jit(tg.grad(stopped, (0, 1)))(X, W)
    assert np.array_equal(given, [3.0, 0.0])
    assert np.array_equal(around, [0.0, 0.0])
