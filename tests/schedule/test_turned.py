"""Rolls along outer axes are rows read elsewhere, and so are their adjoints: loops are not cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "both sides": lambda x: np.roll(x, 1, 0) * np.roll(x, -1, 0),
    "far": lambda x: np.tanh(np.roll(x, 3, 0)) * x,
    "twice": lambda x: np.roll(np.roll(x, 1, 0), 1, 0) * x,
    "two axes": lambda x: np.roll(np.roll(x, 1, 0), -1, 1) * x,
    "of a slice": lambda x: np.roll(x[1:-1], 2, 0) * x[1:-1],
    "of a column": lambda x: np.roll(x[:, :1] * x, 1, 0),
    "transposed": lambda x: np.roll(x.T, 1, 0) * x.T,
    "then transposed": lambda x: np.roll(x, 1, 0).T * x.T,
    "backwards": lambda x: np.roll(x[::-1], 1, 0) * x,
    "cut behind": lambda x: np.roll(x * x, 1, 0)[1:] * x[:-1],
    "sums of rows": lambda x: np.sum(np.roll(x, 1, 0) * x, axis=1),
    "sums of columns": lambda x: np.sum(np.roll(x, 1, 0) * x, axis=0),
    "running": lambda x: np.cumsum(np.roll(x, 1, 0) * x, axis=0),
    "other halves": lambda x: np.concatenate([x[4:], x[:4]]) * x,
    "no roll": lambda x: np.concatenate([x[:4], x[4:]]) * np.concatenate([x[3:], x[:4]])[:-1],
    "a middle axis": lambda x: np.roll(x.reshape(2, -1, x.shape[1]), 1, 1) * 2.0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_same_numbers(name: str, order: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.asarray(rng.standard_normal((8, 40)), order=order)

    def loss(x: Any) -> Any:
        y = FUNCTIONS[name](x)
        return np.sum(np.sin(y) * y)

    value, gradient = tg.jit(tg.value_and_grad(loss))(x)
    expected, by_hand = tg.value_and_grad(loss)(x)
    assert np.allclose(value, expected, rtol=1e-13, atol=0)
    assert np.allclose(gradient, by_hand, rtol=1e-12, atol=1e-13)


def test_any_number_of_rows() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.tanh(np.roll(x, 1, 0) + np.roll(x, -1, 0)) * x)

    gradient = tg.jit(tg.grad(loss))
    for rows in (8, 5, 2, 1, 0):
        x = np.random.default_rng(rows).standard_normal((rows, 40))
        assert np.allclose(gradient(x), tg.grad(loss)(x), rtol=1e-12, atol=1e-13)


def test_zeros_keep_their_sign() -> None:
    """What is absent adds nothing."""

    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.roll(x, 1, 0) * w)

    x = np.ones((4, 40))
    for compiled in (tg.jit(tg.grad(loss)), tg.grad(tg.jit(loss))):
        assert np.signbit(compiled(x, -0.0 * x)).all()


def test_one_loop_over_rows() -> None:
    """As the loops along the last axis have three parts each, nine would be written elsewhere."""

    def loss(x: Any) -> Any:
        near = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)
        return np.sum(np.tanh(near) * x)

    x = np.ones((50, 60))
    assert tg.jit(loss).source(x).count("# tanh") == 3
    assert tg.jit(tg.grad(loss)).source(x).count("for j ") <= 9
