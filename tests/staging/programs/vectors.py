"""Programs over one vector: sorting, recurrences, searches, simulations."""

# ruff: noqa
from __future__ import annotations

import math

import numpy as np


def bubble_sort(x):
    a = x.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    s = 0.0
    for i in range(n):
        s += (i + 1) * a[i]
    return s


def insertion_sort(x):
    a = x.copy()
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return np.sum(a * np.arange(len(a)))


def thomas(x):
    """A tridiagonal system."""
    n = len(x)
    b = 4.0 + 0.1 * x
    d = x.copy()
    c = np.zeros(n)
    c[0] = -1.0 / b[0]
    d[0] = d[0] / b[0]
    for i in range(1, n):
        m = 1.0 / (b[i] + c[i - 1])
        c[i] = -m
        d[i] = (d[i] + d[i - 1]) * m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return np.sum(d)


def durbin(x):
    """Toeplitz systems by Levinson and Durbin."""
    r = 0.3 * np.tanh(x)
    n = len(r)
    y = np.zeros(n)
    y[0] = -r[0]
    beta, alpha = 1.0, -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        z = np.zeros(n)
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return np.sum(y)


def kalman(x):
    m, p = 0.0, 1.0
    q, r = 0.1, 0.5
    ll = 0.0
    for y in x:
        p = p + q
        s = p + r
        k = p / s
        e = y - m
        ll -= 0.5 * (math.log(s) + e * e / s)
        m = m + k * e
        p = (1.0 - k) * p
    return ll


def ray_march(x):
    """Sphere tracing with an early exit."""
    total = 0.0
    for d in x:
        t = 0.0
        hit = False
        for step in range(40):
            px, py = t, 0.3 * d
            dist = math.sqrt((px - 3.0) ** 2 + py * py) - 1.0
            if dist < 1e-6:
                hit = True
                break
            t += dist
            if t > 10.0:
                break
        if hit:
            total += t
        else:
            total += 10.0 * d * d
    return total


def adaptive_quadrature(x):
    """Simpson's rule on intervals of a stack of fixed size."""
    lo, hi = np.zeros(64), np.zeros(64)
    lo[0], hi[0] = 0.0, 1.0 + x[0] ** 2
    top = 1
    total = 0.0
    steps = 0
    while top > 0 and steps < 200:
        top -= 1
        steps += 1
        a, b = lo[top], hi[top]
        m = 0.5 * (a + b)
        fa, fm, fb = np.sin(a * x[1]), np.sin(m * x[1]), np.sin(b * x[1])
        coarse = (b - a) * 0.5 * (fa + fb)
        fine = (b - a) / 6.0 * (fa + 4.0 * fm + fb)
        if abs(coarse - fine) < 1e-3:
            total += fine
        else:
            lo[top], hi[top] = a, m
            lo[top + 1], hi[top + 1] = m, b
            top += 2
    return total


def newton_line_search(x):
    t = 2.0 + 0.1 * np.tanh(x[0])
    for it in range(20):
        f = t**3 - 2.0 * t - x[1] ** 2 - 1.0
        if abs(f) < 1e-12:
            break
        step = f / (3.0 * t * t - 2.0)
        a = 1.0
        while abs((t - a * step) ** 3 - 2.0 * (t - a * step) - x[1] ** 2 - 1.0) > abs(f):
            a *= 0.5
            if a < 1e-4:
                break
        t = t - a * step
    return t


def fft(x):
    """The power of a discrete Fourier transform, iterated butterflies."""
    n = 8
    re, im = np.zeros(n), np.zeros(n)
    for i in range(n):
        k, r = i, 0
        for _ in range(3):
            r = 2 * r + k % 2
            k //= 2
        re[r] = x[i % len(x)]
    size = 2
    while size <= n:
        half = size // 2
        for start in range(0, n, size):
            for k in range(half):
                c, s = math.cos(-2 * math.pi * k / size), math.sin(-2 * math.pi * k / size)
                i, j = start + k, start + k + half
                tr, ti = c * re[j] - s * im[j], s * re[j] + c * im[j]
                re[j], im[j] = re[i] - tr, im[i] - ti
                re[i], im[i] = re[i] + tr, im[i] + ti
        size *= 2
    return np.sum((re**2 + im**2) * np.arange(n))


def rnn(x):
    w = 0.1 * np.arange(9.0).reshape(3, 3) - 0.3
    h = np.zeros(3)
    out = []
    for v in x:
        h = np.tanh(w @ h + v)
        out.append(h)
    return np.sum(np.stack(out) ** 2)


def queue(x):
    """Waiting times at one counter."""
    arrival, free, waited = 0.0, 0.0, np.zeros(len(x))
    for k in range(len(x)):
        arrival += abs(x[k])
        start = free if free > arrival else arrival
        waited[k] = start - arrival
        free = start + 0.7 + 0.1 * x[k] ** 2
    return np.sum(waited**2)


def bodies(x):
    """Bodies on a line that bounce."""
    p, v = x.copy(), np.zeros_like(x)
    for t in range(10):
        for i in range(len(p)):
            f = 0.0
            for j in range(len(p)):
                if i != j:
                    d = p[j] - p[i]
                    if abs(d) > 0.05:
                        f += d / (abs(d) ** 3 + 1.0)
            v[i] += 0.05 * f
        for i in range(len(p)):
            p[i] += 0.05 * v[i]
            if p[i] > 2.5:
                p[i] = 5.0 - p[i]
                v[i] = -v[i]
    return np.sum(p**2)


PROGRAMS = [
    bubble_sort,
    insertion_sort,
    thomas,
    durbin,
    kalman,
    ray_march,
    adaptive_quadrature,
    newton_line_search,
    fft,
    rnn,
    queue,
    bodies,
]
