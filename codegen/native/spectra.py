"""Eigenvalues of Hermitian matrices and singular values without vectors, through LAPACK; those
of real symmetric matrices of middling size by own tridiagonal forms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import numpy_support

from . import bidiagonal, divided, factorizations, tridiagonal
from .bridge import implements
from .factorizations import eigh, eigvalsh, record, svdvals
from .foreign import fill, lapack, letter, routine, turned
from .lapack import LOWER, PLAIN, Body, _numpy_type, _real_type, _stacked
from .support import index, signed
from .symbols import OWN

__all__ = ["blocked_eigh", "blocked_eigvalsh", "blocked_svdvals", "eigvalsh", "svdvals"]

LEAST, UPPER = 24, ord("U")
"""Below so many rows LAPACK takes no longer."""
TALL = 2
"""Matrices of so many times more rows than columns are LAPACK's, which begins with their QR
factors."""


def blocked_eigh(a: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
    factorizations.eigh(a, w, v, status, code)


def blocked_eigvalsh(a: Any, w: Any, status: Any = None, code: int = 0) -> None:
    factorizations.eigvalsh(a, w, status, code)


def blocked_svdvals(a: Any, s: Any, status: Any = None, code: int = 0) -> None:
    factorizations.svdvals(a, s, status, code)


def _usual(a: Any) -> bool:
    """Whether the lower triangle is finite and nothing has to be scaled."""
    raise TypeError("compiled code only")


@implements(_usual, inline=False)
def _type_usual(a: Any) -> Any:
    t = numpy_support.as_dtype(a.dtype).type
    least, most, zero = *tridiagonal.unscaled(t), t(0)

    def body(a: Any) -> bool:
        largest, sane = zero, zero
        for i in range(a.shape[0]):
            for j in range(i + 1):
                x = a[i, j]
                sane = sane + (x - x)
                largest = max(largest, abs(x))
        return bool(sane == zero and (largest == zero or least < largest < most))

    return body


def _make_eigvalsh(a: Any, w: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    kinds = "cciaiaaiaiaio" if is_complex else "cciaiaaiaio"
    evd = lapack(a.dtype, "syevd", kinds, "heevd")

    def of_complex(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, space = np.empty((n, n), t), np.empty(65 * n + 1, t)
        reals, ints = np.empty(n, real), np.empty(1, np.int32)
        turned(a, work)
        info = evd(
            PLAIN, LOWER, n, work, 0, n, w, 0, space, 0, space.size, reals, 0, reals.size, ints, 0,
            ints.size,
        )  # fmt: skip
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)

    def of_real(a: Any, w: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        # Room for blocks of 64 columns, with which the reduction to a tridiagonal matrix is fast.
        work, space, ints = np.empty((n, n), t), np.empty(66 * n + 1, t), np.empty(1, np.int32)
        turned(a, work)
        info = evd(PLAIN, LOWER, n, work, 0, n, w, 0, space, 0, space.size, ints, 0, ints.size)
        if info != 0:
            fill(w, np.nan)
            record(status, code, info)

    return of_complex if is_complex else of_real


def _make_svdvals(a: Any, s: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    gesdd = lapack(a.dtype, "gesdd", "ciiaiaaiaiaiaao" if is_complex else "ciiaiaaiaiaiao")

    def of_complex(a: Any, s: Any, status: Any, code: int) -> None:
        m, n = a.shape
        k, large = min(m, n), max(m, n)
        if k == 0:
            return
        work, space = np.empty((n, m), t), np.empty(2 * k + 64 * (large + k), t)
        reals, ints = np.empty(7 * k, real), np.empty(8 * k, np.int32)
        turned(a, work)
        info = gesdd(
            PLAIN, m, n, work, 0, m, s, 0, work, 0, m, work, 0, k, space, 0, space.size, reals, 0,
            ints, 0,
        )  # fmt: skip
        if info != 0:
            fill(s, np.nan)
            record(status, code, info)

    def of_real(a: Any, s: Any, status: Any, code: int) -> None:
        m, n = a.shape
        k, large = min(m, n), max(m, n)
        if k == 0:
            return
        work, space = np.empty((n, m), t), np.empty(10 * k + 64 * (large + k), t)
        ints = np.empty(8 * k, np.int32)
        turned(a, work)
        info = gesdd(
            PLAIN, m, n, work, 0, m, s, 0, work, 0, m, work, 0, k, space, 0, space.size, ints, 0
        )
        if info != 0:
            fill(s, np.nan)
            record(status, code, info)

    return of_complex if is_complex else of_real


_stacked(eigvalsh, (2, 1), _make_eigvalsh)
_stacked(svdvals, (2, 1), _make_svdvals)


@implements(blocked_eigvalsh, inline=False)
def _type_eigvalsh(a: Any, w: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"tridiagonal_{a.dtype}", tridiagonal.TRIDIAGONAL_KINDS)
    t, sterf = numpy_support.as_dtype(a.dtype).type, lapack(a.dtype, "sterf", "iaao")
    least, most, side = LEAST, tridiagonal.MOST, tridiagonal.side

    def body(a: Any, w: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = a.shape
        if n < least or n > most:
            eigvalsh(a, w, status, code)
            return
        apart = side(n)
        beside, tau, vectors = np.empty(n, t), np.empty(n, t), np.empty(n * apart, t)
        for q in range(count):
            if own(n, apart, a, q * n * n, w, q * n, beside, 0, tau, 0, vectors, 0) != 0:
                eigvalsh(a[q], w[q], status, code)
            else:
                info = sterf(n, w, q * n, beside, 0)
                if info != 0:
                    fill(w[q], np.nan)
                    record(status, code, info)

    return body


@implements(blocked_eigh, inline=False)
def _type_eigh(a: Any, w: Any, v: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"tridiagonal_{a.dtype}", tridiagonal.TRIDIAGONAL_KINDS)
    back = routine(OWN, f"back_{a.dtype}", tridiagonal.BACK_KINDS)
    divide = routine(OWN, f"divided_{a.dtype}", divided.DIVIDED_KINDS)
    t = numpy_support.as_dtype(a.dtype).type
    sytrd, usual = lapack(a.dtype, "sytrd", "ciaiaaaaio"), _usual
    room, numbers = divided.divided_space, divided.divided_integers
    least, most, side = LEAST, tridiagonal.MOST, tridiagonal.side
    block, strip = tridiagonal.BLOCK, tridiagonal.STRIP

    def body(a: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = a.shape
        if n < least:
            eigh(a, w, v, status, code)
            return
        apart = side(n)
        beside, tau, vectors = np.empty(n, t), np.empty(n, t), np.empty((n, apart), t)
        inner = np.empty((n, n), t)
        of_back = n * (n + 3 * block + strip) + block * block
        space = np.empty(max(of_back, signed(room(index(n)))), t)
        ints = np.empty(signed(numbers(index(n))), np.int64)
        for q in range(count):
            failed = 0
            if n <= most:
                failed = own(n, apart, a, q * n * n, w, q * n, beside, 0, tau, 0, vectors, 0)
            elif usual(a[q]):
                turned(a[q], vectors)
                sytrd(
                    LOWER, n, vectors, 0, apart, w, q * n, beside, 0, tau, 0, space, 0, space.size
                )  # fmt: skip
                for k in range(n - 1):
                    vectors[k, k + 1] = 1
            else:
                failed = 1
            if failed != 0:
                eigh(a[q], w[q], v[q], status, code)
            else:
                info = divide(n, w, q * n, beside, 0, inner, 0, space, 0, ints, 0)
                if info != 0:
                    fill(w[q], np.nan)
                    fill(v[q], np.nan)
                    record(status, code, info)
                else:
                    back(n, apart, vectors, 0, tau, 0, inner, 0, v, q * n * n, space, 0)

    return body


@implements(blocked_svdvals, inline=False)
def _type_svdvals(a: Any, s: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"bidiagonal_{a.dtype}", bidiagonal.BIDIAGONAL_KINDS)
    t, bdsqr = numpy_support.as_dtype(a.dtype).type, lapack(a.dtype, "bdsqr", "ciiiiaaaiaiaiao")
    least, tall, rest, few = LEAST, TALL, bidiagonal.SLACK, bidiagonal.FEW
    side, room = bidiagonal.side, bidiagonal.bidiagonal_space

    def body(a: Any, s: Any, status: Any = None, code: int = 0) -> None:
        count, rows, columns = a.shape
        k, large = min(rows, columns), max(rows, columns)
        if k < least or large >= tall * k:
            svdvals(a, s, status, code)
            return
        # The columns of the matrix that is reduced lie along memory: it is a or its transpose.
        row, col = (1, columns) if rows > columns else (columns, 1)
        beside, left_tau, right_tau = np.empty(k, t), np.empty(k, t), np.empty(k, t)
        left = np.empty(signed((index(k) + few) * side(index(large))) + rest, t)
        right = np.empty(signed(index(k) * side(index(k) + few)) + rest, t)
        space = np.empty(signed(room(index(large), index(k))), t)
        none = np.empty(1, t)
        for q in range(count):
            failed = own(
                large, k, row, col, a, q * rows * columns, s, q * k, beside, 0, left_tau, 0,
                right_tau, 0, left, 0, right, 0, space, 0,
            )  # fmt: skip
            if failed != 0:
                svdvals(a[q], s[q], status, code)
            else:
                info = bdsqr(
                    UPPER, k, 0, 0, 0, s, q * k, beside, 0, none, 0, 1, none, 0, 1, none, 0, 1,
                    space, 0,
                )  # fmt: skip
                if info != 0:
                    fill(s[q], np.nan)
                    record(status, code, info)

    return body
