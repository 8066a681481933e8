"""Functions of numbers with a form of their own for each kind of operands: NumPy's meaning on
scalars, in Python and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from ..scalars.trigonometric import _sinc_derivative
from . import scalar, support
from .bridge import implements, inlined, is_bool, is_complex, is_float, is_integer, scalar_type
from .integral import floordiv
from .support import select

Python = Callable[..., Any]
where = select


def _float_of(kind: Any) -> Any:
    """The float dtype that NumPy computes with for this argument (integers: float64)."""
    return np.float32 if kind == types.float32 else np.float64


def _rounding(name: str, python: Any, native: Any) -> Python:
    def function(x: Any) -> Any:
        return python(x)

    function.__name__ = function.__qualname__ = name

    @implements(function)
    def typer(x: Any) -> Any:
        if is_float(x):
            return lambda x: native(x)
        if is_complex(x) and name == "round_":
            return lambda x: complex(native(x.real), native(x.imag))
        return (lambda x: x) if is_integer(x) or is_bool(x) else None

    return function


floor = _rounding("floor", np.floor, support.floor_float)
ceil = _rounding("ceil", np.ceil, support.ceil_float)
trunc = _rounding("trunc", np.trunc, support.trunc_float)
round_ = _rounding("round_", np.rint, support.rint_float)
rint = round_


def square(x: Any) -> Any:
    return x * x


@implements(square)
def _type_square(x: Any) -> Any:
    t = scalar_type(x)
    return lambda x: t(x * x)


def reciprocal(x: Any) -> Any:
    return np.reciprocal(x)


@implements(reciprocal)
def _type_reciprocal(x: Any) -> Any:
    t = scalar_type(x)
    one = t(1)
    if is_integer(x):
        return lambda x: floordiv(one, x)
    if is_complex(x):
        part = np.float32(1) if x == types.complex64 else np.float64(1)
        return lambda x: t(_complex_reciprocal(x.real, x.imag, part))
    return lambda x: t(one / x)


@inlined
def _complex_reciprocal(a: Any, b: Any, one: Any) -> Any:
    """As NumPy has it: NaN at 0."""
    if abs(b) <= abs(a):
        ratio = b / a
        size = a + b * ratio
        return complex(one / size, -ratio / size)
    ratio = a / b
    size = a * ratio + b
    return complex(ratio / size, -one / size)


def abs_(x: Any) -> Any:
    return np.abs(x)


@implements(abs_)
def _type_abs(x: Any) -> Any:
    if is_float(x):
        return lambda x: support.fabs_float(x)
    if is_complex(x):
        return lambda x: np.abs(x)
    if is_integer(x) and x.signed:
        t = scalar_type(x)
        zero = t(0)
        return lambda x: select(x < zero, t(-x), x)
    return lambda x: x


def sign(x: Any) -> Any:
    return np.sign(x)


@implements(sign)
def _type_sign(x: Any) -> Any:
    if is_complex(x):
        kind = np.complex64 if x == types.complex64 else np.complex128

        def of_complex(x: Any) -> Any:
            size = np.abs(x)
            if size == np.inf:
                return kind(_infinite_sign(x.real, x.imag))
            return kind(0) if size == 0 else kind(complex(x.real / size, x.imag / size))

        return of_complex
    t = scalar_type(x)
    zero, one = t(0), t(1)
    if (is_integer(x) and not x.signed) or is_bool(x):
        return lambda x: select(x > zero, one, zero)
    minus = t(-1)
    return lambda x: select(x > zero, one, select(x < zero, minus, select(x == zero, zero, x)))


@inlined
def _infinite_sign(a: Any, b: Any) -> Any:
    """As NumPy has it: that of the infinite part, NaN of two."""
    if abs(a) == np.inf:
        return complex(np.nan, np.nan) if abs(b) == np.inf else complex(math.copysign(1.0, a), 0.0)
    return complex(0.0, math.copysign(1.0, b))


def _predicate(name: str, python: Any, of_float: Any, otherwise: bool) -> Python:
    def function(x: Any) -> Any:
        return python(x)

    function.__name__ = function.__qualname__ = name

    @implements(function)
    def typer(x: Any) -> Any:
        if is_float(x):
            return lambda x: of_float(x)
        if is_complex(x):
            return lambda x: python(x)
        return (lambda x: x == x) if otherwise else (lambda x: x != x)

    return function


isnan = _predicate("isnan", np.isnan, np.isnan, False)
isinf = _predicate("isinf", np.isinf, np.isinf, False)
isfinite = _predicate("isfinite", np.isfinite, np.isfinite, True)


def _binary_float(name: str, python: Any, native: Any) -> Python:
    """A function of two floats of one dtype."""

    def function(x: Any, y: Any) -> Any:
        return python(x, y)

    function.__name__ = function.__qualname__ = name

    @implements(function)
    def typer(x: Any, y: Any) -> Any:
        if is_complex(x) or is_complex(y):
            return None
        t = np.float32 if x == types.float32 and y == types.float32 else np.float64
        return lambda x, y: t(native(t(x), t(y)))

    return function


nextafter = _binary_float("nextafter", np.nextafter, np.nextafter)
copysign = _binary_float("copysign", np.copysign, support.copysign_float)


def _complex_extreme(above: bool, keep_nan: bool) -> Any:
    def body(x: Any, y: Any) -> Any:
        first = _nan(x) if keep_nan else _nan(y)
        second = _nan(y) if keep_nan else _nan(x)
        return select(first, x, select(second | (_less(x, y) if above else _less(y, x)), y, x))

    return body


def _extreme(name: str, python: Any, above: bool, keep_nan: bool) -> Python:
    """maximum, minimum (NaN wins) and fmax, fmin (NaN loses)."""

    def function(x: Any, y: Any) -> Any:
        if type(x) is type(y) is int:  # indices, which may be larger than NumPy's integers
            return max(x, y) if above else min(x, y)
        return python(x, y)

    function.__name__ = function.__qualname__ = name

    @implements(function)
    def typer(x: Any, y: Any) -> Any:
        if is_complex(x) or is_complex(y):
            return _complex_extreme(above, keep_nan)
        if not (is_float(x) or is_float(y)):
            return (
                (lambda x, y: select(x >= y, x, y))
                if above
                else (lambda x, y: select(x <= y, x, y))
            )
        if keep_nan:
            return (
                (lambda x, y: select((x >= y) | (x != x), x, y))
                if above
                else (lambda x, y: select((x <= y) | (x != x), x, y))
            )
        return (
            (lambda x, y: select((x >= y) | (y != y), x, y))
            if above
            else (lambda x, y: select((x <= y) | (y != y), x, y))
        )

    return function


def _nan(x: Any) -> Any:
    return (x.real != x.real) | (x.imag != x.imag)


def _less(x: Any, y: Any) -> Any:
    """NumPy's order of complex numbers: by real parts, then by imaginary parts."""
    return (x.real < y.real) | ((x.real == y.real) & (x.imag < y.imag))


implements(_nan)(lambda x: _nan)
implements(_less)(lambda x, y: _less)

maximum = _extreme("maximum", np.maximum, True, True)
minimum = _extreme("minimum", np.minimum, False, True)
fmax = _extreme("fmax", np.fmax, True, False)
fmin = _extreme("fmin", np.fmin, False, False)


def clip(x: Any, lo: Any, hi: Any) -> Any:
    return np.minimum(np.maximum(x, lo), hi)


implements(clip)(lambda x, lo, hi: lambda x, lo, hi: minimum(maximum(x, lo), hi))


def heaviside(x: Any, y: Any) -> Any:
    return np.heaviside(x, y)


@implements(heaviside)
def _type_heaviside(x: Any, y: Any) -> Any:
    t = np.float32 if x == types.float32 and y == types.float32 else np.float64
    zero, one = t(0), t(1)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        return select(a > zero, one, select(a < zero, zero, select(a == zero, b, a)))

    return body


def sinc(x: Any) -> Any:
    return np.sinc(x)


@implements(sinc)
def _type_sinc(x: Any) -> Any:
    if is_complex(x):
        return None
    t = _float_of(x)
    pi, zero, one, sin = t(np.pi), t(0), t(1), scalar.sin

    def body(x: Any) -> Any:
        a = pi * t(x)
        return select(a == zero, one, sin(a) / a)

    return body


def sinc_derivative(x: Any, n: Any) -> Any:
    """The n-th derivative of sin(t)/t at t = pi*x, for a fixed n."""
    value = _sinc_derivative(np.float64(x), n)
    return np.float32(value) if isinstance(x, np.float32) else value


implements(_sinc_derivative, inline=False)(lambda x, n: _sinc_derivative)


@implements(sinc_derivative, inline=False)
def _type_sinc_derivative(x: Any, n: Any) -> Any:
    if is_complex(x):
        return None
    t = _float_of(x)

    def body(x: Any, n: Any) -> Any:
        return t(_sinc_derivative(np.float64(x), n))

    return body


def strong_mul(x: Any, y: Any) -> Any:
    """`x * y`, but 0 wherever x is 0, whatever y is."""
    t = np.result_type(x, y).type
    return t(0) if x == 0 else t(x) * t(y)


@implements(strong_mul)
def _type_strong_mul(x: Any, y: Any) -> Any:
    t = scalar_type(support.unify(x, y))
    zero = t(0)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        return select(a == zero, zero, t(a * b))

    return body
