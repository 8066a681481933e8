"""Programs in plain Python, as people write them for Numba: nothing in them knows of tracegrad."""

# Each is compiled by Numba and by tracegrad as it stands.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any


def lu(a: Array) -> Array:
    u = a.copy()
    n = u.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            u[i, k] = u[i, k] / u[k, k]
            for j in range(k + 1, n):
                u[i, j] -= u[i, k] * u[k, j]
    return u


def cholesky(a: Array) -> Array:
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return low


def gram_schmidt(a: Array) -> Array:
    rest = a.copy()
    m, n = rest.shape
    q = np.zeros((m, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += rest[i, k] * rest[i, k]
        norm = np.sqrt(norm)
        for i in range(m):
            q[i, k] = rest[i, k] / norm
        for j in range(k + 1, n):
            s = 0.0
            for i in range(m):
                s += q[i, k] * rest[i, j]
            for i in range(m):
                rest[i, j] = rest[i, j] - q[i, k] * s
    return q


def gauss_seidel(a: Array, b: Array) -> Array:
    n = b.shape[0]
    x = np.zeros(n)
    for _ in range(20):
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            x[i] = s / a[i, i]
    return x


def relaxation(u: Array) -> Array:
    u = u.copy()
    n, m = u.shape
    for _ in range(20):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def filter_rows(x: Array, a: float) -> Array:
    n, m = x.shape
    y = np.zeros((n, m))
    for i in range(n):
        y[i, 0] = x[i, 0]
        for j in range(1, m):
            y[i, j] = (1 - a) * x[i, j] + a * y[i, j - 1]
        for j in range(m - 2, -1, -1):
            y[i, j] = (1 - a) * y[i, j] + a * y[i, j + 1]
    return y


def columns(u: Array, w: Array) -> Array:
    """A tridiagonal system for each column of a field."""
    n, m, depth = u.shape
    c = np.zeros((n, m, depth))
    d = np.zeros((n, m, depth))
    x = np.zeros((n, m, depth))
    for i in range(n):
        for j in range(m):
            c[i, j, 0] = 0.3 / (1.0 + w[i, j, 0])
            d[i, j, 0] = u[i, j, 0] / (1.0 + w[i, j, 0])
            for k in range(1, depth):
                den = 1.0 + w[i, j, k] - 0.3 * c[i, j, k - 1]
                c[i, j, k] = 0.3 / den
                d[i, j, k] = (u[i, j, k] - 0.3 * d[i, j, k - 1]) / den
            x[i, j, depth - 1] = d[i, j, depth - 1]
            for k in range(depth - 2, -1, -1):
                x[i, j, k] = d[i, j, k] - c[i, j, k] * x[i, j, k + 1]
    return x


def recurrence(x: Array, a: float) -> Array:
    n = x.shape[0]
    h = np.zeros(n)
    h[0] = x[0]
    for t in range(1, n):
        h[t] = np.tanh(a * h[t - 1] + x[t])
    return h


def garch(r: Array, p: Array) -> Array:
    """The likelihood of returns whose variance follows the ones before."""
    total, s = 0.0, 1.0
    for t in range(r.shape[0]):
        total += np.log(s) + r[t] * r[t] / s
        s = p[0] + p[1] * r[t] * r[t] + p[2] * s
    return total


def shortest_paths(d: Array) -> Array:
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


def lattice(p: Array) -> Array:
    """An American put in a binomial tree of 200 steps."""
    steps = 200
    up = np.exp(p[1] * np.sqrt(1 / steps))
    q = (np.exp(p[2] / steps) - 1 / up) / (up - 1 / up)
    factor = np.exp(-p[2] / steps)
    v = np.zeros(steps + 1)
    s = np.zeros(steps + 1)
    for i in range(steps + 1):
        s[i] = p[0] * up ** (2 * i - steps)
        v[i] = max(1.0 - s[i], 0.0)
    for k in range(steps - 1, -1, -1):
        for i in range(k + 1):
            s[i] = s[i] * up
            v[i] = max(factor * (q * v[i + 1] + (1 - q) * v[i]), 1.0 - s[i])
    return v[0]


def escape(c: Array) -> Array:
    """How far each point goes before it leaves a circle, at most 12 steps."""
    total = np.zeros(c.shape[0])
    for k in range(c.shape[0]):
        x, y, n = 0.0, 0.0, 0
        while x * x + y * y < 4.0 and n < 12:
            x, y = x * x - y * y + c[k, 0], 2 * x * y + c[k, 1]
            n += 1
        total[k] = x * x + y * y
    return total


def sum_of_squares(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the gradient is taken of."""

    def total(*arguments: Any) -> Any:
        return np.sum(function(*arguments) ** 2)

    return total


class Text(NamedTuple):
    """A program, the sum of its squares, and the arguments that it is measured with."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @property
    def total(self) -> Callable[..., Any]:
        return sum_of_squares(self.function)


def texts() -> dict[str, Text]:
    """All programs by name."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape)

    square = normal(100, 100)
    return {
        "LU": Text(lu, (normal(60, 60) + 60 * np.eye(60),)),
        "Cholesky": Text(cholesky, (square @ square.T + 100 * np.eye(100),)),
        "Gram-Schmidt": Text(gram_schmidt, (normal(60, 60),)),
        "Gauss-Seidel": Text(gauss_seidel, (normal(40, 40) + 80 * np.eye(40), normal(40))),
        "relaxation": Text(relaxation, (normal(40, 40),)),
        "filter": Text(filter_rows, (normal(256, 256), 0.3)),
        "columns": Text(columns, (normal(24, 24, 24), rng.uniform(1, 2, (24, 24, 24)))),
        "recurrence": Text(recurrence, (normal(16_000), 0.9)),
        "GARCH": Text(garch, (normal(5_000), np.array([0.1, 0.1, 0.8]))),
        "shortest paths": Text(shortest_paths, (rng.uniform(1, 9, (60, 60)),)),
        "option lattice": Text(lattice, (np.array([0.95, 0.3, 0.05]),)),
        "escape": Text(escape, (rng.uniform(-0.3, 0.3, (2_000, 2)),)),
    }


__all__ = ["Text", "texts"]
