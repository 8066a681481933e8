"""`while` loops whose end no argument decides, loops of which the first pass finds None, and what
is written out no further than needed in batches and second derivatives."""

# ruff: noqa: B007 - the programs are as people write them
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import VALUES, Programs, by_source, check_gradient, check_value, differences

X = np.array([1.45, -0.45, 2.55, 0.3])
SHORT = 400
"""More lines of code has a program of which loops are written out."""

program = Programs()


@program
def to_an_end_in_time(x: Any) -> Any:
    t, y, h, end = 0.0, x[0], 0.03, 2.0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = -y * x[1] + np.sin(t)
        k2 = -(y + h * k1) * x[1] + np.sin(t + h)
        y = y + 0.5 * h * (k1 + k2)
        t += h
    return y + t + h


@program
def forever_with_a_break(x: Any) -> Any:
    t, y = 0.0, x[0]
    while True:
        y = y + 0.01 * (np.sin(t) * x[1] - y)
        y = y + 0.001 * np.cos(y)
        t += 0.01
        if t >= 1.5:
            break
        y = y * 1.0001
    return y * t


@program
def with_else(x: Any) -> Any:
    i, s = 0, x[0]
    while i < 150:
        i += 1
        if i % 3 == 0:
            continue
        s = 0.9 * s + np.sin(x[i % 4] * i)
    else:
        s = 2 * s
    return s + i


@program
def triangle(x: Any) -> Any:
    s, i = 0.0, 0
    while i < 30:
        j = 0
        while j <= i:
            s = s + np.sin(x[i % 4] * x[j % 4] * 0.1 * j)
            j += 1
        i += 1
    return s + i + j


@program
def lists(x: Any) -> Any:
    t, y, n = 0.0, x.copy(), 0
    ts, ys, zs = [t], [y[0]], []
    while t < 1.0 - 1e-12:
        y = y + 0.01 * np.roll(y, 1) * np.cos(t)
        t += 0.01
        n += 1
        ts.append(t)
        ys.append(y[0])
        if n % 10 == 0:
            zs.append(y.copy())
    z = np.array(zs)
    return np.trapezoid(ys, ts) + (z * z).sum() + z.shape[0] + len(ts)


@program
def numbers_are_known_afterwards(x: Any) -> Any:
    k, y = 0, x[0]
    while k < 60:
        y = 0.5 * (y + x[2] / y) + 0.001 * np.sin(x[1] * k)
        k += 1
    a = np.ones(k) * y
    for i in range(k):
        a[i] += i
    return a[: k // 2].sum() + x[k % 4] + np.linspace(0, 1, k)[3] * y


@program
def shapes_that_change_are_written_out(x: Any) -> Any:
    u = np.outer(x, np.ones(8)).ravel()
    n = u.size
    while n > 1:
        n //= 2
        u = u[:n] + u[n:] * x[0]
    return u[0]


@program
def named_in_the_condition(x: Any) -> Any:
    n, err, y = 0, math.inf, x.copy()
    while (n := n + 1) < 80 and err >= 1e-9:
        z = y - 0.1 * (y**3 - x)
        err = np.sqrt(np.sum((z - y) ** 2))
        y = z
    return y @ x + n


@program
def nothing_before_the_first(x: Any) -> Any:
    old, y = None, x[0]
    for k in range(100):
        y = 0.5 * (y + x[2] / y)
        if old is not None and abs(y - old) < 1e-12:
            break
        old = y
    return y + k


@program
def differences_of_neighbours(x: Any) -> Any:
    before, s = None, 0.0
    for k in range(120):
        y = np.sin(x[k % 4] * k)
        if before is not None:
            s += (y - before) ** 2
        before = y
    return s


@program
def best_so_far(x: Any) -> Any:
    best, where = None, None
    for k in range(80):
        v = np.sin(k * x[0]) + x[1] * k * 0.01
        if best is None or v > best:
            best, where = v, k
    return best + where


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("name", program)
def test_value(name: str, way: str) -> None:
    check_value(program[name], way, X)


@pytest.mark.parametrize("name", program)
def test_gradient(name: str) -> None:
    check_gradient(program[name], "jvp", X)
    check_gradient(program[name], "grad", X)


@pytest.mark.parametrize("name", sorted(set(program) - {"shapes_that_change_are_written_out"}))
def test_loops_are_loops(name: str) -> None:
    f = program[name]
    assert str(tg.jit(f).graphs(X)[0]).count("\n") < SHORT
    assert str(tg.jit(tg.vmap(f)).graphs(np.stack([X, X]))[0]).count("\n") < SHORT


def test_a_loop_is_one_in_a_batch_and_in_a_second_derivative() -> None:
    def f(x: Any) -> Any:
        s = x[0]
        for k in range(400):
            s = 0.9 * s + np.sin(x[k % 4] * k * 0.01)
        return s

    found = tg.jit(tg.hessian(f))
    assert str(found.graphs(X)[0]).count("\n") < SHORT
    expected = differences(tg.grad(f), X)
    np.testing.assert_allclose(by_source(found)(X), expected, rtol=1e-5, atol=1e-6)
