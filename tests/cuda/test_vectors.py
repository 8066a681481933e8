"""Loops that move several elements at once: on aligned arrays and others, with odd ends, of all
kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import host, same_on_both

RNG = np.random.default_rng(7)


def check(function: Callable[..., Any], *arrays: Any, skip: int = 0) -> None:
    """Equal results on both devices; `skip` elements before each array make its memory start in the
    middle of a vector."""
    expected = tg.jit(function)(*arrays)
    padded = [np.concatenate([a.ravel()[:skip], a.ravel()]) for a in arrays]
    given = [
        tg.tensor(p, device="cuda")[skip:].reshape(a.shape)
        for p, a in zip(padded, arrays, strict=True)
    ]
    found = tg.jit(function)(*given)
    for a, b in zip(
        expected if isinstance(expected, tuple) else (expected,),
        found if isinstance(found, tuple) else (found,),
        strict=True,
    ):
        assert host(b).dtype == np.asarray(a).dtype
        np.testing.assert_allclose(
            host(b), a, rtol=2e-4 if np.asarray(a).dtype == np.float32 else 1e-12
        )


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("n", [1024, 1027, 1031])
def test_elementwise(n: int, kind: Any, skip: int) -> None:
    x, y = (RNG.integers(-9, 9, n).astype(kind) for _ in range(2))
    check(lambda x, y: x * y + x, x, y, skip=skip)


@pytest.mark.parametrize("skip", [0, 1])
def test_several_kinds_in_one_loop(skip: int) -> None:
    x, y = RNG.normal(size=(37, 31)), RNG.normal(size=(37, 31)).astype(np.float32)
    check(lambda x, y: (x * y, np.sin(y), x > y, np.sum(x)), x, y, skip=skip)


@pytest.mark.parametrize("skip", [0, 1])
def test_neighbours(skip: int) -> None:
    def valley(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    check(tg.value_and_grad(valley), RNG.normal(size=2501), skip=skip)


def test_views_and_orders() -> None:
    """Broadcasts, transposes and steps go the ordinary way beside what is whole."""
    x, row = RNG.normal(size=(40, 33)), RNG.normal(size=33)
    check(lambda x, row: (x * row, x.T + 1, x[::2] * 2, np.exp(x)), x, row)


def test_in_place() -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        x *= 2
        x[5:] += x[:-5]
        return x

    check(f, RNG.normal(size=1500))


def test_three_dimensions() -> None:
    x = RNG.normal(size=(7, 13, 17))
    check(tg.grad(lambda x: np.sum(np.tanh(x) * x)), x)
    check(lambda x: np.sum(x * x, axis=1), x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_bounds_that_are_sums_of_sizes(dtype: str) -> None:
    """Sizes are symbols from the second shape on; where parts begin and end are sums of them."""

    def parts(x: Any, y: Any) -> Any:
        whole = np.concatenate([y, x, y, y])
        return whole, np.sum(whole * 2), np.sum(whole[1:] * whole[:-1])

    fast = {"cpu": tg.jit(parts), "cuda": tg.jit(parts)}
    rng = np.random.default_rng(3)
    for m, n in [(4, 2), (3, 2), (5, 3), (2, 5), (7, 1), (1, 1), (6, 3), (8, 7), (9, 4)]:
        x, y = (rng.integers(1, 9, size).astype(dtype) for size in (m, n))
        same_on_both(lambda d, *given: fast[d](*given), x, y, tolerance=1e-6)
        same_on_both(lambda d, x: tg.pad(x, (1, 2), constant_values=7), x)


@pytest.mark.parametrize("rows", [2, 5])
def test_few_long_rows(rows: int) -> None:
    """Each thread goes down the rows for itself; a total of another range stands between."""
    rng = np.random.default_rng(rows)
    shift, x = rng.normal(size=rows), rng.normal(size=(rows, 4096))

    def likelihood(a: Any, v: Any) -> Any:
        y = a[:, None] - 0.5 * v * v
        top = np.max(y, axis=0)
        return np.sum(np.log(np.sum(np.exp(y - top), axis=0)) + top) - np.max(a)

    same_on_both(lambda device, *given: tg.jit(likelihood)(*given), shift, x)
    same_on_both(
        lambda device, *given: tg.jit(tg.grad(likelihood, argnums=(0, 1)))(*given),
        *(shift, x),
        tolerance=1e-11,
    )
