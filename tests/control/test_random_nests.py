"""Random nests of loops that read and write elements of arrays in place: values as Python's loops
give them, derivatives as the tape gives them, whatever the compiler makes of the places."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import sampled

N = 11
"""The size of each axis."""
STATE = ("A", "B", "x", "s")
"""What the loops carry: two matrices, a vector and a number."""


@dataclass(frozen=True)
class Affine:
    """An integer in terms of loop variables."""

    factors: Mapping[str, int]
    offset: int

    def at(self, env: Mapping[str, Any]) -> Any:
        total: Any = self.offset
        for name, factor in self.factors.items():
            term = env[name] if factor == 1 else factor * env[name]
            total = term + total
        return total


@dataclass(frozen=True)
class Loop:
    variable: str
    lower: Affine
    upper: Affine
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Branch:
    left: Affine
    right: Affine
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Write:
    array: str
    at: tuple[Any, ...]
    value: tuple[Any, ...]
    adds: bool


class Maker:
    """Programs from a seed; each loop variable stays below 4."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def place(self, names: tuple[str, ...]) -> Affine:
        """An index that is inside whatever the loops come to."""
        chosen = {
            n: self.random.choice((1, 1, 1, -1, 2)) for n in names if self.random.random() < 0.6
        }
        low = sum(min(0, 3 * f) for f in chosen.values())
        high = sum(max(0, 3 * f) for f in chosen.values())
        if high - low >= N:
            return Affine({}, self.random.randrange(N))
        offset = self.random.randint(-low, N - 1 - high)
        if self.random.random() < 0.5:
            offset = min(max(self.random.randint(0, 4), -low), N - 1 - high)
        if chosen and self.random.random() < 0.15:
            # From the end in some steps or all.
            return Affine(chosen, self.random.randint(max(-N - low, -6), N - 1 - high))
        return Affine(chosen, offset - (N if not chosen and self.random.random() < 0.2 else 0))

    def read(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        array = self.random.choice(("A", "A", "B", "x", "w", "s"))
        count = {"A": 2, "B": 2, "w": 2, "x": 1, "s": 0}[array]
        return array, tuple(self.place(names) for _ in range(count))

    def write(self, names: tuple[str, ...]) -> Write:
        array = self.random.choice(("A", "A", "B", "x", "s"))
        at: tuple[Any, ...] = tuple(
            self.place(names) for _ in range({"A": 2, "B": 2, "x": 1, "s": 0}[array])
        )
        if array in "AB" and self.random.random() < 0.15:
            # A part of a row.
            at = (at[0], slice(2, 6))
        reads = [self.read(names) for _ in range(self.random.randint(1, 3))]
        return Write(array, at, (self.random.randrange(4), *reads), self.random.random() < 0.4)

    def bounds(self, names: tuple[str, ...]) -> tuple[Affine, Affine]:
        if names and self.random.random() < 0.5:
            inner = Affine({self.random.choice(names): 1}, self.random.choice((0, 1)))
            return (inner, Affine({}, 4)) if self.random.random() < 0.5 else (Affine({}, 0), inner)
        return Affine({}, self.random.choice((0, 0, 1))), Affine(
            {}, self.random.choice((0, 2, 3, 4))
        )

    def body(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        found: list[Any] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.45 and len(names) < 3:
                name = "ijk"[len(names)]
                found.append(Loop(name, *self.bounds(names), self.body((*names, name))))
            elif kind < 0.55 and names:
                pair = (
                    Affine({names[-1]: 1}, 0),
                    Affine({self.random.choice(names): 1}, self.random.randint(0, 2)),
                )
                found.append(Branch(*pair, (self.write(names),)))
            else:
                found.append(self.write(names))
        return tuple(found)


def program(seed: int) -> tuple[Any, ...]:
    maker = Maker(seed)
    while True:
        body = maker.body(())
        if any(isinstance(s, Loop) for s in body):
            return body


def number(state: Mapping[str, Any], read: tuple[Any, ...], env: Mapping[str, Any]) -> Any:
    array, at = read
    return state[array][tuple(p.at(env) for p in at)] if at else state[array]


def value(state: Mapping[str, Any], what: tuple[Any, ...], env: Mapping[str, Any]) -> Any:
    kind, first, *rest = what
    total = number(state, first, env)
    total = (np.sin(total), 0.7 * total, total * total * 0.3, -total)[kind]
    for r in rest:
        total = total + 0.4 * number(state, r, env) * np.cos(total)
    return total


State = dict[str, Any]
For = Callable[[Any, Any, Callable[[Any, Any], Any], Any], Any]


def run(body: tuple[Any, ...], state: State, env: Mapping[str, Any], loop: For, cond: Any) -> State:
    """The state after the statements, with these ways to loop and to branch."""
    for s in body:
        if isinstance(s, Loop):

            def step(i: Any, carry: Any, s: Loop = s, before: State = state) -> Any:
                inner = {**before, **dict(zip(STATE, carry, strict=True))}
                done = run(s.body, inner, {**env, s.variable: i}, loop, cond)
                return tuple(done[n] for n in STATE)

            carry = loop(s.lower.at(env), s.upper.at(env), step, tuple(state[n] for n in STATE))
            state = {**state, **dict(zip(STATE, carry, strict=True))}
        elif isinstance(s, Branch):

            def then(*carry: Any, s: Branch = s, before: State = state) -> Any:
                inner = {**before, **dict(zip(STATE, carry, strict=True))}
                done = run(s.body, inner, env, loop, cond)
                return tuple(done[n] for n in STATE)

            carry = cond(
                s.left.at(env) < s.right.at(env), then, lambda *c: c, *[state[n] for n in STATE]
            )
            state = {**state, **dict(zip(STATE, carry, strict=True))}
        else:
            new = value(state, s.value, env)
            if not s.at:
                state = {**state, s.array: state[s.array] * 0.5 + new if s.adds else new}
                continue
            key = tuple(p if isinstance(p, slice) else p.at(env) for p in s.at)
            if s.adds:
                state[s.array][key] += new
            else:
                state[s.array][key] = new
    return state


def python_loop(lower: Any, upper: Any, step: Any, carry: Any) -> Any:
    for i in range(lower, upper):
        carry = step(i, carry)
    return carry


def python_cond(holds: Any, then: Any, otherwise: Any, *carry: Any) -> Any:
    return then(*carry) if holds else otherwise(*carry)


def function(body: tuple[Any, ...], loop: For, cond: Any) -> Callable[..., Any]:
    def f(a: Any, x: Any, w: Any) -> Any:
        state = {"A": a * 1.0, "B": a * 0.5, "x": x * 1.0, "s": x[0] * 1.0, "w": w}
        done = run(body, state, {}, loop, cond)
        return (done["A"] ** 2).sum() + (done["B"] * w).sum() + (done["x"] ** 3).sum() + done["s"]

    return f


def arguments(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (N, N)), rng.uniform(-1, 1, N), rng.uniform(-1, 1, (N, N))


def check(seed: int) -> None:
    body, args = program(seed), arguments(seed)
    expected = function(body, python_loop, python_cond)(*args)
    staged = function(body, tg.fori_loop, tg.cond)
    np.testing.assert_allclose(tg.jit(staged)(*args), expected, rtol=1e-12)
    every = (0, 1, 2)
    taped = tg.grad(staged, every)(*args)
    got, gradient = tg.jit(tg.value_and_grad(staged, every))(*args)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    for mine, theirs in zip(gradient, taped, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
    directions = tuple(np.cos(x + k) for k, x in enumerate(args))
    slope = sum(float((d * g).sum()) for d, g in zip(directions, taped, strict=True))
    along = tg.jit(lambda *a: tg.jvp(staged, a, directions)[1])(*args)
    np.testing.assert_allclose(along, slope, rtol=1e-8, atol=1e-10)
    if seed % 4 == 0:
        twice = tg.jit(lambda *a: tg.jvp(tg.grad(staged, every), a, directions)[1])(*args)
        taped_twice = tg.jvp(tg.grad(staged, every), args, directions)[1]
        for mine, theirs in zip(twice, taped_twice, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9)
        batch = tuple(np.stack([x, x * 0.5]) for x in args)
        each = tg.jit(tg.vmap(tg.grad(staged)))(*batch)
        np.testing.assert_allclose(each[0], taped[0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", sampled(range(12), lambda seed: seed < 9))
def test_random_nests(seed: int, request: pytest.FixtureRequest) -> None:
    """Every third one is compiled to native code."""
    if seed % 3:
        request.getfixturevalue("kernels_in_python")
    check(seed)


def test_further_random_nests(request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    if soak < 1:
        pytest.skip("give --soak N for N further random programs")
    for seed in range(1000, 1000 + soak):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"program {seed}") from error
