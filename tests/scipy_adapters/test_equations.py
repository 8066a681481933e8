"""`least_squares`, `curve_fit`, `root` and `ode` against SciPy without derivatives, and against
known solutions."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import tracegrad as tg
from tests.scipy_adapters.problems import ROBERTSON_40, robertson

T = np.linspace(0.0, 2.0, 12)
NOISE = 0.01 * np.random.default_rng(0).normal(size=12)
Y = 2 * np.exp(-3 * T) + 0.5 + NOISE


def residuals(p: Any) -> Any:
    return p["height"] * np.exp(-p["rate"] * T) + p["floor"] - Y


START = {"height": 1.0, "rate": 1.0, "floor": 0.0}
PLAIN = scipy.optimize.least_squares(
    lambda p: p[1] * np.exp(-p[2] * T) + p[0] - Y, [0.0, 1.0, 1.0], xtol=1e-12, ftol=1e-12
).x


class TestLeastSquares:
    @pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
    def test_every_method(self, method: str) -> None:
        found = tg.scipy.least_squares(residuals, START, method=method, xtol=1e-12, ftol=1e-12)
        assert sorted(found.x) == ["floor", "height", "rate"]
        np.testing.assert_allclose([found.x[k] for k in sorted(found.x)], PLAIN, rtol=1e-6)
        assert found.njev <= found.nfev < 20

    @pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
    def test_losses(self, loss: str) -> None:
        found = tg.scipy.least_squares(residuals, START, loss=loss, f_scale=0.1)
        np.testing.assert_allclose([found.x[k] for k in sorted(found.x)], PLAIN, rtol=0.05)

    def test_bounds_in_the_structure(self) -> None:
        upper = {"height": np.inf, "rate": 2.5, "floor": 9.0}
        found = tg.scipy.least_squares(residuals, START, bounds=(-1.0, upper))
        assert found.x["rate"] == pytest.approx(2.5)

    def test_called_by_the_user(self) -> None:
        """As leastsq and least_squares want them, and with a loss's weights; a tree of residuals,
        complex ones too."""
        p = tg.scipy.least_squares_problem(
            lambda x, a: {"r": np.exp(x) - a, "z": (x[0] + 1j * x[1]) * 2.0}
        )
        x = np.array([0.1, 0.2])
        np.testing.assert_allclose(p.fun(x, 1.0), [*np.expm1(x), 0.2, 0.4])
        expected = [[np.exp(0.1), 0], [0, np.exp(0.2)], [2, 0], [0, 2]]
        np.testing.assert_allclose(p.jac(x, 1.0), expected)
        found = scipy.optimize.leastsq(p.fun, x, (2.0,), p.jac)[0]
        np.testing.assert_allclose(found, scipy.optimize.leastsq(p.fun, x, (2.0,))[0], rtol=1e-6)

    def test_keywords(self) -> None:
        found = tg.scipy.least_squares(
            lambda x, a, b=0.0: x - a - b, np.zeros(2), args=(1.0,), kwargs={"b": 2.0}
        )
        np.testing.assert_allclose(found.x, 3.0)

    def test_pickle(self) -> None:
        p = pickle.loads(pickle.dumps(tg.scipy.least_squares_problem(residuals, like=START)))
        assert p.unpack(p.pack(START)) == START
        assert p.jac(p.pack(START)).shape == (12, 3)

    def test_errors(self) -> None:
        with pytest.raises(tg.ShapeError, match="the function returns nothing"):
            tg.scipy.least_squares(lambda x: (), np.zeros(2))
        with pytest.raises(tg.DTypeError, match=r"floating-point numbers, not int64"):
            tg.scipy.least_squares(lambda x: np.arange(3), np.zeros(2))
        with pytest.raises(tg.ShapeError, match="bounds"):
            tg.scipy.least_squares(residuals, START, bounds=(0.0, {**START, "rate": np.ones(3)}))
        with pytest.raises(ValueError, match="finite"):
            tg.scipy.least_squares(lambda x: np.log(x), -np.ones(2))


class TestCurveFit:
    @staticmethod
    def model(t: Any, height: Any, rate: Any, floor: Any) -> Any:
        return height * np.exp(-rate * t) + floor

    @pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
    @pytest.mark.parametrize("sigma", ["none", "vector", "matrix"])
    def test_is_scipys(self, method: str, sigma: str) -> None:
        weights = np.linspace(0.01, 0.03, 12)
        given = {"none": None, "vector": weights, "matrix": np.diag(weights**2)}[sigma]
        ours = tg.scipy.curve_fit(self.model, T, Y, method=method, sigma=given)
        theirs = scipy.optimize.curve_fit(self.model, T, Y, method=method, sigma=given)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3)

    def test_data_in_a_tree_and_parameters_without_names(self) -> None:
        data = {"t": T, "scale": np.float64(2.0)}
        found, _ = tg.scipy.curve_fit(
            lambda d, *p: p[0] * np.exp(-p[1] * d["t"]) + p[2], data, Y, p0=[1.0, 1.0, 0.0]
        )
        np.testing.assert_allclose(found, PLAIN[[1, 2, 0]], rtol=1e-5)

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match="give p0"):
            tg.scipy.curve_fit(lambda t, *p: p[0] * t, T, Y)
        with pytest.raises(TypeError, match="curve_fit: jac"):
            tg.scipy.curve_fit(self.model, T, Y, jac="2-point")


def circle(p: Any) -> Any:
    return p["x"] ** 2 + p["y"] ** 2 - 1.0, p["x"] - 2 * p["y"]


METHODS = (
    "hybr", "lm", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden",
    "excitingmixing", "krylov", "df-sane",
)  # fmt: skip


class TestRoot:
    @pytest.mark.parametrize("method", METHODS)
    def test_every_method(self, method: str) -> None:
        """Of a system which fixed mixings solve too."""
        found = tg.scipy.root(
            lambda p: {"a": 1.0 - p["a"] - 0.1 * np.sin(p["b"]), "b": 0.2 * p["a"] - p["b"]},
            {"a": 0.5, "b": 0.5},
            method=method,
        )
        assert found.success
        a, b = found.x["a"], found.x["b"]
        np.testing.assert_allclose([a + 0.1 * np.sin(b), b - 0.2 * a], [1.0, 0.0], atol=1e-4)

    def test_fewer_evaluations_than_without_derivatives(self) -> None:
        ours = tg.scipy.root(circle, {"x": 2.0, "y": 1.0})
        x, y = ours.x["x"], ours.x["y"]
        np.testing.assert_allclose([x, y], np.array([2, 1]) / np.sqrt(5), rtol=1e-10)
        theirs = scipy.optimize.root(lambda v: circle({"x": v[0], "y": v[1]}), [2.0, 1.0])
        assert ours.nfev < theirs.nfev
        assert ours.njev == 1

    def test_complex_equations(self) -> None:
        found = tg.scipy.root(lambda z: z**2 + 1.0, np.array([0.5 + 0.5j]))
        np.testing.assert_allclose(found.x, [1j], atol=1e-10)

    def test_arguments_shapes_and_more_equations_than_unknowns(self) -> None:
        found = tg.scipy.root(lambda x, a: x @ x - a, np.eye(2), args=4 * np.eye(2))
        np.testing.assert_allclose(found.x, 2 * np.eye(2), atol=1e-8)
        found = tg.scipy.root(lambda x: np.stack([x - 1, x * x - 1]), 3.0, method="lm")
        assert found.x == pytest.approx(1.0)

    def test_callbacks_see_the_structure(self) -> None:
        seen: list[Any] = []
        tg.scipy.root(circle, {"x": 2.0, "y": 1.0}, method="krylov",
                      callback=lambda p, r: seen.append(p["x"]))  # fmt: skip
        assert seen

    def test_errors(self) -> None:
        with pytest.raises(tg.ShapeError, match=r"equations.py:\d+: root: f returns 3 num"):
            tg.scipy.root(lambda x: np.stack([x[0], x[1], x[0]]), np.ones(2))

        def f(x: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            tg.scipy.root(f, np.ones(2))


FACTOR, WEIGHTS = [1.0], np.array([1.0, 2.0])
READS = {
    "number": lambda x: x * FACTOR[0],
    "operand": lambda x: x * WEIGHTS[0] + 0 * np.sum(WEIGHTS * x[0]),
    "computed while tracing": lambda x: x * (np.sum(WEIGHTS) / 3),
}
ADAPTED = {
    "objective": lambda f: tg.scipy.objective(lambda x: np.sum(f(x))).jac,
    "tree": lambda f: tg.scipy.objective(lambda p: np.sum(f(p["x"])), {"x": np.zeros(2)}).jac,
    "residuals": lambda f: tg.scipy.least_squares_problem(f).jac,
    "constraint": lambda f: tg.scipy.constraint(f, 0, 1).jac,
    "hessian": lambda f: partial(
        tg.scipy.constraint(lambda x: f(x) * x / 2, 0, 1).hess, v=np.ones(2)
    ),
    "ode": lambda f: partial(tg.scipy.ode(lambda t, y: f(y)).jac, 0.0),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("adapter", ADAPTED)
def test_what_is_read_around_it_is_read_again(adapter: str, read: str) -> None:
    """What the function reads changes between two calls of one object."""
    FACTOR[0], WEIGHTS[:] = 1.0, (1.0, 2.0)
    call, x = ADAPTED[adapter](READS[read]), np.ones(2)
    assert np.ravel(call(x))[0] == pytest.approx(1.0)
    FACTOR[0], WEIGHTS[:] = 2.0, (2.0, 4.0)
    assert np.ravel(call(x))[0] == pytest.approx(2.0)


class TestOde:
    @pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
    def test_robertson(self, method: str) -> None:
        p = tg.scipy.ode(robertson)
        found = scipy.integrate.solve_ivp(
            p.fun, (0, 40), [1.0, 0, 0], method, jac=p.jac, rtol=1e-8, atol=1e-12
        )
        np.testing.assert_allclose(found.y[:, -1], ROBERTSON_40, rtol=1e-5)
        plain = scipy.integrate.solve_ivp(
            robertson, (0, 40), [1.0, 0, 0], method, rtol=1e-8, atol=1e-12
        )
        assert found.nfev <= plain.nfev

    @pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
    def test_explicit_methods_take_the_function_alone(self, method: str) -> None:
        p = tg.scipy.ode(lambda t, y: -y * np.cos(t))
        found = scipy.integrate.solve_ivp(p.fun, (0, 3), [1.0, 2.0], method, rtol=1e-8)
        np.testing.assert_allclose(
            found.y[:, -1], np.exp(-np.sin(3.0)) * np.array([1, 2]), rtol=1e-5
        )

    def test_odeint(self) -> None:
        p = tg.scipy.ode(robertson)
        found, told = scipy.integrate.odeint(
            p.fun, [1.0, 0, 0], [0.0, 40.0], Dfun=p.jac, tfirst=True, full_output=True,
            rtol=1e-9, atol=1e-12,
        )  # fmt: skip
        np.testing.assert_allclose(found[-1], ROBERTSON_40, rtol=1e-6)
        assert told["nje"][-1] > 0

    def test_jacobian(self) -> None:
        y = np.array([0.5, 1e-5, 0.3])
        a = [[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]]]
        expected = np.array([*a, [0.0, 6e7 * y[1], 0.0]])
        np.testing.assert_allclose(tg.scipy.ode(robertson).jac(0.0, y), expected, rtol=1e-14)

    @pytest.mark.parametrize("method", ["BDF", "RK45"])
    def test_complex_states(self, method: str) -> None:
        p = tg.scipy.ode(lambda t, y: np.stack([1j * y[0], -2j * y[1] + y[0]]))
        start = np.array([1.0 + 0j, 0.5])
        given = {"jac": p.jac} if method == "BDF" else {}
        found = scipy.integrate.solve_ivp(
            p.fun, (0, 1), start, method, rtol=1e-8, atol=1e-10, **given
        )
        np.testing.assert_allclose(found.y[0, -1], np.exp(1j), rtol=1e-6)

    def test_states_in_a_structure(self) -> None:
        def f(t: Any, y: Any, k: Any) -> Any:
            force = -k * y["place"]
            return {"place": y["speed"], "speed": force}

        start = {"place": np.array([1.0, 2.0]), "speed": np.zeros(2)}
        p = tg.scipy.ode(f, like=start)
        times = np.linspace(0, 1, 5)
        found = scipy.integrate.solve_ivp(
            p.fun, (0, 1), p.pack(start), "Radau", times, jac=p.jac, args=(4.0,), rtol=1e-9,
            atol=1e-11,
        )  # fmt: skip
        path = p.unpack(found.y)
        assert path["place"].shape == (2, 5)
        np.testing.assert_allclose(path["place"][1], 2 * np.cos(2 * times), rtol=1e-6, atol=1e-7)

    def test_what_does_not_fit(self) -> None:
        with pytest.raises(tg.ShapeError, match="ode: f returns 2 numbers for the 3 of y"):
            tg.scipy.ode(lambda t, y: y[:2]).fun(0.0, np.ones(3))
        with pytest.raises(tg.ShapeError, match=r"ode: jac got x of shape \(2,\)"):
            tg.scipy.ode(robertson, like=np.ones(3)).jac(0.0, np.ones(2))
        with pytest.raises(tg.DTypeError, match="complex numbers for real y"):
            tg.scipy.ode(lambda t, y: y * 1j).fun(0.0, np.ones(2))

    def test_failures_inside_reach_the_caller(self) -> None:
        p = tg.scipy.ode(lambda t, y: tg.linalg.cholesky(np.outer(y, y) - np.eye(2)) @ y)
        for method in ("LSODA", "BDF", "RK45"):
            with pytest.raises(np.linalg.LinAlgError):
                scipy.integrate.solve_ivp(p.fun, (0, 1), np.array([0.1, 0.2]), method)
