"""Lists of which only a run knows the length, which loops and branches replace by others:
`poly = clip(poly, edge)`, `frontier = found`, `if cost < best: route = candidate`."""

# ruff: noqa: PERF401, PERF402 - as people write them
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import (
    Programs,
    batched,
    by_source,
    check_gradient,
    check_value,
    copies,
    value,
)
from tracegrad.errors import ConcretizationError

QUAD = np.array([0.1, 0.0, 1.0, 0.15, 0.9, 1.1, -0.1, 0.95])
X = np.array([0.4, 0.3, 1.9])
PROGRAMS = Programs()
OTHERS: dict[str, Any] = {"clipped_by_lines": QUAD, "clipped_by_a_circle": QUAD}


@PROGRAMS
def clipped_by_lines(p: Any) -> Any:
    """Sutherland and Hodgman's algorithm, of pairs of numbers, and the area."""
    poly = [(p[0], p[1]), (p[2], p[3]), (p[4], p[5]), (p[6], p[7])]
    for a, b, c in [(1.0, 0.3, 0.8), (-1.0, 0.2, 0.1), (0.2, -1.0, -0.05)]:
        out = []
        for i in range(len(poly)):
            x0, y0 = poly[i - 1]
            x1, y1 = poly[i]
            d0 = a * x0 + b * y0 - c
            d1 = a * x1 + b * y1 - c
            if (d0 <= 0) != (d1 <= 0):
                t = d0 / (d0 - d1)
                out.append((x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
            if d1 <= 0:
                out.append((x1, y1))
        poly = out
    area = 0.0
    for i in range(len(poly)):
        x0, y0 = poly[i - 1]
        x1, y1 = poly[i]
        area += x0 * y1 - x1 * y0
    return area / 2


def clip(poly: Any, a: float, b: float, c: float) -> Any:
    out = []
    n = len(poly)
    for i in range(n):
        now, then = poly[i], poly[(i + 1) % n]
        d0 = a * now[0] + b * now[1] - c
        d1 = a * then[0] + b * then[1] - c
        if d0 <= 0:
            out.append(now)
            if d1 > 0:
                out.append(now + d0 / (d0 - d1) * (then - now))
        elif d1 <= 0:
            out.append(now + d0 / (d0 - d1) * (then - now))
    return out


@PROGRAMS
def clipped_by_a_circle(p: Any) -> Any:
    """The same of arrays, by a function."""
    poly = [p[:2], p[2:4], p[4:6], p[6:]]
    for k in range(16):
        angle = 2 * math.pi * k / 16
        poly = clip(poly, math.cos(angle), math.sin(angle), 0.7)
    area = 0.0
    for i in range(len(poly)):
        area += poly[i - 1][0] * poly[i][1] - poly[i][0] * poly[i - 1][1]
    return area / 2


@PROGRAMS
def search_by_levels(p: Any) -> Any:
    graph = [[1, 2], [3], [3, 4], [5], [5], [6], []]
    seen = np.zeros(7)
    seen[0] = 1
    frontier = [0]
    total, depth = 0.0, 0
    while frontier:
        depth += 1
        found = []
        for u in frontier:
            for v in graph[u]:
                if seen[v] == 0 and p[0] * v < 1.9:
                    seen[v] = 1
                    found.append(v)
                    total += p[1] ** depth * v
        frontier = found
    return total * p[2]


@PROGRAMS
def survivors_and_children(p: Any) -> Any:
    population = [p[0], p[0] * 1.2]
    for _ in range(6):
        survivors = [x for x in population if x * p[1] < 0.6]
        children = []
        for x in survivors:
            if x < 1.5:
                children.append(x * p[2] * 0.9)
        population = survivors + children
    return sum(population)


@PROGRAMS
def the_one_before_as_well(p: Any) -> Any:
    before, now = [p[0]], [p[0], p[1]]
    s = 0.0
    while 0 < len(now) < 9:
        found = []
        for x in now:
            if x < 3.0:
                found.append(x * p[2])
            if x > 0.5:
                found.append(x + p[1])
        before, now = now, found
        s += sum(before)
    return s + sum(now) * len(before)


@PROGRAMS
def until_none_is_left(p: Any) -> Any:
    xs = [p[0] * k for k in range(7)]
    total = 0.0
    while xs:
        total += xs[0] * p[1]
        bound = p[2] * xs[0]
        xs = [x for x in xs[1:] if x > bound]
    return total + len(xs)


@PROGRAMS
def longer_by_one(p: Any) -> Any:
    path = [p[0]]
    while path[-1] < 3.0:
        path = path + [path[-1] * p[2] + p[1]]
    return sum(path) * len(path)


@PROGRAMS
def a_stack_of_slices(p: Any) -> Any:
    stack = [(p[0], 0)]
    total = 0.0
    while stack:
        x, depth = stack[-1]
        stack = stack[:-1]
        if x < 5 and depth < 4:
            stack = stack + [(x * p[2], depth + 1), (x + p[1], depth + 1)]
        else:
            total += x * depth
    return total


@PROGRAMS
def the_best_of_several(p: Any) -> Any:
    best, route = 1e9, []
    for k in range(6):
        candidate = []
        x = p[0] * (k + 1)
        while x < 4.0:
            candidate.append(x)
            x = x * p[2] + p[1]
        cost = abs(sum(candidate) - 3.0)
        if cost < best:
            best = cost
            route = candidate
    return sum(route) + best


@PROGRAMS
def beams_that_are_pruned(p: Any) -> Any:
    beams = [(0.0, p[0])]
    for _ in range(4):
        found = []
        for score, x in beams:
            for m in (0.5, 1.0, p[2]):
                s = score - abs(np.sin(x * m) - p[1])
                if s > -1.2:
                    found.append((s, x * m))
        found = sorted(found, key=lambda b: -b[0])
        beams = found[:3]
    return beams[0][0] + beams[1][1]


@PROGRAMS
def arrays_that_stay(p: Any) -> Any:
    points = [np.array([p[0], p[1]]), np.array([p[1], p[2]])]
    for _ in range(5):
        found = []
        for a in points:
            if a[0] < 2.0:
                found.append(a * p[2])
            found.append(a * 0.5)
        points = [a for a in found if np.sum(a) > 0.2]
    return sum(np.sum(a * a) for a in points)


@PROGRAMS
def emptied_and_filled_again(p: Any) -> Any:
    """By methods, of which an early look at the loop knows no rows."""
    population = [p[0], p[0] * 1.2]
    for _ in range(8):
        children = []
        for x in population:
            if x < 1.5:
                children.append(x * p[2] * 0.9)
        population.clear()
        for c in children:
            population.append(c)
    return sum(population)


@PROGRAMS
def begun_in_both_branches(p: Any) -> Any:
    if p[0] > 0:
        xs = [p[0]]
    else:
        xs = [p[1], p[2]]
    if p[1] > 0.2:
        xs = xs + [p[1] * 2]
    return sum(xs) * len(xs)


@PROGRAMS
def no_pass_at_all(p: Any) -> Any:
    xs = [p[0], p[1]]
    while p[2] < 1.0 and len(xs) < 5:
        xs = xs + [p[2]]
    return xs[0] * 2 + xs[1] * 3


def args_of(name: str) -> Any:
    return OTHERS.get(name, X)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str) -> None:
    check_value(PROGRAMS[name], "jit", args_of(name))


@pytest.mark.parametrize(
    "name",
    [n for n in PROGRAMS if n not in ("clipped_by_lines", "longer_by_one", "no_pass_at_all")],
)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradient(PROGRAMS[name], "jit of grad", args_of(name))


@pytest.mark.parametrize("name", ["search_by_levels", "the_best_of_several", "a_stack_of_slices"])
def test_in_a_batch_each_item_has_lists_of_its_own(name: str) -> None:
    x = args_of(name)
    found = by_source(batched(PROGRAMS[name]))(x)
    np.testing.assert_allclose(found, value(PROGRAMS[name], x), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_dtypes_of_items_are_those_of_numpy(dtype: Any) -> None:
    def f(x: Any) -> Any:
        xs = [x[0], x[1]]
        for _ in range(4):
            xs = [v + v for v in xs if v < 20] + [x[2]]
        return sum(xs)

    x = np.array([1, 3, 2], dtype)
    found = by_source(tg.jit(f))(x)
    assert (found, np.asarray(found).dtype) == (f(x), np.asarray(f(x)).dtype)


# --- second names ---------------------------------------------------------------------------------

SEEN_TWICE = Programs()


@SEEN_TWICE
def changed_behind_the_loop(p: Any) -> Any:
    xs = [p[0], p[1]]
    kept = xs
    k = 0
    while k < 3 and p[2] > 0.1 * k:
        xs = [x * p[2] for x in xs if x < 3.0]
        k += 1
    xs.append(p[1])
    return sum(kept) * 10 + sum(xs)


@SEEN_TWICE
def changed_in_the_first_pass(p: Any) -> Any:
    xs = [p[0], p[1]]
    kept = xs
    k = 0
    while k < 3 and p[2] > 0.1 * k:
        xs.append(p[0])
        xs = [x * p[2] for x in xs if x < 3.0]
        k += 1
    return sum(kept) * 10 + sum(xs)


@SEEN_TWICE
def two_names_of_a_new_one(p: Any) -> Any:
    xs, ys = [p[0], p[1]], [p[0]]
    for k in range(5):
        new = [x * p[2] for x in xs if x < 3.0]
        xs = new
        ys = new
        ys.append(p[1] * k)
    return sum(ys) * 10 + sum(xs)


@SEEN_TWICE
def the_old_one_in_the_pass(p: Any) -> Any:
    xs = [p[0], p[1]]
    total = 0.0
    for k in range(5):
        old = xs
        xs = [x * p[2] for x in xs if x < 3.0]
        xs.append(p[1] * k)
        total += sum(old) * len(xs)
    return total


@SEEN_TWICE
def changed_after_it_was_chosen(p: Any) -> Any:
    best, route = 1e9, []
    for k in range(6):
        candidate = []
        x = p[0] * (k + 1)
        while x < 4.0:
            candidate.append(x)
            x = x * p[2] + p[1]
        cost = abs(sum(candidate) - 3.0)
        if cost < best:
            best = cost
            route = candidate
        candidate.append(p[1])
    return sum(route) + best


@SEEN_TWICE
def one_for_all_passes(p: Any) -> Any:
    best, route, candidate = 1e9, [], []
    for k in range(6):
        candidate.append(p[0] * k)
        cost = abs(sum(candidate) - 1.5)
        if cost < best:
            best = cost
            route = candidate
    return sum(route) + best


@SEEN_TWICE
def in_a_pair(p: Any) -> Any:
    xs = [p[0], p[1]]
    total = 0.0
    for _ in range(4):
        pair = (xs, 2)
        xs = [x * p[2] for x in xs if x < 3.0] + [p[1]]
        total += sum(pair[0])
    return total + sum(xs)


@SEEN_TWICE
def what_was_there_before(p: Any) -> Any:
    base = [p[0]]
    base.append(p[1])
    xs = [p[2]]
    for k in range(4):
        if k * p[0] > 0.5:
            xs = base
        xs.append(p[2] * k)
    return sum(xs) + 10 * sum(base)


def lengthened(xs: Any, p: Any) -> Any:
    """Binds its own variable anew."""
    ys = [x for x in xs if x < 3.0]
    for _ in range(len(ys)):
        xs = [x * p[2] for x in xs if x < 2.5]
    return sum(xs)


@SEEN_TWICE
def a_variable_of_a_helper(p: Any) -> Any:
    xs = [p[0], p[1]]
    total = 0.0
    for k in range(4):
        xs = [x for x in xs if x < 2.0] + [p[0] * k]
        total += lengthened(xs, p) + sum(xs)
    return total


@pytest.mark.parametrize("name", SEEN_TWICE)
def test_a_list_with_two_names_is_right_or_refused(name: str) -> None:
    f: Callable[..., Any] = SEEN_TWICE[name]
    try:
        found = by_source(tg.jit(f, stage=True))(*copies((X,)))
    except ConcretizationError as error:
        where = str(error).split(":")[0]
    else:
        where = "test_replaced_lists.py"
        np.testing.assert_allclose(found, value(f, X), rtol=1e-12)
    assert where == "test_replaced_lists.py"


def test_the_refusal_names_both_and_what_to_write() -> None:
    message = (
        r"test_replaced_lists.py:\d+: xs .* another name of a list \(old\).* Bind it to a copy"
    )
    with pytest.raises(ConcretizationError, match=message):
        by_source(tg.jit(the_old_one_in_the_pass))(X)
