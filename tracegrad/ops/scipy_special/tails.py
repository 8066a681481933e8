"""Distribution functions and what solves them for an argument, with SciPy's names: of incomplete
gamma and beta functions, of Kolmogorov's statistic, of chi squared that is not central."""

from __future__ import annotations

import math
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op
from ..elementwise.arithmetic import div, equal, greater, less, neg, sub, where
from ..elementwise.comparison import floor
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp, log, sqrt, square
from ..elementwise.logic import logical_and, logical_not
from ..elementwise.special import lgamma, ndtri
from .bessel import ive
from .family import alike, scipys
from .incomplete import betainccinv, betaincinv, gammainccinv, gammaincinv

# --- counts, ratios and scales --------------------------------------------------------------------


def pdtri(k: Any, y: Any) -> Any:
    """The mean m of Poisson's distribution with `pdtr(k, m) == y`; NaN for y from 1 on and for k
    below 0.

    >>> import tracegrad as tg
    >>> round(float(tg.special.pdtri(0, 0.5)), 6)
    0.693147
    """
    k, y = alike(k, y)
    known = logical_and(less(y, 1), logical_not(less(k, 0)))
    return where(known, gammainccinv(add(floor(k), 1.0), y), math.nan)


def nbdtri(k: Any, n: Any, y: Any) -> Any:
    """The probability p of single events with `nbdtr(k, n, p) == y`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.nbdtri(0, 2, 0.25)), 6)
    0.5
    """
    k, n, y = alike(k, n, y)
    return betaincinv(n, add(floor(k), 1.0), y)


def fdtri(dfn: Any, dfd: Any, p: Any) -> Any:
    """The x with `fdtr(dfn, dfd, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.fdtri(2.0, 2.0, 0.5)), 6)
    1.0
    """
    dfn, dfd, p = alike(dfn, dfd, p)
    a, b = mul(dfn, 0.5), mul(dfd, 0.5)
    # Either share for itself: nothing cancels.
    found = mul(div(betaincinv(a, b, p), betainccinv(b, a, p)), div(dfd, dfn))
    finite = logical_and(less(dfn, math.inf), less(dfd, math.inf))
    return where(finite, found, math.nan)


def gdtria(p: Any, b: Any, x: Any) -> Any:
    """The rate a of the gamma distribution with `gdtr(a, b, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gdtria(0.5, 1.0, 2.0)), 6)
    0.346574
    """
    p, b, x = alike(p, b, x)
    return div(gammaincinv(b, p), x)


def gdtrix(a: Any, b: Any, p: Any) -> Any:
    """The x with `gdtr(a, b, x) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.gdtrix(2.0, 1.0, 0.5)), 6)
    0.346574
    """
    a, b, p = alike(a, b, p)
    return div(gammaincinv(b, p), a)


def nrdtrimn(p: Any, std: Any, x: Any) -> Any:
    """The mean of the normal distribution of width std that has p below x; NaN for a width that is
    not above 0 and a p that is not between 0 and 1.

    >>> import tracegrad as tg
    >>> float(tg.special.nrdtrimn(0.5, 1.0, 2.0))
    2.0
    """
    p, std, x = alike(p, std, x)
    known = logical_and(greater(std, 0), logical_and(greater(p, 0), less(p, 1)))
    return where(known, sub(x, mul(std, ndtri(p))), math.nan)


def nrdtrisd(mn: Any, p: Any, x: Any) -> Any:
    """The width of the normal distribution of mean mn that has p below x.

    >>> import tracegrad as tg
    >>> round(float(tg.special.nrdtrisd(0.0, 0.841344746, 2.0)), 6)
    2.0
    """
    mn, p, x = alike(mn, p, x)
    known = logical_and(greater(p, 0), less(p, 1))
    return where(known, div(sub(x, mn), ndtri(where(known, p, 0.25))), math.nan)


# --- Kolmogorov -----------------------------------------------------------------------------------

BETWEEN = 0.82
"""Where both series need as many terms."""
NOTHING = 0.04
"""Below, the density is less than any number."""


def _kolmogorov_density(y: Any) -> Any:
    """Of Kolmogorov's statistic: by the series of exponentials of y^2 or of its inverse."""
    low = less(y, BETWEEN)
    t = div(1.0, square(where(logical_and(low, greater(y, NOTHING)), y, BETWEEN)))
    near: Any = 0.0
    for k in range(1, 5):
        at = (2 * k - 1) ** 2 * math.pi**2 / 8
        near = add(near, mul(exp(mul(t, -at)), sub(mul(square(t), 2 * at), t)))
    z = where(low, BETWEEN, y)
    far: Any = 0.0
    for k in range(7, 0, -1):
        far = add(far, mul(exp(mul(square(z), -2.0 * k * k)), (-1) ** (k - 1) * 8.0 * k * k))
    found = where(low, mul(near, math.sqrt(2 * math.pi)), mul(far, z))
    return where(less(y, NOTHING), 0.0, found)


kolmogorov_op: Op = scipys(
    "kolmogorov",
    ("y",),
    (lambda y: neg(_kolmogorov_density(y)),),
    "The upper tail of Kolmogorov's distribution.",
)
kolmogi_op: Op = scipys(
    "kolmogi",
    ("p",),
    (lambda out: div(-1.0, _kolmogorov_density(out)),),
    "The y with kolmogorov(y) = p.",
)


def kolmogorov(y: Any) -> Any:
    """The share of Kolmogorov's limit distribution above y.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kolmogorov(1.0)), 6)
    0.27
    """
    return bind(kolmogorov_op, [y])


def kolmogi(p: Any) -> Any:
    """The y with `kolmogorov(y) == p`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kolmogi(0.27)), 4)
    1.0
    """
    return bind(kolmogi_op, [p])


# --- chi squared that is not central --------------------------------------------------------------


def _density(x: Any, df: Any, nc: Any) -> Any:
    """Of chi squared with df degrees of freedom and the noncentrality nc (DLMF 10.25)."""
    inside = greater(x, 0)
    central = equal(nc, 0)
    at, away = where(inside, x, 1.0), where(central, 1.0, nc)
    half = sub(mul(df, 0.5), 1.0)
    size = mul(half, mul(sub(log(at), log(away)), 0.5))
    gap = sub(sqrt(at), sqrt(away))
    apart = mul(mul(exp(sub(size, mul(square(gap), 0.5))), ive(half, sqrt(mul(at, away)))), 0.5)
    middle = exp(
        sub(sub(mul(half, log(mul(at, 0.5))), mul(at, 0.5)), lgamma(mul(df, 0.5)))
    )  # fmt: skip
    return where(inside, where(central, mul(middle, 0.5), apart), 0.0)


chndtr_op: Op = scipys(
    "chndtr",
    ("x", "df", "nc"),
    (
        lambda x, df, nc: _density(x, df, nc),
        None,
        lambda x, df, nc: neg(_density(x, add(df, 2.0), nc)),
    ),
    "The distribution function of chi squared that is not central.",
)


def chndtr(x: Any, df: Any, nc: Any) -> Any:
    """The distribution function of chi squared with df degrees of freedom and the noncentrality nc,
    in SciPy's accuracy; no derivative by df.

    >>> import tracegrad as tg
    >>> round(float(tg.special.chndtr(2.0, 2.0, 1.0)), 6)
    0.46987
    """
    return bind(chndtr_op, [x, df, nc])


OPS = (kolmogorov_op, kolmogi_op, chndtr_op)
__all__ = [
    "chndtr", "fdtri", "gdtria", "gdtrix", "kolmogi", "kolmogorov", "nbdtri", "nrdtrimn",
    "nrdtrisd", "pdtri",
]  # fmt: skip
