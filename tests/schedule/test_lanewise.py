"""Steps that lanes go through each by itself, told from their operations: nothing is scheduled
twice where they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.schedule.test_lanes import LANES, NOT_APART
from tracegrad.ir.graph import Node
from tracegrad.ir.loops import is_loop
from tracegrad.schedule import build, schedule
from tracegrad.schedule.lanewise import by_themselves

ROWS = np.random.default_rng(3).normal(size=(LANES, 4))
APART: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda s: np.tanh(s) * 0.9 + 1.0,
    "columns": lambda s: s * np.arange(4.0) - 0.1 * s[:, ::-1],
    "neighbours in a row": lambda s: s + 0.1 * (np.roll(s, 1, axis=1) - s),
    "sums of rows": lambda s: s - 0.3 * np.mean(s, axis=1, keepdims=True),
    "the largest of a row": lambda s: s / (1.0 + np.max(s, axis=1)[:, None] ** 2),
    "running sums of rows": lambda s: 0.1 * np.cumsum(s, axis=1),
    "sorted rows": lambda s: np.sort(s, axis=1) * 0.9,
    "in another shape": lambda s: np.reshape(np.reshape(s, (LANES, 2, 2))[:, ::-1], (LANES, 4)),
    "crosswise": lambda s: np.stack([s.T[1], s.T[0], s.T[3], s.T[2]], axis=1) * 0.5,
    "joined": lambda s: np.concatenate([s[:, 2:], s[:, :2]], axis=1),
    "gathered columns": lambda s: 0.5 * s[:, np.array([3, 1, 0, 1])],
    "with arrays beside": lambda s: s + 0.1 * ROWS[::-1] + np.roll(ROWS, 1, axis=0),
}


def loops(f: Callable[..., Any], x: Any) -> list[Node]:
    _, optimized = tg.jit(f).graphs(x)
    return [node for node in optimized.nodes if is_loop(node)]


def looped(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tg.scan(lambda s, _: (step(s), None), x, None, length=5)[0]


@pytest.mark.parametrize("name", APART)
def test_lanes_that_go_by_themselves(name: str) -> None:
    f = tg.value_and_grad(lambda x: np.sum(looped(APART[name])(x) ** 2))
    found = loops(f, ROWS)
    assert found
    assert all(by_themselves(node, LANES) for node in found)


@pytest.mark.parametrize("name", [n for n in NOT_APART if n != "added at places"])
def test_lanes_that_need_each_other_are_scheduled_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = tg.value_and_grad(lambda x: np.sum(looped(NOT_APART[name])(x) ** 2))
    x = np.random.default_rng(4).normal(size=LANES)
    found = loops(f, x)
    assert found
    assert not all(by_themselves(node, LANES) for node in found)
    _, graph = tg.jit(f).graphs(x)
    made: list[str] = []
    whole = build.Builder.program
    monkeypatch.setattr(
        build.Builder, "program", lambda self, *a: (made.append(self.name), whole(self, *a))[1]
    )
    schedule(graph, ("C",) * len(graph.inputs))
    assert len(made) == 1


def test_an_axis_that_only_sometimes_is_a_lanes_own_is_none() -> None:
    """Of two axes of one length a carry is followed along both, until one of them is left."""
    square = np.random.default_rng(5).normal(size=(40, 40))

    def summed(s: Any) -> Any:
        return s - 0.1 * np.sum(s, axis=0)

    def by_columns(s: Any) -> Any:
        return s - 0.1 * np.cumsum(s, axis=1)

    told = {
        step.__name__: [by_themselves(node, 40) for node in loops(looped(step), square)]
        for step in (summed, by_columns)
    }
    assert told == {"summed": [True], "by_columns": [True]}

    def both(s: Any) -> Any:
        return summed(by_columns(s))

    (node,) = loops(looped(both), square)
    assert not by_themselves(node, 40)


def test_a_carry_that_other_carries_mix() -> None:
    """What crosses lanes only in the second step is seen."""

    def f(x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            a, b = state
            return (b, np.cumsum(a, axis=1)), None

        return tg.scan(step, (x, x.T), None, length=4)[0][0]

    (node,) = loops(f, np.ones((40, 40)))
    assert by_themselves(node, 40)

    def crossed(x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            a, b = state
            return (b.T, np.cumsum(a, axis=0) + np.cumsum(b, axis=1)), None

        return tg.scan(step, (x, x), None, length=4)[0][0]

    (node,) = loops(crossed, np.ones((40, 40)))
    assert not by_themselves(node, 40)
