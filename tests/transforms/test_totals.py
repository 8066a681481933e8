"""Sums over the lanes of a batch, added up by a loop step by step: taken once behind it, with the
same results, or left where that is not the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.graph import Graph
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=50), RNG.normal(size=(2, 3))


def sums_in_loops(f: Any, *args: Any) -> int:
    def count(graph: Graph, inside: bool) -> int:
        own = sum(node.op.name == "sum" for node in graph.nodes) if inside else 0
        return own + sum(
            count(g, inside or node.op.name == "scan")
            for node in graph.nodes
            for g in node.subgraphs()
        )

    return count(optimize(tg.jit(f).graphs(*args)[0]), False)


def one(x: Any, w: Any, steps: int = 6) -> Any:
    """A loop over one number with parameters in a matrix, some of them read twice."""

    def step(x: Any, t: Any) -> Any:
        y = np.sin(w[0, 0] * x + w[1, 2]) + 0.1 * np.sum(w[:, 1]) * t
        return y + 0.5 * w[0, 0] * np.tanh(x), y

    return tg.scan(step, x, np.arange(steps).astype(w.dtype))


def batch(x: Any, w: Any, steps: int = 6) -> Any:
    last, path = tg.vmap(lambda v: one(v, w, steps))(x)
    return np.sum(last**2) + np.sum(np.cos(path))


@pytest.mark.parametrize("steps", [0, 1, 6])
def test_a_gradient_by_shared_parameters(steps: int) -> None:
    f = tg.value_and_grad(lambda x, w: batch(x, w, steps), (0, 1))
    value, (gx, gw) = tg.jit(f)(X, W)
    expected = [
        tg.value_and_grad(
            lambda x, w: one(x, w, steps)[0] ** 2 + np.sum(np.cos(one(x, w, steps)[1])), (0, 1)
        )(x, W)
        for x in X
    ]
    np.testing.assert_allclose(value, sum(e[0] for e in expected))
    np.testing.assert_allclose(gx, [e[1][0] for e in expected], rtol=1e-12)
    np.testing.assert_allclose(gw, sum(e[1][1] for e in expected), rtol=1e-12, atol=1e-13)
    assert steps < 2 or sums_in_loops(f, X, W) == 1, "that over two parameters"
    sized = tg.jit(f)
    for n in (50, 7, 1):
        part = [
            tg.grad(lambda w, x=x: one(x, w, steps)[0] ** 2 + np.sum(np.cos(one(x, w, steps)[1])))(
                W
            )
            for x in X[:n]
        ]
        np.testing.assert_allclose(sized(X[:n], W)[1][1], sum(part), rtol=1e-12, atol=1e-13)


def test_second_derivatives_and_nested_batches() -> None:
    h = tg.jit(tg.hessian(lambda w: batch(X, w)))(W)
    small = 1e-5
    for at in ((0, 0), (1, 2), (0, 1)):
        e = np.zeros_like(W)
        e[at] = small
        difference = (tg.jit(tg.grad(batch, 1))(X, W + e) - tg.jit(tg.grad(batch, 1))(X, W - e)) / (
            2 * small
        )
        np.testing.assert_allclose(h[at], difference, rtol=1e-5, atol=1e-6)
    ws = np.stack([W, 0.5 * W, -W])
    by_rows = tg.jit(tg.vmap(tg.grad(batch, 1), in_axes=(None, 0)))(X, ws)
    np.testing.assert_allclose(
        by_rows, [tg.grad(batch, 1)(X, w) for w in ws], rtol=1e-11, atol=1e-12
    )


def test_float32_and_threads() -> None:
    x, w = np.tile(X, 400).astype(np.float32), W.astype(np.float32)
    f, before, found = tg.jit(tg.grad(batch, (0, 1))), tg.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tg.set_num_threads(threads)
            found.append(f(x, w))
    finally:
        tg.set_num_threads(before)
    for gx, gw in found:
        assert gx.dtype == gw.dtype == np.float32
        np.testing.assert_array_equal(gx, found[0][0])
        np.testing.assert_array_equal(gw, found[0][1])
    np.testing.assert_allclose(found[0][1], 400 * tg.grad(batch, 1)(X, W), rtol=1e-3, atol=1e-2)


def loop(step: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tg.scan(lambda c, _: (step(*c), c[1]), (x, 0.5), None, length=4)


STAYS: dict[str, Callable[[Any], Any]] = {
    "read by the step": loop(lambda x, s: (x * np.cos(s), s + np.sum(x))),
    "doubled": loop(lambda x, s: (x * 0.9, s + s + np.sum(x))),
    "scaled": loop(lambda x, s: (x * 0.9, 0.5 * s + np.sum(x))),
    "each of the totals is a result": loop(lambda x, s: (x * 0.9, s + np.sum(x))),
    "in the sum": loop(lambda x, s: (x * 0.9, np.sum(x * s) / 50)),
    "a factor of the sum": loop(lambda x, s: (x * 0.9, np.sum(x) * s)),
    "of more than a carry": lambda x: tg.scan(
        lambda c, v: ((c[0] * 0.9, c[1] + np.sum(np.outer(c[0], v) ** 2)), None),
        (x, 0.5),
        np.arange(12.0).reshape(4, 3),
    )[0],
    "of a sum": loop(lambda x, s: (x - 0.1 * np.sum(x), s + np.sum(x * x))),
    "an exponential of it": loop(lambda x, s: (x * 0.9, s + np.exp(np.sum(x) / 50))),
}


@pytest.mark.parametrize("name", STAYS)
def test_sums_that_stay(name: str) -> None:
    f = STAYS[name]
    assert sums_in_loops(f, X)
    for a, b in zip(tg.tree.flatten(tg.jit(f)(X))[0], tg.tree.flatten(f(X))[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_sums_that_go() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            m, s, k = c
            k = k + np.sum(v[None, :] * np.stack([m, m * m]), axis=1)
            return (np.sin(m) + v, s + np.sum(m) + (np.sum(v * m) + np.sum(m * m)), k), m[0]

        return tg.scan(
            step, (x, 0.25, np.ones(2)), np.stack([x * t for t in range(5)]), reverse=True
        )

    assert sums_in_loops(f, X), "one of them is of more than a carry"

    def g(x: Any) -> Any:
        return tg.scan(
            lambda c, v: ((np.sin(c[0]) + v, c[1] + np.sum(c[0]) + np.sum(v * c[0])), c[0][0]),
            (x, 0.25),
            np.outer(np.arange(5.0), x),
        )

    assert not sums_in_loops(g, X)
    for h in (f, g):
        for a, b in zip(tg.tree.flatten(tg.jit(h)(X))[0], tg.tree.flatten(h(X))[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
