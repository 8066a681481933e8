"""Random loops and branches (tests/loop_programs.py) against Python's own: values and derivatives
of both orders and modes, batches, printing.

`pytest tests/control/test_random_loops.py --soak 10000` runs as many as one likes, and compiles
every one of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import tracegrad as tg
from tests.checks import assert_same
from tests.loop_programs import Program, programs
from tests.loop_ways import Library, Plain
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.registry import OPS_BY_NAME
from tracegrad.schedule import build
from tracegrad.schedule import two_step_reductions as fission
from tracegrad.schedule.passes import batch_blocks as lanes
from tracegrad.transforms.rewrite import optimize

WRT = (0, 1, 2)
COMMON: Any = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def tolerance(p: Program) -> float:
    return 1e-9 if p.single else 1e-10


def settled(values: Any) -> bool:
    """Whether numbers are small enough to be compared."""
    return all(np.all(np.isfinite(v)) and np.max(np.abs(v), initial=0) < 1e4 for v in values)


def of_graph(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Graph, list[Any]]:
    """The graph of a call as it was traced, and its inputs."""
    entry = tg.jit(function)._entry(args, {})[0]
    return entry.graph, [*args, *entry.traced.captures]


def same_in_every_form(
    function: Callable[..., Any], args: tuple[Any, ...], expected: Any, tol: float, compiled: bool
) -> None:
    """The graph of the function gives these results: traced, optimized, printed and parsed, as
    source, and compiled."""
    graph, inputs = of_graph(function, args)
    small = verify(optimize(graph))
    text = str(small)
    again = verify(parse_graph(text, OPS_BY_NAME))
    assert str(again) == text
    for g in (graph, again):
        assert_same(tuple(evaluate(verify(g), inputs)), expected, tol)
    assert_same(tuple(run_unjitted(small, inputs)), expected, tol)
    if compiled:
        assert_same(tg.jit(function)(*args), expected, tol)


def first(p: Program, loops: Any) -> Callable[..., Any]:
    """Results, their sum, and its gradient, in one function."""

    def function(*args: Any) -> Any:
        value, gradient = tg.value_and_grad(p.objective(loops), WRT)(*args)
        return (*p.run(loops)(*args), value, *gradient)

    return function


def tangents(p: Program, loops: Any, directions: tuple[Any, ...]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        outs, ds = tg.jvp(lambda *xs: p.run(loops)(*xs, args[3]), args[:3], directions)
        return (*outs, *ds)

    return function


def forward_over_reverse(p: Program, loops: Any, directions: tuple[Any, ...]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return tg.jvp(
            lambda *xs: tg.grad(p.objective(loops), WRT)(*xs, args[3]), args[:3], directions
        )[1]

    return function


def reverse_over(inner: Callable[..., Any], directions: tuple[Any, ...]) -> Callable[..., Any]:
    """The gradient of a projection of `inner`, which gives first derivatives."""

    def function(*args: Any) -> Any:
        def projected(*xs: Any) -> Any:
            return sum(np.sum(g * d) for g, d in zip(inner(*xs, args[3]), directions, strict=True))

        return tg.grad(projected, WRT)(*args[:3])

    return function


def check(p: Program, compiled: bool = False) -> None:
    args, tol = p.arguments(), tolerance(p)
    directions = p.arguments(1)[:3]
    expected = tuple(np.asarray(x) for x in first(p, Plain)(*args))
    second = forward_over_reverse(p, Plain, directions)(*args)
    assume(settled(expected) and settled(second))
    assert_same(first(p, Library)(*args), expected, tol)
    same_in_every_form(first(p, Library), args, expected, tol, compiled)

    moved = tangents(p, Plain, directions)(*args)
    value = sum(
        np.sum(np.cos(o + 0.1 * k) * d)
        for k, (o, d) in enumerate(zip(moved[:2], moved[2:], strict=True))
    )
    assert_same(
        value, sum(np.sum(g * d) for g, d in zip(expected[-3:], directions, strict=True)), tol * 10
    )
    same_in_every_form(tangents(p, Library, directions), args, moved, tol, compiled)

    same_in_every_form(
        forward_over_reverse(p, Library, directions), args, second, tol * 10, compiled
    )
    same_in_every_form(
        reverse_over(tg.grad(p.objective(Library), WRT), directions),
        args,
        second,
        tol * 10,
        compiled,
    )


def check_batch(p: Program, compiled: bool = False, count: int = 3) -> None:
    """vmap against a loop; of values and gradients, with every argument mapped and with the vector
    alone."""
    tol = tolerance(p)
    rows = [p.arguments(seed) for seed in range(1, 1 + count)]
    batch = tuple(np.stack(column) for column in zip(*rows, strict=True))
    for axes in ((0, 0, 0, 0), (None, 0, None, None)):
        args = tuple(
            b if a == 0 else rows[0][k] for k, (a, b) in enumerate(zip(axes, batch, strict=True))
        )
        items = [tuple(r[k] if a == 0 else rows[0][k] for k, a in enumerate(axes)) for r in rows]
        singles = [first(p, Plain)(*item) for item in items]
        assume(all(map(settled, singles)))
        expected = tuple(np.stack(column) for column in zip(*singles, strict=True))
        assert_same(tg.vmap(first(p, Library), in_axes=axes)(*args), expected, tol)
        same_in_every_form(tg.vmap(first(p, Library), in_axes=axes), args, expected, tol, compiled)


def check_sum(p: Program, compiled: bool = False) -> None:
    """Value and gradients of a sum over a batch."""
    tol = tolerance(p) * 10
    rows = [p.arguments(seed) for seed in range(1, 6)]
    singles = [tg.value_and_grad(p.objective(Plain), WRT)(*row) for row in rows]
    assume(all(settled((value, *gradients)) for value, gradients in singles))
    expected = (
        sum(value for value, _ in singles),
        *[np.stack(g) for g in zip(*[gradients for _, gradients in singles], strict=True)],
    )

    def function(*args: Any) -> Any:
        value, gradients = tg.value_and_grad(
            lambda *xs: np.sum(tg.vmap(p.objective(Library))(*xs)), WRT
        )(*args)
        return (value, *gradients)

    same_in_every_form(
        function,
        tuple(np.stack(column) for column in zip(*rows, strict=True)),
        expected,
        tol,
        compiled,
    )


def check_sizes(p: Program, compiled: bool = False) -> None:
    """A graph for any size: values and gradients at sizes other than those that it was traced
    for."""
    traced = tg.jit(first(p, Library))
    for n in (3, 4, 2, 5, 1):
        args = p.arguments(n=n)
        expected = tuple(np.asarray(x) for x in first(p, Plain)(*args))
        if settled(expected):
            entry = traced._entry(args, {})[0]
            inputs = [*args, *entry.traced.captures]
            assert_same(
                tuple(run_unjitted(verify(optimize(entry.graph)), inputs)), expected, tolerance(p)
            )
            if compiled:
                assert_same(traced(*args), expected, tolerance(p))


@settings(max_examples=12, **COMMON)
@given(programs())
def test_derivatives(p: Program) -> None:
    check(p)


@settings(max_examples=6, **COMMON)
@given(programs())
def test_batches(p: Program) -> None:
    check_batch(p)


@settings(max_examples=6, **COMMON)
@given(programs())
def test_batches_side_by_side(p: Program) -> None:
    """Blocks of two items, the last of which has one."""
    with patch.multiple(lanes, ITEMS=2, LOCKSTEP=2):
        check_batch(p, count=5)


def test_sums_over_batches_in_blocks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (lanes, "BLOCK", 2),
        (lanes, "FEWEST", 1),
        (lanes, "ITEMS", 2),
        (lanes, "LOCKSTEP", 2),
        (fission, "FEWEST", 1),
    ):
        monkeypatch.setattr(module, name, value)
    found: list[bool] = []
    monkeypatch.setattr(
        build, "in_blocks", lambda *args: found.append(fission.in_blocks(*args)) or found[-1]
    )
    settings(max_examples=12, **COMMON)(given(programs())(lambda p: check_sum(p)))()
    assert sum(found) > 2, "in most programs, blocks of lanes go through both loops"


@settings(max_examples=6, **COMMON)
@given(programs())
def test_compiled(p: Program) -> None:
    args = p.arguments()
    expected = tuple(np.asarray(x) for x in first(p, Plain)(*args))
    assume(settled(expected))
    assert_same(tg.jit(first(p, Library))(*args), expected, tolerance(p))


def test_soak(request: Any) -> None:
    count = int(request.config.getoption("--soak"))
    if not count:
        pytest.skip("give --soak N for N further random programs")

    def checked(p: Program) -> None:
        check(p, True)
        check_batch(p, True)
        check_sum(p, True)

    settings(max_examples=count, **{**COMMON, "derandomize": False})(given(programs())(checked))()
