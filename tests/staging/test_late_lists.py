"""Lists of which only a run knows the length, in expressions that make new lists of them: joined,
in steps, sorted, copied, compared; also in the loops that append to them."""

# ruff: noqa: PERF401 - the programs are as people write them
from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, differences, inputs
from tests.unjitted import run_unjitted
from tracegrad.errors import ConcretizationError
from tracegrad.ir.evaluate import evaluate

N = 25
PROGRAMS = Programs()
ARGUMENTS = (
    np.array([0.95, -0.3, 0.55, 0.2, -0.8]),
    np.array([0.15, 0.9, -0.4, 0.8, 1.1]),
    np.array([-0.15, -0.9, -0.4, -0.8, -1.1]),
    np.array([-0.15, -0.9, 0.4, -0.8, -1.1]),
)
"""With several, most, no and one number above 0."""


def late(x: Any) -> Any:
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


def pairs(x: Any) -> Any:
    out = []
    for i in range(5):
        if x[i] > 0:
            out.append((x[i], i))
    return out


def arrays(x: Any) -> Any:
    out = []
    for i in range(5):
        if x[i] > 0:
            out.append(np.array([x[i], i * x[i]]))
    return out


@PROGRAMS
def behind_one_another(x: Any) -> Any:
    a = late(x)
    b = late(-x)
    c = a + b
    return len(c) + sum(c) * 2 + sum(b + a + [1.0] + c)


@PROGRAMS
def in_steps(x: Any) -> Any:
    a = late(x)
    return (
        sum(a[::2])
        + sum(a[::-1])
        + len(a[1::3]) * 10
        + len(a[-2::-1]) * 100
        + len(a[5:0:-2]) * 1000
    )


@PROGRAMS
def several_times(x: Any) -> Any:
    a = late(x)
    return sum(a * 0) + len(a * 3) + sum(2 * a) + len(a * -1)


@PROGRAMS
def copies(x: Any) -> Any:
    a = late(x)
    b = a.copy()
    b.append(1.0)
    c = list(b)
    c.append(x[1])
    return len(a) + len(b) * 10 + len(c) * 100 + sum(c)


@PROGRAMS
def sorted_by_a_key(x: Any) -> Any:
    a = pairs(x)
    b = sorted(a, key=lambda p: -p[0])
    s = 0.0
    for k, (v, i) in enumerate(b):
        s += v * i * (k + 1)
    return s


@PROGRAMS
def sorted_in_place_by_a_key(x: Any) -> Any:
    a = pairs(x)
    a.sort(key=lambda p: p[1] % 3, reverse=True)
    s = 0.0
    for k, (v, i) in enumerate(a):
        s += v * i * (k + 1)
    return s


@PROGRAMS
def any_or_all_of_them(x: Any) -> Any:
    a = late(x)
    return (
        (10 if any(v > 0.5 for v in a) else 0)
        + (100 if all(v > 0.1 for v in a) else 0)
        + (1000 if any(a) else 0)
        + (10000 if all(a) else 0)
        + x[0]
    )


@PROGRAMS
def compared(x: Any) -> Any:
    a = late(x)
    b = late(x * 2)
    return (
        (1.0 if a == b else 2.0)
        + (10.0 if a != a[:] else 20.0)
        + (100.0 if a == [] else 200.0)
        + x[0]
    )


@PROGRAMS
def of_arrays(x: Any) -> Any:
    a = arrays(x)
    b = a[::-1] + a
    s = np.zeros(2)
    for v in b:
        s = s + v * v
    return s[0] + 2 * s[1]


@PROGRAMS
def made_longer(x: Any) -> Any:
    a = late(x)
    a += [x[1], 1.0]
    a.extend([2.0])
    a += a
    return sum(a) * len(a)


@PROGRAMS
def sorted_in_a_loop(x: Any) -> Any:
    s = 0.0
    hist = []
    for i in range(5):
        if x[i] > 0:
            hist.append(x[i])
        hist.sort()
        if hist:
            s += hist[0] * (i + 1)
    return s


@PROGRAMS
def made_longer_in_a_loop(x: Any) -> Any:
    a = late(x)
    out = []
    for _ in range(3):
        out.extend(a)
        out += late(-x)
    return sum(out) * len(out)


@PROGRAMS
def made_longer_or_sorted(x: Any) -> Any:
    a = late(x)
    if x[0] > 0:
        a.extend(late(-x))
    else:
        a.sort(reverse=True)
    return sum(v * (k + 1) for k, v in enumerate(a))


@PROGRAMS
def as_a_deque(x: Any) -> Any:
    d = deque(late(x), maxlen=3)
    d.appendleft(x[0])
    return sum(v * (k + 1) for k, v in enumerate(d))


@PROGRAMS
def largest_and_smallest(x: Any) -> Any:
    a = late(x)
    h = heapq.nlargest(3, a) + heapq.nsmallest(2, a)
    return sum(v * (k + 1) for k, v in enumerate(h))


@PROGRAMS
def extremes_by_a_key(x: Any) -> Any:
    a = late(x)
    return min(a, key=lambda v: (v - 0.4) ** 2) + max(a, key=lambda v: math.sin(v))


@PROGRAMS
def rows_of_lists(x: Any) -> Any:
    a = late(x)
    rows = []
    for v in a:
        rows.append([v, v * v])
    return sum(r[1] for r in rows) + rows[-1][0]


@PROGRAMS
def deleted(x: Any) -> Any:
    a = late(x)
    del a[0]
    return sum(a)


@PROGRAMS
def cut_and_turned(x: Any) -> Any:
    path = []
    k = 0
    while k < 4 and x[k] < 1.2:
        path.append((k, x[k]))
        k += 1
    return sum(v for _, v in path) + sum(k * v for k, v in path[::-1]) + path[-1][1]


@PROGRAMS
def last_ones_of_a_growing_list(x: Any) -> Any:
    s = 0.0
    hist = []
    for i in range(N):
        if x[i % 5] * np.cos(i) > 0:
            hist.append(x[i % 5] * np.cos(i))
        s += sum(hist[-3:]) * np.sin(i) + len(hist[-3:])
    return s


@PROGRAMS
def extremes_of_a_growing_list(x: Any) -> Any:
    a = []
    s = 0.0
    for i in range(N):
        a.append(x[i % 5] * np.cos(i))
        s += max(a) * 0.1 + min(a) - np.mean(a)
    return s


@PROGRAMS
def median_of_a_window(x: Any) -> Any:
    q: deque[Any] = deque(maxlen=3)
    s = 0.0
    for i in range(N):
        q.append(x[i % 5] * np.cos(i))
        s += np.mean(q) + sorted(q)[len(q) // 2]
    return s


@PROGRAMS
def differences_of_a_growing_list(x: Any) -> Any:
    a = [x[0]]
    s = 0.0
    for i in range(N):
        a.append(a[-1] * 0.9 + x[i % 5])
        d = [a[k + 1] - a[k] for k in range(len(a) - 1)]
        s += sum(v * v for v in d) * 0.01
    return s


@PROGRAMS
def merged_until_one_is_left(x: Any) -> Any:
    a = []
    for i in range(N):
        if x[i % 5] * np.cos(i) > 0:
            a.append(x[i % 5] * np.cos(i))
    while len(a) > 1:
        i = a.index(min(a))
        u = a.pop(i)
        j = a.index(min(a))
        v = a.pop(j)
        a.append(u + v * 1.1)
    return sum(a)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    """Of the first argument what is traced is evaluated, of all of them by the generated source."""
    f: Any = PROGRAMS[name]
    both: Any = tg.jit(tg.value_and_grad(f), stage=True)
    graphs = both.graphs(ARGUMENTS[0])
    for k, x in enumerate(ARGUMENTS):
        try:
            expected = f(x.copy())
        except (IndexError, ValueError) as error:
            with pytest.raises(AssertionError, match=type(error).__name__):
                run_unjitted(graphs[-1], inputs(both, x), keep=True)
            continue
        results = [run_unjitted(graphs[-1], inputs(both, x), keep=True)]
        results += [evaluate(graphs[0], inputs(both, x))] if k == 0 else []
        for value, gradient in results:
            np.testing.assert_allclose(value, expected, rtol=1e-10)
            np.testing.assert_allclose(gradient, differences(f, x), atol=1e-5)


def test_dtypes_are_those_of_the_items() -> None:
    def narrow(x: Any) -> Any:
        a = late(x)
        return (a + a)[0], a[::-1][0], (a * 2)[0], sorted(a, key=lambda v: -v)[0]

    x = ARGUMENTS[0].astype(np.float32)
    for found, expected in zip(tg.jit(narrow, stage=True)(x), narrow(x), strict=True):
        assert found.dtype == expected.dtype == np.float32
        assert found == expected


def into_an_item(x: Any) -> Any:
    a = arrays(x)
    if len(a) > 0:
        y = a[0]
        y[0] = 7.0
    return sum(v[0] for v in a)


def into_an_item_of_a_part(x: Any) -> Any:
    a = arrays(x)
    b = a[1:]
    if len(b) > 0:
        b[0][0] = 5.0
    return sum(v[0] for v in a)


def into_an_item_of_a_sum(x: Any) -> Any:
    a = arrays(x)
    b = a + a
    for v in a:
        v[0] = 7.0
    return sum(v[0] for v in b)


def into_an_item_of_a_copy(x: Any) -> Any:
    a = arrays(x)
    b = a.copy()
    b.reverse()
    if len(b) > 0:
        b[0][0] = 7.0
    return sum(v[0] for v in a)


def into_an_item_in_order(x: Any) -> Any:
    a = arrays(x)
    b = sorted(a, key=lambda v: v[0])
    if len(b) > 0:
        b[0][0] = 7.0
    return sum(v[0] for v in a)


def into_an_item_of_a_longer_list(x: Any) -> Any:
    a = arrays(x)
    if len(a) > 0:
        y = a[0]
        a.append(y * 2)
        y[0] = 7.0
    return sum(v[0] for v in a)


@pytest.mark.parametrize(
    "f",
    [
        into_an_item, into_an_item_of_a_part, into_an_item_of_a_sum, into_an_item_of_a_copy,
        into_an_item_in_order, into_an_item_of_a_longer_list,
    ],
)  # fmt: skip
def test_items_that_lists_share_are_not_written(f: Callable[[Any], Any]) -> None:
    """Both lists would have to see the write, which once was lost."""
    with pytest.raises(ConcretizationError, match="another name, which would have to see"):
        tg.jit(f, stage=True)(ARGUMENTS[0])


def test_items_that_a_loop_goes_over_are_written() -> None:
    def scaled(x: Any) -> Any:
        a = arrays(x)
        for v in a:
            v[0] = 7.0
        return sum(v[0] * v[1] for v in a)

    for x in ARGUMENTS[:2]:
        np.testing.assert_allclose(tg.jit(scaled, stage=True)(x), scaled(x))
