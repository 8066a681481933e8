"""Hurwitz' zeta function, with SciPy's name. Its derivative by x is the sum of
`-log(k + q) * (k + q)**-x`: ten terms, and the Euler-Maclaurin formula for the rest (DLMF 25.11.28,
differentiated), a composition that has derivatives of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import inexact
from ...ir.dispatch import bind
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import div, greater, greater_equal, less, neg, sub, where
from ..elementwise.comparison import floor
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import exp, log, square
from ..elementwise.logic import logical_and
from ..elementwise.special import digamma, lgamma
from ..elementwise.trigonometric import cos, sin
from .family import scipys

TERMS = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
RATES = [b / math.factorial(2 * j + 2) for j, b in enumerate(_BERNOULLI)]


def _by_x(x: Any, q: Any) -> Any:
    known = logical_and(greater(x, 1), greater(q, 0))
    return where(known, _slope(where(known, x, 2.0), where(known, q, 1.0)), np.nan)


def _slope(x: Any, q: Any) -> Any:
    """The derivative by x, of x down to -1/4 by continuation."""
    total: Any = 0.0
    for k in range(TERMS):
        logarithm = log(add(q, float(k)))
        total = add(total, mul(logarithm, exp(neg(mul(x, logarithm)))))
    a = add(q, float(TERMS))
    logarithm = log(a)
    power, beyond = exp(neg(mul(x, logarithm))), sub(x, 1.0)
    tail = mul(a, add(div(logarithm, beyond), div(1.0, square(beyond))))
    tail = add(tail, mul(logarithm, 0.5))
    # The product of x, x + 1, ..., and its derivative.
    product, slope = x, add(mul(x, 0.0), 1.0)
    shrink: Any = div(1.0, a)
    for j, rate in enumerate(RATES):
        if j:
            for step in (2 * j - 1, 2 * j):
                factor = add(x, float(step))
                product, slope = mul(product, factor), add(mul(slope, factor), product)
            shrink = div(shrink, square(a))
        tail = add(tail, mul(mul(sub(mul(product, logarithm), slope), shrink), rate))
    return neg(add(total, mul(power, tail)))


zeta_op: Op = scipys(
    "zeta",
    ("x", "q"),
    (_by_x, lambda x, q: neg(mul(x, zeta(add(x, 1.0), q)))),
    "Hurwitz' zeta function.",
)


def _riemann(x: Any) -> Any:
    """Riemann's zeta function of all numbers: of negative ones by reflection."""
    below = less(x, -0.25)
    at = sub(1.0, where(below, x, -2.0))
    # One value for both, which costs more than all else; there adding 1 loses no digits.
    found = add(zetac(where(below, at, x)), 1.0)
    size = exp(sub(lgamma(at), mul(at, math.log(2 * math.pi))))
    # sin(pi x / 2), which is 0 at even numbers.
    turn = sub(x, mul(floor(div(x, 4.0)), 4.0))
    turn = where(below, turn, 1.0)
    half = greater_equal(turn, 2)
    arc = where(half, sub(turn, 2.0), turn)
    wave = sin(mul(where(greater(arc, 1), sub(2.0, arc), arc), math.pi / 2))
    wave = mul(wave, where(half, x.dtype.type(-2), x.dtype.type(2)))
    mirror = mul(mul(size, wave), found)
    return where(below, mirror, found)


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz' zeta function, the sum of `(k + q)**-x` over k = 0, 1, ..., for x > 1 and q > 0 (NaN
    outside); without q Riemann's, of all real x.

    >>> import tracegrad as tg
    >>> round(float(tg.special.zeta(2.0)), 6), round(float(tg.special.zeta(-1.0)), 6)
    (1.644934, -0.083333)
    """
    x = as_array(x)
    if q is None:
        return _riemann(x if x.dtype.kind == "f" else convert(x, inexact(x.dtype)))
    if type(q) in (int, float) and x.dtype.kind == "f":
        q = x.dtype.type(q)
    return bind(zeta_op, [x, as_array(q)])


def _reflected(x: Any) -> Any:
    """The derivative of Riemann's zeta function of x below -1/4, by that of s = 1 - x."""
    s = sub(1.0, x)
    size = mul(exp(sub(lgamma(s), mul(s, math.log(2 * math.pi)))), 2.0)
    turn = mul(sub(s, mul(floor(div(s, 4.0)), 4.0)), math.pi / 2)
    whole, wave = add(zetac(s), 1.0), cos(turn)
    grown = add(_by_x(s, x.dtype.type(1)), mul(whole, sub(digamma(s), math.log(2 * math.pi))))
    return mul(size, sub(mul(mul(sin(turn), whole), math.pi / 2), mul(wave, grown)))


def _riemann_slope(x: Any) -> Any:
    below = less(x, -0.25)
    near = _slope(where(below, 0.5, x), x.dtype.type(1))
    return where(below, _reflected(where(below, x, -1.0)), near)


zetac_op: Op = scipys("zetac", ("x",), (_riemann_slope,), "Riemann's zeta function less 1.")


def zetac(x: Any) -> Any:
    """Riemann's zeta function less 1, of all real numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.zetac(2.0)), 6)
    0.644934
    """
    return bind(zetac_op, [x])


OPS = (zeta_op, zetac_op)
__all__ = ["zeta", "zetac"]
