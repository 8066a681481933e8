"""Spherical harmonics of known degrees and orders, with SciPy's names, by the recurrence of
Legendre's normalised functions (DLMF 14.10.3): compositions of sines and cosines, so that every
derivative is one too, also at the poles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ..elementwise.arithmetic import complex_, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.trigonometric import cos, sin
from .orthogonal import HIGHEST, _degrees, _float


def _orders(name: str, m: Any) -> Any:
    if isinstance(m, Value):
        raise UnsupportedFunctionError(
            f"{user_line()}: special.{name}: the order m is traced or differentiated; it must be "
            "known integers"
        )
    found = np.asarray(m)
    if found.dtype.kind not in "iu" and not (
        found.dtype.kind == "f" and np.all(found == np.trunc(found))
    ):
        raise ValueError(f"special.{name}: the order m is {describe(m)}; it must be integers")
    return found.astype(np.int64)


def _powers(x: Any, m: int) -> Any:
    """x**m, with all derivatives at 0."""
    found: Any = None
    while m:
        if m & 1:
            found = x if found is None else mul(found, x)
        x, m = mul(x, x), m >> 1
    return found


def _normalised(n: int, m: int, theta: Any) -> Any:
    """What a harmonic of order m >= 0 is at phi = 0."""
    x = cos(theta)
    if m > n:
        return mul(x, 0.0)
    size = math.sqrt((2 * m + 1) / (4 * math.pi))
    for k in range(1, m + 1):
        size *= -math.sqrt((2 * k - 1) / (2 * k))
    y = sin(theta)
    # Behind the poles SciPy's have the root of 1 - x^2, which is positive.
    y = where(less(y, 0.0), neg(y), y)
    now: Any = mul(_powers(y, m), size) if m else add(mul(x, 0.0), size)
    before: Any = None
    for k in range(m + 1, n + 1):
        factor = math.sqrt((4 * k * k - 1) / (k * k - m * m))
        last = math.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1)) if k > m + 1 else 0.0
        product = mul(x, now)
        inside = product if before is None else sub(product, mul(before, last))
        before, now = now, mul(inside, factor)
    return now


def _for_each(name: str, n: Any, m: Any, one: Any) -> Any:
    """`one(degree, order)` for all pairs that stand in arrays of them."""
    degrees, orders = np.broadcast_arrays(_degrees(name, n), _orders(name, m))
    if np.any(np.abs(orders) > HIGHEST):
        raise ValueError(f"special.{name}: the order m is at most {HIGHEST} in size")
    if not degrees.ndim:
        return one(int(degrees), int(orders))
    pairs = sorted({(int(a), int(b)) for a, b in zip(degrees.flat, orders.flat, strict=True)})
    found: Any = one(*pairs[0]) if pairs else one(0, 0)
    found = where(np.ones(degrees.shape, bool), found, found)
    for a, b in pairs[1:]:
        found = where((degrees == a) & (orders == b), one(a, b), found)
    return found


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Spherical harmonics of degrees n and orders m (known integers; they broadcast with the
    angles) at the polar angle theta and the azimuth phi: complex numbers, with the phase of
    Condon and Shortley (DLMF 14.30.1). Differentiable by both angles.

    >>> import tracegrad as tg
    >>> complex(tg.special.sph_harm_y(1, 1, 0.5, 0.0)).real.__round__(6)
    -0.165639
    """
    if diff_n != 0:
        raise UnsupportedFunctionError(
            f"{user_line()}: special.sph_harm_y with diff_n={diff_n!r} is not supported; leave it "
            "out and take tg.jvp or tg.jacobian"
        )
    theta, phi = _float(theta), _float(phi)

    def one(degree: int, order: int) -> Any:
        size = _normalised(degree, abs(order), theta)
        if order < 0 and order % 2:
            size = mul(size, -1.0)
        angle = mul(phi, float(order))
        return complex_(mul(size, cos(angle)), mul(size, sin(angle)))

    return _for_each("sph_harm_y", n, m, one)


__all__ = ["sph_harm_y"]
