"""Own divide and conquer: eigenvalues and eigenvectors of symmetric tridiagonal matrices.

A matrix is two smaller ones beside each other and a matrix of rank one (Cuppen, A divide and
conquer method for the symmetric tridiagonal eigenproblem, 1981). From their eigenvectors follow
those of the whole by a product with the eigenvectors of D + rho z z^T, whose eigenvalues solve a
secular equation. With these as they are rounded a z is found that has them exactly, of which the
vectors are orthogonal to working precision (Gu and Eisenstat, A divide-and-conquer algorithm for
the symmetric tridiagonal eigenproblem, 1995). What the change leaves as it is has no part in the
products. Here sums over poles run along vectors, small parts come from steps that turn rows, and
products are own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import get, put, shifted, word
from .dense import pointers
from .implicit_steps import turned_to_values
from .reflections import reflections
from .secular import LANES, secular
from .support import acc, fabs_float, index, outlined, select, signed, sqrt_float, wide
from .tridiagonal import side

__all__ = ["DIVIDED_KINDS", "divided", "divided_integers", "divided_signature", "divided_space"]

DIVIDED_KINDS = "laaaaao"
LEAF = 24
"""Up to so many rows eigenvectors are turned along with the steps to the eigenvalues."""
FIRST, BOTH, SECOND = 0, 1, 2
"""The half in which a vector has numbers."""


@compiled
def divided_space(n: Any) -> Any:
    """The elements that `divided` works in."""
    return (index(2) * n + index(8)) * side(n)


@compiled
def divided_integers(n: Any) -> Any:
    """And integers."""
    return index(6) * n


def divided_signature(dtype: str) -> Any:
    """n, d[n] and e[n], of which the last is no part of the matrix, the transpose of the vectors
    z[n, n], space for `divided_space(n)` elements and `divided_integers(n)` integers; 1 where the
    eigenvalues of a part were not found. Values come ascending in the place of d, e is lost."""
    i, t, o = pointers(dtype)
    return types.void(i, t, t, t, t, i, o)


def divided(dtype: str) -> Callable[..., None]:
    """Eigenvalues d and, in rows, eigenvectors z of the matrix with d and e beside it."""
    values, zeros, t = turned_to_values(dtype), secular(dtype), np.dtype(dtype).type
    overwrite = reflections(dtype).overwrite
    zero, one, two, eight = t(0), t(1), t(2), t(8)
    down, eps = t(np.sqrt(0.5)), t(np.finfo(dtype).eps / 2)
    # So much smaller than the largest element is nothing; the reciprocal of more is finite.
    floor = t(2.0**-200) if t is np.float64 else t(2.0**-60)

    @compiled
    def copied(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        for i in range(index(0), n):
            put(y, i, get(x, i))

    @compiled
    def rotated(n, x, y, c, s):  # type: ignore[no-untyped-def]
        outlined()
        for i in range(index(0), n):
            p, q = get(x, i), get(y, i)
            put(x, i, c * p + s * q)
            put(y, i, c * q - s * p)

    @compiled
    def weights(n, diagonal, rows, apart, z, total):  # type: ignore[no-untyped-def]
        """Those that have exactly these zeros, in the place of z, whose signs they keep."""
        outlined()
        o = index(0)
        for i in range(o, n):
            put(total, i, -one)
        for j in range(o, n):
            row, here = shifted(rows, j * apart), get(diagonal, j)
            for i in range(o, n):
                gap = select(i == j, one, get(diagonal, i) - here)
                put(total, i, get(total, i) * (get(row, i) / gap))
        for i in range(o, n):
            size = sqrt_float(max(get(total, i), zero))
            put(z, i, size if get(z, i) >= zero else -size)

    @compiled
    def vectors(k, rows, apart, z, total, places):  # type: ignore[no-untyped-def]
        """The eigenvectors of the diagonal and rank-one matrix, with their elements in the order of
        `places`."""
        outlined()
        o = index(0)
        for j in range(o, k):
            row, squares = shifted(rows, j * apart), zero
            for i in range(o, k):
                value = get(z, i) / get(row, i)
                put(total, i, value)
                squares = acc(squares, value * value)
            inverse = one / sqrt_float(squares)
            for g in range(o, k):
                put(row, g, get(total, index(get(places, g))) * inverse)

    @compiled
    def merged(first, n, d, second_from, order, into):  # type: ignore[no-untyped-def]
        """The places of n values in ascending order, of `order`, whose first ones and whose others,
        counted from `second_from`, are in that order."""
        outlined()
        o, unit = index(0), index(1)
        a, b = o, first
        for i in range(o, n):
            x = get(order, a) if a < first else np.int64(0)
            y = get(order, b) + signed(second_from) if b < n else np.int64(0)
            if b == n or (a < first and get(d, index(x)) <= get(d, index(y))):
                put(into, i, x)
                a += unit
            else:
                put(into, i, y)
                b += unit

    @compiled
    def apart_from(n, d, q, side, z, kind, rho, limit, perm, kept, left):  # type: ignore[no-untyped-def]
        """How many vectors change; `kept` says which, and `left` the others: those whose weight is
        nothing, or which a turn with a neighbour makes so."""
        outlined()
        o, unit = index(0), index(1)
        count, gone, waiting, has = o, o, o, False
        for i in range(o, n):
            r = index(get(perm, i))
            if rho * fabs_float(get(z, r)) <= limit:
                put(left, gone, signed(r))
                gone += unit
            else:
                if has:
                    x, y, s, c = get(d, waiting), get(d, r), get(z, waiting), get(z, r)
                    size = sqrt_float(c * c + s * s)  # both are at most one
                    c, s = c / size, -(s / size)
                    if fabs_float((y - x) * c * s) <= limit:
                        put(z, r, size)
                        if get(kind, r) != get(kind, waiting):
                            put(kind, r, np.int64(BOTH))
                        rotated(n, shifted(q, waiting * side), shifted(q, r * side), c, s)  # type: ignore[no-untyped-call]
                        put(d, waiting, x * (c * c) + y * (s * s))
                        put(d, r, x * (s * s) + y * (c * c))
                        put(left, gone, signed(waiting))
                        gone += unit
                    else:
                        put(kept, count, signed(waiting))
                        count += unit
                waiting, has = r, True
        if has:
            put(kept, count, signed(waiting))
            count += unit
        # A turn may have exchanged neighbours among those left.
        for i in range(unit, gone):
            moved, j = get(left, i), i
            while j > o and get(d, index(get(left, j - unit))) > get(d, index(moved)):
                put(left, j, get(left, j - unit))
                j -= unit
            put(left, j, moved)
        return count

    @compiled
    def packed(n, first, q, side, kind, kept, count, places, room):  # type: ignore[no-untyped-def]
        """The halves of the vectors that change, one behind the other: those of the first, then of
        the second half; how many there are of the first, and before those of the second."""
        outlined()
        o, unit, second = index(0), index(1), n - first
        g, before, until = o, o, o
        for which in range(FIRST, SECOND + 1):
            if which == BOTH:
                before = g
            if which == SECOND:
                until = g
            for i in range(o, count):
                if get(kind, index(get(kept, i))) == which:
                    put(places, g, signed(i))
                    g += unit
        for i in range(o, until):
            r = index(get(kept, index(get(places, i))))
            copied(first, shifted(q, r * side), shifted(room, i * first))  # type: ignore[no-untyped-call]
        behind = shifted(room, until * first)
        for i in range(before, count):
            r = index(get(kept, index(get(places, i))))
            copied(  # type: ignore[no-untyped-call]
                second, shifted(q, r * side + first), shifted(behind, (i - before) * second)
            )
        return until, before

    @compiled
    def product(m, n, k, a, row_a, b, c, row_c):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        if k > o:
            overwrite(m, n, k, a, row_a, unit, b, n, unit, c, row_c, o)
        else:
            for i in range(o, m):
                for j in range(o, n):
                    put(c, i * row_c + j, zero)

    @compiled
    def united(n, first, d, rho, least, q, side, rows, room, beside, order, ints):  # type: ignore[no-untyped-def]
        """One part of two, of which the first has `first` rows, with `rho` between them."""
        outlined()
        o, unit, second = index(0), index(1), n - first
        z, diagonal, weight, total = (
            beside, shifted(beside, side), shifted(beside, index(2) * side),
            shifted(beside, index(3) * side),
        )  # fmt: skip
        perm, kind, kept, left, places = (
            ints, shifted(ints, n), shifted(ints, index(2) * n), shifted(ints, index(3) * n),
            shifted(ints, index(4) * n),
        )  # fmt: skip
        merged(first, n, d, first, order, perm)  # type: ignore[no-untyped-call]
        sign = down if rho >= zero else -down
        rho = two * fabs_float(rho)
        largest = rho
        for i in range(o, first):
            put(z, i, get(q, i * side + (first - unit)) * down)
            put(kind, i, np.int64(FIRST))
        for i in range(first, n):
            put(z, i, get(q, i * side + first) * sign)
            put(kind, i, np.int64(SECOND))
        for i in range(o, n):
            largest = max(largest, fabs_float(get(d, i)))
        limit = max(eight * eps * largest, least)
        count = apart_from(n, d, q, side, z, kind, rho, limit, perm, kept, left)  # type: ignore[no-untyped-call]
        halves = packed(n, first, q, side, kind, kept, count, places, room)  # type: ignore[no-untyped-call]
        until, before = halves
        behind = shifted(room, until * first)
        rest = shifted(behind, (count - before) * second)
        for i in range(o, n - count):
            r = index(get(left, i))
            put(total, i, get(d, r))
            copied(n, shifted(q, r * side), shifted(rest, i * n))  # type: ignore[no-untyped-call]
        padded = (count + index(LANES - 1)) // index(LANES) * index(LANES)
        for i in range(o, padded):
            r = index(get(kept, min(i, count - unit)))
            put(diagonal, i, get(d, r))
            put(weight, i, get(z, r) if i < count else zero)
        for i in range(o, n - count):
            put(d, count + i, get(total, i))
            copied(n, shifted(rest, i * n), shifted(q, (count + i) * side))  # type: ignore[no-untyped-call]
        if count > o:
            zeros(count, padded, diagonal, weight, rho, d, rows, side)
            weights(count, diagonal, rows, side, weight, total)  # type: ignore[no-untyped-call]
            vectors(count, rows, side, weight, total, places)  # type: ignore[no-untyped-call]
            product(count, first, until, rows, side, room, q, side)  # type: ignore[no-untyped-call]
            product(  # type: ignore[no-untyped-call]
                count, second, count - before, shifted(rows, before), side, behind,
                shifted(q, first), side,
            )  # fmt: skip
        for i in range(o, n):
            put(perm, i, signed(i))
        merged(count, n, d, o, perm, order)  # type: ignore[no-untyped-call]

    def function(of_n, d, e, z, space, ints, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, n = index(0), index(1), word(of_n)
        apart = side(n)
        q, rows = space, shifted(space, n * apart)
        beside, order = shifted(rows, n * apart), ints
        largest = zero
        for i in range(o, n):
            for j in range(o, n):
                put(q, i * apart + j, one if i == j else zero)
            largest = max(largest, fabs_float(get(d, i)))
            if i + unit < n:
                largest = max(largest, fabs_float(get(e, i)))
        least = largest * floor
        parts = unit
        while n > parts * index(LEAF):
            parts += parts
        for k in range(unit, parts):
            at = k * n // parts
            size = fabs_float(get(e, at - unit))
            put(d, at - unit, get(d, at - unit) - size)
            put(d, at, get(d, at) - size)
        # What the steps in a part leave behind it is what is between it and the next.
        failed = o
        for k in range(o, parts):
            at, end = k * n // parts, (k + unit) * n // parts
            between = get(e, end - unit)
            failed += index(
                values(
                    end - at, shifted(d, at), shifted(e, at), end - at,
                    shifted(q, at * apart + at), apart,
                )
            )  # fmt: skip
            put(e, end - unit, between)
            for i in range(at, end):
                put(order, i, signed(i - at))
        put(info, o, np.int32(failed > o))
        if failed > o:
            return
        while parts > unit:
            for k in range(o, parts, unit + unit):
                at, middle = k * n // parts, (k + unit) * n // parts
                end = (k + unit + unit) * n // parts
                united(  # type: ignore[no-untyped-call]
                    end - at, middle - at, shifted(d, at), get(e, middle - unit), least,
                    shifted(q, at * apart + at), apart, rows, z, beside, shifted(order, at),
                    shifted(ints, n),
                )  # fmt: skip
            parts = parts // index(2)
        for i in range(o, n):
            put(beside, i, get(d, index(get(order, i))))
            copied(n, shifted(q, index(get(order, i)) * apart), shifted(z, i * n))  # type: ignore[no-untyped-call]
        for i in range(o, n):
            put(d, i, get(beside, i))

    return function
