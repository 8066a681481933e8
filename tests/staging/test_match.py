"""`match` on traced values: each pattern as Python matches it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradients, check_values
from tracegrad.errors import ConcretizationError

POINTS = (np.array([0.63, 0.28, 0.9]), np.array([0.42, 0.71, 0.35]))
PROGRAMS = Programs()


@PROGRAMS
def numbers(x: Any) -> Any:
    phase, t, v, out = 0, 0.0, 1.0 + x[0], 0.0
    for _ in range(40):
        match phase:
            case 0:
                v -= 0.05 * (1 + x[1])
                t += 0.05 * v
                if v < 0:
                    phase = 1
            case 1:
                v -= 0.02
                t += 0.05 * v
                if t < 0:
                    t, v, phase = 0.0, -0.5 * v, 2
            case _:
                out += 0.05 * v * x[2]
                v *= 0.9
    return out + t


@PROGRAMS
def pairs_and_guards(x: Any) -> Any:
    kind, v, total = 0, x[0], 0.0
    for k in range(20):
        match (kind, k % 3):
            case (0, 0) if v > 0.5:
                v = 0.7 * v
                kind = 1
            case (0, r):
                v = v + 0.1 * x[1] * (r + 1)
            case (1, 0 | 1):
                v += 0.05
            case (1, _):
                kind = 0
            case _:
                raise RuntimeError(f"{kind}")
        match v:
            case w if w > x[2]:
                total += w
            case w:
                total -= 0.1 * w
    return total


class Kind(IntEnum):
    FREE = 0
    STUCK = 1


@PROGRAMS
def names_and_breaks(x: Any) -> Any:
    state, v, total = Kind.FREE, x[0], 0.0
    for _ in range(30):
        match state:
            case Kind.FREE:
                v += 0.1 * x[1]
                if v > 1.0:
                    state = Kind.STUCK
            case Kind.STUCK:
                v -= 0.2 * x[2]
                if v < 0.3:
                    break
        total += v
    return total


def regime(x: Any) -> Any:
    match (x[0] > 0.5, x[1] > 0.5):
        case (True, True):
            return x[0] * x[1]
        case (True, False) | (False, True):
            return x[0] - x[1]
    return 0.0 * x[0]


@PROGRAMS
def returns(x: Any) -> Any:
    return regime(x) + regime(x[1:]) + regime(x[::-1])


@dataclass
class Circle:
    r: Any


@dataclass
class Box:
    a: Any
    b: Any


@PROGRAMS
def forms(x: Any) -> Any:
    total = 0.0
    things = (
        *(Circle(x[0]), Circle(x[1]), Box(x[1], x[2]), Box(x[2], x[1]), 3.0),
        {"type": "ball", "r": x[1]}, [x[0], x[1], x[2]], "ab", [], ("pair", (x[0], 1.0)), None, 7,
    )  # fmt: skip
    for s in things:
        match s:
            case None:
                total += 0.125
            case Circle(r) if r > 0.5:
                total += np.pi * r * r
            case Circle(r):
                total += r
            case Box(a, b=b) if a > b:
                total += a * b
            case Box(a, _) as whole:
                total += a * 2 + whole.b
            case float(f):
                total += f
            case {"type": "ball" | "disk", "r": r}:
                total += r**3
            case (str() as name, (u, v)):
                total += len(name) * u * v
            case [first, *rest, last] if first > 0:
                total += first * last + sum(rest)
            case []:
                total += 1
            case str():
                total += 0.5
            case other if other == 7:
                total += 10
            case _:
                raise TypeError(f"what is {s!r}?")
    return total


@PROGRAMS
def commands(x: Any) -> Any:
    v = x[0]
    for command in (("scale", x[1]), ("shift", x[2], 1.0), ("clip",), ("scale", 0.5)):
        match command:
            case ("scale", f):
                v = v * f
            case ("shift", d, *more):
                if d > 0.5:
                    v = v + d + sum(more)
            case ("clip",):
                v = min(v, 1.0)
    return v


class Partial:
    """Has not all that its patterns may ask for."""

    __match_args__ = ("u", "v")

    def __init__(self, u: Any) -> None:
        self.u = u


@PROGRAMS
def attributes_that_are_not_there(x: Any) -> Any:
    v = x[0]
    if v > 0:
        v = v * 2
    total = 0.0
    match Partial(x[1]):
        case Partial(u=u, v=w):
            total = u + w
        case Partial(u, w):
            total = u - w
        case Partial(u):
            total = 3 * u
    return total * v


@PROGRAMS
def names_of_builtins_as_variables(x: Any) -> Any:
    len, list, isinstance, hasattr = 5.0, 7.0, 11.0, 13.0
    v = x[0]
    if v > 0:
        v = v * 2
    parts = (x[1], x[2], v)
    match parts:
        case [first, *others] if first > 0.5:
            v = v + first * sum(others)
        case [_, _, _]:
            v = -v
    match Partial(x[1]):
        case Partial(u=u):
            v = v + u
    return v + len + list + isinstance + hasattr


@pytest.mark.parametrize("way", ["jit", "vmap"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str, way: str) -> None:
    check_values(PROGRAMS[name], way, [(x,) for x in POINTS])


@pytest.mark.parametrize("way", ["grad", "jit of grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str, way: str) -> None:
    check_gradients(PROGRAMS[name], way, [(x,) for x in POINTS])


def test_what_stays_pythons_says_so() -> None:
    def program(x: Any) -> Any:
        match {"v": x[0], "w": 1.0}:
            case {"v": v, **others}:
                if v > 0:
                    return v * len(others)
        return x[1]

    with pytest.raises(ConcretizationError, match=r"test_match.py:\d+: .* a 'match'"):
        tg.jit(program)(POINTS[0])
