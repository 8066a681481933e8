"""Slices between traced ends: read and written, in every mode, against the same Python code without compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 8))
V = RNG.normal(size=8)
I, J = np.int64(3), np.int64(2)


def use(key: Any, x: Any) -> Any:
    """What is read, x with something written to the same places, and x with something added to them."""
    y, z = x * 1.0, np.sin(x)
    y[key] = 0.5 * y[key] ** 2
    z[key] += x[key] * 2.0
    return np.cos(x[key]) * 2.0, y, z


def weighted(results: Any) -> Any:
    return sum(np.sum(r * np.cos(np.arange(r.size)).reshape(r.shape)) for r in results)


# Of a matrix of 6 rows and 8 columns.
KEYS: dict[str, Callable[[Any, Any], Any]] = {
    "around": lambda i, j: slice(i - 1, i + 2),
    "columns": lambda i, j: (slice(None), slice(j * 2, j * 2 + 2)),
    "row and columns": lambda i, j: (i, slice(j, j + 4)),
    "columns of a known row": lambda i, j: (-1, slice(2 * j - 1, 3 + 2 * j)),
    "step": lambda i, j: (slice(i - 3, i + 2, 2),),
    "backwards": lambda i, j: (..., slice(j + 3, j - 1, -1)),
    "backwards by two": lambda i, j: (..., slice(j + 4, j - 2, -2), None),
    "from the end": lambda i, j: slice(i - 8, i - 5),
    "both axes": lambda i, j: (slice(i, i + 2), slice(j, j + 3)),
    "whole": lambda i, j: slice(i - 3, i + 3),
    "one": lambda i, j: (slice(i, i + 1), slice(None, None, 2)),
    "none": lambda i, j: slice(i, i),
    "wrong order": lambda i, j: slice(i + 1, i),
    "beside an index array": lambda i, j: (slice(i - 1, i + 2), np.array([0, 5, 2])),
    "behind an index array": lambda i, j: (np.array([[0], [5]]), slice(j, j + 3)),
    "beside a mask": lambda i, j: (np.arange(6) % 2 == 0, slice(j, j + 3)),
    "new axes": lambda i, j: (None, slice(i, i + 2), None, i),
    "computed twice": lambda i, j: slice((i // 2) * 2 - j, (i // 2) * 2 - j + 3),
    "through the other": lambda i, j: slice(i + j - 3, j + i),
}
@pytest.mark.parametrize("name", KEYS)
def test_is_what_numpy_gives(name: str) -> None:
    key, v = KEYS[name], np.sin(X * 3)

    def everything(x: Any, i: Any, j: Any) -> Any:
        def loss(x: Any) -> Any:
            return weighted(use(key(i, j), x))

        gradient, along = tg.jvp(tg.grad(loss), (x,), (v,))
        return *use(key(i, j), x), gradient, along, tg.jvp(loss, (x,), (v,))[1], tg.grad(lambda x: np.sum(tg.grad(loss)(x) * v))(x)

    expected = *use(key(I, J), X), *everything(X, I, J)[3:]
    for found, e in zip(tg.jit(everything)(X, I, J), expected, strict=True):
        np.testing.assert_allclose(found, e, rtol=1e-12, atol=1e-14)
    jitted = tg.jit(lambda x, i, j: weighted(use(key(i, j), x)))
    np.testing.assert_allclose(tg.grad(jitted)(X, I, J), expected[3], rtol=1e-12)


@pytest.mark.parametrize("name", ["row and columns", "backwards by two", "beside an index array"])
def test_batches(name: str) -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        results = use(KEYS[name](i, j), x)
        return *results, tg.grad(lambda x: weighted(use(KEYS[name](i, j), x)))(x)

    xs, rows, columns = np.stack([X, X * 2, X - 1]), np.array([1, 3, 4]), np.array([2, 3, 2])
    cases = [((0, None, None), (xs, I, J)), ((None, 0, 0), (X, rows, columns)), ((0, 0, None), (xs, rows, J))]
    for axes, args in cases:
        single = [f(*[a if k is None else a[n] for k, a in zip(axes, args, strict=True)]) for n in range(3)]
        for batch in (tg.vmap(f, axes), tg.jit(tg.vmap(f, axes))):
            for found, expected in zip(batch(*args), zip(*single, strict=True), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
