"""Three nonlinear programs, solved by all who take them: IPOPT through capsules of C functions
(ipyopt), through a library (CasADi) and through Python (cyipopt), and SciPy's trust-constr."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tracegrad as tg

FREE = np.inf


@dataclass(frozen=True)
class Program:
    """Least f(x) for lower <= x <= upper and least <= g(x) <= most."""

    f: Callable[[Any], Any]
    g: Callable[[Any], Any]
    start: Any
    lower: Any
    upper: Any
    least: Any
    most: Any

    @functools.cached_property
    def solution(self) -> Any:
        """From where SLSQP ends, by Newton's method for the conditions of a minimum: the
        derivative of the Lagrangian is zero, and what is active is an equation."""
        near = tg.scipy.minimize(
            self.f,
            self.start,
            method="SLSQP",
            tol=1e-12,
            bounds=scipy.optimize.Bounds(self.lower, self.upper),
            constraints=tg.scipy.constraint(self.g, self.least, self.most),
        ).x
        values = self.g(near)
        fixed = (abs(near - self.lower) < 1e-6) | (abs(near - self.upper) < 1e-6)
        active = np.flatnonzero(
            (abs(values - self.least) < 1e-6) | (abs(values - self.most) < 1e-6)
        )
        goal = np.where(abs(values - self.least) < 1e-6, self.least, self.most)[active]
        moving = np.flatnonzero(~fixed)
        rest = np.where(fixed, np.round(near), 0.0)  # the bounds are integers

        def whole(u: Any) -> Any:
            return rest + np.eye(len(near))[:, moving] @ u

        def conditions(z: Any) -> Any:
            u, multipliers = z["u"], z["multipliers"]
            slope = tg.grad(lambda u: self.f(whole(u)) + multipliers @ self.g(whole(u))[active])(u)
            return slope, self.g(whole(u))[active] - goal

        slopes = tg.jacobian(self.g)(near)[active][:, moving]
        multipliers = np.linalg.lstsq(slopes.T, -tg.grad(self.f)(near)[moving], rcond=None)[0]
        found = tg.scipy.root(
            conditions, {"u": near[moving], "multipliers": multipliers}, tol=1e-14
        )
        return whole(found.x["u"])


def chained(x: Any) -> Any:
    """Luksan's and Vlcek's chained Rosenbrock function ..."""
    return np.sum(100.0 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1.0) ** 2)


def chained_constraints(x: Any) -> Any:
    """... and its trigonometric-exponential constraints."""
    a, b, c = x[:-2], x[1:-1], x[2:]
    waves = np.sin(b - c) * np.sin(b + c)
    return 3.0 * b**3 + 2.0 * c - 5.0 + waves + 4.0 * b - a * np.exp(a - b) - 3.0


PROGRAMS = {
    "HS071": Program(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        lambda x: np.stack([np.prod(x), np.sum(x * x)]),
        np.array([1.0, 5.0, 5.0, 1.0]),
        np.full(4, 1.0),
        np.full(4, 5.0),
        np.array([25.0, 40.0]),
        np.array([FREE, 40.0]),
    ),
    "Rosenbrock in a disk and a cubic": Program(
        lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2,
        lambda x: np.stack([x[0] ** 2 + x[1] ** 2, (x[0] - 1) ** 3 - x[1] + 1]),
        np.array([0.5, 0.5]),
        np.full(2, -2.0),
        np.full(2, 2.0),
        np.full(2, -FREE),
        np.array([1.5, 1.0]),
    ),
    "Luksan-Vlcek": Program(
        chained,
        chained_constraints,
        np.where(np.arange(8) % 2 == 0, -1.2, 1.0),
        np.full(8, -FREE),
        np.full(8, FREE),
        np.zeros(6),
        np.zeros(6),
    ),
}
IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-12, "bound_relax_factor": 0.0}


def ipyopt(p: Program, folder: Path) -> Any:
    library = pytest.importorskip("ipyopt", reason="ipyopt is not installed")
    made = tg.jit(p.f).cfunc(p.start, signature="ipopt", constraints=p.g)
    problem = library.Problem(
        made.n, p.lower, p.upper, made.m, p.least, p.most, made.jac_structure, made.h_structure,
        *made.capsules, ipopt_options=IPOPT,
    )  # fmt: skip
    return problem.solve(p.start.copy())[0]


def casadi(p: Program, folder: Path) -> Any:
    library = pytest.importorskip("casadi", reason="CasADi is not installed")
    f, g = (
        library.external(name, str(tg.jit(h).export(folder, name, p.start, signatures=["casadi"])))
        for name, h in (("f", p.f), ("g", p.g))
    )
    x = library.MX.sym("x", len(p.start))
    options = {**{f"ipopt.{name}": value for name, value in IPOPT.items()}, "print_time": False}
    solver = library.nlpsol("solver", "ipopt", {"x": x, "f": f(x), "g": g(x)}, options)
    found = solver(x0=p.start, lbx=p.lower, ubx=p.upper, lbg=p.least, ubg=p.most)
    return np.array(found["x"])[:, 0]


def cyipopt(p: Program, folder: Path) -> Any:
    library = pytest.importorskip("cyipopt", reason="cyipopt is not installed")
    f, g = tg.scipy.objective(p.f), tg.scipy.constraint(p.g, p.least, p.most)
    lower = np.tril_indices(len(p.start))

    class Callbacks:
        objective, gradient = f.fun, f.jac
        constraints, jacobian = staticmethod(g.fun), staticmethod(g.jac)

        def hessian(self, x: Any, multipliers: Any, factor: float) -> Any:
            return (factor * f.hess(x) + g.hess(x, multipliers))[lower]

        def hessianstructure(self) -> Any:
            return lower

    problem = library.Problem(
        len(p.start), len(p.least), Callbacks(), p.lower, p.upper, p.least, p.most
    )
    for name, value in IPOPT.items():
        problem.add_option(name, value)
    return problem.solve(p.start)[0]


def trust_constr(p: Program, folder: Path) -> Any:
    bounded = np.isfinite(p.lower).any()
    return tg.scipy.minimize(
        p.f,
        p.start,
        method="trust-constr",
        bounds=scipy.optimize.Bounds(p.lower, p.upper) if bounded else None,
        constraints=tg.scipy.constraint(p.g, p.least, p.most),
        options={"gtol": 1e-16, "xtol": 1e-12, "barrier_tol": 1e-13, "maxiter": 2000},
    ).x


@pytest.mark.filterwarnings("ignore:Singular Jacobian")
@pytest.mark.parametrize("consumer", [ipyopt, casadi, cyipopt, trust_constr])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_find_the_same(
    name: str, consumer: Callable[[Program, Path], Any], tmp_path: Path
) -> None:
    found = consumer(PROGRAMS[name], tmp_path)
    np.testing.assert_allclose(found, PROGRAMS[name].solution, rtol=0, atol=1e-8)


@pytest.mark.parametrize("way", [ipyopt, casadi, cyipopt])
def test_what_is_no_number_is_a_shorter_step(way: Any, tmp_path: Path) -> None:
    """The objective is NaN beyond 1, where the first steps go; the minimum is before it."""
    p = Program(
        lambda x: np.sum(x**4) - np.sum(np.sqrt(1.0 - x)) * 1e-3,
        lambda x: x[:1] + x[1:],
        np.array([-3.0, -4.0]),
        np.full(2, -FREE),
        np.full(2, FREE),
        np.array([1.0]),
        np.array([1.0]),
    )
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(way(p, tmp_path), [0.5, 0.5], atol=1e-8)


def test_a_point_that_is_singular_makes_the_step_shorter() -> None:
    """Newton's first step goes to where the matrix is singular: IPOPT is told, and comes back."""
    library = pytest.importorskip("ipyopt", reason="ipyopt is not installed")

    def f(x: Any) -> Any:
        return np.sum(np.linalg.solve(np.diag(np.maximum(x, 0.0)), [1.0, 4.0]) + x)

    start, n = np.array([10.0, 10.0]), 2
    jitted = tg.jit(f)
    made = jitted.cfunc(start, signature="ipopt", constraints=lambda x: np.stack([x[0] + x[1]]))
    problem = library.Problem(
        n, np.full(n, -FREE), np.full(n, FREE), 1, np.array([-FREE]), np.array([FREE]),
        made.jac_structure, made.h_structure, *made.capsules, ipopt_options=IPOPT,
    )  # fmt: skip
    x, _, status = problem.solve(start.copy())
    assert status == 0
    assert np.allclose(x, [1.0, 2.0], atol=1e-6)
    failed = jitted.last_status()
    assert failed is not None
    assert isinstance(failed.error, np.linalg.LinAlgError)
