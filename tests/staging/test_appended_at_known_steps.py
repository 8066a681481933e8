"""Lists to which a loop appends at some of its steps: which ones is a fact of their numbers, so
that the length is known when the function is traced."""

# ruff: noqa: PERF401 - the programs are as people write them
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import VALUES, Programs, check_gradient, check_value, differences

X = np.array([1.45, -0.45, 2.55, 0.3])
N = 90
"""So many steps are not written out."""

program = Programs()


@program
def every_seventh(x: Any) -> Any:
    history, s = [], x
    for k in range(N):
        s = s + 0.01 * np.sin(s)
        if k % 7 == 0:
            history.append(s.copy())
    h = np.array(history)
    return np.sum(h**2) + h[-1, 0] * len(history)


@program
def some_steps(x: Any) -> Any:
    found, s = [], x[0]
    for k in range(N):
        s = s * 0.99 + x[k % 4]
        if k in (0, 5, 17, N - 1):
            found.append((k, s))
    return sum(a * b for a, b in found)


@program
def all_but_some(x: Any) -> Any:
    found, s = [], x[0]
    for k in range(N):
        s = s * 0.99 + x[k % 4]
        if k < 30 or k % 3:
            continue
        found.append(s)
    return np.dot(found, np.arange(len(found)))


@program
def at_times(x: Any) -> Any:
    t, dt, following, y = 0.0, 0.01, 0.1, x[0]
    ts, ys = [], []
    for _ in range(N):
        y = y + dt * (x[1] - y)
        t += dt
        if t >= following - 1e-12:
            ts.append(t)
            ys.append(y)
            following += 0.1
    return np.interp(0.45, ts, ys) + np.sum(np.array(ys) * np.array(ts))


@program
def counted_beside(x: Any) -> Any:
    count, out, s = 0, [], 0.0
    for k in range(N):
        s += x[k % 4] ** 2
        count += 1
        if count == 10:
            out.append(s / count)
            count, s = 0, 0.0
    return np.std(out) + out[3]


@program
def two_lists(x: Any) -> Any:
    even, odd = [], []
    for k in range(N):
        if k % 2 == 0:
            even.append(x[k % 4] * k)
        else:
            odd.append(x[k % 4] / (k + 1))
    return np.dot(even, odd)


@program
def by_two_numbers(x: Any) -> Any:
    out = []
    for i in range(20):
        for j in range(20):
            if (i + j) % 3 == 0 and i != j:
                out.append(x[i % 4] * x[j % 4] * i)
    a = np.array(out)
    return np.sum(a * np.cos(np.arange(a.size)))


@program
def by_the_inner_number(x: Any) -> Any:
    out = []
    for i in range(20):
        for j in range(20):
            if j % 4 == 1:
                out.append(x[i % 4] * x[j % 4] * i)
    return np.array(out).reshape(20, 5)[3].sum()


@program
def comprehension(x: Any) -> Any:
    a = np.array([x[i % 4] * i for i in range(N) if i % 3 == 1])
    return np.sum(a**2) / a.size


def saved(x: Any, every: int) -> Any:
    out = [x]
    for k in range(1, N + 1):
        x = 0.9 * x + 0.1 * np.roll(x, 1)
        if k % every == 0:
            out.append(x)
    return np.array(out)


@program
def by_a_helper(x: Any) -> Any:
    s = saved(x, 10)
    return (s[2] * s[-1]).sum() + s.shape[0] * s[1:-1].mean()


@program
def until_a_break(x: Any) -> Any:
    out, s = [], x[0]
    for k in range(N):
        s = 0.9 * s + x[k % 4]
        if k % 4 == 0:
            out.append(s)
        if k == 50:
            break
    return np.array(out).mean()


@program
def as_the_length_of_an_array(x: Any) -> Any:
    m = 0
    for k in range(200):
        if k % 3 == 0 or x.shape[0] == k:
            m += 1
    out, m = np.zeros(m), 0
    for k in range(200):
        if k % 3 == 0 or x.shape[0] == k:
            out[m] = x[k % 4] * k
            m += 1
    return np.sum(out**2)


@program
def never(x: Any) -> Any:
    out, s = [], x[0]
    for k in range(N):
        s = 0.9 * s + x[k % 4]
        if k > 100:
            out.append(s)
    return s + len(out) + np.array(out).size


@program
def after_others(x: Any) -> Any:
    out = [x[0], x[1]]
    for k in range(N):
        if k % 9 == 0:
            out.append(out[-1] * 0.5 + x[k % 4])
    for k in range(N):
        if k % 10 == 0:
            out.append(out[k // 10] + x[2])
    return np.sum(np.array(out) * np.arange(len(out)))


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("name", program)
def test_value(name: str, way: str) -> None:
    check_value(program[name], way, X)


@pytest.mark.parametrize("name", program)
def test_gradient(name: str) -> None:
    check_gradient(program[name], "jvp", X)
    check_gradient(program[name], "grad", X)


def test_second_derivative() -> None:
    f = program["every_seventh"]
    expected = differences(tg.grad(f), X)
    np.testing.assert_allclose(tg.jit(tg.hessian(f))(X), expected, rtol=1e-5, atol=1e-6)


def test_room_for_what_is_appended_alone() -> None:
    text = str(tg.jit(program["every_seventh"]).graphs(X)[-1])
    assert "f64[13,4]" in text.replace(" ", "")
    assert "f64[90,4]" not in text.replace(" ", "")


def test_where_only_a_run_knows_the_length_the_error_tells_what_to_do() -> None:
    def chosen(x: Any) -> Any:
        out = []
        for k in range(N):
            if x[k % 4] * k > 1:
                out.append(x[k % 4])
        return np.array(out)

    with pytest.raises(tg.ConcretizationError, match=r"Hand on the list \(out\)"):
        tg.jit(lambda x: chosen(x).sum())(X)
