"""The two floating-point formats, and what functions written for both of them share.

The vector functions have no branches: an argument is reduced to a short interval, the function
evaluated there by a polynomial in fused multiply-adds, and put together by the exponent's bits;
special values are selected at the end. One text serves both precisions, with the constants of each.
The polynomials are minimax fits. No fast-math flag is set anywhere: reassociation would destroy the
reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...translation.symbolic import fma

Function = Callable[..., Any]
Table = dict[str, dict[str, Function]]
"""Functions by the name of a dtype, then by their own."""


@dataclass(frozen=True)
class Format:
    """One floating-point format."""

    real: Any
    integer: Any
    mantissa: int
    bias: int

    @property
    def magic(self) -> Any:
        """Adding it to a small float leaves the nearest integer in the low bits."""
        return self.real(1.5 * 2.0**self.mantissa)

    @property
    def name(self) -> str:
        return str(self.real.__name__)

    def parts(self, value: Fraction, count: int) -> tuple[Any, ...]:
        """A number as a sum of floats of this format, each rounded to nearest."""
        found: list[Any] = []
        for _ in range(count):
            found.append(self.real(float(value)))
            value -= Fraction(float(found[-1]))
        return tuple(found)


DOUBLE = Format(np.float64, np.int64, 52, 1023)
SINGLE = Format(np.float32, np.int32, 23, 127)
FORMATS = (DOUBLE, SINGLE)

LONG = 6


def _pi(places: int) -> Fraction:
    """pi to so many binary places, by Machin's formula."""

    def arctan_of_inverse(n: int) -> int:
        total, term, k = 0, (1 << places + 64) // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    return Fraction(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)), 1 << places + 64)


PI = _pi(1400)
LN2 = Fraction(
    "0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586"
)
LN10 = Fraction(
    "2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023600"
)


def horner(f: Format, coefficients: tuple[float, ...]) -> Function:
    """The polynomial with these coefficients, lowest first.

    A long one is evaluated, but for its constant, as two of half its length, of even and of odd
    powers: the processor works on both at a time.
    """

    def chain(x: Any, terms: tuple[float, ...]) -> Any:
        y = f.real(terms[-1])
        for c in reversed(terms[:-1]):
            y = fma(y, x, f.real(c))
        return y

    def polynomial(x: Any) -> Any:
        if len(coefficients) < LONG:
            return chain(x, coefficients)
        constant, *others = coefficients
        square = x * x
        y = fma(chain(square, tuple(others[1::2])), x, chain(square, tuple(others[::2])))
        return fma(y, x, f.real(constant))

    return polynomial
