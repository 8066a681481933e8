"""Of an array that a step changes in part it copies what is read and not overwritten: the numbers
stay those of eager derivatives, in memory where nothing stands that was not written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.kernel_runner import Runner
from tracegrad._codegen import kernel
from tracegrad.tree import flatten

N, STEPS = 9, 6
RNG = np.random.default_rng(7)
X = RNG.uniform(-0.9, 0.9, N)
FIELD = RNG.uniform(-0.9, 0.9, (7, 8))


def staircase(x: Any) -> Any:
    c = x.copy()
    for k in range(STEPS):
        for j in range(N - 1 - k):
            c[j] = np.sin(c[j]) * c[j + 1]
    return c[0] * c[1]


def from_the_other_end(x: Any) -> Any:
    c = x.copy()
    for k in range(STEPS):
        for j in range(k + 1, N):
            c[j] = np.sin(c[j]) * c[j - 1]
    return c[-1] * c[-2]


def read_as_a_whole(x: Any) -> Any:
    c = x.copy()
    for k in range(STEPS):
        for j in range(N - 1 - k):
            c[j] = np.sin(c[j]) * c[j + 1]
    return np.sum(c * c)


def read_further(x: Any) -> Any:
    c = x.copy()
    for k in range(STEPS):
        for j in range(N - 2 - k):
            c[j] = np.sin(c[j]) * c[j + 2]
    return c[0] * c[1]


def read_in_the_middle(x: Any) -> Any:
    """What is written is less than what is read: the rest is copied."""
    c = x.copy()
    for k in range(STEPS):
        for j in range(2, N - 2 - k):
            c[j] = np.sin(c[j]) * c[j + 1] + c[j - 2]
    return c[2] * c[3]


def growing(x: Any) -> Any:
    c = x.copy()
    for k in range(STEPS):
        for j in range(k + 2):
            c[j] = np.sin(c[j]) * c[j + 1]
    return c[0] * c[STEPS]


def read_at_traced_places(x: Any) -> Any:
    """Where it is read is known as it runs."""
    c, total = x.copy(), 0.0
    for k in range(STEPS):
        total += c[np.floor(8 * np.abs(x[k])).astype(int)] ** 2
        for j in range(N - 1 - k):
            c[j] = np.sin(c[j]) * c[j + 1]
    return total + c[0]


def as_long_as_x_says(x: Any) -> Any:
    """How much is written is known as it runs: nothing, one element, most of them."""
    c = x.copy()
    for k in range(STEPS):
        for j in range(np.sum(x > 0.2 * k)):
            c[j] = np.sin(c[j]) * c[j + 1]
    return c[0] * c[1]


def inside(u: Any) -> Any:
    """All but the border is written."""
    v = u.copy()
    for _ in range(STEPS):
        v[1:-1, 1:-1] = np.sin(v[:-2, 1:-1]) * v[2:, 1:-1] + v[1:-1, 2:] - 0.5 * v[1:-1, :-2]
    return np.sum(v * v)


def columns(u: Any) -> Any:
    v = u.copy()
    for k in range(STEPS):
        v[:, k] = np.sin(v[:, k]) * v[:, k + 1]
    return np.sum(v[:, 0] * v[:, STEPS])


def nested(x: Any) -> Any:
    c = x.copy()
    for _ in range(2):
        for k in range(3):
            for j in range(N - 1 - k):
                c[j] = np.sin(c[j]) * c[j + 1]
        c = c * c[0]
    return c[0] * c[1]


PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    *[
        (f, X)
        for f in (
            staircase,
            from_the_other_end,
            read_as_a_whole,
            read_further,
            read_in_the_middle,
            growing,
            read_at_traced_places,
            as_long_as_x_says,
            nested,
        )
    ],
    (inside, FIELD),
    (columns, FIELD),
]


def agree(f: Callable[[Any], Any], jitted: Any, x: Any) -> None:
    wanted, _ = flatten(f(x))
    program = jitted.programs(x)[-1].program
    for order in range(2):
        for a, b in zip(Runner(program, [x], order).run(), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_the_numbers(f: Callable[[Any], Any], x: Any) -> None:
    g = tg.value_and_grad(f)
    agree(g, tg.jit(g), x)


def test_second_derivatives() -> None:
    g = tg.grad(lambda x: np.sum(np.cos(tg.grad(staircase)(x))))
    agree(g, tg.jit(g), X)


def copied(f: Callable[[Any], Any], x: Any) -> int:
    """How many elements are copied from row to row of what is kept."""
    jitted = tg.jit(tg.value_and_grad(f))
    program = jitted.programs(x)[-1].program
    runner = Counting(program, [x], 0)
    runner.run()
    return runner.copied


class Counting(Runner):
    """A run that counts the elements that are copied within an array."""

    copied = 0

    def statement(self, s: kernel.Statement, names: dict[str, Any]) -> None:
        super().statement(s, names)
        if isinstance(s, kernel.Loop):
            loaded = {
                x.name: x.value.buffer
                for x in s.body
                if isinstance(x, kernel.Let) and isinstance(x.value, kernel.Load)
            }
            self.copied += len(self.passes(s, names)) * sum(
                isinstance(x, kernel.Store)
                and isinstance(x.value, kernel.Name)
                and loaded.get(x.value.name) == x.buffer
                for x in s.body
            )


@pytest.mark.parametrize(
    ("f", "x", "most"),
    [
        (staircase, X, 0),
        (from_the_other_end, X, STEPS * (STEPS + 1) // 2),
        (read_as_a_whole, X, STEPS * (STEPS + 1) // 2),
        (read_further, X, STEPS),
        (read_in_the_middle, X, 2 * STEPS),
        (inside, FIELD, 26 * STEPS),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_copied(f: Callable[[Any], Any], x: Any, most: int) -> None:
    assert copied(f, x) <= most
