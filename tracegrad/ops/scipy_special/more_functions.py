"""Error functions of complex numbers, Dawson's integral, the dilogarithm, the confluent limit
function, and distribution functions that are incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ...dtypes import inexact
from ...ir.dispatch import bind
from ...ir.op import Op, odd
from ..define import as_array
from ..elementwise.arithmetic import (
    div,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.comparison import floor
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import absolute, exp, expm1, log, square
from ..elementwise.logic import logical_and
from ..elementwise.pointwise import pointwise
from ..elementwise.special import erf
from .family import alike, scipys
from .incomplete import betainc, betaincc, gammainc, gammaincc

ROOT_PI = math.sqrt(math.pi)


def _wofz_value(z: Any) -> Any:
    return scipy.special.wofz(z)


wofz_op: Op = pointwise(
    "wofz",
    ("z",),
    numpy=_wofz_value,
    code="wofz({z})",
    partials=(lambda z, out: sub(2j / ROOT_PI, mul(mul(z, out), 2.0)),),
    kinds="c",
    doc="The Faddeeva function, exp(-z^2) erfc(-iz).",
)


def wofz(z: Any) -> Any:
    """The Faddeeva function `exp(-z**2) * erfc(-1j * z)`, a complex number. Its derivative is the
    difference of numbers that are close for large z, of which about `abs(z)**2` roundings are
    seen.

    >>> import tracegrad as tg
    >>> complex(tg.special.wofz(0.0))
    (1+0j)
    """
    z = as_array(z)
    if z.dtype.kind != "c":
        z = convert(z, np.result_type(inexact(z.dtype), np.complex64))
    return bind(wofz_op, [z])


erfi_op: Op = scipys(
    "erfi", ("x",), (lambda x: mul(exp(mul(x, x)), 2 / ROOT_PI),), "erf(ix) / i.", parity=odd
)


def _dawsn_slope(x: Any, out: Any) -> Any:
    """1 - 2 x dawsn(x), which cancels for large x: there by its series in 1 / x^2."""
    far = greater(absolute(x), 18.0)
    t = div(0.5, square(where(far, x, 18.0)))
    return where(far, neg(mul(t, odd_factorials(t))), sub(1.0, mul(mul(x, out), 2.0)))


def odd_factorials(t: Any) -> Any:
    """1 + 3 t + 3 * 5 t^2 + 3 * 5 * 7 t^3 ..., all digits of it where t is below 1/600."""
    series: Any = 1.0
    for k in range(17, 1, -2):
        series = add(mul(mul(series, t), float(k)), 1.0)
    return series


dawsn_op: Op = scipys(
    "dawsn",
    ("x",),
    (_dawsn_slope,),
    "Dawson's integral.",
    parity=odd,
)


def _spence_slope(z: Any) -> Any:
    """log(z) / (1 - z), by its series near 1."""
    t = sub(z, 1.0)
    near = less(absolute(t), 1e-2)
    small = where(near, t, 0.0)
    series: Any = 0.0
    for k in range(9, 0, -1):
        series = add(mul(neg(small), series), 1.0 / k)
    safe = where(near, 2.0, z)
    return where(near, neg(series), div(log(safe), sub(1.0, safe)))


spence_op: Op = scipys("spence", ("z",), (_spence_slope,), "The dilogarithm of 1 - z.")


def erfi(x: Any) -> Any:
    """Imaginary error function `-1j * erf(1j * x)`, of complex numbers too.

    >>> import tracegrad as tg
    >>> round(float(tg.special.erfi(1.0)), 6)
    1.650426
    """
    if as_array(x).dtype.kind == "c":
        return mul(erf(mul(x, 1j)), -1j)
    return bind(erfi_op, [x])


def dawsn(x: Any) -> Any:
    """Dawson's integral `sqrt(pi) / 2 * exp(-x**2) * erfi(x)` of real numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.dawsn(1.0)), 6)
    0.53808
    """
    return bind(dawsn_op, [x])


def spence(z: Any) -> Any:
    """Spence's function, the dilogarithm of `1 - z`, of real numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.spence(2.0)), 6)
    -0.822467
    """
    return bind(spence_op, [z])


def exprel(x: Any) -> Any:
    """`expm1(x) / x`, and 1 at 0, with all derivatives there.

    >>> import tracegrad as tg
    >>> float(tg.special.exprel(0.0))
    1.0
    """
    x = as_array(x)
    x = x if x.dtype.kind == "f" else convert(x, inexact(x.dtype))
    near = less(absolute(x), 0.3)
    small = where(near, x, 0.0)
    series: Any = 1.0
    for k in range(14, 1, -1):
        series = add(mul(div(small, float(k)), series), 1.0)
    safe = where(near, 1.0, x)
    whole = where(equal(safe, math.inf), math.inf, div(expm1(safe), safe))
    return where(near, series, whole)


def chdtr(v: Any, x: Any) -> Any:
    """Distribution function of chi squared with v degrees of freedom.

    >>> import tracegrad as tg
    >>> round(float(tg.special.chdtr(2.0, 2.0)), 6)
    0.632121
    """
    v, x = alike(v, x)
    return gammainc(mul(v, 0.5), mul(x, 0.5))


def chdtrc(v: Any, x: Any) -> Any:
    """`1 - chdtr(v, x)`, accurate in the upper tail.

    >>> import tracegrad as tg
    >>> round(float(tg.special.chdtrc(2.0, 2.0)), 6)
    0.367879
    """
    v, x = alike(v, x)
    return gammaincc(mul(v, 0.5), mul(x, 0.5))


def pdtr(k: Any, m: Any) -> Any:
    """Distribution function of Poisson's distribution with mean m, up to k events.

    >>> import tracegrad as tg
    >>> round(float(tg.special.pdtr(0, 1.0)), 6)
    0.367879
    """
    k, m = alike(k, m)
    return gammaincc(add(floor(k), 1.0), m)


def pdtrc(k: Any, m: Any) -> Any:
    """`1 - pdtr(k, m)`, accurate in the upper tail.

    >>> import tracegrad as tg
    >>> round(float(tg.special.pdtrc(0, 1.0)), 6)
    0.632121
    """
    k, m = alike(k, m)
    return gammainc(add(floor(k), 1.0), m)


def gdtr(a: Any, b: Any, x: Any) -> Any:
    """Distribution function of the gamma distribution of rate a and shape b.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gdtr(1.0, 1.0, 1.0)), 6)
    0.632121
    """
    a, b, x = alike(a, b, x)
    return gammainc(b, mul(a, x))


def gdtrc(a: Any, b: Any, x: Any) -> Any:
    """`1 - gdtr(a, b, x)`, accurate in the upper tail.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gdtrc(1.0, 1.0, 1.0)), 6)
    0.367879
    """
    a, b, x = alike(a, b, x)
    return gammaincc(b, mul(a, x))


def _of_degrees(dfn: Any, dfd: Any, x: Any, value: Any) -> Any:
    """The value where there are degrees of freedom, and x is a ratio; else NaN."""
    known = logical_and(greater(dfn, 0), logical_and(greater(dfd, 0), greater_equal(x, 0)))
    finite = logical_and(less(dfn, math.inf), less(dfd, math.inf))
    return where(logical_and(known, finite), value, math.nan)


def _f_shares(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any, Any]:
    """Whether the share of the first kind is the smaller one, it, and the other; that has digits
    which is."""
    one = div(dfd, dfn)
    low = less_equal(x, one)
    # Where it is not read, a share within its bounds, where all has derivatives.
    first = where(low, x, one)
    return low, div(first, add(first, one)), div(one, add(where(low, one, x), one))


def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """Distribution function of the F distribution.

    >>> import tracegrad as tg
    >>> float(tg.special.fdtr(2.0, 2.0, 1.0))
    0.5
    """
    dfn, dfd, x = alike(dfn, dfd, x)
    low, share, rest = _f_shares(dfn, dfd, x)
    a, b = mul(dfn, 0.5), mul(dfd, 0.5)
    return _of_degrees(dfn, dfd, x, where(low, betainc(a, b, share), betaincc(b, a, rest)))


def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    """`1 - fdtr(dfn, dfd, x)`, accurate in the upper tail.

    >>> import tracegrad as tg
    >>> float(tg.special.fdtrc(2.0, 2.0, 1.0))
    0.5
    """
    dfn, dfd, x = alike(dfn, dfd, x)
    low, share, rest = _f_shares(dfn, dfd, x)
    a, b = mul(dfn, 0.5), mul(dfd, 0.5)
    return _of_degrees(dfn, dfd, x, where(low, betaincc(a, b, share), betainc(b, a, rest)))


OPS = (wofz_op, erfi_op, dawsn_op, spence_op)
__all__ = [
    "chdtr", "chdtrc", "dawsn", "erfi", "exprel", "fdtr", "fdtrc", "gdtr", "gdtrc",
    "pdtr", "pdtrc", "spence", "wofz",
]  # fmt: skip
