"""Integrals of Bessel's and Struve's functions, with SciPy's names and in SciPy's accuracy:
the derivatives are the functions themselves. Weber's parabolic cylinder functions."""

from __future__ import annotations

import math
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..elementwise.arithmetic import div, equal, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, square
from .bessel import i0, j0, k0, y0
from .family import one_of, scipys
from .struve import modstruve, struve

TERMS = 12


def _over(x: Any, whole: Any, sign: float) -> Any:
    """(f(x) - 1) / x for i0 (sign 1) and (1 - f(x)) / x for j0 (sign -1), by the series near 0."""
    near = less(absolute(x), 1.0)
    t = mul(square(where(near, x, 0.0)), sign / 4)
    series: Any = 0.0
    for k in range(TERMS, 0, -1):
        series = add(mul(series, t), 1 / math.factorial(k) ** 2)
    apart = where(near, 1.0, x)
    far = div(mul(sub(whole(apart), 1.0), sign), apart)
    return where(near, mul(mul(x, 0.25), series), far)


i0_op: Op = one_of("integral_i0", "iti0k0", 0, ("x",), (lambda x: i0(x),), parity=odd)
k0_op: Op = one_of("integral_k0", "iti0k0", 1, ("x",), (lambda x: k0(x),))
j0_op: Op = one_of("integral_j0", "itj0y0", 0, ("x",), (lambda x: j0(x),), parity=odd)
y0_op: Op = one_of("integral_y0", "itj0y0", 1, ("x",), (lambda x: y0(x),))
i0_over_op: Op = one_of(
    "integral_i0_over", "it2i0k0", 0, ("x",), (lambda x: _over(x, i0, 1.0),), parity=even
)
k0_over_op: Op = one_of("integral_k0_over", "it2i0k0", 1, ("x",), (lambda x: neg(div(k0(x), x)),))
j0_over_op: Op = one_of(
    "integral_j0_over", "it2j0y0", 0, ("x",), (lambda x: _over(x, j0, -1.0),), parity=even
)
y0_over_op: Op = one_of("integral_y0_over", "it2j0y0", 1, ("x",), (lambda x: neg(div(y0(x), x)),))


def _struve_over(x: Any) -> Any:
    zero = equal(x, 0)
    at = where(zero, 1.0, x)
    return where(zero, -2 / math.pi, neg(div(struve(0.0, at), at)))


modstruve_op: Op = scipys(
    "itmodstruve0",
    ("x",),
    (lambda x: modstruve(0.0, x),),
    "The integral of modstruve(0, t).",
    parity=even,
)
struve_over_op: Op = scipys(
    "it2struve0", ("x",), (_struve_over,), "The integral of struve(0, t) / t from x to infinity."
)


def iti0k0(x: Any) -> tuple[Any, Any]:
    """The integrals of `i0` and `k0` from 0 to x, of real numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.iti0k0(1.0)]
    [1.086521, 1.24251]
    """
    return bind(i0_op, [x]), bind(k0_op, [x])


def itj0y0(x: Any) -> tuple[Any, Any]:
    """The integrals of `j0` and `y0` from 0 to x, of real numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.itj0y0(1.0)]
    [0.91973, -0.637069]
    """
    return bind(j0_op, [x]), bind(y0_op, [x])


def it2i0k0(x: Any) -> tuple[Any, Any]:
    """The integrals of `(i0(t) - 1) / t` from 0 to x and of `k0(t) / t` from x to infinity, of real
    numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.it2i0k0(1.0)]
    [0.128979, 0.208518]
    """
    return bind(i0_over_op, [x]), bind(k0_over_op, [x])


def it2j0y0(x: Any) -> tuple[Any, Any]:
    """The integrals of `(1 - j0(t)) / t` from 0 to x and of `y0(t) / t` from x to infinity, of real
    numbers.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.it2j0y0(1.0)]
    [0.121165, 0.395273]
    """
    return bind(j0_over_op, [x]), bind(y0_over_op, [x])


def itmodstruve0(x: Any) -> Any:
    """The integral of `modstruve(0, t)` from 0 to x, of real numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.itmodstruve0(1.0)), 6)
    0.336473
    """
    return bind(modstruve_op, [x])


def it2struve0(x: Any) -> Any:
    """The integral of `struve(0, t) / t` from x to infinity, of real numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.it2struve0(1.0)), 6)
    0.957197
    """
    return bind(struve_over_op, [x])


w_op: Op = one_of("weber_w", "pbwa", 0, ("a", "x"), (None, lambda a, x: bind(wp_op, [a, x])))
wp_op: Op = one_of(
    "weber_wp",
    "pbwa",
    1,
    ("a", "x"),
    (None, lambda a, x: mul(sub(a, mul(square(x), 0.25)), bind(w_op, [a, x]))),
)


def pbwa(a: Any, x: Any) -> tuple[Any, Any]:
    """Weber's parabolic cylinder function W(a, x) and its derivative by x, in SciPy's accuracy
    (digits only for a and x up to 5 in size); no derivative by a.

    >>> import tracegrad as tg
    >>> [round(float(v), 6) for v in tg.special.pbwa(1.0, 0.0)]
    [0.731481, -0.683545]
    """
    return bind(w_op, [a, x]), bind(wp_op, [a, x])


OPS = (
    i0_op, k0_op, j0_op, y0_op, i0_over_op, k0_over_op, j0_over_op, y0_over_op,
    modstruve_op, struve_over_op, w_op, wp_op,
)  # fmt: skip
__all__ = [
    "it2i0k0", "it2j0y0", "it2struve0", "iti0k0", "itj0y0", "itmodstruve0", "pbwa",
]  # fmt: skip
