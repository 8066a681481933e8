"""Programs whose loops take slices of other lengths at each pass."""

# ruff: noqa
from __future__ import annotations

import numpy as np


def positive_definite(A):
    return A @ A.T + len(A) * np.eye(len(A))


def householder_qr(A):
    """R, and the product of the reflections."""
    R = A.copy()
    n = R.shape[0]
    Q = np.eye(n)
    for k in range(n - 1):
        v = R[k:, k].copy()
        norm = np.sqrt(np.sum(v * v))
        v[0] += norm if v[0] >= 0 else -norm
        v /= np.sqrt(np.sum(v * v))
        R[k:, k:] -= 2 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2 * np.outer(Q[:, k:] @ v, v)
    return np.sum(R**3) + np.sum(Q * np.arange(n))


def back_substitution(A):
    """An upper triangular system, row by row."""
    U = A + 3 * len(A) * np.eye(len(A))
    n = len(U)
    b = A[0]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return np.sum(x**2)


def cholesky_by_rows(A):
    M = positive_definite(A)
    n = M.shape[0]
    L = np.zeros_like(M)
    for i in range(n):
        for j in range(i):
            L[i, j] = (M[i, j] - np.sum(L[i, :j] * L[j, :j])) / L[j, j]
        L[i, i] = np.sqrt(M[i, i] - L[i, :i] @ L[i, :i])
    return np.sum(np.log(np.diag(L))) + np.sum(L * A)


def cholesky_by_columns(A):
    M = positive_definite(A)
    n = len(M)
    for k in range(n):
        M[k, k] = np.sqrt(M[k, k])
        M[k + 1 :, k] /= M[k, k]
        M[k + 1 :, k + 1 :] -= np.outer(M[k + 1 :, k], M[k + 1 :, k])
    return np.sum(np.tril(M) ** 2)


def lu_by_updates(A):
    """Gaussian elimination with partial pivots; the update is an outer product."""
    M = A.copy()
    n = len(M)
    sign = 1.0
    for k in range(n - 1):
        p = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[p, k]):
                p = i
        if p != k:
            row = M[k, :].copy()
            M[k, :] = M[p, :]
            M[p, :] = row
            sign = -sign
        M[k + 1 :, k] = M[k + 1 :, k] / M[k, k]
        M[k + 1 :, k + 1 :] -= M[k + 1 :, k][:, None] * M[k, k + 1 :]
    total = sign
    for k in range(n):
        total *= M[k, k]
    return total


def hessenberg(A):
    """Reduction to Hessenberg form by reflections from both sides."""
    H = A.copy()
    n = len(H)
    for k in range(n - 2):
        v = H[k + 1 :, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v = v / np.linalg.norm(v)
        H[k + 1 :, k:] -= 2.0 * np.outer(v, v @ H[k + 1 :, k:])
        H[:, k + 1 :] -= 2.0 * np.outer(H[:, k + 1 :] @ v, v)
    s = 0.0
    for k in range(n - 1):
        s += H[k, k] * H[k + 1, k] ** 2
    return s


def triangular_products(A):
    """Rows and columns of triangles as operands of products."""
    n = A.shape[0]
    s = 0.0
    for i in range(1, n):
        s += A[i, :i] @ A[:i, :i] @ A[:i, i]
        w = np.tanh(A[:i, i:] @ A[i:, 0])
        s += w @ w
    return s


MATRICES = [
    householder_qr,
    back_substitution,
    cholesky_by_rows,
    cholesky_by_columns,
    lu_by_updates,
    hessenberg,
    triangular_products,
]


def durbin_by_slices(x):
    """Toeplitz systems by Levinson and Durbin."""
    r = 0.3 * np.tanh(x)
    n = len(r)
    y = np.zeros(n)
    y[0] = -r[0]
    beta, alpha = 1.0, -r[0]
    for k in range(1, n):
        beta *= 1 - alpha**2
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return np.sum(y**2)


def levinson(x):
    """A symmetric Toeplitz system with a right hand side."""
    r, b = 0.2 * np.sin(x), np.cos(x)
    n = len(r)
    y, z = np.zeros(n), np.zeros(n)
    z[0], y[0] = b[0], -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, n):
        beta *= 1 - alpha * alpha
        mu = (b[k] - r[:k] @ z[k - 1 :: -1]) / beta
        z[:k] += mu * y[k - 1 :: -1]
        z[k] = mu
        if k < n - 1:
            alpha = -(r[k] + r[:k] @ y[k - 1 :: -1]) / beta
            y[:k] = y[:k] + alpha * y[k - 1 :: -1]
            y[k] = alpha
    return np.sum(z * x)


def partial_means(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = np.mean(x[: i + 1]) - np.max(x[i:])
    return np.sum(out**2)


def shifted_updates(x):
    y = x.copy()
    n = len(y)
    for i in range(1, n):
        y[i:] -= 0.3 * x[i:] * y[i - 1]
        y[:i] += 0.1 * y[n - i :]
    return np.sum(y**2)


def divided_differences(x):
    """Newton's interpolation, in place."""
    n = len(x)
    t = np.arange(n) + 0.1 * np.tanh(x)
    c = np.sin(t)
    for k in range(1, n):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (t[k:] - t[:-k])
    s = 0.0
    for k in range(n - 1, -1, -1):
        s = s * (0.5 - t[k]) + c[k]
    return s


def damped(x):
    """What follows an element that is positive is damped."""
    y = x.copy()
    n = len(y)
    for k in range(1, n):
        if y[k] > 0:
            y[k::2] *= 0.9
        y[k:] = y[k:] + 0.01 * k
        if np.sum(y[:k]) > 3.0:
            break
    return np.sum(y * x)


def correlations(x):
    n = len(x)
    s = 0.0
    for k in range(n):
        s += np.dot(x[k:], x[: n - k]) / (k + 1)
    return s


def suffixes(x):
    """Arrays of changing length that functions take and give."""
    s = 0.0
    for k in range(1, len(x)):
        s += softmax(x[-k:])[0] + len(x[k:]) * x[k]
    return s


def softmax(v):
    e = np.exp(v - np.max(v))
    return e / np.sum(e)


def triangle(x):
    """Slices within slices of nested loops."""
    n = len(x)
    s = 0.0
    for i in range(n):
        head = x[: i + 1]
        for j in range(i):
            s += np.sum(head[j:]) * x[j] + np.dot(head[j:i], head[j + 1 :])
    return s


VECTORS = [
    durbin_by_slices,
    levinson,
    partial_means,
    shifted_updates,
    divided_differences,
    damped,
    correlations,
    suffixes,
    triangle,
]
