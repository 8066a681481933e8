"""Gradients of determinants: by elimination where a matrix is far from singular, by singular values
elsewhere; both have the digits, and one goes over into the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def by_singular_values(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    others = np.array([np.prod(np.delete(s, k)) for k in range(len(s))])
    return np.linalg.det(u) * np.linalg.det(vh) * (vh.conj().T * others) @ u.conj().T


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("least", [1.0, 1e-2, 1e-4, 1e-9, 0.0])
def test_gradients_of_determinants(dtype: str, least: float) -> None:
    rng = np.random.default_rng(5)
    made = rng.normal(size=(2, 6, 6)) + (1j if dtype in "FD" else 0) * rng.normal(size=(2, 6, 6))
    u, v = np.linalg.qr(made)[0]
    a = ((u * [2.0, 1.5, 1.2, 1.0, 0.7, least]) @ v).astype(dtype)
    exact = by_singular_values(a.astype("D" if dtype in "FD" else "d"))
    compiled = tg.jit(tg.grad(lambda a: np.real(np.linalg.det(a))))
    found = compiled(a)
    assert found.dtype == a.dtype
    error = 1e-5 if dtype in "fF" else 1e-13
    np.testing.assert_allclose(found, exact.T.conj(), rtol=0, atol=error * abs(exact).max())


@pytest.mark.parametrize(
    "a",
    [
        np.eye(5)[[1, 0, 2, 4, 3]],
        np.diag([1e-200, 1e-200, 1e200, 1.0]),
        1e-60 * np.eye(5),
        1e100 * np.eye(4),
        np.zeros((4, 4)),
    ],
    ids=["exchanged", "intermediate", "small", "large", "zero"],
)
def test_where_products_of_pivots_leave_the_range(a: Any) -> None:
    found = tg.jit(tg.grad(np.linalg.det))(a)
    with np.errstate(all="ignore"):
        exact = by_singular_values(a).T
    np.testing.assert_allclose(found, exact, rtol=1e-13)
