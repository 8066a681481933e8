"""Lists that are attributes, values of dicts and items of lists, to which loops on traced values
append."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradient, check_values
from tracegrad.errors import ConcretizationError

POINTS = (np.array([0.63, 0.28]), np.array([1.17, 0.71]))
PROGRAMS = Programs()


class Recorder:
    def __init__(self, first: Any) -> None:
        self.values = [first]
        self.times: list[Any] = []

    def add(self, t: Any, v: Any) -> None:
        self.times.append(t)
        self.values.append(v)


@dataclass
class Log:
    times: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, t: Any, v: Any) -> None:
        self.times.append(t)
        self.values += [v]


def decay(x: Any, add: Any) -> None:
    t, v = 0.0, x[0]
    while t < 1.0:
        h = 0.1 + 0.05 * abs(v)
        v = v - h * v + h * x[1]
        t += h
        add(t, v)


@PROGRAMS
def of_an_object(x: Any) -> Any:
    log = Recorder(x[0])
    decay(x, log.add)
    return sum(log.values) + log.times[-1] * len(log.times)


@PROGRAMS
def of_a_dataclass(x: Any) -> Any:
    log = Log()
    decay(x, log.add)
    return np.mean(log.values) + log.times[-1]


@PROGRAMS
def of_a_dict(x: Any) -> Any:
    log: dict[str, list[Any]] = {"t": [0.0], "v": []}

    def add(t: Any, v: Any) -> None:
        log["t"].append(t)
        log["v"].append(v)

    decay(x, add)
    return sum(log["v"]) + log["t"][-1] * len(log["v"])


@PROGRAMS
def of_a_dict_by_names(x: Any) -> Any:
    log: dict[str, list[Any]] = {name: [] for name in ("t", "v")}

    def add(t: Any, v: Any) -> None:
        for name, value in zip(log, (t, v), strict=True):
            log[name].append(value)

    decay(x, add)
    return sum(log["v"]) + max(log["t"])


@PROGRAMS
def of_a_list(x: Any) -> Any:
    rows: list[list[Any]] = [[] for _ in range(2)]
    v = x[0]
    for _ in range(20):
        v = v - 0.1 * v
        if v < 0.5:
            v += x[1]
            rows[0].append(v)
        else:
            rows[1].append(v)
    return sum(rows[0]) + sum(rows[1]) ** 2


@PROGRAMS
def given_to_a_function(x: Any) -> Any:
    values = [x[0]]

    def fill(into: Any) -> None:
        while into[-1] < 3:
            into.append(into[-1] * (1.2 + x[1]))

    fill(values)
    return sum(values)


@PROGRAMS
def items_are_taken_off(x: Any) -> Any:
    log = Recorder(x[0])
    log.values.append(x[1])
    total = 0.0
    while log.values:
        v = log.values.pop()
        total += v
        if v > 0.2:
            log.values.append(v / 3)
    return total


class Simulator:
    def __init__(self, rate: Any) -> None:
        self.rate, self.now = rate, 0.0
        self.queue: list[Any] = []
        self.log: list[Any] = []

    def schedule(self, delay: Any, kind: int) -> None:
        heapq.heappush(self.queue, (self.now + delay, kind))

    def run(self, until: float) -> None:
        while self.queue and self.queue[0][0] < until:
            self.now, kind = heapq.heappop(self.queue)
            self.schedule(self.rate * (2 - kind), 1 - kind)
            self.log.append(self.now)


@PROGRAMS
def events_of_an_object(x: Any) -> Any:
    s = Simulator(x[0])
    s.schedule(x[1], 0)
    s.run(4.0)
    return sum(s.log) / len(s.log)


class Counts:
    def __init__(self, n: int) -> None:
        self.of = [0.0] * n


@PROGRAMS
def written_at_a_place_of_a_run(x: Any) -> Any:
    counts = Counts(3)
    for k in range(6):
        counts.of[int(2.9 * abs(np.sin(k * x[0])))] += x[1]
    return sum((k + 1) * v**2 for k, v in enumerate(counts.of))


@pytest.mark.parametrize("way", ["jit", "vmap"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str, way: str) -> None:
    if way == "vmap" and name == "events_of_an_object":
        pytest.skip("test_stacks_and_queues has heaps in lanes")
    check_values(PROGRAMS[name], way, [(x,) for x in POINTS])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradient(PROGRAMS[name], "jit of grad", POINTS[0])


EVERYWHERE: list[Any] = []


def test_a_list_of_the_module_is_refused() -> None:
    def program(x: Any) -> Any:
        v = x[0]
        while v < 3:
            v = v * 2
            EVERYWHERE.append(v)
        return v

    with pytest.raises(ConcretizationError, match=r"'list\.append' in a branch or loop"):
        tg.jit(program)(POINTS[0])
    assert EVERYWHERE == []
