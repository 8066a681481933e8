"""`ir/loops.py`: the parts of a loop by name, and the node put together of them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.golden.functions import GOLDEN
from tracegrad.ir.graph import Graph, Node
from tracegrad.ir.loops import Loop, is_loop

X = np.linspace(0.1, 0.9, 6).reshape(3, 2)


def loops_of(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        if is_loop(node):
            yield node
        for inner in node.subgraphs():
            yield from loops_of(inner)


def stages() -> Iterator[tuple[str, Graph]]:
    for name, golden in GOLDEN.items():
        jitted = tg.jit(golden.function)
        for graph in jitted.graphs(*golden.args):
            yield name, graph


def test_parts_and_back() -> None:
    """What is taken apart and put together is the same node, with the very same graphs in it."""
    seen = set()
    for name, graph in stages():
        for node in loops_of(graph):
            loop = Loop.of(node)
            again = loop.node()
            assert again.inputs == node.inputs
            assert again.outputs == node.outputs
            assert again.params == node.params
            assert list(again.params) == list(node.params)
            assert again.params["body"] is node.params["body"]
            assert again.params.get("test") is node.params.get("test")
            assert len(
                {c.inside for c in loop.constants} | {c.inside for c in loop.carries}
            ) == len(loop.constants) + len(loop.carries)
            seen.add(
                (node.op.name, bool(loop.carries), bool(loop.slices), bool(loop.results), name)
            )
    kinds = {entry[:4] for entry in seen}
    assert {("scan", True, True, True), ("while_loop", True, False, False)} <= kinds
    assert len(kinds) >= 5


def scanned(x: Any) -> Any:
    scale = np.sum(x[0])
    return tg.scan(lambda c, row: (c + row * scale, np.sin(c)), x[0], x, reverse=True)


def test_parts_of_a_scan() -> None:
    (node,) = loops_of(tg.jit(scanned).graphs(X)[0])
    loop = Loop.of(node)
    assert [c.given.type.shape for c in loop.constants] == [()]
    assert [(c.first.type.shape, c.next.type.shape, c.last.type.shape) for c in loop.carries] == [
        ((2,), (2,), (2,))
    ]
    assert [(s.stacked.type.shape, s.inside.type.shape) for s in loop.slices] == [((3, 2), (2,))]
    assert [(r.inside.type.shape, r.stacked.type.shape) for r in loop.results] == [((2,), (3, 2))]
    assert loop.number is not None
    assert (
        loop.count,
        loop.test,
        loop.param("length"),
        loop.param("reverse"),
        loop.param("max_steps"),
    ) == (None, None, 3, True, None)


def test_parts_of_a_while_loop() -> None:
    def f(x: Any) -> Any:
        limit = np.sum(x)
        return tg.while_loop(
            lambda c: np.sum(c[0]) < limit * 4.0, lambda c: (c[0] * 2.0 + x, c[1] + 1.0), (x, 0.0)
        )

    (node,) = loops_of(tg.jit(f).graphs(X[0])[0])
    loop = Loop.of(node)
    assert loop.test is not None
    assert [*[c.asked for c in loop.constants], *[c.asked for c in loop.carries]] == [
        *loop.test.inputs
    ]
    assert loop.count is node.outputs[-1]
    assert (loop.number, loop.slices, loop.results) == (None, (), ())
    assert len(loop.carries) == 2


@pytest.mark.parametrize("gone", ["constants", "slices", "results", "carries"])
def test_fewer_parts(gone: str) -> None:
    """A part that is left out is gone from every list."""
    (node,) = loops_of(tg.jit(scanned).graphs(X)[0])
    loop = Loop.of(node)
    smaller = loop.replace(**{gone: ()}).node()
    again = Loop.of(smaller)
    assert getattr(again, gone) == ()
    for name in {"constants", "slices", "results", "carries"} - {gone}:
        assert getattr(again, name) == getattr(loop, name)
