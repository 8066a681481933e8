"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices, of which the two diagonals are
read only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import numpy_support

from .bridge import implements, scalar_type
from .divided import DIVIDED_KINDS, divided_integers, divided_space
from .factorizations import record
from .foreign import fill, lapack, routine, turned
from .support import index, signed
from .symbols import OWN
from .tridiagonal import unscaled

__all__ = ["tridiagonal_eigh", "tridiagonal_eigvalsh"]


def tridiagonal_eigh(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
    """For stacks of diagonals (s, n) and of what is beside them (s, n - 1)."""
    for q in range(len(d)):
        if not np.isfinite(d[q]).all() or not np.isfinite(e[q]).all():
            w[q] = v[q] = np.nan
            continue
        w[q], v[q] = np.linalg.eigh(np.diag(d[q]) + np.diag(e[q], -1))


def tridiagonal_eigvalsh(d: Any, e: Any, w: Any, status: Any = None, code: int = 0) -> None:
    """The values alone."""
    tridiagonal_eigh(d, e, w, np.empty((*d.shape, d.shape[1])), status, code)


# --- compiled -------------------------------------------------------------------------------------


def _taken(d: Any, e: Any, w: Any, beside: Any) -> Any:
    """Copies that are worked in, times a power of two that keeps squares of differences finite: it
    is the result, or 0 where not all is finite."""
    raise TypeError("compiled code only")


@implements(_taken, inline=False)
def _type_taken(d: Any, e: Any, w: Any, beside: Any) -> Any:
    t = numpy_support.as_dtype(d.dtype).type
    (least, most), zero, one = unscaled(t), t(0), t(1)

    def body(d: Any, e: Any, w: Any, beside: Any) -> Any:
        largest, sane, factor = zero, zero, one
        for i in range(len(d)):
            largest, sane = max(largest, abs(d[i])), sane + (d[i] - d[i])
        for i in range(len(e)):
            largest, sane = max(largest, abs(e[i])), sane + (e[i] - e[i])
        if sane != zero:
            return zero
        while zero < largest < least:
            largest, factor = largest * most, factor * most
        while largest > most:
            largest, factor = largest * least, factor * least
        for i in range(len(d)):
            w[i] = d[i] * factor
        for i in range(len(e)):
            beside[i] = e[i] * factor
        return factor

    return body


def _finished(w: Any, factor: Any) -> None:
    """Eigenvalues of the matrix as it was."""
    if factor != 1:
        for i in range(len(w)):
            w[i] = w[i] / factor


implements(_finished, inline=False)(lambda w, factor: _finished)


@implements(tridiagonal_eigh, inline=False)
def _type_eigh(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: Any = 0) -> Any:
    number, divide = scalar_type(d.dtype), routine(OWN, f"divided_{d.dtype}", DIVIDED_KINDS)
    room, numbers = divided_space, divided_integers

    def body(d: Any, e: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
        count, n = d.shape
        if n == 0:
            return
        beside, inner = np.empty(n, number), np.empty((n, n), number)
        space = np.empty(signed(room(index(n))), number)
        ints = np.empty(signed(numbers(index(n))), np.int64)
        for q in range(count):
            factor = _taken(d[q], e[q], w[q], beside)
            if factor == 0:
                fill(w[q], np.nan)
                fill(v[q], np.nan)
                continue
            info = divide(n, w, q * n, beside, 0, inner, 0, space, 0, ints, 0)
            _finished(w[q], factor)
            turned(inner, v[q])
            if info != 0:
                fill(w[q], np.nan)
                fill(v[q], np.nan)
                record(status, code, info)

    return body


@implements(tridiagonal_eigvalsh, inline=False)
def _type_eigvalsh(d: Any, e: Any, w: Any, status: Any = None, code: Any = 0) -> Any:
    number, sterf = scalar_type(d.dtype), lapack(d.dtype, "sterf", "iaao")

    def body(d: Any, e: Any, w: Any, status: Any = None, code: int = 0) -> None:
        count, n = d.shape
        if n == 0:
            return
        beside = np.empty(n, number)
        for q in range(count):
            info, factor = 0, _taken(d[q], e[q], w[q], beside)
            if factor == 0:
                fill(w[q], np.nan)
            else:
                info = sterf(n, w, q * n, beside, 0)
                _finished(w[q], factor)
            if info != 0:
                fill(w[q], np.nan)
                record(status, code, info)

    return body
