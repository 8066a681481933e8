"""Own bidiagonal forms of real matrices.

LAPACK reads what is left of a matrix twice for each column: for the product with a reflection from
the left, and, since the next one from the right is known only then, for the product with that one.
Here it is read once, a few columns at a time: their products with the left reflection give their
places of the row from which the right one is made, so that they are added up with these as factors
while they are in the innermost cache (Howell, Demmel, Fulton, Hammarling and Marmol, Cache
efficient bidiagonalization using BLAS 2.5 operators, 2008). The product with the right reflection
follows from the one with that row, which is the reflection's vector but for a factor and its first
place. As in LAPACK the matrix is changed once for a panel of columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import LINE, get, lined, put, shifted, word
from .dense import less, parts, pointers
from .reflections import reflections
from .support import acc, fabs_float, index, outlined, wide
from .tridiagonal import unscaled

__all__ = ["BIDIAGONAL_KINDS", "bidiagonal", "bidiagonal_signature", "bidiagonal_space", "side"]

BIDIAGONAL_KINDS = "llllaaaaaaaao"
PANEL, SMALL_PANEL, LARGE = 16, 8, 400
"""Columns of a panel, and of one of a matrix of fewer than so many columns."""
FEW, WIDE = 4, 16
"""Columns that are read at a time; elements of a line of memory, or of two."""
SLACK = 16
"""Elements that may lie in front of the first whole line."""


@compiled
def side(n: Any) -> Any:
    """How far rows of n elements lie apart: whole lines, an odd number of pairs of them."""
    return ((n + index(2 * WIDE - 1)) // index(2 * WIDE) * index(2) + index(1)) * index(WIDE)


@compiled
def bidiagonal_space(m: Any, n: Any) -> Any:
    """The elements that `bidiagonal` works in, besides the reflections."""
    rows, few = index(2 * PANEL + FEW), index(FEW)
    return (rows + index(1)) * side(m) + (rows + index(2)) * side(n + few) + index(6 * WIDE * FEW)


def bidiagonal_signature(dtype: str) -> Any:
    """m, n <= m, the distances of rows and of columns of a[m, n], a, d[n], e[n - 1] and the tau of
    left and of right reflections, space in which the left ones are left, (n + FEW) rows of
    `side(m)`, and the right ones, n rows of `side(n + FEW)`, each from the first whole line on and
    with room for SLACK elements more; space for `bidiagonal_space(m, n)`; 1 where numbers are not
    finite, or so large or small that the matrix has to be scaled first."""
    i, t, o = pointers(dtype)
    return types.void(i, i, i, i, t, t, t, t, t, t, t, t, o)


def bidiagonal(dtype: str) -> Callable[..., None]:
    """The diagonal d and what is right of it, e, of Q^T a P; row i of the left space holds the
    vector of the i-th reflection of Q from place i on, row i of the right one that of P from place
    i + 1 on."""
    of_blocks, own, t = reflections(dtype), parts(dtype), np.dtype(dtype).type
    reflect, product, turn = of_blocks.reflect, own.product, own.turn
    zero, line = t(0), LINE // np.dtype(dtype).itemsize
    least, most = unscaled(t)
    # Squares of numbers between these have all their digits.
    low, high = (t(1e-125), t(1e145)) if t is np.float64 else (t(1e-12), t(1e17))

    @compiled
    def fill(n, x):  # type: ignore[no-untyped-def]
        for j in range(index(0), n):
            put(x, j, zero)

    @compiled
    def inner(width, count, rows, step, x, found):  # type: ignore[no-untyped-def]
        """The inner products of rows with x; zeros behind the last up to a multiple of FEW."""
        outlined()
        wide()
        o, few, two, three = index(0), index(FEW), index(2), index(3)
        end = width // index(line) * index(line)
        for p in range(o, count, few):
            r0 = shifted(rows, p * step)
            r1, r2, r3 = shifted(r0, step), shifted(r0, two * step), shifted(r0, three * step)
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(o, end):
                at = get(x, j)
                s0, s1 = acc(s0, get(r0, j) * at), acc(s1, get(r1, j) * at)
                s2, s3 = acc(s2, get(r2, j) * at), acc(s3, get(r3, j) * at)
            put(found, p, s0)
            put(found, p + index(1), s1)
            put(found, p + two, s2)
            put(found, p + three, s3)
        fill((few - count % few) % few, shifted(found, count))  # type: ignore[no-untyped-call]

    @compiled
    def subtracted(width, count, rows, step, factors, y):  # type: ignore[no-untyped-def]
        """y less the rows with their factors, which are zeros up to a multiple of FEW."""
        outlined()
        wide()
        o, few, unit, two, three = index(0), index(FEW), index(1), index(2), index(3)
        end = width // index(line) * index(line)
        for p in range(o, count, few):
            r0 = shifted(rows, p * step)
            r1, r2, r3 = shifted(r0, step), shifted(r0, two * step), shifted(r0, three * step)
            f0, f1 = get(factors, p), get(factors, p + unit)
            f2, f3 = get(factors, p + two), get(factors, p + three)
            for j in range(o, end):
                value = less(less(get(y, j), f0, get(r0, j)), f1, get(r1, j))
                put(y, j, less(less(value, f2, get(r2, j)), f3, get(r3, j)))

    @compiled
    def added(width, rows, step, factors, w):  # type: ignore[no-untyped-def]
        """w and FEW rows with their factors."""
        o, unit, two, three = index(0), index(1), index(2), index(3)
        r1, r2 = shifted(rows, step), shifted(rows, two * step)
        r3 = shifted(rows, three * step)
        f0, f1 = -get(factors, o), -get(factors, unit)
        f2, f3 = -get(factors, two), -get(factors, three)
        for j in range(o, width // index(line) * index(line)):
            value = less(less(get(w, j), f0, get(rows, j)), f1, get(r1, j))
            put(w, j, less(less(value, f2, get(r2, j)), f3, get(r3, j)))

    @compiled
    def sweep(width, count, at, rows, step, u, tau, known, y, v, w):  # type: ignore[no-untyped-def]
        """Of each column of the matrix (a row here) its product with the left reflection, y, and
        its place in the row that the reflection leaves, v; w is the sum of the columns with v as
        factors. `known` is what y lacks and then v, from the panel's columns before."""
        outlined()
        wide()
        o, few = index(0), index(FEW)
        fill(width, w)  # type: ignore[no-untyped-call]
        for j in range(o, count, few):
            here = shifted(rows, j * step)
            to = shifted(y, j)
            inner(width, few, here, step, u, to)  # type: ignore[no-untyped-call]
            for q in range(o, few):
                value = tau * (get(to, q) + get(known, j + q))
                put(to, q, value)
                put(v, j + q, get(v, j + q) + get(here, q * step + at) - value)
            added(width, here, step, shifted(v, j), w)  # type: ignore[no-untyped-call]

    @compiled
    def gathered(count, rows, step, found):  # type: ignore[no-untyped-def]
        """An element of each row; zeros behind the last up to a multiple of FEW."""
        few = index(FEW)
        for p in range(index(0), count):
            put(found, p, get(rows, p * step))
        fill((few - count % few) % few, shifted(found, count))  # type: ignore[no-untyped-call]

    def function(  # type: ignore[no-untyped-def]
        of_m, of_n, of_row, of_col, a, d, e, left_tau, right_tau, of_left, of_right, space, info
    ):
        wide()
        o, unit, few, lanes = index(0), index(1), index(FEW), index(line)
        m, n, row, col = word(of_m), word(of_n), word(of_row), word(of_col)
        step, across, most_pairs = side(m), side(n + few), index(2 * PANEL + FEW)
        left, right, whole = lined(of_left), lined(of_right), lined(space)
        # The matrix is now what stands in `left` less the sum of outer products of these rows.
        along, beside = whole, shifted(whole, most_pairs * step)
        w = shifted(beside, most_pairs * across)
        known = shifted(w, step)
        factors = shifted(known, across)
        fill(most_pairs * (step + across), whole)  # type: ignore[no-untyped-call]
        put(info, o, 0)
        if col == unit:
            for j in range(o, n):
                for k in range(o, m):
                    put(left, j * step + k, get(a, j * row + k))
        else:
            turn(m, n, a, col, left, step)
        total = zero
        for j in range(o, n):
            here = shifted(left, j * step)
            for k in range(o, m):
                total = acc(total, fabs_float(get(here, k)))
            fill(step - m, shifted(here, m))  # type: ignore[no-untyped-call]
        fill(few * step, shifted(left, n * step))  # type: ignore[no-untyped-call]
        if total != zero and not (total > least and total < most):
            put(info, o, 1)
            return
        end, right_end = (m + lanes - unit) // lanes * lanes, across
        panel, at = index(PANEL) if n >= index(LARGE) else index(SMALL_PANEL), o
        while at < n:
            columns, count = min(panel, n - at), o
            for i in range(at, at + columns):
                start, first = i // lanes * lanes, i + unit
                width, here = end - start, shifted(left, i * step + start)
                rows, u = shifted(along, start), shifted(along, count * step + start)
                gathered(count, shifted(beside, i), across, factors)  # type: ignore[no-untyped-call]
                subtracted(width, count, rows, step, factors, here)  # type: ignore[no-untyped-call]
                reflect(m - i, shifted(here, i - start), shifted(d, i), shifted(left_tau, i))
                fill(i - start, u)  # type: ignore[no-untyped-call]
                for k in range(i - start, width):
                    put(u, k, get(here, k))
                if first == n:
                    return
                start_right = first // lanes * lanes
                before, wide_right = first - start_right, right_end - start_right
                rows_right = shifted(beside, start_right)
                y = shifted(rows_right, count * across)
                v, x = shifted(y, across), shifted(u, step)
                fill(wide_right, shifted(known, start_right))  # type: ignore[no-untyped-call]
                fill(wide_right, v)  # type: ignore[no-untyped-call]
                inner(width, count, rows, step, u, factors)  # type: ignore[no-untyped-call]
                subtracted(  # type: ignore[no-untyped-call]
                    wide_right, count, rows_right, across, factors, shifted(known, start_right)
                )
                gathered(count, shifted(along, i), step, factors)  # type: ignore[no-untyped-call]
                subtracted(wide_right, count, rows_right, across, factors, v)  # type: ignore[no-untyped-call]
                sweep(  # type: ignore[no-untyped-call]
                    width, n - first, i - start, shifted(left, first * step + start), step, u,
                    get(left_tau, i), shifted(known, first), shifted(y, before), shifted(v, before),
                    w,
                )  # fmt: skip
                fill(before, y)  # type: ignore[no-untyped-call]
                fill(before, v)  # type: ignore[no-untyped-call]
                count = count + unit
                place = get(v, before)
                reflect(n - first, shifted(v, before), shifted(e, i), shifted(right_tau, i))
                beta, tau = get(e, i), get(right_tau, i)
                if tau == zero:
                    fill(width, x)  # type: ignore[no-untyped-call]
                else:
                    beside_it = shifted(here, step)
                    if fabs_float(beta) > low and fabs_float(beta) < high:
                        scale = t(1) / (place - beta)
                        for k in range(o, width):
                            put(x, k, less(get(w, k), beta, get(beside_it, k)) * scale)
                    else:
                        fill(width, x)  # type: ignore[no-untyped-call]
                        for j in range(first, n, few):
                            added(  # type: ignore[no-untyped-call]
                                width, shifted(left, j * step + start), step,
                                shifted(v, j - start_right), x,
                            )  # fmt: skip
                    inner(wide_right, count, rows_right, across, v, factors)  # type: ignore[no-untyped-call]
                    subtracted(width, count, rows, step, factors, x)  # type: ignore[no-untyped-call]
                    for k in range(o, width):
                        put(x, k, tau * get(x, k))
                    fill(first - start, x)  # type: ignore[no-untyped-call]
                to = shifted(right, i * across + start_right)
                for k in range(o, wide_right):
                    put(to, k, get(v, k))
                count = count + unit
            at = at + columns
            product(
                n - at, m - at, count, shifted(beside, at), unit, across, shifted(along, at), step,
                shifted(left, at * step + at), step,
            )  # fmt: skip

    return function
