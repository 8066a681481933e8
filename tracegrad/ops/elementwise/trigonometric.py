"""Trigonometric and hyperbolic functions, their inverses, and the angle and length of a vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import inexact
from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from .arithmetic import equal, where
from .derived import convert, mul
from .elementary import sqrt
from .pointwise import pointwise

REAL = "biuf"

sin_op = pointwise(
    "sin",
    ("x",),
    numpy=np.sin,
    code="sin({x})",
    partials=(lambda x: cos(x),),
    parity=odd,
    doc="Sine.",
)
cos_op = pointwise(
    "cos",
    ("x",),
    numpy=np.cos,
    code="cos({x})",
    partials=(lambda x: -sin(x),),
    parity=even,
    doc="Cosine.",
)
tan_op = pointwise(
    "tan",
    ("x",),
    numpy=np.tan,
    code="tan({x})",
    partials=(lambda out: 1 + out * out,),
    parity=odd,
    doc="Tangent.",
)


def _circle(x: Any) -> Any:
    """sqrt(1 - x**2), without cancellation near 1."""
    return sqrt((1 - x) * (1 + x))


asin_op = pointwise(
    "asin",
    ("x",),
    numpy=np.arcsin,
    code="asin({x})",
    partials=(lambda x: 1 / _circle(x),),
    domain="singular",
    parity=odd,
    doc="Inverse sine.",
)
acos_op = pointwise(
    "acos",
    ("x",),
    numpy=np.arccos,
    code="acos({x})",
    partials=(lambda x: -1 / _circle(x),),
    domain="singular",
    doc="Inverse cosine.",
)
atan_op = pointwise(
    "atan",
    ("x",),
    numpy=np.arctan,
    code="atan({x})",
    partials=(lambda x: 1 / (1 + x * x),),
    parity=odd,
    doc="Inverse tangent.",
)


def _real_number(x: Any) -> Any:
    """Integers in float64: squares of narrow ones and minus of unsigned ones would wrap."""
    dtype = getattr(x, "dtype", None)
    return convert(x, np.float64) if dtype is not None and dtype.kind in "biu" else x


def _turn(side: Any, x: Any, y: Any) -> Any:
    """`side` over the square of the length of (x, y)."""
    x, y = _real_number(x), _real_number(y)
    return side / (x * x + y * y)


atan2_op = pointwise(
    "atan2",
    ("y", "x"),
    numpy=np.arctan2,
    code="atan2({y}, {x})",
    domain="singular",
    kinds=REAL,
    partials=(
        lambda y, x: _turn(_real_number(x), x, y),
        lambda y, x: _turn(-_real_number(y), x, y),
    ),
    doc="Angle of the point (x, y).",
)
sinh_op = pointwise(
    "sinh",
    ("x",),
    numpy=np.sinh,
    code="sinh({x})",
    partials=(lambda x: cosh(x),),
    parity=odd,
    doc="Hyperbolic sine.",
)
cosh_op = pointwise(
    "cosh",
    ("x",),
    numpy=np.cosh,
    code="cosh({x})",
    partials=(lambda x: sinh(x),),
    parity=even,
    doc="Hyperbolic cosine.",
)
tanh_op = pointwise(
    "tanh",
    ("x",),
    numpy=np.tanh,
    code="tanh({x})",
    partials=(lambda out: 1 - out * out,),
    parity=odd,
    doc="Hyperbolic tangent.",
)
asinh_op = pointwise(
    "asinh",
    ("x",),
    numpy=np.arcsinh,
    code="asinh({x})",
    partials=(lambda x: 1 / sqrt(x * x + 1),),
    parity=odd,
    doc="Inverse hyperbolic sine.",
)
acosh_op = pointwise(
    "acosh",
    ("x",),
    numpy=np.arccosh,
    code="acosh({x})",
    partials=(lambda x: 1 / (sqrt(x - 1) * sqrt(x + 1)),),
    domain="singular",
    doc="Inverse hyperbolic cosine.",
)
atanh_op = pointwise(
    "atanh",
    ("x",),
    numpy=np.arctanh,
    code="atanh({x})",
    partials=(lambda x: 1 / ((1 - x) * (1 + x)),),
    domain="singular",
    parity=odd,
    doc="Inverse hyperbolic tangent.",
)


def _direction(x: Any, length: Any) -> Any:
    zero = equal(length, 0)
    return where(zero, 0, x / where(zero, 1, length))


hypot_op = pointwise(
    "hypot",
    ("x", "y"),
    numpy=np.hypot,
    code="hypot({x}, {y})",
    kinds=REAL,
    partials=(lambda x, out: _direction(x, out), lambda y, out: _direction(y, out)),
    parity=even,
    commutes=True,
    doc="sqrt(x**2 + y**2) without overflow; its derivative at the origin is 0.",
)


def _angle_partial(x: Any) -> Any:
    # d angle = Im(dx / x) = Re(-i dx / x).
    zero = equal(x, 0)
    return where(zero, 0, -1j / where(zero, 1, x))


angle_op = pointwise(
    "angle",
    ("x",),
    numpy=np.angle,
    code="angle({x})",
    partials=(_angle_partial,),
    result="real",
    kinds="c",
    doc="Argument of a complex number, in radians.",
)
half_turn_op = pointwise(
    "half_turn",
    ("x",),
    numpy=np.angle,
    code="atan2(np.{dtype}(0), {x})",
    partials=(0,),
    kinds=REAL,
    cost=4,
    doc="Argument of a real number: 0, or pi where it is negative.",
)


# --- sinc -----------------------------------------------------------------------------------------


def _sinc_derivative(x: Any, n: int) -> Any:
    """The n-th derivative of sin(t)/t at t = pi*x, for real arrays."""
    t = np.pi * np.asarray(x)
    near = np.abs(t) < n + 3
    # Away from 0 by the recurrence t s(n) + n s(n-1) = sin(t + n pi/2); near 0, where that cancels,
    # by the power series.
    far = np.where(near, 1, t)
    away = np.sin(far) / far
    for k in range(1, n + 1):
        away = (np.sin(far + k * (np.pi / 2)) - k * away) / far
    close = np.where(near, t, 0)
    first = (n + 1) // 2
    term = (close if n % 2 else np.ones_like(close)) * ((-1) ** first / (2 * first + 1))
    series = term
    for m in range(first, first + 2 * n + 20):
        term = (
            term
            * (-(close * close) * (2 * m + 1))
            / ((2 * m + 3) * (2 * m + 1 - n) * (2 * m + 2 - n))
        )
        series = series + term
    return np.where(near, series, away).astype(t.dtype)


def _sinc_evaluate(x: Any, *, n: int) -> Any:
    return np.sinc(x) if n == 0 else _sinc_derivative(x, n)


sinc_op: Op = pointwise(
    "sinc",
    ("x",),
    numpy=_sinc_evaluate,
    code=lambda p: "sinc({x})" if p["n"] == 0 else f"sinc_derivative({{x}}, {p['n']})",
    cost=22,
    kinds=REAL,
    partials=(lambda x, *, n: math.pi * sinc_op(x, n=n + 1),),
    parity=lambda x, *, n: 1 if x == 1 or n == 0 else None,
    doc="n-th derivative of sin(t)/t at t = pi*x.",
)


def sinc(x: Any) -> Any:
    """`sin(pi*x) / (pi*x)`, 1 at 0; differentiable everywhere to any order.

    >>> import tracegrad as tg
    >>> float(tg.sinc(0.0))
    1.0
    """
    if hasattr(x, "dtype") and x.dtype.kind in "biu":
        x = convert(x, np.float64)
    return bind(sinc_op, [x], {"n": 0})


# --- trigonometric --------------------------------------------------------------------------------


def sin(x: Any) -> Any:
    """Sine of `x` in radians.

    >>> import tracegrad as tg
    >>> float(tg.sin(0.0))
    0.0
    """
    return bind(sin_op, [x])


def cos(x: Any) -> Any:
    """Cosine of `x` in radians.

    >>> import tracegrad as tg
    >>> float(tg.cos(0.0))
    1.0
    """
    return bind(cos_op, [x])


def tan(x: Any) -> Any:
    """Tangent of `x` in radians.

    >>> import tracegrad as tg
    >>> float(tg.tan(0.0))
    0.0
    """
    return bind(tan_op, [x])


def asin(x: Any) -> Any:
    """Inverse sine, in [-pi/2, pi/2]; NaN outside [-1, 1].

    >>> import tracegrad as tg
    >>> float(tg.asin(0.0))
    0.0
    """
    return bind(asin_op, [x])


def acos(x: Any) -> Any:
    """Inverse cosine, in [0, pi]; NaN outside [-1, 1].

    >>> import tracegrad as tg
    >>> float(tg.acos(1.0))
    0.0
    """
    return bind(acos_op, [x])


def atan(x: Any) -> Any:
    """Inverse tangent, in [-pi/2, pi/2].

    >>> import tracegrad as tg
    >>> float(tg.atan(0.0))
    0.0
    """
    return bind(atan_op, [x])


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y) in [-pi, pi]; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.atan2(0.0, 1.0))
    0.0
    """
    return bind(atan2_op, [y, x])


def sinh(x: Any) -> Any:
    """Hyperbolic sine.

    >>> import tracegrad as tg
    >>> float(tg.sinh(0.0))
    0.0
    """
    return bind(sinh_op, [x])


def cosh(x: Any) -> Any:
    """Hyperbolic cosine.

    >>> import tracegrad as tg
    >>> float(tg.cosh(0.0))
    1.0
    """
    return bind(cosh_op, [x])


def tanh(x: Any) -> Any:
    """Hyperbolic tangent.

    >>> import tracegrad as tg
    >>> float(tg.tanh(0.0))
    0.0
    """
    return bind(tanh_op, [x])


def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine.

    >>> import tracegrad as tg
    >>> float(tg.asinh(0.0))
    0.0
    """
    return bind(asinh_op, [x])


def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import tracegrad as tg
    >>> float(tg.acosh(1.0))
    0.0
    """
    return bind(acosh_op, [x])


def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.

    >>> import tracegrad as tg
    >>> float(tg.atanh(0.0))
    0.0
    """
    return bind(atanh_op, [x])


# --- vectors in the plane -------------------------------------------------------------------------


def hypot(x: Any, y: Any) -> Any:
    """`sqrt(x**2 + y**2)` without overflow; the derivative at the origin is 0. Real arrays only
    (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.hypot(3.0, 4.0))
    5.0
    """
    return bind(hypot_op, [x, y])


def angle(x: Any, deg: bool = False) -> Any:
    """Argument of complex numbers in [-pi, pi], or in degrees; its derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> float(tg.angle(-1.0, deg=True))
    180.0
    """
    is_complex = x.dtype.kind == "c" if hasattr(x, "dtype") else isinstance(x, complex)
    result = bind(angle_op if is_complex else half_turn_op, [x])
    return mul(result, 180 / math.pi) if deg else result


def _angle(x: Any, name: str) -> Any:
    """A real number, as a float."""
    dtype = getattr(x, "dtype", None)
    if isinstance(x, complex) or (dtype is not None and dtype.kind == "c"):
        raise DTypeError(
            f"{name} is not defined for complex numbers, only for real ones; "
            "use their real part or angle"
        )
    return convert(x, inexact(dtype)) if dtype is not None and dtype.kind in "biu" else x


def deg2rad(x: Any) -> Any:
    """Degrees to radians.

    >>> import tracegrad as tg
    >>> round(float(tg.deg2rad(180.0)), 6)
    3.141593
    """
    return mul(_angle(x, "deg2rad"), math.pi / 180)


def rad2deg(x: Any) -> Any:
    """Radians to degrees.

    >>> import math
    >>> import tracegrad as tg
    >>> float(tg.rad2deg(math.pi))
    180.0
    """
    return mul(_angle(x, "rad2deg"), 180 / math.pi)


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
degrees, radians = rad2deg, deg2rad

APPLIED_BY = {
    sin: sin_op,
    cos: cos_op,
    tan: tan_op,
    asin: asin_op,
    acos: acos_op,
    atan: atan_op,
    sinh: sinh_op,
    cosh: cosh_op,
    tanh: tanh_op,
    asinh: asinh_op,
    acosh: acosh_op,
    atanh: atanh_op,
}
"""The operations of functions that do nothing but apply them."""

OPS = (
    sin_op,
    cos_op,
    tan_op,
    asin_op,
    acos_op,
    atan_op,
    atan2_op,
    sinh_op,
    cosh_op,
    tanh_op,
    asinh_op,
    acosh_op,
    atanh_op,
    hypot_op,
    angle_op,
    half_turn_op,
    sinc_op,
)
