"""The functions that pointwise code may call: NumPy's meaning on scalars, in Python and compiled.

In Python each is NumPy's (or SciPy's) function; compiled, most are those of `vector_math`, and the others the C
library's or SciPy's. Results have the dtype NumPy gives for scalars of one dtype; mixed dtypes are cast by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from . import support
from .bridge import implements, is_bool, is_complex, is_float, is_integer, scalar_type
from .integral import floordiv, fmod, left_shift, mod, pow, right_shift
from .parts import (
    angle,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    conj,
    imag,
    invert,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    real,
    signbit,
)
from .philox import (
    philox,
    philox_bits,
    philox_bits_array,
    philox_normal,
    philox_normal_array,
    philox_uniform,
    philox_uniform_array,
    philox_words,
)
from .powers import pow_below_16, pow_below_128, pow_below_1024
from .special import digamma, erf, erfc, erfinv, gamma, i0, i0e, i1, i1e, lgamma, ndtri, polygamma, trigamma
from .support import select
from .vector_math import written

__all__ = [  # noqa: RUF022  (in alphabetical order, not in ruff's)
    "abs_", "acos", "acosh", "angle", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "cbrt", "ceil", "clip", "conj", "copysign", "cos", "cosh", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1",
    "floor", "floordiv", "fmax", "fmin", "fmod", "gamma", "heaviside", "hypot", "i0", "i0e", "i1", "i1e", "imag", "invert", "isfinite",
    "isinf", "isnan", "left_shift", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "ndtri", "nextafter", "philox", "philox_bits", "philox_bits_array", "philox_normal",
    "philox_normal_array", "philox_uniform", "philox_uniform_array", "philox_words", "polygamma", "pow", "pow_below_1024", "pow_below_128",
    "pow_below_16", "real", "reciprocal",
    "right_shift", "rint", "round_", "select", "sigmoid", "sign", "signbit", "sin", "sinc", "sinc_derivative", "sinh", "softplus", "sqrt",
    "square", "strong_mul", "tan", "tanh", "trigamma", "trunc", "where",
]  # fmt: skip

Python = Callable[..., Any]
where = select


def _float_of(kind: Any) -> Any:
    """The float dtype that NumPy computes with for this argument (integers: float64)."""
    return np.float32 if kind == types.float32 else np.float64


def _vector(name: str, python: Python, complex_native: Any = None) -> Python:
    """A function of one number that `vector_math` has for real ones."""

    def function(x: Any) -> Any:
        return python(x)

    function.__name__ = function.__qualname__ = name
    written(function, name)
    if complex_native is not None:

        @implements(function)
        def typer(x: Any) -> Any:
            kind = np.complex64 if x == types.complex64 else np.complex128
            return (lambda x: kind(complex_native(x))) if is_complex(x) else None

    return function


def _vector_of_two(name: str, python: Python) -> Python:
    """A function of two real numbers that `vector_math` has."""

    def function(x: Any, y: Any) -> Any:
        return python(x, y)

    function.__name__ = function.__qualname__ = name
    written(function, name)
    return function


def _sigmoid(x: Any) -> Any:
    if isinstance(x, np.complexfloating):
        return 1 / (1 + np.exp(-x))
    a = x if isinstance(x, np.floating) else np.float64(x)
    e = np.exp(-np.abs(a))
    return (e if a < 0 else type(e)(1)) / (1 + e)


def _complex_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.complex128(x)))


def _complex_log(x: Any) -> Any:
    a, b = abs(np.float64(x.real)), abs(np.float64(x.imag))
    high, low = max(a, b), min(a, b)
    size = math.hypot(a, b)
    # Near the unit circle the logarithm of the size would lose all its digits.
    length = 0.5 * math.log1p((high - 1.0) * (high + 1.0) + low * low) if 0.5 < size < 2.0 else np.log(size)
    return complex(length, math.atan2(x.imag, x.real))


def _complex_log1p(x: Any) -> Any:
    a, b = np.float64(x.real), np.float64(x.imag)
    length = 0.5 * math.log1p(a * (2.0 + a) + b * b) if abs(a) < 0.5 and abs(b) < 0.5 else np.log(math.hypot(1.0 + a, b))
    return complex(length, math.atan2(b, 1.0 + a))


def _complex_expm1(x: Any) -> Any:
    a, b = np.float64(x.real), np.float64(x.imag)
    half = math.sin(0.5 * b)
    return complex(math.expm1(a) * math.cos(b) - 2.0 * half * half, math.exp(a) * math.sin(b))


def _as_written(function: Python) -> None:
    """The Python body is also the native one."""
    implements(function, inline=False)(lambda x: function)


for _helper in (_complex_sigmoid, _complex_log, _complex_log1p, _complex_expm1):
    _as_written(_helper)


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, type(x)(0)) if isinstance(x, np.floating) else np.logaddexp(x, 0.0)


exp = _vector("exp", np.exp, np.exp)
expm1 = _vector("expm1", np.expm1, _complex_expm1)
exp2 = _vector("exp2", np.exp2, np.exp2)
log = _vector("log", np.log, _complex_log)
log1p = _vector("log1p", np.log1p, _complex_log1p)
log2 = _vector("log2", np.log2, np.log2)
log10 = _vector("log10", np.log10, np.log10)
sqrt = _vector("sqrt", np.sqrt, np.sqrt)
sin = _vector("sin", np.sin, np.sin)
cos = _vector("cos", np.cos, np.cos)
tan = _vector("tan", np.tan, np.tan)
asin = _vector("asin", np.arcsin, np.arcsin)
acos = _vector("acos", np.arccos, np.arccos)
atan = _vector("atan", np.arctan, np.arctan)
sinh = _vector("sinh", np.sinh, np.sinh)
cosh = _vector("cosh", np.cosh, np.cosh)
tanh = _vector("tanh", np.tanh, np.tanh)
asinh = _vector("asinh", np.arcsinh, np.arcsinh)
acosh = _vector("acosh", np.arccosh, np.arccosh)
atanh = _vector("atanh", np.arctanh, np.arctanh)
sigmoid = _vector("sigmoid", _sigmoid, _complex_sigmoid)
cbrt = _vector("cbrt", np.cbrt)
softplus = _vector("softplus", _softplus)


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
    return lambda x: t(one / x)


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
            return kind(0) if size == 0 else kind(complex(x.real / size, x.imag / size))

        return of_complex
    t = scalar_type(x)
    zero, one = t(0), t(1)
    if (is_integer(x) and not x.signed) or is_bool(x):
        return lambda x: select(x > zero, one, zero)
    minus = t(-1)
    return lambda x: select(x > zero, one, select(x < zero, minus, select(x == zero, zero, x)))


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


atan2 = _vector_of_two("atan2", np.arctan2)
hypot = _vector_of_two("hypot", np.hypot)
logaddexp = _vector_of_two("logaddexp", np.logaddexp)
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
        return python(x, y)

    function.__name__ = function.__qualname__ = name

    @implements(function)
    def typer(x: Any, y: Any) -> Any:
        if is_complex(x) or is_complex(y):
            return _complex_extreme(above, keep_nan)
        if not (is_float(x) or is_float(y)):
            return (lambda x, y: select(x >= y, x, y)) if above else (lambda x, y: select(x <= y, x, y))
        if keep_nan:
            return (lambda x, y: select((x >= y) | (x != x), x, y)) if above else (lambda x, y: select((x <= y) | (x != x), x, y))
        return (lambda x, y: select((x >= y) | (y != y), x, y)) if above else (lambda x, y: select((x <= y) | (y != y), x, y))

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
    pi, zero, one = t(np.pi), t(0), t(1)

    def body(x: Any) -> Any:
        a = pi * t(x)
        return select(a == zero, one, sin(a) / a)

    return body


def sinc_derivative(x: Any, n: Any) -> Any:
    """The n-th derivative of sin(t)/t at t = pi*x, for a fixed n."""
    value = _sinc_derivative(np.float64(x), n)
    return np.float32(value) if isinstance(x, np.float32) else value


def _sinc_derivative(x: Any, n: Any) -> Any:
    t = np.pi * x
    if abs(t) < n + 3:
        # The power series, where the recurrence would cancel.
        first = (n + 1) // 2
        term = (t if n % 2 else 1.0) * (-1.0 if first % 2 else 1.0) / (2 * first + 1)
        total = term
        for m in range(first, first + 2 * n + 20):
            term = term * (-(t * t) * (2 * m + 1)) / ((2 * m + 3) * (2 * m + 1 - n) * (2 * m + 2 - n))
            total += term
        return total
    # t s(k) + k s(k-1) = sin(t + k pi/2)
    value = np.sin(t) / t
    for k in range(1, n + 1):
        value = (np.sin(t + k * (np.pi / 2)) - k * value) / t
    return value


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
