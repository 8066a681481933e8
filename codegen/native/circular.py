"""sin and cos without branches, so that loops over them vectorise.

The argument is a significand times a power of two; what the power is in quarter turns, whole turns of every significand dropped,
is read from a table in four parts. The reduction is therefore one and the same, and exact enough, for every argument up to the largest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .bridge import inlined
from .elementary import DOUBLE, horner
from .support import bits, fabs_float, fma, from_bits, index, rint_float, select

LOWEST = 1023 - 28
"""Biased exponent of the table's first row; below it sin(x) rounds to x and cos(x) to 1."""
SCALE = 220
PARTS = 4
DROPPED = 54
"""2**54 quarter turns times a significand's last bit are whole turns."""


def _two_over_pi(places: int) -> int:
    """2/pi times 2**places, by Machin's formula."""
    unit = 1 << (places + 64)

    def arctan_of_inverse(n: int) -> int:
        total, term, k = 0, unit // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (2 * unit << places) // pi


def _table() -> np.ndarray:
    """2**e * 2/pi modulo 2**DROPPED, as a sum of doubles, by biased exponent; the last row, of infinities and NaN, is NaN."""
    rows = np.full((2048 - LOWEST, PARTS), np.nan)
    places = 1024 + SCALE
    value = _two_over_pi(places)
    for row in range(len(rows) - 1):
        rest = (value >> (1023 + places - SCALE - LOWEST - row)) % (1 << (SCALE + DROPPED))
        for part in range(PARTS):
            rows[row, part] = float(rest)
            rest -= int(rows[row, part])
        rows[row] = [math.ldexp(x, -SCALE) for x in rows[row]]
    return rows


_parts = _table()
FIRST, SECOND, THIRD, FOURTH = (np.ascontiguousarray(_parts[:, k]) for k in range(PARTS))

_ONE, _HALF, _FOUR, _MAGIC = np.float64(1.0), np.float64(0.5), np.float64(4.0), np.float64(DOUBLE.magic)
_MAGIC_BITS, _ONE_BITS = _MAGIC.view(np.int64), np.float64(1.0).view(np.int64)
_FRACTION, _SHIFT = np.int64((1 << 52) - 1), np.int64(52)
_LOWEST, _ZERO_INT, _ONE_INT, _TWO_INT = np.int64(LOWEST), np.int64(0), np.int64(1), np.int64(2)
_QUARTER, _QUARTER_REST = np.float64(1.5707963267948966), np.float64(6.123233995736766e-17)
_SMALL = np.float64(2.0**-27)
_sin_tail = horner(tuple(map(np.float64, (
    -0.1666666666666663, 0.008333333333322018, -0.000198412698295042, 2.755731359010622e-06, -2.5050742624352016e-08,
    1.5895919515840733e-10))))  # fmt: skip
_cos_tail = horner(tuple(map(np.float64, (
    0.041666666666666595, -0.0013888888888872902, 2.4801587288750988e-05, -2.7557314149208986e-07, 2.08756966300821e-09,
    -1.1358312625945963e-11))))  # fmt: skip


@inlined
def _sum(x: Any, y: Any) -> Any:
    """The rounded sum and what rounding lost."""
    s = x + y
    d = s - x
    return s, (x - (s - d)) + (y - d)


@inlined
def _turned(a: Any, turn: Any) -> Any:
    """sin(a + turn * pi/2) for a >= 0."""
    b = bits(a)
    j = np.int64(b >> _SHIFT) - _LOWEST
    j = select(j < _ZERO_INT, _ZERO_INT, j)
    m = from_bits(np.int64((b & _FRACTION) | _ONE_BITS))
    i = index(j)
    t2, t3 = SECOND[i], THIRD[i]
    # The products, as far as they count, without their whole turns and then without their nearest quarter, which goes into n.
    p = m * FIRST[i]
    p_rest = fma(m, FIRST[i], -p)
    f, e1 = _sum(p - _FOUR * rint_float(p / _FOUR), p_rest)
    k = rint_float(f)
    c = m * t2
    f, e2 = _sum(f - k, c)
    shifted = f + _MAGIC
    n = np.int64(bits(shifted + k) - _MAGIC_BITS) + turn
    f = f - (shifted - _MAGIC)
    d = m * t3
    s, s1 = _sum(e1, e2)
    s, s2 = _sum(s, d)
    s, s3 = _sum(s, fma(m, t2, -c))
    high, low = _sum(f, s)
    low = low + (s1 + s2 + s3 + (fma(m, t3, -d) + m * FOURTH[i]))
    whole = high + low
    low = (high - whole) + low
    r = whole * _QUARTER
    low = fma(whole, _QUARTER, -r) + fma(whole, _QUARTER_REST, low * _QUARTER)
    z = r * r
    h = _HALF * z
    w = _ONE - h
    sine = r + fma(r * z, _sin_tail(z), low * w)
    cosine = w + (((_ONE - w) - h) + fma(z * z, _cos_tail(z), -r * low))
    y = select((n & _ONE_INT) == _ZERO_INT, sine, cosine)
    return select((n & _TWO_INT) == _ZERO_INT, y, -y)


@inlined
def _sin(x: Any) -> Any:
    a = fabs_float(x)
    y = _turned(a, _ZERO_INT)
    return select(a < _SMALL, x, select(x < np.float64(0.0), -y, y))


@inlined
def _cos(x: Any) -> Any:
    return _turned(fabs_float(x), _ONE_INT)


@inlined
def _sin_single(x: Any) -> Any:
    return np.float32(_sin(np.float64(x)))


@inlined
def _cos_single(x: Any) -> Any:
    return np.float32(_cos(np.float64(x)))


SIN = {"float64": _sin, "float32": _sin_single}
COS = {"float64": _cos, "float32": _cos_single}
