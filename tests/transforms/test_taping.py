"""Loops of unknown length that keep what their adjoint reads while they run: one pass forward, on
memory that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME


def operations(graph: Graph) -> list[str]:
    """The names of all operations, those inside of loops too."""
    return [
        name
        for node in graph.nodes
        for name in (node.op.name, *[n for g in node.subgraphs() for n in operations(g)])
    ]


def decay(x: Any, rate: Any, limit: Any) -> Any:
    """x * rate ** n for the first n that brings its sum below a limit."""
    return tg.while_loop(lambda y: np.sum(y) > limit, lambda y: y * rate, x)


def damped(x: Any, limit: Any) -> Any:
    """A loop whose steps are not linear, so that its adjoint reads them."""
    return tg.while_loop(lambda y: np.sum(y) > limit, lambda y: 0.9 * np.sin(y), x)


def steps_of(x: Any, rate: float, limit: float) -> int:
    n = 0
    while np.sum(x * rate**n) > limit:
        n += 1
    return n


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(
    ("size", "rate", "limit"), [(3, 0.5, 1e-2), (7, 0.99, 1e-3), (2, 0.9, 100.0), (0, 0.5, 1.0)]
)
def test_vectors(size: int, rate: float, limit: float, dtype: Any) -> None:
    """Also as many steps as need more room several times, and none."""
    x = np.linspace(1.0, 2.0, size).astype(dtype)
    n = steps_of(x.real, rate, limit)

    def loss(x: Any, rate: Any) -> Any:
        last = tg.while_loop(lambda y: np.sum(np.real(y)) > limit, lambda y: y * rate, x)
        return np.sum(np.real(last) ** 2)

    derivative = tg.jit(tg.value_and_grad(loss, argnums=(0, 1)))
    value, (dx, drate) = derivative(x, dtype(rate))
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(value, np.sum(x.real**2) * rate ** (2 * n), rtol=tolerance)
    np.testing.assert_allclose(dx, 2 * x * rate ** (2 * n), rtol=tolerance)
    expected = 2 * n * np.sum(x.real**2) * rate ** (2 * n - 1)
    np.testing.assert_allclose(drate, expected, rtol=tolerance, atol=1e-12)
    names = operations(derivative.graphs(x, dtype(rate))[-1])
    assert "taped" in names
    assert not {"while_loop", "sized"} & set(names)


def test_each_way_of_running_it() -> None:
    """Compiled, the generated source as plain Python, the graph interpreted, and the printed graph
    parsed back."""
    derivative = tg.jit(tg.grad(lambda x, r: np.sum(decay(x, r, 0.05)) ** 3, argnums=(0, 1)))
    arguments = np.array([0.7, 1.9, 0.2]), np.float64(0.93)
    graph = derivative.graphs(*arguments)[-1]
    expected = derivative(*arguments)
    parsed = parse_graph(str(graph), OPS_BY_NAME)
    for found in (
        run_unjitted(graph, arguments),
        evaluate(graph, arguments),
        evaluate(parsed, arguments),
    ):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_items_of_a_batch() -> None:
    """Each item keeps its own number of steps; the forward loop over the items and the backward one
    are one loop."""

    def total(a: Any) -> Any:
        return np.sum(
            tg.vmap(
                lambda b: tg.while_loop(
                    lambda x: abs(x * x - b) > 1e-13 * b, lambda x: (x + b / x) / 2, b
                )
            )(a)
        )

    a = np.array([2.0, 1e-3, 1e6, 0.7, 81.0])
    derivative = tg.jit(tg.grad(total))
    np.testing.assert_allclose(derivative(a), 0.5 / np.sqrt(a), rtol=1e-10)
    graph = derivative.graphs(a)[-1]
    assert operations(graph).count("taped") == 1
    assert [node.op.name for node in graph.nodes].count("scan") == 1
    np.testing.assert_allclose(run_unjitted(graph, [a])[0], 0.5 / np.sqrt(a), rtol=1e-10)


def test_higher_orders_and_staged_gradients() -> None:
    """What is differentiated again, or cut in two, stays two loops; the results are the same."""
    f = tg.jit(lambda x: np.sum(decay(x, 0.8, 0.3) ** 3))
    x = np.array([0.5, 1.5])
    factor = 0.8 ** steps_of(x, 0.8, 0.3)
    np.testing.assert_allclose(tg.grad(f)(x), 3 * factor**3 * x**2, rtol=1e-12)
    t = tg.tensor(x, requires_grad=True)
    f(t).backward()
    np.testing.assert_allclose(np.asarray(t.grad), 3 * factor**3 * x**2, rtol=1e-12)
    np.testing.assert_allclose(tg.hessian(f)(x), np.diag(6 * factor**3 * x), rtol=1e-12)
    both = tg.jit(lambda x: (tg.grad(f)(x), tg.hvp(f, (x,), (np.ones(2),))))
    first, second = both(x)
    np.testing.assert_allclose(first, 3 * factor**3 * x**2, rtol=1e-12)
    np.testing.assert_allclose(second, 6 * factor**3 * x, rtol=1e-12)


def test_what_is_read_between() -> None:
    """A result of what stands between the loop and its adjoint may be read elsewhere; large arrays
    there keep the loops apart."""

    def with_more(x: Any, y: Any) -> Any:
        last = damped(x, 0.5)
        scale = np.exp(last)
        return np.sum(scale * last) + np.sum(np.cos(np.outer(scale, y)))

    x = np.array([1.0, 0.4])
    for size, taped in ((3, True), (10_000, False)):
        y = np.full(size, 1 / size)
        derivative = tg.jit(tg.grad(with_more))
        np.testing.assert_allclose(derivative(x, y), tg.grad(with_more)(x, y), rtol=1e-12)
        assert ("taped" in operations(derivative.graphs(x, y)[-1])) is taped


def test_limit_of_steps() -> None:
    f = tg.jit(
        tg.grad(lambda x: tg.while_loop(lambda y: y > 1.0, lambda y: 0.5 * y, x, max_steps=20))
    )
    assert f(2.0**19) == 0.5**19
    with pytest.raises(RuntimeError, match="still going after max_steps=20 steps"):
        f(2.0**30)
    assert f(1.5) == 0.5


def test_memory_is_given_back() -> None:
    """Also that of loops inside loops, which come to the same place again and again."""
    runtime = pytest.importorskip("numba.core.runtime._nrt_python")

    def repeated(x: Any, n: Any) -> Any:
        return tg.fori_loop(0, n, lambda i, s: tg.fori_loop(0, i, lambda j, u: np.sin(u) * x, s), x)

    batch = tg.jit(tg.grad(lambda a: np.sum(tg.vmap(lambda b: damped(b, 0.1))(a))))
    nested = tg.jit(tg.grad(repeated))
    a = np.linspace(0.05, 2.0, 50)
    runtime.memsys_enable_stats()
    try:
        for f, arguments in ((batch, (a,)), (nested, (0.9, 30))):
            f(*arguments)
            before = runtime.memsys_get_stats_alloc(), runtime.memsys_get_stats_free()
            f(*arguments)
            made, freed = (
                runtime.memsys_get_stats_alloc() - before[0],
                runtime.memsys_get_stats_free() - before[1],
            )
            assert 0 < made <= 12, "memory that is there is used again"
            assert freed >= made
    finally:
        runtime.memsys_disable_stats()
