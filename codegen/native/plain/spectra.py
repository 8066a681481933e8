"""Eigenvalues and vectors of symmetric matrices by Householder's reduction and the implicit QL
method (Martin and Wilkinson, Numerische Mathematik 11 and 12, 1968), and singular values of
bidiagonal ones as eigenvalues of a tridiagonal matrix with zeros on its diagonal (Golub and Kahan,
SIAM J. Numer. Anal. 2, 1965)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bridge import compiled
from ..by_address import get, put, shifted
from ..support import acc, index, outlined
from .kinds import described

__all__ = [
    "bdsqr", "bdsqr_signature", "stedc", "stedc_signature", "sterf", "sterf_signature", "syevd",
    "syevd_signature", "sytrd", "sytrd_signature",
]  # fmt: skip

VECTORS = ord("V")
ROUNDS = 60
"""Steps after which an eigenvalue has not been found: two or three are usual."""


def _turned_to_values(dtype: str) -> Callable[..., Any]:
    t = np.dtype(dtype).type
    zero, one, two, eps = t(0), t(1), t(2), t(np.finfo(dtype).eps)

    @compiled
    def length(x, y):  # type: ignore[no-untyped-def]
        large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
        r = small / large if large > zero else zero
        return large * np.sqrt(one + r * r)

    @compiled
    def values(n, d, e, rows, z, ldz):  # type: ignore[no-untyped-def]
        """The eigenvalues, ascending, into d, and the columns of z turned along; the number of
        the one that was not found, or 0. e is lost, and has a place more."""
        outlined()
        o, unit = index(0), index(1)
        failed, largest = o, zero
        if n > o:
            put(e, n - unit, zero)
        for q in range(o, n):
            largest = max(largest, max(abs(get(d, q)), abs(get(e, q))))
        largest = largest if largest > zero and largest - largest == zero else one
        for q in range(o, n):
            put(d, q, get(d, q) / largest)
            put(e, q, get(e, q) / largest)
        for q in range(o, n):
            rounds, going = o, True
            while going:
                m = q
                # What is no larger than eps * eps is nothing beside the largest element, one.
                while m + unit < n and not (
                    abs(get(e, m)) <= eps * (abs(get(d, m)) + abs(get(d, m + unit)) + eps)
                ):
                    m += unit
                if m == q or failed != o:
                    going = False
                elif rounds == index(ROUNDS):
                    failed = q + unit
                else:
                    rounds += unit
                    g = (get(d, q + unit) - get(d, q)) / (two * get(e, q))
                    r = length(g, one)  # type: ignore[no-untyped-call]
                    g = get(d, m) - get(d, q) + get(e, q) / (g + (r if g >= zero else -r))
                    s, c, p = one, one, zero
                    whole, i = True, m
                    while whole and i > q:
                        i -= unit
                        f, b = s * get(e, i), c * get(e, i)
                        r = length(f, g)  # type: ignore[no-untyped-call]
                        put(e, i + unit, r)
                        if r == zero:
                            put(d, i + unit, get(d, i + unit) - p)
                            put(e, m, zero)
                            whole = False
                        else:
                            s, c = f / r, g / r
                            g = get(d, i + unit) - p
                            r = (get(d, i) - g) * s + two * c * b
                            p = s * r
                            put(d, i + unit, g + p)
                            g = c * r - b
                            left, right = shifted(z, i * ldz), shifted(z, (i + unit) * ldz)
                            for k in range(o, rows):
                                x, y = get(left, k), get(right, k)
                                put(right, k, s * x + c * y)
                                put(left, k, c * x - s * y)
                    if whole:
                        put(d, q, get(d, q) - p)
                        put(e, q, g)
                        put(e, m, zero)
        for q in range(o, n):
            put(d, q, get(d, q) * largest)
        for q in range(o, n):
            least = q
            for i in range(q + unit, n):
                if get(d, i) < get(d, least):
                    least = i
            if least != q:
                x = get(d, q)
                put(d, q, get(d, least))
                put(d, least, x)
                left, right = shifted(z, q * ldz), shifted(z, least * ldz)
                for k in range(o, rows):
                    x = get(left, k)
                    put(left, k, get(right, k))
                    put(right, k, x)
        return failed

    return values


def sterf_signature(dtype: str) -> Any:
    """n, the diagonal and what is beside it, info."""
    return described("itti", dtype)


def sterf(dtype: str) -> Callable[..., None]:
    values = _turned_to_values(dtype)

    def function(of_n, d, e, info):  # type: ignore[no-untyped-def]
        o = index(0)
        put(info, o, np.int32(values(index(get(of_n, o)), d, e, o, d, o)))

    return function


def stedc_signature(dtype: str) -> Any:
    """compz, n, the diagonal and what is beside it, the vectors and their leading dimension, space
    twice, info."""
    return described("citttitiiii", dtype)


def stedc(dtype: str) -> Callable[..., None]:
    """Eigenvalues and vectors of the tridiagonal matrix."""
    values, t = _turned_to_values(dtype), np.dtype(dtype).type
    zero, one = t(0), t(1)

    def function(compz, of_n, d, e, z, of_ldz, work, of_room, ints, of_ints, info):  # type: ignore[no-untyped-def]
        o = index(0)
        n, ldz = index(get(of_n, o)), index(get(of_ldz, o))
        for j in range(o, n):
            for i in range(o, n):
                put(z, i + j * ldz, one if i == j else zero)
        put(info, o, np.int32(values(n, d, e, n, z, ldz)))

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
    reduced, values = _reduced(dtype), _turned_to_values(dtype)
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
    values, t = _turned_to_values(dtype), np.dtype(dtype).type

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
