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


def sorting_network(x: Array) -> Array:
    """Odd and even neighbours in turn; what is sorted is weighted by its rank."""
    a = x.copy()
    n = a.shape[0]
    for phase in range(n):
        for i in range(phase % 2, n - 1, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    for i in range(n):
        a[i] = a[i] * (i + 1)
    return a


def kalman(y: Array, p: Array) -> Array:
    """The likelihood of places that are measured of something with nearly constant velocity."""
    x, v, total = y[0], 0.0, 0.0
    a, b, c = 1.0, 0.0, 1.0
    for t in range(1, y.shape[0]):
        x = x + v
        a, b, c = a + 2 * b + c + p[0] / 3, b + c + p[0] / 2, c + p[0]
        error = y[t] - x
        s = a + p[1]
        total += np.log(s) + error * error / s
        k, g = a / s, b / s
        x, v = x + k * error, v + g * error
        a, b, c = a - k * a, b - k * b, c - g * b
    return total


def viterbi(emit: Array, move: Array) -> Array:
    """The logarithmic probability of the best path."""
    steps, states = emit.shape
    score = emit[0].copy()
    new = np.zeros(states)
    for t in range(1, steps):
        for j in range(states):
            best = score[0] + move[0, j]
            for i in range(1, states):
                through = score[i] + move[i, j]
                if through > best:
                    best = through
            new[j] = best + emit[t, j]
        for j in range(states):
            score[j] = new[j]
    best = score[0]
    for j in range(1, states):
        best = max(best, score[j])
    return best


def bodies(x: Array, v: Array) -> Array:
    """Bodies that attract one another; one that comes too near to another is flagged, and
    bounces."""
    x, v = x.copy(), v.copy()
    n = x.shape[0]
    for _ in range(20):
        for i in range(n):
            collides = False
            a, b = 0.0, 0.0
            for j in range(n):
                if j != i:
                    dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                    r2 = dx * dx + dy * dy
                    if r2 < 0.01:
                        collides = True
                    else:
                        a += dx / (r2 * np.sqrt(r2))
                        b += dy / (r2 * np.sqrt(r2))
            if collides:
                v[i, 0], v[i, 1] = -0.9 * v[i, 0], -0.9 * v[i, 1]
            else:
                v[i, 0], v[i, 1] = v[i, 0] + 0.001 * a, v[i, 1] + 0.001 * b
        for i in range(n):
            x[i, 0] += 0.01 * v[i, 0]
            x[i, 1] += 0.01 * v[i, 1]
    return x


def newton(c: Array) -> Array:
    """The root of an equation for each row, where full steps go too far."""
    roots = np.zeros(c.shape[0])
    for k in range(c.shape[0]):
        x = 0.0
        for _ in range(30):
            f = np.arctan(x - c[k, 0]) + 0.1 * x - c[k, 1]
            if abs(f) < 1e-12:
                break
            step = f / (1.0 / (1.0 + (x - c[k, 0]) ** 2) + 0.1)
            t = 1.0
            while abs(np.arctan(x - t * step - c[k, 0]) + 0.1 * (x - t * step) - c[k, 1]) > abs(f):
                t *= 0.5
            x = x - t * step
        roots[k] = x
    return roots


def spline(x: Array, y: Array, at: Array) -> Array:
    """A natural cubic spline, and its values; the piece of each is found by bisection."""
    n = x.shape[0]
    c, d, m = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        left, right = x[i] - x[i - 1], x[i + 1] - x[i]
        jump = 6.0 * ((y[i + 1] - y[i]) / right - (y[i] - y[i - 1]) / left)
        w = 2.0 * (left + right) - left * c[i - 1]
        c[i] = right / w
        d[i] = (jump - left * d[i - 1]) / w
    for i in range(n - 2, 0, -1):
        m[i] = d[i] - c[i] * m[i + 1]
    values = np.zeros(at.shape[0])
    for k in range(at.shape[0]):
        low, high = 0, n - 1
        while high - low > 1:
            middle = (low + high) // 2
            if x[middle] > at[k]:
                high = middle
            else:
                low = middle
        h = x[high] - x[low]
        a, b = (x[high] - at[k]) / h, (at[k] - x[low]) / h
        bend = (a**3 - a) * m[low] + (b**3 - b) * m[high]
        values[k] = a * y[low] + b * y[high] + bend * h * h / 6.0
    return values


def metropolis(z: Array, u: Array, p: Array) -> Array:
    """The states of a chain whose proposals and decisions are given."""
    states = np.zeros(z.shape[0])
    x, energy = 0.0, 0.0
    for t in range(z.shape[0]):
        new = x + p[0] * z[t]
        proposed = p[1] * new * new + p[2] * new**4
        if u[t] < np.exp(energy - proposed):
            x, energy = new, proposed
        states[t] = x
    return states


def red_black(u: Array, f: Array, w: float) -> Array:
    """Successive over-relaxation, the fields of a chessboard in two halves."""
    u = u.copy()
    n, m = u.shape
    for _ in range(20):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    u[i, j] += w * (0.25 * (around + f[i, j]) - u[i, j])
    return u


def distance(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the gradient is taken of: how far the result is from ones, squared. (The sum of the
    squares alone is the same for all results of Gram and Schmidt.)"""

    def total(*arguments: Any) -> Any:
        return np.sum((function(*arguments) - 1.0) ** 2)

    return total


class Text(NamedTuple):
    """A program; `data(generator, n)` makes arguments of a size for it, by default `n`."""

    function: Callable[..., Any]
    data: Callable[[Any, int], tuple[Any, ...]]
    n: int

    @property
    def total(self) -> Callable[..., Any]:
        """The squared distance of its result from ones."""
        return distance(self.function)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What it is measured with."""
        return self.at(self.n)

    def at(self, n: int) -> tuple[Any, ...]:
        """Arguments of another size."""
        return self.data(np.random.default_rng(n), n)


def texts() -> dict[str, Text]:
    """All programs by name."""

    def well_posed(rng: Any, n: int) -> Array:
        a = rng.standard_normal((n, n))
        return a @ a.T + n * np.eye(n)

    def dominant(rng: Any, n: int) -> Array:
        return rng.standard_normal((n, n)) + 2 * n * np.eye(n)

    def field(rng: Any, n: int) -> Array:
        return rng.standard_normal((n, n))

    def knots(rng: Any, n: int) -> tuple[Any, ...]:
        x = np.cumsum(rng.uniform(0.5, 1.5, n))
        return x, rng.standard_normal(n), rng.uniform(x[0], x[-1], n)

    def put(rng: Any, n: int) -> tuple[Any, ...]:
        return (np.array([0.95, 0.3, 0.05]),)

    return {
        "LU": Text(lu, lambda r, n: (dominant(r, n),), 60),
        "Cholesky": Text(cholesky, lambda r, n: (well_posed(r, n),), 100),
        "Gram-Schmidt": Text(gram_schmidt, lambda r, n: (field(r, n),), 60),
        "Gauss-Seidel": Text(gauss_seidel, lambda r, n: (dominant(r, n), r.standard_normal(n)), 40),
        "relaxation": Text(relaxation, lambda r, n: (field(r, n),), 40),
        "red-black": Text(red_black, lambda r, n: (field(r, n), field(r, n), 1.5), 40),
        "filter": Text(filter_rows, lambda r, n: (field(r, n), 0.3), 256),
        "columns": Text(
            columns, lambda r, n: (r.standard_normal((n, n, n)), r.uniform(1, 2, (n, n, n))), 24
        ),
        "spline": Text(spline, knots, 2_000),
        "recurrence": Text(recurrence, lambda r, n: (r.standard_normal(n), 0.9), 16_000),
        "GARCH": Text(garch, lambda r, n: (r.standard_normal(n), np.array([0.1, 0.1, 0.8])), 5_000),
        "Kalman": Text(
            kalman, lambda r, n: (np.cumsum(r.standard_normal(n)), np.array([0.1, 0.5])), 5_000
        ),
        "Metropolis": Text(
            metropolis,
            lambda r, n: (r.standard_normal(n), r.uniform(size=n), np.array([0.8, 0.5, 0.1])),
            5_000,
        ),
        "Viterbi": Text(viterbi, lambda r, n: (r.standard_normal((n, 8)), field(r, 8)), 500),
        "shortest paths": Text(shortest_paths, lambda r, n: (r.uniform(1, 9, (n, n)),), 60),
        "sorting network": Text(sorting_network, lambda r, n: (r.standard_normal(n),), 200),
        "bodies": Text(
            bodies, lambda r, n: (r.uniform(0, 2, (n, 2)), r.standard_normal((n, 2))), 32
        ),
        "option lattice": Text(lattice, put, 200),
        "escape": Text(escape, lambda r, n: (r.uniform(-0.3, 0.3, (n, 2)),), 2_000),
        "Newton": Text(newton, lambda r, n: (r.uniform(-2, 2, (n, 2)),), 500),
    }


__all__ = ["Text", "texts"]
