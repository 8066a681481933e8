"""Three nonlinear programs solved in three ways: IPOPT through C functions (ipyopt), IPOPT through
an exported library (CasADi), and SciPy's trust-constr; the solutions are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import optimize

import tracegrad as tg


class Program(NamedTuple):
    """Minimize f(x) for bounds of x and of g(x)."""

    f: Any
    g: Any
    start: np.ndarray
    bounds: tuple[Any, Any]
    limits: tuple[Any, Any]
    known: np.ndarray | None = None


def chained(x):
    return np.sum(100.0 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1.0) ** 2)


def chained_constraints(x):
    a, b, c = x[:-2], x[1:-1], x[2:]
    turns = np.sin(b - c) * np.sin(b + c)
    return 3.0 * b**3 + 2.0 * c - 5.0 + turns + 4.0 * b - a * np.exp(a - b) - 3.0


PROGRAMS = {
    "problem 71 of Hock and Schittkowski": Program(
        lambda x: x[0] * x[3] * np.sum(x[:3]) + x[2],
        lambda x: np.stack([np.prod(x), np.sum(x * x)]),
        np.array([1.0, 5.0, 5.0, 1.0]),
        (np.ones(4), np.full(4, 5.0)),
        (np.array([25.0, 40.0]), np.array([np.inf, 40.0])),
        np.array([1.0, 4.74299963, 3.82114998, 1.37940829]),
    ),
    "Rosenbrock's function in a disk, above a parabola": Program(
        lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2,
        lambda x: np.stack([np.sum(x**2), x[1] - 0.5 * x[0] ** 2]),
        np.array([-0.5, 0.5]),
        (np.full(2, -np.inf), np.full(2, np.inf)),
        (np.array([-np.inf, 0.0]), np.array([1.0, np.inf])),
    ),
    "a problem of Luksan and Vlcek": Program(
        chained,
        chained_constraints,
        np.where(np.arange(12) % 2, 1.0, -1.2),
        (np.full(12, -np.inf), np.full(12, np.inf)),
        (np.zeros(10), np.zeros(10)),
    ),
}
IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-12, "bound_relax_factor": 0.0}


def by_ipyopt(p: Program, folder: Path) -> np.ndarray:
    ipyopt = pytest.importorskip("ipyopt")
    made = tg.jit(p.f).cfunc(p.start, signature="ipopt", constraints=tg.jit(p.g))
    problem = ipyopt.Problem(
        made.n, *p.bounds, made.m, *p.limits, made.jac_structure, made.h_structure,
        *made.capsules, ipopt_options=IPOPT,
    )  # fmt: skip
    found, _, status = problem.solve(p.start.copy())
    assert status == 0
    return found


def by_casadi(p: Program, folder: Path) -> np.ndarray:
    casadi = pytest.importorskip("casadi")
    f, g = (
        casadi.external(
            name, str(tg.jit(made).export(folder, name, p.start, signatures=["casadi"]))
        )
        for name, made in (("objective", p.f), ("limits", p.g))
    )
    x = casadi.MX.sym("x", len(p.start))
    options = {"print_time": False, **{f"ipopt.{k}": v for k, v in IPOPT.items()}}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": f(x), "g": g(x)}, options)
    found = solver(x0=p.start, lbx=p.bounds[0], ubx=p.bounds[1], lbg=p.limits[0], ubg=p.limits[1])
    assert solver.stats()["return_status"] == "Solve_Succeeded"
    return np.array(found["x"])[:, 0]


def by_trust_constr(p: Program, folder: Path) -> np.ndarray:
    f, g = tg.jit(p.f), tg.jit(p.g)
    curvature = tg.jit(lambda x, v: tg.hessian(lambda x: np.sum(v * p.g(x)))(x))
    found = optimize.minimize(
        f, p.start, method="trust-constr", jac=tg.grad(f), hess=tg.hessian(f),
        bounds=optimize.Bounds(*p.bounds),
        constraints=optimize.NonlinearConstraint(g, *p.limits, jac=tg.jacobian(g), hess=curvature),
        options={"gtol": 0.0, "xtol": 1e-10, "barrier_tol": 1e-11, "maxiter": 1000},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("case", PROGRAMS)
def test_equal_solutions(case: str, tmp_path: Path) -> None:
    p = PROGRAMS[case]
    first = by_ipyopt(p, tmp_path)
    if p.known is not None:
        assert np.abs(first - p.known).max() < 1e-8
    for way in (by_casadi, by_trust_constr):
        assert np.abs(way(p, tmp_path) - first).max() < 1e-8, way.__name__
