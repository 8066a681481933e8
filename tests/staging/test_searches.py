"""Programs that search: with heaps, queues and stacks in loops whose length only a run knows. They
are traced, and what is traced runs in Python: values are those of plain Python, gradients those of
differences."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, differences, inputs
from tests.unjitted import run_unjitted

ARGUMENTS = (np.array([0.95, -0.3, 0.55, 0.2, -0.8]), np.array([0.31, 0.92, -0.44, 0.81, 1.13]))
PROGRAMS = Programs()


@PROGRAMS
def shortest_path(x: Any) -> Any:
    dist = [float("inf")] * 6
    dist[0] = 0.0
    heap = [(0.0, 0)]
    head = np.array([0, 2, 4, 6, 7, 9, 9])
    to = np.array([1, 2, 2, 3, 3, 4, 5, 3, 5])
    w = np.array([0, 1, 2, 3, 4, 0, 1, 2, 3])
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for k in range(head[u], head[u + 1]):
            nd = d + x[w[k]] ** 2 + 0.1
            if nd < dist[to[k]]:
                dist[to[k]] = nd
                heapq.heappush(heap, (nd, to[k]))
    return dist[5] + 0.5 * dist[3]


@PROGRAMS
def path_with_a_bound(x: Any) -> Any:
    n = 5
    cost = np.array([[1 + 0.5 * math.sin(i * 2.0 + j) for j in range(n)] for i in range(n)])
    g = np.full((n, n), np.inf)
    g[0, 0] = 0.0
    came = -np.ones((n, n), dtype=int)
    heap = [(0.0, 0.0, 0)]
    while heap:
        _f, d, k = heapq.heappop(heap)
        i, j = divmod(k, n)
        if i == n - 1 and j == n - 1:
            break
        if d > g[i, j]:
            continue
        for a, b in ((i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)):
            if a < 0 or b < 0 or a >= n or b >= n:
                continue
            nd = d + cost[a, b] + 0.3 * x[(a + 2 * b) % 5] ** 2
            if nd < g[a, b]:
                g[a, b] = nd
                came[a, b] = k
                heapq.heappush(heap, (nd + 0.3 * (2 * n - 2 - a - b), nd, a * n + b))
    path = []
    k = n * n - 1
    while k >= 0:
        path.append(k)
        k = came[k // n, k % n]
    return g[n - 1, n - 1] + 0.01 * len(path) + 0.001 * sum(path)


@PROGRAMS
def queue_at_a_desk(x: Any) -> Any:
    arrive, serve = 0, 1
    events = [(0.3, arrive, 0)]
    waiting = deque()
    busy = False
    total, served, n = 0.0, 0, 1
    while events:
        t, kind, who = heapq.heappop(events)
        if kind == arrive:
            if busy:
                waiting.append(t)
            else:
                busy = True
                heapq.heappush(events, (t + 0.5 + x[who % 5] ** 2, serve, who))
            if n < 8:
                heapq.heappush(events, (t + 0.2 + 0.3 * abs(x[n % 5]), arrive, n))
                n += 1
        else:
            served += 1
            if waiting:
                total += t - waiting.popleft()
                heapq.heappush(events, (t + 0.4 + x[served % 5] ** 2, serve, served))
            else:
                busy = False
    return total / served


@PROGRAMS
def clusters_by_density(x: Any) -> Any:
    pts = (
        np.array([[0, 0], [0.2, 0.1], [0.1, 0.3], [2, 2], [2.2, 2.1], [5, 5], [2.1, 1.8]])
        + 0.1 * x[:2]
    )
    n = len(pts)
    eps = 0.5 + 0.0 * x[0]
    label = np.full(n, -2)
    cluster = 0
    for i in range(n):
        if label[i] != -2:
            continue
        near = [j for j in range(n) if np.sum((pts[i] - pts[j]) ** 2) < eps]
        if len(near) < 3:
            label[i] = -1
            continue
        label[i] = cluster
        queue = list(near)
        while queue:
            j = queue.pop()
            if label[j] == -1:
                label[j] = cluster
            if label[j] != -2:
                continue
            label[j] = cluster
            more = [k for k in range(n) if np.sum((pts[j] - pts[k]) ** 2) < eps]
            if len(more) >= 3:
                queue.extend(more)
        cluster += 1
    s = 0.0
    for c in range(2):
        members = [pts[i] for i in range(n) if label[i] == c]
        centre = sum(members) / len(members)
        s += sum(np.sum((m - centre) ** 2 * x[3]) for m in members)
    return s + cluster


@PROGRAMS
def largest_cluster(x: Any) -> Any:
    n = 6
    open_ = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            open_[i, j] = math.sin(3.0 * i + 5.0 * j + x[(i + j) % 5]) > -0.3
    seen = np.zeros((n, n), dtype=bool)
    sizes = []
    for i in range(n):
        for j in range(n):
            if open_[i, j] and not seen[i, j]:
                queue = deque([(i, j)])
                seen[i, j] = True
                size = 0
                weight = 0.0
                while queue:
                    a, b = queue.popleft()
                    size += 1
                    weight += x[(a * b) % 5]
                    for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        c, d = a + da, b + db
                        if 0 <= c < n and 0 <= d < n and open_[c, d] and not seen[c, d]:
                            seen[c, d] = True
                            queue.append((c, d))
                sizes.append((size, weight))
    largest = max(sizes)
    return largest[1] * largest[0] + len(sizes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    f: Any = PROGRAMS[name]
    both: Any = tg.jit(tg.value_and_grad(f), stage=True)
    graph = both.graphs(ARGUMENTS[0])[-1]
    for x in ARGUMENTS:
        value, gradient = run_unjitted(graph, inputs(both, x))
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, x), atol=1e-5)
