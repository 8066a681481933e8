"""Programs over one vector: simulations, integrators, searches with a state."""

# ruff: noqa
from __future__ import annotations

import math

import numpy as np


def collisions(x):
    """Bodies on a line that exchange their velocities where they meet."""
    n = len(x)
    p = np.arange(n) * 0.6 + 0.1 * np.tanh(x)
    v = np.sin(3 * x)
    hit = np.zeros(n)
    for step in range(25):
        for i in range(n):
            p[i] += 0.05 * v[i]
        for i in range(n - 1):
            if p[i] > p[i + 1] and v[i] > v[i + 1]:
                v[i], v[i + 1] = v[i + 1], v[i]
                hit[i] = 1.0
    return np.sum(p * p) + np.sum(hit * v)


def bisected_roots(x):
    total = 0.0
    for target in x:
        lo, hi = -3.0, 3.0
        while hi - lo > 1e-3:
            mid = 0.5 * (lo + hi)
            if mid**3 + mid < target:
                lo = mid
            else:
                hi = mid
        r = 0.5 * (lo + hi)
        for _ in range(3):
            r = r - (r**3 + r - target) / (3 * r * r + 1)
        total += r
    return total


def limited_advection(x):
    """Upwind fluxes with a minmod limiter."""
    u = x.copy()
    n = len(u)
    for step in range(12):
        flux = np.zeros(n)
        for i in range(n):
            left = u[i] - u[i - 1]
            right = u[(i + 1) % n] - u[i]
            if left * right <= 0:
                slope = 0.0
            elif abs(left) < abs(right):
                slope = left
            else:
                slope = right
            flux[i] = u[i] + 0.4 * slope
        new = np.empty_like(u)
        for i in range(n):
            new[i] = u[i] - 0.2 * (flux[i] - flux[i - 1])
        u = new
    return np.sum(u**2 * np.arange(n))


def adaptive_steps(x):
    """An initial value problem by a pair of formulas that choose the step."""
    y, t, h = 0.3 * x, 0.0, 0.1
    accepted = 0
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = rate(y, t)
        k2 = rate(y + 0.5 * h * k1, t + 0.5 * h)
        k3 = rate(y + 0.75 * h * k2, t + 0.75 * h)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9)))
        if error < 2e-3:
            y = new
            t = t + h
            accepted += 1
            h = 1.3 * h
        else:
            h = 0.5 * h
        if accepted > 200:
            raise RuntimeError("too many steps")
    return np.sum(y * y)


def rate(y, t):
    return np.sin(y) - 0.5 * y * math.exp(-t)


def reaction_cells(x):
    """A cellular automaton whose cells hold numbers."""
    cells = np.abs(x)
    n = len(cells)
    for generation in range(10):
        new = np.zeros(n)
        for i in range(n):
            around = cells[i - 1] + cells[(i + 1) % n]
            if around < 0.4:
                new[i] = 0.8 * cells[i]
            elif around > 2.5:
                new[i] = 0.5 * cells[i] + 0.05
            else:
                new[i] = cells[i] + 0.1 * around * (1 - cells[i])
        cells = new
    return cells.sum()


def golden_section(x):
    """The least of a function, and the slope of a quadratic through the last bracket."""

    def f(t):
        return (t - 0.3 * x[0]) ** 2 + 0.1 * np.cos(x[1] * t)

    a, b = -2.0, 2.0
    ratio = (math.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    while b - a > 0.05:
        if f(c) < f(d):
            b, d = d, c
            c = b - ratio * (b - a)
        else:
            a, c = c, d
            d = a + ratio * (b - a)
    return f(a) + f(b) * x[-1]


def clenshaw(x):
    b1 = b2 = 0.0
    t = 0.3
    for k in range(len(x) - 1, 0, -1):
        b1, b2 = x[k] + 2 * t * b1 - b2, b1
    return x[0] + t * b1 - b2


def time_warping(x):
    """The distance of a series from a fixed one, by dynamic programming."""
    n, m = len(x), 6
    other = [0.1, 0.9, -0.4, 0.3, 1.1, -0.8]
    cost = np.full((n + 1, m + 1), 1e6)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - other[j - 1]) ** 2
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def trading(x):
    """A moving average, a position that follows it, and what it earns."""
    price, average, position, cash, trades = 1.0, 1.0, 0.0, 0.0, 0
    for r in x:
        price = price * math.exp(0.1 * r)
        average = 0.7 * average + 0.3 * price
        if position == 0 and price > average * 1.001:
            position = 1.0
            cash -= price
            trades += 1
        elif position == 1 and price < average * 0.999:
            position = 0.0
            cash += price
            trades += 1
        if trades >= 4:
            break
    return cash + position * price


def lstm(x):
    h, c = np.zeros(3), np.zeros(3)
    w = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.2], [-0.6, 0.3, 0.1]])
    for v in x:
        gates = w @ h + v * np.array([0.3, -0.5, 0.7])
        i = 1 / (1 + np.exp(-gates[0]))
        f = 1 / (1 + np.exp(-gates[1] - 1))
        for k in range(3):
            c[k] = f * c[k] + i * np.tanh(gates[k] + 0.1 * k)
        h = np.tanh(c) * 0.9
    return np.sum(h * h)


def bouncing_chain(x):
    """Masses on springs above a floor."""
    n = len(x)
    y, v = 1.0 + 0.1 * np.arange(n) + 0.05 * x, np.zeros(n)
    for step in range(40):
        for i in range(n):
            force = -1.0
            if i > 0:
                force += 4.0 * (y[i - 1] - y[i] + 0.1)
            if i < n - 1:
                force += 4.0 * (y[i + 1] - y[i] - 0.1)
            if y[i] < 0.5:
                force += 30.0 * (0.5 - y[i])
            v[i] += 0.02 * force
        y += 0.02 * v
    return np.sum(y) + np.sum(v * v)


def interpolated(x):
    """A table looked up by bisection."""
    knots = np.linspace(-4.0, 4.0, 17)
    table = np.cos(knots)
    total = 0.0
    for v in x:
        lo, hi = 0, len(knots) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if knots[mid] <= v:
                lo = mid
            else:
                hi = mid
        t = (v - knots[lo]) / (knots[hi] - knots[lo])
        total += (1 - t) * table[lo] + t * table[hi]
    return total


def branching_paths(x):
    """Russian roulette with given random numbers."""
    u = np.abs(np.sin(37.0 * np.arange(40)))
    total, weight, k = 0.0, 1.0, 0
    for v in x:
        weight = 1.0
        while k < 39:
            weight *= 0.8 + 0.1 * math.tanh(v)
            k += 1
            if weight < 0.4:
                if u[k] < 0.5:
                    break
                weight = weight / 0.5
            total += weight * v
    return total


def secant_inverse(x):
    """A root by the secant method, with a fallback where it goes astray."""
    total = 0.0
    for v in x:
        a, b = 0.0, 1.0
        fa, fb = cubic(a, v), cubic(b, v)
        for _ in range(60):
            if abs(fb) < 1e-13 or fa == fb:
                break
            c = b - fb * (b - a) / (fb - fa)
            if abs(c) > 10:
                c = 0.5 * (a + b)
            a, fa = b, fb
            b, fb = c, cubic(c, v)
        total += b * b
    return total


def cubic(t, v):
    return t**3 + 2 * t - v


PROGRAMS = [
    collisions,
    bisected_roots,
    limited_advection,
    adaptive_steps,
    reaction_cells,
    golden_section,
    clenshaw,
    time_warping,
    trading,
    lstm,
    bouncing_chain,
    interpolated,
    branching_paths,
    secant_inverse,
]
SMOOTH = [
    bisected_roots,
    clenshaw,
    lstm,
    bouncing_chain,
    secant_inverse,
    adaptive_steps,
]
