"""Objects that branches and loops give anew (dataclasses) and that have two names in Python: what
is set under one is seen under the other, or it is refused."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradients, check_values
from tracegrad.errors import ConcretizationError

POINTS = (np.array([0.5, 0.7]), np.array([-0.5, 0.7]))
SEEN, REFUSED = Programs(), Programs()


@dataclass
class State:
    t: Any
    y: Any = 0.0

    def bump(self, h: Any = 1.0) -> None:
        self.t += h

    def kick(self, h: Any) -> None:
        self.y += h


@dataclass(slots=True)
class Slotted:
    t: Any


@REFUSED
def one_of_two(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    s = a if x[0] > 0 else b
    s.t = s.t + 1
    return a.t + 2 * b.t


@REFUSED
def one_of_two_in_branches(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    if x[0] > 0:
        s = a
    else:
        s = b
    s.t += 1
    return a.t + 2 * b.t


@REFUSED
def without_weak_references(x: Any) -> Any:
    a, b = Slotted(x[0]), Slotted(x[1])
    s = a if x[0] > 0 else b
    s.t = s.t + 1
    return a.t + 2 * b.t


@REFUSED
def set_under_the_first_name(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    s = a if x[0] > 0 else b
    a.t = a.t + 1
    return s.t + 2 * b.t


@REFUSED
def by_a_method(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    (a if x[0] > 0 else b).bump()
    return a.t + 2 * b.t


@REFUSED
def by_a_method_of_a_class_made_here(x: Any) -> Any:
    @dataclass
    class Own:
        t: Any

        def bump(self) -> None:
            self.t += 1

    a, b = Own(x[0]), Own(x[1])
    s = a if x[0] > 0 else b
    s.bump()
    return a.t + 2 * b.t


def larger(a: Any, b: Any) -> Any:
    if a.t > b.t:
        return a
    return b


@REFUSED
def chosen_by_a_function(x: Any) -> Any:
    """The function that sets the attribute has nothing that needs to be rewritten."""
    a, b = State(x[0]), State(x[1])
    s = larger(a, b)
    s.t += 1
    return a.t + 2 * b.t


@REFUSED
def chosen_twice(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    s = larger(larger(a, b), State(0.6))
    s.t += 1
    return a.t + 2 * b.t


@REFUSED
def exchanged(x: Any) -> Any:
    a, b = State(x[0]), State(x[1])
    if x[0] < x[1]:
        low, high = a, b
    else:
        low, high = b, a
    low.t -= 1
    high.t += 1
    return a.t + 2 * b.t


@REFUSED
def two_names_of_one_chosen(x: Any) -> Any:
    a = b = State(0.0)
    if x[0] > 0:
        a = b = State(x[1])
    a.t += 1
    return a.t + 3 * b.t


@REFUSED
def as_it_was_before(x: Any) -> Any:
    a = State(x[0])
    kept = a
    if x[0] > 0:
        a = State(x[1])
    a.t += 1
    return a.t + 3 * kept.t


@REFUSED
def two_names_from_a_loop(x: Any) -> Any:
    a = State(x[0])
    b = a
    while a.t < 4.2:
        a = State(a.t + x[1])
        b = a
    b.t += 1
    return a.t


@REFUSED
def after_a_loop_without_pass(x: Any) -> Any:
    a = State(x[0])
    kept = a
    while a.t < -2:
        a = State(a.t + x[1])
    a.t += 1
    return a.t + kept.t


@REFUSED
def set_in_a_loop_that_binds_it(x: Any) -> Any:
    a = State(x[0])
    s = a
    while s.t < 3:
        s.t += x[1]
        s = State(s.t * 1.1)
    return a.t + s.t


@REFUSED
def an_array_of_one_of_two(x: Any) -> Any:
    a, b = State(0.0, x * 1.0), State(0.0, x * 2.0)
    s = a if x[0] > 0 else b
    s.y[0] = 5.0
    return np.sum(a.y) + 2 * np.sum(b.y)


@REFUSED
def an_array_of_one_of_two_by_a_method(x: Any) -> Any:
    a, b = State(0.0, x * 1.0), State(0.0, x * 2.0)
    s = a if x[0] > 0 else b
    s.kick(1.0)
    return np.sum(a.y) + 2 * np.sum(b.y)


@SEEN
def best_so_far_is_the_same(x: Any) -> Any:
    now = State(x[0])
    best = now
    for k in range(12):
        now.t = now.t + np.sin(k * x[1])
        if now.t > best.t:
            best = now
    return best.t + now.t


@SEEN
def best_array_so_far_is_the_same(x: Any) -> Any:
    now = State(0.0, x * 1.0)
    best = now
    for k in range(12):
        now.kick(np.sin(k * x[1]))
        if now.y[0] > best.y[0]:
            best = now
    return np.sum(now.y) + 2 * np.sum(best.y)


@SEEN
def best_so_far_is_a_copy(x: Any) -> Any:
    now = State(x[0])
    best = copy.copy(now)
    for k in range(12):
        now.t = now.t + np.sin(k * x[1])
        if now.t > best.t:
            best = dataclasses.replace(now)
    best.t += 2
    return best.t + now.t


@SEEN
def nobody_else_knows_it(x: Any) -> Any:
    s = State(x[0])
    while s.t < 3:
        s = State(s.t + 0.3)
        s.t += x[1]
    s.t *= 2
    if s.t > 3:
        s = State(s.t * x[1])
    s.t += 1
    return s.t


@SEEN
def set_before_it_is_bound_anew(x: Any) -> Any:
    s = State(x[0])
    while s.t < 3:
        s.t += abs(x[1])
        if s.t > 1:
            s.y = x[1]
        s = State(s.t * 1.1, s.y)
    return s.t + s.y


@SEEN
def the_one_that_is_left(x: Any) -> Any:
    s = State(x[0])
    s = State(x[1]) if x[0] > 0 else s
    s.bump(x[1])
    return s.t


@pytest.mark.parametrize("way", ["jit", "vmap"])
@pytest.mark.parametrize("name", SEEN)
def test_values_are_those_of_python(name: str, way: str) -> None:
    check_values(SEEN[name], way, [(x,) for x in POINTS])


@pytest.mark.parametrize("name", SEEN)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradients(SEEN[name], "jit of grad", [(x,) for x in POINTS])


@pytest.mark.parametrize("name", REFUSED)
def test_two_names_are_refused(name: str) -> None:
    program = REFUSED[name]
    message = r"^test_objects_of_two_names.py:\d+: .*(a copy|have to see)"
    with pytest.raises(ConcretizationError, match=message):
        tg.jit(program)(POINTS[0])
    found = tg.grad(program)(POINTS[0])
    steps = 1e-6 * np.eye(2)
    slopes = [(program(POINTS[0] + s) - program(POINTS[0] - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-8)
