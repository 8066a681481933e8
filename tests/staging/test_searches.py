"""Programs that search: with heaps, queues and stacks in loops whose length only a run knows. They
are traced, and what is traced runs in Python: values are those of plain Python, gradients those of
differences."""

# ruff: noqa: PERF401 - the programs are as people write them
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


@PROGRAMS
def neighbours_in_lists(x: Any) -> Any:
    graph = [[1, 2], [0, 3], [0, 3, 4], [1, 2, 5], [2, 5], [3, 4]]
    dist = [-1] * 6
    dist[0] = 0
    queue = deque([0])
    total = 0.0
    while queue:
        u = queue.popleft()
        total += x[u % 5] * (dist[u] + 1)
        for v in graph[u]:
            if dist[v] < 0 and x[v % 5] + 1 > x[u % 5] * 0.3:
                dist[v] = dist[u] + 1
                queue.append(v)
    return total


@PROGRAMS
def edges_in_lists(x: Any) -> Any:
    adj = [[(1, 0), (2, 1)], [(2, 2), (3, 3)], [(3, 4), (4, 0)], [(5, 1)], [(3, 2), (5, 3)], []]
    dist = [float("inf")] * 6
    dist[0] = 0.0
    done = [False] * 6
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if done[u]:
            continue
        done[u] = True
        for v, k in adj[u]:
            nd = d + abs(x[k]) + 0.2
            if nd < dist[v]:
                dist[v] = nd
                heapq.heappush(heap, (nd, v))
    return dist[5] + dist[4]


@PROGRAMS
def tree_of_least_weight(x: Any) -> Any:
    n = 5
    edges = []
    for i in range(n):
        for j in range(i + 1, n):
            edges.append(((x[i] - x[j]) ** 2 + 0.1 * (i + 2 * j), i, j))
    edges.sort()
    parent = list(range(n))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    total, count = 0.0, 0
    for w, i, j in edges:
        a, b = find(i), find(j)
        if a != b:
            parent[a] = b
            total += w
            count += 1
            if count == n - 1:
                break
    return total


@PROGRAMS
def filled_from_a_place(x: Any) -> Any:
    n = 5
    height = (
        np.array([[math.sin(2.0 * i + 3.0 * j) for j in range(n)] for i in range(n)]) + 0.2 * x[0]
    )
    filled = np.zeros((n, n), dtype=bool)
    stack = [(2, 2)]
    vol = 0.0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= n or j >= n:
            continue
        if filled[i, j] or height[i, j] > x[1] + 0.8:
            continue
        filled[i, j] = True
        vol += x[1] + 0.8 - height[i, j]
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.append((i, j + 1))
        stack.append((i, j - 1))
    return vol


@PROGRAMS
def convex_hull(x: Any) -> Any:
    pts = [(math.cos(2.4 * k) * (1 + 0.3 * x[k % 5]), math.sin(3.1 * k)) for k in range(9)]
    pts = sorted(pts)

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for p in pts:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(pts):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    hull = lower[:-1] + upper[:-1]
    area = 0.0
    for k in range(len(hull)):
        a, b = hull[k - 1], hull[k]
        area += a[0] * b[1] - a[1] * b[0]
    return area / 2 + 0.1 * len(hull)


@PROGRAMS
def warped_in_time(x: Any) -> Any:
    a = x
    b = np.array([0.5, -0.2, 0.1, 0.4, -0.6, 0.3])
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    path, i, j = [], n, m
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        step = min((D[i - 1, j - 1], 0), (D[i - 1, j], 1), (D[i, j - 1], 2))[1]
        if step == 0:
            i, j = i - 1, j - 1
        elif step == 1:
            i -= 1
        else:
            j -= 1
    path.reverse()
    return D[n, m] + sum(abs(a[i] - b[j]) for i, j in path) / len(path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    f: Any = PROGRAMS[name]
    both: Any = tg.jit(tg.value_and_grad(f), stage=True)
    graph = both.graphs(ARGUMENTS[0])[-1]
    for x in ARGUMENTS:
        value, gradient = run_unjitted(graph, inputs(both, x), keep=True)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, x), atol=1e-5)
