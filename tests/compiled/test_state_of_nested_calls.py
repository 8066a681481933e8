"""A compiled function that changes Python's state and is called several times by another one: each
call reads what the one before it stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Made = tuple[Callable[[Any], Any], Callable[[], list[Any]]]
AROUND: list[Any] = []


def items(jit: Any) -> Made:
    h = [0.5, 1.0]

    def step(x: Any) -> Any:
        h[0], h[1] = h[1] + x, h[0] * 2
        return x * h[0] * h[1]

    return jit(step), lambda: h


def bound_anew(jit: Any) -> Made:
    h = [1.0, 2]

    def step(x: Any) -> Any:
        nonlocal h
        h = [h[1] * 0.5 + x, h[1] + 1]
        return x * h[0]

    return jit(step), lambda: h


def attributes(jit: Any) -> Made:
    class Filter:
        def __init__(self) -> None:
            self.h, self.n = [1.0, 2.0], 0

        def __call__(self, x: Any) -> Any:
            self.n += 1
            self.h = [self.h[1] + x, self.h[0] * self.n]
            return x * self.h[0] + self.n

    made = Filter()
    return jit(made), lambda: [*made.h, made.n]


def of_the_module(jit: Any) -> Made:
    global AROUND
    AROUND = [1.0, 3.0]

    def step(x: Any) -> Any:
        AROUND[0], AROUND[1] = AROUND[1] - 1, AROUND[0] + x
        return x * AROUND[1]

    return jit(step), lambda: AROUND


def by_a_third(jit: Any) -> Made:
    h = [0.5, 1.0]

    def lowest(x: Any) -> Any:
        h[0] = h[0] + x
        h[1] = h[1] * 2
        return x * h[0]

    low = jit(lowest)
    return jit(lambda x: low(x) + low(x + 1)), lambda: h


WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": tg.jit,
    "jit of grad": lambda f: tg.jit(tg.value_and_grad(f)),
    "grad of jit": lambda f: tg.value_and_grad(tg.jit(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [items, bound_anew, attributes, of_the_module, by_a_third])
def test_several_calls(make: Callable[[Any], Made], way: str) -> None:
    def outcome(jit: Any, way: Any) -> list[Any]:
        step, state = make(jit)

        def f(x: Any) -> Any:
            return step(x) + 2 * step(0.5 * x) - step(x + 1)

        called, found = way(f), []
        for x in (1.5, 0.25):
            result = called(x)
            found.append([result[0] if type(result) is tuple else result, *state()])
        return found

    expected = outcome(lambda f: f, lambda f: f)
    np.testing.assert_allclose(outcome(tg.jit, WAYS[way]), expected, rtol=1e-14)
