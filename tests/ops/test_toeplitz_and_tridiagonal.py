"""Toeplitz systems by recursion, and spectra of tridiagonal matrices: on matrices that are hard for
the quick way, in every dtype, compiled and not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracegrad as tg

WAYS: dict[str, Callable[[Any], Any]] = {"eager": lambda f: f, "jit": tg.jit}
COLUMNS = {
    "smooth": lambda n: 0.9 ** np.arange(n),
    "a singular minor": lambda n: np.arange(n) * 1.0,
    "a minor of 1e-9": lambda n: np.where(np.arange(n) == 0, 1e-9, 1 / (1.0 + np.arange(n))),
    "indefinite": lambda n: np.cos(3.0 * np.arange(n)) + (np.arange(n) == 1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_solutions_fulfil_their_equations(dtype: str, way: str) -> None:
    f = WAYS[way](lambda c, r, b: tg.linalg.solve_toeplitz((c, r), b))
    eps = np.finfo(dtype).eps
    for n in (1, 2, 5, 40):
        for k, column in enumerate(COLUMNS.values()):
            c = column(n).astype(dtype) * (1 + 0.3j if dtype[0] == "c" else 1)
            c = c + (c[0] == 0) * (n == 1)
            r = c[::-1] if k == 3 else c.conj()
            whole, b = scipy.linalg.toeplitz(c, r), np.linspace(1, 2, 2 * n).reshape(n, 2)
            x = f(c, r, b.astype(dtype))
            assert x.dtype == dtype
            size = np.abs(whole).sum(1).max() * np.abs(x).max() + 2
            assert np.abs(whole @ x - b).max() <= 64 * eps * size, (n, k)


@pytest.mark.parametrize("way", WAYS)
def test_singular_matrices_are_refused(way: str) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        WAYS[way](lambda c, b: tg.linalg.solve_toeplitz(c, b))(np.ones(3), np.ones(3))


def test_derivatives_of_a_system_that_elimination_solves() -> None:
    c, b = np.array([0.0, 1.0, 2.0, 0.5]), np.arange(4.0)
    f = tg.jit(tg.hessian(lambda c: (tg.linalg.solve_toeplitz(c, b) ** 2).sum()))
    g = tg.hessian(lambda c: (np.linalg.solve(tg.linalg.toeplitz(c), b) ** 2).sum())
    np.testing.assert_allclose(f(c), g(c), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("way", WAYS)
def test_spectra_of_tridiagonal_matrices(way: str, dtype: str) -> None:
    both = WAYS[way](lambda d, e: tg.linalg.eigh_tridiagonal(d, e))
    part = WAYS[way](lambda d, e: tg.linalg.eigh_tridiagonal(d, e, True, "i", (1, 2)))
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    for n in (1, 3, 60):
        for d, e in (
            (rng.normal(size=n), rng.normal(size=n - 1)),
            (10.0 ** np.linspace(-8, 8, n), 10.0 ** np.linspace(-9, 6, n - 1)),
            (np.ones(n), np.zeros(n - 1)),
        ):
            d, e = d.astype(dtype), e.astype(dtype)
            whole = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
            w, v = both(d, e)
            assert w.dtype == v.dtype == dtype
            size = 16 * n * eps * np.abs(whole).max()
            np.testing.assert_allclose(whole @ v, v * w, rtol=0, atol=size)
            np.testing.assert_allclose(v.T @ v, np.eye(n), atol=16 * n * eps)
            if n > 2:
                np.testing.assert_allclose(part(d, e), w[1:3], rtol=0, atol=size)
    assert np.isnan(both(np.array([1, np.nan, 2], dtype), np.ones(2, dtype))[0]).all()


def test_what_is_asked_of_tridiagonal_matrices() -> None:
    f, d, e = tg.linalg.eigvalsh_tridiagonal, np.arange(4.0), np.ones(3)
    for given, error in (
        (("v", (0.0, 1.0)), tg.errors.UnsupportedFunctionError), (("i", (2, 1)), ValueError),
        (("i", (0, 4)), ValueError), (("i", None), ValueError),
    ):  # fmt: skip
        with pytest.raises(error, match="select"):
            f(d, e, *given)
    with pytest.raises(TypeError, match="must be real"):
        f(d, 1j * e)
