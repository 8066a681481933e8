"""Matrices given by their diagonals (`codegen.bands` says how): systems of them, products, and the
diagonals of outer products.

Systems are worked off by rows. Each row of the matrix is kept with room for what exchanged rows
bring, and the right-hand sides are changed along with it; so the time is as
n * lower * (lower + upper), and nothing as large as n * n is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .. import bands
from .bridge import compiled, implements, scalar_type
from .by_address import get, put, shifted, word
from .dense import parts, pointers
from .factorizations import record
from .foreign import fill, routine
from .support import acc, fabs_float, index, outlined
from .symbols import OWN
from .triangular_bands import BLOCK, solved_by_diagonals

__all__ = ["band_entries", "band_product", "band_solve"]


COLUMNS = 16


def band_solve(
    ab: Any, b: Any, x: Any, lower: int, upper: int, trans: int, definite: bool, status: Any = None,
    code: int = 0,
) -> None:  # fmt: skip
    """`op(a) @ x = b` for stacks of diagonals (s, lower + upper + 1, n) and right-hand sides
    (s, n, k)."""
    if not bands.solve(ab, b, x, lower, upper, trans, definite):
        record(status, code, 1)


def band_product(ab: Any, x: Any, out: Any, lower: int, upper: int, trans: int) -> None:
    """`out = op(a) @ x` for stacks."""
    bands.product(ab, x, out, lower, upper, trans)


def band_entries(y: Any, x: Any, out: Any, lower: int, upper: int) -> None:
    """The diagonals of `y @ x.T` for stacks (s, n, k); zero where there is no element."""
    bands.entries(y, x, out, lower, upper)


# --- compiled -------------------------------------------------------------------------------------


def laid_out(ab: Any, work: Any, lower: int, upper: int, trans: int) -> None:
    """The rows of op(a): `work[i, below + j - i] = op(a)[i, j]`, zeros elsewhere."""
    n = ab.shape[1]
    below = upper if trans != 0 else lower
    fill(work, 0)
    # A few columns of all diagonals at a time, whose rows stay in the cache.
    for first in range(0, n, COLUMNS):
        for place in range(lower + upper + 1):
            off = place - upper
            for j in range(max(first, -off), min(first + COLUMNS, min(n, n - off))):
                value = ab[index(place), index(j)]
                if trans == 0:
                    work[index(j + off), index(below - off)] = value
                elif trans == 1:
                    work[index(j), index(below + off)] = value
                else:
                    work[index(j), index(below + off)] = np.conj(value)


BANDS_KINDS = "lllllaao"


def bands_signature(dtype: str) -> Any:
    """n, how many right-hand sides, how many diagonals below and above, a flag `definite`, the rows
    of the matrix, the right-hand sides and then the solution (n, k); the number of the first pivot
    that is none."""
    i, t, o = pointers(dtype)
    return types.void(i, i, i, i, i, t, t, o)


def eliminate(dtype: str) -> Callable[..., None]:
    """The solution of the system whose rows are laid out, in place: n rows of
    2 * below + above + 1 numbers, or without the first term where no rows are exchanged."""
    zero = np.dtype(dtype).type(0)
    size = compiled(_size_of_complex if np.dtype(dtype).kind == "c" else _size_of_real)
    negative = compiled(_negative_complex if np.dtype(dtype).kind == "c" else _negative_real)

    own = parts(dtype)
    subtract, exchange = own.subtract, own.exchange

    @compiled
    def inner(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        total = zero
        for j in range(index(0), n):
            total = acc(total, get(x, j) * get(y, j))
        return total

    def function(of_n, of_k, of_below, of_above, of_definite, work, x, info):  # type: ignore[no-untyped-def]
        o, unit = index(0), index(1)
        n, k, below, above = word(of_n), word(of_k), word(of_below), word(of_above)
        definite = word(of_definite) != o
        # A triangular matrix needs no exchange, and a definite one gains nothing by it.
        exchanging = below > o and above > o and not definite
        # Where a row's element on the diagonal and, one row further, the one below it are.
        wide = below + above + (below if exchanging else o) + unit
        next_row = wide - unit
        end, failed = unit, o  # one behind the last column that the pivot's row reaches
        # One right-hand side is worked off by inner products with rows.
        single = k == unit
        forward = single and above == o
        for p in range(o, n):
            if forward:
                many, pivot = min(below, p), get(work, p * wide + below)
                if pivot == zero or (definite and negative(pivot)):
                    failed = p + unit
                    break
                row = shifted(work, p * wide + below - many)
                summed = inner(many, row, shifted(x, p - many))  # type: ignore[no-untyped-call]
                put(x, p, (get(x, p) - summed) / pivot)
                continue
            here, stop, which = p * wide + below, min(n, p + below + unit), p
            if exchanging:
                most = size(get(work, here))
                for i in range(p + unit, stop):
                    found = size(get(work, here + (i - p) * next_row))
                    if found > most:
                        most, which = found, i
            end = min(n, max(end, which + above + unit))
            if which != p:
                there = here + (which - p) * next_row
                exchange(end - p, shifted(work, here), shifted(work, there))
                exchange(k, shifted(x, p * k), shifted(x, which * k))
            pivot = get(work, here)
            if pivot == zero or (definite and negative(pivot)):
                failed = p + unit
                break
            behind = here + unit
            for i in range(p + unit, stop):
                there = here + (i - p) * next_row
                factor = get(work, there)
                if factor != zero:
                    factor = factor / pivot
                    subtract(
                        end - p - unit, factor, shifted(work, behind), shifted(work, there + unit)
                    )
                    if single:
                        put(x, i, get(x, i) - factor * get(x, p))
                    else:
                        subtract(k, factor, shifted(x, p * k), shifted(x, i * k))
        if failed == o and single and not forward:
            for back in range(o, n):
                p = n - unit - back
                here, many = p * wide + below, min(n - unit - p, wide - below - unit)
                row, rest = shifted(work, here + unit), shifted(x, p + unit)
                summed = inner(many, row, rest)  # type: ignore[no-untyped-call]
                put(x, p, (get(x, p) - summed) / get(work, here))
        elif failed == o and not single:
            for back in range(o, n):
                p = n - unit - back
                here = p * wide + below
                for j in range(p + unit, min(n, p + wide - below)):
                    subtract(k, get(work, here + j - p), shifted(x, j * k), shifted(x, p * k))
                pivot = get(work, here)
                for c in range(p * k, p * k + k):
                    put(x, c, get(x, c) / pivot)
        put(info, o, np.int32(failed))

    return function


def _size_of_complex(value: Any) -> Any:
    return fabs_float(value.real) + fabs_float(value.imag)


def _size_of_real(value: Any) -> Any:
    return fabs_float(value)


def _negative_complex(value: Any) -> Any:
    return value.real < 0


def _negative_real(value: Any) -> Any:
    return value < 0


implements(laid_out, inline=False)(lambda ab, work, lower, upper, trans: laid_out)


@implements(band_solve, inline=False)
def _type_solve(
    ab: Any, b: Any, x: Any, lower: Any, upper: Any, trans: Any, definite: Any, status: Any = None,
    code: Any = 0,
) -> Any:  # fmt: skip
    number = scalar_type(ab.dtype)
    own = routine(OWN, f"bands_{ab.dtype}", BANDS_KINDS)

    def body(
        ab: Any, b: Any, x: Any, lower: int, upper: int, trans: int, definite: bool,
        status: Any = None, code: int = 0,
    ) -> None:  # fmt: skip
        count, n, k = b.shape
        if k == 1 and (lower == 0) != (upper == 0) and not definite:
            sums = np.empty(BLOCK, number)
            for s in range(count):
                for i in range(n):
                    x[s, index(i), 0] = b[s, index(i), 0]
                failed = solved_by_diagonals(ab, x, lower, upper, trans, s, sums)
                if failed != 0:
                    fill(x[s], np.nan)
                    record(status, code, failed)
            return
        below, above = (upper, lower) if trans != 0 else (lower, upper)
        more = below if above > 0 and not definite else 0
        work = np.empty((n, below + above + more + 1), number)
        hermitian = 1 if definite else 0
        for s in range(count):
            laid_out(ab[s], work, lower, upper, trans)
            for i in range(n):
                for c in range(k):
                    x[s, index(i), index(c)] = b[s, index(i), index(c)]
            failed = own(n, k, below, above, hermitian, work, 0, x, s * n * k) if k > 0 else 0
            if failed != 0:
                fill(x[s], np.nan)
                record(status, code, failed)

    return body


@implements(band_product, inline=False)
def _type_product(ab: Any, x: Any, out: Any, lower: Any, upper: Any, trans: Any) -> Any:
    def body(ab: Any, x: Any, out: Any, lower: int, upper: int, trans: int) -> None:
        count, n, k = x.shape
        fill(out, 0)
        for s in range(count):
            for place in range(lower + upper + 1):
                off = place - upper
                for j in range(max(0, -off), min(n, n - off)):
                    value = ab[s, index(place), index(j)]
                    if trans == 2:
                        value = np.conj(value)
                    to = j if trans != 0 else j + off
                    source = j + off if trans != 0 else j
                    for c in range(index(k)):
                        out[s, index(to), c] += value * x[s, index(source), c]

    return body


@implements(band_entries, inline=False)
def _type_entries(y: Any, x: Any, out: Any, lower: Any, upper: Any) -> Any:
    number = scalar_type(y.dtype)

    def body(y: Any, x: Any, out: Any, lower: int, upper: int) -> None:
        count, n, k = x.shape
        fill(out, 0)
        for s in range(count):
            for place in range(lower + upper + 1):
                off = place - upper
                for j in range(max(0, -off), min(n, n - off)):
                    total = number(0)
                    for c in range(index(k)):
                        total += y[s, index(j + off), c] * x[s, index(j), c]
                    out[s, index(place), index(j)] = total

    return body
