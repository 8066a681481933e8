"""Own QR factors of large real matrices by reflections in blocks: what is right of a block, and
then q, change by products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import get, put, shifted, word
from .dense import NARROW, parts, pointers
from .reflections import reflections
from .support import index, outlined, wide

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
    own, of_blocks, t = parts(dtype), reflections(dtype), np.dtype(dtype).type
    product, turn, subtract = own.product, own.turn, own.subtract
    overwrite, dot = of_blocks.overwrite, of_blocks.dot
    reflect, triangle = of_blocks.reflect, of_blocks.triangle
    zero, one = t(0), t(1)

    @compiled
    def others(low, high, end, width, v, step, tau, gram):  # type: ignore[no-untyped-def]
        """Columns high to end of a panel, which are rows of v, by the reflections low to high."""
        outlined()
        o, unit, strip = index(0), index(1), index(STRIP)
        count, left = high - low, end - high
        if left == o:
            return
        made = shifted(gram, strip * strip)
        first = shifted(made, strip * strip)
        second = shifted(first, strip * left)
        corner, behind = shifted(v, low * step + low), shifted(v, high * step + low)
        triangle(count, width - low, corner, step, shifted(tau, low), gram, made, strip)
        overwrite(left, count, width - low, behind, step, unit, corner, unit, step, first, strip, o)
        overwrite(left, count, count, first, strip, unit, made, strip, unit, second, strip, o)
        product(left, width - low, count, second, strip, unit, corner, step, behind, step)

    @compiled
    def panel(columns, width, v, step, r, n, space):  # type: ignore[no-untyped-def]
        """Reflect the first columns, which are the rows of v; 0 where everything is finite. The
        factors tau are left in space."""
        outlined()
        o, unit, narrow = index(0), index(1), index(NARROW)
        tau, beta, work = space, shifted(space, columns), shifted(space, index(2) * columns)
        sane = zero
        for left in range(o, columns, index(STRIP)):
            right = min(columns, left + index(STRIP))
            for top in range(left, right, narrow):
                end = min(right, top + narrow)
                for c in range(top, end):
                    here = shifted(v, c * step + c)
                    reflect(width - c, here, shifted(beta, c), shifted(tau, c))
                    factor = get(tau, c)
                    sane = sane + (factor - factor)
                    for d in range(c + unit, end):
                        to = shifted(v, d * step + c)
                        subtract(width - c, factor * dot(width - c, here, to), here, to)
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
            triangle(columns, width, v, step, work, gram, made, block)
            if rest > o:
                right = shifted(corner, columns)
                overwrite(columns, rest, width, v, step, unit, right, n, unit, first, rest, o)
                overwrite(
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
            overwrite(
                columns, columns, columns, made, block, unit, v, step, unit, first, columns, o
            )
            product(width, columns, columns, v, unit, step, first, columns, corner, n)
            if rest > o:
                right = shifted(corner, columns)
                for i in range(o, columns):
                    for j in range(o, rest):
                        put(right, i * n + j, zero)
                overwrite(
                    columns, rest, width - columns, shifted(v, columns), step, unit,
                    shifted(right, columns * n), n, unit, first, rest, o,
                )  # fmt: skip
                overwrite(
                    columns, rest, columns, made, block, unit, first, rest, unit, second, rest, o
                )
                product(width, rest, columns, v, unit, step, second, rest, right, n)
            end = at

    return function
