"""Counter-based random numbers (Philox 4x32 with ten rounds): element i of a draw depends on (key,
counter, i) only.

The same few lines run on NumPy arrays, on scalars in Python and compiled, and give the same bits:
only exact or correctly rounded operations are used, in a fixed order, none of them fused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .bridge import implements, is_integer
from .math.exponentials import LOG, STEPS
from .math.formats import DOUBLE
from .support import bits, from_bits, rint_float, sqrt_float

U = np.uint64
MASK, HALF = U(0xFFFFFFFF), U(32)
MULTIPLIER_0, MULTIPLIER_1 = U(0xD2511F53), U(0xCD9E8D57)
WEYL_0, WEYL_1 = U(0x9E3779B9), U(0xBB67AE85)
ELEVEN, ONE = U(11), U(1)
UNIT = np.float64(2.0**-53)


def philox_words(key: Any, counter: Any, i: Any) -> Any:
    """Two words of 64 random bits."""
    a, b, c, d = i & MASK, i >> HALF, counter & MASK, counter >> HALF
    k0, k1 = key & MASK, key >> HALF
    for _ in range(10):
        p, q = MULTIPLIER_0 * a, MULTIPLIER_1 * c
        a, b, c, d = (q >> HALF) ^ b ^ k0, q & MASK, (p >> HALF) ^ d ^ k1, p & MASK
        k0, k1 = (k0 + WEYL_0) & MASK, (k1 + WEYL_1) & MASK
    return (b << HALF) | a, (d << HALF) | c


_typed = implements(philox_words)(lambda key, counter, i: philox_words)


def _uniform(key: Any, counter: Any, i: Any) -> Any:
    first, _ = philox_words(U(key), U(counter), U(i))
    return np.float64(first >> ELEVEN) * UNIT


ROOT_BITS = np.int64(np.float64(np.sqrt(0.5)).view(np.int64))
SHIFT = np.int64(52)
MAGIC = DOUBLE.magic
MAGIC_BITS = np.int64(MAGIC.view(np.int64))
L0, L1, L2, L3, L4, L5, L6 = (np.float64(c) for c in LOG[DOUBLE])
LN2, LN2_REST = STEPS["float64"].short
S0, S1, S2, S3, S4, S5, S6, S7 = map(np.float64, (
    1.5707963267948966, -0.6459640975062463, 0.07969262624616692, -0.004681754135314805,
    0.00016044118472639848, -3.5988427153841483e-06, 5.6919272934514234e-08,
    -6.627556160022866e-10))  # fmt: skip
C1, C2, C3, C4, C5, C6, C7 = map(np.float64, (
    -1.2337005501361697, 0.2536695079010467, -0.020863480763310977, 0.0009192602741802176,
    -2.5202036751554762e-05, 4.710609128307144e-07, -6.321182942217518e-09))  # fmt: skip
HALF_FLOAT, ONE_FLOAT, TWO, FOUR = (
    np.float64(0.5),
    np.float64(1.0),
    np.float64(2.0),
    np.float64(4.0),
)
THREE_INT, ZERO_INT, ONE_INT, TWO_INT = np.int64(3), np.int64(0), np.int64(1), np.int64(2)


def _normal(key: Any, counter: Any, i: Any) -> Any:
    first, second = philox_words(U(key), U(counter), U(i))
    u = np.float64((first >> ELEVEN) + ONE) * UNIT
    v = np.float64(second >> ELEVEN) * UNIT * FOUR
    b = bits(u)
    n = (b - ROOT_BITS) >> SHIFT
    k = from_bits(n + MAGIC_BITS) - MAGIC
    g = from_bits(b - (n << SHIFT)) - ONE_FLOAT
    s = g / (TWO + g)
    z = s * s
    h = HALF_FLOAT * g * g
    tail = z * (L0 + z * (L1 + z * (L2 + z * (L3 + z * (L4 + z * (L5 + z * L6))))))
    log = k * LN2 - ((h - (s * (h + tail) + k * LN2_REST)) - g)
    quarter = rint_float(v)
    t = v - quarter
    w = t * t
    sine = t * (S0 + w * (S1 + w * (S2 + w * (S3 + w * (S4 + w * (S5 + w * (S6 + w * S7)))))))
    cosine = ONE_FLOAT + w * (C1 + w * (C2 + w * (C3 + w * (C4 + w * (C5 + w * (C6 + w * C7))))))
    q = np.int64(quarter) & THREE_INT
    # cos of the whole angle by its quarter: cos, -sin, -cos, sin; the factor of the other one is an
    # exact zero.
    along = np.float64(q == ZERO_INT) - np.float64(q == TWO_INT)
    across = np.float64(q == THREE_INT) - np.float64(q == ONE_INT)
    return sqrt_float(-TWO * log) * (cosine * along + sine * across)


def philox_uniform(key: Any, counter: Any, i: Any) -> Any:
    """Uniform in [0, 1), float64, with 53 random bits."""
    return _uniform(U(key), U(counter), U(i))


def philox_normal(key: Any, counter: Any, i: Any) -> Any:
    """Standard normal, float64 (Box and Muller's method)."""
    return _normal(U(key), U(counter), U(i))


def philox_bits(key: Any, counter: Any, i: Any) -> Any:
    """64 random bits, uint64."""
    return philox_words(U(key), U(counter), U(i))[0]


def philox(key: Any, counter: Any, i: Any, word: int) -> Any:
    """One half (`word` 0 or 1) of the 128 random bits, uint64."""
    first, second = philox_words(U(key), U(counter), U(i))
    return first if word == 0 else second


def _half(key: Any, counter: Any, i: Any, word: int) -> Any:
    first, second = philox_words(U(key), U(counter), U(i))
    return first if word == 0 else second


implements(philox)(lambda key, counter, i, word: _half)


def _bits(key: Any, counter: Any, i: Any) -> Any:
    first, _ = philox_words(U(key), U(counter), U(i))
    return first


def _for_integers(body: Any) -> Any:
    return lambda key, counter, i: (
        body if is_integer(key) and is_integer(counter) and is_integer(i) else None
    )


implements(philox_uniform)(_for_integers(_uniform))
implements(philox_normal)(_for_integers(_normal))
implements(philox_bits)(_for_integers(_bits))


def philox_uniform_array(key: int, counter: int, n: int) -> np.ndarray:
    """`philox_uniform` of i = 0 ... n-1."""
    result: np.ndarray = _uniform(U(key), U(counter), np.arange(n, dtype=U))
    return result


def philox_normal_array(key: int, counter: int, n: int) -> np.ndarray:
    """`philox_normal` of i = 0 ... n-1."""
    result: np.ndarray = _normal(U(key), U(counter), np.arange(n, dtype=U))
    return result


def philox_bits_array(key: int, counter: int, n: int) -> np.ndarray:
    """`philox_bits` of i = 0 ... n-1."""
    result: np.ndarray = _bits(U(key), U(counter), np.arange(n, dtype=U))
    return result
