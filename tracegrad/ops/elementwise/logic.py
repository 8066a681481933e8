"""Tests of floating-point values, logic and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import describe, explained_here, flag
from ...dtypes import real_of
from ...errors import DTypeError
from ...ir.dispatch import bind
from ...ir.op import even
from ..define import as_array, of_list
from .arithmetic import complex_, equal, imag, less_equal, sub, where
from .derived import add, convert, mul, real
from .elementary import absolute
from .pointwise import pointwise

INTEGRAL, WHOLE = "biu", "iu"


# --- tests of values ------------------------------------------------------------------------------

isnan_op = pointwise(
    "isnan",
    ("x",),
    numpy=np.isnan,
    code="isnan({x})",
    partials=None,
    result="bool",
    parity=even,
    doc="Whether x is NaN.",
)
isinf_op = pointwise(
    "isinf",
    ("x",),
    numpy=np.isinf,
    code="isinf({x})",
    partials=None,
    result="bool",
    parity=even,
    doc="Whether x is infinite.",
)
isfinite_op = pointwise(
    "isfinite",
    ("x",),
    numpy=np.isfinite,
    code="isfinite({x})",
    partials=None,
    result="bool",
    parity=even,
    doc="Whether x is finite.",
)


def isnan(x: Any) -> Any:
    """Where `x` is NaN.

    >>> import tracegrad as tg
    >>> bool(tg.isnan(float("nan")))
    True
    """
    return bind(isnan_op, [x])


def isinf(x: Any) -> Any:
    """Where `x` is infinite, of either sign.

    >>> import tracegrad as tg
    >>> bool(tg.isinf(float("-inf")))
    True
    """
    return bind(isinf_op, [x])


def isfinite(x: Any) -> Any:
    """Where `x` is neither infinite nor NaN.

    >>> import tracegrad as tg
    >>> bool(tg.isfinite(1.0))
    True
    """
    return bind(isfinite_op, [x])


def _ordered(x: Any, name: str) -> Any:
    x = as_array(x)
    if x.dtype.kind == "c":
        raise DTypeError(
            f"{name} is not defined for complex numbers, which have no sign; "
            "use their real and imaginary parts"
        )
    return x


def isposinf(x: Any) -> Any:
    """Where `x` is +inf.

    >>> import tracegrad as tg
    >>> bool(tg.isposinf(float("inf")))
    True
    """
    return equal(_ordered(x, "isposinf"), float("inf"))


def isneginf(x: Any) -> Any:
    """Where `x` is -inf.

    >>> import tracegrad as tg
    >>> bool(tg.isneginf(float("-inf")))
    True
    """
    return equal(_ordered(x, "isneginf"), float("-inf"))


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Where `|a - b| <= atol + rtol * |b|`, or both are equal (infinities included), or both NaN if
    asked.

    >>> import tracegrad as tg
    >>> bool(tg.isclose(1.0, 1.0 + 1e-9))
    True
    """
    a, b = (
        convert(v, np.float64) if getattr(v, "dtype", np.dtype(type(v))).kind in "biu" else v
        for v in (a, b)
    )
    near = logical_and(
        isfinite(b), less_equal(absolute(sub(a, b)), add(atol, mul(rtol, absolute(b))))
    )
    result = logical_or(near, equal(a, b))
    return logical_or(result, logical_and(isnan(a), isnan(b))) if equal_nan else result


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`x` with NaN and infinities replaced (infinities by default with the largest finite numbers);
    replaced elements have no derivative.

    >>> import tracegrad as tg
    >>> float(tg.nan_to_num(float("nan")))
    0.0
    """
    flag("copy", copy)
    x = of_list(x)
    dtype = getattr(x, "dtype", np.dtype(type(x)))
    if dtype.kind == "c":
        parts = [
            nan_to_num(part(x), nan=nan, posinf=posinf, neginf=neginf) for part in (real, imag)
        ]
        return complex_(*parts)
    if dtype.kind in "biu":
        return x
    nan, posinf, neginf = (
        None if v is None else as_array(v) if not isinstance(v, (int, float)) else v
        for v in (nan, posinf, neginf)
    )
    for v in (nan, posinf, neginf):
        if v is not None and getattr(v, "dtype", dtype).kind not in "biuf":
            raise explained_here(TypeError(f"{describe(v)} cannot stand among elements of {dtype}"))
    limits = np.finfo(real_of(dtype))
    # All are asked of x itself: what stands for one of them may be another.
    finite = where(isneginf(x), float(limits.min) if neginf is None else neginf, x)
    finite = where(isposinf(x), float(limits.max) if posinf is None else posinf, finite)
    return where(isnan(x), nan, finite)


# --- logic and bits -------------------------------------------------------------------------------

logical_and_op = pointwise(
    "logical_and",
    ("x", "y"),
    numpy=np.logical_and,
    code="logical_and({x}, {y})",
    partials=None,
    result="bool",
    commutes=True,
    weak=True,
    doc="Whether both are nonzero.",
)
logical_or_op = pointwise(
    "logical_or",
    ("x", "y"),
    numpy=np.logical_or,
    code="logical_or({x}, {y})",
    partials=None,
    result="bool",
    commutes=True,
    weak=True,
    doc="Whether one is nonzero.",
)
logical_xor_op = pointwise(
    "logical_xor",
    ("x", "y"),
    numpy=np.logical_xor,
    code="logical_xor({x}, {y})",
    partials=None,
    result="bool",
    commutes=True,
    weak=True,
    doc="Whether exactly one is nonzero.",
)
logical_not_op = pointwise(
    "logical_not",
    ("x",),
    numpy=np.logical_not,
    code="logical_not({x})",
    partials=None,
    result="bool",
    parity=even,
    weak=True,
    doc="Whether x is 0.",
)
bitwise_and_op = pointwise(
    "bitwise_and",
    ("x", "y"),
    numpy=np.bitwise_and,
    code="bitwise_and({x}, {y})",
    partials=None,
    result="promote",
    kinds=INTEGRAL,
    commutes=True,
    weak=True,
    doc="Bits set in both.",
)
bitwise_or_op = pointwise(
    "bitwise_or",
    ("x", "y"),
    numpy=np.bitwise_or,
    code="bitwise_or({x}, {y})",
    partials=None,
    result="promote",
    kinds=INTEGRAL,
    commutes=True,
    weak=True,
    doc="Bits set in one or both.",
)
bitwise_xor_op = pointwise(
    "bitwise_xor",
    ("x", "y"),
    numpy=np.bitwise_xor,
    code="bitwise_xor({x}, {y})",
    partials=None,
    result="promote",
    kinds=INTEGRAL,
    commutes=True,
    weak=True,
    doc="Bits set in exactly one.",
)
invert_op = pointwise(
    "invert",
    ("x",),
    numpy=np.invert,
    code="invert({x})",
    partials=None,
    result="promote",
    kinds=INTEGRAL,
    weak=True,
    doc="All bits flipped; of booleans, not.",
)
left_shift_op = pointwise(
    "left_shift",
    ("x", "y"),
    numpy=np.left_shift,
    code="left_shift({x}, {y})",
    partials=None,
    result="promote",
    kinds=WHOLE,
    weak=True,
    doc="Bits moved up.",
)
right_shift_op = pointwise(
    "right_shift",
    ("x", "y"),
    numpy=np.right_shift,
    code="right_shift({x}, {y})",
    partials=None,
    result="promote",
    kinds=WHOLE,
    weak=True,
    doc="Bits moved down.",
)


def logical_and(x: Any, y: Any) -> Any:
    """Where both are nonzero.

    >>> import tracegrad as tg
    >>> bool(tg.logical_and(True, False))
    False
    """
    return bind(logical_and_op, [x, y])


def logical_or(x: Any, y: Any) -> Any:
    """Where one is nonzero.

    >>> import tracegrad as tg
    >>> bool(tg.logical_or(True, False))
    True
    """
    return bind(logical_or_op, [x, y])


def logical_xor(x: Any, y: Any) -> Any:
    """Where exactly one is nonzero.

    >>> import tracegrad as tg
    >>> bool(tg.logical_xor(True, True))
    False
    """
    return bind(logical_xor_op, [x, y])


def logical_not(x: Any) -> Any:
    """Where `x` is 0.

    >>> import tracegrad as tg
    >>> bool(tg.logical_not(0.0))
    True
    """
    return bind(logical_not_op, [x])


def bitwise_and(x: Any, y: Any) -> Any:
    """`x & y` of integers or booleans (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.bitwise_and(6, 3))
    2
    """
    return bind(bitwise_and_op, [x, y])


def bitwise_or(x: Any, y: Any) -> Any:
    """`x | y` of integers or booleans (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.bitwise_or(6, 3))
    7
    """
    return bind(bitwise_or_op, [x, y])


def bitwise_xor(x: Any, y: Any) -> Any:
    """`x ^ y` of integers or booleans (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.bitwise_xor(6, 3))
    5
    """
    return bind(bitwise_xor_op, [x, y])


def invert(x: Any) -> Any:
    """`~x` of integers or booleans (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.invert(5))
    -6
    """
    return bind(invert_op, [x])


def left_shift(x: Any, y: Any) -> Any:
    """`x << y` of integers (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.left_shift(3, 2))
    12
    """
    return bind(left_shift_op, [x, y])


def right_shift(x: Any, y: Any) -> Any:
    """`x >> y` of integers (DTypeError for others).

    >>> import tracegrad as tg
    >>> int(tg.right_shift(12, 2))
    3
    """
    return bind(right_shift_op, [x, y])


bitwise_not, bitwise_invert = invert, invert

OPS = (
    isnan_op,
    isinf_op,
    isfinite_op,
    logical_and_op,
    logical_or_op,
    logical_xor_op,
    logical_not_op,
    bitwise_and_op,
    bitwise_or_op,
    bitwise_xor_op,
    invert_op,
    left_shift_op,
    right_shift_op,
)
