"""Functions as users have them: methods, objects, partial functions, Numba's, jitted ones with
options, programs with loops and branches on values; through every adapter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, 2.0])


class Model:
    def __init__(self) -> None:
        self.scale = 2.0

    def method(self, x: Any) -> Any:
        return np.sum(self.scale * x**2)

    def __call__(self, x: Any) -> Any:
        return np.sum(self.scale * x**2)


@numba.njit
def in_numba(x):
    total = 0.0
    for i in range(len(x)):
        total += 2.0 * x[i] ** 2
    return total


def program(x: Any) -> Any:
    """A loop, with a branch on a value that differs between the two elements."""
    total = 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            total += 2.0 * x[i] ** 2
        else:
            total += x[i] * (2.0 * x[i])
    return total


def helped(x: Any) -> Any:
    return program(x)


@functools.partial(tg.jit, static_argnames="power")
def with_options(x: Any, power: int = 2) -> Any:
    return 2.0 * np.sum(x**power)


KINDS = {
    "method": Model().method,
    "object": Model(),
    "partial": functools.partial(lambda scale, x: np.sum(scale * x**2), 2.0),
    "Numba": in_numba,
    "program": program,
    "program in a helper": helped,
    "jitted": tg.jit(program),
    "jitted with options": with_options,
}


def through(name: str, f: Callable[[Any], Any]) -> Any:
    """2 sum(x^2) and its gradient, by one of the adapters."""
    if name == "objective":
        p = tg.scipy.objective(f)
        return p.fun(X), p.jac(X)
    if name == "objective of a tree":
        p = tg.scipy.objective(f, like=X.copy())
        return p.fun(X), p.jac(X)
    if name == "residuals":
        p = tg.scipy.least_squares_problem(f)
        return p.fun(X)[0], p.jac(X)[0]
    if name == "constraint":
        c = tg.scipy.constraint(f, 0.0, 1.0)
        np.testing.assert_allclose(c.hess(X, np.ones(1)), 4 * np.eye(2), atol=1e-14)
        return c.fun(X)[0], c.jac(X)[0]
    raise AssertionError(name)


@pytest.mark.parametrize("adapter", ["objective", "objective of a tree", "residuals", "constraint"])
@pytest.mark.parametrize("kind", KINDS)
def test_adapters(adapter: str, kind: str) -> None:
    value, slope = through(adapter, KINDS[kind])
    assert value == pytest.approx(8.5)
    np.testing.assert_allclose(slope, 4 * X)


def test_options_are_passed() -> None:
    p = tg.scipy.objective(with_options, like=X)
    assert p.fun(X, 3) == pytest.approx(16.25)
    np.testing.assert_allclose(p.hessp(X, np.ones(2), 3), 12 * X)
    found = tg.scipy.minimize(with_options, X, args=(4,), tol=1e-12)
    np.testing.assert_allclose(found.x, 0.0, atol=1e-3)


@numba.njit
def bent(x, a):
    return a * x if x > 0.5 else a * 0.5


def test_programs_of_other_arguments() -> None:
    """Branches on values in right-hand sides, models of curves and integrands."""

    def f(t: Any, y: Any) -> Any:
        return -y if t < 1.0 else -2.0 * y

    p = tg.scipy.ode(f)
    np.testing.assert_array_equal(p.jac(0.5, X), -np.eye(2))
    np.testing.assert_array_equal(p.jac(1.5, X), -2 * np.eye(2))
    for g in (bent, lambda x, a: a * x if x > 0.5 else a * 0.5):
        value, _ = tg.scipy.quad(g, 0.0, 1.0, args=(2.0,), points=[0.5])
        assert value == pytest.approx(2 * (0.25 + 0.375))
        slope = tg.grad(lambda a, g=g: tg.scipy.quad(g, 0.0, 1.0, args=a, points=[0.5])[0])(2.0)
        assert slope == pytest.approx(0.625)

    def model(t: Any, a: Any, b: Any) -> Any:
        return np.exp(-a * t) if a > 0.0 else b + t

    t = np.linspace(0.0, 1.0, 6)
    with np.errstate(all="ignore"):
        found, _ = tg.scipy.curve_fit(lambda t, a, b: model(t, a, b) + b * t, t, np.exp(-t) + 2 * t)
    np.testing.assert_allclose(found, [1.0, 2.0], atol=1e-6)
