"""Bessel functions, with SciPy's names. Their derivatives by the argument are functions of
neighbouring orders, or of the orders 0 and 1 alone (`f_2` is a combination of these); by the order
there is none (UnsupportedFunctionError where it is asked for)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..elementwise.arithmetic import div, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, sign
from ..elementwise.logic import isinf, logical_or
from .family import scipys

Function = Callable[[Any, Any], Any]
LARGEST_ORDER = 1e6
"""SciPy's take as many steps as the order has."""


def _between(f: Function, lower: float, upper: float) -> Callable[[Any, Any], Any]:
    """A combination of the functions of the orders below and above."""
    return lambda v, x: add(mul(f(sub(v, 1.0), x), lower), mul(f(add(v, 1.0), x), upper))


def _neighbours(f: Function) -> Function:
    return _between(f, 0.5, -0.5)


jv_op: Op = scipys(
    "jv", ("v", "x"), (None, lambda v, x: _neighbours(jv)(v, x)), "Bessel, first kind."
)
yv_op: Op = scipys(
    "yv", ("v", "x"), (None, lambda v, x: _neighbours(yv)(v, x)), "Bessel, second kind."
)
iv_op: Op = scipys(
    "iv", ("v", "x"), (None, lambda v, x: _between(iv, 0.5, 0.5)(v, x)), "Modified Bessel, first."
)
kv_op: Op = scipys(
    "kv",
    ("v", "x"),
    (None, lambda v, x: _between(kv, -0.5, -0.5)(v, x)),
    "Modified Bessel, second.",
)
ive_op: Op = scipys(
    "ive",
    ("v", "x"),
    (None, lambda v, x, out: sub(_between(ive, 0.5, 0.5)(v, x), mul(sign(x), out))),
    "exp(-|x|) iv(v, x).",
)
kve_op: Op = scipys(
    "kve",
    ("v", "x"),
    (None, lambda v, x, out: add(_between(kve, -0.5, -0.5)(v, x), out)),
    "exp(x) kv(v, x).",
)


NEAR = 2.0
"""Up to which size a series stands for a quotient by the argument, whose derivatives would cancel;
what is left out of it is below 1e-24 there, and of its fourth derivative below 1e-19."""
COEFFICIENTS: list[Any] = [0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(15)]


def _by_argument(x: Any, out: Any, sign_of_terms: float, weight: Any = None) -> Any:
    """`out / x` for `out = weight * I_1(x)`, or J_1 where the signs of the terms change. 0 where
    `out` is infinite, which I_0 is there, too."""
    near = less(absolute(x), NEAR)
    inside = where(near, x, 0.0)
    square = mul(inside, mul(inside, 0.25 * sign_of_terms))
    *others, series = COEFFICIENTS
    for coefficient in reversed(others):
        series = add(mul(series, square), coefficient)
    if weight is not None:
        series = mul(series, weight)
    outside = where(logical_or(near, isinf(out)), 0.0, out)
    return where(near, series, div(outside, where(near, 1.0, x)))


def of_integer(name: str) -> Function:
    """SciPy's function of the order without what is behind its point, which SciPy warns of."""

    def value(n: Any, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            known = np.abs(n) <= LARGEST_ORDER
        found = getattr(scipy.special, name)(np.trunc(np.where(known, n, 0)).astype(n.dtype), x)
        return np.where(known, found, found.dtype.type(np.nan))

    return value


kn_op: Op = scipys(
    "kn",
    ("n", "x"),
    (None, lambda n, x: _between(kn, -0.5, -0.5)(n, x)),
    "kv of an integer.",
    of_integer("kn"),
)
yn_op: Op = scipys(
    "yn",
    ("n", "x"),
    (None, lambda n, x: _neighbours(yn)(n, x)),
    "yv of an integer.",
    of_integer("yn"),
)
j0_op: Op = scipys("j0", ("x",), (lambda x: neg(j1(x)),), "jv(0, x).", parity=even)
j1_op: Op = scipys(
    "j1", ("x",), (lambda x, out: sub(j0(x), _by_argument(x, out, -1.0)),), "jv(1, x).", parity=odd
)
y0_op: Op = scipys("y0", ("x",), (lambda x: neg(y1(x)),), "yv(0, x).")
y1_op: Op = scipys("y1", ("x",), (lambda x, out: sub(y0(x), div(out, x)),), "yv(1, x).")
i0_op: Op = scipys("i0", ("x",), (lambda x: i1(x),), "iv(0, x).", parity=even)
i1_op: Op = scipys(
    "i1", ("x",), (lambda x, out: sub(i0(x), _by_argument(x, out, 1.0)),), "iv(1, x).", parity=odd
)
k0_op: Op = scipys("k0", ("x",), (lambda x: neg(k1(x)),), "kv(0, x).")
k1_op: Op = scipys("k1", ("x",), (lambda x, out: neg(add(k0(x), div(out, x))),), "kv(1, x).")
i0e_op: Op = scipys(
    "i0e", ("x",), (lambda x, out: sub(i1e(x), mul(sign(x), out)),), "exp(-|x|) i0(x).", parity=even
)
i1e_op: Op = scipys(
    "i1e",
    ("x",),
    (
        lambda x, out: sub(
            sub(i0e(x), _by_argument(x, out, 1.0, exp(neg(absolute(x))))), mul(sign(x), out)
        ),
    ),
    "exp(-|x|) i1(x).",
    parity=odd,
)
k0e_op: Op = scipys("k0e", ("x",), (lambda x, out: sub(out, k1e(x)),), "exp(x) k0(x).")
k1e_op: Op = scipys(
    "k1e", ("x",), (lambda x, out: sub(sub(out, k0e(x)), div(out, x)),), "exp(x) k1(x)."
)


def jv(v: Any, x: Any) -> Any:
    """Bessel function of the first kind of real order v; no derivative by v.

    >>> import tracegrad as tg
    >>> float(tg.special.jv(0.0, 0.0))
    1.0
    """
    return bind(jv_op, [v, x])


def yv(v: Any, x: Any) -> Any:
    """Bessel function of the second kind of real order v; no derivative by v.

    >>> import tracegrad as tg
    >>> round(float(tg.special.yv(1.0, 1.0)), 6)
    -0.781213
    """
    return bind(yv_op, [v, x])


def iv(v: Any, x: Any) -> Any:
    """Modified Bessel function of the first kind of real order v; no derivative by v.

    >>> import tracegrad as tg
    >>> round(float(tg.special.iv(1.0, 1.0)), 6)
    0.565159
    """
    return bind(iv_op, [v, x])


def kv(v: Any, x: Any) -> Any:
    """Modified Bessel function of the second kind of real order v; no derivative by v.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kv(1.0, 1.0)), 6)
    0.601907
    """
    return bind(kv_op, [v, x])


def ive(v: Any, x: Any) -> Any:
    """`exp(-abs(x)) * iv(v, x)`; no derivative by v.

    >>> import tracegrad as tg
    >>> float(tg.special.ive(0.0, 0.0))
    1.0
    """
    return bind(ive_op, [v, x])


def kve(v: Any, x: Any) -> Any:
    """`exp(x) * kv(v, x)`; no derivative by v.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kve(1.0, 1.0)), 6)
    1.636153
    """
    return bind(kve_op, [v, x])


def kn(n: Any, x: Any) -> Any:
    """Modified Bessel function of the second kind of integer order n; an order that is no integer
    is cut off, as SciPy does it, and one beyond 1e6 gives NaN. No derivative by n.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kn(2, 1.0)), 6)
    1.624839
    """
    return bind(kn_op, [n, x])


def yn(n: Any, x: Any) -> Any:
    """Bessel function of the second kind of integer order n; an order that is no integer is cut
    off, as SciPy does it, and one beyond 1e6 gives NaN. No derivative by n.

    >>> import tracegrad as tg
    >>> round(float(tg.special.yn(2, 1.0)), 6)
    -1.650683
    """
    return bind(yn_op, [n, x])


Unary = Callable[[Any], Any]


def _of_order(op: Op, what: str, example: str) -> Unary:
    def function(x: Any) -> Any:
        return bind(op, [x])

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"""{what}

    >>> import tracegrad as tg
    >>> round(float(tg.special.{op.name}(1.0)), 6)
    {example}
    """
    return function


j0: Unary = _of_order(j0_op, "Bessel function of the first kind of order 0.", "0.765198")
j1: Unary = _of_order(j1_op, "Bessel function of the first kind of order 1.", "0.440051")
y0: Unary = _of_order(y0_op, "Bessel function of the second kind of order 0.", "0.088257")
y1: Unary = _of_order(y1_op, "Bessel function of the second kind of order 1.", "-0.781213")
i0: Unary = _of_order(i0_op, "Modified Bessel function of the first kind of order 0.", "1.266066")
i1: Unary = _of_order(i1_op, "Modified Bessel function of the first kind of order 1.", "0.565159")
k0: Unary = _of_order(k0_op, "Modified Bessel function of the second kind of order 0.", "0.421024")
k1: Unary = _of_order(k1_op, "Modified Bessel function of the second kind of order 1.", "0.601907")
i0e: Unary = _of_order(i0e_op, "`exp(-abs(x)) * i0(x)`.", "0.46576")
i1e: Unary = _of_order(i1e_op, "`exp(-abs(x)) * i1(x)`.", "0.20791")
k0e: Unary = _of_order(k0e_op, "`exp(x) * k0(x)`.", "1.144463")
k1e: Unary = _of_order(k1e_op, "`exp(x) * k1(x)`.", "1.636153")

OPS = (
    jv_op, yv_op, iv_op, kv_op, ive_op, kve_op, j0_op, j1_op, y0_op, y1_op, i0_op, i1_op, k0_op,
    k1_op, i0e_op, i1e_op, k0e_op, k1e_op, kn_op, yn_op,
)  # fmt: skip
__all__ = [
    "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kn", "kv",
    "kve", "y0", "y1", "yn", "yv",
]  # fmt: skip
