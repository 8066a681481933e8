"""Cholesky factors of matrices given by their diagonals, and the derivative backwards.

Columns are worked off one after another, each as it lies in a copy by columns. A matrix may depend
on small numbers e1, e2, ..., of which no square counts: it has a plane for each product of some of
them (bit q of the number of a plane says whether e(q + 1) is in it), and so has the factor. The
derivative along a direction t is then the plane of e1 of the factor of `a + e1 t`, and so on for
those of all orders; that backwards of the gradient needs nothing else either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .. import bands
from .bridge import compiled, implements, scalar_type
from .by_address import get, given_back, is_there, put, reserved, shifted, word
from .dense import parts, pointers
from .factorizations import record
from .foreign import fill, routine
from .support import index, outlined, sqrt_float
from .symbols import OWN

__all__ = ["band_cholesky", "band_cholesky_adjoint"]


def band_cholesky(ab: Any, out: Any, lower: bool, status: Any = None, code: int = 0) -> None:
    """The triangular factors of a stack of diagonals (s, planes, k + 1, n), in the same form."""
    if not bands.cholesky(ab, out, lower):
        record(status, code, 1)


def band_cholesky_adjoint(
    ab: Any, ct: Any, out: Any, lower: bool, status: Any = None, code: int = 0
) -> None:
    """The cotangents of the diagonals for those of the factors."""
    if not bands.cholesky_adjoint(ab, ct, out, lower):
        record(status, code, 1)


# --- compiled -------------------------------------------------------------------------------------


def by_columns(ab: Any, work: Any, lower: bool) -> None:
    """`work[plane, j, i - j] = a[i, j]` for the lower triangle."""
    planes, wide, n = ab.shape
    fill(work, 0)
    for p in range(planes):
        for d in range(min(wide, n)):
            for j in range(n - d):
                if lower:
                    work[p, index(j), index(d)] = ab[p, index(d), index(j)]
                else:
                    value = ab[p, index(wide - 1 - d), index(j + d)]
                    work[p, index(j), index(d)] = np.conj(value)


def by_diagonals(work: Any, ab: Any, lower: bool) -> None:
    """The same backwards."""
    planes, wide, n = ab.shape
    fill(ab, 0)
    for p in range(planes):
        for d in range(min(wide, n)):
            for j in range(n - d):
                value = work[p, index(j), index(d)]
                if lower:
                    ab[p, index(d), index(j)] = value
                else:
                    ab[p, index(wide - 1 - d), index(j + d)] = np.conj(value)


WIDE, BLOCK, STRIP = 48, 16, 32
"""From so many diagonals on, so many columns at a time are worked off (twice as many of 4 times as
many diagonals), and what they change in strips of so many."""

BANDED_KINDS = "llllaao"


def banded_signature(dtype: str) -> Any:
    """n, how many diagonals below the main one, how many planes, whether cotangents are asked for;
    the matrix and then its factor, by columns (planes, n, k + 1), cotangents of the factor and
    then of the matrix; the number of the first pivot that is not positive."""
    i, t, o = pointers(dtype)
    return types.void(i, i, i, i, t, t, o)


def banded(dtype: str) -> Callable[..., None]:
    """The factor in the place of the matrix, and cotangents in their place."""
    own, t = parts(dtype), np.dtype(dtype).type
    subtract, product = own.subtract, own.product
    is_complex = np.dtype(dtype).kind == "c"
    real: Callable[..., Any] = compiled((lambda x: x.real) if is_complex else (lambda x: x))
    conj: Callable[..., Any] = compiled((lambda x: np.conj(x)) if is_complex else (lambda x: x))
    zero, two = (t(v).real.dtype.type(v) for v in (0, 2))

    @compiled
    def divide(n, x, pivot):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            put(x, j, get(x, j) / pivot)

    @compiled
    def inner(n, x, y):  # type: ignore[no-untyped-def]
        """The sum of conj(x) y."""
        total = t(0)
        for j in range(index(0), n):
            total = total + conj(get(x, j)) * get(y, j)
        return total

    @compiled
    def factor(n, k, planes, a):  # type: ignore[no-untyped-def]
        """0, or the number of the first pivot that is not positive."""
        o, unit = index(0), index(1)
        wide = k + unit
        plane = n * wide
        for j in range(o, n):
            here, reach = j * wide, min(k, n - unit - j)
            if real(get(a, here)) <= zero:
                return j + unit
            root = sqrt_float(real(get(a, here)))
            put(a, here, t(root))
            for s in range(unit, planes):
                value = real(get(a, s * plane + here))
                part = (s - unit) & s
                while part != o:
                    value -= real(get(a, part * plane + here)) * real(
                        get(a, (s ^ part) * plane + here)
                    )
                    part = (part - unit) & s
                put(a, s * plane + here, t(value / (two * root)))
            for s in range(o, planes):
                column = shifted(a, s * plane + here + unit)
                part = s
                while part != o:
                    other = s ^ part  # s without what the pivot gives
                    subtract(
                        reach, get(a, part * plane + here),
                        shifted(a, other * plane + here + unit), column,
                    )  # fmt: skip
                    part = (part - unit) & s
                divide(reach, column, t(root))  # type: ignore[no-untyped-call]
            for p in range(unit, reach + unit):
                to = (j + p) * wide
                for s in range(o, planes):
                    part, more = s, True
                    while more:
                        subtract(
                            reach - p + unit, conj(get(a, (s ^ part) * plane + here + p)),
                            shifted(a, part * plane + here + p), shifted(a, s * plane + to),
                        )  # fmt: skip
                        more = part != o
                        part = (part - unit) & s
        return o

    @compiled
    def panel(n, k, p, few, width):  # type: ignore[no-untyped-def]
        """The factor's first rows, of which each reaches k columns beyond the diagonal; as
        `factor`."""
        outlined()
        o, unit = index(0), index(1)
        for q in range(o, few):
            row, reach = shifted(p, q * width), min(q + k + unit, n)
            pivot = get(row, q)
            if pivot <= zero:
                return q + unit
            root = sqrt_float(pivot)
            put(row, q, root)
            divide(reach - q - unit, shifted(row, q + unit), root)  # type: ignore[no-untyped-call]
            for i in range(q + unit, few):
                below = shifted(p, i * width + i)
                subtract(reach - i, get(row, i), shifted(row, i), below)
        return o

    @compiled
    def factor_by_blocks(n, k, a):  # type: ignore[no-untyped-def]
        """As `factor` without planes. Of the transposed factor a few rows are worked off in a copy,
        where what they lack is 0, and what is right of them changes by products."""
        o, unit, strip = index(0), index(1), index(STRIP)
        block = index(2 * BLOCK) if k >= index(4 * WIDE) else index(BLOCK)
        wide, width = k + unit, k + block
        p = reserved(a, block * width + strip * strip)
        if not is_there(p):
            return factor(n, k, unit, a)  # type: ignore[no-untyped-call]
        square, failed, j = shifted(p, block * width), o, o
        while j < n:
            few, left = min(block, n - j), n - j
            for q in range(o, few):
                row, there = shifted(p, q * width), shifted(a, (j + q) * wide)
                for c in range(o, width):
                    put(row, c, zero)
                for d in range(o, min(wide, left - q)):
                    put(row, q + d, get(there, d))
            failed = panel(left, k, p, few, width)  # type: ignore[no-untyped-call]
            if failed != o:
                failed += j
                break
            for q in range(o, few):
                row, there = shifted(p, q * width), shifted(a, (j + q) * wide)
                for d in range(o, min(wide, left - q)):
                    put(there, d, get(row, q + d))
            rest, r = min(k, left - few), o
            while r < rest:
                rows, mine = min(strip, rest - r), shifted(p, few + r)
                for c in range(o, strip * strip):
                    put(square, c, zero)
                product(rows, rows, few, mine, unit, width, mine, width, square, strip)
                for i in range(o, rows):
                    there = shifted(a, (j + few + r + i) * wide)
                    for d in range(o, rows - i):
                        put(there, d, get(there, d) + get(square, i * strip + i + d))
                if r + rows < rest:
                    product(
                        rows, rest - r - rows, few, mine, unit, width, shifted(mine, rows), width,
                        shifted(a, (j + few + r) * wide + rows), k,
                    )  # fmt: skip
                r += rows
            j += few
        given_back(p)
        return failed

    @compiled
    def backwards(n, k, planes, a, ct):  # type: ignore[no-untyped-def]
        """Cotangents of planes come in the opposite order: what multiplies by a number with planes
        does so again."""
        o, unit = index(0), index(1)
        wide = k + unit
        plane, last = n * wide, planes - unit
        for back in range(o, n):
            j = n - unit - back
            here, reach = j * wide, min(k, back)
            root = real(get(a, here))
            for p in range(unit, reach + unit):
                to, length = (j + p) * wide, reach - p + unit
                for s in range(o, planes):
                    mine = (last - s) * plane + here + p
                    part, more = s, True
                    while more:
                        theirs = shifted(ct, (last - part) * plane + to)
                        own_part = shifted(a, (s ^ part) * plane + here + p)
                        subtract(length, get(own_part, o), theirs, shifted(ct, mine))
                        total = inner(length, theirs, own_part)  # type: ignore[no-untyped-call]
                        put(ct, mine, get(ct, mine) - total)
                        more = part != o
                        part = (part - unit) & s
            for s in range(o, planes):
                column = shifted(ct, (last - s) * plane + here + unit)
                part = s
                while part != o:
                    other = last - (s ^ part)
                    subtract(
                        reach, get(a, part * plane + here),
                        shifted(ct, other * plane + here + unit), column,
                    )  # fmt: skip
                    part = (part - unit) & s
                divide(reach, column, t(root))  # type: ignore[no-untyped-call]
            for s in range(o, planes):
                mine = (last - s) * plane + here
                value = real(get(ct, mine))
                part, more = s, True
                while more:
                    value -= real(
                        inner(  # type: ignore[no-untyped-call]
                            reach, shifted(ct, (last - part) * plane + here + unit),
                            shifted(a, (s ^ part) * plane + here + unit),
                        )
                    )  # fmt: skip
                    more = part != o
                    part = (part - unit) & s
                put(ct, mine, t(value / two))
            # Last, as a pivot's cotangents are read by nobody before.
            for s in range(o, planes):
                mine = (last - s) * plane + here
                value = real(get(ct, mine))
                part = s
                while part != o:
                    value -= real(get(ct, (last - (s ^ part)) * plane + here)) * real(
                        get(a, part * plane + here)
                    )
                    part = (part - unit) & s
                put(ct, mine, t(value / root))

    @compiled
    def quicker(n, k, planes, a):  # type: ignore[no-untyped-def]
        if planes == index(1) and k >= index(WIDE):
            return factor_by_blocks(n, k, a)  # type: ignore[no-untyped-call]
        return factor(n, k, planes, a)  # type: ignore[no-untyped-call]

    found = factor if is_complex else quicker

    def function(of_n, of_k, of_planes, of_adjoint, a, ct, info):  # type: ignore[no-untyped-def]
        n, k, planes = word(of_n), word(of_k), word(of_planes)
        failed = found(n, k, planes, a)  # type: ignore[no-untyped-call]
        if failed == index(0) and word(of_adjoint) != index(0):
            backwards(n, k, planes, a, ct)  # type: ignore[no-untyped-call]
        put(info, index(0), np.int32(failed))

    return function


implements(by_columns, inline=False)(lambda ab, work, lower: by_columns)
implements(by_diagonals, inline=False)(lambda work, ab, lower: by_diagonals)


def _worked(
    ab: Any, ct: Any, out: Any, lower: bool, backwards: bool, status: Any, code: int
) -> None:
    """The factors, or cotangents for those of the factors."""
    raise TypeError("compiled code only")


@implements(_worked, inline=False)
def _type_worked(
    ab: Any, ct: Any, out: Any, lower: Any, backwards: Any, status: Any, code: Any
) -> Any:
    number = scalar_type(ab.dtype)
    own = routine(OWN, f"banded_{ab.dtype}", BANDED_KINDS)

    def body(
        ab: Any, ct: Any, out: Any, lower: bool, backwards: bool, status: Any, code: int
    ) -> None:
        count, planes, wide, n = ab.shape
        work = np.empty((planes, n, wide), number)
        found = np.empty((planes, n, wide), number) if backwards else work
        for s in range(count):
            by_columns(ab[s], work, lower)
            if backwards:
                by_columns(ct[s], found, lower)
            failed = own(n, wide - 1, planes, 1 if backwards else 0, work, 0, found, 0)
            by_diagonals(found, out[s], lower)
            if failed != 0:
                fill(out[s], np.nan)
                record(status, code, failed)

    return body


@implements(band_cholesky)
def _type_cholesky(ab: Any, out: Any, lower: Any, status: Any = None, code: Any = 0) -> Any:
    def body(ab: Any, out: Any, lower: bool, status: Any = None, code: int = 0) -> None:
        _worked(ab, ab, out, lower, False, status, code)

    return body


@implements(band_cholesky_adjoint)
def _type_adjoint(ab: Any, ct: Any, out: Any, lower: Any, status: Any = None, code: Any = 0) -> Any:
    def body(ab: Any, ct: Any, out: Any, lower: bool, status: Any = None, code: int = 0) -> None:
        _worked(ab, ct, out, lower, True, status, code)

    return body
