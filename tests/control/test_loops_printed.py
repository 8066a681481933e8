"""The graph of every row of loops and branches, of its derivatives and batches, as text and read
again: the same graph, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cases import Case
from tests.cases.loops import CASES
from tests.checks import as_tuple, assert_same, floating
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.registry import OPS_BY_NAME
from tracegrad.transforms.rewrite import optimize


def restricted(case: Case, arrays: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The row as a function of its floating inputs alone, with floating results, and those
    inputs."""
    wrt = floating(arrays, case.wrt)

    def function(*xs: Any) -> Any:
        given = iter(xs)
        outs = as_tuple(
            case.function(*[next(given) if k in wrt else a for k, a in enumerate(arrays)])
        )
        return tuple(o for o in outs if o.dtype.kind == "f")

    return function, tuple(arrays[k] for k in wrt)


def scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: sum(np.sum(np.sin(o)) for o in function(*xs))


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: tg.grad(scalar(function), tuple(range(len(xs))))(*xs)


def tangent(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: tg.jvp(function, xs, tuple(np.ones_like(x) for x in xs))[1]


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: tg.vmap(function)(*[np.stack([x, x * 0.5]) for x in xs])


FORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": gradient,
    "tangent": tangent,
    "forward over reverse": lambda f: tangent(gradient(f)),
    "reverse over reverse": lambda f: gradient(gradient(f)),
    "gradients of a batch": lambda f: batched(gradient(f)),
}


def names_of(graph: Graph) -> set[str]:
    inner = [names_of(g) for n in graph.nodes for g in n.subgraphs()]
    return {n.op.name for n in graph.nodes}.union(*inner)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_text_is_the_graph(case: Case, form: str) -> None:
    arrays = case.inputs(np.random.default_rng(sum(map(ord, case.name))))
    function, chosen = restricted(case, arrays)
    function = FORMS[form](function)
    entry = tg.jit(function)._entry(chosen, {})[0]
    inputs = [*chosen, *entry.traced.captures]
    expected = tuple(function(*chosen))
    for graph in (entry.graph, optimize(entry.graph)):
        text = str(graph)
        again = verify(parse_graph(text, OPS_BY_NAME))
        assert str(again) == text
        assert names_of(again) == names_of(graph)
        assert_same(tuple(evaluate(again, inputs)), expected, 1e-9)
    assert_same(tuple(run_unjitted(again, inputs)), expected, 1e-9)
