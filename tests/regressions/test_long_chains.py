"""Long chains of operations are compiled without touching the process's recursion limit, which
threads share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME
from tracegrad.schedule import schedule

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, y: np.sin(x) * y,
    "read twice": lambda x, y: x * y + 0.1 * x,
    "selected": lambda x, y: np.where(x > y, 0.5 * x, x),
    "padded": lambda x, y: np.pad(x[1:], (0, 1)),
    "reversed with others": lambda x, y: x[::-1] + y,
    "reshaped": lambda x, y: (x.reshape(5, 1) * 0.9).reshape(5),
    "gathered": lambda x, y: tg.take(x, np.array([1, 0, 2, 4, 3])),
    "reduced": lambda x, y: x - 0.1 * np.sum(x * y),
    "scanned": lambda x, y: 0.1 * np.cumsum(x),
    "written": lambda x, y: np.concatenate([x[:2], x[2:3] * y[0], x[3:]]),
}


@pytest.fixture(autouse=True)
def the_limit_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(limit: int) -> None:
        raise AssertionError("the recursion limit belongs to the process")

    monkeypatch.setattr(sys, "setrecursionlimit", refused)


def chain(step: Callable[[Any, Any], Any], count: int) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        for _ in range(count):
            x = step(x, y)
        return x

    return function


def lowered(function: Any, *arguments: Any) -> Any:
    """The kernel program of the optimised graph."""
    graph = tg.jit(function).graphs(*arguments)[1]
    return schedule(graph, ("C",) * len(graph.inputs))


X, Y = np.linspace(0.1, 0.9, 5), np.linspace(0.5, 1.0, 5)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("derived", [False, True])
def test_every_kind_of_step(name: str, derived: bool) -> None:
    """More steps than Python's stack has frames for, with and without the derivative."""
    function = chain(STEPS[name], 260)
    program = lowered(tg.grad(lambda x, y: np.sum(function(x, y))) if derived else function, X, Y)
    assert program.phases


def test_compiled_by_several_threads_at_once() -> None:
    limit = sys.getrecursionlimit()
    failed: list[BaseException] = []
    start = threading.Barrier(2)

    def work(k: int) -> None:
        function = chain(lambda x, y: x * y, 1500 + k)
        try:
            start.wait()
            found = tg.jit(function)(X, Y)
            np.testing.assert_allclose(found, function(X, Y), rtol=1e-9, atol=1e-300)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    assert not failed
    assert sys.getrecursionlimit() == limit


def test_six_thousand_steps() -> None:
    """Several times what Python's stack holds."""
    assert lowered(chain(lambda x, y: x * y, 6_000), X, Y).phases


def test_graphs_are_read_back_by_several_threads() -> None:
    """CPython 3.11 mixes up the depths of trees that threads make at the same time."""
    text = str(tg.jit(chain(STEPS["elementwise"], 60)).graphs(X, Y)[0])
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                assert str(parse_graph(text, OPS_BY_NAME)) == text
        except BaseException as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work) for _ in range(6)]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
