"""What is said of the integers that loops hand on is so, at every step that a run makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import by_source
from tracegrad._codegen import integers
from tracegrad.ir.evaluate import evaluate
from tracegrad.ir.loops import Loop, is_loop
from tracegrad.schedule.intervals import PASS, kept_between

ARRAY = np.arange(1.0, 13.0)
OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda i, j: i + j,
    lambda i, j: i - j,
    lambda i, j: i * j,
    np.minimum,
    np.maximum,
)


def drawn(rng: np.random.Generator, depth: int) -> Callable[..., Any]:
    """A function of two integers, as steps of programs compute them."""
    kind = rng.integers(10) if depth else rng.integers(2, 4)
    number = int(rng.choice([-3, -2, -1, 0, 1, 1, 2, 3, 5, 2**31, 2**62]))
    if kind == 2:
        return lambda i, j: i
    if kind == 3:
        return lambda i, j: j
    left, right = drawn(rng, depth - 1), drawn(rng, depth - 1)
    if kind in (0, 1):
        return lambda i, j: left(i, j) + number
    if kind == 4:
        divisor = int(rng.integers(2, 4))
        return lambda i, j: left(i, j) // divisor
    if kind == 5:
        divisor = int(rng.integers(2, 14))
        return lambda i, j: left(i, j) % divisor
    if kind in (6, 7):
        asked = condition(rng, depth - 1)
        return lambda i, j: np.where(asked(i, j), left(i, j), right(i, j))
    if kind == 8:
        asked = condition(rng, depth - 1)
        return lambda i, j: left(i, j) + np.where(asked(i, j), 1, 0)
    operation = OPERATIONS[rng.integers(5)]
    return lambda i, j: operation(left(i, j), right(i, j))


def condition(rng: np.random.Generator, depth: int = 1) -> Callable[..., Any]:
    left, right = drawn(rng, depth), drawn(rng, depth)
    compare = (np.less, np.less_equal, np.greater, np.greater_equal)[rng.integers(4)]
    number = int(rng.integers(0, 13))
    plain = [
        lambda i, j: compare(left(i, j), number),
        lambda i, j: compare(left(i, j), right(i, j)),
        lambda i, j: np.logical_not(compare(left(i, j), number)),
    ][rng.integers(3)]
    if rng.random() < 0.3:
        other = condition(rng, 0)
        return lambda i, j: np.logical_and(plain(i, j), other(i, j))
    return plain


def states(loop: Loop, most: int) -> Iterator[tuple[list[Any], bool]]:
    """The carries before each pass, and whether it is made, as NumPy computes them."""
    constants = [getattr(c.given, "value", ARRAY) for c in loop.constants]
    carries = [np.asarray(getattr(c.first, "value", 0.0)) for c in loop.carries]
    length = loop.param("length")
    for at in range(most):
        if length is None:
            assert loop.test is not None
            (goes,) = evaluate(loop.test, [*constants, *carries])
        else:
            goes = at < length
        yield carries, bool(goes)
        if not goes:
            return
        number = [] if length is None else [length - 1 - at if loop.param("reverse") else at]
        try:
            found = evaluate(loop.body, [*constants, *carries, *map(np.int64, number)])
        except IndexError:
            return
        carries = found[: len(carries)]


def check(program: Callable[..., Any]) -> int:
    """How many carries of the loop are known to stay between two numbers; they must."""
    graphs: Any = tg.jit(program)
    loops = [Loop.of(n) for n in graphs.graphs(ARRAY)[-1].nodes if is_loop(n)]
    if not loops:
        return 0
    (loop,) = loops
    firsts = [int(c.first.value) if hasattr(c.first, "value") else None for c in loop.carries]
    ends = kept_between(loop, {}, firsts, {})
    with np.errstate(over="ignore"):
        for at, (values, goes) in enumerate(states(loop, 60)):
            for k, bounds in ends.items():
                for low, high in (bounds.always, *([bounds.inside] if goes else [])):
                    least, most = (integers.evaluate(e, {PASS: at}) for e in (low, high))
                    assert least <= values[k] <= most, (k, at, values, bounds)
    return len(ends)


def drawn_program(seed: int) -> Callable[..., Any]:
    """A loop that makes places of two integers."""
    rng = np.random.default_rng(seed)
    begin = [int(n) for n in rng.integers(-1, 13, 2)]
    going, steps = condition(rng), [drawn(rng, 2), drawn(rng, 2)]
    length, step = int(rng.integers(0, 14)), int(rng.choice([-1, 1]))

    def once(c: Any, n: Any = 0) -> Any:
        i, j, total = c
        return steps[0](i, j) + n * (seed % 3), steps[1](i, j), total + x_at(i) * x_at(j)

    def x_at(i: Any) -> Any:
        return x_now[0][i]

    x_now: list[Any] = [None]

    def program(x: Any) -> Any:
        x_now[0] = x
        first = (*begin, x[0])
        if seed % 2:
            return tg.while_loop(lambda c: going(c[0], c[1]), once, first)[2]
        turn = (lambda n: n) if step > 0 else (lambda n: length - 1 - n)
        return tg.fori_loop(0, length, lambda n, c: once(c, turn(n)), first)[2]

    return program


@pytest.mark.parametrize("first", [0, 40])
def test_ends_of_random_loops(first: int) -> None:
    assert sum(check(drawn_program(seed)) for seed in range(first, first + 40)) > 5


def wraps(x: Any) -> Any:
    """A product of numbers that are not negative, which is."""
    return tg.while_loop(
        lambda c: c[1] < 20.0,
        lambda c: (np.minimum(c[0] * 2**62, 2), c[1] + x[c[0] % 12]),
        (2, x[0]),
    )[1]


def wraps_in_a_quotient(x: Any) -> Any:
    return tg.fori_loop(
        0, 9, lambda n, c: ((c[0] * 2**62) // 2**62, c[1] + x[c[0] % 12]), (2, x[0])
    )[1]


@pytest.mark.parametrize("program", [wraps, wraps_in_a_quotient])
def test_what_wraps_around_is_not_told(program: Callable[..., Any]) -> None:
    check(program)


def bisected(x: Any, at: Any) -> Any:
    low, high = 0, x.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] > at:
            high = middle
        else:
            low = middle
    return x[low] + 10.0 * x[high]


def found(x: Any, at: Any) -> Any:
    """The search that ends where its ends cross."""
    low, high, total = 0, x.shape[0] - 1, 0.0
    while low <= high:
        middle = (low + high) // 2
        total += x[middle]
        if x[middle] < at:
            low = middle + 1
        else:
            high = middle - 1
    return total


def inserted(x: Any) -> Any:
    """Insertion sort."""
    y = x.copy()
    for i in range(1, y.shape[0]):
        key, j = y[i], i - 1
        while j >= 0 and y[j] > key:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = key
    return y


def packed(x: Any, at: Any) -> Any:
    """What is larger than a number, one after the other."""
    y, k = np.zeros(x.shape[0]), 0
    for i in range(x.shape[0]):
        if x[i] > at:
            y[k] = x[i]
            k += 1
    return y


def merged(x: Any, at: Any) -> Any:
    """Two halves that are in order, as one."""
    n = x.shape[0]
    half, y = n // 2, np.zeros(n)
    i, j, k = 0, half, 0
    while i < half and j < n:
        if x[i] < x[j]:
            y[k] = x[i]
            i += 1
        else:
            y[k] = at * x[j]
            j += 1
        k += 1
    return y


def asked(function: Callable[..., Any], *args: Any) -> int:
    """How many places are looked at before they are read or written."""
    jitted: Any = tg.jit(function)
    return str(jitted.programs(*args)[-1]).count("check ")


SORTED = np.sort(np.random.default_rng(3).standard_normal(21))


@pytest.mark.parametrize(
    ("function", "args", "checks"),
    [
        (bisected, (SORTED, 0.3), 2),  # behind the loop
        (found, (SORTED, 0.3), 0),
        (packed, (SORTED, 0.3), 0),
        (merged, (SORTED, 0.3), 2),
        (inserted, (SORTED[::-1].copy(),), 5),
    ],
)
def test_places_that_cannot_leave_their_array(
    function: Callable[..., Any], args: tuple[Any, ...], checks: int
) -> None:
    assert asked(function, *args) <= checks
    np.testing.assert_array_equal(by_source(function)(*args), function(*args))
    for n in (0, 1, 2, 3):
        few = args[0][:n].copy()
        if n or function not in (bisected, found):
            np.testing.assert_array_equal(
                by_source(function)(few, *args[1:]), function(few, *args[1:])
            )
