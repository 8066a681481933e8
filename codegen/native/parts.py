"""Parts of numbers, signs, and logical and bitwise operations, with NumPy's meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from . import support
from .bridge import implements, inlined, is_bool, is_complex, is_float, scalar_type


def real(x: Any) -> Any:
    return np.real(x)


def imag(x: Any) -> Any:
    return np.imag(x)


def of_parts(x: Any, y: Any) -> Any:
    # Numbers of Python's are in double precision, as in compiled code.
    return np.result_type(np.asarray(x), np.asarray(y), np.complex64).type(complex(x, y))


def complex_div(x: Any, y: Any) -> Any:
    return np.true_divide(x, y)


def conj(x: Any) -> Any:
    return np.conj(x)


def angle(x: Any) -> Any:
    return np.angle(x)


def _type_imag(x: Any) -> Any:
    if is_complex(x):
        return lambda x: x.imag
    zero = scalar_type(x)(0)
    return lambda x: zero


implements(real)(lambda x: (lambda x: x.real) if is_complex(x) else (lambda x: x))
implements(imag)(_type_imag)
implements(conj)(lambda x: (lambda x: np.conj(x)) if is_complex(x) else (lambda x: x))


@implements(of_parts)
def _type_of_parts(x: Any, y: Any) -> Any:
    t = np.complex64 if x == y == types.float32 else np.complex128
    return lambda x, y: t(complex(x, y))


@implements(complex_div)
def _type_complex_div(x: Any, y: Any) -> Any:
    single = x == y == types.complex64
    t, one = (np.complex64, np.float32(1)) if single else (np.complex128, np.float64(1))
    return lambda x, y: t(_quotient(t(x), t(y), one))


@inlined
def _quotient(x: Any, y: Any, one: Any) -> Any:
    """NumPy's (Smith, Algorithm 116, 1962). Numba's own raises where the divisor is 0."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    if not abs(c) >= abs(d):
        ratio = c / d
        scale = one / (d + c * ratio)
        return complex((a * ratio + b) * scale, (b * ratio - a) * scale)
    if c == 0:
        return complex(a / abs(c), b / abs(c))
    ratio = d / c
    scale = one / (c + d * ratio)
    return complex((a + b * ratio) * scale, (b - a * ratio) * scale)


@implements(angle)
def _type_angle(x: Any) -> Any:
    if is_complex(x):
        return lambda x: math.atan2(x.imag, x.real)
    t = np.float32 if x == types.float32 else np.float64
    zero = t(0)
    return lambda x: t(math.atan2(zero, t(x)))


def signbit(x: Any) -> Any:
    return np.signbit(x)


@implements(signbit)
def _type_signbit(x: Any) -> Any:
    if is_float(x):
        return lambda x: support.bits(x) < 0
    return lambda x: x < 0


def _truth(name: str, python: Any, native: Any) -> Callable[..., Any]:
    def function(x: Any, y: Any) -> Any:
        return python(x, y)

    function.__name__ = function.__qualname__ = name
    implements(function)(lambda x, y: native)
    return function


logical_and = _truth("logical_and", np.logical_and, lambda x, y: (x != 0) & (y != 0))
logical_or = _truth("logical_or", np.logical_or, lambda x, y: (x != 0) | (y != 0))
logical_xor = _truth("logical_xor", np.logical_xor, lambda x, y: (x != 0) != (y != 0))


def bitwise_and(x: Any, y: Any) -> Any:
    return np.bitwise_and(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    return np.bitwise_or(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    return np.bitwise_xor(x, y)


def _common(x: Any, y: Any) -> Any:
    return scalar_type(support.unify(x, y))


@implements(bitwise_and)
def _type_and(x: Any, y: Any) -> Any:
    t = _common(x, y)
    return lambda x, y: t(t(x) & t(y))


@implements(bitwise_or)
def _type_or(x: Any, y: Any) -> Any:
    t = _common(x, y)
    return lambda x, y: t(t(x) | t(y))


@implements(bitwise_xor)
def _type_xor(x: Any, y: Any) -> Any:
    t = _common(x, y)
    return lambda x, y: t(t(x) ^ t(y))


def logical_not(x: Any) -> Any:
    return np.logical_not(x)


implements(logical_not)(lambda x: lambda x: x == 0)


def bitwise_not(x: Any) -> Any:
    return np.invert(x)


@implements(bitwise_not)
def _type_not(x: Any) -> Any:
    t = scalar_type(x)
    return (lambda x: not x) if is_bool(x) else (lambda x: t(~x))


invert = bitwise_not
