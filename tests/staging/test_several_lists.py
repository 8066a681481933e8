"""Several stacks in one loop; lists of which only a run knows the length, in order; further
functions of heaps and deques."""

# ruff: noqa: B905, PERF401 - the programs are as people write them
from __future__ import annotations

import bisect
import heapq
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import GRADIENTS, VALUES, Programs, check_gradient, check_value

X = np.array([0.22, 0.61, 0.35, 0.93])
PROGRAMS = Programs()


@PROGRAMS
def isotonic(x: Any) -> Any:
    """Neighbours in the wrong order are pooled: two stacks of one length."""
    means, weights = [], []
    for v in x:
        means.append(v)
        weights.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            w = weights[-2] + weights[-1]
            m = (means[-2] * weights[-2] + means[-1] * weights[-1]) / w
            means.pop()
            weights.pop()
            means[-1] = m
            weights[-1] = w
    total = 0.0
    for m, w in zip(means, weights):
        total += w * m * m + len(weights)
    return total


@PROGRAMS
def one_stack_and_what_is_noted_of_it(x: Any) -> Any:
    """Of two lists that begin alike one loses items."""
    stack, seen, both = [x[0], x[3]], [1.0, 2.0], []
    n = 0
    while len(stack) > 0 and n < 20:
        n += 1
        v = stack.pop()
        seen.append(v * n)
        both.append(seen[-1] * len(stack))
        if v > 0.2:
            stack.append(0.5 * v)
            stack.append(0.3 * v + 0.01 * x[1])
    return sum(seen) + sum(both) * len(seen) + len(stack)


@PROGRAMS
def increasing(x: Any) -> Any:
    """The longest increasing subsequence, by patience."""
    tails = []
    for k in range(12):
        v = x[k % 4] * (1 + np.sin(3.0 * k))
        i = bisect.bisect_left(tails, v)
        if i == len(tails):
            tails.append(v)
        else:
            tails[i] = v
    return sum(tails) * len(tails) + bisect.bisect(tails, x[0])


@PROGRAMS
def sorted_in_place(x: Any) -> Any:
    out = []
    for k in range(4):
        if x[k] > 0.3:
            out.append(np.sin(3 * x[k]))
    out.sort()
    total = out[0] * x[0] + out[-1]
    for v in out:
        total = total * 2 + v
    return total + len(out)


@PROGRAMS
def sorted_backwards(x: Any) -> Any:
    """Equal keys stay in their order; rows that hold nothing are least and largest in turn."""
    out = []
    for k in range(40):
        if x[k % 4] * (k - 7) > 0.4 or k == 3:
            out.append((k % 3, x[k % 4] * (20 - k)))
    total = 0.0
    for n, v in sorted(out, reverse=True):
        total = 0.9 * total + n * v
    for n, v in sorted(out):
        total = 0.9 * total + (n + 1) * v
    return total


@PROGRAMS
def pushed_and_taken(x: Any) -> Any:
    """The largest three, as a heap of three."""
    heap = []
    total = 0.0
    for k in range(24):
        v = x[k % 4] * np.cos(k)
        if len(heap) < 3:
            heapq.heappush(heap, (v, k))
        else:
            total += heapq.heappushpop(heap, (v, k))[0] * k
    while heap:
        v, k = heapq.heappop(heap)
        total = 1.5 * total + v * k
    return total


@PROGRAMS
def parts_of_deques(x: Any) -> Any:
    queue = deque([1, 2, 3])
    for k in range(4):
        if x[k] > 0.3:
            queue.append(k + 3)
            queue.popleft()
    queue.remove(5)
    queue.reverse()
    total = x[0] * queue.index(4) + queue.count(6)
    for v in queue:
        total = 2 * total + v * x[1]
    return total


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_value_is_that_of_plain_python(name: str, way: str) -> None:
    check_value(PROGRAMS[name], way, X)


@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_differences(name: str, way: str) -> None:
    check_gradient(PROGRAMS[name], way, X)


def test_by_a_key() -> None:
    def by_distance(x: Any) -> Any:
        out = []
        for k in range(4):
            if x[k] > 0.3:
                out.append(x[k])
        out.sort(key=lambda v: abs(v - 0.5))
        return out[0]

    assert tg.jit(by_distance)(X) == by_distance(X)


def test_what_is_not_in_a_deque() -> None:
    def removed(x: Any) -> Any:
        queue = deque([1, 2])
        if x[0] > 0:
            queue.append(3)
        queue.remove(7)
        return x[0] * len(queue)

    for f in (removed, tg.jit(removed)):
        with pytest.raises(ValueError, match="not in deque"):
            f(X)
