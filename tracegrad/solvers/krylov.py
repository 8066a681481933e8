"""Linear systems of which only products with the matrix are known: conjugate gradients, BiCGSTAB
and GMRES, as loops of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..control.repeat import fori_loop, loop_while
from ..sizes import seen
from ..transforms.tracing import leaf_type

Product = Callable[[Any], Any]
RESTART = 30
"""How many vectors GMRES keeps."""
PASSES = 4
"""How often a solution is mended."""


def norm(x: Any) -> Any:
    """The Euclidean length of a real vector."""
    return ops.sqrt(ops.sum(ops.square(x)))


def dot(x: Any, y: Any) -> Any:
    """The inner product of real vectors."""
    return ops.sum(x * y)


def over(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0: where an iteration has found its solution, or must begin anew."""
    return ops.where(y == 0, 0, x) / ops.where(y == 0, 1, y)


Pass = Callable[[Product, Any, Any, Any, int], tuple[Any, Any]]
"""From a product, a right-hand side, the length that the residual should have, how many steps were
taken and may be taken: an approximate solution, and the number of steps after it."""


def checked(
    one_pass: Pass, product: Product, b: Any, tol: float, max_steps: int, failure: str
) -> Any:
    """The solution by a method whose recurrences lose sight of the residual: that is computed, and
    where it is too large, solved for again."""
    kind = leaf_type(b)
    eps = float(np.finfo(kind.dtype).eps)
    goal = tol * norm(b)
    # What a vector of no particular direction becomes tells the size of the matrix.
    any_vector = ops.sin(ops.arange(seen(kind.shape[0]), dtype=kind.dtype) * 2.4 + 1)
    scale = 32 * eps * norm(product(any_vector)) / norm(any_vector)

    def step(state: Any) -> Any:
        x, r, _, count = state
        change, count = one_pass(product, r, goal, count, max_steps)
        x = x + change
        r = b - product(x)
        return x, r, norm(r), count

    def going(state: Any) -> Any:
        # The residual of the exact solution, rounded, is as large as the second number.
        return ~(state[2] <= ops.maximum(goal, scale * norm(state[0])))

    return loop_while(going, step, (ops.zeros_like(b), b, norm(b), np.int64(0)), PASSES, failure)[0]


def _cg(product: Product, b: Any, goal: Any, count: Any, max_steps: int) -> tuple[Any, Any]:
    def step(state: Any) -> Any:
        x, r, p, rr, k = state
        q = product(p)
        alpha = rr / dot(p, q)
        r = r - alpha * q
        after = dot(r, r)
        return x + alpha * p, r, r + (after / rr) * p, after, k + 1

    x, _, _, _, count = loop_while(
        lambda s: (ops.sqrt(s[3]) > goal) & (s[4] < max_steps),
        step,
        (ops.zeros_like(b), b, b, dot(b, b), count),
        None,
    )
    return x, count


def _bicgstab(product: Product, b: Any, goal: Any, count: Any, max_steps: int) -> tuple[Any, Any]:
    def grow(
        x: Any, rs: list[Any], us: list[Any], rho: Any, alpha: Any
    ) -> tuple[Any, list[Any], list[Any], Any, Any]:
        after = dot(rs[-1], b)
        beta = over(alpha * after, rho)
        us = [r - beta * u for r, u in zip(rs, us, strict=True)]
        us.append(product(us[-1]))
        alpha = over(after, dot(us[-1], b))
        rs = [r - alpha * u for r, u in zip(rs, us[1:], strict=True)]
        rs.append(product(rs[-1]))
        return x + alpha * us[0], rs, us, after, alpha

    def step(state: Any) -> Any:
        x, r, u, rho, alpha, omega, k = state
        x, rs, us, rho, alpha = grow(x, [r], [u], -omega * rho, alpha)
        x, (r, first, second), us, rho, alpha = grow(x, rs, us, rho, alpha)
        # The shortest residual among r - g * first - h * second.
        a = dot(first, first)
        c = dot(first, second)
        d = dot(second, second)
        e = dot(r, first)
        f = dot(r, second)
        area = a * d - c * c
        flat = area <= 4 * float(np.finfo(b.dtype).eps) * a * d
        g = ops.where(flat, over(e, a), over(d * e - c * f, area))
        h = ops.where(flat, 0, over(a * f - c * e, area))
        return (
            x + g * r + h * first,
            r - g * first - h * second,
            us[0] - g * us[1] - h * us[2],
            rho,
            alpha,
            h,
            k + 1,
        )

    one, nothing = b.dtype.type(1), ops.zeros_like(b)
    start = nothing, b, nothing, one, b.dtype.type(0), one, count
    x, *_, count = loop_while(lambda s: (norm(s[1]) > goal) & (s[6] < max_steps), step, start, None)
    return x, count


def cg(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """Conjugate gradients (Hestenes and Stiefel 1952), for a symmetric definite matrix, of either
    sign."""
    return checked(_cg, product, b, tol, max_steps, failure)


def bicgstab(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """BiCGSTAB(2) (Sleijpen and Fokkema 1993), for any matrix, complex eigenvalues included: four
    products a step, memory for ten vectors."""
    return checked(_bicgstab, product, b, tol, max_steps, failure)


def gmres(product: Product, b: Any, tol: float, max_steps: int, failure: str) -> Any:
    """GMRES (Saad and Schultz 1986) for any matrix, begun anew after RESTART products.

    The basis is orthogonalised twice against all vectors at once, and the residual is known at
    every step from plane rotations.
    """
    kind = leaf_type(b)
    n = seen(kind.shape[0])
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
        # A length of 0 ends the cycle; what is divided by it is 0 (and the rotation of nothing by
        # nothing is none).
        c = ops.where(radius > 0, last, 1) / ops.where(radius > 0, radius, 1)
        s = length / ops.where(radius > 0, radius, 1)
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
        k, basis, triangle, _, right, scale = loop_while(
            lambda s: (s[0] < m) & ~(ops.absolute(s[4][s[0]]) <= goal), grow, start, None
        )
        # The columns of the triangle lie in rows; those that were not made are the identity's.
        rest = ops.arange(m) >= k
        upper = ops.triu(
            ops.transpose(ops.where(rest[:, None], ops.eye(m, dtype=kind.dtype), triangle))
        )
        y = ops.linalg.solve(upper, ops.where(rest, zero, right[:m]))
        x = x + y @ basis[:m]
        r = b - product(x)
        return x, r, norm(r), scale

    def going(state: Any) -> Any:
        # The residual of the exact solution, rounded, is as large as the second number.
        x, _, size, scale = state
        return ~(size <= ops.maximum(goal, 8 * eps * scale * norm(x)))

    return loop_while(
        going, cycle, (ops.zeros_like(b), b, norm(b), zero), -(-max_steps // m), failure
    )[0]


METHODS: dict[str, Callable[[Product, Any, float, int, str], Any]] = {
    "bicgstab": bicgstab,
    "cg": cg,
    "gmres": gmres,
}
__all__ = ["METHODS", "Product", "bicgstab", "cg", "dot", "gmres", "norm"]
