"""Singular values and vectors by turning columns until any two of them are orthogonal (Hestenes,
Inversion of matrices by biorthogonalization, 1958; Demmel and Veselic, SIAM J. Matrix Anal. 13,
1992)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bridge import compiled
from ..by_address import get, put, shifted
from ..support import acc, index, outlined
from .kinds import described

__all__ = ["gesdd", "gesdd_signature"]

SLIM = ord("S")
SWEEPS = 60
"""Turns of all pairs after which they are not orthogonal: six to ten are usual."""


def gesdd_signature(dtype: str) -> Any:
    """jobz, m, n, the matrix and its leading dimension, singular values, the vectors of both sides
    with their leading dimensions, space twice, info."""
    return described("ciitittititiii", dtype)


def gesdd(dtype: str) -> Callable[..., None]:
    """Singular values, descending, and as many vectors, or none."""
    t = np.dtype(dtype).type
    zero, one, two, eps = t(0), t(1), t(2), t(np.finfo(dtype).eps)
    # The square of the length at which a column is nothing, where the largest element is one.
    nothing = t(eps * eps * eps * eps)

    @compiled
    def turned(n, x, step_x, y, step_y, c, s):  # type: ignore[no-untyped-def]
        for i in range(index(0), n):
            p, q = get(x, i * step_x), get(y, i * step_y)
            put(x, i * step_x, c * p - s * q)
            put(y, i * step_y, s * p + c * q)

    @compiled
    def orthogonal(m, k, a, row, col, long, v):  # type: ignore[no-untyped-def]
        """All columns of a made orthogonal by turns that the columns of v collect, which are so
        `long`; whether that ended."""
        outlined()
        o, unit = index(0), index(1)
        sweep, going = o, True
        while going and sweep < index(SWEEPS):
            sweep += unit
            going = False
            for p in range(o, k):
                for q in range(p + unit, k):
                    x, y = shifted(a, p * col), shifted(a, q * col)
                    left, right, inner = zero, zero, zero
                    for i in range(o, m):
                        f, g = get(x, i * row), get(y, i * row)
                        left = acc(left, f * f)
                        right = acc(right, g * g)
                        inner = acc(inner, f * g)
                    small = min(left, right) <= nothing
                    if not small and abs(inner) > eps * np.sqrt(left) * np.sqrt(right):
                        going = True
                        z = (right - left) / (two * inner)
                        r = abs(z) if abs(z) * eps > one else np.sqrt(one + z * z)
                        r = one / (abs(z) + r)
                        tangent = r if z >= zero else -r
                        c = one / np.sqrt(one + tangent * tangent)
                        s = c * tangent
                        turned(m, x, row, y, row, c, s)  # type: ignore[no-untyped-call]
                        x, y = shifted(v, p * long), shifted(v, q * long)
                        turned(long, x, unit, y, unit, c, s)  # type: ignore[no-untyped-call]
        return not going

    @compiled
    def completed(m, j, u, row, col):  # type: ignore[no-untyped-def]
        """Column j as a unit vector orthogonal to the columns before it."""
        outlined()
        o, unit = index(0), index(1)
        target, tried, norm = shifted(u, j * col), o, zero
        while norm * norm * m < one / two and tried < m:
            for i in range(o, m):
                put(target, i * row, one if i == tried else zero)
            # Twice is enough for orthogonality to the last digits.
            for _ in range(index(2)):
                for q in range(o, j):
                    other, inner = shifted(u, q * col), zero
                    for i in range(o, m):
                        inner = acc(inner, get(other, i * row) * get(target, i * row))
                    for i in range(o, m):
                        put(target, i * row, get(target, i * row) - inner * get(other, i * row))
            total = zero
            for i in range(o, m):
                total = acc(total, get(target, i * row) * get(target, i * row))
            norm = np.sqrt(total)
            tried += unit
        for i in range(o, m):
            put(target, i * row, get(target, i * row) / norm)

    def function(  # type: ignore[no-untyped-def]
        jobz, of_m, of_n, a, of_lda, s, u, of_ldu, vt, of_ldvt, work, of_room, ints, info
    ):
        o, unit = index(0), index(1)
        rows, columns, lda = index(get(of_m, o)), index(get(of_n, o)), index(get(of_lda, o))
        ldu, ldvt, vectors = index(get(of_ldu, o)), index(get(of_ldvt, o)), get(jobz, o) == SLIM
        m, k = max(rows, columns), min(rows, columns)
        tall = rows >= columns
        row, col = unit if tall else lda, lda if tall else unit
        long = k if vectors else o
        largest = zero
        for j in range(o, k):
            for i in range(o, m):
                size = abs(get(a, i * row + j * col))
                # A NaN stays the largest.
                largest = size if not size <= largest else largest
            for i in range(o, long):
                put(work, i + j * k, one if i == j else zero)
        for j in range(o, k if largest > zero else o):
            for i in range(o, m):
                put(a, i * row + j * col, get(a, i * row + j * col) / largest)
        ended = largest - largest == zero
        if ended:
            ended = orthogonal(m, k, a, row, col, long, work)  # type: ignore[no-untyped-call]
        put(info, o, np.int32(0 if ended else 1))
        for j in range(o, k):
            total = zero
            for i in range(o, m):
                total = acc(total, get(a, i * row + j * col) * get(a, i * row + j * col))
            put(s, j, np.sqrt(total) if not total <= nothing else zero)
        for j in range(o, k):
            most = j
            for i in range(j + unit, k):
                most = i if get(s, i) > get(s, most) else most
            if most != j:
                size = get(s, j)
                put(s, j, get(s, most))
                put(s, most, size)
                # Exchanged, one of them with the other sign on both sides.
                x, y = shifted(a, j * col), shifted(a, most * col)
                turned(m, x, row, y, row, zero, -one)  # type: ignore[no-untyped-call]
                x, y = shifted(work, j * k), shifted(work, most * k)
                turned(long, x, unit, y, unit, zero, -one)  # type: ignore[no-untyped-call]
        if vectors:
            outer, row_u, col_u = (u, unit, ldu) if tall else (vt, ldvt, unit)
            inner, row_v, col_v = (vt, ldvt, unit) if tall else (u, unit, ldu)
            for j in range(o, k):
                for i in range(o, k):
                    put(inner, i * row_v + j * col_v, get(work, i + j * k))
                size = get(s, j)
                for i in range(o, m if size > zero else o):
                    put(outer, i * row_u + j * col_u, get(a, i * row + j * col) / size)
                if size == zero:
                    completed(m, j, outer, row_u, col_u)  # type: ignore[no-untyped-call]
        for j in range(o, k):
            put(s, j, get(s, j) * largest)

    return function
