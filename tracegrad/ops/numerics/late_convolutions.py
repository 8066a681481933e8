"""Convolutions of vectors of lengths that only a run knows, product by product: with the lengths n
and m, `out[i] = sum_j x[i - j] * y[j]` over all j where both are there."""

from __future__ import annotations

from typing import Any

from ...sizes import form, larger_of, smaller_of, traced_number
from ...sizes.owners import is_late
from ..arrays.concatenation import concatenate
from ..arrays.creation import iota, zeros
from ..define import shape_of
from ..elementwise.arithmetic import greater, greater_equal, less, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, mul
from ..elementwise.logic import logical_and
from ..fits import refuse_less
from ..places.along import take
from ..totals.reductions import sum as sum_


def is_late_vector(x: Any) -> bool:
    """Whether only a run knows how long a vector is."""
    return is_late(form(shape_of(x)[0]))


def convolved(x: Any, y: Any, mode: str, *, turned: bool = False) -> Any:
    """The convolution of two vectors of one dtype; ValueError where one has no element. Of the
    mode "same", `turned` gives the correlation, whose middle is another one where y is longer.

    Beyond the ends nothing is multiplied, as `of_vectors` has it.
    """
    n, m = shape_of(x)[0], shape_of(y)[0]
    for size in (n, m):
        refuse_less(size, 1, ValueError, "a vector to convolve cannot be empty")
    # In one order, so that both orders of the vectors give one length.
    pair = sorted((n, m), key=lambda size: str(form(size)))
    few, many = smaller_of(*pair), larger_of(*pair)
    # Of few elements but one; where there is none, the program fails.
    others = few - smaller_of(few, 1)
    start: Any = 0
    if mode == "full":
        count = many + others
    elif mode == "same":
        count, half = many, traced_number(others // 2)
        longer = traced_number(others - others // 2)
        start = where(greater(traced_number(m), traced_number(n)), longer, half) if turned else half
    else:
        count, start = many - few + 1, traced_number(others)
    taps = iota(m)
    places = sub(add(iota(count), start)[:, None], taps)
    inside = logical_and(greater_equal(places, 0), less(places, traced_number(n)))
    # Both factors are 0 elsewhere, for the sake of the adjoint: it has products with either.
    around = concatenate([x, zeros((1,), x.dtype)])
    near = where(inside, take(around, clip(places, 0, traced_number(n)), 0), x.dtype.type(0))
    products = mul(near, where(inside, y, y.dtype.type(0)))
    return sum_(products, 1, dtype=products.dtype)


__all__ = ["convolved", "is_late_vector"]
