"""Batches of loops: items that run at the same time, with memory of their own, as much as each
turns out to need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import same_on_both

RNG = np.random.default_rng(5)
M = RNG.normal(size=(3, 3)) * 0.3


def both(function: Callable[..., Any], *arrays: Any) -> None:
    same_on_both(lambda device, *xs: tg.jit(function)(*xs), *arrays, tolerance=1e-11)


def steps(v: Any) -> Any:
    return tg.scan(lambda c, _: (np.sin(c) @ M + np.roll(c, 1), np.sum(c)), v, None, length=5)


def until_small(v: Any) -> Any:
    return tg.while_loop(lambda c: np.sum(c * c) > 1e-3, lambda c: c * 0.5 * np.cos(c), v)


def as_often_as_it_says(v: Any) -> Any:
    return tg.fori_loop(
        0, np.sum(v > 0) + 2 * np.sum(v > 1), lambda i, c: np.sin(c) + np.roll(c, 1) * 0.1, v
    )


def either(v: Any) -> Any:
    return tg.cond(v[0] > 0, lambda v: np.sin(v) @ M, np.cumsum, v)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "scan": steps,
    "while_loop": until_small,
    "fori_loop of a computed length": as_often_as_it_says,
    "cond": either,
    "map in map": lambda v: tg.map(
        lambda u: tg.fori_loop(0, 3, lambda i, c: c * 1.1 + np.roll(c, 1), v * u), v
    ),
    "long inside": lambda v: tg.fori_loop(
        0, 4, lambda i, c: np.roll(c, 1) * np.sum(c), np.concatenate([v] * 100) * 0.01
    )[:3],
}


@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, n: int) -> None:
    both(tg.vmap(FUNCTIONS[name]), RNG.normal(size=(n, 3)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    def loss(x: Any) -> Any:
        out = tg.vmap(FUNCTIONS[name])(x)
        return sum(np.sum(o**2) for o in out) if isinstance(out, tuple) else np.sum(out**2)

    both(tg.grad(loss), RNG.normal(size=(7, 3)))


def test_second_derivatives() -> None:
    both(tg.vmap(tg.hessian(lambda v: np.sum(until_small(v) ** 2))), RNG.normal(size=(4, 3)))
    both(tg.vmap(tg.jacobian(until_small)), RNG.normal(size=(4, 3)))
