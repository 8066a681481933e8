"""minimize: values, and derivatives by the implicit function theorem, against closed forms and
SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.solvers.ways import WRAP


def bananas(x: Any, a: Any) -> Any:
    """Rosenbrock's function, whose minimum is at 1."""
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("wrap", WRAP)
@pytest.mark.parametrize("method", ["newton", "bfgs"])
class TestMinimize:
    def test_a_hard_one(self, wrap: str, method: str) -> None:
        x, info = WRAP[wrap](
            lambda a: tg.minimize(bananas, np.full(5, -1.2), a, method=method, info=True)
        )(100.0)
        np.testing.assert_allclose(x, np.ones(5), rtol=1e-9)
        assert info.converged
        assert info.residual < 1e-8

    def test_ridge_regression(self, wrap: str, method: str) -> None:
        """The derivatives of a fit with respect to its penalty and its data, of both orders."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 3)), rng.normal(size=12)

        def fit(c: Any, y: Any) -> Any:
            return tg.minimize(
                lambda w: 0.5 * np.sum((X @ w - y) ** 2) + 0.5 * np.exp(c) * np.sum(w**2),
                np.zeros(3),
                method=method,
            )

        def exact(c: Any, y: Any) -> Any:
            return tg.linalg.solve(X.T @ X + np.exp(c) * np.eye(3), X.T @ y)

        c = 0.3
        np.testing.assert_allclose(WRAP[wrap](fit)(c, y), exact(c, y), rtol=1e-9)
        for argnum in (0, 1):
            found = WRAP[wrap](tg.jacobian(fit, argnum))(c, y)
            np.testing.assert_allclose(
                found, tg.jacobian(exact, argnum)(c, y), rtol=1e-8, atol=1e-12
            )
        second = WRAP[wrap](tg.jacobian(tg.jacobian(fit), 1))(c, y)
        np.testing.assert_allclose(
            second, tg.jacobian(tg.jacobian(exact), 1)(c, y), rtol=1e-8, atol=1e-12
        )

    def test_negative_curvature_and_steps_too_long(self, wrap: str, method: str) -> None:
        """From beside a maximum, and where Newton's full step diverges."""
        f = WRAP[wrap](
            lambda a: tg.minimize(
                lambda x: np.sum(x**4 / 4 - a * x**2 / 2), np.array([0.1, -0.2]), method=method
            )
        )
        np.testing.assert_allclose(f(4.0), [2.0, -2.0], rtol=1e-9)
        g = WRAP[wrap](
            lambda a: tg.minimize(lambda x: np.sqrt(1 + (x - a) ** 2), 9.0, method=method)
        )
        np.testing.assert_allclose(g(1.0), 1.0, rtol=1e-9)

    def test_without_a_minimum(self, wrap: str, method: str) -> None:
        with pytest.raises(RuntimeError, match="minimize has not converged"):
            WRAP[wrap](lambda a: tg.minimize(lambda x: a * x, 1.0, method=method))(2.0)


@pytest.mark.parametrize("method", ["newton", "bfgs"])
@pytest.mark.parametrize("start", [0.0, 1.0])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_is_no_minimum(start: float, method: str) -> None:
    """Of values, of gradients, of both: none of them has converged."""
    x0 = np.full(2, start)
    for f in (
        lambda x: np.sum(x) * np.nan,
        lambda x: np.sum(np.sqrt(x - 5.0)),
        lambda x: np.sum(tg.stop_gradient(x * np.nan)),
        lambda x: np.sum(np.sqrt(np.abs(x - start)) * (x - x + 1.0)),
    ):
        assert not tg.minimize(f, x0, method=method, max_steps=4, info=True)[1].converged
    with pytest.raises(RuntimeError, match="minimize has not converged"):
        tg.minimize(lambda x: np.sum(np.sqrt(x - 5.0)), x0, method=method, max_steps=4)
