"""Elliptic integrals, and what is made of gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import div, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import sqrt, square
from ..elementwise.special import digamma, lgamma
from ..elementwise.trigonometric import sin
from .family import scipys
from .hypergeometric import hyp2f1

# --- elliptic integrals ---------------------------------------------------------------------------

# Written with E and K these derivatives cancel near m = 0.
ellipk_op: Op = scipys(
    "ellipk",
    ("m",),
    (lambda m: mul(hyp2f1(1.5, 1.5, 2.0, m), math.pi / 8),),
    "Complete elliptic integral of the first kind.",
)
ellipe_op: Op = scipys(
    "ellipe",
    ("m",),
    (lambda m: mul(hyp2f1(0.5, 1.5, 2.0, m), -math.pi / 8),),
    "Complete elliptic integral of the second kind.",
)
ellipkinc_op: Op = scipys(
    "ellipkinc",
    ("phi", "m"),
    (lambda phi, m: div(1.0, sqrt(sub(1.0, mul(m, square(sin(phi)))))), None),
    "Incomplete elliptic integral of the first kind.",
)
ellipeinc_op: Op = scipys(
    "ellipeinc",
    ("phi", "m"),
    (lambda phi, m: sqrt(sub(1.0, mul(m, square(sin(phi))))), None),
    "Incomplete elliptic integral of the second kind.",
)


def ellipk(m: Any) -> Any:
    """Complete elliptic integral of the first kind of the parameter m < 1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ellipk(0.5)), 6)
    1.854075
    """
    return bind(ellipk_op, [m])


def ellipe(m: Any) -> Any:
    """Complete elliptic integral of the second kind of the parameter m <= 1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ellipe(0.5)), 6)
    1.350644
    """
    return bind(ellipe_op, [m])


def ellipkinc(phi: Any, m: Any) -> Any:
    """Incomplete elliptic integral of the first kind; no derivative by m.

    >>> import tracegrad as tg
    >>> float(tg.special.ellipkinc(0.0, 0.5))
    0.0
    """
    return bind(ellipkinc_op, [phi, m])


def ellipeinc(phi: Any, m: Any) -> Any:
    """Incomplete elliptic integral of the second kind; no derivative by m.

    >>> import tracegrad as tg
    >>> float(tg.special.ellipeinc(0.0, 0.5))
    0.0
    """
    return bind(ellipeinc_op, [phi, m])


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
    `binom(N + k - 1, k)`. ValueError for exact=True, which is of integers.

    >>> import tracegrad as tg
    >>> float(tg.special.comb(5.0, 2.0))
    10.0
    """
    if exact:
        raise ValueError("comb: exact=True counts with Python's integers; scipy.special.comb does")
    return binom(sub(add(N, k), 1.0), k) if repetition else binom(N, k)


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
    return total


OPS = (ellipk_op, ellipe_op, ellipkinc_op, ellipeinc_op, rgamma_op, binom_op, poch_op)
__all__ = [
    "binom", "comb", "ellipe", "ellipeinc", "ellipk", "ellipkinc", "loggamma", "multigammaln",
    "poch", "rgamma",
]  # fmt: skip
