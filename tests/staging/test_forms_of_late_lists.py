"""Python's own forms around lists of which only a run knows the length: taken apart, mapped, turned
round, as tuples; rows of lists of lists at traced places, and named tuples as items."""

# ruff: noqa: PERF401 - the programs are as people write them
from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, differences, inputs
from tests.unjitted import run_unjitted
from tracegrad.errors import ConcretizationError

ARGUMENTS = (np.array([0.95, -0.3, 0.55, 0.2, -0.8]), np.array([0.31, 0.92, -0.44, 0.81, 1.13]))
PROGRAMS = Programs()


class P(NamedTuple):
    m: Any
    v: Any


def late(x: Any) -> Any:
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


@PROGRAMS
def turned_round(x: Any) -> Any:
    t = 0.0
    for v in reversed(late(x)):
        t = t * 0.5 + v * v
    return t


@PROGRAMS
def numbered(x: Any) -> Any:
    return sum(v * k for k, v in enumerate(late(x)))


@PROGRAMS
def chosen_by_a_function(x: Any) -> Any:
    return sum(filter(lambda v: v > 0.5, late(x)))


@PROGRAMS
def summed_as_a_tuple(x: Any) -> Any:
    return sum(tuple(late(x)))


@PROGRAMS
def mapped_by_math(x: Any) -> Any:
    a = list(map(math.sin, late(x)))
    return a[0] + len(a)


@PROGRAMS
def turned_into_a_list(x: Any) -> Any:
    a = list(reversed(late(x)))
    return a[0]


@PROGRAMS
def chosen_in_a_comprehension(x: Any) -> Any:
    a = list(filter(lambda v: v < 0.9, late(x)))
    return sum(a) + len(a)


@PROGRAMS
def as_a_tuple(x: Any) -> Any:
    t = tuple(late(x))
    return t[0] + t[-1] * len(t)


@PROGRAMS
def pairs_as_a_list(x: Any) -> Any:
    a = list(zip(late(x), range(10), strict=False))
    return sum(v * k for v, k in a)


@PROGRAMS
def numbers_as_a_list(x: Any) -> Any:
    a = list(enumerate(late(x)))
    return a[-1][0] * a[0][1]


@PROGRAMS
def named_tuples(x: Any) -> Any:
    ps = []
    for k in range(5):
        if x[k] > 0:
            ps.append(P(x[k], k))
    return sum(p.m * p.v for p in ps) + ps[0].m


@PROGRAMS
def named_tuples_on_a_stack(x: Any) -> Any:
    stack = [P(x[0], 0)]
    t = 0.0
    while stack:
        p = stack.pop()
        t += p.m**2
        if p.v < 4 and p.m > -0.5:
            stack.append(P(x[p.v + 1] + p.m * 0.1, p.v + 1))
    return t


@PROGRAMS
def first_and_rest(x: Any) -> Any:
    first, *rest = late(x)
    return first * 2 + sum(rest)


@PROGRAMS
def two_of_them(x: Any) -> Any:
    a, b = late(x)[:2]
    return a * 2 + b


@PROGRAMS
def front_and_last(x: Any) -> Any:
    *front, last = late(x)
    return sum(front) * 2 + last + len(front)


@PROGRAMS
def ends_and_middle(x: Any) -> Any:
    a, *m, b = late(x)
    return a + 3 * b + sum(v * v for v in m)


@PROGRAMS
def ends_of_an_array(x: Any) -> Any:
    a, *m, b = x
    return a + 3 * b + sum(v * v for v in m)


@PROGRAMS
def parts_into_items(x: Any) -> Any:
    a, (b, *c) = x[0], [x[1], x[2], x[3]]
    d = [0, 0]
    d[0], *d[1:] = c
    return a + b * c[0] + d[0] * c[1]


@PROGRAMS
def truth_of_a_row(x: Any) -> Any:
    g = [[1], [2, 0], []]
    k = (x[0] > 0) * 2
    r = g[k]
    return len(r) + sum(x[0] * v for v in r) + (5 if r else 3)


@PROGRAMS
def found_in_a_row(x: Any) -> Any:
    g = [[1], [2, 0], []]
    k = (x[0] > 0) * 1 - 2
    r = g[k]
    return len(r) * x[0] + sum(v * x[1] for v in r) + (10 if 2 in r else 0)


@PROGRAMS
def rows_of_a_dict(x: Any) -> Any:
    g = {3: [(1, 2.5)], 7: [(2, 0.5), (0, 1.0)], 9: []}
    k = (x[0] > 0) * 4 + 3
    t = 0.0
    for a, b in g[k]:
        t += x[a] * b
    return t + len(g[k])


@PROGRAMS
def rows_of_tuples(x: Any) -> Any:
    g = ((1,), (2, 0), ())
    k = (x[0] > 0) * 1
    t = 0.0
    for j, v in enumerate(g[k]):
        t += x[v] * j
    return t + g[k][-1]


@PROGRAMS
def rows_of_traced_numbers(x: Any) -> Any:
    g = [[x[1]], [x[2] * x[3], x[0]], []]
    k = (x[0] > 0) * 1
    t = 0.0
    for v in reversed(g[k]):
        t = t * 0.5 + v * v
    return t + max(g[k])


@PROGRAMS
def walk_along_neighbours(x: Any) -> Any:
    g = [[] for _ in range(5)]
    for a, b in [(0, 1), (1, 3), (3, 4), (1, 2)]:
        g[a].append(b)
        g[b].append(a)
    u, steps, t = 0, 0, 0.0
    while steps < 6:
        best, at = -np.inf, u
        for v in g[u]:
            if x[v] * (1 + steps % 3) > best:
                best, at = x[v] * (1 + steps % 3), v
        u = at
        t += best
        steps += 1
    return t


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    f: Any = PROGRAMS[name]
    both: Any = tg.jit(tg.value_and_grad(f), stage=True)
    graph = both.graphs(ARGUMENTS[0])[-1]
    for x in ARGUMENTS:
        value, gradient = run_unjitted(graph, inputs(both, x), keep=True)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, x), atol=1e-5)


def too_few(x: Any) -> Any:
    a, _b, _c, _d, *_e = late(x)
    return a


def too_many(x: Any) -> Any:
    a, _b = late(x)
    return a


def no_such_key(x: Any) -> Any:
    g = {3: [1], 7: [2, 0]}
    return len(g[(x[0] > 0) * 4 + 2]) * x[0]


def no_such_row(x: Any) -> Any:
    g = [[1], [2, 0], []]
    return len(g[(x[0] > 0) * 3]) * x[0]


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (too_few, "not enough values to unpack"),
        (too_many, "too many values to unpack .expected 2"),
        (no_such_key, "a key that only a run knows"),
        (no_such_row, "list index out of range"),
    ],
)
def test_what_is_not_there_is_an_error_of_the_run(f: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError), match=text):
        tg.jit(f, stage=True)(ARGUMENTS[0])


def row_made_longer(x: Any) -> Any:
    g = [[1], [2, 0], []]
    r = g[(x[0] > 0) + 0]
    r.append(3)
    return sum(g[1]) * x[0]


def list_made_longer(x: Any) -> Any:
    g = [[1], [2, 0], []]
    r = g[(x[0] > 0) + 0]
    g[1].append(7)
    return sum(r) * x[0]


class Backwards(P):
    def __lt__(self, other: Any) -> Any:
        return other.m < self.m


def heap_of_its_own_order(x: Any) -> Any:
    heap = [Backwards(x[0], 1.0)]
    for k in range(5):
        if x[k] > 0:
            heapq.heappush(heap, Backwards(x[k], 2.0))
    return heapq.heappop(heap).m


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (row_made_longer, "an item of another one"),
        (list_made_longer, "one of the lists changes before the row is used"),
        (heap_of_its_own_order, "comparison of its own"),
    ],
)
def test_what_two_names_would_have_to_see_is_refused(f: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(ConcretizationError, match=text):
        tg.jit(f, stage=True)(ARGUMENTS[0])
