"""Loops that move several elements at once: on aligned arrays and others, with odd ends, of all
kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import host

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
