"""`objective`: what SciPy's minimizers are given, one evaluation for each x, and errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.optimize

import tracegrad as tg
from tests.scipy_adapters.problems import rosenbrock
from tracegrad.scipy.objectives import Objective

X = np.array([-1.2, 1.0, 0.5, 0.8])
START = np.array([1.3, 0.7, 0.8, 1.9])


class Counted:
    """Counts the calls of the compiled value and gradient of an objective."""

    def __init__(self, problem: Objective) -> None:
        self.count, self._both = 0, problem._both
        vars(problem)["_both"] = self

    def __call__(self, *args: Any) -> Any:
        self.count += 1
        return self._both(*args)


def test_derivatives_are_scipys_own() -> None:
    p, v = tg.scipy.objective(rosenbrock), np.array([1.0, -2.0, 0.5, 3.0])
    assert type(p.fun(X)) is float
    np.testing.assert_allclose(p.fun(X), scipy.optimize.rosen(X), rtol=1e-14)
    np.testing.assert_allclose(p.jac(X), scipy.optimize.rosen_der(X), rtol=1e-13)
    np.testing.assert_allclose(p.hess(X), scipy.optimize.rosen_hess(X), rtol=1e-13)
    np.testing.assert_allclose(
        p.hessp(X, v), scipy.optimize.rosen_hess_prod(X, v), rtol=1e-13, atol=1e-11
    )
    value, gradient = p.fun_and_jac(X)
    assert value == p.fun(X)
    np.testing.assert_array_equal(gradient, p.jac(X))


@pytest.mark.parametrize("first", ["fun", "jac"])
def test_value_and_gradient_are_one_evaluation(first: str) -> None:
    p = tg.scipy.objective(rosenbrock)
    counted = Counted(p)
    second = "jac" if first == "fun" else "fun"
    for k in range(5):
        getattr(p, first)(X + k)
        getattr(p, second)(X + k)
    assert counted.count == 5


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP", "Newton-CG"])
def test_minimizers_evaluate_once_for_each_x(method: str) -> None:
    """SciPy's own count of x at which it wanted the value, or only the gradient."""
    p = tg.scipy.objective(rosenbrock)
    counted, seen = Counted(p), set()

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any) -> Any:
            seen.add(x.tobytes())
            return function(x)

        return call

    options = {"hessp": p.hessp} if method == "Newton-CG" else {}
    found = scipy.optimize.minimize(noted(p.fun), START, (), method, noted(p.jac), **options)
    np.testing.assert_allclose(found.x, np.ones(4), atol=1e-2)
    # A method may come back to a point that it has left.
    assert len(seen) <= counted.count <= max(found.nfev, found.get("njev", 0)) + 1


def test_x_that_is_written_to_in_place_is_another_x() -> None:
    p, x = tg.scipy.objective(rosenbrock), X.copy()
    p.fun(x)
    x[1] = 3.0
    np.testing.assert_allclose(p.jac(x), scipy.optimize.rosen_der(x), rtol=1e-13)
    x[1] = -0.0
    p.jac(x)
    x[1] = 0.0
    np.testing.assert_allclose(p.fun(x), scipy.optimize.rosen(x), rtol=1e-13)


def test_other_arguments_are_another_evaluation() -> None:
    p = tg.scipy.objective(lambda x, a: a * np.sum(x * x))
    assert p.fun(X, 1.0) == np.sum(X * X)
    np.testing.assert_allclose(p.jac(X, 2.0), 4 * X)
    np.testing.assert_allclose(p.jac(X, 1.0), 2 * X)


def test_what_is_handed_out_is_the_callers() -> None:
    """A gradient that is written to is nobody else's, and a second question is answered anew, by
    what the function reads at that time."""
    weights = np.ones(4)
    p = tg.scipy.objective(lambda x: np.sum(weights * x * x))
    p.jac(X)[:] = 99.0
    np.testing.assert_allclose(p.jac(X), 2 * X)
    p.fun(X)
    weights[:] = 3.0
    assert p.fun(X) == pytest.approx(3 * np.sum(X * X), rel=1e-14)
    np.testing.assert_allclose(p.jac(X), 6 * X)


def test_threads_have_evaluations_of_their_own() -> None:
    p, wrong = tg.scipy.objective(rosenbrock), []
    p.fun(X)

    def search(k: int) -> None:
        x = X + 0.01 * k
        for _ in range(200):
            x = x * 1.001
            value, gradient = p.fun(x), p.jac(x)
            if not np.allclose(gradient, scipy.optimize.rosen_der(x), rtol=1e-10):
                wrong.append(k)
            if not np.isclose(value, scipy.optimize.rosen(x), rtol=1e-10):
                wrong.append(k)

    threads = [threading.Thread(target=search, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_dtypes_of_x(dtype: Any) -> None:
    p, x = tg.scipy.objective(rosenbrock), np.array([1, 0, 1], dtype)
    gradient = p.jac(x)
    assert gradient.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_allclose(gradient, scipy.optimize.rosen_der(x.astype(float)), rtol=1e-6)


def test_memory_layouts_of_x() -> None:
    p, wide = tg.scipy.objective(rosenbrock), np.repeat(X, 2)
    np.testing.assert_array_equal(p.jac(wide[::2]), p.jac(X))
    frozen = X.copy()
    frozen.flags.writeable = False
    assert p.fun(frozen) == p.fun(X)


def test_a_list_is_an_x() -> None:
    assert tg.scipy.objective(rosenbrock).fun([1.0, 2.0]) == 100.0


def test_a_function_of_one_number() -> None:
    """Value, first and second derivative for root_scalar."""
    p = tg.scipy.objective(lambda x: x**3 - 2.0)
    found = scipy.optimize.root_scalar(p.fun, x0=1.0, fprime=p.jac, fprime2=p.hess, method="halley")
    assert found.root == pytest.approx(2 ** (1 / 3), rel=1e-14)


def test_nan_and_infinity_are_values() -> None:
    p = tg.scipy.objective(lambda x: np.sum(np.log(x)))
    assert np.isnan(p.fun(np.array([-1.0, 2.0])))
    assert p.fun(np.array([0.0, 2.0])) == -np.inf
    np.testing.assert_array_equal(p.jac(np.array([0.0, 2.0])), [np.inf, 0.5])
    found = tg.scipy.minimize(lambda x: x - np.log(x), 3.0, method="BFGS")
    assert found.x == pytest.approx(1.0, abs=1e-6)


class TestTrees:
    LIKE: ClassVar = {"a": np.zeros((2, 2)), "b": (1.0, np.zeros(3, np.complex128))}

    def f(self, p: Any) -> Any:
        return np.sum(p["a"] ** 2) + p["b"][0] ** 3 + np.sum(np.abs(p["b"][1]) ** 2)

    def test_pack_and_unpack(self) -> None:
        p = tg.scipy.objective(self.f, like=self.LIKE)
        tree = {"a": np.arange(4.0).reshape(2, 2), "b": (4.0, np.array([1j, 2.0, 3 + 1j]))}
        x = p.pack(tree)
        assert x.tolist() == [0, 1, 2, 3, 4, 0, 2, 3, 1, 0, 1]
        back = p.unpack(x)
        np.testing.assert_array_equal(back["a"], tree["a"])
        assert back["b"][0] == 4.0
        np.testing.assert_array_equal(back["b"][1], tree["b"][1])

    def test_derivatives(self) -> None:
        p = tg.scipy.objective(self.f, like=self.LIKE)
        x = np.arange(1.0, 12.0)
        gradient = 2 * x
        gradient[4] = 3 * x[4] ** 2
        np.testing.assert_allclose(p.jac(x), gradient)
        curvature = np.full(11, 2.0)
        curvature[4] = 6 * x[4]
        np.testing.assert_allclose(p.hess(x), np.diag(curvature), atol=1e-15)
        np.testing.assert_allclose(p.hessp(x, np.ones(11)), curvature)

    def test_what_does_not_fit(self) -> None:
        p = tg.scipy.objective(self.f, like=self.LIKE)
        with pytest.raises(tg.ShapeError, match=r"fun got x of shape \(3,\).*11 numbers"):
            p.fun(np.ones(3))
        with pytest.raises(tg.ShapeError, match=r"11 numbers.*shape \(4,\)"):
            p.unpack(np.ones(4))
        with pytest.raises(ValueError, match="structure"):
            p.pack({"a": np.zeros((2, 2))})
        with pytest.raises(tg.ShapeError, match=r"\(2, 2\).*\(4,\)"):
            p.pack({"a": np.zeros(4), "b": (1.0, np.zeros(3))})

    def test_without_like_there_is_nothing_to_pack(self) -> None:
        with pytest.raises(ValueError, match="like=x0"):
            tg.scipy.objective(rosenbrock).pack(X)


class TestErrors:
    def test_not_one_number(self) -> None:
        with pytest.raises(tg.ShapeError, match="one scalar result"):
            tg.scipy.objective(lambda x: x * 2).fun(X)
        with pytest.raises(tg.DTypeError, match="real"):
            tg.scipy.objective(lambda x: np.sum(x * 1j)).fun(X)

    def test_what_the_function_raises_is_the_users(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("what the user said")

        p = tg.scipy.objective(f)
        for call in (p.fun, p.jac, p.hess, lambda x: p.hessp(x, x)):
            with pytest.raises(KeyError, match="what the user said"):
                call(X)
        with pytest.raises(KeyError) as caught:
            scipy.optimize.minimize(p.fun, X, jac=p.jac, method="L-BFGS-B")
        assert any(entry.name == "f" for entry in caught.traceback)

    @pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "TNC", "trust-constr"])
    def test_an_index_out_of_range_while_it_runs(self, method: str) -> None:
        """Raised by compiled code, and through SciPy's."""
        table = np.arange(3.0)

        def f(x: Any) -> Any:
            return np.sum(x * x) + tg.take(table, tg.convert(np.abs(x[0]) * 10, np.int64))

        with pytest.raises(IndexError):
            tg.scipy.minimize(f, np.full(2, 0.9), method=method)

    def test_x_of_no_numbers(self) -> None:
        with pytest.raises(tg.DTypeError, match="dtype"):
            tg.scipy.objective(rosenbrock).fun(np.array(["a", "b"]))
