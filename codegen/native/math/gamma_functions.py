"""trigamma, the second derivative of lgamma: the asymptotic series far from 0, the recurrence to
get there, reflection below 0."""

from __future__ import annotations

import math
from typing import Any

from ...translation.symbolic import floor, fma, select
from .circular import FUNCTIONS as CIRCULAR
from .formats import DOUBLE, FORMATS, Format, Function, Table, horner
from .rarely import rarely

BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
"""Of even numbers, from 2 on."""
FAR, STEPS = 10, 8


def build(f: Format) -> dict[str, Function]:
    real = f.real
    zero, one, half, limit, steps = real(0), real(1), real(0.5), real(FAR), real(STEPS)
    series = horner(f, BERNOULLI)

    def of_positive(x: Any) -> Any:
        near = x < limit
        inverse = one / select(near, x + steps, x)
        square = inverse * inverse
        y = inverse + fma(series(square) * square, inverse, half * square)
        total = zero
        # Small terms first.
        for k in reversed(range(STEPS)):
            term = one / (x + real(k))
            total = fma(term, term, total)
        return y + select(near, total, zero)

    def of_negative(x: Any) -> Any:
        # The sine of pi times the distance to the nearest pole; -inf and all huge numbers are
        # poles.
        r = select(floor(x) == x, zero, x - floor(x + half))
        root = real(math.pi) / CIRCULAR[f.name]["sin"](real(math.pi) * r)
        return fma(root, root, -of_positive(one - x))

    if f is DOUBLE:
        RARE.append(rarely("trigamma", of_negative))

    def trigamma(x: Any) -> Any:
        return RARE[0](x < zero, x, of_positive(x))

    return {"trigamma": trigamma}


RARE: list[Function] = []
FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
