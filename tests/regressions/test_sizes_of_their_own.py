"""Several loops of unknown length in one program: each has a number of steps with a name of its
own, wherever lanes cut the program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import sampled

X = np.random.default_rng(1).normal(size=(4, 4))
Y = np.random.default_rng(2).normal(size=(4, 1))


def shrinking(by: Any) -> Callable[[Any], Any]:
    return lambda a: tg.while_loop(
        lambda c: np.sum(c * c) > 0.5, lambda c: 0.6 * c + 0.005 * np.sum(by), a
    )


def items(x: Any, y: Any) -> Any:
    """Lanes that end their loops for themselves, and capture a reduction."""
    return tg.vmap(shrinking(y))(x)


def shared(x: Any, y: Any) -> Any:
    return tg.vmap(lambda a, b: shrinking(y)(a) * b, in_axes=(0, None))(x, np.sum(y) * 0.05)


def counted(x: Any, y: Any) -> Any:
    last = tg.while_loop(
        lambda c: c[1] < 6, lambda c: (np.sin(c[0]) + 0.1 * np.tanh(np.sum(y)), c[1] + 1), (y, 0)
    )[0]
    return tg.vmap(lambda a: tg.fori_loop(0, 3, lambda i, c: np.sin(c) + 0.05 * np.sum(last), a))(x)


def alone(x: Any, y: Any) -> Any:
    return shrinking(y)(x)


def within(x: Any, y: Any) -> Any:
    """A loop of unknown length within another."""
    return tg.while_loop(lambda c: np.sum(c * c) > 2.0, lambda c: shrinking(y)(0.9 * c), x)


PARTS = [items, shared, counted, alone, within]


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    "parts",
    sampled(
        itertools.permutations(PARTS, 2),
        lambda p: (PARTS.index(p[1]) - PARTS.index(p[0])) % len(PARTS) < 3,
    ),
    ids=lambda p: "-".join(f.__name__ for f in p),
)
def test_two_in_one_program(parts: Any) -> None:
    """Each pair in one order, each part as often first as second; in both orders with
    `--soak 1`."""

    def loss(x: Any, y: Any) -> Any:
        first, second = parts
        return np.sum(first(x, y) ** 2) + np.sum(np.sin(second(x * 1.5, y)))

    expected = tg.grad(loss, argnums=(0, 1))(X, Y)
    for found in (
        tg.jit(tg.grad(loss, argnums=(0, 1)))(X, Y),
        tg.grad(tg.jit(loss), argnums=(0, 1))(X, Y),
    ):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_at_several_sizes_and_twice_differentiated() -> None:
    def loss(x: Any, y: Any) -> Any:
        return np.sum(shared(x, y) ** 2) + np.sum(counted(x, y)) + np.sum(items(np.cos(x), y))

    compiled = tg.jit(lambda x, y: tg.hvp(loss, (x,), (x,), y))
    for n in (4, 70, 5):
        x = np.random.default_rng(n).normal(size=(n, 3))
        np.testing.assert_allclose(
            compiled(x, Y), tg.hvp(loss, (x,), (x,), Y), rtol=1e-10, atol=1e-12
        )
