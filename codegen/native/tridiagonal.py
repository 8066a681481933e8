"""Own tridiagonal forms of real symmetric matrices.

LAPACK reads what is left of a matrix for the product with each reflection, and again to change it
by some 30 of them. Here it is read and written once for each: a row is changed by the reflection
before and multiplied by the next one in one go, four rows at a time, so that each number that comes
into a register takes part in four fused operations. Matrices whose writing would wait for memory
are left to LAPACK, which writes less often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled, implements
from .by_address import REGISTER, get, make_scratch, put, shifted, word
from .dense import less, parts, pointers
from .reflections import reflections
from .support import acc, fabs_float, index, wide

__all__ = [
    "BACK_KINDS", "BLOCK", "MOST", "STRIP", "TRIDIAGONAL_KINDS", "back", "back_signature", "side",
    "tridiagonal", "tridiagonal_signature", "unscaled",
]  # fmt: skip

TRIDIAGONAL_KINDS, BACK_KINDS = "llaaaaao", "llaaaaa"
MOST = 2048 if REGISTER == 64 else 352
"""The rows of the largest matrix: half of it is read and written for each column. Machines with
512-bit registers have second caches of one or two megabytes and wide ways to the third; of others
half of a matrix of doubles has to fit into the second."""
BLOCK, STRIP = 16, 96
"""Reflections that `back` takes at a time, and columns, which stay in the cache meanwhile."""
ROWS, PADDED = 4, 8
WIDE = 16


def side(n: int) -> int:
    """How far rows lie apart in what is worked on, an odd number of 16 elements. Of a row PADDED
    ones behind the matrix are zeros, so that the loops along it have no rests."""
    return ((n + PADDED + WIDE - 1) // WIDE | 1) * WIDE


implements(side)(lambda n: side)


def unscaled(t: Any) -> tuple[Any, Any]:
    """A matrix whose largest number lies between these has not to be scaled."""
    return (t(2.0**-400), t(2.0**400)) if t is np.float64 else (t(2.0**-40), t(2.0**40))


def tridiagonal_signature(dtype: str) -> Any:
    """n <= MOST, side(n), a[n, n] of which the lower triangle is read, d[n], e[n], tau[n], space
    for n * side(n) elements, in which the reflections are left; 1 where numbers are not finite, or
    so large or small that the matrix has to be scaled first."""
    i, t, o = pointers(dtype)
    return types.void(i, i, t, t, t, t, t, o)


def back_signature(dtype: str) -> Any:
    """n, how far rows of reflections lie apart, the reflections and their tau as `tridiagonal`
    leaves them, the transpose of z[n, n], the product of all reflections with z, space for
    n * (3 BLOCK + STRIP) + BLOCK^2 elements."""
    i, t, _ = pointers(dtype)
    return types.void(i, i, t, t, t, t, t)


def tridiagonal(dtype: str) -> Callable[..., None]:
    """The diagonal d and what is beside it, e, of Q^T a Q, and the reflections that Q is the
    product of: their vectors are the rows of the upper triangle, right of the diagonal."""
    of_blocks, t = reflections(dtype), np.dtype(dtype).type
    dot, reflect = of_blocks.dot, of_blocks.reflect
    zero, two = t(0), t(2)
    least, most = unscaled(t)
    vectors_space = make_scratch(4 * side(MOST))

    @compiled
    def changed(row, j, fx, fy, x, y):  # type: ignore[no-untyped-def]
        """An element of a row after the reflection before."""
        value = less(less(get(row, j), fx, get(y, j)), fy, get(x, j))
        put(row, j, value)
        return value

    def function(of_n, of_side, a, d, e, tau, w, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, n = index(0), index(1), word(of_n)
        side, rows, padded = word(of_side), index(ROWS), index(PADDED)
        x = vectors_space(a)
        y, v, p = shifted(x, side), shifted(x, side + side), shifted(x, index(3) * side)
        put(info, o, 0)
        largest = zero
        for i in range(o, n):
            for j in range(i, n):
                value = get(a, j * n + i)
                put(w, i * side + j, value)
                size = fabs_float(value)
                if size > largest or size != size:
                    largest = size
            for j in range(n, n + padded):
                put(w, i * side + j, zero)
        if largest != zero and not (largest > least and largest < most):
            put(info, o, 1)
            return
        for j in range(o, index(4) * side):
            put(x, j, zero)
        for k in range(o, n):
            row, fx, fy = shifted(w, k * side), get(x, k), get(y, k)
            for j in range(k, n):
                changed(row, j, fx, fy, x, y)  # type: ignore[no-untyped-call]
            put(d, k, get(row, k))
            first = k + unit
            if first == n:
                return
            reflect(n - first, shifted(row, first), shifted(e, k), shifted(tau, k))
            for j in range(first, n):
                put(v, j, get(row, j))
                put(p, j, zero)
            i = first
            while i < n:
                few = min(rows, n - i)
                for r in range(i, i + few):
                    here, total = shifted(w, r * side), zero
                    for j in range(r, i + few):
                        value = changed(here, j, get(x, r), get(y, r), x, y)  # type: ignore[no-untyped-call]
                        total = total + value * get(v, j)
                        if j > r:
                            put(p, j, get(p, j) + value * get(v, r))
                    put(p, r, get(p, r) + total)
                if few == rows:
                    right = i + rows
                    r0 = shifted(w, i * side)
                    r1, r2 = shifted(r0, side), shifted(r0, side + side)
                    r3 = shifted(r0, index(3) * side)
                    x0, x1, x2, x3 = (
                        get(x, i), get(x, i + unit), get(x, i + index(2)), get(x, i + index(3)),
                    )  # fmt: skip
                    y0, y1, y2, y3 = (
                        get(y, i), get(y, i + unit), get(y, i + index(2)), get(y, i + index(3)),
                    )  # fmt: skip
                    v0, v1, v2, v3 = (
                        get(v, i), get(v, i + unit), get(v, i + index(2)), get(v, i + index(3)),
                    )  # fmt: skip
                    s0, s1, s2, s3 = zero, zero, zero, zero
                    for j in range(right, right + (n - right + padded - unit) // padded * padded):
                        a0 = changed(r0, j, x0, y0, x, y)  # type: ignore[no-untyped-call]
                        a1 = changed(r1, j, x1, y1, x, y)  # type: ignore[no-untyped-call]
                        a2 = changed(r2, j, x2, y2, x, y)  # type: ignore[no-untyped-call]
                        a3 = changed(r3, j, x3, y3, x, y)  # type: ignore[no-untyped-call]
                        at = get(v, j)
                        s0, s1 = acc(s0, a0 * at), acc(s1, a1 * at)
                        s2, s3 = acc(s2, a2 * at), acc(s3, a3 * at)
                        total = less(less(get(p, j), -v0, a0), -v1, a1)
                        put(p, j, less(less(total, -v2, a2), -v3, a3))
                    put(p, i, get(p, i) + s0)
                    put(p, i + unit, get(p, i + unit) + s1)
                    put(p, i + index(2), get(p, i + index(2)) + s2)
                    put(p, i + index(3), get(p, i + index(3)) + s3)
                i = i + few
            factor = get(tau, k)
            along = dot(n - first, shifted(p, first), shifted(v, first))
            half = factor * factor * along / two
            for j in range(first, n):
                put(y, j, less(factor * get(p, j), half, get(v, j)))
                put(x, j, get(v, j))

    return function


def back(dtype: str) -> Callable[..., None]:
    """The product with Q, a block of reflections at a time from the last."""
    of_blocks, own, zero = reflections(dtype), parts(dtype), np.dtype(dtype).type(0)
    overwrite, triangle = of_blocks.overwrite, of_blocks.triangle
    product, turn = own.product, own.turn

    def function(of_n, of_side, w, tau, z, out, space):  # type: ignore[no-untyped-def]
        wide()
        o, unit, n, side, block = index(0), index(1), word(of_n), word(of_side), index(BLOCK)
        strip = min(n, index(STRIP))
        first = shifted(space, n * block)
        second = shifted(first, strip * block)
        gram = shifted(second, strip * block)
        inside = shifted(gram, block * block)
        # All triangles come first, then strips of columns that stay in the cache meanwhile.
        end = n - unit
        while end > o:
            count = (end - unit) % block + unit
            at = end - count
            corner = shifted(w, at * side + at + unit)
            for c in range(unit, count):
                for j in range(o, c):
                    put(corner, c * side + j, zero)
            made = shifted(space, at * block)
            triangle(count, n - at - unit, corner, side, shifted(tau, at), gram, made, block)
            end = at
        for left in range(o, n, strip):
            columns = min(strip, n - left)
            turn(columns, n, shifted(z, left * n), n, inside, strip)
            end = n - unit
            while end > o:
                count = (end - unit) % block + unit
                at = end - count
                width = n - at - unit
                made, corner = shifted(space, at * block), shifted(w, at * side + at + unit)
                below = shifted(inside, (at + unit) * strip)
                overwrite(
                    count, columns, width, corner, side, unit, below, strip, unit, first, columns, o
                )
                overwrite(
                    count, columns, count, made, block, unit, first, columns, unit, second, columns,
                    o,
                )  # fmt: skip
                product(width, columns, count, corner, unit, side, second, columns, below, strip)
                end = at
            for i in range(o, n):
                for j in range(o, columns):
                    put(out, i * n + left + j, get(inside, i * strip + j))

    return function
