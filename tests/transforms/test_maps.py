"""Loops whose steps do not need each other become operations on whole arrays, others do not; both
give what plain Python gives, and the derivative that the tape gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.evaluate import evaluate

N = 7


def neighbours(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = np.sin(x[i]) * x[i + 1]
        return y

    return tg.fori_loop(0, N - 1, step, np.zeros_like(x))


def reads_what_comes(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = y[i] * y[i + 1]
        return y

    return tg.fori_loop(0, N - 1, step, x + 0.0)


def backwards(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[N - 1 - i] = x[i] * 2 + i
        return y

    return tg.fori_loop(0, N, step, np.zeros_like(x))


def every_second(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[2 * i + 1] = x[2 * i] * x[i]
        return y

    return tg.fori_loop(0, N // 2, step, np.ones_like(x))


def from_the_end(x: Any) -> Any:
    """The first step reads the last element, which no slice shows."""

    def step(i: Any, y: Any) -> Any:
        y[i] = x[i - 1] * x[i]
        return y

    return tg.fori_loop(0, N, step, np.zeros_like(x))


def own_writes(x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        y, z = carry
        y[i] = x[i] * 3
        z[i] = y[i] + 1
        y[i] = z[i] * y[i]
        return y, z

    y, z = tg.fori_loop(0, N, step, (np.zeros_like(x), np.zeros_like(x)))
    return y + z


def crosswise(x: Any) -> Any:
    def row(i: Any, a: Any) -> Any:
        def element(j: Any, a: Any) -> Any:
            a[i, j] = x[i] * x[j] + np.cos(x[i])
            return a

        return tg.fori_loop(0, N, element, a)

    return tg.fori_loop(0, N, row, tg.zeros((N, N)))


def diagonal(x: Any) -> Any:
    def step(i: Any, a: Any) -> Any:
        a[i, i] = x[i] ** 2
        return a

    return tg.fori_loop(0, N, step, tg.zeros((N, N)))


def sums(x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        s, n = carry
        return (s - x[i] * i) + np.sin(x[i]), n + i

    s, n = tg.fori_loop(0, N, step, (0.0, 0))
    return s * n


def chosen(x: Any) -> Any:
    """By branches that compute nothing; one of the roots is NaN, and not chosen."""

    def step(i: Any, y: Any) -> Any:
        root, first = np.sqrt(x[i]), x[0]
        best = tg.cond(x[i] > 0, lambda: root, lambda: first)
        other = best * x[2]
        y[i] = tg.cond(i == 2, lambda: best, lambda: other)
        return y

    return tg.fori_loop(0, N, step, np.zeros_like(x))


def computed_in_a_branch(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = tg.cond(x[i] > 0, lambda: np.sqrt(x[i]), lambda: x[i])
        return y

    return tg.fori_loop(0, N, step, np.zeros_like(x))


def no_step(x: Any) -> Any:
    """What all steps share is out of range, which nobody asks for where there is no step."""

    def rows(k: Any, y: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            y[i] = x[k + N] * 2
            return y

        return tg.fori_loop(0, k, step, y)

    return tg.fori_loop(0, 1, rows, x + 0.0)


def prefix_sums(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = y[i] + y[i - 1]
        return y

    return tg.fori_loop(1, N, step, x + 0.0)


def two_to_a_place(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i // 2] = x[i]
        return y

    return tg.fori_loop(0, N, step, np.zeros_like(x))


def running_totals(x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        s, y = carry
        y[i] = s
        return s + x[i], y

    return tg.fori_loop(0, N, step, (0.0, np.zeros_like(x)))[1]


def sums_of_arrays(x: Any) -> Any:
    """Together the arrays would need memory for each step."""
    return tg.fori_loop(0, 10, lambda k, s: s + np.sum(np.sin(x * k)), 0.0)


MAPS = [
    neighbours, reads_what_comes, backwards, every_second, from_the_end, own_writes, crosswise,
    diagonal, sums, chosen,
]  # fmt: skip
LOOPS = [computed_in_a_branch, no_step, prefix_sums, two_to_a_place, running_totals, sums_of_arrays]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [*MAPS, *LOOPS])
def test_value_and_gradient(f: Callable[..., Any]) -> None:
    x = np.linspace(-0.7, 0.9, N)

    def total(x: Any) -> Any:
        return np.sum(f(x) ** 2)

    both: Any = tg.jit(tg.value_and_grad(total))
    graphs = both.graphs(x)
    given = [x, *both._entry((x,), {}).entry.traced.captures]
    assert np.isfinite(tg.grad(total)(x)).all()
    for found in (evaluate(graphs[0], given), run_unjitted(graphs[1], given)):
        np.testing.assert_allclose(found[0], total(x), rtol=1e-12)
        np.testing.assert_allclose(found[1], tg.grad(total)(x), rtol=1e-10, atol=1e-12)
    assert ("scan(" in str(graphs[0])) == (f in LOOPS)


def test_second_derivatives() -> None:
    x = np.linspace(-0.7, 0.9, N)
    found = tg.hessian(lambda x: np.sum(neighbours(x) ** 2) + sums(x) ** 2)
    np.testing.assert_allclose(tg.jit(found)(x), found(x), rtol=1e-9, atol=1e-10)


def copied(x: Any) -> Any:
    y = np.zeros(x.shape)
    for _ in range(20):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j]
        for i in range(1, x.shape[0]):
            x[i, 0] = 0.5 * y[i - 1, 1]
    return y


def test_a_copy_element_by_element_reads_nothing_apart() -> None:
    """What all steps together read is the array itself, and no part of it."""
    x = np.arange(12.0).reshape(4, 3)
    graph = tg.jit(copied).graphs(x)[-1]
    assert "windows=((" not in str(graph)
    np.testing.assert_allclose(evaluate(graph, [x])[0], copied(x.copy()))


def shifted(x: Any) -> Any:
    y = np.zeros((4, 3))
    for i in range(4):
        for j in range(3):
            y[i, j] = x[i, j + 1]
    return y


def test_a_row_too_many_is_an_error() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        tg.jit(shifted)(np.ones((4, 3)))
