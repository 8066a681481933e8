"""A NaN in a matrix is no statement about its pivots: factors have NaN where NumPy's have it, in
every size, whose routines differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

SIZES = [1, 2, 3, 6, 7, 8, 12, 23, 24, 40, 130]
Array = np.ndarray[Any, Any]


def in_a_loop(a: Array) -> Array:
    def step(c: Array, k: Array) -> tuple[Array, Array]:
        return c, np.linalg.cholesky(c + 0.0 * k)

    return tg.scan(step, a, np.arange(2, dtype=a.dtype))[1][1]


WAYS = {
    "eager": lambda a: tg.grad(lambda b: (np.sum(b.real), np.linalg.cholesky(b)), has_aux=True)(a)[
        1
    ],
    "compiled": tg.jit(np.linalg.cholesky),
    "stack": lambda a: tg.jit(np.linalg.cholesky)(np.stack([a, np.eye(len(a), dtype=a.dtype)]))[0],
    "loop": tg.jit(in_a_loop),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_nan_spreads(way: str, dtype: str) -> None:
    for n in SIZES if way != "loop" else SIZES[:6]:
        for at in {(0, 0), (n // 2, n // 2), (n - 1, 0), (n - 1, n - 1)}:
            a = (2.0 * np.eye(n)).astype(dtype)
            a[at] = np.nan
            found = np.asarray(WAYS[way](a))
            lower = np.tril(np.ones((n, n), bool))
            assert np.array_equal(np.isnan(found), np.isnan(np.linalg.cholesky(a)) & lower), (n, at)


@pytest.mark.parametrize("way", ["compiled", "stack", "loop"])
def test_pivots_that_are_not_positive(way: str) -> None:
    for n in SIZES if way != "loop" else SIZES[:6]:
        for pivot in (0.0, -1.0, -np.inf):
            a = 2.0 * np.eye(n)
            a[n // 2, n // 2] = pivot
            with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
                WAYS[way](a)
