"""Sparse derivatives inside of traced and differentiated functions: compiled, on the tape, mapped,
with arrays and traced values read around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tracegrad as tg
from tracegrad.errors import TracegradError

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.linspace(0.1, 1.0, 9)
P = np.linspace(1.0, 2.0, 9)


def newton(matrix: Callable[..., Any], solve: Callable[..., Any]) -> Callable[..., Any]:
    """Three steps for Bratu's equation, whose parameters the residuals read around them."""

    def found(p: Any, u: Any) -> Any:
        def residuals(u: Any) -> Any:
            wide = np.pad(u, 1)
            return wide[2:] - 2.5 * u + wide[:-2] + 0.01 * p * np.exp(u)

        jacobian = matrix(residuals)
        for _ in range(3):
            u = u - solve(jacobian(u), residuals(u))
        return u

    return found


SPARSE = newton(tg.sparse_jacobian, tg.sparse.solve)
DENSE = newton(tg.jacobian, np.linalg.solve)


@pytest.mark.parametrize("way", [tg.jit, lambda f: f], ids=["jit", "eager"])
def test_newton(way: Any) -> None:
    """The matrix depends on what is traced, differentiated and captured; so do derivatives of what
    was solved with it."""
    np.testing.assert_allclose(way(SPARSE)(P, X), DENSE(P, X), rtol=1e-12)

    def energy(f: Any) -> Any:
        return lambda p, u: np.sum(f(p, u) ** 2)

    of = way(tg.grad(energy(SPARSE), argnums=(0, 1)))
    for x, y in zip(of(P, X), tg.grad(energy(DENSE), argnums=(0, 1))(P, X), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-14)
    tangent = way(lambda p: tg.jvp(lambda q: SPARSE(q, X), (p,), (X,))[1])(P)
    np.testing.assert_allclose(tangent, tg.jvp(lambda q: DENSE(q, X), (P,), (X,))[1], rtol=1e-10)


def test_values_have_derivatives() -> None:
    """Third derivatives of a function are first ones of the values of its Hessian."""
    H = tg.sparse_hessian(lambda x: np.sum(x**4) + np.sum(x[1:] ** 2 * x[:-1]))
    dense = lambda x: tg.hessian(lambda x: np.sum(x**4) + np.sum(x[1:] ** 2 * x[:-1]))(x)  # noqa: E731
    wanted = tg.grad(lambda x: np.sum(np.sin(dense(x))) - np.sum(dense(x) == 0))(X)
    for f in (lambda x: np.sum(np.sin(H.values(x))), lambda x: np.sum(np.sin(H(x).data))):
        np.testing.assert_allclose(tg.grad(f)(X), wanted, rtol=1e-12)
        np.testing.assert_allclose(tg.jit(tg.grad(f))(X), wanted, rtol=1e-12)
    mapped = tg.vmap(lambda x: H(x) @ x)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(mapped, [dense(X) @ X, dense(2 * X) @ (2 * X)], rtol=1e-12)
    colours = tg.sparse_jacobian(lambda x: np.cumsum(x * x), method="columns")
    found = tg.jit(lambda x: colours(x).T @ np.ones(9))(X)
    np.testing.assert_allclose(found, tg.jacobian(lambda x: np.cumsum(x * x))(X).sum(0))


def test_results_are_sparse_arrays() -> None:
    """Of all formats, as trees of blocks, at any size."""

    def f(p: Any) -> Any:
        return {"a": p["u"][1:] * p["v"], "b": np.sum(p["u"])}

    for format in ("csr", "csc", "coo", "bsr"):
        J = tg.sparse_jacobian(f, format=format)
        compiled = tg.jit(lambda p, J=J: J(p))
        for n in (4, 7, 5):
            p = {"u": np.arange(1.0, n + 1), "v": np.cos(np.arange(n - 1.0))}
            found, wanted = compiled(p), J(p)
            for x, y in zip(tg.tree.flatten(found)[0], tg.tree.flatten(wanted)[0], strict=True):
                np.testing.assert_allclose(x, y)
            assert found["a"]["v"].format == format
            assert found["a"]["v"].shape == (n - 1, n - 1)
            np.testing.assert_allclose(found["a"]["u"].toarray(), wanted["a"]["u"].toarray())


def test_arrays_that_change() -> None:
    """What decides places is seen to change, wherever it is read."""
    index, weights = np.array([0, 3, 5]), np.eye(9)
    matrix = sp.csr_array(np.eye(9) + np.eye(9, k=2))
    given = tg.sparse_jacobian(lambda x: np.sin(x[index]))
    cases: tuple[tuple[Any, Any], ...] = (
        (lambda x: given(x), lambda x: np.sin(x[index])),
        (lambda x: tg.sparse_jacobian(lambda x: np.sin(x[index + 1]))(x),
         lambda x: np.sin(x[index + 1])),
        (lambda x: tg.sparse_jacobian(lambda x: np.sin(weights @ x))(x),
         lambda x: np.sin(weights @ x)),
        (lambda x: tg.sparse_jacobian(lambda x: np.sin(matrix @ x))(x),
         lambda x: np.sin(matrix @ x)),
    )  # fmt: skip
    compiled = [tg.jit(f) for f, _ in cases]

    def agree() -> None:
        for f, (_, plain) in zip(compiled, cases, strict=True):
            np.testing.assert_allclose(f(X).toarray(), tg.jacobian(plain)(X), rtol=1e-12)

    agree()
    index[1], weights[2, 7], matrix.data[0] = 6, 3.0, -2.0
    agree()
    # A change that moves no entry says nothing about the next one.
    for _ in range(6):
        weights[3, 3] += 1.0
        matrix.data[1] += 1.0
        agree()
    weights[5, 0], matrix.indices[0], index[0] = 1.0, 4, 7
    agree()
    chosen = tg.jit(lambda x, k: tg.sparse_jacobian(lambda x: x[k] ** 2)(x) @ x)
    for k in ([0, 2], [5, 5]):
        np.testing.assert_allclose(chosen(X, np.array(k)), 2 * X[k] ** 2)


def test_what_is_refused_inside() -> None:
    J = tg.sparse_jacobian(np.sin)
    for call, message in (
        (lambda x: J.values(x, out=np.empty(9)), "memory of your own"),
        (lambda x: J.structure(x), "structure, pattern and njit"),
        (lambda x: J.njit(x), "structure, pattern and njit"),
        (lambda x: tg.sparse_jacobian(np.argmax)(x), "no floating-point"),
        (lambda x: tg.sparse_jacobian(np.sin, 2)(x), "argnums"),
        (lambda x: tg.sparse_jacobian(np.cumsum, limit=3)(x), "entries are allowed"),
    ):
        with pytest.raises((TracegradError, TypeError), match=message):
            tg.jit(call)(X)
    held = np.array([1.0, 2.0])
    assert isinstance(tg.jit(lambda x: x * J(held).nnz)(X), np.ndarray)
