"""What is made of gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import DTypeError
from ...ir.dispatch import Value, bind
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import (
    equal,
    greater_equal,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.comparison import floor
from ..elementwise.derived import add, mul
from ..elementwise.logic import logical_and, logical_not, logical_or
from ..elementwise.remainders import remainder
from ..elementwise.special import digamma, gamma, lgamma
from ..elementwise.trigonometric import cos, sin
from .family import alike, scipys

# --- gamma functions ------------------------------------------------------------------------------


def _rgamma_slope(x: Any, out: Any) -> Any:
    """By reflection below 1/2: at the poles of gamma, where `out` is 0, too."""
    low = less(x, 0.5)
    at = where(low, x, 0.0)
    nearest = floor(add(at, 0.5))
    arc, turn = mul(sub(at, nearest), math.pi), sub(1.0, mul(remainder(nearest, 2.0), 2.0))
    slope = sub(cos(arc), mul(mul(sin(arc), 1 / math.pi), digamma(sub(1.0, at))))
    mirror = mul(mul(gamma(sub(1.0, at)), turn), slope)
    return where(low, mirror, neg(mul(out, digamma(where(low, 1.0, x)))))


def _is_pole(x: Any) -> Any:
    return logical_and(less_equal(x, 0.0), equal(x, floor(x)))


def _slope_of(x: Any) -> Any:
    """The derivative of rgamma at x."""
    return _rgamma_slope(x, rgamma(x))


def _binom_by_n(n: Any, k: Any, out: Any) -> Any:
    above, rest = add(n, 1.0), add(sub(n, k), 1.0)
    # 1 / gamma(rest) is 0 there, and has a slope.
    zero = logical_and(_is_pole(rest), logical_not(_is_pole(above)))
    slope = mul(gamma(where(zero, above, 1.0)), mul(rgamma(add(k, 1.0)), _slope_of(rest)))
    apart = mul(out, sub(digamma(above), digamma(where(zero, 1.0, rest))))
    return where(zero, add(slope, mul(out, digamma(where(zero, above, 1.0)))), apart)


def _binom_by_k(n: Any, k: Any, out: Any) -> Any:
    above, below, rest = add(n, 1.0), add(k, 1.0), add(sub(n, k), 1.0)
    zero = logical_or(_is_pole(rest), _is_pole(below))
    zero = logical_and(zero, logical_not(_is_pole(above)))
    slopes = sub(mul(_slope_of(below), rgamma(rest)), mul(rgamma(below), _slope_of(rest)))
    found = mul(gamma(where(zero, above, 1.0)), slopes)
    rest, below = where(zero, 1.0, rest), where(zero, 1.0, below)
    return where(zero, found, mul(out, sub(digamma(rest), digamma(below))))


def _poch_by_z(z: Any, m: Any, out: Any) -> Any:
    total = add(z, m)
    zero = logical_and(_is_pole(z), logical_not(_is_pole(total)))
    whole = where(zero, total, 1.0)
    found = add(mul(out, digamma(whole)), mul(gamma(whole), _slope_of(z)))
    return where(zero, found, mul(out, sub(digamma(total), digamma(where(zero, 1.0, z)))))


rgamma_op: Op = scipys("rgamma", ("x",), (_rgamma_slope,), "1 / gamma(x).")
binom_op: Op = scipys("binom", ("n", "k"), (_binom_by_n, _binom_by_k), "Binomial coefficient.")
poch_op: Op = scipys(
    "poch",
    ("z", "m"),
    (_poch_by_z, lambda z, m, out: mul(out, digamma(add(z, m)))),
    "gamma(z + m) / gamma(z).",
)


def rgamma(x: Any) -> Any:
    """`1 / gamma(x)`, 0 at the poles.

    >>> import tracegrad as tg
    >>> float(tg.special.rgamma(0.0))
    0.0
    """
    return bind(rgamma_op, [x])


def binom(n: Any, k: Any) -> Any:
    """Binomial coefficient of real numbers.

    >>> import tracegrad as tg
    >>> float(tg.special.binom(5.0, 2.0))
    10.0
    """
    return bind(binom_op, [n, k])


def poch(z: Any, m: Any) -> Any:
    """`gamma(z + m) / gamma(z)`, for positive z and z + m.

    >>> import tracegrad as tg
    >>> float(tg.special.poch(2.0, 3.0))
    24.0
    """
    return bind(poch_op, [z, m])


def loggamma(z: Any) -> Any:
    """Logarithm of the gamma function of real numbers as SciPy continues it: NaN for negative ones,
    where it is not real. DTypeError for complex ones.

    >>> import tracegrad as tg
    >>> round(float(tg.special.loggamma(0.5)), 6)
    0.572365
    """
    z = as_array(z)
    if z.dtype.kind == "c":
        raise DTypeError("special.loggamma: of complex numbers it is not supported; z must be real")
    below = less(z, 0)
    return where(below, float("nan"), lgamma(where(below, 1, z)))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N, as real numbers: `binom(N, k)`, with repetition
    `binom(N + k - 1, k)`; without it 0 where k > N or one is negative. ValueError for exact=True,
    which is of integers.

    >>> import tracegrad as tg
    >>> float(tg.special.comb(5.0, 2.0))
    10.0
    """
    if exact:
        raise ValueError("comb: exact=True counts with Python's integers; scipy.special.comb does")
    N, k = alike(N, k)
    if repetition:
        empty = logical_and(equal(k, 0), greater_equal(N, 0))
        n = where(empty, 1.0, sub(add(N, k), 1.0))
        return where(empty, 1.0, binom(n, where(empty, 1.0, k)))
    fits = logical_and(less_equal(k, N), logical_and(greater_equal(N, 0), greater_equal(k, 0)))
    return where(fits, binom(where(fits, N, 1.0), where(fits, k, 1.0)), 0.0)


MOST_DIMENSIONS = 10_000
"""Each is a term of a sum that is written out."""


def multigammaln(a: Any, d: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension d, a Python integer.

    >>> import tracegrad as tg
    >>> round(float(tg.special.multigammaln(3.0, 2)), 6)
    1.550195
    """
    if not isinstance(d, (int, np.integer)) or isinstance(d, bool) or not 1 <= d <= MOST_DIMENSIONS:
        raise ValueError(
            f"multigammaln: d is {d!r:.60}; it must be an integer from 1 to {MOST_DIMENSIONS}"
        )
    total: Any = d * (d - 1) / 4 * math.log(math.pi)
    for j in range(int(d)):
        total = add(lgamma(sub(a, 0.5 * j)), total)
    outside = less_equal(a, 0.5 * (int(d) - 1))
    if not isinstance(outside, Value) and np.any(outside):
        raise ValueError(f"multigammaln: a must be greater than (d - 1) / 2 = {(int(d) - 1) / 2}")
    return where(outside, math.nan, total)


OPS = (rgamma_op, binom_op, poch_op)
__all__ = ["binom", "comb", "loggamma", "multigammaln", "poch", "rgamma"]
