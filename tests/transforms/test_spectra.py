"""Vectors of spectra are computed where somebody reads them, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.transforms.test_algebra import names

A = np.random.default_rng(0).normal(size=(4, 4))
S = A + A.T


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (np.linalg.eigvalsh, "eigvalsh"),
        (lambda a: np.linalg.eigh(a)[0], "eigvalsh"),
        (lambda a: np.linalg.eigh(a)[1] ** 2, "eigh"),
        (lambda a: np.linalg.eigvalsh(a) + np.abs(np.linalg.eigh(a)[1][0]), "eigh"),
        (lambda a: np.abs(np.linalg.eigh(a)[1][0]) + np.linalg.eigvalsh(a), "eigh"),
        (tg.value_and_grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)), "eigh_strict"),
        (tg.value_and_grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 3)), "eigh"),
        (lambda a: np.abs(np.linalg.eigvals(a)), "eigvals"),
        (lambda a: np.abs(np.linalg.eig(a)[0]), "eig"),  # in whose order vectors may be asked for
        (tg.value_and_grad(lambda a: np.sum(np.linalg.eigvals(a).real ** 3)), "eig_strict"),
        (lambda a: np.linalg.svd(a)[1], "svdvals"),
        (lambda a: np.linalg.svd(a, compute_uv=False), "svdvals"),
        (lambda a: np.linalg.norm(a, 2) + np.linalg.cond(a), "svdvals"),
        (np.linalg.matrix_rank, "svdvals"),
        (tg.value_and_grad(lambda a: np.linalg.norm(a, "nuc")), "svd_strict"),
    ],
)
def test_one_decomposition_and_no_more_of_it(function: Callable[..., Any], found: str) -> None:
    spectral = [n for n in names(function, S) if n.startswith(("eig", "svd"))]
    assert spectral == [found]


def test_two_matrices_have_their_own() -> None:
    def function(a: Any, b: Any) -> Any:
        return np.linalg.eigvalsh(a), np.linalg.eigh(b)[1] ** 2, np.linalg.eigvalsh(b)

    spectral = [n for n in names(function, S, A @ A.T) if n.startswith("eig")]
    assert sorted(spectral) == ["eigh", "eigvalsh"]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_values_alone_are_numpys(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(3, 5, 5)).astype(dtype)
    if a.dtype.kind == "c":
        a += a.dtype.type(1j) * rng.normal(size=a.shape).astype(a.real.dtype)

    def both(a: Any) -> Any:
        return np.linalg.eigvalsh(a), np.linalg.svd(a[..., :3], compute_uv=False)

    rtol = 1e-10 if dtype is np.complex128 else 1e-4
    for shape, run in (((3, 5, 5), tg.jit(both)), ((2, 0, 4, 4), both), ((0, 0), both)):
        given = np.resize(a, shape)
        for ours, numpy in zip(run(given), both(given), strict=True):
            assert (ours.dtype, ours.shape) == (numpy.dtype, numpy.shape)
            np.testing.assert_allclose(ours, numpy, rtol=rtol, atol=rtol)


def test_equal_values_have_a_derivative_and_nan_fails() -> None:
    """Values that coincide: a function of them alone keeps its derivative."""
    found = tg.jit(tg.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2)))(np.eye(3))
    np.testing.assert_allclose(found, 2 * np.eye(3), atol=1e-14)
    found = tg.grad(lambda a: np.sum(np.linalg.svd(a, compute_uv=False)))(np.eye(3))
    np.testing.assert_allclose(found, np.eye(3), atol=1e-14)
    bad = np.full((3, 3), np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.svd(bad, compute_uv=False)
    with pytest.raises(np.linalg.LinAlgError):
        tg.jit(lambda a: np.linalg.svd(a, compute_uv=False))(bad)


def test_vectors_in_another_order_than_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK may find values in another order where it computes vectors."""

    def loss(a: Any) -> Any:
        w = np.linalg.eigvals(a)
        return np.sum(np.arange(1, 5) * w.real**2) + np.sum(w.imag**4)

    def backwards(a: Any) -> Any:
        w, v = of_numpy(a)
        asked.append(a)
        return w[..., ::-1], v[..., ::-1]

    asked: list[Any] = []
    of_numpy, expected = np.linalg.eig, tg.grad(loss)(A)
    monkeypatch.setattr(np.linalg, "eig", backwards)
    np.testing.assert_allclose(tg.grad(loss)(A), expected, rtol=1e-12)
    np.testing.assert_allclose(tg.jvp(loss, (A,), (S,))[1], np.sum(expected * S), rtol=1e-10)
    assert len(asked) == 2


@pytest.mark.parametrize("way", [lambda f: f, tg.jit])
def test_equal_eigenvalues_of_a_general_matrix(way: Any) -> None:
    f = way(tg.grad(lambda a: np.sum(np.linalg.eigvals(a)).real))
    np.testing.assert_allclose(f(np.eye(3)), np.eye(3))


def test_vectors_of_tridiagonal_matrices_belong_to_both_diagonals() -> None:
    # Two matrices with one main diagonal, and what is beside it in two of them.
    def f(d: Any, e: Any) -> Any:
        v = tg.linalg.eigh_tridiagonal(d, e)[1]
        return (v**4).sum() + tg.linalg.eigvalsh_tridiagonal(d, 2 * e)

    d, e = np.arange(4.0), np.ones(3)
    np.testing.assert_allclose(tg.jit(f)(d, e), f(d, e), rtol=1e-12)
