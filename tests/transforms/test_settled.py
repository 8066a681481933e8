"""What the adjoint of a loop reads off the first and the last values of its carries: places that
are not written before or afterwards, and no others."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

N = 7
"""Elements of an axis."""
STEPS = 4

Index = Callable[[Any], Any]
INDICES: dict[str, Index] = {
    "i": lambda i: i,
    "i+1": lambda i: i + 1,
    "i+3": lambda i: i + 3,
    "i-1": lambda i: i - 1,
    "i-2": lambda i: i - 2,
    "i-N": lambda i: i - N,
    "-1-i": lambda i: -1 - i,
    "3-i": lambda i: 3 - i,
    "2i": lambda i: 2 * i,
    "2i+1-N": lambda i: 2 * i + 1 - N,
    "2": lambda i: 2,
    "-1": lambda i: -1,
}


def chain(write: Index, read: Index, other: Index, kind: str) -> Callable[[Any], Any]:
    """A recurrence in place, by a loop of the graph."""

    def f(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            value = np.sin(y[read(i)]) * y[other(i)] + 0.1 * y[write(i)]
            if kind == "own value":
                y[write(i)] = np.exp(0.2 * y[read(i)] - 0.1 * y[other(i)])
            elif kind == "add":
                y[write(i)] += value
            else:
                y[write(i)] = value
            return y

        return np.sum(tg.fori_loop(0, STEPS, step, x) * np.arange(1.0, N + 1))

    return f


def by_hand(write: Index, read: Index, other: Index, kind: str) -> Callable[[Any], Any]:
    """The same on a list of numbers."""

    def f(x: Any) -> Any:
        y = [x[k] for k in range(N)]
        for i in range(STEPS):
            value = np.sin(y[read(i)]) * y[other(i)] + 0.1 * y[write(i)]
            if kind == "own value":
                value = np.exp(0.2 * y[read(i)] - 0.1 * y[other(i)])
            y[write(i)] = y[write(i)] + value if kind == "add" else value
        return sum(y[k] * (k + 1.0) for k in range(N))

    return f


def triples() -> list[tuple[str, str, str]]:
    return random.Random(0).sample(list(itertools.product(INDICES, repeat=3)), 300)


@pytest.mark.parametrize("kind", ["put", "add", "own value"])
def test_recurrences_at_all_places(kind: str) -> None:
    """The gradient is right whatever is proved; where indices count from the end, too."""
    x = np.random.default_rng(0).uniform(0.5, 1.5, N)
    for names in triples():
        forms = [INDICES[n] for n in names]
        found = tg.grad(chain(*forms, kind))(x)
        wanted = tg.grad(by_hand(*forms, kind))(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=str(names))


def test_second_derivatives() -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, N)
    direction = np.cos(np.arange(N))
    for names in triples()[:40]:
        forms = [INDICES[n] for n in names]
        found = tg.hvp(chain(*forms, "own value"), (x,), (direction,))
        wanted = tg.hvp(by_hand(*forms, "own value"), (x,), (direction,))
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11, err_msg=str(names))


def largest(f: Callable[..., Any], *x: Any) -> int:
    """The elements of the largest array of the derivative's program."""
    text = str(tg.jit(tg.grad(f)).programs(*x)).rpartition("\nprogram ")[2]
    shapes = re.findall(r"^    \w+ \w+: \w+\[([\d, ]*)\]", text, re.MULTILINE)
    return max(int(np.prod([int(n) for n in s.split(",") if n.strip()])) for s in shapes)


def lu(a: Any) -> Any:
    u = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            u[i, k] = u[i, k] / u[k, k]
            for j in range(k + 1, n):
                u[i, j] -= u[i, k] * u[k, j]
    return np.sum(u * u)


def cholesky(a: Any) -> Any:
    n = len(a)
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
    return np.sum(low * low * low)


def recurrence(x: Any) -> Any:
    h = np.zeros(len(x))
    h[0] = x[0]
    for t in range(1, len(x)):
        h[t] = np.tanh(h[t - 1]) + x[t]
    return np.sum(h)


def overwritten(x: Any) -> Any:
    y = x.copy()
    for _ in range(30):
        for t in range(1, len(x)):
            y[t] = np.sin(y[t - 1]) * y[t]
    return np.sum(y)


MATRIX = np.random.default_rng(0).normal(size=(40, 40)) * 0.1 + 4 * np.eye(40)


@pytest.mark.parametrize(
    ("function", "x"),
    [(lu, MATRIX), (cholesky, MATRIX @ MATRIX.T), (recurrence, np.linspace(0, 1, 300))],
    ids=["lu", "cholesky", "recurrence"],
)
def test_nothing_is_kept_of_what_is_final(function: Any, x: Any) -> None:
    assert largest(function, x) <= x.size
    compiled = tg.jit(tg.grad(function))
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    small = 1e-6 * direction
    wanted = (function(x + small) - function(x - small)) / 2e-6
    np.testing.assert_allclose(np.sum(compiled(x) * direction), wanted, rtol=1e-5)


def test_what_is_overwritten_is_kept() -> None:
    x = np.linspace(0.1, 1, 40)
    assert largest(overwritten, x) > x.size
    compiled = tg.jit(tg.grad(overwritten))
    direction = np.cos(np.arange(x.size))
    small = 1e-6 * direction
    wanted = (overwritten(x + small) - overwritten(x - small)) / 2e-6
    np.testing.assert_allclose(np.sum(compiled(x) * direction), wanted, rtol=1e-5, atol=1e-7)
