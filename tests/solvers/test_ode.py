"""odeint: against closed forms and SciPy, and its derivatives against those of the solution and
finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tracegrad as tg

WRAP = {"eager": lambda f: f, "jit": tg.jit}
TIMES = np.array([0.0, 0.3, 0.35, 1.0])
TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def oscillator(y: Any, t: Any, w: Any) -> Any:
    return {"x": y["v"], "v": -w * w * y["x"]}


def predators(y: Any, t: Any, p: Any) -> Any:
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


@pytest.mark.parametrize("wrap", WRAP)
class TestAgainstClosedForms:
    def test_a_tree_and_its_parameter(self, wrap: str) -> None:
        f = WRAP[wrap](
            lambda w: tg.odeint(oscillator, {"x": 1.0, "v": 0.0}, TIMES, w, **TIGHT)["x"]
        )
        w = 1.7
        np.testing.assert_allclose(f(w), np.cos(w * TIMES), rtol=1e-9)
        np.testing.assert_allclose(
            tg.jacobian(f)(w), -TIMES * np.sin(w * TIMES), rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(
            tg.jvp(f, (w,), (1.0,))[1], -TIMES * np.sin(w * TIMES), rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(tg.hessian(lambda u: f(u)[-1])(w), -np.cos(w), rtol=1e-6)

    def test_the_times_are_arguments(self, wrap: str) -> None:
        f = WRAP[wrap](
            lambda t: tg.odeint(lambda y, s: np.cos(s) * y, np.ones(2), t, **TIGHT)[:, 1]
        )
        exact = np.exp(np.sin(TIMES))
        np.testing.assert_allclose(f(TIMES), exact, rtol=1e-9)
        expected = np.diag(np.cos(TIMES) * exact)
        expected[:, 0] -= exact  # later starts leave less time
        expected[0, 0] = 0.0
        np.testing.assert_allclose(tg.jacobian(f)(TIMES), expected, rtol=1e-6, atol=1e-8)

    def test_equal_times_and_one_time(self, wrap: str) -> None:
        for t in (np.array([0.5]), np.array([0.5, 0.5, 0.5])):
            f = WRAP[wrap](lambda y, t=t: tg.odeint(lambda u, s: u * u, y, t))
            np.testing.assert_array_equal(f(np.array([1.0, 2.0])), np.array([[1.0, 2.0]] * len(t)))

    def test_complex_values(self, wrap: str) -> None:
        f = WRAP[wrap](lambda w: tg.odeint(lambda z, t: 1j * w * z, 1.0 + 0.0j, TIMES, **TIGHT))
        np.testing.assert_allclose(f(2.0), np.exp(2j * TIMES), rtol=1e-9)
        np.testing.assert_allclose(
            tg.jacobian(lambda w: np.real(f(w)))(2.0),
            -TIMES * np.sin(2 * TIMES),
            rtol=1e-7,
            atol=1e-9,
        )

    def test_float32(self, wrap: str) -> None:
        f = WRAP[wrap](
            lambda y: tg.odeint(lambda u, t: -u, y, TIMES.astype(np.float32), rtol=1e-4, atol=1e-6)
        )
        found = f(np.ones(2, np.float32))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[-1], np.exp(-1), rtol=1e-3)


def test_against_scipy() -> None:
    y0, p, t = np.array([1.0, 1.2]), np.array([1.5, 1.0, 1.0, 3.0]), np.linspace(0, 10, 31)
    expected = solve_ivp(
        lambda s, y: predators(y, s, p),
        (0, 10),
        y0,
        method="DOP853",
        t_eval=t,
        rtol=1e-12,
        atol=1e-13,
    ).y.T
    f = tg.jit(lambda y, q: tg.odeint(predators, y, t, q, rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose(f(y0, p), expected, rtol=1e-7)
    fixed = tg.jit(lambda y, q: tg.odeint(predators, y, np.linspace(0, 10, 3001), q, method="rk4"))
    np.testing.assert_allclose(fixed(y0, p)[::100], expected, rtol=1e-7)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_derivatives_are_those_of_the_steps_taken(method: str) -> None:
    y0, p, t = np.array([1.0, 1.2]), np.array([1.5, 1.0, 1.0, 3.0]), np.array([0.0, 0.4, 1.0])

    def loss(y: Any, q: Any) -> Any:
        return np.sum(tg.odeint(predators, y, t, q, method=method, rtol=1e-6, atol=1e-8) ** 2)

    _, gradient = tg.jit(tg.value_and_grad(loss, argnums=(0, 1)))(y0, p)
    g = tg.grad(loss, argnums=(0, 1))(y0, p)
    for found, expected in zip(gradient, g, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    f = tg.jit(loss)
    for k, step in enumerate(1e-6 * np.eye(4)):
        np.testing.assert_allclose(
            gradient[1][k], (f(y0, p + step) - f(y0, p - step)) / 2e-6, rtol=1e-4
        )
    rows = tg.jit(tg.hessian(loss, 1))(y0, p)
    np.testing.assert_allclose(rows, rows.T, rtol=1e-8, atol=1e-8)
    forward = tg.jit(lambda q: tg.jvp(lambda r: loss(y0, r), (q,), (np.ones(4),))[1])(p)
    np.testing.assert_allclose(forward, np.sum(gradient[1]), rtol=1e-9)


def test_batches_take_their_own_steps() -> None:
    rates = np.array([0.1, 5.0, 80.0])
    f = tg.jit(
        tg.vmap(
            tg.value_and_grad(
                lambda k: tg.odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 1.0]), **TIGHT)[-1]
            )
        )
    )
    values, gradients = f(rates)
    np.testing.assert_allclose(values, np.exp(-rates), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(gradients, -np.exp(-rates), rtol=1e-5, atol=1e-12)


def test_tensors() -> None:
    k = tg.tensor(2.0, requires_grad=True)
    y = tg.odeint(lambda y, t: -k * y, tg.tensor([1.0, 2.0]), TIMES, **TIGHT)
    y[-1].sum().backward()
    np.testing.assert_allclose(k.grad.item(), -3 * np.exp(-2.0), rtol=1e-7)


class TestErrors:
    def test_what_cannot_be_solved(self) -> None:
        with pytest.raises(ValueError, match="no method 'euler'"):
            tg.odeint(lambda y, t: y, 1.0, TIMES, method="euler")
        with pytest.raises(tg.ShapeError, match=r"t must be the times, of shape \(n,\)"):
            tg.odeint(lambda y, t: y, 1.0, 2.0)
        with pytest.raises(tg.ShapeError, match="must return a tree like y0"):
            tg.odeint(lambda y, t: np.ones(2), 1.0, TIMES)
        with pytest.raises(TypeError, match="y0 must hold floating-point numbers, not int64"):
            tg.odeint(lambda y, t: y, np.array([1, 2]), TIMES)
        with pytest.raises(ValueError, match="y0 is empty"):
            tg.odeint(lambda y, t: y, (), TIMES)

    def test_too_many_steps(self) -> None:
        for wrap in WRAP.values():
            with pytest.raises(RuntimeError, match="max_steps=20"):
                wrap(
                    lambda y: tg.odeint(
                        lambda u, t: -1000.0 * (u - np.cos(t)),
                        y,
                        np.array([0.0, 10.0]),
                        max_steps=20,
                    )
                )(1.0)


METHODS = ("dopri5", "rodas", "rk4")


@pytest.mark.parametrize("wrap", WRAP)
@pytest.mark.parametrize("method", METHODS)
def test_backward_in_time(method: str, wrap: str) -> None:
    """Times that decrease, known or not, whole batches of both directions."""

    def f(t: Any, k: Any) -> Any:
        return tg.odeint(lambda y, s: -k * y + np.sin(s), 1.0, t, method=method)

    there = np.linspace(2.0, 0.5, 41)
    exact = tg.odeint(lambda y, s: 1.3 * y - np.sin(-s), 1.0, -there, rtol=1e-11, atol=1e-12)
    known = WRAP[wrap](lambda k: f(there, k))
    asked = WRAP[wrap](f)
    np.testing.assert_allclose(known(1.3), exact, rtol=1e-5)
    np.testing.assert_allclose(asked(there, 1.3), exact, rtol=1e-5)
    if wrap == "jit":
        both = np.stack([there, there[::-1]])
        np.testing.assert_allclose(
            tg.jit(tg.vmap(lambda t: f(t, 1.3)))(both),
            np.stack([asked(t, 1.3) for t in both]),
            rtol=1e-12,
        )
    slope = (known(1.3 + 1e-5)[-1] - known(1.3 - 1e-5)[-1]) / 2e-5
    np.testing.assert_allclose(tg.grad(lambda k: known(k)[-1])(1.3), slope, rtol=1e-5)
    np.testing.assert_allclose(
        tg.grad(lambda t: asked(t, 1.3)[-1])(there)[-1],
        -1.3 * exact[-1] + np.sin(there[-1]),
        rtol=1e-3,
    )


@pytest.mark.parametrize("wrap", WRAP)
@pytest.mark.parametrize("method", ["dopri5", "rodas"])
def test_times_in_no_order_are_errors(method: str, wrap: str) -> None:
    t = np.array([0.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"test_ode.py:\d+: odeint: t must increase or decrease"):
        WRAP[wrap](lambda y: tg.odeint(lambda u, s: -u, y, t, method=method))(1.0)
    with pytest.raises((ValueError, RuntimeError), match="odeint: t must increase or decrease"):
        WRAP[wrap](lambda t: tg.odeint(lambda u, s: -u, 1.0, t, method=method))(t)


@pytest.mark.parametrize("times", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64])
@pytest.mark.parametrize("method", METHODS)
def test_dtypes_of_times_and_values(method: str, dtype: Any, times: Any) -> None:
    """Values keep theirs; times far from 0 have steps below their last digit."""
    t = np.linspace(0, 1, 9).astype(times) + times(2**20)
    found = tg.odeint(
        lambda y, s: -2 * y * (s > 0), np.ones(2, dtype), t, method=method, rtol=1e-5, atol=1e-7
    )
    assert found.dtype == dtype
    np.testing.assert_allclose(found[:, 0], np.exp(-2 * (t - t[0])), rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_refused(method: str) -> None:
    def solve(f: Any = lambda y, s: -y, y: Any = 1.0, t: Any = (0.0, 1.0), **how: Any) -> Any:
        return tg.odeint(f, y, np.array(t), method=method, **how)

    for error, text, given in (
        (tg.DTypeError, "f returned complex128 for a value of float64", {"f": lambda y, s: 1j * y}),
        (tg.DTypeError, "t must be real times, not complex128", {"t": (0.0, 1j)}),
        (ValueError, "rtol must be at least 0", {"rtol": -1.0}),
        (ValueError, "atol must be at least 0", {"atol": np.nan}),
        (TypeError, r"max_steps must be an integer, not a float \(2.5", {"max_steps": 2.5}),
    ):
        with pytest.raises(error, match=r"test_ode.py:\d+: odeint: " + text):
            solve(**given)
    assert solve(y=np.ones((2, 0))).shape == (2, 2, 0)
    np.testing.assert_array_equal(
        tg.odeint(lambda y, s: -y, 1.0, [0.0, 1.0], method=method), solve()
    )
    if method != "rk4":
        with pytest.raises(
            RuntimeError, match=r"odeint: still going after max_steps=9 .* give NaN"
        ):
            solve(lambda y, s: y * np.nan, max_steps=9)
