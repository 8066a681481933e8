"""Special functions: logistic, error and gamma functions, and compositions of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy

from ..._codegen import scalars
from ...dtypes import inexact
from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import odd, operand_kinds
from ..define import as_array
from .arithmetic import div, equal, less, neg, sub, where
from .derived import add, convert, mul, operand_of, strong_mul
from .elementary import LN2, exp, log, log1p
from .logic import isinf, isnan, logical_and
from .pointwise import pointwise

REAL = "biuf"


def _scipy(name: str) -> Callable[..., Any]:
    """A function of `scipy.special`, which is loaded at its first use: that takes a third as long
    as loading this package."""
    return lambda *arguments: getattr(scipy.special, name)(*arguments)


# --- logistic -------------------------------------------------------------------------------------


def _sigmoid_evaluate(x: Any) -> Any:
    return 1 / (1 + np.exp(-x)) if x.dtype.kind == "c" else scipy.special.expit(x)


sigmoid_op = pointwise(
    "sigmoid",
    ("x",),
    numpy=_sigmoid_evaluate,
    code="sigmoid({x})",
    partials=(lambda out: out * (1 - out),),
    doc="1 / (1 + exp(-x)).",
)
softplus_op = pointwise(
    "softplus",
    ("x",),
    numpy=lambda x: np.logaddexp(x, x.dtype.type(0)),
    code="softplus({x})",
    partials=(lambda x: sigmoid(x),),
    kinds=REAL,
    doc="log(1 + exp(x)).",
)


def _share(x: Any, y: Any) -> Any:
    """exp(x) / (exp(x) + exp(y)): a logistic function of the difference, one half for equal
    infinities."""
    if any(isinstance(v, (int, float)) and math.isfinite(v) for v in (x, y)):
        return sigmoid(sub(x, y))
    return sigmoid(where(logical_and(isinf(x), equal(x, y)), 0, sub(x, y)))


logaddexp_op = pointwise(
    "logaddexp",
    ("x", "y"),
    numpy=np.logaddexp,
    code="logaddexp({x}, {y})",
    kinds=REAL,
    partials=(lambda x, y: _share(x, y), lambda x, y: _share(y, x)),
    commutes=True,
    doc="log(exp(x) + exp(y)) without overflow.",
)


def sigmoid(x: Any) -> Any:
    """The logistic function `1 / (1 + exp(-x))`.

    >>> import tracegrad as tg
    >>> float(tg.sigmoid(0.0))
    0.5
    """
    return bind(sigmoid_op, [x])


def softplus(x: Any) -> Any:
    """`log(1 + exp(x))` without overflow; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.softplus(1000.0))
    1000.0
    """
    return bind(softplus_op, [x])


def log_sigmoid(x: Any) -> Any:
    """The logarithm of the logistic function, accurate for very negative `x`.

    >>> import tracegrad as tg
    >>> float(tg.log_sigmoid(-1000.0))
    -1000.0
    """
    return neg(softplus(neg(x)))


def logit(p: Any) -> Any:
    """`log(p / (1 - p))`, the inverse of the logistic function.

    >>> import tracegrad as tg
    >>> float(tg.logit(0.5))
    0.0
    """
    return sub(log(p), log1p(neg(p)))


def logaddexp(x: Any, y: Any) -> Any:
    """`log(exp(x) + exp(y))` without overflow; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> round(float(tg.logaddexp(1000.0, 1000.0)), 3)
    1000.693
    """
    return bind(logaddexp_op, [x, y])


def logaddexp2(x: Any, y: Any) -> Any:
    """`log2(2**x + 2**y)` without overflow.

    >>> import tracegrad as tg
    >>> round(float(tg.logaddexp2(3.0, 3.0)), 6)
    4.0
    """
    # In the dtype of both, or the narrower one would be rounded to its own digits on the way.
    with suppress(DTypeError):  # which is said of the function's operands below
        dtype = inexact(*operand_kinds([operand_of(x), operand_of(y)]))
        x, y = convert(x, dtype), convert(y, dtype)
    return div(logaddexp(mul(x, LN2), mul(y, LN2)), LN2)


# --- error function -------------------------------------------------------------------------------

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

erf_op = pointwise(
    "erf",
    ("x",),
    numpy=_scipy("erf"),
    code="erf({x})",
    partials=(lambda x: _TWO_OVER_ROOT_PI * exp(-(x * x)),),
    parity=odd,
    doc="Error function.",
)
erfc_op = pointwise(
    "erfc",
    ("x",),
    numpy=_scipy("erfc"),
    code="erfc({x})",
    partials=(lambda x: -_TWO_OVER_ROOT_PI * exp(-(x * x)),),
    doc="1 - erf(x), accurate for large x.",
)
erfinv_op = pointwise(
    "erfinv",
    ("x",),
    numpy=_scipy("erfinv"),
    code="erfinv({x})",
    partials=(lambda out: exp(out * out) / _TWO_OVER_ROOT_PI,),
    domain="singular",
    kinds=REAL,
    parity=odd,
    doc="Inverse of the error function.",
)


def erf(x: Any) -> Any:
    """Error function, of complex numbers too.

    >>> import tracegrad as tg
    >>> round(float(tg.erf(1.0)), 6)
    0.842701
    """
    return bind(erf_op, [x])


def erfc(x: Any) -> Any:
    """`1 - erf(x)`, accurate for large `x`; of complex numbers too.

    >>> import tracegrad as tg
    >>> round(float(tg.erfc(1.0)), 6)
    0.157299
    """
    return bind(erfc_op, [x])


def erfinv(x: Any) -> Any:
    """Inverse of the error function on [-1, 1]; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.erfinv(0.0))
    0.0
    """
    return bind(erfinv_op, [x])


ndtri_op = pointwise(
    "ndtri",
    ("x",),
    numpy=_scipy("ndtri"),
    code="ndtri({x})",
    partials=(lambda out: math.sqrt(2 * math.pi) * exp(out * out / 2),),
    domain="singular",
    kinds=REAL,
    doc="Quantile of the standard normal distribution.",
)


def ndtri(x: Any) -> Any:
    """Quantiles of the standard normal distribution, the inverse of `ndtr`.

    >>> import tracegrad as tg
    >>> float(tg.ndtri(0.5))
    0.0
    """
    return bind(ndtri_op, [x])


def ndtr(x: Any) -> Any:
    """Distribution function of the standard normal distribution.

    >>> import tracegrad as tg
    >>> float(tg.ndtr(0.0))
    0.5
    """
    return mul(erfc(mul(x, -math.sqrt(0.5))), 0.5)


# --- gamma function -------------------------------------------------------------------------------


def _polygamma_evaluate(x: Any, *, n: int) -> Any:
    return np.asarray(scalars.special.scipys_polygamma(n, x), x.dtype)


lgamma_op = pointwise(
    "lgamma",
    ("x",),
    numpy=_scipy("gammaln"),
    code="lgamma({x})",
    partials=(lambda x: digamma(x),),
    domain="singular",
    kinds=REAL,
    doc="Logarithm of |gamma(x)|.",
)
digamma_op = pointwise(
    "digamma",
    ("x",),
    numpy=_scipy("digamma"),
    code="digamma({x})",
    partials=(lambda x: polygamma(1, x),),
    domain="singular",
    kinds=REAL,
    doc="Derivative of lgamma.",
)
polygamma_op = pointwise(
    "polygamma",
    ("x",),
    numpy=_polygamma_evaluate,
    code=lambda p: "trigamma({x})" if p["n"] == 1 else f"polygamma({p['n']}, {{x}})",
    partials=(lambda x, *, n: polygamma(n + 1, x),),
    domain="singular",
    cost=60,
    kinds=REAL,
    doc="n-th derivative of digamma.",
)
gamma_op = pointwise(
    "gamma",
    ("x",),
    numpy=_scipy("gamma"),
    code="gamma({x})",
    partials=(lambda x, out: out * digamma(x),),
    domain="singular",
    kinds=REAL,
    doc="Gamma function.",
)


def lgamma(x: Any) -> Any:
    """Logarithm of the absolute value of the gamma function; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.lgamma(1.0))
    0.0
    """
    return bind(lgamma_op, [x])


def digamma(x: Any) -> Any:
    """Derivative of `lgamma`; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> round(float(tg.digamma(1.0)), 6)
    -0.577216
    """
    return bind(digamma_op, [x])


def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`, for a Python integer `n >= 0`; ValueError for others.

    >>> import tracegrad as tg
    >>> round(float(tg.polygamma(1, 1.0)), 6)
    1.644934
    """
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"polygamma needs a non-negative Python integer as its order, got {n!r}")
    return digamma(x) if n == 0 else bind(polygamma_op, [x], {"n": int(n)})


def gamma(x: Any) -> Any:
    """Gamma function; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.gamma(5.0))
    24.0
    """
    return bind(gamma_op, [x])


def factorial(x: Any) -> Any:
    """`gamma(x + 1)`; 0 where x is negative.

    >>> import tracegrad as tg
    >>> float(tg.factorial(4.0))
    24.0
    """
    below = less(x, 0)
    return where(below, 0.0, gamma(add(where(below, 0, x), 1)))


# --- products with logarithms ---------------------------------------------------------------------


def _unless_nan(y: Any, product: Any) -> Any:
    """The product, NaN where y is NaN (also where x is 0)."""
    return where(isnan(y), y, product)


def xlogy(x: Any, y: Any) -> Any:
    """`x * log(y)`, 0 where `x` is 0.

    >>> import tracegrad as tg
    >>> float(tg.xlogy(0.0, 2.0))
    0.0
    """
    return _unless_nan(y, strong_mul(x, log(y)))


def xlog1py(x: Any, y: Any) -> Any:
    """`x * log(1 + y)`, 0 where `x` is 0.

    >>> import tracegrad as tg
    >>> float(tg.xlog1py(0.0, 2.0))
    0.0
    """
    return _unless_nan(y, strong_mul(x, log1p(y)))


def entr(x: Any) -> Any:
    """`-x * log(x)`, 0 at 0, -inf for negative `x`.

    >>> import tracegrad as tg
    >>> float(tg.entr(1.0)) == 0
    True
    """
    x = as_array(x)
    outside = less(x, 0)
    return where(outside, float("-inf"), neg(xlogy(x, where(outside, 1, x))))


expit, gammaln, psi = sigmoid, lgamma, digamma

APPLIED_BY = {
    sigmoid: sigmoid_op,
    erf: erf_op,
    erfc: erfc_op,
    erfinv: erfinv_op,
    lgamma: lgamma_op,
    digamma: digamma_op,
}
"""The operations of functions that do nothing but apply them."""

OPS = (
    sigmoid_op,
    softplus_op,
    logaddexp_op,
    erf_op,
    erfc_op,
    erfinv_op,
    ndtri_op,
    lgamma_op,
    digamma_op,
    polygamma_op,
    gamma_op,
)
