"""Reflections in blocks, by address: what own QR factors and own tridiagonal forms are made of.

A block of reflections is I - V T V^T with an upper triangular T (Schreiber and Van Loan, A
storage-efficient WY representation for products of Householder transformations, 1989), so that what
they act on changes by products. The columns of V lie one behind the other in memory: they are rows
here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .bridge import compiled
from .by_address import get, put, shifted
from .dense import gemm, parts
from .gemm import SYMMETRIC
from .support import acc, copysign_float, fabs_float, index, outlined, sqrt_float

__all__ = ["Reflections", "reflections"]


class Reflections:
    """The functions for one dtype.

    overwrite(m, n, k, a, row_a, step_a, b, step_b, col_b, c, row_c, flags)
        c = a @ b; rows of c are contiguous
    dot(n, x, y)
        the inner product
    reflect(n, x, beta, tau)
        the v and tau of which I - tau v v^T takes x to beta times the first unit vector; v comes in
        the place of x
    triangle(count, width, v, step, tau, gram, made, row)
        the T of so many reflections, which are the first rows of v: each column follows from those
        before it and from the inner products of the vectors
    """

    overwrite: Callable[..., None]
    dot: Callable[..., Any]
    reflect: Callable[..., None]
    triangle: Callable[..., None]


@cache
def reflections(dtype: str) -> Reflections:
    """Those for a dtype."""
    t, divide = np.dtype(dtype).type, parts(dtype).divide
    zero, one = t(0), t(1)
    # Squares neither overflow nor vanish between these; powers of two that bring numbers there.
    low, high, up = (
        (t(1e-250), t(1e290), t(2.0**300)) if t is np.float64 else (t(1e-25), t(1e35), t(2.0**40))
    )
    down = one / up

    @compiled
    def overwrite(m, n, k, a, row_a, step_a, b, step_b, col_b, c, row_c, flags):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        gemm(
            m, n, k, a, row_a, step_a, b, step_b, col_b, a, c, row_c, flags, unit, o, o, o, o,
        )  # fmt: skip

    @compiled
    def dot(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        total = zero
        for j in range(index(0), n):
            total = acc(total, get(x, j) * get(y, j))
        return total

    @compiled
    def scaled(n, x, factor):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            put(x, j, get(x, j) * factor)

    @compiled
    def reflect(n, x, beta, tau):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        behind, lift = shifted(x, unit), one
        total, alpha = dot(n - unit, behind, behind), get(x, o)  # type: ignore[no-untyped-call]
        if not (total > low and total + alpha * alpha < high):
            largest = zero
            for j in range(o, n - unit):
                size = fabs_float(get(behind, j))
                if size > largest or size != size:
                    largest = size
            if largest == zero:
                put(beta, o, alpha)
                put(tau, o, zero)
                put(x, o, one)
                return
            first = fabs_float(alpha)
            if first > largest or first != first:
                largest = first
            if largest - largest == zero:
                while largest < down:
                    scaled(n, x, up)  # type: ignore[no-untyped-call]
                    largest, lift = largest * up, lift * up
                while largest > up:
                    scaled(n, x, down)  # type: ignore[no-untyped-call]
                    largest, lift = largest * down, lift * down
            total, alpha = dot(n - unit, behind, behind), get(x, o)  # type: ignore[no-untyped-call]
        found = -copysign_float(sqrt_float(total + alpha * alpha), alpha)
        put(tau, o, (found - alpha) / found)
        divide(n - unit, behind, alpha - found)
        put(beta, o, found / lift)
        put(x, o, one)

    @compiled
    def triangle(count, width, v, step, tau, gram, made, row):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        overwrite(  # type: ignore[no-untyped-call]
            count, count, width, v, step, unit, v, unit, step, gram, count, index(SYMMETRIC)
        )
        for c in range(o, count):
            factor = get(tau, c)
            for i in range(o, count):
                put(made, i * row + c, zero)
            for i in range(o, c):
                total = dot(c - i, shifted(made, i * row + i), shifted(gram, c * count + i))  # type: ignore[no-untyped-call]
                put(made, i * row + c, -factor * total)
            put(made, c * row + c, factor)

    made = Reflections()
    made.overwrite, made.dot, made.reflect, made.triangle = overwrite, dot, reflect, triangle
    return made
