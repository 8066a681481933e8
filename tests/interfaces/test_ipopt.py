"""The callbacks of IPOPT: called as it calls them, and by IPOPT itself where that is installed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


@tg.jit
def objective(x):
    return x[0] * x[3] * np.sum(x[:3]) + x[2]


@tg.jit
def constraints(x):
    return np.stack([np.prod(x), np.sum(x * x)])


START = np.array([1.0, 5.0, 5.0, 1.0])
SOLUTION = np.array([1.0, 4.74299963, 3.82114998, 1.37940829])


def chained(x):
    """Luksan's and Vlcek's chained Rosenbrock function, with trigonometric constraints."""
    return np.sum(100.0 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1.0) ** 2)


def chained_constraints(x):
    a, b, c = x[:-2], x[1:-1], x[2:]
    return (
        3.0 * b**3 + 2.0 * c - 5.0 + np.sin(b - c) * np.sin(b + c)
        + 4.0 * b - a * np.exp(a - b) - 3.0
    )  # fmt: skip


def lagrangian_hessian(x: np.ndarray, factor: float, multipliers: np.ndarray) -> np.ndarray:
    found = factor * tg.hessian(objective)(x)
    return found + np.tensordot(multipliers, tg.jacobian(tg.jacobian(constraints))(x), 1)


@pytest.mark.parametrize("signature", ["ipopt", "ipopt_c"])
def test_values_and_structure(signature: str) -> None:
    p = objective.cfunc(START, signature=signature, constraints=constraints)
    own = signature == "ipopt_c"
    new = (1,) if own else ()
    x = START + np.arange(4.0)
    value, slopes, g = np.zeros(1), np.zeros(4), np.zeros(2)
    assert p.f(4, x, *new, value, None) == 1
    assert value[0] == objective(x)
    assert p.grad_f(4, x, *new, slopes, None) == 1
    assert np.array_equal(slopes, tg.grad(objective)(x))
    assert p.g(4, x, *new, 2, g, None) == 1
    assert np.array_equal(g, constraints(x))

    rows, columns = (np.array(n) for n in p.jac_structure)
    values, nothing = np.zeros(len(rows)), (None, None) if own else ()
    assert p.jac_g(4, x, *new, 2, len(rows), *nothing, values, None) == 1
    assert np.array_equal(values, tg.jacobian(constraints)(x)[rows, columns])

    rows, columns = (np.array(n) for n in p.h_structure)
    assert (rows >= columns).all()
    values, multipliers = np.zeros(len(rows)), np.array([0.5, -2.0])
    call = (4, x, *new, 1.5, 2, multipliers, *new, len(rows), *nothing)
    assert p.h(*call, values, None) == 1
    wanted = lagrangian_hessian(x, 1.5, multipliers)
    assert np.allclose(values, wanted[rows, columns], rtol=1e-12)
    if own:
        for function, head, structure in (
            (p.jac_g, (4, x, 1, 2), p.jac_structure),
            (p.h, (4, x, 1, 1.5, 2, multipliers, 1), p.h_structure),
        ):
            found = np.zeros((2, len(structure[0])), np.int32)
            assert function(*head, len(structure[0]), found[0], found[1], None, None) == 1
            assert np.array_equal(found, structure)


@pytest.mark.parametrize("n", [12, 3_000])
def test_structures_are_sparse(n: int) -> None:
    """Three numbers a row of the Jacobian, two or three of the Hessian's lower triangle, and
    together the dense matrices."""
    x = np.linspace(-1.0, 1.5, n)
    p = tg.jit(chained).cfunc(x, signature="ipopt", constraints=chained_constraints)
    multipliers = np.cos(np.arange(p.m))
    assert len(p.jac_structure[0]) == 3 * (n - 2)
    assert len(p.h_structure[0]) <= 3 * n
    jacobian = np.zeros(len(p.jac_structure[0]))
    assert p.jac_g(n, x, p.m, len(jacobian), jacobian, None) == 1
    lower = np.zeros(len(p.h_structure[0]))
    assert p.h(n, x, 0.5, p.m, multipliers, len(lower), lower, None) == 1
    if n > 100:
        return
    found = np.zeros((p.m, n))
    found[p.jac_structure] = jacobian
    np.testing.assert_allclose(found, tg.jacobian(chained_constraints)(x), rtol=1e-12)
    found = np.zeros((n, n))
    found[p.h_structure] = lower
    wanted = tg.hessian(lambda x: 0.5 * chained(x) + multipliers @ chained_constraints(x))(x)
    np.testing.assert_allclose(found, np.tril(wanted), rtol=1e-10, atol=1e-10)


def test_what_fails_is_a_rejected_step() -> None:
    p = objective.cfunc(START, signature="ipopt", constraints=constraints)
    value, bad = np.zeros(1), START * np.nan
    assert p.f(4, bad, value, None) == 0
    assert isinstance(objective.last_status().error, FloatingPointError)
    assert p.f(5, START, value, None) == 0
    assert objective.last_status().code < 0
    assert p.g(4, START, 3, np.zeros(3), None) == 0


def test_trees_and_no_constraints() -> None:
    f = tg.jit(lambda p: objective(np.concatenate([p["a"], np.reshape(p["b"], -1)])))
    p = f.cfunc({"a": START[:2], "b": START[None, 2:]}, signature="ipopt")
    assert (p.n, p.m, p.jac_structure) == (4, 0, ((), ()))
    slopes = np.zeros(4)
    assert p.grad_f(4, START, slopes, None) == 1
    assert np.array_equal(slopes, tg.grad(objective)(START))
    assert p.g(4, START, 0, np.zeros(0), None) == 1
    values = np.zeros(len(p.h_structure[0]))
    assert p.h(4, START, 2.0, 0, np.zeros(0), len(values), values, None) == 1
    assert np.allclose(values, 2.0 * tg.hessian(objective)(START)[p.h_structure])


def solve(p: Any, callbacks: Any, x: np.ndarray, bounds: Any, of_g: Any) -> Any:
    ipyopt = pytest.importorskip("ipyopt")
    n = len(x)
    problem = ipyopt.Problem(
        n, np.full(n, bounds[0]), np.full(n, bounds[1]), p.m, *of_g, p.jac_structure,
        p.h_structure, *callbacks, ipopt_options={"print_level": 0, "sb": "yes", "tol": 1e-10},
    )  # fmt: skip
    found, _, status = problem.solve(x.copy())
    assert status == 0
    return found


@pytest.mark.parametrize("form", ["scipy", "capsules"])
def test_ipyopt_solves_hs071(form: str) -> None:
    p = objective.cfunc(START, signature="ipopt", constraints=constraints)
    limits = np.array([25.0, 40.0]), np.array([2e19, 40.0])
    found = solve(p, getattr(p, form), START, (1.0, 5.0), limits)
    assert np.allclose(found, SOLUTION, atol=1e-7)


def test_ipyopt_solves_a_problem_of_luksan_and_vlcek() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    n = 20
    x = np.where(np.arange(n) % 2, 1.0, -1.2)
    f, g = tg.jit(chained), tg.jit(chained_constraints)
    p = f.cfunc(x, signature="ipopt", constraints=g)
    zero = np.zeros(n - 2)
    found = solve(p, p.scipy, x, (-2e19, 2e19), (zero, zero))
    assert np.abs(g(found)).max() < 1e-8
    multipliers = np.linalg.lstsq(tg.jacobian(g)(found).T, -tg.grad(f)(found), rcond=None)[0]
    assert np.abs(tg.grad(f)(found) + multipliers @ tg.jacobian(g)(found)).max() < 1e-7
    other = optimize.minimize(
        f, found + 1e-3, jac=tg.grad(f), method="SLSQP", tol=1e-14,
        constraints={"type": "eq", "fun": g, "jac": tg.jacobian(g)},
    )  # fmt: skip
    assert np.allclose(other.x, found, atol=1e-6)


def test_ctypes_forms() -> None:
    p = objective.cfunc(START, signature="ipopt_c", constraints=constraints)
    assert all(isinstance(f.ctypes, ctypes._CFuncPtr) for f in p.functions)
