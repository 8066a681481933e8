"""Sweeps over the places of a field."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def relaxation(u: Array) -> Array:
    u = u.copy()
    n, m = u.shape
    for _ in range(20):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


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


def alternating(u: Array) -> Array:
    """Heat in a square, implicit along the columns and the rows in turn (after PolyBench)."""
    u = u.copy()
    n = u.shape[0]
    v, p, q = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    a, d = -0.4, 0.3
    for _ in range(5):
        for i in range(1, n - 1):
            v[0, i], v[n - 1, i], q[i, 0] = 1.0, 1.0, 1.0
            for j in range(1, n - 1):
                w = a * p[i, j - 1] + 1 - 2 * a
                p[i, j] = -a / w
                across = d * u[j, i - 1] + (1 - 2 * d) * u[j, i] + d * u[j, i + 1]
                q[i, j] = (across - a * q[i, j - 1]) / w
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0], u[i, n - 1], q[i, 0] = 1.0, 1.0, 1.0
            for j in range(1, n - 1):
                w = d * p[i, j - 1] - 1 - 2 * d
                p[i, j] = -d / w
                across = a * v[i - 1, j] - (1 + 2 * a) * v[i, j] + a * v[i + 1, j]
                q[i, j] = (across - d * q[i, j - 1]) / w
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def sandpile(u: Array) -> Array:
    """A cellular automaton: what is too high gives to its neighbours."""
    u = u.copy()
    n, m = u.shape
    new = np.zeros((n, m))
    for _ in range(20):
        for i in range(n):
            for j in range(m):
                new[i, j] = u[i, j]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                if u[i, j] > 1.0:
                    given = 0.2 * (u[i, j] - 0.5)
                    new[i, j] -= 4 * given
                    new[i - 1, j] += given
                    new[i + 1, j] += given
                    new[i, j - 1] += given
                    new[i, j + 1] += given
        for i in range(n):
            for j in range(m):
                u[i, j] = new[i, j]
    return u
