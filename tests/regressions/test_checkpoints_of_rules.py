"""Checkpoints of functions with rules that differentiate inside: a sweep in the first run asks for
what was saved so far, in the middle of a rule, and what runs again then has to do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

SCALE = np.array([0.1, 0.4, 0.2])
X, V = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])


def plain(x: Any) -> Any:
    return np.sin(x * x) * x


def slope(x: Any) -> Any:
    return tg.grad(lambda y: np.sum(np.sin(y) * y))(x * x)


def slope_with_array(x: Any) -> Any:
    return tg.grad(lambda y: np.sum(np.sin(y) * y * SCALE))(x * x)


def product(x: Any) -> Any:
    value, back = tg.vjp(lambda y: np.tanh(y * SCALE) * y[::-1], np.exp(x))
    return value + back(x)[0]


def curvature(x: Any) -> Any:
    return tg.hessian(lambda y: np.sum(np.sin(y) * y[::-1]))(x * x) @ SCALE


def checkpointed(x: Any) -> Any:
    return tg.checkpoint(slope_with_array)(np.sin(x))


def by_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    rule = tg.custom_vjp(lambda x: f(x))
    rule.defvjp(lambda x: (tg.vjp(f, x)[0], x), lambda x, ct: tg.vjp(f, x)[1](ct))
    return lambda x: rule(x)


def by_own_value(f: Callable[..., Any]) -> Callable[..., Any]:
    """A forward rule that calls the function itself, and sweeps."""
    rule = tg.custom_vjp(lambda x: f(x))

    def forward(x: Any) -> Any:
        value, (back,) = rule(x), tg.vjp(f, x)[1](V)
        return value, (x, back)

    rule.defvjp(forward, lambda kept, ct: tg.vjp(f, kept[0])[1](ct))
    return lambda x: rule(x)


def by_jvp(f: Callable[..., Any]) -> Callable[..., Any]:
    rule = tg.custom_jvp(lambda x: f(x))
    rule.defjvp(lambda primals, tangents: tg.jvp(f, primals, tangents))
    return lambda x: rule(x)


def nothing(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    return tg.grad(lambda x: f(x) @ V)


def rows(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tg.jacobian(f)(x) @ V


FUNCTIONS = (plain, slope, slope_with_array, product, curvature, checkpointed)


@pytest.mark.parametrize("around", [nothing, total, rows])
@pytest.mark.parametrize("ruled", [by_vjp, by_own_value, by_jvp])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_are_those_without(
    f: Callable[..., Any], ruled: Callable[..., Any], around: Callable[..., Any]
) -> None:
    whole = around(ruled(f))
    found = tg.grad(lambda x: tg.checkpoint(whole)(np.sin(x)) @ V)(X)
    expected = tg.grad(lambda x: around(f)(np.sin(x)) @ V)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_expected_ones_are_slopes(f: Callable[..., Any]) -> None:
    found = tg.grad(lambda x: f(np.sin(x)) @ V)(X)
    step = 1e-5
    by_differences = [
        (f(np.sin(X + step * e)) - f(np.sin(X - step * e))) @ V / (2 * step) for e in np.eye(3)
    ]
    np.testing.assert_allclose(found, by_differences, rtol=1e-6, atol=1e-7)
