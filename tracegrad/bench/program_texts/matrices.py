"""Factorizations and systems of equations, element by element."""

from __future__ import annotations

from typing import Any

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


def tridiagonal(low: Array, main: Array, up: Array, b: Array) -> Array:
    """One system, by Thomas's algorithm."""
    n = b.shape[0]
    c, x = np.zeros(n), np.zeros(n)
    c[0], x[0] = up[0] / main[0], b[0] / main[0]
    for i in range(1, n):
        w = main[i] - low[i] * c[i - 1]
        c[i] = up[i] / w
        x[i] = (b[i] - low[i] * x[i - 1]) / w
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


def durbin(r: Array) -> Array:
    """The coefficients of a linear prediction, of correlations at distances 1 to n."""
    n = r.shape[0]
    y, z = np.zeros(n), np.zeros(n)
    y[0] = -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -s / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def fourier(x: Array) -> Array:
    """The power at each frequency, by a transform of radix 2."""
    n = x.shape[0]
    re, im = np.zeros(n), np.zeros(n)
    j = 0
    for i in range(n):
        re[i] = x[j]
        bit = n // 2
        while bit > 0 and j >= bit:
            j -= bit
            bit //= 2
        j += bit
    half = 1
    while half < n:
        for k in range(half):
            c, s = np.cos(np.pi * k / half), -np.sin(np.pi * k / half)
            for i in range(k, n, 2 * half):
                a = c * re[i + half] - s * im[i + half]
                b = c * im[i + half] + s * re[i + half]
                re[i + half], im[i + half] = re[i] - a, im[i] - b
                re[i], im[i] = re[i] + a, im[i] + b
        half *= 2
    power = np.zeros(n)
    for i in range(n):
        power[i] = re[i] * re[i] + im[i] * im[i]
    return power
