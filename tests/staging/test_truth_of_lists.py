"""Conditions that join traced numbers and lists: a list in them is whether it has items."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def both(x: Any) -> Any:
    last, total = [], 0.0
    for v in x:
        if v > 0:
            last.append(v)
        if total < 3 and last:
            total = total + last[-1] * v
        if last and v < 0.5:
            total = total + 0.1 * v
    return total


def either(x: Any) -> Any:
    last, total = [], 0.0
    for v in x:
        if v > 0.2 or last:
            total = total + v * v
        if v > 0.3:
            last.append(v)
        if last or v < -0.5:
            total = total - 0.5 * v
    return total


def negated(x: Any) -> Any:
    last, total = [], 0.0
    for v in x:
        if v > 0.3:
            last.append(v)
        if not (v > 0.2 and last):
            total = total + v
        if not last or not (v < 0 or not last):
            total = total + v * v
    return total


def chosen(x: Any) -> Any:
    queue, total = deque(), 0.0
    for v in x:
        if v > -0.2:
            queue.append(v)
        total = total + (v if (v < 0.3 and queue) else v * v)
        if v < 0 and queue:
            total = total + queue.popleft()
    return total


def emptied(x: Any) -> Any:
    last, total = [], 0.0
    for v in x:
        if v > 0:
            last.append(v * v)
            total = total + 0.1 * v
    while total < 2 and last:
        total = total + last.pop()
    while last and (total < 9 or len(last) > 3):
        total = total + 0.5 * last.pop()
        if total > 5:
            break
    return total


def known(x: Any) -> Any:
    names, text, nothing, total = ["a"], "text", None, 0.0
    for v in x:
        if v > 0 and names:
            total = total + v
        if v > 0 and (nothing or text) and not (v < 1 and nothing):
            total = total + v * v
    return total


PROGRAMS = [both, either, negated, chosen, emptied, known]
ARGUMENTS = [
    np.array([0.1, -0.3, 0.4, 0.9, -1.0, 2.5, 0.7]),
    np.array([-1.0, -0.6, -0.1]),
    np.array([0.6]),
    np.zeros(3),
]


def gradient(f: Any, x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + s) - f(x - s)) / 2e-6 for s in steps])


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("x", ARGUMENTS[:3], ids=len)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Any, x: Any) -> None:
    expected = gradient(f, x)
    for found in (tg.grad(f), tg.jit(tg.grad(f)), tg.grad(tg.jit(f))):
        np.testing.assert_allclose(found(x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values(f: Any) -> None:
    for x in ARGUMENTS:
        assert tg.jit(f)(x) == pytest.approx(f(x), rel=1e-14)
        narrow = x.astype(np.float32)
        assert tg.jit(f)(narrow) == pytest.approx(f(narrow), rel=1e-5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_of_batches(f: Any) -> None:
    x = np.stack([ARGUMENTS[0], ARGUMENTS[0][::-1], -ARGUMENTS[0]])
    expected = [f(row) for row in x]
    np.testing.assert_allclose(tg.vmap(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(tg.jit(tg.vmap(f))(x), expected, rtol=1e-14)
