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
    greater,
    greater_equal,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.derived import add, mul
from ..elementwise.logic import logical_and
from ..elementwise.special import digamma, lgamma
from .family import alike, scipys

# --- gamma functions ------------------------------------------------------------------------------

rgamma_op: Op = scipys(
    "rgamma", ("x",), (lambda x, out: neg(mul(out, digamma(x))),), "1 / gamma(x)."
)
binom_op: Op = scipys(
    "binom",
    ("n", "k"),
    (
        lambda n, k, out: mul(out, sub(digamma(add(n, 1.0)), digamma(add(sub(n, k), 1.0)))),
        lambda n, k, out: mul(out, sub(digamma(add(sub(n, k), 1.0)), digamma(add(k, 1.0)))),
    ),
    "Binomial coefficient.",
)
poch_op: Op = scipys(
    "poch",
    ("z", "m"),
    (
        lambda z, m, out: mul(out, sub(digamma(add(z, m)), digamma(z))),
        lambda z, m, out: mul(out, digamma(add(z, m))),
    ),
    "gamma(z + m) / gamma(z).",
)


def rgamma(x: Any) -> Any:
    """`1 / gamma(x)`, 0 at the poles, where its derivative is NaN.

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
    known = greater(a, 0.5 * (int(d) - 1))
    if not isinstance(known, Value) and not np.all(known):
        raise ValueError(f"multigammaln: a must be greater than (d - 1) / 2 = {(int(d) - 1) / 2}")
    return where(known, total, math.nan)


OPS = (rgamma_op, binom_op, poch_op)
__all__ = ["binom", "comb", "loggamma", "multigammaln", "poch", "rgamma"]
