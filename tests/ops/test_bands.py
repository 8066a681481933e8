"""Systems of matrices given by their diagonals: every shape of band, and what is not read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numba import njit
from tracegrad.codegen.native import library

import tracegrad as tg
from tracegrad.ops.matrices.banded import whole

DTYPES = ("float32", "float64", "complex64", "complex128")
WIDTHS = ((0, 0), (1, 1), (2, 1), (0, 2), (3, 0), (1, 4), (7, 7))
WAYS = {"eager": lambda f: f, "compiled": tg.jit}


def drawn(dtype: str, *shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape)
    return (values + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)


def dense(ab: Any, lower: int, upper: int) -> Any:
    n = ab.shape[1]
    a = np.zeros((n, n), ab.dtype)
    for i, j in itertools.product(range(n), range(n)):
        if -lower <= j - i <= upper:
            a[i, j] = ab[upper + i - j, j]
    return a


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bands_of_all_widths(dtype: str, way: str) -> None:
    """Off the diagonals there is NaN, which nobody may read."""
    for lower, upper in WIDTHS if way == "eager" else WIDTHS[2:4]:
        f = WAYS[way](lambda ab, b, w=(lower, upper): tg.linalg.solve_banded(w, ab, b))
        for n in (1, 2, 6):
            ab, b = drawn(dtype, lower + upper + 1, n), drawn(dtype, n, 2)
            for place, j in itertools.product(range(lower + upper + 1), range(n)):
                if not 0 <= j + place - upper < n:
                    ab[place, j] = np.nan
            a, x = dense(ab, lower, upper), np.asarray(f(ab, b))
            assert x.dtype == dtype
            size = np.abs(a).max() * np.abs(x).max()
            assert np.abs(a @ x - b).max() < 40 * np.finfo(dtype).eps * size, (lower, upper, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_compiled_routine_is_the_other_one(dtype: str) -> None:
    called = njit(lambda *args: library.band_solve(*args))
    for (lower, upper), trans, definite in itertools.product(WIDTHS, range(3), (False, True)):
        for n, k in ((1, 2), (5, 1), (9, 3)):
            ab, b = drawn(dtype, 2, lower + upper + 1, n), drawn(dtype, 2, n, k)
            if definite:
                heavy = ab[:, : upper + 1] + 9 * np.eye(upper + 1)[-1][:, None]
                ab = np.asarray(whole(heavy.astype(dtype), False))
            below = upper if definite else lower
            ours, theirs = np.empty_like(b), np.empty_like(b)
            called(ab, b, ours, below, upper, trans, definite)
            library.band_solve(ab, b, theirs, below, upper, trans, definite)
            size = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, atol=2e3 * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_with_one_right_hand_side(dtype: str) -> None:
    """Smaller and larger than a block of the routine; NaN where nobody may read."""
    called = njit(lambda *args: library.band_solve(*args))
    for n, k, of_lower in itertools.product((1, 2, 31, 33, 70, 97), (1, 5, 32, 40), (False, True)):
        lower, upper = (k, 0) if of_lower else (0, k)
        ab, b = drawn(dtype, 2, k + 1, n) / (k + 1), drawn(dtype, 2, n, 1)
        ab[:, upper] += 2
        for place, j in itertools.product(range(k + 1), range(n)):
            if not 0 <= j + place - upper < n:
                ab[:, place, j] = np.nan
        x = np.empty_like(b)
        for trans in range(3):
            called(ab, b, x, lower, upper, trans, False)
            for s in range(2):
                a = dense(ab[s], lower, upper)
                a = (a, a.T, a.conj().T)[trans]
                size = np.abs(a).max() * np.abs(x[s]).max()
                assert np.abs(a @ x[s] - b[s]).max() < 80 * np.finfo(dtype).eps * size, (n, k)
        ab[1, upper, n // 2] = 0
        status = np.zeros(2, np.int64)
        found = np.empty_like(b)
        called(ab, b, found, lower, upper, 0, False, status, 3)
        assert tuple(status) == (3, n // 2 + 1)
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("way", WAYS)
def test_only_what_is_read_has_a_derivative(way: str) -> None:
    n, f = 20_000, lambda ab, b: (tg.linalg.solve_banded((1, 1), ab, b) ** 2).sum()
    ab, b = drawn("float64", 3, n) + np.array([0.0, 5, 0])[:, None], drawn("float64", n)
    ab[0, 0] = ab[2, -1] = np.nan
    of_ab, of_b = WAYS[way](tg.grad(f, (0, 1)))(ab, b)  # a full matrix would take 3.2 GB
    assert of_ab[0, 0] == of_ab[2, -1] == 0
    assert np.isfinite(of_ab).all()
    assert np.isfinite(of_b).all()


@pytest.mark.parametrize("way", WAYS)
def test_what_has_no_solution(way: str) -> None:
    of = {
        "Singular": lambda ab: tg.linalg.solve_banded((1, 1), ab, np.ones(4)),
        "not positive definite": lambda ab: tg.linalg.solveh_banded(ab[:2], np.ones(4)),
    }
    for words, f in of.items():
        with pytest.raises(np.linalg.LinAlgError, match=words):
            WAYS[way](f)(np.zeros((3, 4)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        WAYS[way](of["not positive definite"])(np.ones((3, 4)) * [[2], [1], [0]])


def test_one_matrix_for_all_is_factored_once() -> None:
    ab, b = drawn("float64", 3, 5), drawn("float64", 4, 5)
    f = tg.vmap(lambda ab, b: tg.linalg.solve_banded((1, 1), ab, b), in_axes=(None, 0))
    np.testing.assert_allclose(f(ab, b) @ dense(ab, 1, 1).T, b, atol=1e-12)
    assert "(1,5,4)" in str(tg.jit(f).graphs(ab, b)).replace(" ", "")
    many = tg.linalg.solve_banded((1, 1), ab, b[..., None])
    np.testing.assert_allclose(many[..., 0], f(ab, b))


@pytest.mark.parametrize("bc_type", ["not-a-knot", "periodic"])
def test_splines_through_many_samples(bc_type: str) -> None:
    x = np.linspace(0, 2 * np.pi, 20_001)
    y = np.sin(x)
    y[-1] = y[0]
    f = tg.jit(lambda y: tg.interpolate.CubicSpline(x, y, bc_type=bc_type)(1.0))
    assert abs(f(y) - np.sin(1.0)) < 1e-13
    assert abs(tg.grad(f)(y).sum() - 1) < 1e-12
