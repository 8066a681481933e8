"""Recursions along time."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


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


def network(x: Array, w: Array, u: Array, b: Array) -> Array:
    """The states of a recurrent network."""
    steps, inputs = x.shape
    n = b.shape[0]
    states = np.zeros((steps, n))
    h = np.zeros(n)
    for t in range(steps):
        for i in range(n):
            s = b[i]
            for j in range(inputs):
                s += u[i, j] * x[t, j]
            for j in range(n):
                s += w[i, j] * h[j]
            states[t, i] = np.tanh(s)
        for i in range(n):
            h[i] = states[t, i]
    return states


def waits(gaps: Array, services: Array) -> Array:
    """How long each customer waits for the first of three servers that is free."""
    n = gaps.shape[0]
    free = np.zeros(3)
    found = np.zeros(n)
    now = 0.0
    for i in range(n):
        now += gaps[i]
        first = 0
        for k in range(1, 3):
            if free[k] < free[first]:
                first = k
        start = max(now, free[first])
        free[first] = start + services[i]
        found[i] = start - now
    return found


def warping(x: Array, y: Array) -> Array:
    """The distance of two series of which each may run faster at times: dynamic programming."""
    n, m = x.shape[0], y.shape[0]
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            least = min(d[i, j], d[i, j + 1], d[i + 1, j])
            d[i + 1, j + 1] = (x[i] - y[j]) ** 2 + least
    return d[n, m]
