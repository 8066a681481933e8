"""linear_solve, and solutions whose derivatives need no matrix: against matrices, in memory, and
where no solver converges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import tracegrad as tg
from tests.solvers.ways import WRAP, A, P


class TestMatrixFree:
    @pytest.mark.parametrize("method", ["gmres", "bicgstab", "cg"])
    def test_agrees_with_matrices(self, method: str) -> None:
        """Both orders; for cg the matrix is made symmetric."""

        def solve(p: Any, linear_solver: str) -> Any:
            M = A + A.T if method == "cg" else A
            return np.sum(
                np.cos(
                    tg.root(
                        lambda x: M @ x + x**3 * p[0] - p, np.zeros(3), linear_solver=linear_solver
                    )
                )
            )

        def derivatives(p: Any, linear_solver: str) -> Any:
            def f(q: Any) -> Any:
                return solve(q, linear_solver)

            both = tg.grad(f)(p), tg.jvp(f, (p,), (P,))[1]
            # What GMRES needs for second derivatives is four loops of some length, and no other
            # rule.
            return both if method == "gmres" else (*both, tg.jvp(tg.grad(f), (p,), (P,))[1])

        for found, expected in zip(
            tg.jit(lambda p: derivatives(p, method))(P), derivatives(P, "dense"), strict=False
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def test_many_unknowns(self) -> None:
        """u'' + c exp(u) = 0 in finite differences: Bratu's problem, whose matrix is tridiagonal;
        with 2,000 unknowns a matrix takes 32 MB."""

        def residual(u: Any, c: Any) -> Any:
            around = np.concatenate([np.zeros(1), u, np.zeros(1)])
            return around[2:] - 2 * u + around[:-2] + c * np.exp(u) / (n + 1) ** 2

        n = 2000
        f = tg.jit(
            tg.value_and_grad(
                lambda c: np.mean(tg.root(residual, np.zeros(n), c, linear_solver="cg") ** 2)
            )
        )
        value, slope = f(1.0)
        u = np.zeros(n)
        for _ in range(8):
            bands = np.ones((3, n))
            bands[1] = -2 + np.exp(u) / (n + 1) ** 2
            u = u - scipy.linalg.solve_banded((1, 1), bands, residual(u, 1.0))
        np.testing.assert_allclose(value, np.mean(u**2), rtol=1e-8)
        du = -scipy.linalg.solve_banded((1, 1), bands, np.exp(u) / (n + 1) ** 2)
        np.testing.assert_allclose(slope, np.mean(2 * u * du), rtol=1e-8)

    def test_memory_in_proportion_to_the_unknowns(self) -> None:
        """A matrix of 30,000 unknowns would take 7 GB. The coupling is of one side, so the
        transposed matrix is another one."""
        n = 30_000

        def solve(p: Any) -> Any:
            return tg.root(
                lambda x: 3 * x + np.sin(x) - np.concatenate([x[1:], p[:1]]) - p, np.zeros(n)
            )

        p, direction = np.linspace(0.5, 1.0, n), np.sin(np.arange(n))
        derivatives = tg.jit(
            lambda p: (
                solve(p),
                tg.grad(lambda q: np.sum(solve(q) ** 2))(p),
                tg.jvp(solve, (p,), (direction,))[1],
            )
        )
        x, gradient, tangent = derivatives(p)
        bands = np.stack([np.full(n, -1.0), 3 + np.cos(x)])
        change = np.append(direction[:-1], direction[-1] + direction[0])
        np.testing.assert_allclose(
            tangent, scipy.linalg.solve_banded((0, 1), bands, change), rtol=1e-9, atol=1e-10
        )
        multipliers = scipy.linalg.solve_banded((1, 0), bands[::-1], 2 * x)
        multipliers[0] += multipliers[-1]
        np.testing.assert_allclose(gradient, multipliers, rtol=1e-9)

    def test_other_sizes(self) -> None:
        """Compiled for any size from the second on; whether there is a matrix depends on it."""
        f = tg.jit(
            tg.grad(lambda a: np.sum(tg.root(lambda x: x**3 + x - a, np.zeros_like(a)) ** 2))
        )
        cubic = tg.vmap(lambda b: tg.root(lambda x: x**3 + x - b, 0.0))
        for n in (2, 5, 7, 600):
            a = np.linspace(0.5, 1.0, n)
            x = cubic(a)
            np.testing.assert_allclose(f(a), 2 * x / (3 * x**2 + 1), rtol=1e-9)


@pytest.mark.parametrize("wrap", WRAP)
class TestLinearSolve:
    @pytest.mark.parametrize("method", ["auto", "bicgstab", "gmres"])
    def test_against_matrices(self, wrap: str, method: str) -> None:
        def mine(M: Any, b: Any) -> Any:
            return np.sum(tg.linear_solve(lambda x: M @ x, b, method) ** 3)

        def exact(M: Any, b: Any) -> Any:
            return np.sum(tg.linalg.solve(M, b) ** 3)

        for found, expected in zip(
            WRAP[wrap](tg.grad(mine, (0, 1)))(A, P), tg.grad(exact, (0, 1))(A, P), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("method", ["bicgstab", "gmres"])
    def test_imaginary_eigenvalues(self, wrap: str, method: str) -> None:
        """Rotations, which shorten no residual in the first step, and matrices with zeros on the
        diagonal."""
        turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
        saddle = np.block([[np.diag([1.0, 2.0, 3.0]), A[:2].T], [A[:2], np.zeros((2, 2))]])
        for M, b in ((turn, np.array([1.0, 2.0])), (saddle, np.arange(5.0))):
            found = WRAP[wrap](lambda M, b: tg.linear_solve(lambda x: M @ x, b, method))(M, b)
            np.testing.assert_allclose(M @ found, b, rtol=1e-10, atol=1e-10)

    def test_trees_of_complex_numbers(self, wrap: str) -> None:
        def product(x: Any) -> Any:
            return {"u": (2 + 1j) * x["u"] + x["v"][0], "v": x["v"] * 3.0 - 1j * np.sum(x["u"])}

        b = {"u": np.array([1.0, 2j]), "v": np.array([0.5 + 1j])}
        found = WRAP[wrap](lambda b: tg.linear_solve(product, b, method="gmres"))(b)
        again = product(found)
        np.testing.assert_allclose(again["u"], b["u"], rtol=1e-11)
        np.testing.assert_allclose(again["v"], b["v"], rtol=1e-11)

    def test_restarts_and_exact_starts(self, wrap: str) -> None:
        d = np.linspace(1.0, 30.0, 80)
        found = WRAP[wrap](
            lambda b: tg.linear_solve(lambda x: d * x + 0.1 * np.roll(x, 1), b, "gmres")
        )(np.ones(80))
        np.testing.assert_allclose(d * found + 0.1 * np.roll(found, 1), np.ones(80), rtol=1e-10)
        methods = ("cg", "gmres", "bicgstab", "dense")
        solve = WRAP[wrap](lambda b: [tg.linear_solve(lambda x: 2.0 * x, b, m) for m in methods])
        np.testing.assert_array_equal(solve(np.zeros(3)), np.zeros((4, 3)))
        np.testing.assert_allclose(solve(np.ones(3)), np.full((4, 3), 0.5), rtol=1e-15)


@pytest.mark.parametrize("method", ["bicgstab", "cg", "gmres"])
def test_no_wrong_solutions(method: str) -> None:
    """Recurrences can say that the residual is small where it is not: it is computed, so the answer
    is right or an error."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(120, 120))
    b = rng.normal(size=120)
    for M in (S - S.T, S, S @ S.T, np.roll(np.eye(120), 1, 0)):
        try:
            x = tg.linear_solve(lambda v, M=M: M @ v, b, method)
        except RuntimeError:
            continue
        assert np.linalg.norm(M @ x - b) <= 1e-11 * np.linalg.norm(b) + 1e-14 * np.linalg.norm(
            M, 2
        ) * np.linalg.norm(x)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("method", ["dense", "cg", "sparse", "gmres"])
def test_complex_numbers_for_real_ones(method: str, n: int, wrap: Any) -> None:
    """Their imaginary parts are not dropped."""
    b = np.arange(1.0, n + 1)
    for tree in (lambda x: x, lambda x: {"a": x}):
        with pytest.raises(tg.DTypeError, match=r"b is of float64, and .* returned complex128"):
            wrap(
                lambda b, tree=tree: tg.linear_solve(
                    lambda x: tree((2 + 1j) * (x["a"] if isinstance(x, dict) else x)),
                    tree(b),
                    method=method,
                )
            )(b)
    with pytest.raises(tg.DTypeError, match=r"x0 is of float64, and .* returned complex128"):
        wrap(lambda b: tg.fixed_point(lambda x: 0.5j * x + 1, b))(b)
