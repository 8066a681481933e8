"""Linear systems of which only products with the matrix are known: conjugate gradients, BiCGSTAB and GMRES, as loops of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..control.repeat import fori_loop, loop_while
from ..transforms.tracing import leaf_type

Product = Callable[[Any], Any]
RESTART = 30
"""How many vectors GMRES keeps."""


def norm(x: Any) -> Any:
    """The Euclidean length of a real vector."""
    return ops.sqrt(ops.sum(ops.square(x)))


def dot(x: Any, y: Any) -> Any:
    """The inner product of real vectors."""
    return ops.sum(x * y)


def cg(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """Conjugate gradients (Hestenes and Stiefel 1952), for a symmetric definite matrix, of either sign."""
    goal = tol * norm(b)

    def step(state: Any) -> Any:
        x, r, p, rr = state
        q = product(p)
        alpha = rr / dot(p, q)
        r = r - alpha * q
        after = dot(r, r)
        return x + alpha * p, r, r + (after / rr) * p, after

    return loop_while(lambda s: ~(ops.sqrt(s[3]) <= goal), step, (ops.zeros_like(b), b, b, dot(b, b)), max_steps, failure)[0]


def bicgstab(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """BiCGSTAB (van der Vorst 1992), for any matrix: two products a step, and memory for seven vectors."""
    goal = tol * norm(b)

    def step(state: Any) -> Any:
        x, r, p, rho = state
        v = product(p)
        alpha = rho / dot(b, v)
        half = r - alpha * v
        t = product(half)
        # Where the first half has solved the system already, t is 0.
        tt = dot(t, t)
        omega = dot(t, half) / ops.where(tt > 0, tt, 1)
        r = half - omega * t
        after = dot(b, r)
        beta = (after / rho) * (alpha / ops.where(omega == 0, 1, omega))
        return x + alpha * p + omega * half, r, r + beta * (p - omega * v), after

    return loop_while(lambda s: ~(norm(s[1]) <= goal), step, (ops.zeros_like(b), b, b, dot(b, b)), max_steps, failure)[0]


def gmres(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """GMRES (Saad and Schultz 1986) for any matrix, begun anew after RESTART products.

    The basis is orthogonalised twice against all vectors at once, and the residual is known at every step from plane rotations.
    """
    kind = leaf_type(b)
    n = kind.shape[0]
    m = min(RESTART, n) if isinstance(n, int) else RESTART
    zero, eps = kind.dtype.type(0), float(np.finfo(kind.dtype).eps)
    goal = tol * norm(b)

    def grow(state: Any) -> Any:
        k, basis, triangle, turns, right, scale = state
        w = product(basis[k])
        h = basis @ w
        w = w - h @ basis
        again = basis @ w
        w, h = w - again @ basis, h + again
        length = norm(w)
        scale = ops.maximum(scale, ops.hypot(norm(h), length))

        def turn(i: Any, column: Any) -> Any:
            a, c = column[i], column[i + 1]
            column[i] = turns[0, i] * a + turns[1, i] * c
            column[i + 1] = turns[0, i] * c - turns[1, i] * a
            return column

        column = fori_loop(0, k, turn, h)
        last = column[k]
        radius = ops.hypot(last, length)
        # A length of 0 ends the cycle; what is divided by it is 0 (and the rotation of nothing by nothing is none).
        c, s = ops.where(radius > 0, last, 1) / ops.where(radius > 0, radius, 1), length / ops.where(radius > 0, radius, 1)
        basis[k + 1] = w / ops.where(length > 0, length, 1)
        column[k] = radius
        triangle[k] = column[:m]
        turns[0, k], turns[1, k] = c, s
        before = right[k]
        right[k + 1] = -s * before
        right[k] = c * before
        return k + 1, basis, triangle, turns, right, scale

    def cycle(state: Any) -> Any:
        x, r, size, scale = state
        basis = ops.zeros((m + 1, n), kind.dtype)
        right = ops.zeros((m + 1,), kind.dtype)
        basis[0] = r / size
        right[0] = size
        triangle, turns = ops.zeros((m, m), kind.dtype), ops.zeros((2, m), kind.dtype)
        start = np.int64(0), basis, triangle, turns, right, scale
        k, basis, triangle, _, right, scale = loop_while(lambda s: (s[0] < m) & ~(ops.absolute(s[4][s[0]]) <= goal), grow, start, None)
        # The columns of the triangle lie in rows; those that were not made are the identity's.
        rest = ops.arange(m) >= k
        upper = ops.triu(ops.transpose(ops.where(rest[:, None], ops.eye(m, dtype=kind.dtype), triangle)))
        y = ops.linalg.solve(upper, ops.where(rest, zero, right[:m]))
        x = x + y @ basis[:m]
        r = b - product(x)
        return x, r, norm(r), scale

    def going(state: Any) -> Any:
        # The residual of the exact solution, rounded, is as large as the second number.
        x, _, size, scale = state
        return ~(size <= ops.maximum(goal, 8 * eps * scale * norm(x)))

    return loop_while(going, cycle, (ops.zeros_like(b), b, norm(b), zero), -(-max_steps // m), failure)[0]


METHODS: dict[str, Callable[[Product, Any, float, int, str], Any]] = {"bicgstab": bicgstab, "cg": cg, "gmres": gmres}
__all__ = ["METHODS", "Product", "bicgstab", "cg", "dot", "gmres", "norm"]
