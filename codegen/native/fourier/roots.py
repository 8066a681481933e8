"""Roots of unity, each as the product of two out of short tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..bridge import compiled, inlined
from ..by_address import get, put
from ..support import index

__all__ = ["coarse_size", "root_imag", "root_real", "shift_of", "tabulate"]


@compiled
def shift_of(n: Any) -> Any:
    """The first table of the n-th roots has 2 ** shift of them, which is about the root of n."""
    shift = index(0)
    while (index(1) << (shift + shift)) < n:
        shift += index(1)
    return shift


@compiled
def coarse_size(n: Any) -> Any:
    """How many doubles the two tables of n-th roots take."""
    shift = shift_of(n)
    return index(2) * ((index(1) << shift) + (n >> shift) + index(2))


@compiled
def tabulate(table: Any, n: Any) -> None:
    """The powers 0, 1, ... of exp(-2 pi i / n), then those that are multiples of 2 ** shift."""
    shift = shift_of(n)
    many = index(1) << shift
    unit = np.float64(math.pi) / np.float64(4 * n)
    for k in range(index(0), many + (n >> shift) + index(1)):
        power = k if k < many else (k - many) << shift
        # By symmetry an angle of at most an eighth of the circle, given in 8n-ths of it.
        at = index(8) * (power % n)
        below = at > index(4) * n
        if below:
            at = index(8) * n - at
        left = at > index(2) * n
        if left:
            at = index(4) * n - at
        steep = at > n
        if steep:
            at = index(2) * n - at
        c, s = math.cos(unit * np.float64(at)), math.sin(unit * np.float64(at))
        real, imag = s if steep else c, c if steep else s
        put(table, index(2) * k, -real if left else real)
        put(table, index(2) * k + index(1), imag if below else -imag)


@inlined
def root_real(table: Any, shift: Any, k: Any) -> Any:
    """The real part of the k-th power, 0 <= k < n."""
    many = index(1) << shift
    a, b = index(2) * (k & (many - index(1))), index(2) * (many + (k >> shift))
    return get(table, a) * get(table, b) - get(table, a + index(1)) * get(table, b + index(1))


@inlined
def root_imag(table: Any, shift: Any, k: Any) -> Any:
    """The imaginary part of the k-th power."""
    many = index(1) << shift
    a, b = index(2) * (k & (many - index(1))), index(2) * (many + (k >> shift))
    return get(table, a) * get(table, b + index(1)) + get(table, a + index(1)) * get(table, b)
