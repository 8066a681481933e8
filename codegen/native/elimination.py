"""Own LU factors of large real matrices with the exchanges of rows that LAPACK makes, in blocks,
and what is solved with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import get, put, shifted, word
from .dense import FEW, NARROW, block_of, less, parts, pointers
from .extremes import greatest
from .substituted import row_substituted
from .support import acc, fabs_float, index, outlined, wide

__all__ = [
    "FACTORED_KINDS", "INVERSE_KINDS", "LU_KINDS", "factored", "factored_signature", "inverse",
    "inverse_signature", "lu", "lu_signature", "lu_space",
]  # fmt: skip

LU_KINDS, FACTORED_KINDS, INVERSE_KINDS = "laaao", "llaaala", "laaaa"
STRIP = 32
"""Columns that are eliminated before those right of them change."""


@compiled
def lu_space(n: Any) -> Any:
    """The elements of working space that `lu` takes."""
    return block_of(n) * (n + index(16))


def lu_signature(dtype: str) -> Any:
    """n, the matrix and then its factors a[n, n], with which row each one was exchanged, space for
    lu_space(n) elements; the number of the first pivot that is 0."""
    i, t, o = pointers(dtype)
    return types.void(i, t, i, t, o)


def factored_signature(dtype: str) -> Any:
    """n, k, factors, exchanges, b[n, k] and then the solution, whether of the transposed system,
    space for n elements."""
    i, t, _ = pointers(dtype)
    return types.void(i, i, t, i, t, i, t)


def inverse_signature(dtype: str) -> Any:
    """n, factors, exchanges, out[n, n], space for n elements."""
    i, t, _ = pointers(dtype)
    return types.void(i, t, i, t, t)


def lu(dtype: str) -> Callable[..., None]:
    """Both factors in the place of the matrix; the ones on the diagonal of the lower one are not
    stored."""
    own, zero = parts(dtype), np.dtype(dtype).type(0)
    product, substitute, turn = own.product, own.substitute, own.turn
    subtract, divide, exchange = own.subtract, own.divide, own.exchange

    @compiled
    def largest(n, x):  # type: ignore[no-untyped-def]
        """Where the first entry of largest size is; NaN is passed over, but for the first entry."""
        outlined()
        o, size = index(0), fabs_float(get(x, index(0)))
        for j in range(index(1), n):
            size = greatest(size, fabs_float(get(x, j)))
        # The largest size is found in vectors, and then looked for: one that is kept with its place
        # waits for each comparison.
        for j in range(o, n):
            if fabs_float(get(x, j)) == size:
                return j
        at, size = o, fabs_float(get(x, o))
        for j in range(index(1), n):
            here = fabs_float(get(x, j))
            if here > size:
                at, size = j, here
        return at

    @compiled
    def exchanged(first, end, p, step, exchanges, low, high):  # type: ignore[no-untyped-def]
        """Of some rows of p, the exchanges with the numbers low to high."""
        outlined()
        for q in range(first, end):
            row = shifted(p, q * step)
            for c in range(low, high):
                which = index(get(exchanges, c))
                kept = get(row, c)
                put(row, c, get(row, which))
                put(row, which, kept)

    @compiled
    def reduced(first, end, n, p, step, low, high):  # type: ignore[no-untyped-def]
        """What the eliminated columns low to high leave of others, which are some rows of p."""
        outlined()
        unit, narrow = index(1), index(NARROW)
        for top in range(low, high, narrow):
            behind = min(high, top + narrow)
            if behind == top + narrow:
                known = shifted(p, top * step + top)
                for d in range(first, end):
                    row_substituted(known, step, shifted(p, d * step + top))
            else:
                for d in range(first, end):
                    for c in range(top, behind):
                        factor = get(p, d * step + c)
                        for q in range(c + unit, behind):
                            old = get(p, d * step + q)
                            put(p, d * step + q, less(old, factor, get(p, c * step + q)))
            if behind < high:
                product(
                    end - first, high - behind, behind - top, shifted(p, first * step + top), step,
                    unit, shifted(p, top * step + behind), step, shifted(p, first * step + behind),
                    step,
                )  # fmt: skip
        product(
            end - first, n - high, high - low, shifted(p, first * step + low), step, unit,
            shifted(p, low * step + high), step, shifted(p, first * step + high), step,
        )  # fmt: skip

    @compiled
    def panel(columns, n, p, step, exchanges):  # type: ignore[no-untyped-def]
        """Eliminate the first columns, which are the rows of p; the number of the first pivot that
        is 0. A few columns at a time, the others of their strip behind them, then what is right of
        the strip: what is larger than the nearest cache is read once a strip."""
        outlined()
        o, unit, narrow, bad = index(0), index(1), index(NARROW), index(0)
        for left in range(o, columns, index(STRIP)):
            right = min(columns, left + index(STRIP))
            for top in range(left, right, narrow):
                end = min(right, top + narrow)
                for c in range(top, end):
                    here = shifted(p, c * step + c)
                    which = c + largest(n - c, here)  # type: ignore[no-untyped-call]
                    put(exchanges, c, which)
                    if which != c:
                        exchanged(top, end, p, step, exchanges, c, c + unit)  # type: ignore[no-untyped-call]
                    pivot = get(here, o)
                    if pivot != zero:
                        divide(n - c - unit, shifted(here, unit), pivot)
                    elif bad == o:
                        bad = c + unit
                    for d in range(c + unit, end):
                        subtract(
                            n - c - unit, get(p, d * step + c), shifted(here, unit),
                            shifted(p, d * step + c + unit),
                        )  # fmt: skip
                exchanged(left, top, p, step, exchanges, top, end)  # type: ignore[no-untyped-call]
                exchanged(end, right, p, step, exchanges, top, end)  # type: ignore[no-untyped-call]
                reduced(end, right, n, p, step, top, end)  # type: ignore[no-untyped-call]
            exchanged(o, left, p, step, exchanges, left, right)  # type: ignore[no-untyped-call]
            exchanged(right, columns, p, step, exchanges, left, right)  # type: ignore[no-untyped-call]
            reduced(right, columns, n, p, step, left, right)  # type: ignore[no-untyped-call]
        return bad

    def function(of_n, a, exchanges, space, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, n = index(0), index(1), word(of_n)
        block = block_of(n)
        put(info, o, 0)
        for at in range(o, n, block):
            columns, left = min(block, n - at), n - at
            rest = left - columns
            step = ((left + index(7)) // index(8) | unit) * index(8)
            corner = shifted(a, at * n + at)
            turn(left, columns, corner, n, space, step)
            bad = panel(columns, left, space, step, shifted(exchanges, at))  # type: ignore[no-untyped-call]
            if bad != o and get(info, o) == 0:
                put(info, o, at + bad)
            turn(columns, left, space, step, corner, n)
            for c in range(o, columns):
                which = index(get(exchanges, at + c))
                put(exchanges, at + c, at + which)
                if which != c:
                    first, second = (at + c) * n, (at + which) * n
                    exchange(at, shifted(a, first), shifted(a, second))
                    behind = at + columns
                    exchange(rest, shifted(a, first + behind), shifted(a, second + behind))
            if rest > o:
                right, below = shifted(corner, columns), shifted(corner, columns * n)
                substitute(columns, rest, corner, n, unit, True, True, right, n, False)
                product(rest, rest, columns, below, n, unit, right, n, shifted(below, columns), n)

    return function


def factored(dtype: str) -> Callable[..., None]:
    """The solution of a system, or of the transposed one, whose matrix was factorised."""
    own, zero = parts(dtype), np.dtype(dtype).type(0)
    substitute, subtract = own.substitute, own.subtract

    @compiled
    def dot(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        total = zero
        for j in range(index(0), n):
            total = acc(total, get(x, j) * get(y, j))
        return total

    @compiled
    def vector(n, a, x, turned):  # type: ignore[no-untyped-def]
        """One right-hand side, along the rows of the factors either way."""
        outlined()
        o, unit = index(0), index(1)
        for i in range(o, n):
            behind = i + unit
            if turned:
                put(x, i, get(x, i) / get(a, i * n + i))
                subtract(n - behind, get(x, i), shifted(a, i * n + behind), shifted(x, behind))
            else:
                put(x, i, get(x, i) - dot(i, shifted(a, i * n), x))  # type: ignore[no-untyped-call]
        for back in range(o, n):
            i = n - unit - back
            behind = i + unit
            if turned:
                subtract(i, get(x, i), shifted(a, i * n), x)
            else:
                known = dot(n - behind, shifted(a, i * n + behind), shifted(x, behind))  # type: ignore[no-untyped-call]
                put(x, i, (get(x, i) - known) / get(a, i * n + i))

    @compiled
    def exchange(n, k, b, exchanges, backwards):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        for step in range(o, n):
            i = n - unit - step if backwards else step
            which = index(get(exchanges, i))
            if which != i:
                for j in range(o, k):
                    kept = get(b, i * k + j)
                    put(b, i * k + j, get(b, which * k + j))
                    put(b, which * k + j, kept)

    def function(of_n, of_k, a, exchanges, b, of_turned, space):  # type: ignore[no-untyped-def]
        wide()
        o, unit = index(0), index(1)
        n, k, turned = word(of_n), word(of_k), word(of_turned) != o
        if not turned:
            exchange(n, k, b, exchanges, False)  # type: ignore[no-untyped-call]
        if k < index(FEW):
            for j in range(o, k):
                for i in range(o, n):
                    put(space, i, get(b, i * k + j))
                vector(n, a, space, turned)  # type: ignore[no-untyped-call]
                for i in range(o, n):
                    put(b, i * k + j, get(space, i))
        elif turned:
            substitute(n, k, a, unit, n, True, False, b, k, False)
            substitute(n, k, a, unit, n, False, True, b, k, False)
        else:
            substitute(n, k, a, n, unit, True, True, b, k, False)
            substitute(n, k, a, n, unit, False, False, b, k, False)
        if turned:
            exchange(n, k, b, exchanges, True)  # type: ignore[no-untyped-call]

    return function


def inverse(dtype: str) -> Callable[..., None]:
    """The inverse of a matrix that was factorised: of the lower factor first, then of both, then
    with exchanged columns."""
    substitute, t = parts(dtype).substitute, np.dtype(dtype).type
    zero, one = t(0), t(1)

    def function(of_n, a, exchanges, out, space):  # type: ignore[no-untyped-def]
        wide()
        o, unit = index(0), index(1)
        n = word(of_n)
        for i in range(o, n):
            for j in range(o, n):
                put(out, i * n + j, zero)
            put(out, i * n + i, one)
        substitute(n, n, a, n, unit, True, True, out, n, True)
        substitute(n, n, a, n, unit, False, False, out, n, False)
        for i in range(o, n):
            for j in range(o, n):
                put(space, j, get(out, i * n + j))
            for back in range(o, n):
                j = n - unit - back
                which = index(get(exchanges, j))
                kept = get(space, j)
                put(space, j, get(space, which))
                put(space, which, kept)
            for j in range(o, n):
                put(out, i * n + j, get(space, j))

    return function
