"""Sizes that are 1 without being the number 1: `b[2:]` of three elements, in a graph for all sizes.
What is repeated along such an axis must be, by every operation (`b[2:] + b` read past the end)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.tree import flatten

X = np.array([0.7, -1.3, 2.1])


def written(b: Any) -> Any:
    y = b * 1.0
    y[:] = b[2:]
    y[1:] += b[2:]
    return y * b


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda b: b[2:] + b,
    "where": lambda b: np.where(b > 0, b[2:], b),
    "mid": lambda b: b[1:-1] * b,
    "step": lambda b: b[::3] * b,
    "outer sum": lambda b: np.sum(np.sin(b) * b[2:]),
    "2d": lambda b: np.outer(b, b)[2:] * np.outer(b, b),
    "2d col": lambda b: np.outer(b, b)[:, 2:] - np.outer(b, b),
    "reduce": lambda b: np.sum(np.outer(b, b)[2:], axis=0) + b,
    "reduce2": lambda b: np.max(np.outer(b, b)[:, 2:], axis=1) + b,
    "mean": lambda b: np.mean(np.outer(b, b)[2:], axis=0, keepdims=True) * np.outer(b, b),
    "matmul": lambda b: np.outer(b, b)[:, 2:] @ np.outer(b, b)[2:],
    "dot": lambda b: b[2:] @ np.outer(b, b)[2:],
    "concat": lambda b: np.concatenate([b[2:], b]) * 2,
    "stackc": lambda b: np.stack([b[2:] + b, b]),
    "bto": lambda b: np.broadcast_to(b[2:], b.shape) * b,
    "cumsum": lambda b: np.cumsum(np.outer(b, b)[2:], axis=0) + np.outer(b, b),
    "sort": lambda b: np.sort(b[2:]) + b,
    "take": lambda b: b[2:][np.zeros(4, int)] + 1,
    "reshape": lambda b: b[2:].reshape(-1, 1) + b,
    "bcast chain": lambda b: ((b[2:] + b) * np.sin(b[2:])) + b,
    "softmax": lambda b: (
        np.exp(np.outer(b, b)[2:] - np.max(np.outer(b, b)[2:], axis=1, keepdims=True)) + b
    ),
    "einsum": lambda b: np.einsum("ij,ik->jk", np.outer(b, b)[2:], np.outer(b, b)[2:]),
    "flip": lambda b: b[::-1][2:] + b,
    "pad": lambda b: np.pad(b[2:], (1, 1)) + np.pad(b[2:], (2, 0)),
    "write": lambda b: written(b),
    "scan": lambda b: tg.scan(lambda c, x: (c + x * b[2:], c), b * 1.0, b)[0],
    "fori": lambda b: tg.fori_loop(0, 3, lambda i, c: c + c * b[2:], b * 1.0),
    "solve": lambda b: np.linalg.solve(np.outer(b, b)[2:, 2:] + np.eye(1), b[2:]) + b,
    "norm": lambda b: np.linalg.norm(np.outer(b, b)[2:], axis=0) + b,
    "clip": lambda b: np.clip(b, b[2:] - 1, b[2:] + 1),
    "power": lambda b: np.abs(b) ** b[2:],
    "vmap": lambda b: tg.vmap(lambda r: r + b[2:])(np.outer(b, b)),
    "vmap2": lambda b: tg.vmap(lambda r: r * b)(np.outer(b, b)[2:]),
    "arange": lambda b: np.arange(len(b) - 2) + b,
    "zeros": lambda b: np.zeros(len(b) - 2) + b,
    "ones2": lambda b: np.ones((len(b) - 2, len(b))) * b[2:],
    "full": lambda b: np.full((len(b) - 2, 4), 3.0) * np.full((len(b), 1), 2.0) * b[0],
    "median": lambda b: np.median(np.outer(b, b)[2:], axis=0) + b,
    "diff": lambda b: np.diff(b, n=2) + b,
    "conv": lambda b: np.convolve(b, np.ones(3), "valid") + b,
    "argmax": lambda b: np.argmax(np.outer(b, b)[:, 2:], axis=1) + b,
    "tri": lambda b: np.tril(np.outer(b, b)[2:]) + b,
    "det": lambda b: np.linalg.det(np.outer(b, b)[2:, 2:]) * b,
    "swap": lambda b: np.outer(b, b)[2:].T + b,
    "cross": lambda b: np.repeat(b[2:], 2)[:1] + b,
    "roll": lambda b: np.roll(b[2:], 1) + b,
    "rows": lambda b: np.outer(b, b)[2:].ravel() + b,
    "diag": lambda b: np.diag(np.outer(b, b)[2:, 2:]) + b,
    "trace": lambda b: np.trace(np.outer(b, b)[2:, 2:]) + b,
    "prod": lambda b: np.prod(np.outer(b, b)[2:], axis=0) + b,
    "fft": lambda b: np.real(np.fft.fft(b[2:])) + b,
    "interp": lambda b: np.interp(b, np.arange(3.0)[2:], b[2:]),
    "lse": lambda b: np.logaddexp.reduce(np.outer(b, b)[2:], axis=0) + b,
}


def by_symbols(f: Any) -> Any:
    """`f(X)` by the source of the graph that serves other sizes, too, run by CPython."""
    jitted: Any = tg.jit(f)
    with contextlib.suppress(tg.ShapeError, ValueError):  # most are right for three alone
        jitted._entry((np.linspace(1.0, 2.0, 6),), {})
    entry = jitted._entry((X,), {}).entry
    graph = jitted.graphs(X)[-1]
    outs = run_unjitted(graph, [*flatten(((X,), {}))[0], *entry.traced.captures])
    return graph, outs[0][()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str) -> None:
    f = FUNCTIONS[name]
    want = f(X)
    weights = np.cos(np.arange(np.size(want))).reshape(np.shape(want))

    def loss(b: Any) -> Any:
        return np.sum(f(b) * weights)

    _, found = by_symbols(f)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    _, found = by_symbols(tg.grad(loss))
    np.testing.assert_allclose(found, tg.grad(loss)(X), rtol=1e-10, atol=1e-12)


def test_graphs_are_symbolic() -> None:
    graph, _ = by_symbols(FUNCTIONS["add"])
    assert any(not isinstance(s, int) for s in graph.inputs[0].type.shape)


def test_compiled() -> None:
    """As found: sizes one after the other, by kernels."""
    found = tg.jit(lambda b: np.where(b > 0, b[1:-1][::2], b))
    for shape in ((1, 1, 2), (3, 1, 3), (3, 1, 4)):
        b = np.arange(np.prod(shape)).reshape(shape) - 2.0
        np.testing.assert_array_equal(found(b), np.where(b > 0, b[1:-1][::2], b))
