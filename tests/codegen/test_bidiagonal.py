"""Own bidiagonal forms and singular values: residuals and orthogonality on matrices of all kinds,
sizes around the ends of panels, and what is left to LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tracegrad.codegen.native.bidiagonal import FEW, LARGE, PANEL, SLACK, SMALL_PANEL

import tracegrad as tg
from tests.codegen.test_tridiagonal import call, outcome

RNG = np.random.default_rng(5)


def matrices(m: int, n: int) -> dict[str, Any]:
    a = RNG.normal(size=(m, n))
    rows, columns = (10.0 ** -np.linspace(0, 9, k) for k in (m, n))
    angle = 0.2
    kahan = -np.cos(angle) * np.triu(np.ones((n, n)), 1) + np.eye(n)
    kahan *= np.sin(angle) ** np.arange(n)[:, None]
    return {
        "random": a,
        "Hilbert": scipy.linalg.hilbert(max(m, n))[:m, :n],
        "Kahan": np.vstack([kahan, np.zeros((m - n, n))]),
        "graded": a * rows[:, None] * columns,
        "graded upwards": a * rows[::-1, None] * columns[::-1],
        "next to nothing beside ones": a * np.where(np.arange(n) % 3 == 1, 1e-30, 1.0),
        "rows far below": np.where(np.arange(n) > 0, 1e-140, 1.0) * a,
        "zero": 0 * a,
        "identity": np.eye(m, n),
        "of rank one": np.ones((m, n)),
        "almost singular": a @ np.diag(np.where(np.arange(n) <= n // 2, 1.0, 1e-13)),
        "large": a * 1e8,
        "small": a * 1e-9,
    }


def side(n: int) -> int:
    return ((n + 31) // 32 * 2 + 1) * 16


def from_line(x: Any) -> Any:
    return x[-x.ctypes.data // x.itemsize % (64 // x.itemsize) :]


def product_of(reflections: Any, tau: Any, n: int, behind: int) -> Any:
    q = np.eye(n)
    for i in range(min(len(tau), n - behind)):
        v = np.zeros(n)
        v[i + behind :] = reflections[i, i + behind : n]
        q -= np.outer(q @ v, v) * float(tau[i])
    return q


def reduced(a: Any) -> tuple[Any, Any, Any, int]:
    """The bidiagonal matrix, Q and P, in double precision, and whether the matrix has to be scaled.
    Nothing behind the spaces that were asked for is written."""
    (m, n), dtype = a.shape, a.dtype
    d, e, left_tau, right_tau = (np.zeros(n, dtype) for _ in range(4))
    rows, across = 2 * PANEL + FEW, side(n + FEW)
    sizes = (
        (n + FEW) * side(m) + SLACK,
        n * across + SLACK,
        (rows + 1) * side(m) + (rows + 2) * across + 384,
    )
    left, right, space = (np.full(size + 1, np.nan, dtype) for size in sizes)
    for x in (left, right, space):
        x[-1] = 7
    failed = np.full(1, -1, np.int32)
    call(
        f"bidiagonal_{dtype}", m, n, 1, n, a, d, e, left_tau, right_tau, left, right, space, failed
    )
    assert left[-1] == right[-1] == space[-1] == 7
    form = np.eye(m, n) * d + np.eye(m, n, 1) * np.concatenate([[0], e[:-1]])
    left, right = (
        from_line(x)[: n * k].reshape(n, k) for x, k in ((left, side(m)), (right, across))
    )
    return (
        form,
        product_of(left, left_tau, m, 0),
        product_of(right, right_tau[:-1], n, 1),
        failed[0],
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forms_are_backward_stable(dtype: Any) -> None:
    sizes = (1, 1), (2, 1), (5, 5), (8, 7), (17, 2 * SMALL_PANEL), (33, 33), (70, 65)
    for m, n in sizes:
        for name, given in matrices(m, n).items():
            a = given.astype(dtype)
            form, q, p, failed = reduced(a)
            assert failed == 0, (name, m, n)
            bound = 10 * np.sqrt(m) * np.finfo(dtype).eps
            assert np.abs(q.T @ q - np.eye(m)).max() < bound, (name, m, n)
            assert np.abs(p.T @ p - np.eye(n)).max() < bound, (name, m, n)
            error = np.abs(q @ form @ p.T - a).max()
            assert error <= bound * np.linalg.norm(a.astype(float)), (name, m, n)


def test_a_large_matrix() -> None:
    a = RNG.normal(size=(LARGE + 3, LARGE + 1))
    form, q, p, failed = reduced(a)
    assert failed == 0
    assert np.abs(q @ form @ p.T - a).max() < 1e-12


def test_values_and_what_is_left_to_lapack() -> None:
    values = tg.jit(lambda a: np.linalg.svd(a, compute_uv=False))
    for shape in ((24, 24), (2, 30, 40), (2, 40, 30), (23, 40), (30, 60), (61, 30), (3, 0, 4)):
        a = RNG.normal(size=shape)
        expected = np.linalg.svd(a, compute_uv=False)
        np.testing.assert_allclose(values(a), expected, atol=1e-13)
    a = RNG.normal(size=(40, 41))
    assert "blocked_svdvals(" in str(values.programs(a))
    for factor in (1e200, 1e-200, 0.0):
        expected = np.linalg.svd(a * factor, compute_uv=False)
        np.testing.assert_allclose(values(a * factor), expected, rtol=1e-10)
    for value in (np.nan, np.inf, -np.inf):
        bad = a.copy()
        bad[7, -1] = value
        theirs = outcome(lambda a: np.linalg.svd(a, compute_uv=False), bad)
        assert outcome(values, bad) == theirs
