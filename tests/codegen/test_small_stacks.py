"""Stacks of small matrices in registers, against LAPACK: every size, lanes that are left over,
exchanges of rows, matrices that fail."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import scipy.linalg
from tracegrad.codegen.native import library, small

import tracegrad as tg

DTYPES = [np.float32, np.float64]
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-12}


@numba.njit(error_model="numpy")
def solve(a, b, x, status):  # type: ignore[no-untyped-def]
    library.small_solve(a, b, x, status, 7)


@numba.njit(error_model="numpy")
def inv(a, x, status):  # type: ignore[no-untyped-def]
    library.small_inv(a, x, status, 7)


@numba.njit(error_model="numpy")
def det(a, x, status):  # type: ignore[no-untyped-def]
    library.small_det(a, x)


@numba.njit(error_model="numpy")
def cholesky(a, x, status):  # type: ignore[no-untyped-def]
    library.small_cholesky(a, x, status, 7)


@numba.njit(error_model="numpy")
def triangular(a, b, x, lower, trans, unit, status):  # type: ignore[no-untyped-def]
    library.small_triangular_solve(a, b, x, lower, trans, unit, status, 7)


def stack(rng: Any, count: int, n: int, dtype: Any) -> Any:
    """Matrices of moderate condition whose largest entries are anywhere, so that rows must be
    exchanged."""
    q, _ = np.linalg.qr(rng.standard_normal((count, n, n)))
    return (
        q
        @ (
            rng.uniform(0.5, 2.0, (count, n, 1))
            * np.linalg.qr(rng.standard_normal((count, n, n)))[0]
        )
    ).astype(dtype)


def close(found: Any, expected: Any, dtype: Any) -> None:
    np.testing.assert_allclose(
        found,
        expected,
        rtol=TOLERANCE[dtype],
        atol=TOLERANCE[dtype] * max(1.0, np.abs(expected).max(initial=0)),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", range(1, small.LARGEST + 1))
def test_every_size(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    for count in (1, 7, 16, 37):
        a = stack(rng, count, n, dtype)
        exact = a.astype(np.float64)
        status = np.zeros(2, np.int64)
        for k in (1, n, small.LARGEST):
            b, x = rng.standard_normal((count, n, k)).astype(dtype), np.empty((count, n, k), dtype)
            solve(a, b, x, status)
            close(x, np.linalg.solve(exact, b.astype(np.float64)), dtype)
        x, d = np.empty_like(a), np.empty(count, dtype)
        inv(a, x, status)
        close(x, np.linalg.inv(exact), dtype)
        det(a, d, status)
        close(d, np.linalg.det(exact), dtype)
        definite = exact @ exact.swapaxes(1, 2)
        # The upper triangle is not read.
        cholesky((np.tril(definite) + np.triu(np.full((n, n), np.nan), 1)).astype(dtype), x, status)
        close(x, np.linalg.cholesky(definite), dtype)
        assert not status.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(unit: bool, trans: int, lower: bool, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    status = np.zeros(2, np.int64)
    for n, k, count in ((1, 1, 3), (3, 2, 17), (8, 8, 9)):
        a = (rng.uniform(0.5, 1.0, (count, n, n)) / n + np.eye(n)).astype(dtype)
        other = (
            np.triu(np.full((n, n), np.nan), 1) if lower else np.tril(np.full((n, n), np.nan), -1)
        )
        b, x = rng.standard_normal((count, n, k)).astype(dtype), np.empty((count, n, k), dtype)
        triangular(np.where(np.isnan(other), dtype(np.nan), a), b, x, lower, trans, unit, status)
        for found, m, right in zip(x, a, b, strict=True):
            close(
                found,
                scipy.linalg.solve_triangular(
                    m, right, trans=trans, lower=lower, unit_diagonal=unit
                ),
                dtype,
            )
    assert not status.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_pivots_and_extreme_entries(dtype: Any) -> None:
    status = np.zeros(2, np.int64)
    swapped = np.array([[[0, 1], [1, 0]], [[0, 2], [3, 4]], [[1, 1], [1, 1]]], dtype)
    d = np.empty(3, dtype)
    det(swapped, d, status)
    np.testing.assert_array_equal(d, [-1, -6, 0])
    tiny, huge = np.finfo(dtype).tiny, np.sqrt(np.finfo(dtype).max)
    scaled = np.array([[[tiny / 2, tiny], [tiny, tiny / 4]], [[huge, 1], [1, huge]]], dtype)
    x = np.empty_like(scaled)
    solve(scaled, scaled.copy(), x, status)
    close(x, np.broadcast_to(np.eye(2), (2, 2, 2)), dtype)
    det(np.array([[[np.nan, 1], [1, 1]]], dtype), d[:1], status)
    assert np.isnan(d[0])
    # A matrix without a pivot in its second column: the columns behind it do not turn the
    # determinant into NaN.
    det(np.array([[[1, 2, 3], [1, 2, 4], [1, 2, 5]]], dtype), d[:1], status)
    assert d[0] == 0
    assert not status.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_failures_are_recorded_and_leave_the_others_alone(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    count, n = 21, 4
    a, b = stack(rng, count, n, dtype), rng.standard_normal((count, n, 2)).astype(dtype)
    a[13, :, 2] = 0
    a[18] = 0
    good = [k for k in range(count) if k not in (13, 18)]
    x, status = np.empty_like(b), np.zeros(2, np.int64)
    solve(a, b, x, status)
    assert status.tolist() == [7, 3]
    assert np.isnan(x[[13, 18]]).all()
    close(x[good], np.linalg.solve(a[good].astype(np.float64), b[good].astype(np.float64)), dtype)
    x, status = np.empty_like(a), np.zeros(2, np.int64)
    inv(a, x, status)
    assert status.tolist() == [7, 3]
    assert np.isnan(x[[13, 18]]).all()
    definite = stack(rng, count, n, dtype)
    definite = definite @ definite.swapaxes(1, 2)
    definite[5, 1, 1], definite[6, 0, 0] = -1, np.nan
    status[:] = 0
    cholesky(definite, x, status)
    assert status.tolist() == [7, 2]
    assert np.isnan(x[5]).all()
    # A NaN is no failure: it spreads.
    assert np.array_equal(np.isnan(x[6]), np.tril(np.ones((n, n), bool)))
    assert np.isfinite(np.delete(x, [5, 6], 0)).all()
    status[:] = 0
    lower = np.tril(stack(rng, count, n, dtype)) + 3 * np.eye(n, dtype=dtype)
    lower[20, 3, 3] = 0
    solution = np.empty_like(b)
    triangular(lower, b, solution, True, 0, False, status)
    assert status.tolist() == [7, 4]
    assert np.isnan(solution[20]).all()
    assert np.isfinite(solution[:20]).all()


def test_jitted_functions_use_them() -> None:
    rng = np.random.default_rng(3)
    a, b = stack(rng, 11, 3, np.float64), rng.standard_normal((11, 3, 2))
    spd = a @ a.swapaxes(1, 2)
    for name, f, args in (
        ("solve", np.linalg.solve, (a, b)),
        ("inv", np.linalg.inv, (a,)),
        ("det", np.linalg.det, (a,)),
        ("cholesky", np.linalg.cholesky, (spd,)),
    ):
        function: Any = f
        jitted = tg.jit(lambda *x, function=function: function(*x))
        close(jitted(*args), function(*args), np.float64)
        assert f"small_{name}(" in jitted.source(*args)
        one = [x[0] for x in args]
        close(jitted(*one), function(*one), np.float64)
        loss = tg.jit(tg.grad(lambda *x, function=function: np.sum(np.sin(function(*x)))))
        eager = tg.grad(lambda *x, function=function: np.sum(np.sin(function(*x))))
        close(loss(*args), eager(*args), np.float64)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        tg.jit(lambda a: np.linalg.inv(a))(np.zeros((2, 3, 3)))
    large, many = np.eye(9)[None] * 2.0, np.ones((1, 3, 9))
    assert "library import small_" not in tg.jit(lambda a: np.linalg.inv(a)).source(large)
    assert "library import small_" not in tg.jit(lambda a, b: np.linalg.solve(a, b)).source(
        a[:1], many
    )
    close(
        tg.jit(lambda a, b: np.linalg.solve(a, b))(a[:1], many),
        np.linalg.solve(a[:1], many),
        np.float64,
    )
