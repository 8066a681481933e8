"""`minimize` and `constraint`: every method of SciPy's, trees, bounds, constraints, callbacks."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.optimize

import tracegrad as tg
from tests.scipy_adapters.problems import (
    HS071,
    HS071_START,
    hs071,
    hs071_product,
    hs071_squares,
    rosenbrock,
)
from tracegrad.scipy.minimization import DERIVATIVES

START = np.array([1.3, 0.7, 0.8, 1.9])
EXACT = {"gtol": 1e-16, "xtol": 1e-10, "barrier_tol": 1e-12}
"""trust-constr is to go on until the barrier is gone."""


def bowl(x: Any) -> Any:
    return np.sum(np.cosh(x - 1)) + 0.5 * np.sum(x - 1) ** 2


@pytest.mark.parametrize("method", [None, *DERIVATIVES])
def test_every_method_finds_the_minimum(method: str | None) -> None:
    """Warnings are errors: none of them is given what it does not use, nor lacks what it does."""
    found = tg.scipy.minimize(bowl, START, method=method, tol=1e-7)
    np.testing.assert_allclose(found.x, np.ones(4), atol=1e-4)


def test_the_table_has_all_of_scipys_methods() -> None:
    from scipy.optimize._minimize import MINIMIZE_METHODS

    assert set(MINIMIZE_METHODS) <= set(DERIVATIVES)


def test_a_method_of_the_users() -> None:
    """It is given all derivatives."""

    def newton(fun: Any, x0: Any, args: Any = (), **given: Any) -> Any:
        x = np.array(x0)
        for _ in range(8):
            x = x - np.linalg.solve(given["hess"](x, *args), given["jac"](x, *args))
        return scipy.optimize.OptimizeResult(x=x, fun=fun(x, *args), success=True)

    found = tg.scipy.minimize(lambda x, a: np.sum(np.cosh(x - a)), np.zeros(2), (0.5,), newton)
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-12)


CONSTRAINTS = {
    "one of both kinds": lambda: tg.scipy.constraint(
        lambda x: np.stack([hs071_product(x), hs071_squares(x)]), [25.0, 40.0], [np.inf, 40.0]
    ),
    "constraint": lambda: [
        tg.scipy.constraint(hs071_product, 25.0, np.inf),
        tg.scipy.constraint(hs071_squares, 40.0, 40.0),
    ],
    "NonlinearConstraint": lambda: [
        scipy.optimize.NonlinearConstraint(hs071_product, 25.0, np.inf),
        scipy.optimize.NonlinearConstraint(hs071_squares, 40.0, 40.0),
    ],
    "dicts": lambda: [
        {"type": "ineq", "fun": lambda x: hs071_product(x) - 25.0},
        {"type": "eq", "fun": lambda x, a: hs071_squares(x) - a, "args": (40.0,)},
    ],
}


@pytest.mark.parametrize("given", CONSTRAINTS)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA", None])
def test_hs071(method: str | None, given: str) -> None:
    exact = method == "trust-constr"
    found = tg.scipy.minimize(
        hs071,
        HS071_START,
        method=method,
        bounds=[(1, 5)] * 4,
        constraints=CONSTRAINTS[given](),
        tol=None if exact else 1e-10,
        options=EXACT if exact else None,
    )
    np.testing.assert_allclose(found.x, HS071, atol=1e-3 if method == "COBYQA" else 2e-8)


def test_scipy_called_by_the_user() -> None:
    """The same objects, without a wrapper in between."""
    p = tg.scipy.objective(hs071)
    found = scipy.optimize.minimize(
        p.fun,
        HS071_START,
        method="trust-constr",
        jac=p.jac,
        hess=p.hess,
        bounds=[(1, 5)] * 4,
        constraints=CONSTRAINTS["constraint"](),
        options=EXACT,
    )
    np.testing.assert_allclose(found.x, HS071, atol=2e-8)


class TestConstraint:
    X, V = np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 0.5])

    @staticmethod
    def g(x: Any) -> Any:
        return {"a": x[0] * x[1:], "b": np.prod(x)}

    def test_derivatives(self) -> None:
        c = tg.scipy.constraint(self.g, {"a": [0.0, 1.0], "b": 2.0}, np.inf)
        assert c.lb.tolist() == [0.0, 1.0, 2.0]
        np.testing.assert_allclose(c.fun(self.X), [2, 3, 6])
        np.testing.assert_allclose(c.jac(self.X), [[2, 1, 0], [3, 0, 1], [6, 3, 2]])
        np.testing.assert_allclose(
            c.hess(self.X, self.V), [[0, 3.5, 0], [3.5, 0, 0.5], [0, 0.5, 0]], atol=1e-14
        )

    def test_jacobian_that_is_constant(self) -> None:
        """Hessians of zeros, values of no x."""
        c = tg.scipy.constraint(lambda x: x[:2] * 3.0, 0.0, 1.0)
        np.testing.assert_array_equal(c.hess(self.X, np.ones(2)), np.zeros((3, 3)))
        with pytest.raises(tg.DTypeError, match="int64"):
            tg.scipy.constraint(lambda x: np.arange(2), 0.0, 1.0).fun(self.X)

    def test_what_does_not_fit(self) -> None:
        c = tg.scipy.constraint(self.g, 0.0, 1.0, like=np.zeros((2, 2)))
        with pytest.raises(tg.ShapeError, match=r"constraint: fun.*\(3,\).*4 numbers"):
            c.fun(self.X)


class TestTrees:
    """Unknowns in a structure, and everything that goes with them in the same structure."""

    START: ClassVar = {"a": np.zeros((2, 2)), "b": 4.0}

    @staticmethod
    def f(p: Any) -> Any:
        return np.sum((p["a"] - 3.0) ** 2) + p["b"] ** 2

    @pytest.mark.parametrize("method", ["BFGS", "trust-ncg", "L-BFGS-B", "Powell"])
    def test_result(self, method: str) -> None:
        found = tg.scipy.minimize(self.f, self.START, method=method, tol=1e-6)
        assert found.x["a"].shape == (2, 2)
        assert np.shape(found.x["b"]) == ()
        np.testing.assert_allclose(found.x["a"], 3.0, atol=1e-4)
        np.testing.assert_allclose(found.x["b"], 0.0, atol=1e-4)

    @pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
    def test_bounds_and_constraints(self, method: str) -> None:
        found = tg.scipy.minimize(
            self.f,
            self.START,
            method=method,
            bounds={"a": (None, np.array([[1.0, 2.0], [5.0, 2.5]])), "b": (1.0, None)},
            constraints=[
                {"type": "ineq", "fun": lambda p: 2.0 - p["a"][1, 0]},
                scipy.optimize.LinearConstraint(np.array([[0, 1.0, 0, 0, 0]]), -np.inf, 1.5),
            ],
        )
        np.testing.assert_allclose(found.x["a"], [[1.0, 1.5], [2.0, 2.5]], atol=1e-3)
        np.testing.assert_allclose(found.x["b"], 1.0, atol=1e-3)

    def test_bounds_of_scipy(self) -> None:
        limits = scipy.optimize.Bounds([-9.0] * 5, [1.0] * 5)
        found = tg.scipy.minimize(self.f, self.START, bounds=limits)
        np.testing.assert_allclose(found.x["a"], 1.0, atol=1e-6)

    def test_unbounded_parts(self) -> None:
        found = tg.scipy.minimize(self.f, self.START, bounds={"a": (0, 1), "b": None})
        np.testing.assert_allclose(found.x["a"], 1.0, atol=1e-6)
        np.testing.assert_allclose(found.x["b"], 0.0, atol=1e-6)

    @pytest.mark.parametrize(
        ("x0", "shape"),
        [(4.0, ()), (np.float64(4.0), ()), ([1, 2], (2,)), ([[1.0], [2.0]], (2, 1)), (3, ())],
    )
    def test_one_array_of_any_shape(self, x0: Any, shape: Any) -> None:
        found = tg.scipy.minimize(lambda x: np.sum((x - 1.0) ** 2), x0)
        assert np.shape(found.x) == shape
        np.testing.assert_allclose(found.x, 1.0, atol=1e-6)

    def test_one_number_between_bounds(self) -> None:
        for bounds in ((2.0, 3.0), [(2.0, 3.0)]):
            found = tg.scipy.minimize(lambda x: x**2, 2.5, bounds=bounds)
            assert found.x == pytest.approx(2.0)

    def test_float32_and_integers(self) -> None:
        """f works in the dtype of x0, and x comes back in it."""
        seen = []

        def f(p: Any) -> Any:
            seen.append(p["a"].dtype)
            return np.sum((p["a"] - 1) ** 2) + np.sum((p["n"] - 2.0) ** 2)

        found = tg.scipy.minimize(f, {"a": np.zeros(2, np.float32), "n": np.zeros(2, np.int64)})
        assert set(seen) == {np.dtype(np.float32)}
        assert found.x["a"].dtype == np.float32
        np.testing.assert_allclose(found.x["n"], 2.0, atol=1e-5)

    def test_complex_unknowns(self) -> None:
        goal = np.array([1 + 2j, -1j])
        found = tg.scipy.minimize(lambda z: np.sum(np.abs(z - goal) ** 2), np.zeros(2, complex))
        np.testing.assert_allclose(found.x, goal, atol=1e-6)

    def test_tensors(self) -> None:
        found = tg.scipy.minimize(lambda x: ((x - 1) ** 2).sum(), tg.tensor([3.0, 4.0]))
        assert isinstance(found.x, tg.Tensor)
        np.testing.assert_allclose(found.x.numpy(), 1.0, atol=1e-5)

    def test_callbacks_see_the_structure(self) -> None:
        seen: list[Any] = []
        tg.scipy.minimize(self.f, self.START, callback=seen.append)
        assert seen[-1]["a"].shape == (2, 2)
        results: list[Any] = []

        def told(intermediate_result: Any) -> None:
            results.append((intermediate_result.x["b"], intermediate_result.fun))
            raise StopIteration

        tg.scipy.minimize(self.f, self.START, callback=told)
        assert len(results) == 1
        states: list[Any] = []
        tg.scipy.minimize(
            self.f,
            self.START,
            method="trust-constr",
            callback=lambda x, state: states.append((x["b"], state.nit)) and False,
        )
        assert states[0][1] == 1


class TestErrors:
    def test_what_scipy_does_not_have(self) -> None:
        wanted = r"test_scipy_minimize.py:\d+: minimize: .*'bgfs'.*bfgs"
        with pytest.raises(ValueError, match=wanted):
            tg.scipy.minimize(rosenbrock, START, method="bgfs")

    def test_constraints_that_are_none(self) -> None:
        with pytest.raises(ValueError, match=r"constraint 0 is.*'type'"):
            tg.scipy.minimize(rosenbrock, START, constraints={"fun": hs071_product})

    @pytest.mark.parametrize("bounds", [[(0, 1)] * 3, {"a": (0, 1)}, [(0, 1)] * 5])
    def test_bounds_that_do_not_fit(self, bounds: Any) -> None:
        with pytest.raises((tg.ShapeError, ValueError), match="bounds"):
            tg.scipy.minimize(rosenbrock, START, bounds=bounds)
        with pytest.raises(ValueError, match="structure"):
            tg.scipy.minimize(TestTrees.f, TestTrees.START, bounds=[(0, 1)] * 5)

    def test_x0_of_no_numbers(self) -> None:
        for x0 in ("abc", {"a": "b"}, None, np.array([True]), {}):
            with pytest.raises((TypeError, ValueError), match="minimize"):
                tg.scipy.minimize(rosenbrock, x0)

    def test_not_one_number(self) -> None:
        with pytest.raises(tg.ShapeError, match="one scalar result"):
            tg.scipy.minimize(lambda x: x, START)
        with pytest.raises(tg.ShapeError, match="one scalar result"):
            tg.scipy.minimize(lambda x: x, START, method="Nelder-Mead")


def test_pickles_are_the_function_and_its_structure() -> None:
    p = pickle.loads(pickle.dumps(tg.scipy.objective(hs071, like=HS071_START)))
    assert p.fun(HS071_START) == 16.0
    c = pickle.loads(pickle.dumps(tg.scipy.constraint(hs071_squares, 40.0, 40.0)))
    assert c.fun(HS071_START).tolist() == [52.0]
    assert c.ub == 40.0
