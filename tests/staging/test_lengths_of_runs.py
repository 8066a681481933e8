"""Lengths that only a run knows: lists to which some passes append, sizes that a loop counts."""

# ruff: noqa: PERF401 - the programs are as people write them
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import VALUES, by_source, check_gradient, check_value
from tracegrad.errors import ConcretizationError

X = np.array([1.4537, -0.4531, 2.5519, 0.3077])
N = 90
"""So many steps are not written out."""


def some_passes(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] > 0:
            out.append(x[i % 4] * i)
    a = np.array(out)
    return np.sum(a**2) + a[-1] * a[3] + len(out)


def other_numbers_in_branches(x: Any) -> Any:
    out = [x[3]]
    for i in range(N):
        if x[i % 4] * i > out[-1]:
            out.append(x[i % 4] ** 2)
        elif x[i % 4] < 0:
            out.append(x[i % 4])
            out.append(2 * x[0])
    return sum(out) / len(out) + max(out) - np.min(out)


def items_in_a_loop(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] * i > 3:
            out.append((x[i % 4], i))
    s = 0.0
    for v, i in out:
        s += v * v * i
    return s if out else x[0]


def until(x: Any) -> Any:
    """More items than there is room at first."""
    out, t = [], x[0]
    while t < 500:
        t = t * 1.05
        out.append(t)
    return np.sum(np.array(out))


def lists_side_by_side(x: Any) -> Any:
    ts, ys = [0.0], [x[0]]
    while ts[-1] < 3 * x[2]:
        h = 0.05 * x[2] if ys[-1] > 1 else 0.1
        ys.append(ys[-1] + h * (x[1] - ys[-1]))
        ts.append(ts[-1] + h)
    t, y = np.array(ts), np.array(ys)
    return np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(t)) + np.interp(0.5, t, y)


def with_break(x: Any) -> Any:
    out, t = [], x[0]
    for _ in range(300):
        t = t * 1.1
        if t > 50:
            break
        out.append(t)
    return sum(out[1:]) + sum(out[-3:]) + out[-2]


def in_a_loop(x: Any) -> Any:
    found = []
    for k in range(12):
        row = []
        for j in range(10):
            if x[j % 4] * j > k:
                row.append(x[j % 4] * j)
        a = np.array(row)
        if np.sum(a) > 20:
            found.append(np.sum(a * a))
    return np.sum(np.array(found)) + len(found)


def chosen(x: Any) -> Any:
    y = np.concatenate([x] * 10) * np.arange(40)
    return sum([v * v for v in y if v > 1])


def positive(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] * i > 3:
            out.append(x[i % 4] * i)
    return out


def by_a_helper(x: Any) -> Any:
    return np.sum(np.array(positive(x)) ** 2) + len(positive(2 * x))


def counted(x: Any) -> Any:
    n = 0
    while x[0] * 1.5**n < 90:
        n += 1
    a, t = np.zeros(n), np.arange(n)
    for i in range(n):
        a[i] = x[0] * i
    return np.sum(a**2 * np.cos(t * x[1])) + np.mean(np.ones(int(x[2] * 10)) * x[2])


def no_loop(x: Any) -> Any:
    out = [x[0]]
    if x[1] < 0:
        out.append(x[1])
    if x[2] < 0:
        out.append(x[2])
    out.append(x[3])
    return sum(out) * len(out)


def all_lengths(x: Any) -> Any:
    """Arrays of no, one, two elements and more."""
    total = 0.0
    for bound in (1000.0, 225.0, 220.0, 150.0):
        out = []
        for i in range(N):
            if x[i % 4] * i > bound:
                out.append(x[i % 4] * i)
        a = np.array(out)
        total = total + np.sum(a[1:] * a[:-1]) + np.sum(a[1:-1]) + np.sum(a[-3:]) + np.sum(a[:5])
        total = total + np.sum(a[::-1] * a) + np.sum(a[::2]) + np.sum(np.diff(a)) + np.trapezoid(a)
    return total


PROGRAMS = [
    some_passes, other_numbers_in_branches, items_in_a_loop, until, lists_side_by_side, with_break,
    in_a_loop, chosen, by_a_helper, counted, no_loop, all_lengths,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_gradient(f: Any) -> None:
    check_value(f, "jit", X)
    check_gradient(f, "grad", X)


@pytest.mark.parametrize("f", [until, in_a_loop])
def test_gradients_as_graphs(f: Any) -> None:
    """Of generated source that CPython runs, with each place looked at."""
    np.testing.assert_allclose(by_source(tg.grad(f))(X), tg.grad(f)(X), rtol=1e-11)


@pytest.mark.parametrize("f", [other_numbers_in_branches, until])
def test_batches(f: Any) -> None:
    """Each lane has lengths of its own."""
    check_value(f, [w for w in VALUES if w == "jit of vmap"][0], X)


def test_compiled() -> None:
    def total(x: Any) -> Any:
        return some_passes(x) + lists_side_by_side(x)

    gradient = tg.jit(tg.grad(total))
    for x in (X, 1.1 * X, np.array([2.0, 1.0, 0.5, -1.0])):
        np.testing.assert_allclose(gradient(x), tg.grad(total)(x), rtol=1e-10)


def test_one_graph_for_all_lengths() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return sum(out) + len(out)

    for n in (30, 31, 50):
        x = np.sin(np.arange(n) * 1.0)
        np.testing.assert_allclose(f(x), np.sum(x[x > 0]) + np.sum(x > 0), rtol=1e-13)
    assert len({id(e) for e in f._signatures.entries.values()}) <= 2


def test_second_derivatives() -> None:
    def summed(x: Any) -> Any:
        out = []
        for i in range(30):
            if x[i % 4] * i > 3:
                out.append(x[i % 4] ** 3)
        return sum(out) * x[0]

    found = tg.hessian(summed)(X)
    columns = [(tg.grad(summed)(X + d) - tg.grad(summed)(X - d)) / 2e-5
               for d in 1e-5 * np.eye(4)]  # fmt: skip
    np.testing.assert_allclose(by_source(tg.hessian(summed))(X), found, rtol=1e-11)
    np.testing.assert_allclose(found, columns, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "read", [lambda out: out[-1], lambda out: np.array(out)[0], lambda out: max(out)]
)
def test_what_python_raises(read: Any) -> None:
    def f(x: Any) -> Any:
        out = []
        for i in range(N):
            if x[i % 4] > 1000:
                out.append(x[i % 4])
        return read(out)

    with pytest.raises((IndexError, ValueError)) as expected:
        f(X)
    with pytest.raises(expected.type, match=r"out of (range|bounds)|empty"):
        tg.jit(f)(X)


def by_itself(x: Any) -> Any:
    y, out = x.copy(), []
    while y[0] < 6:
        y += 0.1 * y
        out.append(y[0] * y[1])
        if y[2] > 9:
            break
    return y[0] * len(out) + sum(out)


def under_two_names(x: Any) -> Any:
    y, out = x.copy(), []
    z = y
    while z[0] < 6:
        y[0] += 0.1 * y[2]
        out.append(z[0] * y[1])
    return z[0] * len(out) + sum(out)


def in_an_object(x: Any) -> Any:
    s, out = SimpleNamespace(y=x.copy()), []
    for _ in range(30):
        s.y *= 1.1
        if s.y[0] > 3:
            out.append(s.y[0])
    s.y *= 2.0
    mean = np.mean(np.array(out))
    s.y += 1.0
    return mean * s.y[0]


@pytest.mark.parametrize("f", [by_itself, under_two_names, in_an_object])
def test_a_state_in_place_beside_the_list(f: Any) -> None:
    """A block is tried until its lengths are known: each try begins with what the first found."""
    value, slope = tg.jit(tg.value_and_grad(f))(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    steps = [(f(X + d) - f(X - d)) / 2e-6 for d in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, steps, rtol=1e-6, atol=1e-8)


def given_back(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] > 0:
            out.append(x[i % 4])
    return out


def test_refused() -> None:
    with pytest.raises(ConcretizationError):
        tg.jit(given_back)(X)


def test_a_covariance() -> None:
    def f(x: Any) -> Any:
        return np.cov(np.array(given_back(x)))

    np.testing.assert_allclose(tg.jit(f)(X), f(X), rtol=1e-12)


def _decorated(f: Any) -> Any:
    return f


@_decorated
def gives_a_list(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] > 1000:
            out.append(x[i % 4])
    return np.array(out).tolist()[0]


def test_lines_of_decorated_functions() -> None:
    line = gives_a_list.__code__.co_firstlineno + 6
    with pytest.raises(ConcretizationError, match=rf"test_lengths_of_runs.py:{line}\b"):
        tg.jit(gives_a_list)(X)
