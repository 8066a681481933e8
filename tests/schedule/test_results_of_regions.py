"""What reads one of several results of a loop or branch comes after it, whichever result that is,
in loops of which some carry is written in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Inner = Callable[[Any, Any], tuple[Any, Any, Any]]


def by_steps(u: Any, q: Any) -> tuple[Any, Any, Any]:
    a, b, c = 0.3 * u + q, 0.2 * u + 1.5, 0.1 * u - q
    for i in range(1, q.size):
        w = 0.5 / b[i - 1]
        a[i] = w * a[i - 1]
        b[i] = w * 0.5 + q[i]
        c[i] = w + c[i - 1] / 2
    return a, b, c


def by_rounds(u: Any, q: Any) -> tuple[Any, Any, Any]:
    a, b, c = 0.3 * u + q, 0.2 * u + 1.5, 0.1 * u - q
    while a[0] > 0.1:
        a, b, c = a / 2, b + a / 4, c - b / 8
    return a, b, c


def by_branch(u: Any, q: Any) -> tuple[Any, Any, Any]:
    a, b, c = 0.3 * u + q, 0.2 * u + 1.5, 0.1 * u - q
    if u[1] < 1.0:
        b[2], a, c = a[1], a / 2, np.cumsum(c)
    else:
        a[1], b, c = b[2], b / 2, np.cumsum(a)
    return a, b, c


def steps(inner: Inner, which: int, q: Any) -> Any:
    u, changes = np.zeros(q.size), np.zeros(8)
    for k in range(8):
        new = inner(u, q)[which]
        changes[k] = np.abs(new - u).max()
        u = new
    return np.append(changes, u)


def until(inner: Inner, which: int, q: Any) -> Any:
    u = np.zeros(q.size)
    for _ in range(12):
        new = inner(u, q)[which]
        change = np.abs(new - u).max()
        u = new
        if change < 0.01:
            break
    return u


def while_it_changes(inner: Inner, which: int, q: Any) -> Any:
    u, change, n, seen = 0.0 * q, 1.0, 0, np.zeros(12)
    while change > 0.01 and n < 12:
        new = inner(u, q)[which]
        change = np.abs(new - u).max()
        seen[n] = change
        u = new
        n += 1
    return np.append(seen, u)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("inner", [by_steps, by_rounds, by_branch], ids=lambda f: f.__name__)
@pytest.mark.parametrize("outer", [steps, until, while_it_changes], ids=lambda f: f.__name__)
def test_results(outer: Callable[..., Any], inner: Inner, which: int) -> None:
    def program(q: Any) -> Any:
        return outer(inner, which, q)

    q = np.random.default_rng(which).uniform(0.1, 1, 11)
    np.testing.assert_allclose(tg.jit(program)(q), program(q), rtol=1e-12)
