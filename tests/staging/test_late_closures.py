"""Functions and generators made in a comprehension read its targets when they are called: then all
of them see the last item. Rewritten code once gave each the item that it was made at."""

# ruff: noqa: B023, C400, C417, PERF401

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.array([1.2, 0.7, -0.9])


def _of_a_loop(x: Any) -> Any:
    found = []
    for i in range(3):
        found.append(lambda v: v * (i + 1))
    return found[0](x[0]) + 10 * found[1](x[1])


def _while(x: Any) -> Any:
    found, i = [], 0
    while i < 3:
        found.append(lambda v: v * (i + 1))
        i += 1
    return found[0](x[0]) + 10 * found[1](x[1])


def _of_a_generator(x: Any) -> Any:
    made = (lambda v: v * (i + 1) for i in range(3))
    first = next(made)
    at_first = first(x[0])
    second = next(made)
    return at_first + 10 * first(x[1]) + second(x[2])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: [f(v) for f, v in zip([lambda v: v * i for i in range(3)], x, strict=True)],
    "list of a generator": lambda x: list(lambda v: v * (i + 1) for i in range(3))[0](x[0]),
    "over an array": lambda x: [lambda v: v * w for w in x][0](x[0]),
    "pairs": lambda x: [lambda v: v * w + k for k, w in enumerate(x)][1](x[0]),
    "nested": lambda x: [[lambda v: v * (i + 10 * j) for i in (1, 2)] for j in (3, 4)][0][0](x[0]),
    "with a condition": lambda x: [lambda v: v * (i + 1) for i in range(3) if i != 2][0](x[0]),
    "partial": lambda x: [partial(lambda a, v: v * (a + i), i) for i in range(3)][0](x[0]),
    "generators": lambda x: sum([(v * i for v in x) for i in range(3)][0]),
    "in a map": lambda x: sum([map(lambda v: v * i, x) for i in range(3)][0]),
    "default": lambda x: [lambda v, i=i: v * (i + 1) for i in range(3)][0](x[0]),
    "read at once": lambda x: [sum(v * i for v in x) for i in range(3)],
    "by a key": lambda x: [sorted([1, 2, 3], key=lambda k: -k * i)[0] * x[0] for i in (1, -1)],
    "called at once": lambda x: sum([tg.grad(lambda v: v * v * w)(w) for w in x[x > 0]]),
    "called as it is": lambda x: sum([(lambda v: v * w)(w) for w in x[x > 0]]),
    "dict": lambda x: {i: lambda v: v * (i + 1) for i in range(3)}[0](x[0]),
    "loop": _of_a_loop,
    "while": _while,
    "generator": _of_a_generator,
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "jit": tg.jit,
    "staged": lambda f: tg.jit(f, stage=True),
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (x,))[0],
    "staged vjp": lambda f: tg.jit(lambda x: tg.vjp(f, x)[0], stage=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_targets_are_read_when_functions_are_called(name: str, way: str) -> None:
    f = PROGRAMS[name]
    assert np.allclose(WAYS[way](f)(X), f(X))
