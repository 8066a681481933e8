"""Lists of dataclasses that loops on traced values fill: read as Python reads them, and what would
be seen in the list later is refused."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradient, check_values
from tracegrad.errors import ConcretizationError

POINTS = (np.array([0.63, 0.28]), np.array([1.17, 0.71]))
PROGRAMS, REFUSED = Programs(), Programs()


class Rate(NamedTuple):
    of_decay: Any
    of_growth: Any


@dataclass
class State:
    t: Any
    y: Any
    rate: Any = None

    def energy(self) -> Any:
        return np.sum(self.y**2) if self.t > 0.4 else self.t

    def advance(self, h: Any) -> None:
        self.t += h


@dataclass(frozen=True)
class Fixed:
    t: Any
    inner: State


@PROGRAMS
def as_many_as_it_takes(x: Any) -> Any:
    s = State(0.0, np.array([1.0, 0.0]), Rate(x[0], x[1]))
    history = [s]
    while s.t < 1.0:
        h = 0.1 + 0.05 * abs(s.y[0])
        force = np.array([s.y[1], -s.rate.of_decay * s.y[0]])
        s = State(s.t + h, s.y + h * force, s.rate)
        history.append(s)
    mean = sum(q.y[1] ** 2 for q in history) / len(history)
    return history[-1].y[0] + mean + history[1].energy() + sum(q.energy() for q in history)


@PROGRAMS
def in_some_passes(x: Any) -> Any:
    s, kept = State(0.0, x), []
    for k in range(8):
        s = dataclasses.replace(s, t=s.t + x[1] * np.sin(k), y=s.y * 1.1)
        if s.t > 0.2:
            kept.append(Fixed(s.t, s))
    last = max(kept, key=lambda f: f.t)
    return last.t + np.sum(last.inner.y) + len(kept) + sum(f.inner.t for f in kept[1:])


@PROGRAMS
def taken_off_again(x: Any) -> Any:
    stack, total = [State(1.0, x[0])], 0.0
    while stack:
        s = stack.pop()
        total += s.t * s.y
        if s.t > 0.2:
            stack.append(State(s.t / 2, s.y + 0.1))
            stack.append(State(s.t / 3, s.y * x[1]))
    return total


@PROGRAMS
def copies_are_changed(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    for _ in range(40):
        s.t += x[1]
        s.advance(0.1)
        history.append(dataclasses.replace(s))
    return sum(q.t for q in history) + s.t


@REFUSED
def the_same_in_each_pass(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s.t += x[1]
        history.append(s)
    return sum(q.t for q in history)


@REFUSED
def changed_after_it_was_appended(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s = State(s.t + x[1], s.y)
        history.append(s)
        s.advance(0.5)
    return sum(q.t for q in history)


@REFUSED
def changed_in_the_next_pass(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s.t += 0.3
        s = State(s.t + x[1], s.y)
        history.append(s)
    return sum(q.t for q in history)


@REFUSED
def changed_behind_the_loop(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s = State(s.t + x[1], s.y)
        history.append(s)
    s.t = 0.0
    return sum(q.t for q in history)


@REFUSED
def an_item_is_changed(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s = State(s.t + x[1], s.y)
        history.append(s)
    history[0].advance(1.0)
    return sum(q.t for q in history)


@REFUSED
def items_are_changed(x: Any) -> Any:
    s, history = State(0.0, x[0]), []
    while s.t < 2:
        s = State(s.t + x[1], s.y)
        history.append(s)
    for q in history:
        q.t *= 2
    return sum(q.t for q in history)


@REFUSED
def the_first_is_changed(x: Any) -> Any:
    first = State(0.0, x[0])
    s, history = first, [first]
    while s.t < 2:
        s = State(s.t + x[1], s.y)
        history.append(s)
    first.t = 7.0
    return sum(q.t for q in history)


@REFUSED
def an_array_of_an_item_is_written(x: Any) -> Any:
    s, history = State(0.0, x * 1.0), []
    while s.t < 2:
        s = State(s.t + x[1], s.y * 1.1)
        history.append(s)
    history[0].y[0] = 7.0
    return sum(np.sum(q.y) for q in history)


@REFUSED
def an_array_is_written_after_it_was_appended(x: Any) -> Any:
    s, history = State(0.0, x * 1.0), []
    while s.t < 2:
        s = State(s.t + x[1], s.y * 1.1)
        history.append(s)
        s.y[0] += 1.0
    return sum(np.sum(q.y) for q in history)


@pytest.mark.parametrize("way", ["jit", "vmap"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str, way: str) -> None:
    check_values(PROGRAMS[name], way, [(x,) for x in POINTS])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradient(PROGRAMS[name], "jit of grad", POINTS[0])


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_list_would_show_is_refused(name: str) -> None:
    with pytest.raises(ConcretizationError, match=r"^test_dataclasses_in_lists.py:\d+: "):
        tg.jit(REFUSED[name])(POINTS[0])
