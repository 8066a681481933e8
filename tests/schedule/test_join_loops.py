"""Loops of a step that go on with each other's results, each pass in its own place, are one loop;
where a pass needs what other passes change, they stay two. The values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import kernel
from tracegrad.schedule import schedule

N, STEPS = 9, 3
Step = Callable[[Any, Any, Any], None]


def windows(k: Any) -> tuple[slice, slice, slice]:
    """Some elements, those one behind, and those one before."""
    return slice(k + 1, k + 5), slice(k + 2, k + 6), slice(k, k + 4)


def next_in_place(k: Any, a: Any, b: Any) -> None:
    here, behind, _ = windows(k)
    a[here] = np.sin(a[here]) + a[behind]
    b[here] = b[here] * 0.5 + a[here]


def handed_on(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * 0.5
    b[here] = b[here] + a[here] * k


def of_a_total(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * (0.1 * np.sum(b[here]))
    b[here] = b[here] - a[here]


def with_a_total(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * 0.5
    b[here] = b[here] * (0.1 * np.sum(a[here]))


def of_the_next(k: Any, a: Any, b: Any) -> None:
    here, behind, _ = windows(k)
    a[here] = a[here] * 0.5 + k
    b[here] = b[here] + a[behind]


def of_the_one_before(k: Any, a: Any, b: Any) -> None:
    here, _, before = windows(k)
    a[here] = a[here] * 0.5 + k
    b[here] = b[here] + a[before]


def turned(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * 0.5 + k
    b[here] = b[here] + a[here][::-1]


def of_one_element(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * 0.5 + k
    b[here] = b[here] + a[k + 2]


def of_what_stands_between(k: Any, a: Any, b: Any) -> None:
    here, _, _ = windows(k)
    a[here] = a[here] * 0.5
    b[k] = a[k + 3] + k
    b[here] = b[here] * b[k] + a[here]


def overlapping(k: Any, a: Any, b: Any) -> None:
    here, behind, _ = windows(k)
    a[here] = a[here] * 0.5 + a[behind]
    a[behind] = a[behind] + a[here]


PROGRAMS = [
    next_in_place, handed_on, of_a_total, with_a_total, of_the_next, of_the_one_before, turned,
    of_one_element, of_what_stands_between, overlapping,
]  # fmt: skip
JOINED = [next_in_place, handed_on]


def plain(step: Step, x: Any) -> Any:
    a, b = x.copy()
    for k in range(STEPS):
        step(k, a, b)
    return a + 2 * b


def looped(step: Step) -> Callable[[Any], Any]:
    def body(k: Any, pair: Any) -> Any:
        step(k, *pair)
        return pair

    def function(x: Any) -> Any:
        a, b = tg.fori_loop(0, STEPS, body, (x[0] + 0.0, x[1] + 0.0))
        return a + 2 * b

    return function


def inner_loops(body: Any) -> Iterator[int]:
    """How many loops each step has."""
    for s in body:
        if isinstance(s, kernel.Loop):
            inside = [t for t in s.body if isinstance(t, kernel.Loop)]
            if inside:
                yield len(inside)


@pytest.mark.parametrize("step", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_numpy(step: Step) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, (2, N))
    (value,) = run_unjitted(tg.jit(looped(step)).graphs(x)[-1], [x])
    np.testing.assert_allclose(value, plain(step, x), rtol=1e-14)
    total = lambda x: np.sum(looped(step)(x) ** 2)  # noqa: E731
    (slope,) = run_unjitted(tg.jit(tg.grad(total)).graphs(x)[-1], [x])
    along = np.random.default_rng(2).standard_normal(x.shape)
    ends = [np.sum(plain(step, x + h * along) ** 2) for h in (1e-6, -1e-6)]
    assert np.sum(slope * along) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


@pytest.mark.parametrize("step", JOINED, ids=lambda f: f.__name__)
def test_one_loop_is_left(step: Step) -> None:
    graph = tg.jit(looped(step)).graphs(np.ones((2, N)))[-1]
    phases = schedule(graph, ("C",) * len(graph.inputs)).phases
    assert [*inner_loops(s for p in phases for s in p.body)] == [1]
