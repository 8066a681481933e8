"""Algorithms with stacks, traces back and choices by random numbers, as people write them: values
are those of plain Python, gradients those of differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.staging.ways import Programs, check_gradients, check_values

ARGUMENTS = (np.array([0.95, -0.3, 0.55, 0.2, -0.8]), np.array([0.31, 0.92, -0.44, 0.81, 1.13]))
PROGRAMS = Programs()


@PROGRAMS
def nearest_in_a_tree(x: Any) -> Any:
    pts = np.array([[math.cos(2.1 * k), math.sin(3.7 * k)] for k in range(15)])
    # an implicit balanced tree over pre-sorted order
    order: list[Any] = []

    def build(ids: Any, depth: Any) -> Any:
        if not ids:
            return -1
        ids = sorted(ids, key=lambda i: pts[i, depth % 2])
        m = len(ids) // 2
        at = len(order)
        order.append([ids[m], depth % 2, -1, -1])
        order[at][2] = build(ids[:m], depth + 1)
        order[at][3] = build(ids[m + 1 :], depth + 1)
        return at

    build(list(range(15)), 0)
    node = np.array([o[0] for o in order])
    axis = np.array([o[1] for o in order])
    left = np.array([o[2] for o in order])
    right = np.array([o[3] for o in order])
    best, at, visited = np.inf, -1, 0
    stack = [0]
    q = x[:2]
    while stack:
        k = stack.pop()
        visited += 1
        d = np.sum((pts[node[k]] - q) ** 2)
        if d < best:
            best, at = d, node[k]
        gap = q[axis[k]] - pts[node[k], axis[k]]
        near, far = (left[k], right[k]) if gap < 0 else (right[k], left[k])
        if far >= 0 and gap * gap < best:
            stack.append(far)
        if near >= 0:
            stack.append(near)
    return np.sqrt(best) + 0.01 * at


@PROGRAMS
def metropolis(x: Any) -> Any:
    u = np.abs(np.sin(np.arange(1, 81) * 12.9898) * 43758.5453) % 1.0
    s, accepted, mean = 0.0, 0, 0.0

    def energy(s: Any) -> Any:
        return x[0] * s**4 - x[1] * s**2 + x[2] * s

    e = energy(s)
    for k in range(40):
        new = s + (u[2 * k] - 0.5) * 1.5
        e_new = energy(new)
        if e_new <= e or u[2 * k + 1] < math.exp(-(e_new - e)):
            s, e = new, e_new
            accepted += 1
        mean += e / 40
    return mean + 0.1 * accepted


@PROGRAMS
def generalized_minimal_residual(x: Any) -> Any:
    n = 5
    A = np.eye(n) * 3 + np.outer(np.sin(x), np.cos(x)) + np.diag(x[:-1], 1)
    b = np.ones(n)
    m = 4
    Q = np.zeros((n, m + 1))
    H = np.zeros((m + 1, m))
    beta = np.linalg.norm(b)
    Q[:, 0] = b / beta
    cs, sn = np.zeros(m), np.zeros(m)
    g = np.zeros(m + 1)
    g[0] = beta
    k = 0
    for j in range(m):
        w = A @ Q[:, j]
        for i in range(j + 1):
            H[i, j] = w @ Q[:, i]
            w = w - H[i, j] * Q[:, i]
        H[j + 1, j] = np.linalg.norm(w)
        Q[:, j + 1] = w / H[j + 1, j]
        for i in range(j):
            t = cs[i] * H[i, j] + sn[i] * H[i + 1, j]
            H[i + 1, j] = -sn[i] * H[i, j] + cs[i] * H[i + 1, j]
            H[i, j] = t
        r = np.hypot(H[j, j], H[j + 1, j])
        cs[j], sn[j] = H[j, j] / r, H[j + 1, j] / r
        H[j, j], H[j + 1, j] = r, 0.0
        g[j + 1] = -sn[j] * g[j]
        g[j] = cs[j] * g[j]
        k = j + 1
        if abs(g[j + 1]) < 1e-3:
            break
    y = np.zeros(m)
    for i in range(k - 1, -1, -1):
        s = g[i]
        for j in range(i + 1, k):
            s -= H[i, j] * y[j]
        y[i] = s / H[i, i]
    sol = Q[:, :m] @ y
    return np.sum(sol**2) + sol[0]


@PROGRAMS
def viterbi_path(x: Any) -> Any:
    obs = [0, 1, 1, 2, 0, 2]
    A = np.array([[0.7, 0.3], [0.4, 0.6]])
    B = np.abs(x[:3] * np.array([[1.0], [0.7]])) + 0.1
    V = np.zeros((6, 2))
    back = np.zeros((6, 2), dtype=int)
    V[0] = np.log(0.5) + np.log(B[:, obs[0]])
    for t in range(1, 6):
        for s in range(2):
            best, arg = -np.inf, 0
            for r in range(2):
                p = V[t - 1, r] + np.log(A[r, s])
                if p > best:
                    best, arg = p, r
            V[t, s] = best + np.log(B[s, obs[t]])
            back[t, s] = arg
    path = [int(np.argmax(V[5]))]
    for t in range(5, 0, -1):
        path.insert(0, back[t, path[0]])
    return max(V[5]) + 0.1 * sum((k + 1) * s for k, s in enumerate(path))


@PROGRAMS
def nelder_mead(x: Any) -> Any:
    def f(p: Any) -> Any:
        return (1 - p[0]) ** 2 * (1 + x[0] ** 2) + 5 * (p[1] - p[0] ** 2 - x[1]) ** 2

    simplex = [np.array([0.0, 0.0]), np.array([1.0, 0.2]), np.array([0.2, 1.0])]
    values = [f(p) for p in simplex]
    for _it in range(15):
        order = sorted(range(3), key=lambda k: values[k])
        simplex = [simplex[k] for k in order]
        values = [values[k] for k in order]
        c = (simplex[0] + simplex[1]) / 2
        r = c + (c - simplex[2])
        fr = f(r)
        if fr < values[0]:
            e = c + 2 * (c - simplex[2])
            fe = f(e)
            if fe < fr:
                simplex[2], values[2] = e, fe
            else:
                simplex[2], values[2] = r, fr
        elif fr < values[1]:
            simplex[2], values[2] = r, fr
        else:
            k = c + 0.5 * (simplex[2] - c)
            fk = f(k)
            if fk < values[2]:
                simplex[2], values[2] = k, fk
            else:
                for i in (1, 2):
                    simplex[i] = simplex[0] + 0.5 * (simplex[i] - simplex[0])
                    values[i] = f(simplex[i])
    return min(values)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    several = [(x,) for x in ARGUMENTS]
    check_values(PROGRAMS[name], "jit", several)
    check_gradients(PROGRAMS[name], "jit of grad", several)
