"""Carlson's symmetric elliptic integrals, with SciPy's names, and the integral that all derivatives
of elliptic integrals are.

Substituted tau = exp(u), an integral over products of powers of tau + z has its singularities at
distance pi from the real axis whatever the z are, so the trapezoidal rule with a step h is off by
exp(-2 pi^2 / h) (Trefethen and Weideman 2014). Nothing cancels in it, where closed formulas do for
arguments that are nearly equal (DLMF 19.18).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.dispatch import bind
from ...ir.op import Op
from ..arrays.shape import expand_dims
from ..define import as_array, ndim_of
from ..elementwise.arithmetic import div, equal, greater, sub, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import exp, log, sqrt
from ..totals.reductions import sum as total
from ..totals.statistics import stop_gradient
from .family import scipys

_GRID = np.linspace(0.0, 1.0, 192)
_DIGITS = 37.0
"""exp(-37) is less than half a unit in the last place of 1."""


def power_integral(singles: Sequence[Any], others: Sequence[tuple[Any, int]]) -> Any:
    """The integral from 0 to infinity of the product of `(t + z)**-0.5` for each z of `singles` and
    `(t + z)**(-k / 2)` for each (z, k) of `others`, which are positive; one of the singles may be
    0. In double precision; differentiable by all z."""
    singles = [_row(z) for z in singles]
    others = [(_row(z), k) for z, k in others]
    power = (len(singles) + sum(k for _, k in others)) / 2
    every = [*singles, *[z for z, _ in others]]
    # Where the least is a single, what is left of it goes with the root only.
    rest = [z for z, _ in others]
    if len(singles) > 1:
        rest.append(_extreme(maximum, singles))
    low = maximum(
        sub(log(maximum(_extreme(minimum, every), 1e-300)), _DIGITS),
        sub(log(_extreme(minimum, rest)), 2 * _DIGITS),
    )
    high = add(log(_extreme(maximum, every)), _DIGITS / (power - 1))
    low, width = stop_gradient(low), stop_gradient(sub(high, low))
    t = exp(add(low, mul(width, _GRID)))
    below: Any = 1.0
    for z in singles:
        below = mul(below, add(t, z))
    value = div(t, sqrt(below))
    for z, k in others:
        shifted = add(t, z)
        if k % 2:
            value = div(value, sqrt(shifted))
        for _ in range(k // 2):
            value = div(value, shifted)
    return mul(total(value, axis=-1), mul(width[..., 0], _GRID[1]))


def _row(z: Any) -> Any:
    z = as_array(z)
    return expand_dims(convert(z, np.float64), ndim_of(z))


def _extreme(which: Any, values: list[Any]) -> Any:
    found = values[0]
    for v in values[1:]:
        found = which(found, v)
    return found


# --- Carlson's functions --------------------------------------------------------------------------


def _rc_by_x(x: Any, y: Any, out: Any) -> Any:
    # The principal value for y < 0 has a closed formula that does not cancel.
    below = greater(0.0, y)
    inside = mul(elliprd(where(below, 1.0, y), where(below, 1.0, y), x), -1 / 6)
    return where(below, div(sub(out, div(1.0, sqrt(x))), mul(sub(y, x), 2.0)), inside)


def _rc_by_y(x: Any, y: Any, out: Any) -> Any:
    below = greater(0.0, y)
    safe = where(below, 1.0, y)
    inside = mul(elliprd(x, safe, safe), -1 / 3)
    gap = sub(x, where(below, y, sub(x, 1.0)))
    return where(below, div(sub(out, div(sqrt(x), y)), mul(gap, 2.0)), inside)


def _rd_by_one(x: Any, y: Any, z: Any) -> Any:
    """By x, of which R_D is the same function as of y."""
    return convert(mul(power_integral([y], [(x, 3), (z, 3)]), -0.75), x.dtype)


def _rd_by_last(x: Any, y: Any, z: Any) -> Any:
    return convert(mul(power_integral([x, y], [(z, 5)]), -2.25), z.dtype)


def _rf_by_last(x: Any, y: Any, z: Any) -> Any:
    return mul(elliprd(x, y, z), -1 / 6)


def _rg_by_last(x: Any, y: Any, z: Any) -> Any:
    none = equal(z, 0)
    curved = where(none, 0.0, mul(z, elliprd(x, y, where(none, 1.0, z))))
    return mul(sub(elliprf(x, y, z), mul(curved, 1 / 3)), 0.25)


def _rj_by_last(x: Any, y: Any, z: Any, p: Any) -> Any:
    """By z; R_J is the same function of x, y and z."""
    return _where_positive(p, power_integral([x, y], [(z, 3), (_above(p), 2)]), -0.75, z)


def _rj_by_p(x: Any, y: Any, z: Any, p: Any) -> Any:
    return _where_positive(p, power_integral([x, y, z], [(_above(p), 4)]), -1.5, p)


def _above(p: Any) -> Any:
    return where(greater(p, 0.0), p, 1.0)


def _where_positive(p: Any, found: Any, factor: float, by: Any) -> Any:
    return where(greater(p, 0.0), convert(mul(found, factor), by.dtype), float("nan"))


XYZ = ("x", "y", "z")


def _symmetric(by_last: Any) -> tuple[Any, Any, Any]:
    """The derivatives of a function of which any operand may be the last."""
    return (
        lambda x, y, z: by_last(y, z, x),
        lambda x, y, z: by_last(x, z, y),
        lambda x, y, z: by_last(x, y, z),
    )


elliprc_op: Op = scipys(
    "elliprc", ("x", "y"), (_rc_by_x, _rc_by_y), "Carlson's degenerate integral."
)
elliprd_op: Op = scipys(
    "elliprd",
    XYZ,
    (_rd_by_one, lambda x, y, z: _rd_by_one(y, x, z), _rd_by_last),
    "Carlson's integral of the second kind.",
)
elliprf_op: Op = scipys(
    "elliprf", XYZ, _symmetric(_rf_by_last), "Carlson's integral of the first kind."
)
elliprg_op: Op = scipys(
    "elliprg", XYZ, _symmetric(_rg_by_last), "Carlson's symmetric second integral."
)
elliprj_op: Op = scipys(
    "elliprj",
    (*XYZ, "p"),
    (
        lambda x, y, z, p: _rj_by_last(y, z, x, p),
        lambda x, y, z, p: _rj_by_last(x, z, y, p),
        _rj_by_last,
        _rj_by_p,
    ),
    "Carlson's integral of the third kind.",
)


def elliprc(x: Any, y: Any) -> Any:
    """Carlson's degenerate integral of real numbers, `elliprf(x, y, y)`; for negative y its
    principal value.

    >>> import tracegrad as tg
    >>> round(float(tg.special.elliprc(1.0, 2.0)), 6)
    0.785398
    """
    return bind(elliprc_op, [x, y])


def elliprd(x: Any, y: Any, z: Any) -> Any:
    """Carlson's symmetric elliptic integral of the second kind of real numbers from 0 on (z, and
    one of x and y, above 0).

    >>> import tracegrad as tg
    >>> float(tg.special.elliprd(1.0, 1.0, 1.0))
    1.0
    """
    return bind(elliprd_op, [x, y, z])


def elliprf(x: Any, y: Any, z: Any) -> Any:
    """Carlson's symmetric elliptic integral of the first kind of real numbers from 0 on, of which
    one may be 0.

    >>> import tracegrad as tg
    >>> float(tg.special.elliprf(1.0, 1.0, 1.0))
    1.0
    """
    return bind(elliprf_op, [x, y, z])


def elliprg(x: Any, y: Any, z: Any) -> Any:
    """Carlson's completely symmetric elliptic integral of the second kind of real numbers from 0
    on.

    >>> import tracegrad as tg
    >>> float(tg.special.elliprg(1.0, 1.0, 1.0))
    1.0
    """
    return bind(elliprg_op, [x, y, z])


def elliprj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Carlson's symmetric elliptic integral of the third kind of real numbers from 0 on, of which
    one may be 0; for negative p its principal value, of which the derivatives are NaN. Derivatives
    are the integrals (DLMF 19.16.2) of what is differentiated.

    >>> import tracegrad as tg
    >>> float(tg.special.elliprj(1.0, 1.0, 1.0, 1.0))
    1.0
    """
    return bind(elliprj_op, [x, y, z, p])


OPS = (elliprc_op, elliprd_op, elliprf_op, elliprg_op, elliprj_op)
__all__ = ["elliprc", "elliprd", "elliprf", "elliprg", "elliprj"]
