"""Hurwitz' zeta function, with SciPy's name. Its derivative by x is the sum of
`-log(k + q) * (k + q)**-x`: ten terms, and the Euler-Maclaurin formula for the rest (DLMF 25.11.28,
differentiated), a composition that has derivatives of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir.dispatch import bind
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import div, greater, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp, log, square
from ..elementwise.logic import logical_and
from .family import scipys

TERMS = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
RATES = [b / math.factorial(2 * j + 2) for j, b in enumerate(_BERNOULLI)]


def _by_x(x: Any, q: Any) -> Any:
    known = logical_and(greater(x, 1), greater(q, 0))
    x, q = where(known, x, 2.0), where(known, q, 1.0)
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
    return where(known, neg(add(total, mul(power, tail))), np.nan)


zeta_op: Op = scipys(
    "zeta",
    ("x", "q"),
    (_by_x, lambda x, q: neg(mul(x, zeta(add(x, 1.0), q)))),
    "Hurwitz' zeta function.",
)


def zeta(x: Any, q: Any = 1.0) -> Any:
    """Hurwitz' zeta function, the sum of `(k + q)**-x` over k = 0, 1, ..., for x > 1 and q > 0 (NaN
    outside); without q Riemann's.

    >>> import tracegrad as tg
    >>> round(float(tg.special.zeta(2.0)), 6)
    1.644934
    """
    x = as_array(x)
    if type(q) in (int, float) and x.dtype.kind == "f":
        q = x.dtype.type(q)
    return bind(zeta_op, [x, as_array(q)])


OPS = (zeta_op,)
__all__ = ["zeta"]
