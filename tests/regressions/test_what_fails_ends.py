"""Integers divided by zero, and loops that go on until something that a failure prevents: as in
Python both are exceptions. (Compiled, quotients and remainders by zero were 0; loops whose
conditions read out of range did not end.)"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.kernel_runner import Runner
from tracegrad.schedule import schedule
from tracegrad.transforms.rewrite import optimize


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return np.asarray(f(*[x.copy() if isinstance(x, np.ndarray) else x for x in args])).tolist()
    except (ZeroDivisionError, IndexError) as error:
        return type(error)


def summed(x: Any, n: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total += x[k % n]
    return total


def gcd(a: Any, b: Any) -> Any:
    while b:
        a, b = b, a % b
    return a


def harmonic(n: Any) -> Any:
    total = 0
    while total < 5:
        total += 10 // n
        n -= 1
    return total


def around(x: Any) -> Any:
    out, n = np.zeros(len(x)), len(x)
    for k in range(n):
        out[k] = x[(k + 1) % n] - x[(k - 1) % n]
    return out


X = np.arange(5.0)
DIVIDING: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "floordiv": (operator.floordiv, [(7, 0), (7, 2), (-7, 2), (7, -2), (0, 0)]),
    "mod": (operator.mod, [(7, 0), (7, 2), (-7, 2), (7, -2), (0, 0)]),
    "divmod": (divmod, [(7, 0), (-7, 2)]),
    "of a number that is written": (lambda n: 5 % n + 10 // n, [(0,), (3,)]),
    "by zero that is written": (lambda n: n // 0 if n > 5 else n, [(3,), (7,)]),
    "guarded": (lambda x, n: x // n if n != 0 else -1, [(7, 0), (7, 2)]),
    "guarded before": (lambda x, n: n != 0 and x // n > 2, [(7, 0), (7, 2)]),
    "an index": (lambda x, n: x[5 % n], [(X, 0), (X, 3)]),
    "in a loop": (summed, [(X, 0), (X, 3), (X[:0], 0), (X, -2)]),
    "in a while": (gcd, [(48, 18), (48, 0), (0, 0)]),
    "that a loop comes to": (harmonic, [(5,), (1,), (0,)]),
    "a size": (lambda x: 7 % x.shape[0] + x.sum(), [(X,), (X[:2],), (X[:0],)]),
    "around": (around, [(X,), (np.arange(400.0),), (X[:0],)]),
    "arrays": (lambda x, n: x // n, [(np.array([3, -4]), 2)]),
}


@pytest.mark.parametrize("name", DIVIDING)
def test_division_by_zero(name: str) -> None:
    f, calls = DIVIDING[name]
    for jitted in (tg.jit(f), tg.jit(f, stage=True)):
        for args in [*calls, *calls]:
            assert outcome(jitted, *args) == outcome(f, *args), args


def test_derivatives_of_what_divides_by_zero() -> None:
    for f in (tg.grad(summed), tg.grad(tg.jit(summed)), tg.jit(tg.grad(summed))):
        assert outcome(f, X, 0) is ZeroDivisionError
        assert outcome(f, X, 3) == outcome(tg.grad(summed), X, 3)


def test_divisors_that_are_known_need_no_check() -> None:
    def f(x: Any) -> Any:
        for k in range(200):
            x[k] = x[k // 2] + x[200 % (k + 1)] + x[(k + 1) % 200]
        return x

    for g, x in ((f, np.zeros(200)), (around, np.zeros(300))):
        assert "check(" not in str(tg.jit(g, stage=True)._entry((x,), {})[0].graph)


def until_negative(x: Any) -> Any:
    k = 0
    while x[k] > 0:
        k += 1
    return k


def searched(x: Any, y: Any) -> Any:
    out = np.zeros(len(y))
    for i in range(len(y)):
        k = 0
        while x[k] < y[i]:
            k += 1
        out[i] = x[k] * y[i]
    return out


def raised(x: Any) -> Any:
    total, k = 0.0, 0
    while total < 1.0:
        if k > 3:
            raise IndexError("too far")
        total += x[k]
        k += 1
    return total


LOOPS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "condition": (until_negative, [(np.array([1.0, 2.0, -1.0]),), (np.ones(3),)]),
    "inside": (searched, [(X, np.array([0.5, 3.0])), (X, np.array([0.5, 9.0, 1.0]))]),
    "raised": (raised, [(X,), (0 * X,)]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_end_where_something_fails(name: str) -> None:
    f, calls = LOOPS[name]
    jitted = tg.jit(f)
    for args in [*calls, *calls]:
        assert outcome(jitted, *args) == outcome(f, *args), args
    if name == "inside":
        loss = lambda x, y: np.sum(searched(x, y))  # noqa: E731
        for args in calls:
            assert outcome(tg.jit(tg.grad(loss)), *args) == outcome(tg.grad(loss), *args)


@pytest.mark.parametrize("name", ["condition", "inside"])
def test_programs_say_that_loops_end_where_something_fails(name: str) -> None:
    f, (fine, wrong) = LOOPS[name]
    if name == "inside":
        wrong = X, np.array([0.5, 9.0])
    jitted = tg.jit(f)
    graph = optimize(jitted.graphs(*fine)[0])
    program = schedule(graph, ("C",) * len(fine))
    for args, fails in ((fine, False), (wrong, True)):
        run = Runner(program, args, 0)
        (value,) = run.run()
        assert bool(run.failed) == fails
        if not fails:
            np.testing.assert_array_equal(value, f(*args))
