"""Functions that steps call of what others have left, but do not wait for, stand in a loop of their
own; the bits are those of one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import kernel, traversal
from tracegrad.schedule import schedule
from tracegrad.schedule.passes import distribute

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


def behind(total: Any, s: Any, x: Any) -> tuple[Any, Any]:
    return total + np.log(s) + x * x / s, 0.3 + 0.1 * x * x + 0.5 * s


def chained(total: Any, s: Any, x: Any) -> tuple[Any, Any]:
    return total * 0.5 + np.exp(np.sin(s) * x), s + x


def between(total: Any, s: Any, x: Any) -> tuple[Any, Any]:
    return total + np.cos(s), 0.5 * s + np.exp(-x * x)


def waiting(total: Any, s: Any, x: Any) -> tuple[Any, Any]:
    return total + s, np.tanh(s + x)


def dividing(total: Any, s: Any, x: Any) -> tuple[Any, Any]:
    return total + np.log(s), 1.0 + x * x / s


def function(step: Step) -> Callable[[Any], Any]:
    return lambda x: tg.scan(lambda c, v: (step(*c, v), None), (0.0, 1.0), x)[0]


def parts(step: Step, x: Any) -> int:
    """Into how many loops its loop was cut."""
    graph = tg.jit(function(step)).graphs(x)[-1]
    phases = schedule(graph, ("C",) * len(graph.inputs)).phases
    loops = [s for s in traversal.within(phases[0].body) if isinstance(s, kernel.Loop)]
    return max(sum(isinstance(t, kernel.Loop) for t in s.body) for s in loops)


CASES = [(behind, 40), (behind, 256), (chained, 300), (between, 257), (waiting, 40), (dividing, 40)]


@pytest.mark.parametrize(("step", "n"), CASES)
def test_values_are_those_of_one_loop(step: Step, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(n).standard_normal(n)
    derived = tg.value_and_grad(lambda x: sum(function(step)(x)))
    found = run_unjitted(tg.jit(derived).graphs(x)[-1], [x])
    total, s = 0.0, 1.0
    for v in x:
        total, s = step(total, s, v)
    np.testing.assert_allclose(found[0], total + s, rtol=1e-13)
    monkeypatch.setattr(distribute, "FEWEST", 1000)
    again = run_unjitted(tg.jit(derived).graphs(x)[-1], [x])
    np.testing.assert_array_equal(found[0], again[0])
    np.testing.assert_array_equal(found[1], again[1])


def test_which_loops_are_cut() -> None:
    x = np.ones(40)
    assert [parts(s, x) for s in (behind, chained, between)] == [3, 3, 3]
    assert [parts(s, x) for s in (waiting, dividing)] == [0, 0]
    assert parts(behind, x[:12]) == 0  # so few are not worth it
