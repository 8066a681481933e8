"""Extremes, clipping, rounding and signs."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...dtypes import kind_of, promote
from ...ir.dispatch import bind
from ...ir.op import odd
from ..define import as_array
from .arithmetic import complex_, div, equal, imag, less, less_equal, where
from .derived import convert, mul, real
from .elementary import sign
from .logic import isnan, logical_or
from .pointwise import pointwise

REAL = "biuf"


# --- extremes -------------------------------------------------------------------------------------
# Rules read the differential itself, so that an infinite or NaN operand that was not chosen never
# meets it.


def _maximum_part(d: Any, x: Any, y: Any) -> Any:
    return where(less(x, y), 0, where(equal(x, y), d * 0.5, d))


def _minimum_part(d: Any, x: Any, y: Any) -> Any:
    return where(less(y, x), 0, where(equal(x, y), d * 0.5, d))


maximum_op = pointwise(
    "maximum",
    ("x", "y"),
    numpy=np.maximum,
    code="maximum({x}, {y})",
    result="promote",
    kinds=REAL,
    partials=(lambda d, x, y: _maximum_part(d, x, y), lambda d, x, y: _maximum_part(d, y, x)),
    commutes=True,
    doc="The larger; NaN where one is NaN. Ties share the derivative.",
)
minimum_op = pointwise(
    "minimum",
    ("x", "y"),
    numpy=np.minimum,
    code="minimum({x}, {y})",
    result="promote",
    kinds=REAL,
    partials=(lambda d, x, y: _minimum_part(d, x, y), lambda d, x, y: _minimum_part(d, y, x)),
    commutes=True,
    doc="The smaller; NaN where one is NaN. Ties share the derivative.",
)
fmax_op = pointwise(
    "fmax",
    ("x", "y"),
    numpy=np.fmax,
    code="fmax({x}, {y})",
    result="promote",
    kinds=REAL,
    partials=(
        lambda d, x, y: where(logical_or(less_equal(y, x), isnan(y)), d, 0),
        lambda d, x, y: where(logical_or(less_equal(y, x), isnan(y)), 0, d),
    ),
    commutes=True,
    doc="The larger, ignoring NaN. The first takes the derivative of a tie.",
)
fmin_op = pointwise(
    "fmin",
    ("x", "y"),
    numpy=np.fmin,
    code="fmin({x}, {y})",
    result="promote",
    kinds=REAL,
    partials=(
        lambda d, x, y: where(logical_or(less_equal(x, y), isnan(y)), d, 0),
        lambda d, x, y: where(logical_or(less_equal(x, y), isnan(y)), 0, d),
    ),
    commutes=True,
    doc="The smaller, ignoring NaN. The first takes the derivative of a tie.",
)
clip_min_op = pointwise(
    "clip_min",
    ("x", "low"),
    numpy=np.maximum,
    code="maximum({x}, {low})",
    result="promote",
    kinds=REAL,
    partials=(
        lambda d, x, low: where(less(x, low), 0, d),
        lambda d, x, low: where(less(x, low), d, 0),
    ),
    commutes=True,
    doc="x, but not below `low`; at the bound x keeps the derivative.",
)
clip_max_op = pointwise(
    "clip_max",
    ("x", "high"),
    numpy=np.minimum,
    code="minimum({x}, {high})",
    result="promote",
    kinds=REAL,
    partials=(
        lambda d, x, high: where(less(high, x), 0, d),
        lambda d, x, high: where(less(high, x), d, 0),
    ),
    commutes=True,
    doc="x, but not above `high`; at the bound x keeps the derivative.",
)
relu_op = pointwise(
    "relu",
    ("x",),
    numpy=lambda x: np.maximum(x, 0),
    code="maximum({x}, np.{dtype}(0))",
    result="promote",
    kinds="iuf",
    partials=(lambda d, out: where(less_equal(out, 0), 0, d),),
    doc="x where it is positive, else 0; the derivative at 0 is 0.",
)


def maximum(x: Any, y: Any) -> Any:
    """The larger of two arrays, element by element; NaN wins. Ties give each half of the
    derivative.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.maximum(np.array([1.0, 4.0]), 2.0)
    array([2., 4.])
    """
    return bind(maximum_op, [x, y])


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two arrays, element by element; NaN wins. Ties give each half of the
    derivative.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.minimum(np.array([1.0, 4.0]), 2.0)
    array([1., 2.])
    """
    return bind(minimum_op, [x, y])


def fmax(x: Any, y: Any) -> Any:
    """The larger of two arrays, where NaN counts as missing.

    >>> import tracegrad as tg
    >>> float(tg.fmax(float("nan"), 2.0))
    2.0
    """
    return bind(fmax_op, [x, y])


def fmin(x: Any, y: Any) -> Any:
    """The smaller of two arrays, where NaN counts as missing.

    >>> import tracegrad as tg
    >>> float(tg.fmin(float("nan"), 2.0))
    2.0
    """
    return bind(fmin_op, [x, y])


def clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """`x` limited to [a_min, a_max] (either may be None); on a bound the derivative in `x` is 1.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.clip(np.array([-1.0, 0.5, 3.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise TypeError("clip: a bound is given twice: take a_min and a_max, or min and max")
    low, high = a_min if min is None else min, a_max if max is None else max
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.kind in "iu":
        # A bound that all numbers of the dtype keep may be one that it does not hold.
        limits = np.iinfo(dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
        if low is None and high is None:
            return mul(x, 1)
    if low is not None and high is not None and dtype is not None:
        # One dtype for all three: by two steps, numbers of Python would decide it half-way.
        try:
            together = promote(*map(kind_of, (x, low, high)))
        except (KeyError, TypeError, ValueError):
            together = dtype  # the operations below say what is wrong with a bound
        x = x if together == dtype else convert(x, together)
    if low is not None:
        x = bind(clip_min_op, [x, low])
    if high is not None:
        x = bind(clip_max_op, [x, high])
    return x if low is not None or high is not None else as_array(x)


def relu(x: Any) -> Any:
    """`x` where it is positive, else 0; the derivative at 0 is 0.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return bind(relu_op, [x])


# --- rounding -------------------------------------------------------------------------------------

floor_op = pointwise(
    "floor",
    ("x",),
    numpy=np.floor,
    code="floor({x})",
    partials=(0,),
    result="promote",
    kinds=REAL,
    doc="Rounded down.",
)
ceil_op = pointwise(
    "ceil",
    ("x",),
    numpy=np.ceil,
    code="ceil({x})",
    partials=(0,),
    result="promote",
    kinds=REAL,
    doc="Rounded up.",
)
trunc_op = pointwise(
    "trunc",
    ("x",),
    numpy=np.trunc,
    code="trunc({x})",
    partials=(0,),
    result="promote",
    kinds=REAL,
    parity=odd,
    doc="Rounded towards zero.",
)
rint_op = pointwise(
    "rint",
    ("x",),
    numpy=np.rint,
    code="round_({x})",
    partials=(0,),
    kinds=REAL,
    parity=odd,
    doc="Rounded to the nearest, halves to even.",
)


def floor(x: Any) -> Any:
    """The largest whole number not above `x`, in x's dtype; not differentiable.

    >>> import tracegrad as tg
    >>> float(tg.floor(-1.5))
    -2.0
    """
    return bind(floor_op, [x])


def ceil(x: Any) -> Any:
    """The smallest whole number not below `x`, in x's dtype; not differentiable.

    >>> import tracegrad as tg
    >>> float(tg.ceil(1.5))
    2.0
    """
    return bind(ceil_op, [x])


def trunc(x: Any) -> Any:
    """`x` without its fraction; not differentiable.

    >>> import tracegrad as tg
    >>> float(tg.trunc(-1.5))
    -1.0
    """
    return bind(trunc_op, [x])


def rint(x: Any) -> Any:
    """The nearest whole number, halves to the even one; integers give floats. Not differentiable.

    >>> import tracegrad as tg
    >>> float(tg.rint(2.5))
    2.0
    """
    return bind(rint_op, [x])


def round_(x: Any, decimals: int = 0) -> Any:
    """`x` to this many decimals (negative: tens, hundreds...), halves to even, in x's dtype; not
    differentiable.

    >>> import tracegrad as tg
    >>> float(tg.round(1.2345, 2))
    1.23
    """
    decimals = operator.index(decimals)
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.kind == "c":
        return _round_parts(x, decimals)
    if decimals == 0 or (dtype is not None and dtype.kind in "iu" and decimals > 0):
        return bind(floor_op if dtype is not None and dtype.kind in "iu" else rint_op, [x])
    scale = 10.0 ** max(decimals, -decimals)
    rounded = div(rint(mul(x, scale)), scale) if decimals > 0 else mul(rint(div(x, scale)), scale)
    return convert(rounded, dtype) if dtype is not None and dtype.kind in "iu" else rounded


def _round_parts(x: Any, decimals: int) -> Any:
    return complex_(round_(real(x), decimals), round_(imag(x), decimals))


# --- signs ----------------------------------------------------------------------------------------


copysign_op = pointwise(
    "copysign",
    ("x", "y"),
    numpy=np.copysign,
    code="copysign({x}, {y})",
    partials=(lambda x, y: sign(x) * copysign(1.0, y), 0),
    kinds=REAL,
    doc="|x| with the sign of y.",
)
heaviside_op = pointwise(
    "heaviside",
    ("x", "h"),
    numpy=np.heaviside,
    code="heaviside({x}, {h})",
    partials=(0, lambda d, x: where(equal(x, 0), d, 0)),
    kinds=REAL,
    doc="0 below 0, h at 0, 1 above.",
)


def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of `y` (a signed zero counts); the derivative at `x == 0` is 0.

    >>> import tracegrad as tg
    >>> float(tg.copysign(2.0, -0.0))
    -2.0
    """
    return bind(copysign_op, [x, y])


def heaviside(x: Any, h: Any) -> Any:
    """0 where `x < 0`, `h` where `x == 0`, 1 where `x > 0`.

    >>> import tracegrad as tg
    >>> float(tg.heaviside(0.0, 0.5))
    0.5
    """
    return bind(heaviside_op, [x, h])


def signbit(x: Any) -> Any:
    """Where `x` is negative or -0.0.

    >>> import tracegrad as tg
    >>> bool(tg.signbit(-0.0))
    True
    """
    return less(copysign(1.0, x), 0)


fix, around, round = trunc, round_, round_

OPS = (
    maximum_op,
    minimum_op,
    fmax_op,
    fmin_op,
    clip_min_op,
    clip_max_op,
    relu_op,
    floor_op,
    ceil_op,
    trunc_op,
    rint_op,
    copysign_op,
    heaviside_op,
)
