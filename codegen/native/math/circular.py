"""sin, cos and tan: pi/2 is taken away in three parts, which is exact enough up to `LIMIT`;
`huge_angles` has what lies beyond."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translation.symbolic import bits, fabs, fma, select
from . import huge_angles
from .formats import DOUBLE, FORMATS, PI, SINGLE, Format, Function, Table, horner
from .rarely import rarely

LIMIT = {DOUBLE: 2.0**30, SINGLE: 2.0**15}
SINE = {
    DOUBLE: (-0.1666666666666663, 0.008333333333322018, -0.000198412698295042,
             2.755731359010622e-06, -2.5050742624352016e-08, 1.5895919515840733e-10),
    SINGLE: (-0.16666655242443085, 0.008332155644893646, -0.0001951463200384751),
}  # fmt: skip
"""(sin(r) - r) / r**3 in powers of r**2, for |r| <= pi/4."""
COSINE = {
    DOUBLE: (0.041666666666666595, -0.0013888888888872902, 2.4801587288750988e-05,
             -2.7557314149208986e-07, 2.08756966300821e-09, -1.1358312625945963e-11),
    SINGLE: (0.04166664555668831, -0.0013887310633435845, 2.4432505597360432e-05),
}  # fmt: skip
"""(cos(r) - 1 + r**2 / 2) / r**4 in powers of r**2."""


# Up to these an argument is its own sine and tangent; zeros keep their signs.
SMALL = {DOUBLE: 2.0**-27, SINGLE: 2.0**-12}


def build(f: Format) -> dict[str, Function]:
    real, integer = f.real, f.integer
    one, half, limit, small, magic = real(1), real(0.5), real(LIMIT[f]), real(SMALL[f]), f.magic
    (per_quarter,), (first, second, third) = f.parts(2 / PI, 1), f.parts(PI / 2, 3)
    no_bit, one_bit, two_bit, magic_bits = integer(0), integer(1), integer(2), magic.view(integer)
    sine_tail, cosine_tail = horner(f, SINE[f]), horner(f, COSINE[f])

    def reduce(x: Any) -> Any:
        """The number of quarter turns nearest to x, and what is left in two parts."""
        t = fma(x, per_quarter, magic)
        k = t - magic
        # The first difference is exact: both terms are multiples of the last bit of pi/2.
        a = fma(-k, first, x)
        c = k * second
        r = a - c
        return bits(t) - magic_bits, r, ((a - r) - c) - fma(k, third, fma(k, second, -c))

    def waves(r: Any, low: Any) -> Any:
        """Sine and cosine of r + low."""
        z = r * r
        h = half * z
        w = one - h
        sine = r + fma(r * z, sine_tail(z), low * w)
        return sine, w + (((one - w) - h) + fma(z * z, cosine_tail(z), -r * low))

    def turned(n: Any, sine: Any, cosine: Any) -> Any:
        """The sine n quarter turns further."""
        y = select((n & one_bit) == no_bit, sine, cosine)
        return select((n & two_bit) == no_bit, y, -y)

    def slope(n: Any, sine: Any, cosine: Any) -> Any:
        """The tangent n quarter turns further."""
        odd = (n & one_bit) != no_bit
        return select(odd, cosine, sine) / select(odd, -sine, cosine)

    def sine_at(n: Any, r: Any, low: Any) -> Any:
        return turned(n, *waves(r, low))

    def cosine_at(n: Any, r: Any, low: Any) -> Any:
        return turned(n + one_bit, *waves(r, low))

    def tangent_at(n: Any, r: Any, low: Any) -> Any:
        return slope(n, *waves(r, low))

    def function(name: str, at: Function, odd: bool) -> Function:
        """A function of any argument from one of the nearest quarter turn and the rest; `odd`: its
        sign is the argument's."""

        def huge(x: Any) -> Any:
            y = at(*huge_angles.reduce(x))
            # Infinities and NaN give NaN.
            return select(fabs(x) < real(np.inf), select(x < real(0), -y, y) if odd else y, x - x)

        if f is DOUBLE:
            RARE[name] = rarely(name, huge)

        def common(x: Any) -> Any:
            y = at(*reduce(x))
            y = select(fabs(x) < small, x, y) if odd else y
            return RARE[name](~(fabs(x) < limit), x, y)

        return common

    return {
        "sin": function("sin", sine_at, True),
        "cos": function("cos", cosine_at, False),
        "tan": function("tan", tangent_at, True),
    }


RARE: dict[str, Function] = {}
"""What arguments beyond the limits are left to, in double precision for both formats."""
FUNCTIONS: Table = {f.name: build(f) for f in FORMATS}
