"""Lists that were there before a loop or a branch, and to which loops inside of it append as often
as only a run knows."""

# ruff: noqa: PERF401 - the programs are as people write them
from __future__ import annotations

import heapq
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradient, check_value, copies
from tracegrad.errors import ConcretizationError

X = np.array([0.91, -0.33, 1.15, -0.08, 0.62])
PROGRAMS = Programs()


def halved(items: Any, t: Any) -> None:
    while t > 0.2:
        items.append(t)
        t = t * 0.5


@PROGRAMS
def in_a_for(x: Any) -> Any:
    out = []
    for i in range(5):
        t = x[i]
        while t > 0.2:
            out.append(t)
            t = t * 0.5
    return sum(out) + len(out) * x[0]


@PROGRAMS
def both_ends_in_a_for(x: Any) -> Any:
    s = 0.0
    q: deque[Any] = deque()
    for i in range(5):
        n = 0
        q.append(x[i])
        q.appendleft(x[i])
        while len(q) > 0 and n < 4:
            s += q.popleft() * (n + 1)
            n += 1
            if s > x[i]:
                q.append(s)
    return s


@PROGRAMS
def in_a_branch(x: Any) -> Any:
    out: list[Any] = []
    s = 0.0
    if x[0] > 0:
        t = x[1] + 3
        while t > 0.2:
            out.append(t)
            t = t * 0.5
    for v in out:
        s += v * v
    return s + len(out)


@PROGRAMS
def in_a_branch_of_a_branch(x: Any) -> Any:
    out: list[Any] = []
    if x[0] > 0:
        if x[1] > 0:
            halved(out, x[1])
        else:
            halved(out, -x[1])
        out.append(1.0)
    else:
        out.append(x[2])
    return sum(out) * len(out)


@PROGRAMS
def by_a_function_twice(x: Any) -> Any:
    out: list[Any] = []
    halved(out, x[0] + 2)
    halved(out, x[1] + 2)
    return sum(out) + out[-1] * out[0]


@PROGRAMS
def by_a_function_in_a_for(x: Any) -> Any:
    out: list[Any] = []
    for i in range(5):
        halved(out, x[i])
    return sum(out) + out[-1]


@PROGRAMS
def two_lists_until_a_break(x: Any) -> Any:
    some: list[Any] = []
    others: list[Any] = []
    for i in range(5):
        if x[i] > 0:
            halved(some, x[i])
        elif x[i] < -0.1:
            halved(others, -x[i])
            some.append(x[i])
        else:
            break
    return sum(some) * 2 + sum(others)


@PROGRAMS
def a_heap_that_is_filled_again(x: Any) -> Any:
    heap: list[Any] = []
    s = 0.0
    for i in range(5):
        heapq.heappush(heap, (x[i], i))
        while heap and heap[0][0] < 1:
            v, j = heapq.heappop(heap)
            s += v * j
            if v > 0:
                heapq.heappush(heap, (v + 0.5, j))
    return s + len(heap)


@PROGRAMS
def from_a_list_of_the_pass(x: Any) -> Any:
    out = []
    for i in range(5):
        own: list[Any] = []
        halved(own, x[i])
        for v in own:
            out.append(v * v)
    return sum(out)


@PROGRAMS
def in_two_loops_with_a_break(x: Any) -> Any:
    out = []
    for i in range(3):
        if x[i] > 1:
            break
        for j in range(4):
            t = x[j] + 1
            while t > 0.3:
                out.append(t)
                t -= 0.3
    return sum(v * v for v in out)


@PROGRAMS
def in_a_loop_that_is_written_out(x: Any) -> Any:
    out: list[Any] = []
    n = 0
    while n < 3:
        n += 1
        if x[n] > 0:
            halved(out, x[n])
    for _ in range(3):
        if out:
            out.pop()
    return sum(out) + len(out)


@PROGRAMS
def a_stack_that_is_cleared_before(x: Any) -> Any:
    stack = [x[0]]
    for i in range(5):
        while len(stack) > 1 and stack[-1] < x[i]:
            stack.pop()
        t = x[i]
        while t > 0.1:
            stack.append(t)
            t -= 0.4
    return stack[0] + sum(stack) + len(stack)


@PROGRAMS
def more_than_the_first_rows(x: Any) -> Any:
    out = [x[0]]
    for k in range(5):
        n = 0
        while len(out) > 0 and n < 17:
            n += 1
            out.append(x[k] * n)
            x = x + 0.001 * out[-1]
    return sum(out) + out[35]


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    check_value(PROGRAMS[name], "jit", X)
    check_gradient(PROGRAMS[name], "jit of grad", X)


@pytest.mark.parametrize("name", ["in_a_for", "in_a_branch", "by_a_function_twice"])
def test_in_other_ways(name: str) -> None:
    check_value(PROGRAMS[name], "jit of vmap", X)
    check_gradient(PROGRAMS[name], "jvp", X)


@pytest.mark.parametrize("name", ["in_a_for", "a_heap_that_is_filled_again"])
def test_one_function_for_all_values(name: str) -> None:
    f: Any = tg.jit(PROGRAMS[name], stage=True)
    for x in (X, X + 3.0, 0.1 * X, -X):
        np.testing.assert_allclose(f(*copies((x,))), PROGRAMS[name](x), rtol=1e-12)


def chosen_late(x: Any) -> Any:
    out: list[Any] = []
    s = halved(out, x[0]) if x[1] > 0 else halved(out, x[2])
    return out[0], s


def test_what_is_refused_says_where() -> None:
    with pytest.raises(ConcretizationError, match=r"inner_loops.py:\d+: this loop appends to out"):
        tg.jit(chosen_late)(X)
