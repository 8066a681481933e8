"""pow, cbrt, hypot and sqrt without branches."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...translation.symbolic import (
    bits,
    copysign,
    fabs,
    fast_sum,
    floor,
    fma,
    from_bits,
    select,
    sqrt,
    two_product,
)
from .exponentials import STEPS
from .formats import DOUBLE, FORMATS, SINGLE, Format, Function, Table, horner

LOG = {
    DOUBLE: (0.19999999999999987, 0.14285714285722648, 0.11111111108744932, 0.09090909438112252,
             0.07692278228518966, 0.0666816684102845, 0.05837241411861586, 0.05995923309314207),
    SINGLE: (0.20000076293945312, 0.14273521304130554, 0.11710470914840698),
}  # fmt: skip
"""(atanh(s) / s - 1 - s**2 / 3) / s**4 in powers of s**2, for the mantissas between the roots of
1/2 and 2."""
INVERSE_ROOT = (1.541899203718747, -0.8099601734301408, 0.31773958141429953, -0.04992947040158128)
"""m**(-1/3) for 1 <= m <= 2, to 12 bits."""


def build(f: Format) -> dict[str, Function]:
    real, integer = f.real, f.integer
    zero, one, half, two = real(0), real(1), real(0.5), real(2)
    infinity, nan = real(np.inf), real(np.nan)
    steps = STEPS[f.name]
    reduce, growth, scale, split = steps.reduce, steps.growth, steps.scale, steps.split
    highest, lowest, (short, short_rest) = steps.highest, steps.lowest, steps.short
    log_tail, (third, third_rest) = horner(f, LOG[f]), f.parts(Fraction(1, 3), 2)
    # Beyond it the power of any number but 1 is 0 or infinite, and every float an even integer.
    largest = real(2.0 ** (f.mantissa + 12))

    def log_pair(x: Any) -> Any:
        """log(x) for finite x > 0 to half as many bits again, in two parts: the logarithm's error
        grows with the exponent."""
        k, g = split(x)
        d = two + g
        d_rest = g - (d - two)
        inverse = one / d
        s = g * inverse
        s_rest = (fma(-s, d, g) - s * d_rest) * inverse
        z, z_rest = two_product(s, s)
        z_rest = fma(s + s, s_rest, z_rest)
        c, c_rest = fast_sum(third, z * log_tail(z))
        u, u_rest = two_product(s, z)
        u_rest = u_rest + fma(s, z_rest, s_rest * z)
        v, v_rest = two_product(u, c)
        v_rest = v_rest + fma(u, c_rest + third_rest, u_rest * c)
        w, w_rest = fast_sum(s, v)
        high, low = fast_sum(k * short, two * w)
        return high, low + fma(k, short_rest, two * (w_rest + (s_rest + v_rest)))

    def pow(x: Any, y: Any) -> Any:
        a = fabs(x)
        c = select(y > largest, largest, select(y < -largest, -largest, y))
        high, low = log_pair(a)
        high = select(a == zero, -infinity, select(a < infinity, high, a))
        e, rest = two_product(c, high)
        n, r = reduce(e)
        p = scale(growth(r + fma(c, low, rest)) + one, n)
        p = select(e > highest, infinity, select(e < lowest, zero, p))
        half_y = half * y
        whole, odd = floor(y) == y, floor(half_y) != half_y
        p = select(whole & odd, copysign(p, x), p)
        p = select((x < zero) & (x > -infinity) & ~whole, nan, p)
        return select((x == one) | (y == zero), one, p)

    # Divisible by 3, and enough to make every number normal.
    raised = 3 * (f.mantissa // 3 + 1)
    normal, up, lowered = real(np.finfo(real).tiny), real(2.0**raised), real(raised // 3)
    magic, shift, bias = f.magic, integer(f.mantissa), integer(f.bias)
    magic_bits, sixth, three, two_ninths = magic.view(integer), real(1 / 6), real(3), real(2 / 9)
    inverse_root = horner(f, INVERSE_ROOT)
    four, root2, root4 = real(4), real(2 ** (-1 / 3)), real(2 ** (-2 / 3))

    def cbrt(x: Any) -> Any:
        a = fabs(x)
        small = a < normal
        b = bits(select(small, a * up, a))
        n = (b >> shift) - bias
        m = from_bits(b - (n << shift))
        k = from_bits(n + magic_bits) - magic
        q = floor(fma(k, third, sixth))
        j = fma(-three, q, k)
        y = inverse_root(m) * select(j == zero, one, select(j == one, root2, root4))
        m = m * select(j == zero, one, select(j == one, two, four))
        # A step of third order towards m**(-1/3), then one of second order towards the root itself
        # with an exact residual.
        e = fma(-(m * y), y * y, one)
        y = fma(y * e, fma(e, two_ninths, third), y)
        w = y * y
        r = m * w
        t, t_rest = two_product(r, r)
        r = fma(fma(-t, r, m) - t_rest * r, w * third, r)
        q = select(small, q - lowered, q)
        r = r * from_bits((bits(q + magic) - magic_bits + bias) << shift)
        return select((a > zero) & (a < infinity), copysign(r, x), x)

    one_exponent, exponents = integer(1), integer(2 * f.bias)

    def hypot(x: Any, y: Any) -> Any:
        a, b = fabs(x), fabs(y)
        steep = a > b
        long, short = select(steep, a, b), select(steep, b, a)
        # By the power of two of the longer side, so that no square leaves the range.
        n = bits(long) >> shift
        n = select(
            n < one_exponent, one_exponent, select(n >= exponents, exponents - one_exponent, n)
        )
        inverse = from_bits((exponents - n) << shift)
        u, v = long * inverse, short * inverse
        r = sqrt(fma(u, u, v * v)) * from_bits(n << shift)
        return select(
            (a == infinity) | (b == infinity), infinity, select((a == a) & (b == b), r, a + b)
        )

    return {"pow": pow, "sqrt": sqrt, "cbrt": cbrt, "hypot": hypot}


FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
