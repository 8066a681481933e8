"""Powers with small non-negative integer exponents that are not known before the loop runs, such as
`t ** np.arange(m)`.

The squares x**1, x**2, x**4, ... do not depend on the exponent, so that a loop over exponents
computes them once, before it begins; inside remain one product and one sum per bit, free of
branches, which vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .bridge import implements, is_float, is_integer, scalar_type
from .support import fabs_float, fma, select

BITS = (4, 7, 10)
"""The function for each of these takes exponents below 2 to that number."""


def pow_below_16(x: Any, n: Any) -> Any:
    """x to the power n for a float x and an integer 0 <= n < 16; within 4 ulp."""
    return type(x)(np.power(x, type(x)(n)))


def pow_below_128(x: Any, n: Any) -> Any:
    """x to the power n for a float x and an integer 0 <= n < 128; within 5 ulp."""
    return type(x)(np.power(x, type(x)(n)))


def pow_below_1024(x: Any, n: Any) -> Any:
    """x to the power n for a float x and an integer 0 <= n < 1024; within 7 ulp."""
    return type(x)(np.power(x, type(x)(n)))


def _body(bits: int) -> Callable[[Any, Any], Callable[[Any, Any], Any] | None]:
    def typer(x: Any, n: Any) -> Callable[[Any, Any], Any] | None:
        if not is_float(x) or not is_integer(n):
            return None
        t = scalar_type(x)
        zero, one, two = t(0), t(1), t(2)
        info = np.finfo(t)
        # Below, the remainder of a product is no longer exact: what is known of the square before
        # still is.
        least, most = t(info.tiny / info.eps * 2), t(info.max)

        def body(x: Any, n: Any) -> Any:
            power = select((n & 1) != 0, x, one)
            relative = zero
            square, error, inverse = x, zero, one / x
            for k in range(1, bits):
                # The true square is `square * (1 + error)`; its rounding error is carried along, as
                # it doubles with each squaring.
                last = square
                square, inverse = last * last, inverse * inverse
                size = fabs_float(square)
                remainder = select(size >= least, fma(last, last, -square) * inverse, zero)
                error = select((size > zero) & (size <= most), two * error + remainder, zero)
                taken = (n >> k) & 1 != 0
                power = power * select(taken, square, one)
                relative = relative + select(taken, error, zero)
            return power * (one + relative)

        return body

    return typer


for _bits, _function in zip(BITS, (pow_below_16, pow_below_128, pow_below_1024), strict=True):
    implements(_function)(_body(_bits))
