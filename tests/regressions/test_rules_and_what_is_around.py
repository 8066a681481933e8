"""A function with rules of its own that reads a differentiated value around it: its rules say
nothing of that, so a derivative by it is refused, compiled or not. It was 0."""

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
        lambda: tg.grad(f, (0, 1))(X, W),
        lambda: tg.grad(lambda x: np.sum(tg.grad(f, 1)(x, W)))(X),
        lambda: tg.vmap(tg.grad(f, 1))(np.stack([X, X]), np.stack([W, W])),
    ):
        with pytest.raises(tg.TracegradError, match="Pass it as an argument"):
            derivative()


def test_a_tangent_of_what_is_around() -> None:
    f = _program(_by_jvp, lambda u: u)
    for way in (tg.jit, lambda f: f):
        with pytest.raises(tg.TracegradError, match="Pass it as an argument"):
            way(lambda x, w: tg.jvp(f, (x, w), (x, w)))(X, W)


@pytest.mark.parametrize("ruled", [_by_vjp, _by_jvp])
def test_plain_numbers_need_no_rule(ruled: Callable[[Any], Any]) -> None:
    """The function itself runs, and has its derivatives."""
    f = _program(ruled, lambda u: u)
    np.testing.assert_allclose(tg.grad(f, 1)(X, W), 2 * W * X[0])
    np.testing.assert_allclose(tg.hessian(f, 1)(X, W), 2 * X[0] * np.eye(2))


@pytest.mark.parametrize("ruled", [_by_vjp, _by_jvp])
def test_where_none_is_wanted(ruled: Callable[[Any], Any]) -> None:
    f = _program(ruled, lambda u: u)
    stopped = _program(ruled, tg.stop_gradient)
    for way in (tg.jit, lambda f: f):
        assert np.array_equal(way(tg.grad(f))(X, W), [3.0, 0.0])
        given, around = way(tg.grad(stopped, (0, 1)))(X, W)
        assert np.array_equal(given, [3.0, 0.0])
        assert np.array_equal(around, [0.0, 0.0])


@pytest.mark.parametrize("ruled", [_by_vjp, _by_jvp])
def test_tensors_around(ruled: Callable[[Any], Any]) -> None:
    x, w = tg.tensor([1.5, -2.0], requires_grad=True), tg.tensor(0.3, requires_grad=True)
    runs = []

    def scaled(v: Any) -> Any:
        runs.append(1)
        return v * w, v + 1.0

    made = tg.custom_vjp(scaled)
    made.defvjp(lambda v: (scaled(v), None), lambda _, cts: (3 * cts[0] + cts[1],))
    if ruled is _by_jvp:
        made = tg.custom_jvp(scaled)
        made.defjvp(lambda ps, ts: (scaled(*ps), (3 * ts[0], ts[0])))
    beside = len(runs)
    y, z = made(x)
    assert len(runs) <= beside + 2  # the function, and the forward rule of a reverse one
    assert np.array_equal(y.detach().numpy(), x.detach().numpy() * 0.3)
    (found,) = tg.autograd.grad((y + z).sum(), [x], retain_graph=True)
    assert np.array_equal(found.numpy(), [4.0, 4.0])
    with pytest.raises(tg.TracegradError, match="Pass it as an argument"):
        y.sum().backward()
    with tg.no_grad():
        assert not made(x)[0].requires_grad
    w.requires_grad_(False)
    made(x)[0].sum().backward()
    assert np.array_equal(x.grad.numpy(), [3.0, 3.0])


def test_an_argument_without_derivative_that_has_one() -> None:
    x, w = tg.tensor(1.5, requires_grad=True), tg.tensor(0.3, requires_grad=True)

    def scaled(k: Any, v: Any) -> Any:
        return k * v

    made = tg.custom_vjp(scaled, nondiff_argnums=(0,))
    made.defvjp(lambda k, v: (k * v, None), lambda k, _, ct: (3 * ct,))
    (found,) = tg.autograd.grad(made(w, x), [x])
    assert found.item() == 3.0
    with pytest.raises(tg.TracegradError, match="Pass it as an argument"):
        tg.autograd.grad(made(w, x), [w])
