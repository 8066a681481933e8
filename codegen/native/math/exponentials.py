"""exp, log and their relatives without branches, and the steps of them that other functions
share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...translation.symbolic import (
    bits,
    fabs,
    fast_sum,
    fma,
    from_bits,
    select,
    two_product,
    without_sign,
)
from .formats import DOUBLE, FORMATS, LN2, LN10, SINGLE, Format, Function, Table, horner

EXP = {
    DOUBLE: (0.5, 0.16666666666666685, 0.04166666666666673, 0.00833333333331662,
             0.0013888888888858209, 0.00019841269897361157, 2.480158737409155e-05,
             2.7557233930214123e-06, 2.7557233107306724e-07, 2.5112348210513994e-08,
             2.0927013137492448e-09),
    SINGLE: (0.5, 0.1666666716337204, 0.041666269302368164, 0.008333263918757439,
             0.0013946176040917635, 0.00019918559701181948),
}  # fmt: skip
"""(exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2."""
LOG = {
    DOUBLE: (0.6666666666666735, 0.399999999994113, 0.28571428743223065, 0.22222198479599417,
             0.18183569569516417, 0.1531390725096072, 0.14797470532639503),
    SINGLE: (0.6666666269302368, 0.4000033736228943, 0.28537240624427795, 0.23583540320396423),
}  # fmt: skip
"""(log((1 + s) / (1 - s)) / s - 2) / s**2 in powers of s**2, for the mantissas between the roots of
1/2 and 2."""
LIMITS = {DOUBLE: (709.782712893384, -745.1332191019412), SINGLE: (88.72283, -103.97208)}
"""exp overflows above the first and is 0 below the second."""
LN2_BITS = {DOUBLE: 42, SINGLE: 16}
"""So many bits of log(2) that an exponent times them is exact."""


@dataclass(frozen=True)
class Steps:
    """What exp and log of one format are made of."""

    reduce: Function
    """n and r of x = n log(2) + r."""
    growth: Function
    """exp(r) - 1."""
    power_of_two: Function
    scale: Function
    """y * 2**n, also where 2**n is out of range."""
    split: Function
    """k and g of x = 2**k (1 + g), for finite x > 0; g is exact and k a float."""
    highest: Any
    lowest: Any
    short: tuple[Any, Any]
    """log(2) in two parts, the first of few bits."""


def steps(f: Format) -> Steps:
    real, integer = f.real, f.integer
    one, zero = real(1), real(0)
    (per_ln2,), (ln2, ln2_rest) = f.parts(1 / LN2, 1), f.parts(LN2, 2)
    magic, shift, bias, one_bit = f.magic, integer(f.mantissa), integer(f.bias), integer(1)
    magic_bits, root_bits = magic.view(integer), real(np.sqrt(0.5)).view(integer)
    lifted, mantissa_bits = (bias + one_bit) << shift, (one_bit << shift) - one_bit
    normal, up, up_exponent = (
        real(np.finfo(real).tiny),
        real(2.0 ** (f.mantissa + 2)),
        real(f.mantissa + 2),
    )
    exp_tail = horner(f, EXP[f])
    short = Fraction(round(LN2 * 2 ** LN2_BITS[f]), 2 ** LN2_BITS[f])

    def reduce(x: Any) -> Any:
        t = fma(x, per_ln2, magic)
        k = t - magic
        return bits(t) - magic_bits, fma(-k, ln2_rest, fma(-k, ln2, x))

    def growth(r: Any) -> Any:
        return fma(r * r, exp_tail(r), r)

    def power_of_two(n: Any) -> Any:
        return from_bits((n + bias) << shift)

    def scale(y: Any, n: Any) -> Any:
        first = n >> one_bit
        return y * power_of_two(first) * power_of_two(n - first)

    def split(x: Any) -> Any:
        small = x < normal
        # From the root of 1/2 on, with an exponent that is not negative.
        b = bits(select(small, x * up, x)) + (lifted - root_bits)
        n = without_sign(b, shift) + (magic_bits - (bias + one_bit))
        k = from_bits(n) - magic - select(small, up_exponent, zero)
        return k, from_bits((b & mantissa_bits) + root_bits) - one

    highest, lowest = LIMITS[f]
    pair = (real(float(short)), real(float(LN2 - short)))
    return Steps(reduce, growth, power_of_two, scale, split, real(highest), real(lowest), pair)


def build(f: Format) -> dict[str, Function]:
    real, integer = f.real, f.integer
    zero, one, half, two = real(0), real(1), real(0.5), real(2)
    infinity, nan = real(np.inf), real(np.nan)
    s = STEPS[f.name]
    reduce, growth, power_of_two, scale, split = (
        s.reduce,
        s.growth,
        s.power_of_two,
        s.scale,
        s.split,
    )
    highest, lowest, (short, short_rest) = s.highest, s.lowest, s.short
    (ln2, ln2_rest), (log10_2, log10_2_rest) = f.parts(LN2, 2), f.parts(LN2 / LN10, 2)
    (per_ln2, per_ln2_rest), (per_ln10, per_ln10_rest) = f.parts(1 / LN2, 2), f.parts(1 / LN10, 2)
    magic, one_bit, shift, highest_bit = (
        f.magic,
        integer(1),
        integer(f.mantissa),
        integer(f.bias - 1),
    )
    magic_bits, root_bits = magic.view(integer), real(np.sqrt(0.5)).view(integer)
    log_tail = horner(f, LOG[f])
    # exp(x) - 1 rounds to -1 below the first; |x| below the second is its own exp(x) - 1 and log(1
    # + x).
    bottom, tiny = real(-(f.mantissa + 8) * 0.6931471805599453), real(2.0 ** -(f.mantissa + 2))
    top2, bottom2 = real(f.bias + 1), real(-f.bias - f.mantissa - 1)

    def exp(x: Any) -> Any:
        n, r = reduce(x)
        y = scale(growth(r) + one, n)
        return select(x > highest, infinity, select(x < lowest, zero, y))

    def expm1(x: Any) -> Any:
        n, r = reduce(select(x < bottom, bottom, x))
        p = power_of_two(n - one_bit)
        y = fma(growth(r), p, p - half) * two
        return select(x > highest, infinity, select(fabs(x) < tiny, x, y))

    def exp2(x: Any) -> Any:
        t = x + magic
        d = x - (t - magic)
        r, low = two_product(d, ln2)
        y = growth(r) + fma(d, ln2_rest, low) + one
        y = scale(y, bits(t) - magic_bits)
        return select(x >= top2, infinity, select(x < bottom2, zero, y))

    def special(x: Any, y: Any) -> Any:
        """The logarithm y of x, or what it is where x is not a positive finite number."""
        return select(x == zero, -infinity, select(x < zero, nan, select(x < infinity, y, x)))

    def curve(g: Any) -> Any:
        """h and c of log(1 + g) = g - (h - c)."""
        s = g / (two + g)
        z = s * s
        h = half * g * g
        return h, s, h + z * log_tail(z)

    def log(x: Any) -> Any:
        k, g = split(x)
        h, s, c = curve(g)
        return special(x, k * short - ((h - fma(s, c, k * short_rest)) - g))

    def log_mantissa(g: Any) -> Any:
        """log(1 + g) as a pair."""
        h, s, c = curve(g)
        high, low = fast_sum(g, -h)
        return high, fma(s, c, low)

    def log2(x: Any) -> Any:
        k, g = split(x)
        high, low = log_mantissa(g)
        p, rest = two_product(high, per_ln2)
        y, lost = fast_sum(k, p)
        return special(x, y + (lost + (rest + fma(high, per_ln2_rest, low * per_ln2))))

    def log10(x: Any) -> Any:
        k, g = split(x)
        high, low = log_mantissa(g)
        p, rest = two_product(high, per_ln10)
        q, q_rest = two_product(k, log10_2)
        y, lost = fast_sum(q, p)
        rest = rest + fma(high, per_ln10_rest, low * per_ln10)
        return special(x, y + (lost + (rest + fma(k, log10_2_rest, q_rest))))

    def log1p(x: Any) -> Any:
        u = one + x
        v = u - one
        lost = (one - (u - v)) + (x - v)
        b = bits(u)
        n = (b - root_bits) >> shift
        k = from_bits(n + magic_bits) - magic
        g = from_bits(b - (n << shift)) - one
        # What the sum lost, divided by it: its share is so small that three terms of the quotient's
        # series do.
        lost = lost * power_of_two(-select(n > highest_bit, highest_bit, n)) * fma(g, g, one - g)
        h, s, c = curve(g)
        y = k * short - ((h - (fma(s, c, k * short_rest) + lost)) - g)
        y = select(x < infinity, y, x)
        y = select(fabs(x) < tiny, x, y)
        return select(x == -one, -infinity, select(x < -one, nan, y))

    return {
        "exp": exp,
        "expm1": expm1,
        "exp2": exp2,
        "log": log,
        "log1p": log1p,
        "log2": log2,
        "log10": log10,
    }


STEPS = {f.name: steps(f) for f in FORMATS}
FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
