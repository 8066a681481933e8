"""Triangular and orthogonal factors of matrices by columns: Golub and Van Loan, Matrix
Computations, algorithms 3.4.1, 4.2.1 and 5.2.1, with LAPACK's choice of pivots and signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bridge import compiled
from ..by_address import get, put, shifted
from ..support import acc, index, outlined
from .kinds import conj_of, described, real_of, real_part, size_of

__all__ = [
    "geqrf", "geqrf_signature", "gesv", "gesv_signature", "getrf", "getrf_signature", "orgqr",
    "orgqr_signature", "potrf", "potrf_signature",
]  # fmt: skip


def _eliminated(dtype: str) -> Callable[..., Any]:
    """Row by row exchanged and eliminated; the number of the first zero pivot, or 0."""
    zero, size = np.dtype(dtype).type(0), compiled(size_of(dtype))

    @compiled
    def eliminated(m, n, a, lda, pivots):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        failed = o
        for j in range(o, min(m, n)):
            column, best = shifted(a, j * lda), j
            largest = size(get(column, j))
            for i in range(j + unit, m):
                if size(get(column, i)) > largest:
                    best, largest = i, size(get(column, i))
            put(pivots, j, np.int32(best + unit))
            if get(column, best) == zero:
                failed = j + unit if failed == o else failed
            else:
                if best != j:
                    for q in range(o, n):
                        x = get(a, j + q * lda)
                        put(a, j + q * lda, get(a, best + q * lda))
                        put(a, best + q * lda, x)
                pivot = get(column, j)
                for i in range(j + unit, m):
                    put(column, i, get(column, i) / pivot)
            for q in range(j + unit, n):
                f, other = get(a, j + q * lda), shifted(a, q * lda)
                for i in range(j + unit, m):
                    put(other, i, get(other, i) - get(column, i) * f)
        return failed

    return eliminated


def getrf_signature(dtype: str) -> Any:
    """m, n, the matrix and its leading dimension, pivots, info."""
    return described("iitiii", dtype)


def getrf(dtype: str) -> Callable[..., None]:
    eliminated = _eliminated(dtype)

    def function(of_m, of_n, a, of_lda, pivots, info):  # type: ignore[no-untyped-def]
        o = index(0)
        m, n, lda = index(get(of_m, o)), index(get(of_n, o)), index(get(of_lda, o))
        put(info, o, np.int32(eliminated(m, n, a, lda, pivots)))

    return function


def gesv_signature(dtype: str) -> Any:
    """n, how many right-hand sides, the matrix and its leading dimension, pivots, the right-hand
    sides and theirs, info."""
    return described("iitiitii", dtype)


def gesv(dtype: str) -> Callable[..., None]:
    eliminated = _eliminated(dtype)

    def function(of_n, of_k, a, of_lda, pivots, b, of_ldb, info):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        n, k, lda, ldb = (
            index(get(of_n, o)), index(get(of_k, o)), index(get(of_lda, o)), index(get(of_ldb, o)),
        )  # fmt: skip
        failed = eliminated(n, n, a, lda, pivots)
        put(info, o, np.int32(failed))
        for j in range(o, k if failed == o else o):
            x = shifted(b, j * ldb)
            for q in range(o, n):
                other = index(get(pivots, q)) - unit
                value = get(x, q)
                put(x, q, get(x, other))
                put(x, other, value)
            for q in range(o, n):
                column, f = shifted(a, q * lda), get(x, q)
                for i in range(q + unit, n):
                    put(x, i, get(x, i) - get(column, i) * f)
            for back in range(o, n):
                q = n - unit - back
                column = shifted(a, q * lda)
                f = get(x, q) / get(column, q)
                put(x, q, f)
                for i in range(o, q):
                    put(x, i, get(x, i) - get(column, i) * f)

    return function


def potrf_signature(dtype: str) -> Any:
    """uplo, n, the matrix and its leading dimension, info."""
    return described("citii", dtype)


def potrf(dtype: str) -> Callable[..., None]:
    """The upper triangle of u with u^H u = a, in the place of that of a."""
    t = np.dtype(dtype).type
    conj, real, none = compiled(conj_of(dtype)), compiled(real_part(dtype)), real_of(dtype)(0)

    def function(uplo, of_n, a, of_lda, info):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        n, lda = index(get(of_n, o)), index(get(of_lda, o))
        failed = o
        for j in range(o, n):
            if failed == o:
                column = shifted(a, j * lda)
                rest = real(get(column, j))
                for q in range(o, j):
                    rest = rest - real(conj(get(column, q)) * get(column, q))
                if not rest <= none:
                    pivot = np.sqrt(rest)
                    put(column, j, t(pivot))
                    for i in range(j + unit, n):
                        other = shifted(a, i * lda)
                        total = t(0)
                        for q in range(o, j):
                            total = acc(total, conj(get(column, q)) * get(other, q))
                        put(other, j, (get(other, j) - total) / pivot)
                else:
                    failed = j + unit
        put(info, o, np.int32(failed))

    return function


def geqrf_signature(dtype: str) -> Any:
    """m, n, the matrix and its leading dimension, the factors of the reflections, space and its
    size, info."""
    return described("iitittii", dtype)


def _reflected(dtype: str) -> Callable[..., Any]:
    """`c -= f v (v^H c)` for columns of c, where v begins with a one that is not read."""
    conj = compiled(conj_of(dtype))

    @compiled
    def reflected(m, v, f, columns, c, ldc):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        for j in range(o, columns):
            target = shifted(c, j * ldc)
            total = get(target, o)
            for i in range(unit, m):
                total = acc(total, conj(get(v, i)) * get(target, i))
            total = total * f
            put(target, o, get(target, o) - total)
            for i in range(unit, m):
                put(target, i, get(target, i) - get(v, i) * total)

    return reflected


def geqrf(dtype: str) -> Callable[..., None]:
    t, number = np.dtype(dtype).type, real_of(dtype)
    conj, real, size = (compiled(f(dtype)) for f in (conj_of, real_part, size_of))
    reflected, none, one = _reflected(dtype), number(0), t(1)

    def function(of_m, of_n, a, of_lda, tau, work, of_room, info):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        m, n, lda = index(get(of_m, o)), index(get(of_n, o)), index(get(of_lda, o))
        for j in range(o, min(m, n)):
            v = shifted(a, j * lda + j)
            first, largest = get(v, o), none
            for i in range(unit, m - j):
                # A NaN stays the largest.
                largest = size(get(v, i)) if not size(get(v, i)) <= largest else largest
            if largest == none and first == t(real(first)):
                put(tau, j, t(0))
            else:
                # In parts of the largest: as small numbers as there are lose digits.
                largest = max(largest, size(first))
                first = first / largest
                total = real(conj(first) * first)
                for i in range(unit, m - j):
                    x = get(v, i) / largest
                    put(v, i, x)
                    total = acc(total, real(conj(x) * x))
                norm = np.sqrt(total)
                beta = -norm if real(first) >= none else norm
                put(tau, j, (t(beta) - first) / t(beta))
                scale = one / (first - t(beta))
                for i in range(unit, m - j):
                    put(v, i, get(v, i) * scale)
                put(v, o, t(beta * largest))
            reflected(m - j, v, conj(get(tau, j)), n - j - unit, shifted(v, lda), lda)
        put(info, o, np.int32(0))

    return function


def orgqr_signature(dtype: str) -> Any:
    """m, n, how many reflections, the matrix and its leading dimension, their factors, space and
    its size, info."""
    return described("iiitittii", dtype)


def orgqr(dtype: str) -> Callable[..., None]:
    t, reflected = np.dtype(dtype).type, _reflected(dtype)
    zero, one = t(0), t(1)

    def function(of_m, of_n, of_k, a, of_lda, tau, work, of_room, info):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        m, n, k, lda = (
            index(get(of_m, o)), index(get(of_n, o)), index(get(of_k, o)), index(get(of_lda, o)),
        )  # fmt: skip
        for j in range(k, n):
            for i in range(o, m):
                put(a, i + j * lda, one if i == j else zero)
        for back in range(o, k):
            j = k - unit - back
            v, f = shifted(a, j * lda + j), get(tau, j)
            reflected(m - j, v, f, n - j - unit, shifted(v, lda), lda)
            for i in range(unit, m - j):
                put(v, i, -f * get(v, i))
            put(v, o, one - f)
            for i in range(o, j):
                put(a, i + j * lda, zero)
        put(info, o, np.int32(0))

    return function
