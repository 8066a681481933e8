"""Systems of Toeplitz matrices by Levinson's recursion, in a time as n * n (Golub and Van Loan,
Matrix Computations, section 4.7).

From the solution of the first m equations with as many unknowns follows that of m + 1; where one of
these systems is singular, or nearly so, digits are lost. So what is found is put into the
equations, and where it does not fulfil them as elimination's solution would, that is computed.

A matrix is given by its diagonals as `a[n - 1 - i + j] = t[i, j]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from . import factorizations
from .blocked import blocked_solve
from .bridge import compiled, implements, scalar_type
from .by_address import get, put, shifted, word
from .dense import pointers
from .foreign import routine
from .support import acc, fabs_float, index, outlined, wide
from .symbols import OWN

__all__ = ["LEVINSON_KINDS", "levinson", "levinson_signature", "toeplitz_solve"]

ROUNDINGS = 16
"""So many units of rounding, of the sizes of the matrix and the solution, equations are missed by
at most."""
LEVINSON_KINDS = "llaaaao"


def toeplitz_solve(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
    """`t @ x = b` for stacks of diagonals (s, 2 n - 1) and right-hand sides (s, n, k)."""
    n = b.shape[1]
    places = n - 1 - np.arange(n)[:, None] + np.arange(n)
    factorizations.solve(a[:, places], b, x, status, code)


def levinson_signature(dtype: str) -> Any:
    """n, how many right-hand sides; the diagonals, the right-hand sides and then the solution, one
    behind the other (k, n), the same right-hand sides again, room for 2 n numbers; whether the
    recursion did not do."""
    i, t, o = pointers(dtype)
    return types.void(i, i, t, t, t, t, o)


def levinson(dtype: str) -> Callable[..., None]:
    t = np.dtype(dtype).type
    is_complex = np.dtype(dtype).kind == "c"
    zero, one = t(0), t(1)
    real = zero.real.dtype.type
    few, none = real(ROUNDINGS * np.finfo(dtype).eps), real(0)

    @compiled
    def dot(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        wide()
        total = zero
        for j in range(index(0), n):
            total = acc(total, get(x, j) * get(y, j))
        return total

    @compiled
    def renewed(n, f, g, of_f, of_g, scale):  # type: ignore[no-untyped-def]
        """Each of two vectors less a multiple of the other, times a number."""
        outlined()
        for j in range(index(0), n):
            x, y = get(f, j), get(g, j)
            put(f, j, (x - of_f * y) * scale)
            put(g, j, (y - of_g * x) * scale)

    @compiled
    def added(n, factor, x, y):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            put(y, j, get(y, j) + factor * get(x, j))

    def size_of_real(x: Any) -> Any:
        return fabs_float(x)

    def size_of_complex(x: Any) -> Any:
        return fabs_float(x.real) + fabs_float(x.imag)

    size = compiled(size_of_complex if is_complex else size_of_real)

    @compiled
    def most(n, x):  # type: ignore[no-untyped-def]
        outlined()
        found = none
        for j in range(index(0), n):
            value = size(get(x, j))
            found = value if value > found else found
        return found

    def function(of_n, of_k, a, x, b, room, info):  # type: ignore[no-untyped-def]
        o, unit, n, k = index(0), index(1), word(of_n), word(of_k)
        last, f = n - unit, room
        back = shifted(room, n)  # its elements end where the room does
        put(info, o, np.int32(1))
        middle = get(a, last)
        if middle == zero:
            return
        put(f, o, one / middle)
        put(back, last, one / middle)
        for q in range(o, k):
            put(x, q * n, get(b, q * n) / middle)
        for m in range(unit, n):
            g = shifted(back, last - m)
            put(f, m, zero)
            put(g, o, zero)
            row = shifted(a, last - m)
            below = dot(m, row, f)  # type: ignore[no-untyped-call]
            above = dot(m, shifted(a, n), shifted(g, unit))  # type: ignore[no-untyped-call]
            left = one - below * above
            if left == zero:
                return
            renewed(m + unit, f, g, below, above, one / left)  # type: ignore[no-untyped-call]
            for q in range(o, k):
                mine = shifted(x, q * n)
                missing = get(b, q * n + m) - dot(m, row, mine)  # type: ignore[no-untyped-call]
                put(mine, m, zero)
                added(m + unit, missing, g, mine)  # type: ignore[no-untyped-call]
        total = none
        for j in range(o, n + last):
            total += size(get(a, j))
        for q in range(o, k):
            mine, right = shifted(x, q * n), shifted(b, q * n)
            allowed = few * (
                total * most(n, mine) + most(n, right)  # type: ignore[no-untyped-call]
            )
            for i in range(o, n):
                found = dot(n, shifted(a, last - i), mine)  # type: ignore[no-untyped-call]
                # NaN fulfils nothing.
                if not (size(found - get(right, i)) <= allowed):
                    return
        put(info, o, np.int32(0))

    return function


@implements(toeplitz_solve, inline=False)
def _type_toeplitz_solve(a: Any, b: Any, x: Any, status: Any = None, code: Any = 0) -> Any:
    number = scalar_type(a.dtype)
    own = routine(OWN, f"levinson_{a.dtype}", LEVINSON_KINDS)
    solve = blocked_solve if isinstance(a.dtype, types.Float) else factorizations.solve

    def body(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
        count, n, k = b.shape
        if n == 0 or k == 0:
            return
        found, right = np.empty((k, n), number), np.empty((k, n), number)
        room = np.empty(2 * n, number)
        for s in range(count):
            for i in range(n):
                for q in range(k):
                    right[q, i] = b[s, i, q]
            if own(n, k, a, s * (2 * n - 1), found, 0, right, 0, room, 0) == 0:
                for i in range(n):
                    for q in range(k):
                        x[s, i, q] = found[q, i]
                continue
            whole = np.empty((1, n, n), number)
            for i in range(n):
                for j in range(n):
                    whole[0, i, j] = a[s, n - 1 - i + j]
            one, other = np.empty((1, n, k), number), np.empty((1, n, k), number)
            for i in range(n):
                for q in range(k):
                    one[0, i, q] = b[s, i, q]
            solve(whole, one, other, status, code)
            for i in range(n):
                for q in range(k):
                    x[s, i, q] = other[0, i, q]

    return body
