"""Products of matrices by columns, with vectors, and with inverses of triangular matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..bridge import compiled
from ..by_address import get, put, shifted
from ..support import acc, index
from .kinds import conj_of, described

__all__ = ["gemm", "gemm_signature", "gemv", "gemv_signature", "trsm", "trsm_signature"]

PLAIN, ADJOINT, LEFT, UPPER, ONES = ord("N"), ord("C"), ord("L"), ord("U"), ord("U")


def gemv_signature(dtype: str) -> Any:
    """trans, m, n, alpha, a, its leading dimension, x, its increment, beta, y, its increment."""
    return described("ciittititti", dtype)


def gemv(dtype: str) -> Callable[..., None]:
    """y = alpha op(a) x + beta y; a zero beta overwrites what is there."""
    t = np.dtype(dtype).type
    zero, conj = t(0), compiled(conj_of(dtype))

    def function(trans, of_m, of_n, alpha, a, of_lda, x, inc_x, beta, y, inc_y):  # type: ignore[no-untyped-def]
        o = index(0)
        m, n, lda = index(get(of_m, o)), index(get(of_n, o)), index(get(of_lda, o))
        kind, factor, keep = get(trans, o), get(alpha, o), get(beta, o)
        if kind == PLAIN:
            for i in range(o, m):
                put(y, i, zero if keep == zero else get(y, i) * keep)
            for j in range(o, n):
                f, column = factor * get(x, j), shifted(a, j * lda)
                for i in range(o, m):
                    put(y, i, get(y, i) + get(column, i) * f)
        else:
            for j in range(o, n):
                total, column = zero, shifted(a, j * lda)
                if kind == ADJOINT:
                    for i in range(o, m):
                        total = acc(total, conj(get(column, i)) * get(x, i))
                else:
                    for i in range(o, m):
                        total = acc(total, get(column, i) * get(x, i))
                put(y, j, factor * total + (zero if keep == zero else get(y, j) * keep))

    return function


def gemm_signature(dtype: str) -> Any:
    """transa, transb, m, n, k, alpha, a and b with their leading dimensions, beta, c and its."""
    return described("cciiittititti", dtype)


def gemm(dtype: str) -> Callable[..., None]:
    """c = alpha op(a) op(b) + beta c; a zero beta overwrites what is there."""
    t = np.dtype(dtype).type
    zero, conj = t(0), compiled(conj_of(dtype))

    def function(trans_a, trans_b, of_m, of_n, of_k, alpha, a, of_lda, b, of_ldb, beta, c, of_ldc):  # type: ignore[no-untyped-def]
        o = index(0)
        m, n, k = index(get(of_m, o)), index(get(of_n, o)), index(get(of_k, o))
        lda, ldb, ldc = index(get(of_lda, o)), index(get(of_ldb, o)), index(get(of_ldc, o))
        turned, kind, keep = get(trans_a, o), get(trans_b, o), get(beta, o)
        for j in range(o, n):
            target = shifted(c, j * ldc)
            for i in range(o, m):
                put(target, i, zero if keep == zero else get(target, i) * keep)
            for q in range(o, k):
                value = get(b, q + j * ldb) if kind == PLAIN else get(b, j + q * ldb)
                f = get(alpha, o) * (conj(value) if kind == ADJOINT else value)
                if turned == PLAIN:
                    for i in range(o, m):
                        put(target, i, get(target, i) + get(a, i + q * lda) * f)
                elif turned == ADJOINT:
                    for i in range(o, m):
                        put(target, i, get(target, i) + conj(get(a, q + i * lda)) * f)
                else:
                    for i in range(o, m):
                        put(target, i, get(target, i) + get(a, q + i * lda) * f)

    return function


def trsm_signature(dtype: str) -> Any:
    """side, uplo, trans, diag, m, n, alpha, a and b with their leading dimensions."""
    return described("cccciittiti", dtype)


def trsm(dtype: str) -> Callable[..., None]:
    """b becomes alpha op(a)^-1 b, or alpha b op(a)^-1; a is triangular, its diagonal of ones is
    not read."""
    conj = compiled(conj_of(dtype))

    def function(side, uplo, trans, diag, of_m, of_n, alpha, a, of_lda, b, of_ldb):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        m, n, lda, ldb = (
            index(get(of_m, o)), index(get(of_n, o)), index(get(of_lda, o)), index(get(of_ldb, o)),
        )  # fmt: skip
        left, plain = get(side, o) == LEFT, get(trans, o) == PLAIN
        # Right-hand sides lie along rows where the matrix stands on the right, transposed.
        size, count = m if left else n, n if left else m
        step, apart = unit if left else ldb, ldb if left else unit
        row, col = unit if plain == left else lda, lda if plain == left else unit
        upper = (get(uplo, o) == UPPER) == (plain == left)
        for j in range(o, count):
            x = shifted(b, j * apart)
            for i in range(o, size):
                put(x, i * step, get(x, i * step) * get(alpha, o))
            for k in range(o, size):
                q = size - unit - k if upper else k
                first, last = o if upper else q + unit, q if upper else size
                f = get(x, q * step)
                if get(diag, o) != ONES:
                    pivot = get(a, q * (row + col))
                    f = f / (conj(pivot) if get(trans, o) == ADJOINT else pivot)
                    put(x, q * step, f)
                for i in range(first, last):
                    value = get(a, i * row + q * col)
                    value = conj(value) if get(trans, o) == ADJOINT else value
                    put(x, i * step, get(x, i * step) - value * f)

    return function
