"""Linear algebra by loops, as textbooks have it."""

# ruff: noqa
from __future__ import annotations

import numpy as np


def lu(A):
    """LU factorization in place, without pivots; the log of the determinant and a sum."""
    A = A + 3.0 * np.eye(len(A))
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    s = 0.0
    for k in range(n):
        s += np.log(np.abs(A[k, k]))
    return s + 0.1 * A[n - 1, 0]


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


def cholesky(A):
    A = A @ A.T + np.eye(len(A))
    n = len(A)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, j] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return np.sum(L)


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


def gauss_seidel(A):
    u = A.copy()
    for sweep in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(u**2)


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


PROGRAMS = [
    lu,
    pivoted_solve,
    cholesky,
    gram_schmidt,
    floyd_warshall,
    gauss_seidel,
    game_of_life,
    longest_path,
]
