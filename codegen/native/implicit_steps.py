"""Steps to the eigenvalues of symmetric tridiagonal matrices that turn vectors along (Martin and
Wilkinson, The implicit QL algorithm, Numerische Mathematik 12, 1968)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .bridge import compiled
from .by_address import get, put, shifted
from .support import index, outlined

__all__ = ["turned_to_values"]

ROUNDS = 60
"""Steps after which an eigenvalue has not been found: two or three are usual."""


def turned_to_values(dtype: str) -> Callable[..., Any]:
    """Steps to the eigenvalues of a tridiagonal matrix that turn vectors along."""
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
