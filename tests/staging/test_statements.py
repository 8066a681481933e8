"""Branches, loops and jumps on traced values: as plain Python has them, in every way of running."""

# ruff: noqa: B007, F821, F841 - the programs are as people write them
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import GRADIENTS, VALUES, check_gradient, check_value

X = np.array([1.45, -0.45, 2.55, 0.3])


def branch(x: Any) -> Any:
    if x[0] > 0:
        y = x[1] * 2
    else:
        y = x[2]
    return y * x[0]


def branch_without_else(x: Any) -> Any:
    y = x[1]
    if x[1] < 0:
        y = -y * x[2]
    return y * x[0]


def chain_of_branches(x: Any) -> Any:
    if x[0] > 2:
        y = x[0]
    elif x[0] > 1:
        y = x[1] * x[0]
    else:
        y = x[2]
    return y + x[3]


def early_return(x: Any) -> Any:
    if x[0] > 2:
        return x[0]
    y = x[1] * x[2]
    if y > 0:
        return y
    return y * y


def early_return_deep(x: Any) -> Any:
    if x[0] > 0:
        if x[1] > 0:
            return x[0]
        y = x[2]
    else:
        y = x[3]
    return y * x[0]


def sum_with_continue_and_break(x: Any) -> Any:
    s = 0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        s += x[i] ** 2
        if s > 5:
            break
    return s


def while_counted(x: Any) -> Any:
    t, n = x[0], 0
    while t < 10:
        t = t * x[2]
        n += 1
    return t * n


def while_that_binds(x: Any) -> Any:
    s = 0.0
    while (k := s * x[0]) < 5:
        s += x[2]
    return s + k


def while_with_else(x: Any) -> Any:
    t = x[0]
    while t < 10:
        t = t * 2
        if t > 1000:
            break
    else:
        t = t + x[1]
    return t


def for_with_else_taken(x: Any) -> Any:
    for v in x:
        if v > 100:
            found = v
            break
    else:
        found = x[1] * x[2]
    return found


def return_inside_of_a_loop(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] < 0:
            return x[i] * 3 + i
    return x[0]


def return_inside_of_two_loops(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            s += x[i] * x[j]
            if s > 4:
                return s * x[0]
        s = s + x[i]
    return s


def break_of_the_inner_loop(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            if x[j] < 0:
                break
            s += x[i] * x[j]
        s = 0.9 * s
    return s


def endless_until(x: Any) -> Any:
    while True:
        y = x[0] * 2
        if y > 100:
            break
        x = x * 2
    return y


def converging(x: Any) -> Any:
    err, z, it = 1.0, x[0], 0
    while err > 1e-12 and it < 50:
        new = 0.5 * (z + x[0] / z)
        err = abs(new - z)
        z = new
        it += 1
    return z


def bisection(x: Any) -> Any:
    lo, hi = 0.0, 10.0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if mid * mid > x[0]:
            hi = mid
        else:
            lo = mid
    return 0.0 * lo + math.sqrt(x[0])


def negative_step(x: Any) -> Any:
    s = 1.0
    for i in range(len(x) - 1, -1, -2):
        if x[i] > 0:
            s = s * x[i] + i
    return s


def last_value_of_the_loop(x: Any) -> Any:
    s = 0.0
    for i in range(200):
        if s < 3:
            s = s + x[0] * 0.01
    return s * i


def rows(x: Any) -> Any:
    s = 0.0
    for row in np.outer(x, x):
        if row[0] > 0:
            s += np.sum(row**2)
    return s


def side_by_side(x: Any) -> Any:
    s = 0.0
    for k, (a, b) in enumerate(zip(x, x[::-1], strict=False)):
        if a > b:
            s += k * a * b
    return s


def backwards(x: Any) -> Any:
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + (v if v > 0 else -v * v)
    return s


def lazy_and_or(x: Any) -> Any:
    s = 0.0
    i = 0
    while i < len(x) and (x[i] > 0 or x[i] < -0.1):
        s += x[i] ** 2
        i += 1
    return s


def chained(x: Any) -> Any:
    s = 0.0
    for v in x:
        if 0 < v < 2:
            s += v**2
        if not v > 0:
            s -= v**3
    return s


def helper_functions(x: Any) -> Any:
    def weight(v: Any) -> Any:
        if v > 0:
            return v
        return -v * 2

    s = 0.0
    for v in x:
        s += outside(weight(v))
    return s


def outside(v: Any) -> Any:
    return v * v if v > 1 else v


def dtypes_of_carries(x: Any) -> Any:
    s, n, flag = 0, 0, False
    for i in range(100):
        if x[i % 4] > 0:
            s = s + x[i % 4] / (i + 1)
            flag = not flag
        n = n + i
    if flag:
        s = s * 2
    return s * n


def shape_from_the_first_pass(x: Any) -> Any:
    s = 0.0
    for i in range(100):
        s = s * 0.5 + x * i
        if s[0] > 3:
            s = s * 0.1
    return np.sum(s)


def known_in_later_passes(x: Any) -> Any:
    s = 0.0
    for i in range(100):
        if i > 0 and s < 50:
            s = s + before * x[0]
        before = x[i % 4] * i
    return s


def numbers_of_math(x: Any) -> Any:
    s = 0.0
    for v in x:
        if math.fabs(v) > 0.4:
            s += math.exp(-v) * math.atan2(v, 2.0) + min(v, 1.0) * max(v, 0.2, x[0])
        s += int(v * 2) * v + float(v) + abs(v)
    return s


PROGRAMS: list[Callable[..., Any]] = [
    branch,
    branch_without_else,
    chain_of_branches,
    early_return,
    early_return_deep,
    sum_with_continue_and_break,
    while_counted,
    while_that_binds,
    while_with_else,
    for_with_else_taken,
    return_inside_of_a_loop,
    return_inside_of_two_loops,
    break_of_the_inner_loop,
    endless_until,
    converging,
    bisection,
    negative_step,
    last_value_of_the_loop,
    rows,
    side_by_side,
    backwards,
    lazy_and_or,
    chained,
    helper_functions,
    dtypes_of_carries,
    shape_from_the_first_pass,
    known_in_later_passes,
    numbers_of_math,
]


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values(program: Callable[..., Any], way: str) -> None:
    check_value(program, way, X)


# What is compiled of both ways is the same graph.
GRADIENTS_OF = [
    (f, way)
    for k, f in enumerate(PROGRAMS)
    for way in GRADIENTS
    if way != "grad of jit" or k % 4 == 0
]


@pytest.mark.parametrize(("program", "way"), GRADIENTS_OF)
def test_gradients(program: Callable[..., Any], way: str) -> None:
    check_gradient(program, way, X)


SMOOTH = [
    branch,
    early_return_deep,
    sum_with_continue_and_break,
    while_counted,
    return_inside_of_two_loops,
    break_of_the_inner_loop,
    converging,
    rows,
    side_by_side,
    lazy_and_or,
    helper_functions,
    known_in_later_passes,
]


@pytest.mark.parametrize("program", SMOOTH)
def test_second_derivatives(program: Callable[..., Any]) -> None:
    step = 1e-5
    expected = [
        (tg.grad(program)(X + step * d) - tg.grad(program)(X - step * d)) / (2 * step)
        for d in np.eye(4)
    ]
    ways = [tg.hessian, lambda f: tg.hessian(tg.jit(f))]
    if program in (converging, sum_with_continue_and_break, helper_functions):
        ways.append(lambda f: tg.jit(tg.hessian(f)))
    for way in ways:
        np.testing.assert_allclose(way(program)(X), expected, rtol=1e-5, atol=1e-7)
