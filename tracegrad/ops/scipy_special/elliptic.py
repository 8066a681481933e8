"""Legendre's elliptic integrals, with SciPy's names: functions of the amplitude phi and the
parameter m <= 1.

With s and c the sine and cosine of the amplitude without its whole periods, q = 1 - m s^2:
dF/dm = s^3/6 R_D(c^2, 1, q) and dE/dm = -s^3/6 R_D(c^2, q, 1) (from DLMF 19.25.5 and 19.18.1), in
which nothing cancels, as it does near m = 0 and m = 1 where they are written with F and E. The
whole periods add complete integrals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ...dtypes import promote
from ...ir.dispatch import bind
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import div, equal, sub, where
from ..elementwise.comparison import floor
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import sqrt, square
from ..elementwise.remainders import mod
from ..elementwise.trigonometric import cos, sin
from .family import scipys
from .symmetric import elliprd, power_integral


def root(phi: Any, m: Any) -> Any:
    """The square root of 1 - m sin(phi)^2, as a sum of what is positive for m up to 1."""
    return sqrt(_rest(phi, m))


def _rest(phi: Any, m: Any) -> Any:
    return add(square(cos(phi)), mul(sub(1.0, m), square(sin(phi))))


# --- derivatives by m -----------------------------------------------------------------------------


def _by_m(first: bool) -> Any:
    """The value of dF/dm or dE/dm."""

    def value(phi: Any, m: Any) -> Any:
        turns = np.floor(phi / np.pi + 0.5)
        s, c2 = np.sin(phi) * (1 - 2 * np.mod(turns, 2)), np.cos(phi) ** 2
        rd, rest = scipy.special.elliprd, 1 - m
        q = c2 + rest * s * s
        if first:
            part, whole = s**3 / 6 * rd(c2, 1, q), rd(0, 1, rest) / 3
        else:
            part, whole = -(s**3) / 6 * rd(c2, q, 1), rd(0, rest, 1) / -3
        found = part + np.where(turns == 0, 0, turns * whole)
        return found.astype(np.result_type(phi, m))

    return value


def _moment(phi: Any, m: Any, k: int) -> Any:
    """The integral of `sin(t)**4 * (1 - m * sin(t)**2)**(-k / 2)` from 0 to phi."""
    dtype = promote(as_array(phi).dtype, as_array(m).dtype)
    phi, m = (convert(as_array(x), np.float64) for x in (phi, m))
    turns = floor(add(div(phi, math.pi), 0.5))
    s, c = mul(sin(phi), sub(1.0, mul(mod(turns, 2.0), 2.0))), cos(phi)
    part = power_integral([square(c)], [(_rest(phi, m), k), (1.0, 6 - k)])
    part = mul(part, mul(mul(square(square(s)), s), 0.5))
    none = equal(turns, 0)
    whole = power_integral([0.0], [(where(none, 0.5, sub(1.0, m)), k), (1.0, 6 - k)])
    return convert(add(part, where(none, 0.0, mul(turns, whole))), dtype)


first_by_m_op: Op = scipys(
    "ellipkinc_by_m",
    ("phi", "m"),
    (
        lambda phi, m: div(mul(square(sin(phi)), 0.5), mul(_rest(phi, m), root(phi, m))),
        lambda phi, m: mul(_moment(phi, m, 5), 0.75),
    ),
    "The derivative by m of the incomplete integral of the first kind.",
    _by_m(True),
)
second_by_m_op: Op = scipys(
    "ellipeinc_by_m",
    ("phi", "m"),
    (
        lambda phi, m: div(mul(square(sin(phi)), -0.5), root(phi, m)),
        lambda phi, m: mul(_moment(phi, m, 3), -0.25),
    ),
    "The derivative by m of the incomplete integral of the second kind.",
    _by_m(False),
)


def ellipkinc_by_m(phi: Any, m: Any) -> Any:
    """The derivative of `ellipkinc` by m."""
    return bind(first_by_m_op, [phi, m])


# --- the integrals --------------------------------------------------------------------------------

ellipk_op: Op = scipys(
    "ellipk",
    ("m",),
    (lambda m: mul(elliprd(0.0, 1.0, sub(1.0, m)), 1 / 6),),
    "Complete elliptic integral of the first kind.",
)
ellipkm1_op: Op = scipys(
    "ellipkm1",
    ("p",),
    (lambda p: mul(elliprd(0.0, 1.0, p), -1 / 6),),
    "ellipk(1 - p).",
)
ellipe_op: Op = scipys(
    "ellipe",
    ("m",),
    (lambda m: mul(elliprd(0.0, sub(1.0, m), 1.0), -1 / 6),),
    "Complete elliptic integral of the second kind.",
)
ellipkinc_op: Op = scipys(
    "ellipkinc",
    ("phi", "m"),
    (lambda phi, m: div(1.0, root(phi, m)), lambda phi, m: ellipkinc_by_m(phi, m)),
    "Incomplete elliptic integral of the first kind.",
)
ellipeinc_op: Op = scipys(
    "ellipeinc",
    ("phi", "m"),
    (root, lambda phi, m: bind(second_by_m_op, [phi, m])),
    "Incomplete elliptic integral of the second kind.",
)


def ellipk(m: Any) -> Any:
    """Complete elliptic integral of the first kind of the parameter m < 1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ellipk(0.5)), 6)
    1.854075
    """
    return bind(ellipk_op, [m])


def ellipkm1(p: Any) -> Any:
    """`ellipk(1 - p)`, accurate for p near 0.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ellipkm1(0.5)), 6)
    1.854075
    """
    return bind(ellipkm1_op, [p])


def ellipe(m: Any) -> Any:
    """Complete elliptic integral of the second kind of the parameter m <= 1.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ellipe(0.5)), 6)
    1.350644
    """
    return bind(ellipe_op, [m])


def ellipkinc(phi: Any, m: Any) -> Any:
    """Incomplete elliptic integral of the first kind of the parameter m <= 1.

    >>> import tracegrad as tg
    >>> float(tg.special.ellipkinc(0.0, 0.5))
    0.0
    """
    return bind(ellipkinc_op, [phi, m])


def ellipeinc(phi: Any, m: Any) -> Any:
    """Incomplete elliptic integral of the second kind of the parameter m <= 1.

    >>> import tracegrad as tg
    >>> float(tg.special.ellipeinc(0.0, 0.5))
    0.0
    """
    return bind(ellipeinc_op, [phi, m])


OPS = (first_by_m_op, second_by_m_op, ellipk_op, ellipkm1_op, ellipe_op, ellipkinc_op, ellipeinc_op)
__all__ = ["ellipe", "ellipeinc", "ellipk", "ellipkinc", "ellipkm1"]
