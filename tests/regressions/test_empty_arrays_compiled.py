"""Nothing of an array without elements is read or checked: a read of its first one would leave the
loop that never runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any], Any]
ORDER = np.array([2, 0, 1])


def quantiles(x: Any) -> Any:
    return np.quantile(x[:, 1:], np.array([0.1, 0.9]), axis=0)


def ordered(x: Any) -> Any:
    return np.sort(x[:, 1:], axis=0)


def median(x: Any) -> Any:
    return np.median(x[:, 1:], axis=0)


def along(x: Any) -> Any:
    y = x[:, 1:]
    return np.take_along_axis(y, np.argsort(y, axis=0), axis=0)


def positions(x: Any) -> Any:
    y = x[:, 1:]
    return np.argmax(y, axis=0) * np.max(y, axis=0)


def places(x: Any) -> Any:
    return x[:, 1:][ORDER] * x[:, 1:].reshape(3, -1)


def flat(x: Any) -> Any:
    return x[:, 1:].reshape(-1)[np.zeros(0, int)]


def added_at(x: Any) -> Any:
    y = x[:, 1:] * 1.0
    y[ORDER] += 2.0 * y
    return y


def stepped(x: Any) -> Any:
    return tg.fori_loop(0, 3, lambda i, y: np.sin(y) * x[i, :1], x[:, 1:])


def picked(x: Any) -> Any:
    return tg.vmap(lambda row: row[np.argsort(row)], in_axes=1)(x[:, 1:])


def running(x: Any) -> Any:
    return np.cumsum(x[:, 1:], axis=0)[::-1].reshape(-1, 3)


def chosen(x: Any) -> Any:
    return np.where(x[:, 1:] > 0, x[:, 1:][::-1], 0.5).T.reshape(-1, 3)[:, ORDER]


FUNCTIONS: list[Function] = [
    quantiles,
    ordered,
    median,
    along,
    positions,
    places,
    flat,
    added_at,
    stepped,
    picked,
    running,
    chosen,
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_second_size_leaves_nothing(function: Function, dtype: Any) -> None:
    """First some elements, then none: the gradient of what is left is right, whatever lies in
    memory."""

    def loss(x: Any) -> Any:
        # What else is there, so that memory is not all zeros.
        return np.sum(function(x) * 1.5) + np.sum(np.exp(x) * x)

    compiled = tg.jit(tg.value_and_grad(loss))
    for columns in (4, 1):
        x = np.random.default_rng(columns).normal(size=(3, columns)).astype(dtype)
        value, gradient = tg.value_and_grad(loss)(x)
        for _ in range(2):
            found = compiled(x)
            np.testing.assert_allclose(found[0], value, rtol=1e-5)
            np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-5)
            assert found[1].dtype == dtype


def test_an_index_into_nothing_is_still_an_error() -> None:
    with pytest.raises(IndexError):
        tg.jit(lambda x, k: x[1:][k])(np.ones(1), 0)


NOTHING_OF_ROWS: list[Function] = [
    lambda x: np.sum(np.outer(x[:, 0], np.diagonal(x, 1)) ** 2),
    lambda x: np.sum(np.sin(np.outer(x[:, 0], np.diagonal(x, 1)))) + np.sum(np.diagonal(x, 1)),
    lambda x: np.sum(np.outer(np.diagonal(x, 1), x[:, 0]) ** 2),
    lambda x: np.sum(np.outer(x[:, 0], x[:, 0])[:, : min(len(x), 0)] * 2.0),
    lambda x: np.sum(np.max(np.outer(x[:, 0], np.diagonal(x, 1)), axis=0, initial=1.0)),
]


@pytest.mark.parametrize("k", range(len(NOTHING_OF_ROWS)))
def test_rows_without_elements_at_all_sizes(k: int) -> None:
    """Code for all numbers of rows, of which none has an element: once a division by zero."""
    loss = NOTHING_OF_ROWS[k]
    compiled, product = tg.jit(tg.value_and_grad(loss)), tg.jit(tg.jvp, static_argnums=0)
    for rows in (5, 6, 7):
        x = np.random.default_rng(rows).normal(size=(rows, 1))
        value, gradient = compiled(x)
        assert value == loss(x)
        assert np.array_equal(gradient, np.zeros_like(x))
        assert product(loss, (x,), (x,))[1] == 0
