"""root, fixed_point and custom_root: values, and derivatives by the implicit function
theorem, against closed forms, finite differences, SciPy and each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import tracegrad as tg
from tests.solvers.ways import WRAP, A, P
from tests.unjitted import run_unjitted
from tracegrad.solvers.roots import newton


def sqrt(a: Any) -> Any:
    return tg.root(lambda x: x * x - a, 1.0)


def system(x: Any, p: Any) -> Any:
    return A @ x + x**3 * p[0] - p


def three(p: Any, linear_solver: str = "auto") -> Any:
    return tg.root(system, np.zeros(3), p, linear_solver=linear_solver)


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-5) -> Any:
    """Central differences: the Jacobian's columns along the last axis."""
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], -1)


@pytest.mark.parametrize("wrap", WRAP)
class TestRoot:
    def test_every_order_and_mode(self, wrap: str) -> None:
        def every(a: Any) -> Any:
            return (
                sqrt(a),
                [tg.grad(sqrt)(a), tg.jvp(sqrt, (a,), (1.0,))[1]],
                [
                    tg.grad(tg.grad(sqrt))(a),
                    tg.hessian(sqrt)(a),
                    tg.jvp(tg.grad(sqrt), (a,), (1.0,))[1],
                    tg.grad(lambda b: tg.jvp(sqrt, (b,), (1.0,))[1])(a),
                ],
                tg.grad(tg.grad(tg.grad(sqrt)))(a),
            )

        f = WRAP[wrap](every)
        for a in (2.0, 0.3):
            value, first, second, third = f(a)
            assert isinstance(value, np.float64)
            np.testing.assert_allclose(value, np.sqrt(a), rtol=1e-12)
            np.testing.assert_allclose(first, np.full(2, 0.5 * a**-0.5), rtol=1e-11)
            np.testing.assert_allclose(second, np.full(4, -0.25 * a**-1.5), rtol=1e-10)
            np.testing.assert_allclose(third, 0.375 * a**-2.5, rtol=1e-10)
        g = WRAP[wrap](sqrt)
        np.testing.assert_allclose(tg.grad(tg.grad(g))(2.0), -0.25 * 2.0**-1.5, rtol=1e-10)

    def test_a_system_against_scipy_and_differences(self, wrap: str) -> None:
        f = WRAP[wrap](three)
        found = scipy.optimize.root(system, np.zeros(3), (P,), tol=1e-14).x
        np.testing.assert_allclose(f(P), found, rtol=1e-11)
        for jacobian in (tg.jacrev, tg.jacfwd):
            first = WRAP[wrap](jacobian(three))
            np.testing.assert_allclose(first(P), differences(three, P), rtol=1e-8)
        second = WRAP[wrap](tg.hessian(lambda p: np.sum(np.sin(three(p)))))
        np.testing.assert_allclose(
            second(P), differences(tg.grad(lambda p: np.sum(np.sin(three(p)))), P), rtol=1e-7
        )

    def test_batches(self, wrap: str) -> None:
        a, x0 = np.array([1.0, 2.0, 9.0]), np.array([-3.0, 1.0, 2.0])
        found = WRAP[wrap](tg.vmap(lambda b, x: tg.root(lambda y: y * y - b, x)))(a, x0)
        np.testing.assert_allclose(found, [-1.0, np.sqrt(2.0), 3.0], rtol=1e-12)
        each, all_at_once = WRAP[wrap](
            lambda a: (tg.vmap(tg.grad(sqrt))(a), tg.jacobian(tg.vmap(sqrt))(a))
        )(a)
        np.testing.assert_allclose(each, 0.5 * a**-0.5, rtol=1e-11)
        np.testing.assert_allclose(all_at_once, np.diag(0.5 * a**-0.5), rtol=1e-11)
        rows = P * np.array([[1.0], [0.5]])

        def many(rows: Any) -> Any:
            jacobians = [
                tg.vmap(tg.jacobian(lambda p, s=s: three(p, s)))(rows)
                for s in ("dense", "bicgstab")
            ]
            return *jacobians, tg.hessian(lambda r: np.sum(tg.vmap(three)(r) ** 2))(rows)

        dense, iterative, second = WRAP[wrap](many)(rows)
        np.testing.assert_allclose(dense, [tg.jacobian(three)(p) for p in rows], rtol=1e-9)
        np.testing.assert_allclose(iterative, dense, rtol=1e-9)
        np.testing.assert_allclose(
            second[1, :, 1], tg.hessian(lambda p: np.sum(three(p) ** 2))(rows[1]), rtol=1e-9
        )
        np.testing.assert_array_equal(second[0, :, 1], 0.0)

    def test_trees_of_other_structure(self, wrap: str) -> None:
        """x = u, v with a u^3 + v = 1 and u = b v; the residuals are one array, the parameters a
        dict."""

        def solve(p: Any) -> Any:
            return tg.root(
                lambda x: np.stack(
                    [p["a"] * x["u"] ** 3 + x["v"][0] - 1, x["u"] - p["b"] * x["v"][0]]
                ),
                {"u": 0.5, "v": [0.2]},
            )

        p = {"a": 2.0, "b": 3.0}
        x = WRAP[wrap](solve)(p)
        np.testing.assert_allclose(
            [2 * x["u"] ** 3 + x["v"][0], x["u"]], [1.0, 3 * x["v"][0]], rtol=1e-12
        )
        v = x["v"][0]
        jacobian = WRAP[wrap](tg.jacobian(solve))(p)
        # a b^3 v^3 + v = 1
        slope = 3 * 54 * v**2 + 1
        np.testing.assert_allclose(jacobian["v"][0]["a"], -27 * v**3 / slope, rtol=1e-11)
        np.testing.assert_allclose(jacobian["u"]["b"], v + 3 * (-54 * v**3 / slope), rtol=1e-11)

    def test_complex_numbers(self, wrap: str) -> None:
        f = WRAP[wrap](lambda a: tg.root(lambda z: z**3 - a, 0.5 + 1j))
        z = 2 ** (1 / 3) * np.exp(2j * np.pi / 3)
        np.testing.assert_allclose(f(2.0), z, rtol=1e-12)
        np.testing.assert_allclose(tg.jacfwd(f)(2.0), z / 6, rtol=1e-11)
        # Not holomorphic: |z|^2 z = a has |z| = |a|^(1/3). The gradient of a real function is its
        # steepest ascent.
        g = WRAP[wrap](
            tg.grad(lambda a: np.abs(tg.root(lambda z: z * np.conj(z) * z - a, 0.5 + 1j)))
        )
        a = 2.0 + 1j
        np.testing.assert_allclose(g(a), abs(a) ** (-2 / 3) / 3 * a / abs(a), rtol=1e-11)

    def test_float32_and_views(self, wrap: str) -> None:
        rows = np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2)

        def solve(a: Any) -> Any:
            return tg.root(lambda x: x**3 + x - a, np.zeros_like(a))

        f = WRAP[wrap](lambda a: (solve(a), tg.grad(lambda b: np.sum(solve(b)))(a)))
        for a in (rows[::2, ::-1], np.zeros((0, 3)), np.float32(2.0)):
            x, slope = f(a)
            assert x.dtype == slope.dtype == a.dtype
            assert np.shape(x) == np.shape(a)
            np.testing.assert_allclose(x**3 + x, a, rtol=1e-5)
            np.testing.assert_allclose(slope, 1 / (3 * x**2 + 1), rtol=1e-5)

    def test_it_does_not_matter_where_it_began(self, wrap: str) -> None:
        assert WRAP[wrap](tg.grad(lambda x0: tg.root(lambda x: x * x - 2.0, x0)))(1.0) == 0.0
        assert (
            WRAP[wrap](
                lambda x0: tg.jvp(lambda y: tg.root(lambda x: x * x - 2.0, y), (x0,), (1.0,))
            )(1.0)[1]
            == 0.0
        )

    def test_what_is_read_around(self, wrap: str) -> None:
        """Tensors (leaves and not), values of an enclosing trace, of a loop, and solutions of other
        equations."""
        w = tg.tensor([2.0, 3.0], requires_grad=True)
        x = WRAP[wrap](lambda: tg.root(lambda x: x * x - w * 2.0, tg.ones(2)))()
        assert isinstance(x, tg.Tensor)
        (g,) = tg.autograd.grad(x.sum(), w, create_graph=True)
        np.testing.assert_allclose(g.detach().numpy(), 1 / x.detach().numpy(), rtol=1e-12)
        g.sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), -(x.detach().numpy() ** -3.0), rtol=1e-12)

        def euler(k: Any) -> Any:
            """Two implicit steps of y' = -k y."""
            return tg.scan(
                lambda y, _: (tg.root(lambda z: z - y + 0.1 * k * z, y), y), 1.0, length=2
            )[0]

        np.testing.assert_allclose(
            WRAP[wrap](tg.grad(tg.grad(euler)))(3.0), 0.06 / 1.3**4, rtol=1e-11
        )

        def inner(a: Any) -> Any:
            """x with y(x, a) = 2 x, where y^3 + x = a."""
            return tg.root(lambda x: tg.root(lambda y: y**3 + x - a, 1.0) - 2 * x, 0.5)

        x = WRAP[wrap](inner)(3.0)
        np.testing.assert_allclose(8 * x**3 + x, 3.0, rtol=1e-11)
        np.testing.assert_allclose(WRAP[wrap](tg.grad(inner))(3.0), 1 / (24 * x**2 + 1), rtol=1e-10)
        np.testing.assert_allclose(
            WRAP[wrap](tg.grad(tg.grad(inner)))(3.0), -48 * x / (24 * x**2 + 1) ** 3, rtol=1e-9
        )

    def test_steps_are_shortened(self, wrap: str) -> None:
        """Where the full step leads out of the domain, or away."""
        assert WRAP[wrap](lambda a: tg.root(lambda x: np.log(x) - a, 30.0))(1.0) == pytest.approx(
            np.e
        )
        assert (
            abs(WRAP[wrap](lambda a: tg.root(lambda x: np.arctan(x - a), 9.0))(1.0) - 1.0) < 1e-11
        )

    def test_as_far_as_rounding_allows(self, wrap: str) -> None:
        """Residuals that are never as small as the tolerance says, of a solution that is as good as
        it can be."""
        f = WRAP[wrap](
            lambda a: tg.root(lambda x: 1e9 * (np.exp(x) - a * np.sin(x) - 1.5), 1.0, info=True)
        )
        x, info = f(2.0)
        assert info.converged
        np.testing.assert_allclose(np.exp(x) - 2.0 * np.sin(x), 1.5, rtol=1e-14)

    def test_not_converging(self, wrap: str) -> None:
        with pytest.raises(
            RuntimeError,
            match=r"root has not converged to tol=1\.8e-12 within max_steps=100: start nearer",
        ):
            WRAP[wrap](lambda a: tg.root(lambda x: x * x + a, 1.0))(2.0)
        with np.errstate(all="ignore"):
            x, info = WRAP[wrap](tg.vmap(lambda a: tg.root(lambda x: x * x - a, 1.0, info=True)))(
                np.array([4.0, -1.0])
            )
        np.testing.assert_array_equal(info.converged, [True, False])
        assert info.steps[0] < 9
        assert info.steps[1] == 100
        assert info.residual[1] >= 1
        np.testing.assert_allclose(x[0], 2.0, rtol=1e-12)

    def test_singular_matrices(self, wrap: str) -> None:
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            WRAP[wrap](
                lambda a: tg.root(lambda x: np.stack([x[0] + x[1], x[0] + x[1]]) - a, np.zeros(2))
            )(2.0)
        # dx/da = 1 / (2 (x - 1)) at x = 1.
        with np.errstate(divide="ignore"):
            assert (
                WRAP[wrap](tg.grad(lambda a: tg.root(lambda x: (x - 1.0) ** 2 - a, 1.0)))(0.0)
                == np.inf
            )

    def test_errors(self, wrap: str) -> None:
        def fails(kind: type[Exception], match: str, f: Callable[[Any], Any]) -> None:
            with pytest.raises(kind, match=match):
                WRAP[wrap](f)(1.0)

        fails(
            tg.DTypeError,
            r"test_implicit.py:\d+: root: x0 must hold floating-point numbers, not int64",
            lambda a: tg.root(np.sin, np.arange(2)),
        )
        fails(TypeError, "root: x0 holds a str", lambda a: tg.root(np.sin, "x"))
        fails(ValueError, "root: x0 is empty", lambda a: tg.root(np.sin, ()))
        fails(
            tg.ShapeError,
            "root: f returns 2 numbers for 1 unknowns",
            lambda a: tg.root(lambda x: np.stack([x, a]), 1.0),
        )
        fails(tg.ShapeError, "root: f returns nothing", lambda a: tg.root(lambda x: None, 1.0))
        fails(
            ValueError,
            "no linear solver 'qr'; choose",
            lambda a: tg.root(np.sin, a, linear_solver="qr"),
        )
        fails(
            ValueError, "max_steps must be at least 0", lambda a: tg.root(np.sin, a, max_steps=-1)
        )
        fails(
            ValueError,
            "fixed_point: there is no method 'x'",
            lambda a: tg.fixed_point(np.sin, a, method="x"),
        )
        fails(
            tg.ShapeError,
            r"must return a tree like x0.*\(2,\)",
            lambda a: tg.fixed_point(lambda x: np.stack([x, x]), a),
        )
        fails(
            ValueError,
            "minimize: there is no method 'x'",
            lambda a: tg.minimize(np.sin, a, method="x"),
        )
        fails(
            TypeError,
            r"minimize: f must return one real number, it returned f64\[2\]",
            lambda a: tg.minimize(lambda x: np.stack([x, x]), a),
        )
        fails(
            tg.ShapeError,
            "the product must be a tree like b",
            lambda a: tg.linear_solve(lambda x: x[:1], np.ones(2), method="cg"),
        )
        fails(
            RuntimeError,
            "'cg' has not reached its tolerance after 3 steps",
            lambda a: tg.linear_solve(lambda x: a * 0.0 * x, np.ones(2), "cg", max_steps=3),
        )


@pytest.mark.parametrize("wrap", WRAP)
class TestFixedPoint:
    @pytest.mark.parametrize("method", ["iteration", "anderson", "newton"])
    def test_methods(self, wrap: str, method: str) -> None:
        def f(a: Any) -> Any:
            return tg.fixed_point(
                lambda x, a: {"c": np.cos(a * x["c"])},
                {"c": np.array([0.5, 0.1])},
                a,
                method=method,
            )["c"]

        x, s = 0.7390851332151607, 0.6736120291832148  # cos x = x, sin x
        np.testing.assert_allclose(WRAP[wrap](f)(1.0), [x, x], rtol=1e-11)
        np.testing.assert_allclose(
            WRAP[wrap](tg.jacobian(f))(1.0), np.full(2, -x * s / (1 + s)), rtol=1e-10
        )
        second = WRAP[wrap](tg.grad(tg.grad(lambda a: f(a)[0])))(1.0)
        np.testing.assert_allclose(
            second,
            (tg.grad(lambda a: f(a)[0])(1.0001) - tg.grad(lambda a: f(a)[0])(0.9999)) / 2e-4,
            rtol=1e-6,
        )

    def test_acceleration(self, wrap: str) -> None:
        def steps(method: str) -> int:
            f = WRAP[wrap](
                lambda b: tg.fixed_point(
                    lambda x: 0.9 * np.tanh(A @ x / 4) + b, np.zeros(3), method=method, info=True
                )
            )
            return int(f(P)[1].steps)

        assert steps("anderson") < steps("iteration") / 3

    def test_functions_that_write_into_their_argument(self, wrap: str) -> None:
        def halve(x: Any, a: Any) -> Any:
            x[0] = 0.5 * x[0] + a
            x *= 0.5
            return x

        start = np.array([0.5, 1.0])
        found = WRAP[wrap](lambda a: tg.fixed_point(halve, start, a))(1.0)
        np.testing.assert_allclose(found, [2 / 3, 0.0], atol=1e-11)
        roots = WRAP[wrap](lambda a: tg.root(lambda x: halve(x, a) - 2.0, start))(1.0)
        np.testing.assert_allclose(roots, [6.0, 4.0])
        np.testing.assert_array_equal(start, [0.5, 1.0])

    def test_not_a_contraction(self, wrap: str) -> None:
        with pytest.raises(RuntimeError, match="fixed_point has not converged"):
            WRAP[wrap](lambda a: tg.fixed_point(lambda x: a - 2.0 * x, 0.5, max_steps=50))(1.0)


class TestCustomRoot:
    def test_a_solver_of_scipy(self) -> None:
        seen: list[Any] = []

        @tg.custom_root(lambda x, a, b: x**3 + b * x - a)
        def solve(a: Any, b: Any, upper: float = 10.0) -> Any:
            seen.append(type(a))
            return scipy.optimize.brentq(lambda x: x**3 + b * x - a, 0.0, upper, xtol=1e-14)

        assert solve(2.0, 1.0) == pytest.approx(1.0)
        np.testing.assert_allclose(tg.grad(solve, (0, 1))(2.0, 1.0), (0.25, -0.25), rtol=1e-12)
        assert seen == [float, np.float64]
        np.testing.assert_allclose(
            tg.hessian(lambda a: solve(a, 1.0, upper=5.0))(2.0), -6 / 64, rtol=1e-12
        )
        np.testing.assert_allclose(tg.jvp(solve, (2.0, 1.0), (1.0, 1.0))[1], 0.0, atol=1e-12)
        w = tg.tensor(2.0, requires_grad=True)
        solve(w, 1.0).backward()
        np.testing.assert_allclose(w.grad.item(), 0.25, rtol=1e-12)

    @pytest.mark.parametrize("wrap", WRAP)
    def test_a_loop(self, wrap: str) -> None:
        """Bisection, which has no derivative of its own, with a residual that reads values around
        it."""

        def square_root(a: Any) -> Any:
            @tg.custom_root(lambda x: x * x - a)
            def solve() -> Any:
                def halve(_: Any, ends: Any) -> Any:
                    middle = (ends[0] + ends[1]) / 2
                    low = middle * middle < a
                    return tg.where(low, middle, ends[0]), tg.where(low, ends[1], middle)

                return tg.fori_loop(0, 60, halve, (0.0, 10.0))[0]

            return solve()

        np.testing.assert_allclose(WRAP[wrap](square_root)(2.0), np.sqrt(2.0), rtol=1e-14)
        np.testing.assert_allclose(
            WRAP[wrap](tg.grad(square_root))(2.0), 0.5 / np.sqrt(2.0), rtol=1e-14
        )
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(tg.grad(tg.grad(square_root))))(np.array([2.0])),
            [-0.25 * 2.0**-1.5],
            rtol=1e-13,
        )


class TestGraphs:
    def test_the_derivative_has_no_loop_of_its_own(self) -> None:
        """One loop that searches, and nothing else is repeated; in compiled code the operation is
        gone."""
        before, *_, after = tg.jit(tg.grad(lambda p: np.sum(three(p)))).graphs(P)
        assert [n.op.name for n in before.nodes].count("implicit") == 1
        names = [n.op.name for n in after.nodes]
        assert names.count("while_loop") == 1
        assert names.count("solve") == 1
        assert "implicit" not in names

    def test_unjitted(self) -> None:
        f = tg.jit(tg.grad(lambda p: np.sum(three(p))))
        graph = f.graphs(P)[-1]
        # The matrix that `system` reads is an input.
        found = run_unjitted(graph, [P, A][: len(graph.inputs)])
        np.testing.assert_allclose(found[0], tg.grad(lambda p: np.sum(three(p)))(P), rtol=1e-12)

    def test_newton_ends_quadratically(self) -> None:
        """The step by itself, to see the rate."""
        state, done, step = newton(lambda x: x**3 - 8.0, np.array([3.0]), "dense", 1e-12)
        errors = []
        while not done:
            state, done = step(state)
            errors.append(abs(state[0][0] - 2.0))
        assert errors[2] < 0.6 * errors[1] ** 2
        assert errors[-1] < 1e-12


def test_results_are_plain() -> None:
    """No derivative leaves its history behind."""
    found = [
        tg.grad(sqrt)(2.0),
        tg.jvp(sqrt, (2.0,), (1.0,))[1],
        tg.jvp(tg.grad(sqrt), (2.0,), (1.0,))[1],
        tg.grad(lambda a: tg.jvp(sqrt, (a,), (1.0,))[1])(2.0),
        tg.grad(lambda a: tg.linear_solve(lambda x: a * x, np.ones(2), "cg")[0])(2.0),
        tg.jvp(
            tg.grad(lambda a: tg.linear_solve(lambda x: a * x, np.ones(2), "cg")[0]), (2.0,), (1.0,)
        )[1],
    ]
    assert [type(x) for x in found] == [np.float64] * len(found)
