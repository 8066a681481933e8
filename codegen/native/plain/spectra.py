"""Eigenvalues and vectors of symmetric matrices by Householder's reduction (Martin, Reinsch and
Wilkinson, Numerische Mathematik 11, 1968) and implicit steps, and singular values of bidiagonal
ones as eigenvalues of a tridiagonal matrix with zeros on its diagonal (Golub and Kahan, SIAM J.
Numer. Anal. 2, 1965)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bridge import compiled
from ..by_address import get, put, shifted
from ..implicit_steps import turned_to_values
from ..support import acc, index, outlined
from .kinds import described

__all__ = [
    "bdsqr", "bdsqr_signature", "sterf", "sterf_signature", "syevd", "syevd_signature", "sytrd",
    "sytrd_signature",
]  # fmt: skip

VECTORS = ord("V")


def sterf_signature(dtype: str) -> Any:
    """n, the diagonal and what is beside it, info."""
    return described("itti", dtype)


def sterf(dtype: str) -> Callable[..., None]:
    values = turned_to_values(dtype)

    def function(of_n, d, e, info):  # type: ignore[no-untyped-def]
        o = index(0)
        put(info, o, np.int32(values(index(get(of_n, o)), d, e, o, d, o)))

    return function


def _reduced(dtype: str) -> Callable[..., Any]:
    """Householder's reduction to a tridiagonal matrix; the reflections stay below it."""
    t = np.dtype(dtype).type
    zero, one, two = t(0), t(1), t(2)

    @compiled
    def reflection(rest, v):  # type: ignore[no-untyped-def]
        """Of a vector: what its first element becomes, and the factor; v begins with one then."""
        outlined()
        o, unit = index(0), index(1)
        largest, total = zero, zero
        for i in range(o, rest):
            # A NaN stays the largest.
            largest = abs(get(v, i)) if not abs(get(v, i)) <= largest else largest
        for i in range(o, rest if largest != zero else o):
            put(v, i, get(v, i) / largest)
            total = acc(total, get(v, i) * get(v, i))
        norm, first = np.sqrt(total), get(v, o)
        beta = -norm if first >= zero else norm
        for i in range(unit, rest if norm != zero else o):
            put(v, i, get(v, i) / (first - beta))
        put(v, o, one)
        return beta * largest, (beta - first) / beta if norm != zero else zero

    @compiled
    def reflect_twice(rest, v, f, p, below, lda):  # type: ignore[no-untyped-def]
        """`a -= v x^T + x v^T`, where x = f a v - (f / 2) (f v^T a v) v."""
        outlined()
        o = index(0)
        for i in range(o, rest):
            put(p, i, zero)
        for q in range(o, rest):
            column, y = shifted(below, q * lda), get(v, q) * f
            for i in range(o, rest):
                put(p, i, get(p, i) + get(column, i) * y)
        total = zero
        for i in range(o, rest):
            total = acc(total, get(p, i) * get(v, i))
        for i in range(o, rest):
            put(p, i, get(p, i) - f * total / two * get(v, i))
        for q in range(o, rest):
            column, x, y = shifted(below, q * lda), get(p, q), get(v, q)
            for i in range(o, rest):
                put(column, i, get(column, i) - (get(v, i) * x + get(p, i) * y))

    @compiled
    def reduced(n, a, lda, d, e, tau, p):  # type: ignore[no-untyped-def]
        """Of the lower triangle of a, with p as room for a vector."""
        outlined()
        o, unit = index(0), index(1)
        for j in range(o, n):
            for i in range(j + unit, n):
                put(a, j + i * lda, get(a, i + j * lda))
        for j in range(o, n - min(n, unit)):
            v, rest = shifted(a, j * lda + j + unit), n - j - unit
            found = reflection(rest, v)  # type: ignore[no-untyped-call]
            put(e, j, found[0])
            put(tau, j, found[1])
            f, below = found[1], shifted(v, lda)
            reflect_twice(rest, v, f, p, below, lda)  # type: ignore[no-untyped-call]
        for j in range(o, n):
            put(d, j, get(a, j + j * lda))

    return reduced


def sytrd_signature(dtype: str) -> Any:
    """uplo, n, the matrix and its leading dimension, the diagonal, what is beside it, the factors
    of the reflections, space, info."""
    return described("citittttii", dtype)


def sytrd(dtype: str) -> Callable[..., None]:
    """The lower triangle is read; the reflections, whose first elements are one, take its place."""
    reduced = _reduced(dtype)

    def function(uplo, of_n, a, of_lda, d, e, tau, work, of_room, info):  # type: ignore[no-untyped-def]
        o = index(0)
        reduced(index(get(of_n, o)), a, index(get(of_lda, o)), d, e, tau, work)
        put(info, o, np.int32(0))

    return function


def syevd_signature(dtype: str) -> Any:
    """jobz, uplo, n, the matrix and its leading dimension, eigenvalues, space twice, info."""
    return described("ccitittiiii", dtype)


def syevd(dtype: str) -> Callable[..., None]:
    """The lower triangle is read; vectors take the place of the matrix."""
    reduced, values = _reduced(dtype), turned_to_values(dtype)
    t = np.dtype(dtype).type
    zero, one = t(0), t(1)

    @compiled
    def gathered(n, a, lda, tau, z):  # type: ignore[no-untyped-def]
        """The product of the reflections."""
        outlined()
        o, unit = index(0), index(1)
        for j in range(o, n):
            for i in range(o, n):
                put(z, i + j * n, one if i == j else zero)
        for back in range(unit, n):
            j = n - unit - back
            v, f = shifted(a, j * lda + j + unit), get(tau, j)
            for q in range(j + unit, n):
                column, total = shifted(z, q * n + j + unit), zero
                for i in range(o, back):
                    total = acc(total, get(v, i) * get(column, i))
                for i in range(o, back):
                    put(column, i, get(column, i) - f * total * get(v, i))

    def function(jobz, uplo, of_n, a, of_lda, w, work, of_room, ints, of_ints, info):  # type: ignore[no-untyped-def]
        o = index(0)
        n, lda, vectors = index(get(of_n, o)), index(get(of_lda, o)), get(jobz, o) == VECTORS
        beside, tau, p = work, shifted(work, n), shifted(work, n + n)
        z = shifted(p, n)
        reduced(n, a, lda, w, beside, tau, p)
        if vectors:
            gathered(n, a, lda, tau, z)  # type: ignore[no-untyped-call]
        put(info, o, np.int32(values(n, w, beside, n if vectors else o, z, n)))
        for j in range(o, n if vectors else o):
            for i in range(o, n):
                put(a, i + j * lda, get(z, i + j * n))

    return function


def bdsqr_signature(dtype: str) -> Any:
    """uplo, n, how many vectors of three kinds, the diagonal and what is beside it, vectors of
    three kinds with their leading dimensions, space, info."""
    return described("ciiiitttititi" + "ti", dtype)


def bdsqr(dtype: str) -> Callable[..., None]:
    """Singular values alone, descending, into the diagonal."""
    values, t = turned_to_values(dtype), np.dtype(dtype).type

    def function(  # type: ignore[no-untyped-def]
        uplo, of_n, right, left, others, d, e, vt, of_ldvt, u, of_ldu, c, of_ldc, work, info
    ):
        # The eigenvalues of what has d[0], e[0], d[1], ... beside a diagonal of zeros come in
        # pairs of both signs.
        o, unit = index(0), index(1)
        n = index(get(of_n, o))
        whole, beside = work, shifted(work, n + n)
        for j in range(o, n):
            put(whole, j, t(0))
            put(whole, n + j, t(0))
            put(beside, j + j, get(d, j))
            if j + unit < n:
                put(beside, j + j + unit, get(e, j))
        failed = values(n + n, whole, beside, o, whole, o)
        for j in range(o, n):
            put(d, j, max(get(whole, n + n - unit - j), t(0)))
        put(info, o, np.int32(failed))

    return function
