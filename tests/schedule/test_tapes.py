"""A loop whose adjoint reads a carry writes it once: each step reads a row of what is kept and
writes the next. The numbers are those of eager derivatives, also where nothing that was not written
may be read, and where passes go in any order that they may."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.kernel_runner import Runner
from tracegrad.tree import flatten

N, STEPS = 9, 7
RNG = np.random.default_rng(5)
X = RNG.uniform(-0.8, 0.8, N)
Program = Callable[[Any], Any]


def loop(step: Callable[[Any, Any], Any], reverse: bool = False, steps: int = STEPS) -> Program:
    """The carry, handed on."""

    def f(x: Any) -> Any:
        passed = lambda s, _: ((step(s[1], s[0]), s[1] + 1), None)  # noqa: E731
        return np.sum(tg.scan(passed, (x, 0), None, length=steps, reverse=reverse)[0][0] ** 2)

    return f


def written_whole(k: Any, c: Any) -> Any:
    return np.sin(c) * c[::-1] + 0.1 * k


def written_inside(k: Any, c: Any) -> Any:
    return tg.index_update(c, slice(1, -1), c[1:-1] * c[2:] - 0.5 * c[:-2])


def written_twice(k: Any, c: Any) -> Any:
    d = tg.index_update(c, k, np.sin(c[k]) * c[k + 1])
    return tg.index_update(d, slice(2, 6), d[2:6] * c[:4])


def written_in_a_loop(k: Any, c: Any) -> Any:
    return tg.fori_loop(0, N - 1, lambda j, d: tg.index_update(d, j, d[j] * d[j + 1] - c[0]), c)


def written_by_a_branch(k: Any, c: Any) -> Any:
    return tg.cond(c[k] > 0, lambda c: tg.index_update(c, k, c[k] * c[k + 1]), np.cos, c)


def written_here_and_there(k: Any, c: Any) -> Any:
    d = tg.cond(c[k] > 0, lambda c: tg.index_update(c, k, c[k] ** 2), lambda c: c, c)
    return tg.index_update(d, 0, d[1] * c[2])


def staircase(x: Any) -> Any:
    """Each step writes fewer elements than the one before, and reads no others."""
    c = x.copy()
    for k in range(STEPS):
        for j in range(N - 1 - k):
            c[j] = np.sin(c[j]) * c[j + 1]
    return c[0] * c[1]


def waves(x: Any) -> Any:
    """One carry becomes the other."""

    def step(c: Any, _: Any) -> Any:
        before, now = c
        return (now, 2 * now - before + 0.1 * np.sin(np.roll(now, 1)) * now), None

    return np.sum(tg.scan(step, (x, x * 0.9), None, length=STEPS)[0][1] ** 2)


def kept_by_the_user(x: Any) -> Any:
    """What a step finds and what it leaves are results, too."""
    step = lambda c, _: (np.sin(c) * c[::-1], (c, c * c))  # noqa: E731
    last, (found, squares) = tg.scan(step, x, None, length=STEPS)
    return np.sum(last) + np.sum(found * squares)


def nested(x: Any) -> Any:
    inner = lambda c: tg.fori_loop(0, 3, lambda j, d: np.sin(d) * d[::-1], c)  # noqa: E731
    return np.sum(tg.fori_loop(0, STEPS, lambda k, c: inner(c) * c, x) ** 2)


def as_long_as(x: Any) -> Any:
    """A loop whose end is found out, and that lasts no step where x is large."""
    going = lambda s: s[0] + np.sum(s[1] ** 2) < STEPS + 2.0  # noqa: E731
    return np.sum(
        tg.while_loop(going, lambda s: (s[0] + 1, np.sin(s[1]) * s[1][::-1] + s[1]), (0, x))[1] ** 2
    )


STEP = {
    f.__name__: f
    for f in (
        written_whole,
        written_inside,
        written_twice,
        written_in_a_loop,
        written_by_a_branch,
        written_here_and_there,
    )
}
PROGRAMS: dict[str, Program] = {
    **{name: loop(step) for name, step in STEP.items()},
    **{f"{name}, from behind": loop(step, True) for name, step in STEP.items()},
    **{f"{name}, never": loop(step, steps=0) for name, step in STEP.items()},
    **{f.__name__: f for f in (staircase, waves, kept_by_the_user, nested, as_long_as)},
}


def of_two(f: Program) -> Callable[[Any], Any]:
    return lambda x: tg.vmap(tg.value_and_grad(f))(np.stack([x, x * 0.7 - 0.1]))


WAYS: dict[str, Callable[[Program], Callable[[Any], Any]]] = {
    "once": tg.value_and_grad,
    "in a batch": of_two,
    "twice": lambda f: tg.grad(lambda x: np.sum(np.cos(tg.grad(f)(x)))),
}


def interpreted(jitted: Any, order: int, *args: Any) -> list[Any]:
    """The results of a program as its grammar says, in memory where nothing stands."""
    return Runner(jitted.programs(*args)[-1].program, args, order).run()


@pytest.mark.parametrize(("name", "way"), [*itertools.product(PROGRAMS, WAYS)])
def test_the_numbers(name: str, way: str) -> None:
    f = WAYS[way](PROGRAMS[name])
    wanted, _ = flatten(f(X))
    for order in range(2):
        for a, b in zip(interpreted(tg.jit(f), order, X), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["written_twice", "written_whole, from behind", "staircase"])
def test_compiled(name: str) -> None:
    f = tg.value_and_grad(PROGRAMS[name])
    for a, b in zip(tg.jit(f)(X), f(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", [*STEP, "staircase", "waves"])
def test_a_carry_lives_in_what_is_kept(name: str) -> None:
    jitted = tg.jit(tg.value_and_grad(PROGRAMS[name]))
    program = jitted.programs(X)[-1].program
    assert any(b.shape == (STEPS + 1, N) for b in program.buffers)
