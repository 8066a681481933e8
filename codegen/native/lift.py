"""By how much the weights of a product's terms are multiplied, so that no denormal numbers arise.

Many of Intel's processors take some 150 cycles for an operation on such a number, and a product has
one for each column and row. A power of two is exact in the product and is taken out of the sums
behind it, so that these round as they would, or less where terms would have been denormal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .bridge import compiled
from .by_address import get
from .support import bits, from_bits, index, outlined

__all__ = ["lift"]

POWERS = {"float32": 64, "float64": 256}


def lift(dtype: str) -> Callable[..., Any]:
    """`lift(m, n, k, a, row_a, step_a, b, step_b, col_b, weights)` is a power of two where weights
    are so small that a product with them may be denormal, and no sum can overflow for it; else 1.
    """
    t = np.dtype(dtype).type
    whole, info, power = getattr(np, f"int{8 * t(0).nbytes}"), np.finfo(dtype), POWERS[dtype]
    none, magnitude = whole(0), whole(np.iinfo(whole).max)
    # A fourth of the power is for what weights are multiplied with.
    small = t(float(info.smallest_normal) * 2.0 ** (power // 4)).view(whole)
    one, factor, limit = t(1), t(2.0**power), t(float(info.max) / 4)
    o, unit = index(0), index(1)

    @compiled
    def largest(x: Any, rows: Any, columns: Any, row: Any, column: Any) -> Any:
        """The largest magnitude; NaN where there is one."""
        outlined()
        # The loop inside runs along memory.
        outer = rows if row > column else columns
        inner = columns if row > column else rows
        apart, step = max(row, column), min(row, column)
        found = none
        if step == unit:
            for i in range(o, outer):
                for j in range(o, inner):
                    found = max(found, whole(bits(get(x, i * apart + j)) & magnitude))
        else:
            for i in range(o, outer):
                for j in range(o, inner):
                    found = max(found, whole(bits(get(x, i * apart + j * step)) & magnitude))
        return from_bits(found)

    @compiled
    def found(m, n, k, a, row_a, step_a, b, step_b, col_b, weights):  # type: ignore[no-untyped-def]
        outlined()
        least, most = magnitude, none
        for q in range(o, k):
            size = whole(bits(get(weights, q)) & magnitude)
            least = min(least, size if size != none else magnitude)
            most = max(most, size)
        if least >= small:
            return one
        term = from_bits(most) * factor * largest(b, k, n, step_b, col_b)
        # Neither holds of NaN.
        if term < limit and term * largest(a, m, k, row_a, step_a) * t(k) < limit:
            return factor
        return one

    return found
