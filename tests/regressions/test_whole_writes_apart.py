"""An array that is written whole lies on memory of its own, and the tape keeps what it held.

Once `y[...] = u` let y lie on u's memory: a later write into u changed y, and a second such write
was taken for one into what the tape had saved (a RuntimeError), as was a write of no elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

W = np.array([[0.31, 0.53], [0.72, -0.23]])
DIRECTION = np.array([[0.2, -0.6], [0.5, 0.9]])


def _again(w: Any) -> Any:
    y, u, s = w * 3.0, w - 0.5, 0.0
    for _ in range(3):
        s = s + np.sum(np.sin(y))
        y[...] = u
    return s


def _turned(w: Any) -> Any:
    y, u, s = w * 3.0, w - 0.5, 0.0
    for _ in range(3):
        y[...] = u.T
        s = s + np.sum(np.sin(y) * w)
        np.copyto(y, u[0])
        s = s + np.sum(np.cos(y) * w)
    return s


def _itself(w: Any) -> Any:
    y, s = w * 3.0, 0.0
    for _ in range(2):
        s = s + np.sum(np.sin(y) * w)
        y[...] = y
        y[...] = y.T
    return s


def _no_elements(w: Any) -> Any:
    y, s = w * 3.0, 0.0
    for k in range(3):
        s = s + np.sum(np.sin(y) * w)
        y[k:k] = 1.0
        y[2:] -= w[2:]
        y[y > 100] = 0.0
        np.add(w[:0], 1.0, out=y[:0])
    return s


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "again": _again,
    "turned": _turned,
    "itself": _itself,
    "no elements": _no_elements,
}


def _slope(f: Callable[[Any], Any], step: float) -> float:
    difference = f(W + step * DIRECTION) - f(W - step * DIRECTION)
    return float(difference / (2 * step))


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives(name: str) -> None:
    f = FUNCTIONS[name]
    assert np.isclose(np.sum(tg.grad(f)(W) * DIRECTION), _slope(f, 1e-5), rtol=1e-8)
    assert np.allclose(tg.jit(tg.grad(f))(W), tg.grad(f)(W))

    def along(w: Any) -> Any:
        return np.sum(tg.grad(f)(w) * DIRECTION)

    second = np.sum(tg.grad(along)(W) * DIRECTION)
    assert np.isclose(second, _slope(along, 1e-5), rtol=1e-7)
    assert np.isclose(tg.jvp(along, (W,), (DIRECTION,))[1], second)


def test_a_tensor_that_was_written_into_an_array_goes_on_alone() -> None:
    def f(w: Any, lay: Callable[[Any], Any]) -> Any:
        y, t = w * 3.0, tg.zeros((2, 2))
        y[...] = lay(t)
        t.add_(1.0)
        return np.sum(y * w)

    for lay in (lambda t: t, lambda t: t.T, lambda t: t[0]):
        assert np.array_equal(tg.grad(f)(W, lay), np.zeros((2, 2)))


def test_what_reaches_a_written_array_through_a_checkpoint() -> None:
    """Two results of one operation stand at different places of the tape."""

    def f(x: Any, w: Any) -> Any:
        z, u = w + 1.0, w - 0.5
        if x[0] > 0:
            z[...] = np.sum(u, axis=0) * 0.5
            u[...] = np.cos(z[1])

        def inner(v: Any) -> Any:
            z[...] = u
            return v

        tg.checkpoint(inner)(x[1])
        return np.sum(z * 2)

    x = np.array([1.0, 2.0])
    wanted = tg.grad(f, 1)(x, W)
    assert np.isclose(np.sum(wanted * DIRECTION), _slope(lambda w: f(x, w), 1e-5), rtol=1e-8)
    assert np.allclose(tg.jit(tg.grad(f, 1))(x, W), wanted)


@pytest.mark.parametrize("transform", [tg.checkpoint, tg.jit])
def test_what_is_written_again_inside_with_what_was_written_before(transform: Any) -> None:
    """It stands at the same place of the tape before and after, and is written all the same."""

    def f(x: Any, w: Any) -> Any:
        z = w * 2.0
        z[...] = w

        def inner(v: Any) -> Any:
            z[...] = w
            return v

        transform(inner)(x[1])
        return np.sum(z * z)

    x = np.array([1.0, 2.0])
    for gradient in (tg.grad(f, 1), tg.jit(tg.grad(f, 1))):
        assert np.allclose(gradient(x, W), 2 * W)
