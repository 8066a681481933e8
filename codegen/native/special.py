"""The derivatives of digamma."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numba.core import types

from ..scalars.special import FAR_BELOW, scipys_polygamma
from .bridge import implements, is_real
from .math.gamma_functions import BERNOULLI
from .support import trunc_float
from .symbols import SPECIAL, external, symbol


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma; n is a non-negative integer."""
    value = scipys_polygamma(int(n), x)
    return np.float32(value) if isinstance(x, np.float32) else np.float64(value)


_signature = types.float64(types.float64, types.intc)


def _polygamma(n: Any, x: Any) -> Any:
    """Recurrence up to x >= 15 + n, then the asymptotic series; negative x by the same recurrence,
    far from 0 by reflection; poles give SciPy's infinity."""
    order = np.int64(n)
    if order == 0:
        return _psi(x)
    # What devices have: their `floor` gives integers.
    beyond = x - trunc_float(x)
    if x <= 0 and (beyond == 0 or x == -math.inf):
        return math.inf if order % 2 == 1 else -math.inf
    if x < FAR_BELOW:
        part = 1.0 + beyond
        # Both halves of the sum over all integers first: they may cancel.
        sign = 1.0 if order % 2 == 1 else -1.0
        all_of_them = _by_recurrence(order, part) + sign * _by_recurrence(order, 1.0 - part)
        return all_of_them - sign * _by_recurrence(order, 1.0 - x)
    return _by_recurrence(order, x)


def _by_recurrence(order: Any, x: Any) -> Any:
    factorial = 1.0
    for k in range(2, order):
        factorial *= k
    # Sums of the positive terms of zeta(n + 1, x), that is (-1)**(n + 1) / n! times the result.
    total = 0.0
    while x < 15.0 + order:
        total += x ** -(order + 1.0)
        x += 1.0
    total *= factorial * order
    tail = factorial * x ** -np.float64(order) * (1.0 + 0.5 * order / x)
    term = factorial * order * (order + 1.0) * 0.5 * x ** -(order + 2.0)
    for k in range(len(BERNOULLI)):
        tail += BERNOULLI[k] * term
        a = order + 2.0 * k + 2.0
        term *= a * (a + 1.0) / ((2.0 * k + 3.0) * (2.0 * k + 4.0)) / (x * x)
    total += tail
    return total if order % 2 == 1 else -total


def _psi(x: Any) -> Any:
    return scipy.special.psi(x)


@implements(_psi)
def _native_psi(x: Any) -> Any:
    call = external(symbol(SPECIAL, "psi"), _signature)
    return lambda x: call(np.float64(x), 0)


implements(_polygamma, inline=False)(lambda n, x: _polygamma)
implements(_by_recurrence, inline=False)(lambda order, x: _by_recurrence)


@implements(polygamma, inline=False)
def _native_polygamma(n: Any, x: Any) -> Any:
    if not is_real(x):
        return None
    t = np.float32 if x == types.float32 else np.float64
    return lambda n, x: t(_polygamma(np.int64(n), np.float64(x)))


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz' zeta function of x > 1 and q > 0."""
    value = _zeta(np.float64(x), np.float64(q))
    return np.float32(value) if isinstance(x, np.float32) else np.float64(value)


def _zeta(x: Any, q: Any) -> Any:
    """The first terms of the sum, then Euler's and Maclaurin's series of the others."""
    if not (x > 1 and q > 0):
        return math.inf if x == 1 and q > 0 else math.nan
    if math.isinf(q):
        return 0.0
    if x > 1100:
        # Beyond the first terms nothing is left of so high a power.
        return np.float64(q) ** -x + np.float64(q + 1.0) ** -x
    total = 0.0
    while q < 15.0 + x:
        term = np.float64(q) ** -x
        total += term
        q += 1.0
        if term < 1e-17 * total:
            return total
    first = np.float64(q) ** -x
    tail = first * q / (x - 1.0) + 0.5 * first
    term = 0.5 * x * first / q
    for k in range(len(BERNOULLI)):
        tail += BERNOULLI[k] * term
        a = x + 2.0 * k + 1.0
        term *= a * (a + 1.0) / ((2.0 * k + 3.0) * (2.0 * k + 4.0)) / (q * q)
    return total + tail


implements(_zeta, inline=False)(lambda x, q: _zeta)


@implements(zeta, inline=False)
def _native_zeta(x: Any, q: Any) -> Any:
    if not (is_real(x) and is_real(q)):
        return None
    t = np.float32 if x == types.float32 and q == types.float32 else np.float64
    return lambda x, q: t(_zeta(np.float64(x), np.float64(q)))
