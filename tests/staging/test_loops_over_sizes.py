"""Loops over sizes, called with one size after the other: what they change is a number of the
graph, and what was traced for one size serves the others."""

# ruff: noqa: B905, RUF007 - the programs are as people write them
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def halves(x: Any) -> Any:
    n = len(x)
    s = 0.0
    while n > 1:
        s += x[n - 1]
        n = n // 2
    return s * n


def swap_sizes(x: Any) -> Any:
    a, b = len(x), 2
    s = 0.0
    for i in range(len(x)):
        a, b = b, a
        s += x[i] * a
    return s


def bound(x: Any) -> Any:
    hi = len(x) - 1
    lo = 0
    while hi - lo > 1:
        m = (hi + lo) // 2
        if x[m] > 0.5:
            hi = m
        else:
            lo = m
    return x[hi] * hi + len(x)


def pick(x: Any) -> Any:
    n = len(x)
    k = n if x[0] > 0 else n - 1
    return np.sum(x) * k


def shape_after(x: Any) -> Any:
    n = len(x)
    m = n
    for i in range(n):
        m = n - 1 if i % 2 else n - 2
    return np.sum(x[:3]) * m


def nested_size(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            s += x[i] * x[j] * (j - i)
    return s


def zs(x: Any) -> Any:
    y = np.zeros(len(x) - 1)
    for i in range(len(y)):
        y[i] = x[i + 1] - x[i]
    return np.sum(y**2) + len(y)


def revd(x: Any) -> Any:
    out = []
    for v in reversed(x):
        out.append(v * len(out))
    return np.sum(np.array(out) * x)


def zipd(x: Any) -> Any:
    out = [a * b for a, b in zip(x, x[1:])]
    return sum(out) + len(out)


def enum(x: Any) -> Any:
    return sum([i * v for i, v in enumerate(x)])


def mx(x: Any) -> Any:
    best = x[0]
    at = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            at = i
    return best * at


PROGRAMS: list[Any] = [
    halves,
    swap_sizes,
    bound,
    pick,
    shape_after,
    nested_size,
    zs,
    revd,
    zipd,
    enum,
    mx,
]
BY_SIZE = {halves, revd}
"""A `while` on a size, which is Python's, and `reversed` of an array: compiled for each."""


@pytest.mark.parametrize("f", PROGRAMS)
def test_sizes_one_after_the_other(f: Any) -> None:
    both: Any = tg.jit(tg.value_and_grad(f))
    for n in (12, 9, 4, 30, 3):
        x = np.sin(np.arange(n) + 1.0) + 0.1
        value, gradient = both(x)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
        step = 1e-6 * np.eye(n)
        slopes = [(f(x + d) - f(x - d)) / 2e-6 for d in step]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-5)
    entries = {id(e) for e in both._signatures.entries.values()}
    assert (
        f in BY_SIZE or len(entries) <= 3
    )  # the first size, the others, and where a slice is of one element
