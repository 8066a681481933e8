"""Products with large Toeplitz matrices, which go through Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracegrad as tg


@pytest.mark.parametrize("way", [lambda f: f, tg.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values(dtype: str, way: Any) -> None:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        imaginary = 1j * rng.normal(size=shape) if dtype[0] == "c" else 0
        return (rng.normal(size=shape) + imaginary).astype(dtype)

    for m, n, columns in ((128, 128, ()), (131, 257, (3,)), (20_000, 1, ()), (1, 20_000, (2,))):
        c, r, x = drawn(m), drawn(n), drawn(n, *columns)
        expected = scipy.linalg.toeplitz(c, r) @ x
        found = way(lambda c, r, x: tg.linalg.matmul_toeplitz((c, r), x))(c, r, x)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        error = np.abs(found - expected).max() / np.abs(expected).max()
        assert error < 20 * np.sqrt(m + n) * np.finfo(dtype).eps
    given = drawn(128), drawn(128)
    expected = scipy.linalg.matmul_toeplitz(*given)
    np.testing.assert_allclose(tg.linalg.matmul_toeplitz(*given), expected, atol=1e-3)


def test_gradients_are_those_of_the_full_matrix() -> None:
    rng = np.random.default_rng(0)
    given, w = [rng.normal(size=n) for n in (130, 140, 140)], rng.normal(size=130)

    def fast(c: Any, r: Any, x: Any) -> Any:
        return np.sum(w * tg.linalg.matmul_toeplitz((c, r), x) ** 2)

    def full(c: Any, r: Any, x: Any) -> Any:
        return np.sum(w * (tg.linalg.toeplitz(c, r) @ x) ** 2)

    pairs = zip(*(tg.grad(f, (0, 1, 2))(*given) for f in (fast, full)), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_sizes_that_do_not_fit() -> None:
    with pytest.raises(tg.errors.ShapeError):
        tg.linalg.matmul_toeplitz((np.ones(200), np.ones(200)), np.ones(100))
