"""Systems of few diagonals, as they stand and in another order, against dense ones, with their
derivatives; which patterns are taken for that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tracegrad as tg
from tests.sparse.test_colouring import arrow, grid
from tracegrad.ops.sparse.pattern import layout_of

RNG = np.random.default_rng(0)


def banded(n: int, lower: int, upper: int, shuffled: bool = False) -> Any:
    """A matrix whose elimination exchanges rows."""
    offsets = range(-lower, upper + 1)
    made = sp.diags_array(
        [RNG.normal(size=n - abs(d)) for d in offsets], offsets=offsets, shape=(n, n)
    ).tocsr()
    made = made + 1.5 * sp.eye_array(n)
    order = RNG.permutation(n) if shuffled else np.arange(n)
    return sp.csr_array(made.tocsr()[order][:, order])


MATRICES = {
    "tridiagonal": (banded(50, 1, 1), 1, 1),
    "lower alone": (banded(40, 2, 0), 2, 0),
    "upper alone": (banded(40, 0, 3), 0, 3),
    "uneven": (banded(40, 3, 1), 3, 1),
    "shuffled": (banded(60, 1, 2, shuffled=True), None, None),
    "one": (banded(1, 0, 0), 0, 0),
    "a circle": (
        sp.csr_array(banded(30, 1, 1) + sp.coo_array(([0.3], ([0], [29])), (30, 30))),
        2,
        2,
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_systems(name: str) -> None:
    """Both ways round, one and several right-hand sides, all dtypes, eager and compiled."""
    matrix, lower, upper = MATRICES[name]
    band = layout_of(matrix).pattern.band
    assert band is not None
    if lower is not None:
        assert (band.lower, band.upper) == (lower, upper)
    n = matrix.shape[0]
    b, wide = RNG.normal(size=n), RNG.normal(size=(n, 3))
    for dtype in (np.float64, np.complex128, np.float32):
        a = matrix.astype(dtype) * dtype(1 + 0.3j if dtype is np.complex128 else 1)
        tolerance = 1e-3 if dtype is np.float32 else 1e-9
        for given, right in ((a, b.astype(dtype)), (a.T, wide.astype(dtype))):
            wanted = np.linalg.solve(given.toarray(), right)
            limits = {"rtol": tolerance, "atol": tolerance * abs(wanted).max()}
            np.testing.assert_allclose(tg.sparse.solve(given, right), wanted, **limits)
            if name in ("uneven", "shuffled"):
                found = tg.jit(lambda a, b: tg.sparse.solve(a, b))(given, right)
                np.testing.assert_allclose(found, wanted, **limits)


@pytest.mark.parametrize("name", ["uneven", "shuffled"])
def test_derivatives(name: str) -> None:
    """By the entries and the right-hand side, in both modes and twice, as of a dense system."""
    matrix = sp.coo_array(MATRICES[name][0])
    places = matrix.coords
    b = RNG.normal(size=matrix.shape[0])

    def sparse(d: Any, b: Any) -> Any:
        return np.sum(np.sin(tg.sparse.solve(tg.sparse.array((d, places), matrix.shape), b)))

    def dense(d: Any, b: Any) -> Any:
        full = tg.sparse.array((d, places), matrix.shape).toarray()
        return np.sum(np.sin(np.linalg.solve(full, b)))

    def both(f: Any) -> Any:
        second = lambda d, b: tg.hvp(lambda d: f(d, b), d, np.cos(d))  # noqa: E731
        return [*tg.grad(f, argnums=(0, 1))(matrix.data, b), second(matrix.data, b)]

    for found, wanted in zip(both(sparse), both(dense), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)
    stacked = np.stack([matrix.data, 2 * matrix.data])
    found = tg.vmap(sparse, in_axes=(0, None))(stacked, b)
    np.testing.assert_allclose(found, [dense(d, b) for d in stacked], rtol=1e-9)
    compiled = tg.jit(tg.grad(sparse, argnums=(0, 1)))(matrix.data, b)
    for x, y in zip(compiled, tg.grad(dense, argnums=(0, 1))(matrix.data, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


def test_which_patterns() -> None:
    """A band where elimination fills little; else the general way."""
    for matrix, few in (
        (grid(30, False), True),
        (grid(150, False), False),
        (arrow(200), False),
        (sp.random_array((400, 400), density=0.02, rng=0) + sp.eye_array(400), False),
        (sp.csr_array((5, 5)), False),
    ):
        assert (layout_of(sp.csr_array(matrix)).pattern.band is not None) == few


def test_singular_ones() -> None:
    a = sp.csr_array(np.diag([1.0, 0.0, 2.0]))
    for solve in (tg.sparse.solve, tg.jit(lambda a, b: tg.sparse.solve(a, b))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            solve(a, np.ones(3))
    nan = tg.sparse.solve(banded(6, 1, 1), np.full(6, np.nan))
    assert np.isnan(nan).all()
