"""The rows of the table of semantics: each program is what plain Python makes of it, where loops
are kept and where they are written out, forwards and backwards, at points that take other branches.

Graphs are evaluated, and nothing is compiled; test_statements.py and test_meaning.py have compiled
programs of all kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.semantics import (
    carries,
    expressions,
    iterables,
    jumps,
    makers,
    objects,
    ranges,
    writes,
)
from tests.staging.ways import Function, evaluated
from tracegrad.staging import loops

TABLES = (carries, jumps, ranges, iterables, writes, makers, expressions, objects)
PROGRAMS = {
    f"{row}: {f.__name__}": f for table in TABLES for row, fs in table.ROWS.items() for f in fs
}
POINTS = [np.array([1.45, -0.45, 2.55, 0.3]), np.array([-1.3, 0.7, 1.9, -2.6])]


def slopes(f: Function, x: Any, step: float = 1e-6) -> Any:
    """The derivatives by differences, and where the function is smooth enough for them."""
    found = [
        np.stack([(f(x + h * d) - f(x - h * d)) / (2 * h) for d in np.eye(4)])
        for h in (step, 3 * step)
    ]
    return found[0], np.isclose(*found, rtol=1e-4, atol=1e-5)


def check_slopes(found: Any, f: Function, x: Any, step: float = 1e-6) -> None:
    near, smooth = slopes(f, x, step)
    if near.dtype == np.float64:
        np.testing.assert_allclose(found[smooth], near[smooth], rtol=1e2 * step, atol=10 * step)


def check_as_plain_python(f: Function, second: bool = True) -> None:
    """Value, gradient, Hessian where it is asked for, and vmap, by graphs that are evaluated."""
    for x in POINTS:
        value, gradient = evaluated(tg.value_and_grad(f), x)[:2]
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-11, atol=1e-12)
        check_slopes(gradient, f, x)
    if second:
        check_slopes(evaluated(tg.hessian(f), POINTS[0])[0], tg.grad(f), POINTS[0], 1e-5)
    lanes = evaluated(tg.vmap(f), np.stack(POINTS))[0]
    np.testing.assert_allclose(lanes, [f(x.copy()) for x in POINTS], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """At one of the points in turns; with the option at both."""
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    f = PROGRAMS[name]
    number = [*PROGRAMS].index(name)
    for k, x in enumerate(POINTS):
        if k == number % 2 and request.config.getoption("--soak") < 1:
            continue
        value, gradient = evaluated(tg.value_and_grad(f), x)[:2]
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-11, atol=1e-12)
        if k:
            check_slopes(gradient, f, x)
        else:
            # Of loops that are written out, by the tape.
            np.testing.assert_allclose(gradient, tg.grad(f)(x.copy()), rtol=1e-8, atol=1e-9)


def in_lanes(f: Function) -> None:
    lanes = np.stack(POINTS)
    found = evaluated(tg.vmap(f), lanes)[0]
    np.testing.assert_allclose(found, [f(x.copy()) for x in POINTS], rtol=1e-11, atol=1e-12)


def forwards(f: Function) -> None:
    direction = np.array([0.3, -1.0, 0.7, 0.2])
    for x in POINTS:
        found = evaluated(lambda x: tg.jvp(f, (x,), (direction,))[1], x)[0]
        np.testing.assert_allclose(found, tg.grad(f)(x) @ direction, rtol=1e-6, atol=1e-9)


def of_jit(f: Function) -> None:
    x = POINTS[1]
    found = evaluated(tg.grad(tg.jit(f)), x, stage="auto")[0]
    np.testing.assert_allclose(found, tg.grad(f)(x), rtol=1e-9, atol=1e-10)


def twice(f: Function) -> None:
    x = POINTS[0]
    found, eager = evaluated(tg.hessian(f), x)[0], tg.hessian(f)(x)
    np.testing.assert_allclose(found, eager, rtol=1e-8, atol=1e-9)
    check_slopes(eager, tg.grad(f), x, 1e-5)


OTHER_WAYS = {"vmap": in_lanes, "jvp": forwards, "grad of jit": of_jit, "hessian": twice}
SHORT = {f"{row}: {fs[0].__name__}" for t in TABLES for row, fs in t.ROWS.items()}


@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_ways(name: str, way: str, request: pytest.FixtureRequest) -> None:
    """The first program of each row; of all rows all with the option."""
    if name not in SHORT and request.config.getoption("--soak") < 1:
        pytest.skip("give --soak 1 for all programs")
    OTHER_WAYS[way](PROGRAMS[name])
