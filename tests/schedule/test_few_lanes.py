"""Whether a batch of few lanes is worth reductions in two steps is decided from the graph, and not
by a schedule that is thrown away; where the decision is left to the trial, it is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.text import program_text

import tracegrad as tg
from tracegrad.schedule import build, schedule
from tracegrad.schedule import two_step_reductions as fission
from tracegrad.schedule.passes.batch_blocks import FEWEST
from tracegrad.sizes import SIZES

STEPS = 7


def pendulum(x: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        x, v = state
        return (x + 0.01 * v, v - 0.01 * np.sin(x)), x

    (x, _), path = tg.scan(step, (x, x * 0.1), None, length=STEPS)
    return np.sum(x**2) + np.sum(path**2)


def wide(x: Any) -> Any:
    """Each lane has a vector."""

    def step(s: Any, _: Any) -> Any:
        s = np.tanh(s + 0.1 * s[:, ::-1])
        return s, None

    s = tg.scan(step, x[:, None] * np.ones(600), None, length=STEPS)[0]
    return np.sum(s**2)


def inside(x: Any) -> Any:
    """A loop in the loop."""

    def one(x: Any) -> Any:
        def step(s: Any, _: Any) -> Any:
            inner = lambda t, _: (np.sin(t) + s, None)  # noqa: E731
            return tg.scan(inner, s, None, length=3)[0], None

        return tg.scan(step, x, None, length=STEPS)[0]

    return np.sum(tg.vmap(one)(x) ** 2)


def items(x: Any) -> Any:
    """Loops over items, of which each is a loop by itself."""

    def one(x: Any) -> Any:
        return tg.scan(lambda s, _: (np.sin(s) + x, None), x, None, length=STEPS)[0]

    return np.sum(tg.map(one, x) ** 2)


def conditions(x: Any) -> Any:
    def one(x: Any) -> Any:
        return tg.while_loop(lambda s: s < 3.0, lambda s: s * 1.3 + 0.1, abs(x) + 0.1)

    return np.sum(tg.vmap(one)(x) ** 2)


def systems(x: Any) -> Any:
    m = np.linspace(-1.0, 1.0, 25).reshape(5, 5)

    def one(x: Any) -> Any:
        return tg.scan(lambda s, _: (np.tanh(m @ s), s), x * np.ones(5), None, length=STEPS)[1]

    return np.sum(tg.vmap(one)(x) ** 2)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f for f in (pendulum, wide, inside, items, conditions, systems)
}
ONCE = ("pendulum", "systems", "inside")


@pytest.mark.parametrize("lanes", [33, 64, 100, 256, 300])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_program_is_that_of_the_trial(
    name: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = []
    original = build.Builder.program

    def counted(self: Any, seen: Any = None) -> Any:
        made.append(bool(self.own.all))
        return original(self, seen)

    monkeypatch.setattr(build.Builder, "program", counted)
    _, graph = tg.jit(tg.value_and_grad(FUNCTIONS[name])).graphs(np.linspace(-1.0, 1.0, lanes))

    def text() -> str:
        made.clear()
        with SIZES.opened(graph.sizes):
            return program_text(schedule(graph, ("C",) * len(graph.inputs)))

    decided, first = text(), list(made)
    monkeypatch.setattr(fission, "_of_block", lambda loop, lanes: FEWEST)
    assert decided == text()
    if lanes <= 256 and name in ONCE:
        assert first == [False], "scheduled once"
        assert made == [True, False], "the trial would have been in vain"
    else:
        assert first == made
