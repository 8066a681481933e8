"""Loops that end when something is found, and choices between elements."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


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


def marching(rays: Array) -> Array:
    """How far each ray goes until it meets a ball or a wavy floor, or is lost."""
    depths = np.zeros(rays.shape[0])
    for k in range(rays.shape[0]):
        a, b = rays[k, 0], rays[k, 1]
        norm = np.sqrt(a * a + b * b + 1.0)
        t = 0.0
        for _ in range(60):
            x, y, z = t * a / norm, t * b / norm, t / norm
            ball = np.sqrt(x * x + y * y + (z - 3.0) ** 2) - 1.0
            floor = y + 1.0 + 0.1 * np.sin(3.0 * x)
            d = min(ball, floor)
            if d < 1e-5 or t > 20.0:
                break
            t += 0.8 * d
        depths[k] = t
    return depths


def quadrature(p: Array) -> Array:
    """An integral by Simpson's rule, in halves until each is good."""

    def f(x: Array) -> Array:
        return np.exp(-p[0] * x) * np.sin(p[1] * x * x)

    total = 0.0
    stack = [(0.0, 4.0)]
    while len(stack) > 0:
        a, b = stack.pop()
        m = 0.5 * (a + b)
        ends, middle = f(a) + f(b), f(m)
        rough = (b - a) * (ends + 4.0 * middle) / 6.0
        quarters = f(0.5 * (a + m)) + f(0.5 * (m + b))
        fine = (b - a) * (ends + 2.0 * middle + 4.0 * quarters) / 12.0
        if abs(fine - rough) < 1e-8:
            total += fine
        else:
            stack.append((a, m))
            stack.append((m, b))
    return total


def bisection(c: Array) -> Array:
    """Kepler's equation for each row: by halves, and a step of Newton's that makes it exact."""
    found = np.zeros(c.shape[0])
    for k in range(c.shape[0]):
        low, high = c[k, 1] - 1.0, c[k, 1] + 1.0
        while high - low > 1e-7:
            middle = 0.5 * (low + high)
            if middle - c[k, 0] * np.sin(middle) > c[k, 1]:
                high = middle
            else:
                low = middle
        f = low - c[k, 0] * np.sin(low) - c[k, 1]
        found[k] = low - f / (1.0 - c[k, 0] * np.cos(low))
    return found
