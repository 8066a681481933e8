"""NumPy's functions of numbers as they are kept in bits: mantissas and exponents, and the bits of
whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...dtypes import inexact, kind_of
from ...errors import DTypeError
from ...ir.lines import user_line
from ...ops.define import ndim_of, shape_of
from ...types import normalize_axis
from ..operators import array_of, operand

LARGE = 2.0**500
"""Doubles below 1 / LARGE are multiplied by it, which is exact: then none is subnormal."""


def _by_power(x: Any, n: Any) -> Any:
    """x * 2**n of doubles, rounded once: by halves of the exponent, of which the first product is
    exact wherever the second is not 0 or infinite."""
    half = ops.floor(n * 0.5)
    return x * ops.exp2(half) * ops.exp2(n - half)


def _raised(x: Any) -> tuple[Any, Any]:
    """A double that is not subnormal, and by which power of two it was multiplied."""
    small = ops.absolute(x) < 1 / LARGE
    return x * ops.where(small, LARGE, 1.0), ops.where(small, 500.0, 0.0)


def _floats(name: str, x: Any) -> Any:
    dtype = inexact(kind_of(x))
    if dtype.kind == "c":
        raise DTypeError(f"{user_line()}: {name} is not defined for complex numbers")
    return ops.convert(array_of(x), dtype)


def ldexp(x1: Any, x2: Any) -> Any:
    """x1 * 2**x2 for integers x2, rounded once. By x1 the derivative is 2**x2."""
    x, exponent = _floats("np.ldexp", operand(x1)), array_of(operand(x2))
    if exponent.dtype.kind not in "iub" or exponent.dtype == np.uint64:
        raise DTypeError(
            f"{user_line()}: np.ldexp: the exponents are {exponent.dtype}; they must be integers "
            "that int64 holds"
        )
    if isinstance(x2, int) and not -(2**31) <= x2 < 2**31:
        raise OverflowError(f"{user_line()}: np.ldexp: int32 does not hold the exponent {x2}")
    # Beyond these every number has become 0 or infinite.
    n = ops.convert(ops.clip(ops.convert(exponent, np.int64), -2100, 2100), np.float64)
    large, by = _raised(ops.convert(x, np.float64))
    return ops.convert(_by_power(large, n - by), x.dtype)


def frexp(x: Any) -> tuple[Any, Any]:
    """Mantissas from 1/2 up to 1 and integer exponents: x = m * 2**e. The derivative of m is that
    of a constant power of two, and e has none."""
    given = _floats("np.frexp", operand(x))
    large, by = _raised(ops.convert(given, np.float64))
    plain = ops.logical_and(ops.isfinite(large), ops.not_equal(large, 0))
    exponent = ops.floor(ops.log2(ops.where(plain, ops.absolute(large), 1.0))) + 1.0
    exponent = ops.where(plain, exponent, 0.0)
    mantissa = _by_power(large, -exponent)
    # The logarithm may be rounded to a whole number.
    up, down = ops.absolute(mantissa) >= 1, ops.absolute(mantissa) < 0.5
    up, down = (ops.logical_and(plain, c) for c in (up, down))
    mantissa = mantissa * ops.where(up, 0.5, ops.where(down, 2.0, 1.0))
    exponent = exponent + ops.where(up, 1.0, ops.where(down, -1.0, 0.0))
    whole = ops.convert(ops.where(plain, exponent - by, 0.0), np.int32)
    # What has no mantissa stays as it is.
    return ops.where(plain, ops.convert(mantissa, given.dtype), given), whole


def _whole(name: str, x: Any, kinds: str = "iu") -> Any:
    x = array_of(operand(x))
    if x.dtype.kind not in kinds:
        raise DTypeError(
            f"{user_line()}: {name} takes integers{' and booleans' if 'b' in kinds else ''}, "
            f"not {describe(x)}"
        )
    return x


def bitwise_count(x: Any) -> Any:
    """How many bits of |x| are set, as uint8: sums of neighbouring bits, pairs, fours, ..."""
    x = _whole("np.bitwise_count", x, "biu")
    size = ops.absolute(x) if x.dtype.kind == "i" else x
    wide = size.dtype.itemsize * 8
    kind = np.dtype(f"u{size.dtype.itemsize}").type
    n = ops.convert(size, kind)
    step = 1
    while step < wide:
        mask = kind(sum(((1 << step) - 1) << at for at in range(0, wide, 2 * step)))
        n = (n & mask) + ((n >> kind(step)) & mask)
        step *= 2
    return ops.convert(n, np.uint8)


def _big(bitorder: Any) -> bool:
    if not isinstance(bitorder, str) or bitorder not in ("big", "little"):
        raise ValueError(f"bitorder is {bitorder!r}; it is 'big' or 'little'")
    return bitorder == "big"


def _weights(big: bool) -> Any:
    order = np.arange(8, dtype=np.uint8)
    return order[::-1].copy() if big else order


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    """Whether elements are nonzero, eight of them in a byte; zeros are appended."""
    x, big = _whole("np.packbits", a, "biu"), _big(bitorder)
    x = ops.reshape(x, -1) if axis is None or not ndim_of(x) else x
    axis = 0 if axis is None else normalize_axis(axis, ndim_of(x))
    bits = ops.moveaxis(ops.convert(ops.not_equal(x, 0), np.uint8), axis, -1)
    *lead, n = shape_of(bits)
    bytes_ = (int(n) + 7) // 8
    bits = ops.pad(bits, [(0, 0)] * len(lead) + [(0, bytes_ * 8 - int(n))])
    parts = ops.reshape(bits, (*lead, bytes_, 8)) << _weights(big)
    return ops.moveaxis(ops.sum(parts, -1, dtype=np.uint8), -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """The bits of bytes, each as a uint8; of them the first `count`, or without the last -count."""
    x, big = array_of(operand(a)), _big(bitorder)
    if x.dtype != np.uint8:
        raise DTypeError(f"{user_line()}: np.unpackbits takes uint8, not {describe(x)}")
    x = ops.reshape(x, -1) if axis is None or not ndim_of(x) else x
    axis = 0 if axis is None else normalize_axis(axis, ndim_of(x))
    moved = ops.moveaxis(x, axis, -1)
    *lead, n = shape_of(moved)
    bits = (ops.expand_dims(moved, -1) >> _weights(big)) & np.uint8(1)
    bits = ops.reshape(bits, (*lead, n * 8))
    if count is not None:
        kept = np.unpackbits(np.zeros(int(n), np.uint8), count=count).size
        more = max(kept - int(n) * 8, 0)
        bits = ops.pad(bits, [(0, 0)] * len(lead) + [(0, more)])[..., :kept]
    return ops.moveaxis(bits, -1, axis)


ALL = (frexp, ldexp, bitwise_count)
"""The ufuncs among them."""
