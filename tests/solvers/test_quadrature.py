"""Integrals by adaptive quadrature: values with SciPy's, derivatives with formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import tracegrad as tg
from tracegrad.errors import ShapeError, UnsupportedFunctionError
from tracegrad.solvers.quadrature import GAUSS, KRONROD, NODES

quad = tg.integrate.quad
INF = float("inf")


def test_the_rules_are_exact_for_polynomials() -> None:
    for power in range(32):
        exact = (1 - (-1) ** (power + 1)) / (power + 1)
        assert abs(KRONROD @ NODES**power - exact) < 2e-15
        if power < 20:
            assert abs(GAUSS @ NODES**power - exact) < 2e-15


@pytest.mark.parametrize(
    ("f", "a", "b", "exact"),
    [
        (lambda x: 1 / np.sqrt(x), 0.0, 1.0, 2.0),
        (lambda x: np.log(x), 0.0, 1.0, -1.0),
        (lambda x: 1 / (1 + x * x), -INF, INF, np.pi),
        (lambda x: 1 / (1 + x * x), INF, 0.0, -np.pi / 2),
        (lambda x: np.exp(x), -INF, 1.0, np.e),
        (lambda x: np.abs(x - 0.3), 0.0, 1.0, 0.29),
        (lambda x: np.cos(50 * x), 0.0, 3.0, np.sin(150) / 50),
        (lambda x: 1, 2, 5, 3.0),
        (lambda x: x, 2.0, 2.0, 0.0),
        (lambda x: np.exp(-((x - 0.3) ** 2) * 1e4), 1.0, 0.0, -np.sqrt(np.pi) / 100),
    ],
)
def test_values(f: Callable[..., Any], a: float, b: float, exact: float) -> None:
    for found, error in (quad(f, a, b), tg.jit(lambda: quad(f, a, b))()):
        assert abs(found - exact) < 2e-8
        assert 0 <= error < 2e-8


def sine_integral(rate: Any, end: Any) -> Any:
    return quad(lambda x: np.sin(rate * x) / x, 0.0, end)[0]


@pytest.mark.parametrize("made", [lambda f: f, tg.jit])
def test_derivatives_by_parameters_and_limits(made: Callable[..., Any]) -> None:
    p = np.array([2.0, 3.0])
    assert np.isclose(made(sine_integral)(2.0, 3.0), scipy.special.sici(6.0)[0], rtol=1e-13)
    slopes = np.array([np.sin(6.0) / 2, np.sin(6.0) / 3])
    assert np.allclose(made(tg.grad(lambda p: sine_integral(*p)))(p), slopes, rtol=1e-12)
    forward = made(lambda p, v: tg.jvp(lambda p: sine_integral(*p), (p,), (v,))[1])
    assert np.isclose(forward(p, np.array([1.0, -2.0])), slopes @ [1, -2], rtol=1e-12)
    c, s = np.cos(6.0), np.sin(6.0)
    exact = [[(6 * c - s) / 4, c], [c, (6 * c - s) / 9]]
    assert np.allclose(made(tg.hessian(lambda p: sine_integral(*p)))(p), exact, rtol=1e-11)


def test_of_batches() -> None:
    rates, ends = np.array([1.0, 2.0, 0.5]), np.array([3.0, 1.0, -2.0])
    assert np.allclose(
        tg.jit(tg.vmap(sine_integral))(rates, ends), scipy.special.sici(rates * ends)[0]
    )
    found = tg.vmap(tg.grad(sine_integral, (0, 1)))(rates, ends)
    assert np.allclose(found, [np.sin(rates * ends) / rates, np.sin(rates * ends) / ends])


def test_a_derivative_finds_intervals_of_its_own() -> None:
    def f(p: Any) -> Any:
        return quad(lambda x: 1 + p * np.exp(-((x - 0.3) ** 2) * 1e4), 0.0, 1.0)[0]

    assert np.isclose(f(0.0), 1.0, rtol=1e-15)
    assert np.isclose(tg.grad(f)(0.0), np.sqrt(np.pi) / 100, rtol=1e-8)


def test_by_an_end_of_an_infinite_range() -> None:
    def f(a: Any) -> Any:
        return quad(lambda x: np.exp(-x * x), a, INF)[0]

    assert np.isclose(tg.grad(f)(1.0), -np.exp(-1.0), rtol=1e-12)
    assert np.isclose(tg.grad(tg.grad(f))(1.0), 2 * np.exp(-1.0), rtol=1e-12)


def test_arrays_and_nested_integrals() -> None:
    def f(x: Any, p: Any) -> Any:
        return np.stack([np.sin(p * x), x * p, np.exp(x)])

    value, error = tg.integrate.quad_vec(lambda x: f(x, 1.5), 0.0, 2.0)
    assert np.allclose(value, [(1 - np.cos(3.0)) / 1.5, 3.0, np.expm1(2.0)], rtol=1e-12)
    assert error < 1e-7
    slope = tg.jacobian(lambda p: tg.integrate.quad_vec(lambda x: f(x, p), 0.0, 2.0)[0])(1.5)
    exact = [(2 * np.sin(3.0) * 1.5 - (1 - np.cos(3.0))) / 2.25, 2.0, 0.0]
    assert np.allclose(slope, exact, rtol=1e-10)

    def inside(y: Any, x: Any) -> Any:
        return x * y**2 * np.exp(x)

    ends: Any = (0.0, 2.0, lambda x: x - 1, lambda x: 2 * x)
    assert np.isclose(
        tg.integrate.dblquad(inside, *ends)[0], scipy.integrate.dblquad(inside, *ends)[0]
    )


def test_of_tensors() -> None:
    x = tg.tensor(2.0, requires_grad=True)
    quad(lambda t: t * x, 0.0, x)[0].backward()
    assert float(x.grad) == pytest.approx(6.0)


def test_what_cannot_be_integrated_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="the error is not within"):
        quad(lambda x: 1 / x, 0.0, 1.0)
    with pytest.raises(RuntimeError, match="the error is not within"):
        tg.jit(lambda a: quad(lambda x: 1 / x, a, 1.0)[0])(0.0)
    with pytest.raises(ShapeError, match="must return a number"):
        quad(lambda x: np.ones(2) * x, 0.0, 1.0)
    with pytest.raises(TypeError, match="complex_func"):
        quad(lambda x: 1j * x, 0.0, 1.0)
    with pytest.raises(UnsupportedFunctionError, match="weight"):
        quad(np.sin, 0.0, 1.0, weight="cos")
    with pytest.raises(ValueError, match="same infinity"):
        quad(np.sin, INF, INF)
    assert np.isnan(quad(lambda x: x * np.nan, 0.0, 1.0)[0])


def test_initial_values() -> None:
    def solved(p: Any) -> Any:
        return tg.integrate.solve_ivp(
            lambda t, y, p: [y[1], -p * y[0]], (0, 2), [1.0, 0.0], t_eval=[0.0, 1.0, 2.0],
            args=(p,), rtol=1e-9, atol=1e-10,
        )  # fmt: skip

    assert np.allclose(solved(4.0).y[0], np.cos([0.0, 2.0, 4.0]))
    assert np.isclose(tg.grad(lambda p: solved(p).y[0, -1])(4.0), -np.sin(4.0) / 2)
    with pytest.raises(UnsupportedFunctionError, match="rodas"):
        tg.integrate.solve_ivp(lambda t, y: y, (0, 1), [1.0], "Radau", [1.0])
    with pytest.raises(UnsupportedFunctionError, match="t_eval"):
        tg.integrate.solve_ivp(lambda t, y: y, (0, 1), [1.0])
    with pytest.raises(ValueError, match="not within"):
        tg.integrate.solve_ivp(lambda t, y: y, (0, 1), [1.0], t_eval=[2.0])
