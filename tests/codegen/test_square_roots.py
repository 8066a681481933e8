"""Square roots of matrices as compiled code finds them, beside the eager ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def matrices(kind: str, n: int) -> Any:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    if kind == "positive":
        return a @ a.T / n + np.eye(n)
    if kind == "real":
        return a @ np.diag(rng.uniform(0.5, 2.0, n)) @ np.linalg.inv(a)
    return a + 2 * np.sqrt(n) * np.eye(n)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("kind", ["positive", "real", "turning"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
def test_compiled_and_eager_roots(n: int, kind: str, dtype: str) -> None:
    """Also of real matrices with complex eigenvalues, in single precision: what complex numbers
    leave of an imaginary part there is rounding."""
    a = matrices(kind, n).astype(dtype)
    root = tg.jit(tg.linalg.sqrtm)(a)
    assert root.dtype == a.dtype
    exact = 1e-3 if a.dtype.char in "fF" else 1e-11
    np.testing.assert_allclose(root @ root, a, atol=exact * np.abs(a).max(), rtol=0)
    np.testing.assert_allclose(root, tg.linalg.sqrtm(a), atol=exact * np.abs(root).max(), rtol=0)


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "a",
    [
        [[0.0, 1.0], [0.0, 0.0]],
        [[-1.0, 0.0], [0.0, 2.0]],
        [[np.inf, 0.0], [0.0, 1.0]],
        [[np.nan, 0.0], [0.0, 1.0]],
    ],
    ids=["no root", "no real root", "inf", "nan"],
)
def test_what_has_no_root_is_an_error(a: Any, dtype: str) -> None:
    for f in (tg.linalg.sqrtm, tg.jit(tg.linalg.sqrtm)):
        with pytest.raises(np.linalg.LinAlgError):
            f(np.array(a, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots_of_singular_matrices(dtype: str) -> None:
    b = np.random.default_rng(0).standard_normal((5, 4)).astype(dtype)
    a = b @ b.T
    root = tg.jit(tg.linalg.sqrtm)(a)
    np.testing.assert_allclose(root @ root, a, atol=1e-4 if dtype == "float32" else 1e-8)
    assert not tg.jit(tg.linalg.sqrtm)(np.zeros((3, 3), dtype)).any()
