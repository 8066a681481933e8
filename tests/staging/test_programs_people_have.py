"""Programs as people have them, with objects, lists, dicts and loops of unknown length: at
two sizes values are those of plain Python, gradients those of differences."""

# ruff: noqa: B007, B905, E741, RUF059, UP034 - as people write them
# mypy: ignore-errors
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.staging.ways import check_gradient, check_value

PROGRAMS: dict[str, Any] = {}


def sizes(*counts):
    def note(f):
        PROGRAMS[f.__name__] = f, counts
        return f

    return note


@sizes(4, 6)
def forward_backward(p):
    states = ("rainy", "sunny")
    start = {"rainy": 0.6, "sunny": 0.4}
    trans = {
        "rainy": {"rainy": p[0] / (1 + p[0]), "sunny": 1 / (1 + p[0])},
        "sunny": {"rainy": 0.4, "sunny": 0.6},
    }
    emit = {
        "rainy": {"walk": 0.1, "shop": p[1], "clean": 0.5},
        "sunny": {"walk": p[2], "shop": 0.3, "clean": 0.1},
    }
    obs = list(itertools.islice(itertools.cycle(["walk", "shop", "clean"]), len(p) + 2))
    fwd = []
    prev = {}
    for i, o in enumerate(obs):
        cur = {}
        for st in states:
            s = start[st] if i == 0 else sum((prev[k] * trans[k][st] for k in states))
            cur[st] = emit[st][o] * s
        fwd.append(cur)
        prev = cur
    likelihood = sum(prev.values())
    bwd = []
    nxt = {}
    for i, o in enumerate(reversed(obs[1:] + [None])):
        cur = {}
        for st in states:
            if i == 0:
                cur[st] = 1.0
            else:
                cur[st] = sum((trans[st][l] * emit[l][o] * nxt[l] for l in states))
        bwd.insert(0, cur)
        nxt = cur
    posterior = [
        {st: fwd[i][st] * bwd[i][st] / likelihood for st in states} for i in range(len(obs))
    ]
    return sum((q["rainy"] for q in posterior))


@dataclass
class State:
    t: float
    y: np.ndarray
    h: float


@sizes(2, 3)
def adaptive_rk(p):

    def rhs(t, y):
        return np.array([y[1], -p[0] * y[0] - p[1] * y[1]])

    s = State(0.0, np.array([1.0, 0.0]), 0.1)
    history = [s]
    while s.t < 2.0:
        h = min(s.h, 2.0 - s.t)
        k1 = rhs(s.t, s.y)
        k2 = rhs(s.t + h / 2, s.y + h / 2 * k1)
        k3 = rhs(s.t + 3 * h / 4, s.y + 3 * h / 4 * k2)
        y3 = s.y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = rhs(s.t + h, y3)
        err = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if err < 0.0001:
            s = State(s.t + h, y3, h * min(2.0, 0.9 * (0.0001 / (err + 1e-15)) ** (1 / 3)))
            history.append(s)
        else:
            s = replace(s, h=h * max(0.2, 0.9 * (0.0001 / err) ** (1 / 3)))
    return history[-1].y[0] + sum((q.y[1] ** 2 for q in history)) / len(history)


class CSR:
    def __init__(self, data, indices, indptr):
        self.data, self.indices, self.indptr = (data, indices, indptr)

    def __matmul__(self, x):
        y = np.zeros(len(self.indptr) - 1)
        for i in range(len(y)):
            for k in range(self.indptr[i], self.indptr[i + 1]):
                y[i] += self.data[k] * x[self.indices[k]]
        return y


def cg(A, b, tol=1e-08, maxiter=50, callback=None):
    x = np.zeros_like(b)
    r = b - A @ x
    d = r.copy()
    rs = r @ r
    for k in range(maxiter):
        Ad = A @ d
        alpha = rs / (d @ Ad)
        x = x + alpha * d
        r = r - alpha * Ad
        new = r @ r
        if callback is not None:
            callback(x)
        if math.sqrt(new) < tol:
            break
        d = r + new / rs * d
        rs = new
    return x


@sizes(5, 8)
def sparse_cg(p):
    n = len(p)
    data, indices, indptr = ([], [], [0])
    for i in range(n):
        for j in (i - 1, i, i + 1):
            if 0 <= j < n:
                data.append(3.0 + p[i] if i == j else -1.0)
                indices.append(j)
        indptr.append(len(indices))
    norms = []
    x = cg(
        CSR(np.array(data), indices, indptr),
        np.ones(n),
        callback=lambda x: norms.append(np.sum(x**2)),
    )
    return x @ x + 0.01 * sum(norms)


@sizes(4, 4)
def edit_distance(p):
    s, t = ("kitten", "sitting")
    ins, dele, sub, tr = p[:4]
    prev = [j * ins for j in range(len(t) + 1)]
    for i, c in enumerate(s, start=1):
        cur = [i * dele]
        for j, e in enumerate(t, start=1):
            cur.append(
                min(prev[j] + dele, cur[j - 1] + ins, prev[j - 1] + (0.0 if c == e else sub))
            )
        prev = cur
    return prev[-1]


@sizes(5, 8)
def dtw_lists(p):
    a = [float(np.sin(k)) for k in range(6)]
    n, m = (len(p), len(a))
    D = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (p[i - 1] - a[j - 1]) ** 2
            D[i][j] = cost + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    i, j, path = (n, m, [])
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        step = min((D[i - 1][j - 1], 0), (D[i - 1][j], 1), (D[i][j - 1], 2))[1]
        if step == 0:
            i, j = (i - 1, j - 1)
        elif step == 1:
            i -= 1
        else:
            j -= 1
    return D[n][m] + 0.1 * sum((p[i] * a[j] for i, j in path))


class Dirichlet:
    def __init__(self, left, right):
        self.left, self.right = (left, right)

    def apply(self, u):
        u[0], u[-1] = (self.left, self.right)


class Neumann:
    def apply(self, u):
        u[0], u[-1] = (u[1], u[-2])


class Periodic:
    def apply(self, u):
        u[0], u[-1] = (u[-2], u[1])


class HeatSolver:
    def __init__(self, n, kappa, bc):
        self.x = np.linspace(0, 1, n)
        self.u = np.sin(np.pi * self.x)
        self.kappa, self.bc = (kappa, bc)
        self.t = 0.0
        self.history = []

    @property
    def dx(self):
        return self.x[1] - self.x[0]

    def step(self, dt):
        un = self.u.copy()
        self.u[1:-1] = un[1:-1] + self.kappa * dt / self.dx**2 * (un[2:] - 2 * un[1:-1] + un[:-2])
        self.bc.apply(self.u)
        self.t += dt
        self.history.append(self.u.sum() * self.dx)

    def run(self, until):
        while self.t < until:
            self.step(min(0.2 * self.dx**2 / self.kappa, until - self.t))
        return self.u


@sizes(3, 4)
def heat_boundaries(p):
    total = 0.0
    for bc in (Dirichlet(p[0], p[1]), Neumann(), Periodic()):
        s = HeatSolver(8, p[2], bc)
        u = s.run(0.05)
        total += np.sum(u**2) + sum(s.history) / len(s.history)
    return total


@dataclass(frozen=True)
class Gaussian:
    mean: np.ndarray
    cov: np.ndarray

    def predict(self, F, Q):
        return Gaussian(F @ self.mean, F @ self.cov @ F.T + Q)

    def update(self, z, H, R):
        S = H @ self.cov @ H.T + R
        K = self.cov @ H.T @ np.linalg.inv(S)
        return replace(
            self, mean=self.mean + K @ (z - H @ self.mean), cov=(np.eye(2) - K @ H) @ self.cov
        )


@sizes(20, 40)
def kalman_dataclass(p):
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q, R = (0.01 * np.eye(2), np.array([[0.1]]))
    s = Gaussian(np.zeros(2), np.eye(2))
    estimates = []
    loglik = 0.0
    for z in p:
        s = s.predict(F, Q)
        innovation = z - (H @ s.mean)[0]
        var = (H @ s.cov @ H.T + R)[0, 0]
        if innovation**2 / var < 9.0:
            s = s.update(np.array([z]), H, R)
        loglik -= 0.5 * (np.log(2 * np.pi * var) + innovation**2 / var)
        estimates.append(s)
    return loglik + sum((e.mean[0] for e in estimates))


@sizes(20, 40)
def rts_smoother(p):
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q, R = (0.01 * np.eye(2), np.array([[0.1]]))
    s = Gaussian(np.zeros(2), np.eye(2))
    filtered, predicted = ([], [])
    for z in p:
        s = s.predict(F, Q)
        predicted.append(s)
        s = s.update(np.array([z]), H, R)
        filtered.append(s)
    smooth = [filtered[-1]]
    for f, q in zip(reversed(filtered[:-1]), reversed(predicted[1:])):
        C = f.cov @ F.T @ np.linalg.inv(q.cov)
        n = smooth[0]
        smooth.insert(
            0, Gaussian(f.mean + C @ (n.mean - q.mean), f.cov + C @ (n.cov - q.cov) @ C.T)
        )
    return sum((g.mean[0] ** 2 for g in smooth))


class Poly:
    def __init__(self, coef):
        self.coef = list(coef)

    def __call__(self, x):
        out = 0.0
        for c in reversed(self.coef):
            out = out * x + c
        return out

    def __sub__(self, other):
        return Poly([a - b for a, b in itertools.zip_longest(self.coef, other.coef, fillvalue=0.0)])

    def __len__(self):
        return len(self.coef)

    def __getitem__(self, k):
        if k < 0 or k >= len(self.coef):
            return 0.0
        return self.coef[k]

    def derivative(self):
        return Poly((k * c for k, c in enumerate(self.coef) if k > 0))


@sizes(3, 4)
def poly_class(p):
    f = Poly(p) - Poly([2.0])
    df = f.derivative()
    x = 1.0
    while abs(f(x)) > 1e-10:
        x = x - f(x) / df(x)
    return x + f[1] * len(f)


@sizes(5, 7)
def decision_tree(p):
    tree = {
        "feature": 0,
        "threshold": 0.5,
        "left": {"value": 1.0},
        "right": {"feature": 1, "threshold": 0.4, "left": {"value": 2.0}, "right": {"value": 3.0}},
    }

    def predict(node, x):
        if "value" in node:
            return node["value"] * x[2]
        if x[node["feature"]] < node["threshold"]:
            return predict(node["left"], x)
        return predict(node["right"], x)

    return sum((predict(tree, np.roll(p, k)) for k in range(3)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_python(name: str) -> None:
    f, counts = PROGRAMS[name]
    for k, n in enumerate(counts):
        x = np.random.default_rng(k).uniform(0.2, 1.2, n)
        check_value(f, "jit", x)
        check_gradient(f, "jit of grad", x)
