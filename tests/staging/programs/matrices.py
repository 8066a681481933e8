"""Linear algebra by loops, as textbooks have it."""

# ruff: noqa
from __future__ import annotations

import numpy as np


def pivoted_solve(A):
    """Gaussian elimination with partial pivots and back substitution."""
    A = A.copy()
    n = A.shape[0]
    b = np.ones(n)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        for j in range(n):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= m * A[k, j]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * x[j]
        x[i] = s / A[i, i]
    return np.sum(x**2)


def gram_schmidt(A):
    n, m = A.shape
    Q = np.empty((n, m))
    for j in range(m):
        v = A[:, j].copy()
        for k in range(j):
            v -= np.dot(Q[:, k], A[:, j]) * Q[:, k]
        Q[:, j] = v / np.sqrt(np.sum(v * v))
    return np.sum(Q * np.arange(1.0, n + 1)[:, None])


def floyd_warshall(A):
    d = np.abs(A) + 0.1
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return np.sum(d)


def game_of_life(A):
    """A cellular automaton of floats."""
    u = A.copy()
    n, m = u.shape
    for t in range(3):
        new = np.zeros_like(u)
        for i in range(n):
            for j in range(m):
                s = u[(i - 1) % n, j] + u[(i + 1) % n, j] + u[i, (j - 1) % m] + u[i, (j + 1) % m]
                if s > 1.0:
                    new[i, j] = 0.5 * u[i, j] * s
                elif s < -1.0:
                    new[i, j] = u[i, j] - 0.1 * s
                else:
                    new[i, j] = u[i, j]
        u = new
    return np.sum(u**2)


def longest_path(A):
    """Dynamic programming over a grid."""
    n, m = A.shape
    best = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            up = best[i - 1, j] if i > 0 else 0.0
            left = best[i, j - 1] if j > 0 else 0.0
            best[i, j] = A[i, j] + max(up, left)
    return best[n - 1, m - 1]


def alternating_directions(A):
    u = 0.1 * A
    n = u.shape[0]
    for step in range(3):
        for i in range(n):
            c = np.zeros(n)
            d = np.zeros(n)
            for j in range(n):
                below = c[j - 1] if j > 0 else 0.0
                before = d[j - 1] if j > 0 else 0.0
                m = 1 / (3.0 + below)
                c[j] = -m
                d[j] = (u[i, j] + before) * m
            u[i, n - 1] = d[n - 1]
            for j in range(n - 2, -1, -1):
                u[i, j] = d[j] - c[j] * u[i, j + 1]
        u = u.T.copy()
    return np.sum(u * np.arange(n))


def conjugate_gradients(A):
    n = A.shape[0]
    M = A @ A.T + n * np.eye(n)
    b = A[0]
    x, r = np.zeros(n), b.copy()
    p, rr, steps = r, b @ b, 0
    while rr > 1e-24 and steps < 40:
        q = M @ p
        alpha = rr / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + (new / rr) * p
        rr = new
        steps += 1
    return np.sum(x * b)


def jacobi_rotations(A):
    """The largest eigenvalue by rotations that remove what is not on the diagonal."""
    S = A + A.T
    n = S.shape[0]
    for sweep in range(8):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(S[p, q]) > 1e-12:
                    theta = 0.5 * (S[q, q] - S[p, p]) / S[p, q]
                    sign = 1.0 if theta >= 0 else -1.0
                    t = sign / (abs(theta) + np.sqrt(theta * theta + 1))
                    c = 1 / np.sqrt(t * t + 1)
                    s = t * c
                    for k in range(n):
                        a, b = S[p, k], S[q, k]
                        S[p, k] = c * a - s * b
                        S[q, k] = s * a + c * b
                    for k in range(n):
                        a, b = S[k, p], S[k, q]
                        S[k, p] = c * a - s * b
                        S[k, q] = s * a + c * b
    largest = S[0, 0]
    for k in range(1, n):
        if S[k, k] > largest:
            largest = S[k, k]
    return largest


def householder(A):
    R = A.copy()
    n = R.shape[0]
    for k in range(n - 1):
        v = R[k:, k].copy()
        norm = np.sqrt(np.sum(v * v))
        v[0] += norm if v[0] >= 0 else -norm
        v = v / np.sqrt(np.sum(v * v))
        R[k:, k:] -= 2 * np.outer(v, v @ R[k:, k:])
    total = 1.0
    for k in range(n):
        total *= R[k, k]
    return total


PROGRAMS = [
    alternating_directions,
    conjugate_gradients,
    jacobi_rotations,
    householder,
    pivoted_solve,
    gram_schmidt,
    floyd_warshall,
    game_of_life,
    longest_path,
]
SMOOTH = [
    conjugate_gradients,
]
