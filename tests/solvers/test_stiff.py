"""`odeint(method="rodas")`: orders, stiff equations against SciPy, derivatives of the steps taken,
dense and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tracegrad as tg
from tracegrad.errors import ShapeError
from tracegrad.solvers.rosenbrock import attempt, rates
from tracegrad.solvers.vectors import Layout

RATES = np.array([0.04, 3e7, 1e4])


def robertson(y: Any, t: Any, k: Any) -> Any:
    a, b, c = y
    slow, fast = k[0] * a - k[2] * b * c, k[1] * b * b
    return np.stack([-slow, slow - fast, fast])


def driven(y: Any, t: Any, k: Any = 50.0) -> Any:
    """Two numbers that depend on the time, too."""
    return np.stack([-k * (y[0] - np.cos(t)) + 0.1 * y[1], y[0] - y[1] * np.sin(t)])


def brusselator(y: Any, t: Any, a: Any) -> Any:
    """Two substances on a line, one behind the other."""
    n = y.shape[0] // 2
    u, v = y[:n], y[n:]
    wide = [np.concatenate([[w], x, [w]]) for x, w in ((u, 1.0), (v, 3.0))]
    du, dv = (0.02 * (n + 1) ** 2 * (w[2:] - 2 * w[1:-1] + w[:-2]) for w in wide)
    return np.concatenate([a + u * u * v - 4 * u + du, 3 * u - u * u * v + dv])


def start(n: int) -> Any:
    x = np.linspace(0, 1, n + 2)[1:-1]
    return np.concatenate([1 + np.sin(2 * np.pi * x), np.full(n, 3.0)])


def test_orders() -> None:
    """Of one step: the solution is wrong by h^5, its estimate by h^4, the solution inside by
    h^4."""
    y0, t0 = np.array([0.5, 1.0]), 0.3
    layout = Layout([y0], "y0")
    given = rates(lambda y, t: [driven(y[0], t, 2.0)], layout, np.array([t0]), "dense")
    exact = scipy.integrate.solve_ivp(
        lambda t, y: driven(y, t, 2.0), (t0, t0 + 0.5), y0, "DOP853", rtol=1e-13, atol=1e-14,
        dense_output=True,
    ).sol  # fmt: skip
    wrong = []
    for h in (0.2, 0.1, 0.05):
        after, error, powers = attempt(given, y0, np.float64(t0), np.float64(h))
        inside = y0 + sum(0.6 ** (k + 1) * p for k, p in enumerate(powers))
        wrong.append(
            [
                np.linalg.norm(x)
                for x in (after - exact(t0 + h), error, inside - exact(t0 + 0.6 * h))
            ]
        )
        end = y0 + sum(powers)
        np.testing.assert_allclose(end, after, rtol=1e-13)
    orders = np.log2(np.array(wrong[:-1]) / wrong[1:])
    np.testing.assert_allclose(orders[-1], [5, 4, 4], atol=0.4)


def test_robertson() -> None:
    """Rates over nine powers of ten, against Radau, up to a late time."""
    times = np.array([0.0, 0.4, 40.0, 4e3, 4e6])
    solve = tg.jit(
        lambda k: tg.odeint(
            robertson, np.array([1.0, 0.0, 0.0]), times, k, method="rodas", rtol=1e-8, atol=1e-12
        )
    )
    found = solve(RATES)
    wanted = scipy.integrate.solve_ivp(
        lambda t, y: robertson(y, t, RATES), (0, 4e6), [1.0, 0.0, 0.0], "Radau", times, rtol=1e-10,
        atol=1e-13, jac=lambda t, y: tg.jacobian(robertson)(y, t, RATES),
    ).y.T  # fmt: skip
    np.testing.assert_allclose(found[1:], wanted[1:], rtol=3e-6)
    np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-12)


def fixed(f: Any, y0: Any, t: Any, *args: Any, **how: Any) -> Any:
    """With tolerances so large that the sizes of the steps do not depend on anything: then
    derivatives of the steps are those of the whole."""
    return tg.odeint(f, y0, t, *args, method="rodas", rtol=1e9, atol=1e9, **how)


@pytest.mark.parametrize("how", ["dense", "sparse"])
def test_derivatives_are_exact(how: str) -> None:
    """By the start, the times and an argument, against finite differences of the same steps; twice;
    in forward mode."""
    y0, times = np.array([0.5, 1.0]), np.array([0.0, 0.3, 0.7])

    def f(y0: Any, times: Any, k: Any) -> Any:
        return np.sum(
            np.sin(fixed(driven, y0, times, k, linear_solver=how)) * [[1.0], [2.0], [3.0]]
        )

    args = (y0, times, 20.0)
    gradient = tg.grad(f, argnums=(0, 1, 2))
    found = gradient(*args)
    moves = (np.array([0.3, -1.0]), np.array([0.0, 0.2, 1.0]), 2.0)
    tangent = tg.jvp(f, args, moves)[1]
    along = sum(np.sum(g * m) for g, m in zip(found, moves, strict=True))
    np.testing.assert_allclose(tangent, along, rtol=1e-10)
    for k, move in enumerate(moves):
        h = 1e-5
        ends = [[x + s * h * move if j == k else x for j, x in enumerate(args)] for s in (-1, 1)]
        low, high = (f(*end) for end in ends)
        np.testing.assert_allclose(np.sum(found[k] * move), (high - low) / (2 * h), rtol=1e-7)
    second = tg.grad(tg.grad(lambda k: f(y0, times, k)))(20.0)
    low, high = (gradient(*end)[2] for end in ends)
    np.testing.assert_allclose(second * move, (high - low) / (2 * h), rtol=1e-6)
    if how == "sparse":
        for x, y in zip(tg.jit(gradient)(*args), found, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10)


def test_sparse_matrices() -> None:
    """A line of 240 numbers: "auto" takes few diagonals, in another order; as with the whole
    matrix, and as SciPy's implicit methods."""
    n, times = 120, np.array([0.0, 0.5, 2.0])

    auto = tg.jit(
        lambda y, a: tg.odeint(brusselator, y, times, a, method="rodas", rtol=1e-6, atol=1e-8)
    )
    found = auto(start(n), 1.0)
    whole = tg.odeint(brusselator, start(60), times[:2], 1.0, method="rodas", linear_solver="dense")
    few = tg.odeint(brusselator, start(60), times[:2], 1.0, method="rodas", linear_solver="sparse")
    np.testing.assert_allclose(few, whole, rtol=1e-9)
    problem = tg.scipy.ode(lambda t, y, a: brusselator(y, t, a), sparse=True)
    for method in ("BDF", "Radau"):
        theirs = scipy.integrate.solve_ivp(
            problem.fun, (0.0, 2.0), start(n), method, times, jac=problem.jac, args=(1.0,),
            rtol=1e-7, atol=1e-9,
        )  # fmt: skip
        np.testing.assert_allclose(found, theirs.y.T, rtol=2e-5)
    gradient = tg.jit(tg.grad(lambda a: np.sum(auto(start(n), a)[-1] ** 2)))(1.0)
    ends = [np.sum(auto(start(n), 1.0 + s * 1e-4)[-1] ** 2) for s in (-1, 1)]
    np.testing.assert_allclose(gradient, (ends[1] - ends[0]) / 2e-4, rtol=1e-3)


def test_states_of_all_kinds() -> None:
    """Trees, complex numbers, float32, no dependence on y or on t, a map over parameters."""
    times = np.array([0.0, 0.5, 1.0])

    def wave(s: Any, t: Any, w: Any) -> Any:
        return {"z": 1j * w * s["z"], "m": (t + 0 * w, -(s["m"][1] ** 2))}

    s0 = {"z": np.array([1.0 + 0j, 2.0]), "m": (np.float32(0.0), np.ones((2, 1), np.float32))}
    found = tg.odeint(wave, s0, times, 3.0, method="rodas", rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found["z"], np.exp(3j * times)[:, None] * [1, 2], rtol=1e-6)
    np.testing.assert_allclose(found["m"][0], times**2 / 2, rtol=1e-5)
    np.testing.assert_allclose(found["m"][1][:, 0, 0], 1 / (1 + times), rtol=1e-5)
    assert found["m"][1].dtype == np.float32
    assert found["z"].dtype == np.complex128
    single = tg.odeint(lambda y, t: -100 * y, np.ones(3, np.float32), times, method="rodas")
    assert single.dtype == np.float32
    one = tg.vmap(lambda k: tg.odeint(driven, np.ones(2), times, k, method="rodas")[-1])
    wanted = [tg.odeint(driven, np.ones(2), times, k, method="rodas")[-1] for k in (5.0, 500.0)]
    np.testing.assert_allclose(one(np.array([5.0, 500.0])), wanted, rtol=1e-9)
    alone = tg.odeint(lambda y, t: -y, np.ones(2), np.array([0.0]), method="rodas")
    assert alone.shape == (1, 2)


def test_refusals() -> None:
    y0, times = np.ones(2), np.array([0.0, 1.0])
    with pytest.raises(ValueError, match='"auto", "dense" or "sparse"'):
        tg.odeint(driven, y0, times, method="rodas", linear_solver="cg")
    with pytest.raises(ValueError, match='"dopri5", "rodas" or "rk4"'):
        tg.odeint(driven, y0, times, method="BDF")
    with pytest.raises(ShapeError, match="a tree like y0"):
        tg.odeint(lambda y, t: y[:1], y0, times, method="rodas")
    with pytest.raises(RuntimeError, match="max_steps=3"):
        tg.odeint(driven, y0, times, method="rodas", max_steps=3)
