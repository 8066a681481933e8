"""Tangents and cotangents of Cholesky factors as operations of their own, of matrices large enough
for them: every nesting to the third order gives what formulas with triangular systems give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ops.matrices import cholesky

N = cholesky.LEAST_ROWS + 2
RNG = np.random.default_rng(0)
BASE, FIRST, SECOND = (x @ x.T / N + np.eye(N) for x in RNG.normal(size=(3, N, N)))
WEIGHTS = RNG.normal(size=(N, N))
AT, ALONG = np.array([0.3, 0.7]), np.array([1.0, -0.5])


def function(t: Any) -> Any:
    """Of all entries of a factor, unevenly."""
    base, first, second, weights = (m.astype(t.dtype) for m in (BASE, FIRST, SECOND, WEIGHTS))
    factor = np.linalg.cholesky(base + t[0] * first + np.sin(t[1]) * second)
    return np.sum(weights * factor * factor) / N + np.sum(np.log(np.diagonal(factor)))


def forward(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t: tg.jvp(f, (t,), (ALONG.astype(t.dtype),))[1]


def backward(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t: np.sum(tg.grad(f)(t) * ALONG.astype(t.dtype))


ORDERS = [
    [forward], [backward],
    [forward, forward], [forward, backward], [backward, forward], [backward, backward],
    [forward, forward, forward], [forward, backward, forward], [backward, forward, forward],
    [backward, backward, forward], [forward, forward, backward], [forward, backward, backward],
    [backward, forward, backward], [backward, backward, backward],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: " ".join(d.__name__ for d in order))
def test_nestings(
    order: list[Any], compiled: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def derived(t: Any) -> Any:
        f: Callable[..., Any] = function
        for one in order:
            f = one(f)
        return f(t)

    at = AT.astype(dtype)
    found = (tg.jit(derived) if compiled else derived)(at)
    assert found.dtype == dtype
    monkeypatch.setattr(cholesky, "LEAST_ROWS", 10 * N)
    np.testing.assert_allclose(found, derived(AT), rtol=1e-10 if dtype == "float64" else 2e-3)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_several_matrices_and_directions(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([[0.3, 0.7], [0.1, 0.4], [0.9, 0.2]])
    f = tg.vmap(tg.hessian(function))
    found = (tg.jit(f) if compiled else f)(points)
    monkeypatch.setattr(cholesky, "LEAST_ROWS", 10 * N)
    expected = np.stack([tg.hessian(function)(p) for p in points])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_what_is_recorded() -> None:
    """The tests above would compare formulas with themselves otherwise."""
    text = str(tg.jit(tg.hessian(function)).graphs(AT)[-1])
    assert "cholesky_tangent(" in text
    assert "cholesky_adjoint(" in text
    assert "triangular_solve(" not in text


def test_a_matrix_that_is_not_positive_definite() -> None:
    for f in (function, tg.grad(function), tg.hessian(function)):
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            tg.jit(f)(np.array([-5.0, 0.7]))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_hessians_of_nearly_singular_matrices(compiled: bool) -> None:
    """Of log det(u diag(e^t) u^T + d): its sum over eigenvalues is known. Formulas with solves by
    the factor and products with it lose twice as many digits."""
    q = np.linalg.qr(RNG.normal(size=(N, N)))[0]
    directions, rest = q[:, :2], 1e-7 * np.eye(N)

    def log_det(t: Any) -> Any:
        k = directions @ (np.exp(t)[:, None] * directions.T) + rest
        return 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(k))))

    f = tg.hessian(log_det)
    found = (tg.jit(f) if compiled else f)(AT)
    share = 1e-7 / (np.exp(AT) + 1e-7)
    np.testing.assert_allclose(found, np.diag(share * (1 - share)), rtol=0, atol=1e-4)
