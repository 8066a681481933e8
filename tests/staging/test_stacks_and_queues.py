"""Lists from which loops take items off, or in which they replace some, and deques: stacks, queues
and windows as people write them."""

# ruff: noqa: PERF401, PERF402 - the programs are as people write them
from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import sampled
from tests.staging.ways import GRADIENTS, VALUES, Programs, check_gradient, check_value

X = np.array([1.45, -0.45, 2.55, 0.3])
PROGRAMS = Programs()


@PROGRAMS
def adaptive_quadrature(x: Any) -> Any:
    total = 0.0
    stack = [(0.0, 2.0)]
    while stack:
        lo, hi = stack.pop()
        m = 0.5 * (lo + hi)
        a = (np.sin(x[0] * lo) + np.sin(x[0] * hi) + x[3] * (lo + hi)) * (hi - lo) / 2
        b = a / 2 + (np.sin(x[0] * m) + x[3] * m) * (hi - lo) / 2
        if abs(a - b) < 1e-3:
            total += b
        else:
            stack.append((lo, m))
            stack.append((m, hi))
    return total


@PROGRAMS
def iterative_quicksort(x: Any) -> Any:
    a = x.copy()
    stack = [(0, len(a) - 1)]
    while stack:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        p = a[hi]
        i = lo
        for j in range(lo, hi):
            if a[j] < p:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[hi] = a[hi], a[i]
        stack.append((lo, i - 1))
        stack.append((i + 1, hi))
    return np.sum(a * np.arange(len(a)))


@PROGRAMS
def next_greater(x: Any) -> Any:
    out = np.zeros(20)
    stack = []
    for i in range(20):
        v = x[i % 4] * np.cos(i)
        while stack and stack[-1][1] <= v:
            stack.pop()
        out[i] = v - stack[-1][1] if stack else v * 2
        stack.append((i, v))
    return np.sum(out**2) + len(stack)


@PROGRAMS
def depth_first(x: Any) -> Any:
    n = 6
    seen = np.zeros(n, dtype=bool)
    total = 0.0
    for s in range(n):
        if seen[s]:
            continue
        stack = [s]
        seen[s] = True
        while stack:
            v = stack.pop()
            total += x[v % 4] * v
            for w in range(n):
                if not seen[w] and x[(v * w) % 4] * np.cos(v - w) > 0.2:
                    seen[w] = True
                    stack.append(w)
        total = total * 1.01
    return total


@PROGRAMS
def neighbours_in_rows(x: Any) -> Any:
    """How many items a pass appends is known to nobody: rows of different length."""
    start = np.array([0, 2, 3, 5, 5])
    ends = np.array([1, 2, 3, 1, 3])
    stack = [0]
    total = 0.0
    steps = 0
    while stack:
        v = stack.pop()
        total += x[v] * (steps + 1)
        steps += 1
        if x[v] > 0 and steps < 12:
            for k in range(start[v], start[v + 1]):
                stack.append(ends[k])
    return total


@PROGRAMS
def swapped(x: Any) -> Any:
    a = []
    for i in range(30):
        a.append(x[i % 4] * (i - 12))
        if i > 2 and a[i] < a[i - 2]:
            a[i], a[i - 2] = a[i - 2], a[i]
    return np.sum(np.array(a) * np.arange(30))


@PROGRAMS
def emptied_from_the_left(x: Any) -> Any:
    """The loop changes no item of the queue, and appends none: it reads them."""
    queue = deque()
    for k in range(3):
        if x[k] < 0.9:
            queue.append(x[k] * x[3])
        else:
            queue.append(x[k] - x[3])
    total = x[1]
    for k in range(7):
        if len(queue) > 0:
            total = total + queue.popleft() * (total + k)
    return total


@PROGRAMS
def other_items_in_each_branch(x: Any) -> Any:
    """Numbers of the graph in one, of Python's in the other."""
    total = 0.0
    for k in range(3):
        out = []
        if x[k] > 0.5:
            out.append((x[k] * 2, 1))
        else:
            out.append((0.5, x[3]))
        pair = [x[k]] if x[k] > x[3] else [2]
        total += out[-1][0] * out[0][1] * x[1] + pair[0] + len(out)
    return total


@PROGRAMS
def taken_in_loops_of_a_while(x: Any) -> Any:
    """Inside of a loop that changes another list a queue is only read."""
    queue, out = deque(), []
    for k in range(2):
        queue.append(x[k] if x[k] < 1 else x[k] - 1)
    total = x[3]
    n = 0
    while len(queue) > 0 and n < 4:
        n += 1
        out.append(x[1])
        for k in range(5):
            if len(queue) > 0:
                total = total + queue.popleft() * (total + k)
        if len(out) > 1:
            total = total + out[0]
    return total + sum(out)


@PROGRAMS
def left_behind(x: Any) -> Any:
    """What is left in the list is read after the loop, in every way."""
    a = [x[0], x[1] * 2]
    for i in range(12):
        if x[i % 4] > 0.5:
            a.append(x[i % 4] * i)
        elif len(a) > 1:
            a.pop()
    t = sum(a) + a[-1] * a[0]
    for v in a:
        t += v**2
    a.append(t)
    return t + a[-1] + a.pop() * len(a)


@PROGRAMS
def taken_in_a_branch(x: Any) -> Any:
    a = [x[0], x[1], x[2]]
    if x[0] > 1:
        a.append(x[3])
        last = a.pop() * a.pop()
    else:
        last = a.pop()
    a.append(last)
    return sum(a) * len(a) + a[-1]


@PROGRAMS
def methods_of_lists(x: Any) -> Any:
    a = []
    for i in range(12):
        v = i * 7 % 5
        if x[i % 4] > 0:
            a.append(v)
        else:
            a.insert(0, v)
        if v in a and i > 8:
            a.remove(v)
        if i == 9:
            a.reverse()
    t = 0.0
    for k in range(len(a)):
        t += a[k] * x[k % 4] * k
    return t + a.count(3) * x[1] + a.index(1) * x[2] + a.pop(0) * x[0]


@PROGRAMS
def breadth_first(x: Any) -> Any:
    n = 8
    q = deque([0])
    level = np.full(n, -1)
    level[0] = 0
    total = 0.0
    while q:
        v = q.popleft()
        total += x[v % 4] * (level[v] + 1)
        for w in range(n):
            if level[w] < 0 and x[(v + w) % 4] * np.cos(v * w) > 0.1:
                level[w] = level[v] + 1
                q.append(w)
    return total


@PROGRAMS
def window_maximum(x: Any) -> Any:
    n, k = 20, 5
    a = np.zeros(n)
    for i in range(n):
        a[i] = x[i % 4] * np.sin(i * 1.7)
    d = deque()
    out = []
    for i in range(n):
        while d and a[d[-1]] <= a[i]:
            d.pop()
        d.append(i)
        if d[0] <= i - k:
            d.popleft()
        if i >= k - 1:
            out.append(a[d[0]])
    return np.sum(np.array(out) ** 2)


@PROGRAMS
def moving_mean(x: Any) -> Any:
    d = deque(maxlen=4)
    s = 0.0
    for i in range(30):
        d.append(x[i % 4] * i)
        s += sum(d) / len(d) if x[i % 4] > 0 else d[0]
    return s


@PROGRAMS
def both_ends(x: Any) -> Any:
    d = deque([1.0])
    for i in range(14):
        if x[i % 4] > 0.4:
            d.appendleft(x[i % 4] * i)
        else:
            d.append(x[i % 4] + i)
        if len(d) > 5:
            d[1] = d[1] * 0.5
            d.pop()
    return sum(d) + d[0] * d[-1] - d.popleft() * len(d)


@PROGRAMS
def shortest_ways(x: Any) -> Any:
    """By Dijkstra."""
    n = 6
    w = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            w[i, j] = 0.3 + abs(np.sin(i * 3.1 + j * x[0])) + x[3] * abs(i - j)
    dist = np.full(n, np.inf)
    dist[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v in range(n):
            nd = d + w[u, v]
            if v != u and nd < dist[v]:
                dist[v] = nd
                heapq.heappush(heap, (nd, v))
    return np.sum(dist * np.arange(n))


@PROGRAMS
def huffman(x: Any) -> Any:
    heap = []
    for i in range(9):
        heap.append(x[i % 4] ** 2 + 0.1 * i)
    heapq.heapify(heap)
    cost = 0.0
    while len(heap) > 1:
        a = heapq.heappop(heap)
        b = heapq.heappop(heap)
        cost += a + b
        heapq.heappush(heap, a + b)
    return cost


@PROGRAMS
def best_of_a_stream(x: Any) -> Any:
    """The largest three, of which equal ones are told apart by their number."""
    heap = [(0.0, 0), (0.0, 1), (0.0, 2)]
    for i in range(3, 30):
        v = abs(x[i % 4] * np.sin(i // 8))
        if v > heap[0][0]:
            heapq.heapreplace(heap, (v, i))
    return sum([v * (k + 1) for v, k in heap]) + heap[1][1] * x[0]


@PROGRAMS
def a_condition_that_takes(x: Any) -> Any:
    """Passes are not counted by what the condition changes."""
    stack, s, v = [x[3], x[0]], 0.0, 0.0
    while len(stack) > 0 and (v := stack.pop()) < 4.0:
        s += v * v
        if v < 1.0:
            stack.append(v + 0.73)
            stack.append(2 * v + x[3])
        elif v < 2.0:
            continue
        elif s > 8.0:
            break
    return s * (len(stack) + 1) + v


@PROGRAMS
def lists_as_conditions(x: Any) -> Any:
    """Beside other conditions, and behind `break`."""
    stack, rest, s, c = [x[3]], [], 0.0, 0
    while stack or (rest and c < 9):
        if not (stack and s < 6.0):
            break
        v = stack.pop()
        s += v * v
        if v < 1.0:
            stack.append(2.1 * v + x[3])
            stack.append(v + 0.73)
        elif rest and v < 2.0:
            rest.append(v)
    else:
        c += 10
    return s * (c + 1) + (x[0] if stack and not rest else x[1])


LONG = ("depth_first", "methods_of_lists", "both_ends", "shortest_ways")
"""Of which the quicker ways run."""
OTHERS = [("vmap", "grad"), ("jit of vmap", "grad of jit"), ("vmap", "jvp")]
WAYS = {
    name: ("jit", "jit of grad", *OTHERS[0 if name in LONG else k % 3])
    for k, name in enumerate(PROGRAMS)
}
"""Each program as one graph, and another way of batches and of derivatives in turns."""


def pairs(ways: Iterable[str]) -> list[Any]:
    return sampled(itertools.product(PROGRAMS, ways), lambda pair: pair[1] in WAYS[pair[0]])


@pytest.mark.parametrize("pair", pairs(VALUES), ids="-".join)
def test_the_value_is_that_of_plain_python(pair: tuple[str, str]) -> None:
    name, way = pair
    check_value(PROGRAMS[name], way, X)


@pytest.mark.parametrize("pair", pairs(GRADIENTS), ids="-".join)
def test_the_gradient_is_that_of_differences(pair: tuple[str, str]) -> None:
    name, way = pair
    check_gradient(PROGRAMS[name], way, X)


@pytest.mark.parametrize("name", ["adaptive_quadrature", "swapped", "moving_mean"])
def test_the_second_derivative_is_that_of_differences(name: str) -> None:
    f = PROGRAMS[name]
    gradient = tg.jit(tg.grad(f))
    expected = [(gradient(X + e) - gradient(X - e)) / 2e-5 for e in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(tg.hessian(f)(X), expected, rtol=1e-5, atol=1e-5)


def taken_too_often(x: Any) -> Any:
    s = [x[0], x[1], x[2]]
    t = 0.0
    while t < 100:
        t = t + s.pop()
    return t


def taken_from_a_deque(x: Any) -> Any:
    d = deque([x[0]])
    t = 0.0
    while t < 100:
        t = t + d.popleft()
    return t


def not_there(x: Any) -> Any:
    a = []
    for i in range(int(x[2])):
        a.append(i)
    a.remove(7)
    return x[0]


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (taken_too_often, IndexError, "pop from empty list"),
        (taken_from_a_deque, IndexError, "pop from an empty deque"),
        (not_there, ValueError, "not in list"),
    ],
)
def test_errors_of_python_are_raised_when_it_has_ended(f: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        f(X)
    with pytest.raises(error, match=text):
        tg.jit(f)(X)


def test_rows_are_as_many_as_it_takes() -> None:
    """More than a loop begins with."""

    def halved(x: Any, n: Any) -> Any:
        stack = [(0.0, 1.0)]
        while len(stack) < n:
            lo, hi = stack[-1]
            stack.append((lo, 0.5 * (lo + hi)))
        total = 0.0
        while stack:
            lo, hi = stack.pop()
            total += x[0] * (hi - lo)
        return total

    compiled = tg.jit(halved)
    for n in (3, 40, 100):
        np.testing.assert_allclose(compiled(X, n * 1.0), halved(X, n), rtol=1e-13)


def test_a_cut_after_continue() -> None:
    """What follows `continue` is a block that can be cut as any other."""

    def powers(x: Any) -> Any:
        total = 0.0
        for s in range(12):
            if x[s % 4] < 0:
                continue
            out = [s]
            v = x[s % 4]
            while v < 20 + s:
                out.append(v)
                v = v * 1.5
            total += sum(out)
        return total

    check_value(powers, "jit", X)
    check_gradient(powers, "jit of grad", X)
