"""SciPy's compiled functions that may not be called for all numbers, with what stands in their
place, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numba.core import types

from .bridge import implements, is_real
from .symbols import SPECIAL, external, symbol

LARGEST_ORDER = 1e6
"""Of integer orders: SciPy's functions take as many steps."""
LARGEST = 1e4
"""Of Kummer's function, from which SciPy's does not come back for some larger numbers."""
OVERFLOWS = 1e5


def _single(*operands: Any) -> type:
    single = all(isinstance(x, np.float32) for x in operands)
    return np.float32 if single else np.float64


def kn(n: Any, x: Any) -> Any:
    """The modified Bessel function of the second kind of an integer order."""
    value = scipy.special.kn(int(n), x) if abs(n) <= LARGEST_ORDER else math.nan
    return _single(n, x)(value)


def yn(n: Any, x: Any) -> Any:
    """The Bessel function of the second kind of an integer order."""
    value = scipy.special.yn(int(n), x) if abs(n) <= LARGEST_ORDER else math.nan
    return _single(n, x)(value)


def expn(n: Any, x: Any) -> Any:
    """The exponential integral of an integer order."""
    value = scipy.special.expn(int(n), x) if abs(n) <= LARGEST_ORDER else math.nan
    return _single(n, x)(value)


def hyp0f1(v: Any, z: Any) -> Any:
    """The confluent limit function."""
    one = v == 1 and z > OVERFLOWS
    value = scipy.special.i0(2 * math.sqrt(z)) if one else scipy.special.hyp0f1(v, z)
    return _single(v, z)(value)


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function."""
    known = abs(a) <= LARGEST and abs(b) <= LARGEST and abs(x) <= LARGEST
    return _single(a, b, x)(scipy.special.hyp1f1(a, b, x) if known else math.nan)


def _legendre(phi: Any, m: Any, first: bool) -> Any:
    turns = math.floor(phi / math.pi + 0.5) if math.isfinite(phi) else math.nan
    s, c = (math.sin(phi), math.cos(phi)) if math.isfinite(phi) else (math.nan, math.nan)
    s, rd, rest = s if turns % 2 == 0 else -s, scipy.special.elliprd, 1 - m
    q = c * c + rest * s * s
    value = s * s * s / 6 * (rd(c * c, 1, q) if first else -rd(c * c, q, 1))
    if turns != 0:
        value += turns / 3 * (rd(0, 1, rest) if first else -rd(0, rest, 1))
    return _single(phi, m)(value)


def ellipkinc_by_m(phi: Any, m: Any) -> Any:
    """The derivative by m of the incomplete elliptic integral of the first kind."""
    return _legendre(phi, m, True)


def ellipeinc_by_m(phi: Any, m: Any) -> Any:
    """The derivative by m of the incomplete elliptic integral of the second kind."""
    return _legendre(phi, m, False)


# --- compiled -------------------------------------------------------------------------------------


def _scipys(name: str, count: int) -> Any:
    return external(symbol(SPECIAL, name), types.float64(*[types.float64] * count, types.intc))


def _kind(*operands: Any) -> type | None:
    """The dtype of a result; None where an operand is not real."""
    if not all(map(is_real, operands)):
        return None
    return np.float32 if all(x == types.float32 for x in operands) else np.float64


def _of_integer(function: Callable[..., Any]) -> None:
    @implements(function, inline=False)
    def native(n: Any, x: Any) -> Any:
        kind, nan = _kind(n, x), math.nan
        if kind is None:
            return None
        call, most = _scipys(function.__name__, 2), LARGEST_ORDER

        def body(n: Any, x: Any) -> Any:
            order = np.float64(n)
            return kind(call(np.trunc(order), np.float64(x), 0) if abs(order) <= most else nan)

        return body


_of_integer(expn)
_of_integer(kn)
_of_integer(yn)


@implements(hyp0f1, inline=False)
def _native_hyp0f1(v: Any, z: Any) -> Any:
    kind = _kind(v, z)
    if kind is None:
        return None
    call, i0, overflows = _scipys("hyp0f1", 2), _scipys("i0", 1), OVERFLOWS

    def body(v: Any, z: Any) -> Any:
        if v == 1 and z > overflows:
            return kind(i0(2.0 * math.sqrt(np.float64(z)), 0))
        return kind(call(np.float64(v), np.float64(z), 0))

    return body


@implements(hyp1f1, inline=False)
def _native_hyp1f1(a: Any, b: Any, x: Any) -> Any:
    kind, nan = _kind(a, b, x), math.nan
    if kind is None:
        return None
    call, most = _scipys("hyp1f1", 3), LARGEST

    def body(a: Any, b: Any, x: Any) -> Any:
        if abs(a) <= most and abs(b) <= most and abs(x) <= most:
            return kind(call(np.float64(a), np.float64(b), np.float64(x), 0))
        return kind(nan)

    return body


def _by_m(function: Callable[..., Any], first: bool) -> None:
    @implements(function, inline=False)
    def native(phi: Any, m: Any) -> Any:
        kind, rd, pi = _kind(phi, m), _scipys("elliprd", 3), math.pi
        if kind is None:
            return None

        def body(phi: Any, m: Any) -> Any:
            a, rest = np.float64(phi), 1.0 - np.float64(m)
            turns = np.floor(a / pi + 0.5)
            s, c = np.sin(a), np.cos(a)
            if turns % 2 != 0:
                s = -s
            q, cubed = c * c + rest * s * s, s * s * s / 6
            value = cubed * rd(c * c, 1.0, q, 0) if first else -cubed * rd(c * c, q, 1.0, 0)
            if turns != 0:
                value += turns / 3 * (rd(0.0, 1.0, rest, 0) if first else -rd(0.0, rest, 1.0, 0))
            return kind(value)

        return body


_by_m(ellipkinc_by_m, True)
_by_m(ellipeinc_by_m, False)
