"""Two loops of which the second reads rows of the first go row by row: in blocks that begin early,
with few rows of what is in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.kernel_runner import Runner
from tracegrad.schedule import build, rows_in_turn, schedule
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(5)


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> list[rows_in_turn.Pair]:
    """The pairs that are written, of small arrays, too."""
    monkeypatch.setattr(build, "BLOCK", 48)
    monkeypatch.setattr(rows_in_turn, "FEWEST", 1)
    monkeypatch.setattr(rows_in_turn, "NARROW", 2)
    found: list[rows_in_turn.Pair] = []
    write = rows_in_turn.written

    def noted(builder: Any, pair: rows_in_turn.Pair) -> None:
        found.append(pair)
        write(builder, pair)

    monkeypatch.setattr(build, "written", noted)
    return found


def cut(z: Any, at: tuple[int, int], most: tuple[int, int]) -> Any:
    """The part of an array that begins there, of the size that all such parts have."""
    rows, columns = z.shape[0] - most[0], z.shape[1] - most[1]
    return z[at[0] : at[0] + rows, at[1] : at[1] + columns]


def stencil(z: Any, draw: random.Random, most: tuple[int, int]) -> Any:
    """A sum of some shifted arrays."""
    total: Any = 0.0
    for _ in range(draw.choice((2, 2, 3))):
        at = draw.randint(0, most[0]), draw.randint(0, most[1])
        total = total + draw.uniform(-1, 1) * cut(z, at, most)
    return total


def of_neighbours(seed: int) -> Callable[..., Any]:
    """Values of what is around each place, and what is made of their neighbours, with totals."""

    def f(x: Any, y: Any) -> Any:
        draw = random.Random(seed)
        most = draw.choice(((1, 1), (2, 1), (0, 1), (3, 0)))
        kept = [np.sin(stencil(z, draw, most)) for z in (x, y)]
        if draw.random() < 0.4:
            kept.append(kept[0] * np.sin(kept[1]))
        results = []
        for z in kept:
            if draw.random() < 0.8:
                sides = [(draw.randint(0, 3), draw.randint(0, 2)) for _ in range(2)]
                z = np.pad(z, sides)
            results.append(stencil(z, draw, draw.choice(((1, 1), (2, 0), (3, 2)))))
        if draw.random() < 0.5:
            results.append(np.sum(kept[0], axis=draw.choice((None, 0, 1))))
        if draw.random() < 0.5:
            results.append(np.sum(np.sin(x * y), axis=draw.choice((None, 0))))
        if draw.random() < 0.3:
            results.append(np.max(results[1], axis=1))
        return tuple(results)

    return f


@pytest.mark.parametrize("seed", [0, 2, 3, 7, 10, 11, 14, 16, 17, 19, 22])
def test_random_neighbours(seed: int, pairs: list[rows_in_turn.Pair]) -> None:
    """Blocks in any order, in memory that holds NaN before it is written."""
    f = of_neighbours(seed)
    jitted = tg.jit(f)
    for shape in ((17, 12), (23, 11)):  # the second one by the code for any size
        x, y = RNG.normal(size=shape), RNG.normal(size=shape)
        graph = optimize(jitted.graphs(x, y)[0])
        program = schedule(graph, ("C", "C"))
        wanted = f(x, y)
        for order in (1, 2):
            found = Runner(program, [x, y], order).run()
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert pairs
    if seed in (3, 7, 17):
        assert any(p.behind and p.ahead for p in pairs)


def variation(u: Any, slope: Any) -> Any:
    """What differs from row to row, or from layer to layer, costs."""
    below, beside = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    fits = np.sqrt((slope * u) ** 2 + 0.1)
    return np.sum(fits) + np.sum(np.sqrt(below**2 + beside**2 + 0.1))


@pytest.mark.parametrize("shape", [(131, 70), (70, 20, 33), (66, 150)])
def test_derivatives_of_differences(shape: tuple[int, ...]) -> None:
    u, slope = RNG.normal(size=shape), RNG.normal(size=shape)
    f = tg.value_and_grad(variation)
    jitted = tg.jit(f)
    value, gradient = jitted(u, slope)
    wanted = f(u, slope)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-12, atol=1e-14)
    assert jitted.memory(u, slope).temporaries < u.nbytes // 2
    before = tg.get_num_threads()
    tg.set_num_threads(2)
    again = jitted(u, slope)
    tg.set_num_threads(before)
    np.testing.assert_array_equal(again[0], value)
    np.testing.assert_array_equal(again[1], gradient)


def test_a_result_does_not_lie_where_rows_are_read_again() -> None:
    u, slope = RNG.normal(size=(131, 70)), RNG.normal(size=(131, 70))
    wanted = tg.grad(variation)(u, slope)
    given = u.copy()
    found = tg.jit(tg.grad(variation), donate_argnums=0)(given, slope)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
