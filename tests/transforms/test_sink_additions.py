"""Branches add what they have to add at places themselves: derivatives of every order as before,
one switch with an addition inside where there was one behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import lowering
from tracegrad.ops.places.gathering import ADDING
from tracegrad.transforms.rewrite import optimize

X = np.array([0.3, 1.2, 0.7, -0.4, 2.0, 0.1])


def lowered(d: Any, k: Any, v: Any) -> Any:
    return tg.cond(v < d[k], lambda: tg.index_update(d, k, v), lambda: d)


def both(d: Any, k: Any, v: Any) -> Any:
    """Both branches write, one of them what nothing depends on."""
    return tg.cond(
        v < d[k],
        lambda: tg.index_update(d, k, v * d[k]),
        lambda: tg.index_update(d, k + 1, 0.5),
    )


def three(d: Any, k: Any, v: Any) -> Any:
    branches = [
        lambda: d,
        lambda: tg.index_update(d, k, np.sin(v)),
        lambda: tg.index_update(tg.index_update(d, k, v), k + 1, v * v),
    ]
    return tg.switch((v > 0.5) * 1 + (v > 1.0), branches)


def used_behind(d: Any, k: Any, v: Any) -> Any:
    """The value that may be zero is read once more."""
    new, w = tg.cond(v < d[k], lambda: (tg.index_update(d, k, v), v * v), lambda: (d, 0.0 * v))
    return new + w * np.mean(new)


CHOICES = {"lowered": lowered, "both": both, "three": three, "used behind": used_behind}
WITH: dict[str, Callable[[Any, Any], Any]] = {
    "two places": lambda d, k: d[k] + d[k + 1],
    "one place twice": lambda d, k: d[k] * d[k],
    "a row": lambda d, k: np.sum(d[:2]) + d[k + 1],
    "the place itself": lambda d, k: d[k + 2] * 0.9,
}


def program(choice: str, value: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(k: Any, d: Any) -> Any:
            return CHOICES[choice](d, k + 2, WITH[value](d, k))

        return np.sum(np.sin(tg.fori_loop(0, x.size - 3, step, x * 1.0)))

    return f


def sunk(graph: Any) -> tuple[int, int]:
    """Additions at places of what a choice gives: within it, and behind it in the same graph."""
    inside = behind = 0
    for g in graph.subgraphs():
        a, b = sunk(g)
        inside, behind = inside + a, behind + b
    given = {v for n in graph.nodes if n.op.lowering is lowering.SWITCH for v in n.outputs}
    for n in graph.nodes:
        if n.op in ADDING:
            behind += n.inputs[1] in given
        if n.op.lowering is lowering.SWITCH:
            inside += sum(m.op in ADDING for g in n.subgraphs() for m in g.nodes)
    return inside, behind


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("value", WITH)
@pytest.mark.parametrize("choice", CHOICES)
def test_derivatives(choice: str, value: str) -> None:
    f = program(choice, value)

    def twice(x: Any) -> Any:
        return tg.grad(lambda y: np.sum(tg.grad(f)(y) ** 2))(x)

    for function in (tg.value_and_grad(f), twice):
        for x in (X, X[::-1].copy()):
            entry = tg.jit(function)._entry((x,), {})[0]
            found = run_unjitted(optimize(entry.graph), [x, *entry.traced.captures])
            wanted = function(x)
            for a, b in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_nothing_is_added_behind_a_choice() -> None:
    entry = tg.jit(tg.grad(program("lowered", "two places")))._entry((X,), {})[0]
    inside, behind = sunk(optimize(entry.graph))
    assert inside > 0
    assert behind == 0


def test_compiled() -> None:
    for choice in CHOICES:
        f = tg.value_and_grad(program(choice, "two places"))
        for a, b in zip(tg.jit(f)(X), f(X), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
