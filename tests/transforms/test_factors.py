"""One matrix is factorised once: in a function and its derivatives, with the values of the plain
functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.transforms.test_algebra import names
from tracegrad.transforms.rewrite import optimize

N = 100
RNG = np.random.default_rng(0)
A = RNG.normal(size=(N, N)) + 12 * np.eye(N)
B = RNG.normal(size=N)
MATRICES = (
    "lu_factors", "solve", "inv", "slogdet", "factored_solve", "factored_inv", "factored_slogdet",
)  # fmt: skip


def likelihood(a: Any) -> Any:
    return np.linalg.slogdet(a)[1] + B @ np.linalg.solve(a, B)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (
            tg.value_and_grad(lambda a: np.sum(np.linalg.solve(a, B) ** 2)),
            ["factored_solve", "factored_solve", "lu_factors"],
        ),
        (
            tg.value_and_grad(likelihood),
            ["factored_inv", "factored_slogdet", "factored_solve", "factored_solve", "lu_factors"],
        ),
        (
            lambda a: np.linalg.slogdet(a[:30, :30])[1] + np.linalg.inv(a[:30, :30]),
            ["factored_inv", "factored_slogdet", "lu_factors"],
        ),
        (
            tg.grad(lambda a: np.sum(np.linalg.solve(a[:24, :24], B[:24]) ** 2)),
            ["factored_solve", "factored_solve", "lu_factors"],
        ),
        (
            lambda a: np.linalg.slogdet(a[:9, :9])[1] + np.linalg.inv(a[:9, :9]),
            ["inv", "slogdet"],
        ),
        (lambda a: np.linalg.solve(a, B) + np.linalg.solve(a * 2, B), ["solve", "solve"]),
        (lambda a: np.linalg.inv(np.linalg.inv(a)), ["inv", "inv"]),
        (
            lambda a: np.linalg.solve(np.linalg.inv(a), B) + np.linalg.slogdet(np.linalg.inv(a))[1],
            ["factored_slogdet", "factored_solve", "inv", "lu_factors"],
        ),
    ],
)
def test_one_factorisation(function: Callable[..., Any], found: list[str]) -> None:
    assert sorted(n for n in names(function, A) if n in MATRICES) == found
    ours, plain = tg.jit(function)(A), function(A)
    pairs = zip(ours, plain, strict=True) if isinstance(ours, tuple) else [(ours, plain)]
    for o, p in pairs:
        np.testing.assert_allclose(o, p, rtol=1e-9, atol=1e-9 * np.abs(p).max())


def test_a_device_has_no_routine_for_factors() -> None:
    graph = tg.jit(tg.grad(likelihood)).graphs(A)[0]
    found = {node.op.name for node in optimize(graph, tapes=False).nodes}
    assert {"solve", "inv"} <= found
    assert "lu_factors" not in found


def test_second_derivatives_share_them() -> None:
    def along(a: Any, v: Any) -> Any:
        return tg.jvp(tg.grad(likelihood), (a,), (v,))[1]

    v = RNG.normal(size=(N, N))
    assert names(along, A, v).count("lu_factors") == 1
    expected = along(A, v)
    np.testing.assert_allclose(
        tg.jit(along)(A, v), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
    )


def test_small_and_complex_matrices_stay_what_they_are() -> None:
    for a in (A[:5, :5], A * (1 + 1j)):
        b = np.ones(len(a))
        found = names(lambda a, b=b: np.linalg.solve(a, b) + np.linalg.solve(a.T, b), a)
        assert "lu_factors" not in found


def test_a_singular_matrix_fails_where_it_is_solved() -> None:
    bad = A.copy()
    bad[:, 3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        tg.jit(tg.grad(likelihood))(bad)


def test_likelihood_of_a_factor() -> None:
    """Value, gradient and Hessian through a Cholesky factor large enough for blocks."""
    x = RNG.normal(size=(60, 2))

    def process(h: Any) -> Any:
        apart = np.sum((x[:, None] - x[None]) ** 2, -1)
        k = np.exp(h[0] - apart * np.exp(h[1])) + np.exp(h[2]) * np.eye(60)
        factor = np.linalg.cholesky(k)
        z = tg.linalg.triangular_solve(factor, x[:, 0])
        return 0.5 * z @ z + np.sum(np.log(np.diagonal(factor)))

    h = np.array([0.1, 0.3, -1.0])
    for derivative in (tg.value_and_grad(process), tg.hessian(process)):
        compiled = tg.jit(derivative)
        for ours, plain in zip(compiled(h), derivative(h), strict=True):
            np.testing.assert_allclose(ours, plain, rtol=1e-10, atol=1e-10)
    step = 1e-5 * np.eye(3)
    differences = [(tg.grad(process)(h + s) - tg.grad(process)(h - s)) / 2e-5 for s in step]
    np.testing.assert_allclose(tg.hessian(process)(h), differences, rtol=1e-6, atol=1e-6)
