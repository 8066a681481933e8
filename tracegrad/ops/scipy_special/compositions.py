"""Special functions that other operations say, with their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import Op
from ..elementwise.arithmetic import div, equal, greater, less, less_equal, sub, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, square
from ..elementwise.logic import isfinite, isnan, logical_and, logical_or
from ..elementwise.powers import power
from ..elementwise.special import erf, log_sigmoid
from ..elementwise.trigonometric import hypot, sin
from .family import scipys

INFINITE = float("inf")
SMALL = 1e-30


# --- divergences and losses -----------------------------------------------------------------------


def _reals(name: str, **operands: Any) -> None:
    """See that operands of a function that compares them are real."""
    for word, x in operands.items():
        if np.iscomplexobj(x):
            raise DTypeError(f"special.{name}: {word} is {describe(x)}; it must be real")


def rel_entr(x: Any, y: Any) -> Any:
    """`x * log(x / y)`: 0 for x = 0 and y >= 0, infinite outside; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.special.rel_entr(1.0, 1.0))
    0.0
    """
    _reals("rel_entr", x=x, y=y)
    inside = logical_and(greater(x, 0), greater(y, 0))
    above, below = where(inside, x, 1.0), where(inside, y, 1.0)
    ratio = div(above, below)
    # The ratio may leave the range of its dtype where its logarithm does not.
    near = logical_and(greater(ratio, SMALL), less(ratio, 1 / SMALL))
    product = mul(x, where(near, log(where(near, ratio, 1.0)), sub(log(above), log(below))))
    zero = logical_and(equal(x, 0), logical_or(greater(y, 0), equal(y, 0)))
    unknown = logical_or(isnan(x), isnan(y))
    outside = where(unknown, float("nan"), where(zero, mul(add(x, y), 0.0), INFINITE))
    return where(inside, product, outside)


def kl_div(x: Any, y: Any) -> Any:
    """`x * log(x / y) - x + y`: y for x = 0 and y >= 0, infinite outside; real arrays only
    (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.special.kl_div(1.0, 1.0))
    0.0
    """
    _reals("kl_div", x=x, y=y)
    return add(rel_entr(x, y), sub(y, x))


def huber(delta: Any, r: Any) -> Any:
    """`r**2 / 2` up to `abs(r) = delta`, then the line that continues it; infinite for delta < 0;
    real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.special.huber(1.0, 3.0))
    2.5
    """
    _reals("huber", delta=delta, r=r)
    size = absolute(r)
    line = mul(delta, sub(size, mul(delta, 0.5)))
    loss = where(less_equal(size, delta), mul(square(r), 0.5), line)
    return where(less(delta, 0), INFINITE, loss)


def pseudo_huber(delta: Any, r: Any) -> Any:
    """`delta**2 * (sqrt(1 + (r / delta)**2) - 1)`; 0 for delta = 0, infinite for delta < 0; real
    arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> round(float(tg.special.pseudo_huber(1.0, 1.0)), 6)
    0.414214
    """
    _reals("pseudo_huber", delta=delta, r=r)
    # As r^2 / (1 + sqrt(1 + (r / delta)^2)): nothing cancels for small r.
    regular = greater(delta, 0)
    d = where(regular, delta, 1.0)
    u = div(r, d)
    near = maximum(minimum(u, 1e18), -1e18)
    loss = mul(mul(u, d), mul(div(near, add(hypot(1.0, near), 1.0)), d))
    none = where(less(delta, 0), INFINITE, mul(add(delta, r), 0.0))
    return where(regular, loss, none)


# --- powers ---------------------------------------------------------------------------------------


def expm1_over(lmbda: Any, logarithm: Any) -> Any:
    """expm1(lmbda logarithm) / lmbda, which near lmbda = 0 is the series of it."""
    zero = equal(lmbda, 0)
    near = logical_or(zero, less(absolute(mul(lmbda, logarithm)), 1e-5))
    # Also of an infinite logarithm.
    z = mul(lmbda, where(logical_and(near, isfinite(logarithm)), logarithm, 0.0))
    series = mul(
        logarithm,
        add(1.0, mul(z, add(0.5, mul(z, add(1 / 6, mul(z, add(1 / 24, mul(z, 1 / 120)))))))),
    )
    apart = where(near, 1.0, lmbda)
    return where(near, series, div(expm1(mul(apart, where(near, 0.0, logarithm))), apart))


def boxcox(x: Any, lmbda: Any) -> Any:
    """The Box-Cox transformation `(x**lmbda - 1) / lmbda`, `log(x)` for lmbda = 0.

    >>> import tracegrad as tg
    >>> float(tg.special.boxcox(4.0, 0.5))
    2.0
    """
    # The power of 0 has derivatives, its logarithm none.
    zero = logical_and(equal(x, 0), greater(lmbda, 0))
    part = where(zero, lmbda, 1.0)
    apart = expm1_over(lmbda, log(where(zero, 1.0, x)))
    return where(zero, div(sub(power(where(zero, x, 1.0), part), 1.0), part), apart)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """`boxcox(1 + x, lmbda)`.

    >>> import tracegrad as tg
    >>> float(tg.special.boxcox1p(3.0, 0.5))
    2.0
    """
    zero = logical_and(equal(x, -1), greater(lmbda, 0))
    apart = expm1_over(lmbda, log1p(where(zero, 0.0, x)))
    return where(zero, boxcox(where(zero, add(x, 1.0), 0.0), where(zero, lmbda, 1.0)), apart)


def log1p_over(lmbda: Any, y: Any) -> Any:
    """log1p(lmbda y) / lmbda, near lmbda = 0 by its series."""
    near = less(absolute(mul(lmbda, y)), 1e-5)
    z = mul(lmbda, where(near, y, 0.0))
    series = mul(y, sub(1.0, mul(z, sub(0.5, mul(z, sub(1 / 3, mul(z, sub(0.25, mul(z, 0.2)))))))))
    apart = where(near, 1.0, lmbda)
    return where(near, series, div(log1p(mul(apart, where(near, 0.0, y))), apart))


def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """The x with `boxcox(x, lmbda) == y`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.inv_boxcox(2.0, 0.5)), 12)
    4.0
    """
    return exp(log1p_over(lmbda, y))


def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """The x with `boxcox1p(x, lmbda) == y`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.inv_boxcox1p(2.0, 0.5)), 12)
    3.0
    """
    return expm1(log1p_over(lmbda, y))


def exp10(x: Any) -> Any:
    """`10**x`.

    >>> import tracegrad as tg
    >>> float(tg.special.exp10(2.0))
    100.0
    """
    return power(10.0, x)


def cosm1(x: Any) -> Any:
    """`cos(x) - 1`, accurate for small x.

    >>> import tracegrad as tg
    >>> round(float(tg.special.cosm1(1e-8)) * 1e16, 6)
    -0.5
    """
    return mul(square(sin(mul(x, 0.5))), -2.0)


log_expit = log_sigmoid


# --- Owen's T -------------------------------------------------------------------------------------

owens_t_op: Op = scipys(
    "owens_t",
    ("h", "a"),
    (
        lambda h, a: mul(
            mul(exp(mul(square(h), -0.5)), erf(mul(mul(a, h), math.sqrt(0.5)))),
            -0.5 / math.sqrt(2 * math.pi),
        ),
        lambda h, a: div(
            exp(mul(mul(square(h), add(square(a), 1.0)), -0.5)),
            mul(add(square(a), 1.0), 2 * math.pi),
        ),
    ),
    "Owen's T function.",
)


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T function: the probability of X > h and 0 < Y < a X of two standard normal numbers.

    >>> import tracegrad as tg
    >>> round(float(tg.special.owens_t(0.0, 1.0)), 6)
    0.125
    """
    return bind(owens_t_op, [h, a])


OPS = (owens_t_op,)
__all__ = [
    "boxcox", "boxcox1p", "cosm1", "exp10", "huber", "inv_boxcox", "inv_boxcox1p", "kl_div",
    "log_expit", "owens_t", "pseudo_huber", "rel_entr",
]  # fmt: skip
