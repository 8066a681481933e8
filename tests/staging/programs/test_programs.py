"""Whole programs, as people wrote them for NumPy: the value is NumPy's, the gradient that of finite
differences, at several sizes; from the second size on one executable serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.programs import matrices, simulations, vectors
from tests.staging.ways import copies, value
from tracegrad.bench.peers.programs_with_tracegrad import texts
from tracegrad.ir.evaluate import evaluate

RNG = np.random.default_rng(7)
SIZES = (5, 7, 9)
VECTORS = [*vectors.PROGRAMS, *simulations.PROGRAMS]
INPUTS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    **{p.__name__: (p, [(RNG.normal(size=n) + 0.1,) for n in SIZES]) for p in VECTORS},
    **{p.__name__: (p, [(RNG.normal(size=(n, n)),) for n in (4, 5, 6)]) for p in matrices.PROGRAMS},
    # What the benchmarks measure.
    **{name: (t.total, [t.at(n) for n in (4, 5, 6)]) for name, t in texts().items()},
}


LONG = {"option lattice"}
"""Too long for a tape: its steps do not depend on the size."""


def slopes(program: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The derivatives along two directions of all arguments, by central differences."""
    found = []
    for directions in every_direction(args):
        ends = [
            value(program, *[x + s * 1e-6 * d for x, d in zip(args, directions, strict=True)])
            for s in (1, -1)
        ]
        found.append((ends[0] - ends[1]) / 2e-6)
    return found


def every_direction(args: tuple[Any, ...]) -> list[list[Any]]:
    rng = np.random.default_rng(1)
    return [[rng.normal(size=np.shape(x)) for x in args] for _ in range(2)]


def check(program: Callable[..., Any], args: tuple[Any, ...], found: Any, gradients: Any) -> None:
    np.testing.assert_allclose(found, value(program, *args), rtol=1e-12)
    along = [
        sum(np.sum(g * d) for g, d in zip(gradients, ds, strict=True))
        for ds in every_direction(args)
    ]
    np.testing.assert_allclose(along, slopes(program, args), rtol=5e-5, atol=1e-6)


def evaluated(jitted: Any, *args: Any) -> Any:
    """The results of what is traced, operation by operation."""
    graph = jitted.graphs(*args)[0]
    given = [*map(np.asarray, args), *jitted._entry(args, {}).entry.traced.captures]
    return evaluate(graph, given)


@pytest.mark.parametrize("name", INPUTS)
def test_program(name: str) -> None:
    """Of the first size what is traced is evaluated; for the others one function is compiled."""
    program, (first, *others) = INPUTS[name]
    numbers = tuple(range(len(first)))
    both: Any = tg.jit(tg.value_and_grad(program, argnums=numbers))
    found, *gradients = evaluated(both, *first)
    check(program, first, found, gradients)
    if name not in LONG:
        eager = tg.grad(program, argnums=numbers)(*first)
        for g, e in zip(gradients, eager, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-11)
    entries = []
    for args in others:
        before = copies(args)
        check(program, args, *both(*args))
        for x, was in zip(args, before, strict=True):
            np.testing.assert_array_equal(x, was)
        entries.append(len({id(e) for e in both._signatures.entries.values()}))
    assert entries[1] == entries[0]


@pytest.mark.parametrize(
    "name", [p.__name__ for p in (*simulations.SMOOTH, *matrices.SMOOTH)] + ["LU", "Cholesky"]
)
def test_second_derivatives(name: str) -> None:
    program, (args, *_) = INPUTS[name]
    x, rest = args[0], args[1:]
    direction, step = np.cos(np.arange(x.size)).reshape(x.shape), 1e-5
    gradient = tg.grad(program)
    expected = (gradient(x + step * direction, *rest) - gradient(x - step * direction, *rest)) / (
        2 * step
    )
    product = tg.jit(lambda x: tg.hvp(lambda x: program(x, *rest), x, direction))
    (found,) = evaluated(product, x)
    scale = 1 + np.max(np.abs(expected))
    np.testing.assert_allclose(found / scale, expected / scale, atol=2e-6)
