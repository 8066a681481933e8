"""Own QR factors of large real matrices by reflections in blocks.

A block of reflections is I - V T V^T with an upper triangular T (Schreiber and Van Loan, A
storage-efficient WY representation for products of Householder transformations, 1989), so that what
is right of the block, and then q, change by products. The columns of V lie one behind the other in
memory: the rows of `vectors` here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import get, put, shifted, word
from .dense import NARROW, apart, gemm, parts, pointers
from .gemm import SYMMETRIC
from .support import acc, copysign_float, fabs_float, index, sqrt_float, wide

__all__ = ["QR_KINDS", "qr", "qr_signature", "qr_space"]

QR_KINDS = "llaaaao"
BLOCKS = (16, 200), (32, 500), (128, 0)
"""Columns that are reflected before those right of them change, in a matrix of fewer columns than
the number behind: a larger matrix is to be read less often."""
STRIP = 32
"""Of them, those that are reflected before the others of their block change."""


@compiled
def _block_of(n: Any) -> Any:
    (small, few), (middle, many), (large, _) = BLOCKS
    return index(small) if n < index(few) else index(middle) if n < index(many) else index(large)


@compiled
def qr_space(m: Any, n: Any) -> Any:
    """The elements that `qr` works in."""
    block, strip = _block_of(n), index(STRIP)
    return (
        n * (m + index(16))
        + index(3) * n * block
        + block * block
        + strip * (index(2) * block + index(2) * strip)
        + index(2) * block
    )


def qr_signature(dtype: str) -> Any:
    """m, n <= m, a[m, n], q[m, n], r[n, n], space for `qr_space(m, n)` elements; 1 where
    something is not finite, and the factors are not to be used."""
    i, t, o = pointers(dtype)
    return types.void(i, i, t, t, t, t, o)


def qr(dtype: str) -> Callable[..., None]:
    """Both factors; the signs are LAPACK's."""
    own, t = parts(dtype), np.dtype(dtype).type
    product, turn, subtract, divide = own.product, own.turn, own.subtract, own.divide
    zero, one = t(0), t(1)
    # Squares neither overflow nor vanish between these; powers of two that bring numbers there.
    low, high, up = (
        (t(1e-250), t(1e290), t(2.0**300)) if t is np.float64 else (t(1e-25), t(1e35), t(2.0**40))
    )
    down = one / up

    @compiled
    def overwrite(m, n, k, a, row_a, step_a, b, step_b, col_b, c, row_c, flags):  # type: ignore[no-untyped-def]
        """c = a @ b"""
        apart()
        o, unit = index(0), index(1)
        gemm(
            m, n, k, a, row_a, step_a, b, step_b, col_b, a, c, row_c, flags, unit, o, o, o, o,
        )  # fmt: skip

    @compiled
    def dot(n, x, y):  # type: ignore[no-untyped-def]
        apart()
        total = zero
        for j in range(index(0), n):
            total = acc(total, get(x, j) * get(y, j))
        return total

    @compiled
    def scaled(n, x, factor):  # type: ignore[no-untyped-def]
        apart()
        for j in range(index(0), n):
            put(x, j, get(x, j) * factor)

    @compiled
    def reflect(n, x, beta, tau):  # type: ignore[no-untyped-def]
        """The v and tau of which I - tau v v^T takes x to beta times the first unit vector; v comes
        in the place of x."""
        apart()
        o, unit = index(0), index(1)
        behind, lift = shifted(x, unit), one
        total, alpha = dot(n - unit, behind, behind), get(x, o)  # type: ignore[no-untyped-call]
        if not (total > low and total + alpha * alpha < high):
            largest = zero
            for j in range(o, n - unit):
                size = fabs_float(get(behind, j))
                if not size <= largest:
                    largest = size
            if largest == zero:
                put(beta, o, alpha)
                put(tau, o, zero)
                put(x, o, one)
                return
            if not fabs_float(alpha) <= largest:
                largest = fabs_float(alpha)
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
        """The T of so many reflections: each column follows from those before it and from the inner
        products of the vectors."""
        apart()
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

    @compiled
    def others(low, high, end, width, v, step, tau, gram):  # type: ignore[no-untyped-def]
        """Columns high to end of a panel, which are rows of v, by the reflections low to high."""
        apart()
        o, unit, strip = index(0), index(1), index(STRIP)
        count, left = high - low, end - high
        if left == o:
            return
        made = shifted(gram, strip * strip)
        first = shifted(made, strip * strip)
        second = shifted(first, strip * left)
        corner, behind = shifted(v, low * step + low), shifted(v, high * step + low)
        triangle(count, width - low, corner, step, shifted(tau, low), gram, made, strip)  # type: ignore[no-untyped-call]
        overwrite(  # type: ignore[no-untyped-call]
            left, count, width - low, behind, step, unit, corner, unit, step, first, strip, o
        )
        overwrite(  # type: ignore[no-untyped-call]
            left, count, count, first, strip, unit, made, strip, unit, second, strip, o
        )
        product(left, width - low, count, second, strip, unit, corner, step, behind, step)

    @compiled
    def panel(columns, width, v, step, r, n, space):  # type: ignore[no-untyped-def]
        """Reflect the first columns, which are the rows of v; 0 where everything is finite. The
        factors tau are left in space."""
        apart()
        o, unit, narrow = index(0), index(1), index(NARROW)
        tau, beta, work = space, shifted(space, columns), shifted(space, index(2) * columns)
        sane = zero
        for left in range(o, columns, index(STRIP)):
            right = min(columns, left + index(STRIP))
            for top in range(left, right, narrow):
                end = min(right, top + narrow)
                for c in range(top, end):
                    here = shifted(v, c * step + c)
                    reflect(width - c, here, shifted(beta, c), shifted(tau, c))  # type: ignore[no-untyped-call]
                    factor = get(tau, c)
                    sane = sane + (factor - factor)
                    for d in range(c + unit, end):
                        to = shifted(v, d * step + c)
                        subtract(width - c, factor * dot(width - c, here, to), here, to)  # type: ignore[no-untyped-call]
                for c in range(top, end):
                    for i in range(o, c):
                        put(r, i * n + c, get(v, c * step + i))
                        put(v, c * step + i, zero)
                    put(r, c * n + c, get(beta, c))
                others(top, end, right, width, v, step, tau, work)  # type: ignore[no-untyped-call]
            others(left, right, columns, width, v, step, tau, work)  # type: ignore[no-untyped-call]
        return sane

    def function(of_m, of_n, a, q, r, space, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, m, n = index(0), index(1), word(of_m), word(of_n)
        block = _block_of(n)
        # The vectors are an odd number of cache lines apart.
        step = ((m + index(7)) // index(8) | unit) * index(8)
        vectors, triangles = space, shifted(space, n * step)
        first = shifted(triangles, n * block)
        second = shifted(first, n * block)
        gram = shifted(second, n * block)
        work = shifted(gram, block * block)
        put(info, o, 0)
        for i in range(o, m * n):
            put(q, i, get(a, i))
        for i in range(o, n * n):
            put(r, i, zero)
        for at in range(o, n, block):
            columns, width = min(block, n - at), m - at
            rest = n - at - columns
            corner, v = shifted(q, at * n + at), shifted(vectors, at * step + at)
            made = shifted(triangles, at * block)
            turn(width, columns, corner, n, v, step)
            sane = panel(columns, width, v, step, shifted(r, at * n + at), n, work)  # type: ignore[no-untyped-call]
            if sane != zero:
                put(info, o, 1)
                return
            triangle(columns, width, v, step, work, gram, made, block)  # type: ignore[no-untyped-call]
            if rest > o:
                right = shifted(corner, columns)
                overwrite(  # type: ignore[no-untyped-call]
                    columns, rest, width, v, step, unit, right, n, unit, first, rest, o
                )
                overwrite(  # type: ignore[no-untyped-call]
                    columns, rest, columns, made, unit, block, first, rest, unit, second, rest, o
                )
                product(width, rest, columns, v, unit, step, second, rest, right, n)
                for i in range(o, columns):
                    to = (at + i) * n + at + columns
                    for j in range(o, rest):
                        put(r, to + j, get(right, i * n + j))
        end = n
        while end > o:
            columns = (end - unit) % block + unit
            at, rest = end - columns, n - end
            width = m - at
            corner, v = shifted(q, at * n + at), shifted(vectors, at * step + at)
            made = shifted(triangles, at * block)
            # Columns of the identity change by the first rows of V alone.
            for i in range(o, width):
                for j in range(o, columns):
                    put(corner, i * n + j, one if i == j else zero)
            overwrite(  # type: ignore[no-untyped-call]
                columns, columns, columns, made, block, unit, v, step, unit, first, columns, o
            )
            product(width, columns, columns, v, unit, step, first, columns, corner, n)
            if rest > o:
                right = shifted(corner, columns)
                for i in range(o, columns):
                    for j in range(o, rest):
                        put(right, i * n + j, zero)
                overwrite(  # type: ignore[no-untyped-call]
                    columns, rest, width - columns, shifted(v, columns), step, unit,
                    shifted(right, columns * n), n, unit, first, rest, o,
                )  # fmt: skip
                overwrite(  # type: ignore[no-untyped-call]
                    columns, rest, columns, made, block, unit, first, rest, unit, second, rest, o
                )
                product(width, rest, columns, v, unit, step, second, rest, right, n)
            end = at

    return function
