"""Problems of many unknowns with sparse derivatives: SciPy's implicit integrators, trust-constr and
least squares get sparse arrays, and end where dense ones do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.sparse as sp

import tracegrad as tg


def brusselator(t: Any, y: Any, a: float) -> Any:
    """Two substances on a line, with diffusion."""
    n = y.shape[0] // 2
    u, v = y[:n], y[n:]
    d = 0.02 * (n + 1) ** 2

    def second(w: Any, edge: float) -> Any:
        return np.concatenate([w[1:], [edge]]) - 2 * w + np.concatenate([[edge], w[:-1]])

    reaction = u * u * v
    return np.concatenate(
        [a + reaction - 4 * u + d * second(u, 1.0), 3 * u - reaction + d * second(v, 3.0)]
    )


def test_a_stiff_equation() -> None:
    n = 40
    grid = np.linspace(0, 1, n + 2)[1:-1]
    start = np.concatenate([1 + np.sin(2 * np.pi * grid), np.full(n, 3.0)])
    found = []
    for sparse in (False, True):
        problem = tg.scipy.ode(brusselator, sparse=sparse)
        matrix = problem.jac(0.0, start, 1.0)
        assert sp.issparse(matrix) == sparse
        if sparse:
            assert matrix.nnz == 2 * (3 * n - 2) + 2 * n
        found += [
            scipy.integrate.solve_ivp(
                problem.fun, (0.0, 2.0), start, method, jac=problem.jac, args=(1.0,), rtol=1e-6
            )
            for method in ("BDF", "Radau")
        ]
    bdf, radau, sparse_bdf, sparse_radau = found
    for dense, other in ((bdf, sparse_bdf), (radau, sparse_radau)):
        assert other.success
        assert abs(other.nfev - dense.nfev) <= 2
        np.testing.assert_allclose(other.y[:, -1], dense.y[:, -1], rtol=1e-8)


def chained(x: Any) -> Any:
    return np.sum(100.0 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1.0) ** 2)


def products(x: Any) -> Any:
    return x[1:] * x[:-1]


def test_trust_constr() -> None:
    x = np.linspace(0.5, 1.5, 9)
    ends = []
    for sparse in (False, True):
        f = tg.scipy.objective(chained, sparse=sparse)
        g = tg.scipy.constraint(products, 0.2, 0.9, sparse=sparse)
        again = pickle.loads(pickle.dumps(g))
        for made in (f.hess(x), g.jac(x), g.hess(x, np.ones(8)), again.jac(x)):
            assert sp.issparse(made) == sparse
        found = scipy.optimize.minimize(
            f.fun, x, method="trust-constr", jac=f.jac, hess=f.hess, constraints=g,
            options={"gtol": 1e-9, "xtol": 1e-12},
        )  # fmt: skip
        assert found.status in (1, 2)
        ends.append(found.x)
    np.testing.assert_allclose(*ends, atol=1e-5)
    np.testing.assert_allclose(
        tg.scipy.objective(chained, sparse=True).hess(x).toarray(), tg.hessian(chained)(x)
    )


def test_least_squares_of_a_tree() -> None:
    """A smooth line through many points: as many unknowns as points."""
    t = np.linspace(0, 3, 200)
    y = np.sin(t) + 0.1 * np.cos(40 * t)

    def residuals(p: Any) -> Any:
        line = p["line"] + p["slope"] * t
        return {"data": line - y, "bends": 5.0 * (line[2:] - 2 * line[1:-1] + line[:-2])}

    start = {"line": np.zeros(200), "slope": 0.1}
    dense = tg.scipy.least_squares(residuals, start)
    found = tg.scipy.least_squares(residuals, start, sparse=True, tr_solver="lsmr")
    assert sp.issparse(found.jac)
    assert found.jac.nnz < 4 * 400 + 400
    np.testing.assert_allclose(found.cost, dense.cost, rtol=1e-6)
    problem = tg.scipy.least_squares_problem(residuals, like=start, sparse=True)
    x = problem.pack(start)
    wanted = tg.scipy.least_squares_problem(residuals, like=start).jac(x)
    np.testing.assert_allclose(problem.jac(x).toarray(), wanted)
