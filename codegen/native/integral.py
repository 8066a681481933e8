"""Division, remainders and powers with NumPy's meaning: floors, signs of zero, zero divisors,
wraparound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..scalars.elementary import complex_exp, complex_power
from .bridge import implements, inlined, is_bool, is_complex, is_float, is_integer
from .math.vector_math import written
from .support import copysign_float, floor_float, unify

Body = Callable[[Any, Any], Any]


def floordiv(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y)


def mod(x: Any, y: Any) -> Any:
    return np.remainder(x, y)


def fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def pow(x: Any, y: Any) -> Any:
    """Power; an integer to a negative integer power is 0 (eager execution refuses it)."""
    if np.result_type(x, y).kind in "iu" and y < 0:
        return np.result_type(x, y).type(0)
    return np.power(x, y)


def left_shift(x: Any, y: Any) -> Any:
    return np.left_shift(x, y)


def right_shift(x: Any, y: Any) -> Any:
    return np.right_shift(x, y)


def _scalar_type(kind: Any) -> Any:
    return numpy_support.as_dtype(kind).type


def _floordiv_int(t: Any, signed: bool) -> Body:
    zero, minus = t(0), t(-1) if signed else t(1)
    if signed:

        def body(x: Any, y: Any) -> Any:
            a, b = t(x), t(y)
            if b == zero:
                return zero
            if b == minus:
                return t(-a)
            return t(a // b)

        return body

    def unsigned(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        return zero if b == zero else t(a // b)

    return unsigned


def _mod_int(t: Any, signed: bool) -> Body:
    zero, minus = t(0), t(-1) if signed else t(0)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        # The quotient of the lowest integer and -1 does not fit and traps.
        if b == zero or b == minus:  # noqa: SIM109  (Numba would build a tuple)
            return zero
        return t(a % b)

    return body


def _fmod_int(t: Any, signed: bool) -> Body:
    zero, minus = t(0), t(-1) if signed else t(0)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        if b == zero or b == minus:  # noqa: SIM109  (Numba would build a tuple)
            return zero
        r = t(a % b)
        if r != zero and (a < zero) != (b < zero):
            r = t(r - b)
        return r

    return body


def _floordiv_float(t: Any) -> Body:
    zero, one, half = t(0), t(1), t(0.5)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        if b == zero:
            return a / b
        m = t(np.fmod(a, b))
        d = (a - m) / b
        if m != zero and (b < zero) != (m < zero):
            d = d - one
        if d == zero:
            return copysign_float(zero, a / b)
        f = floor_float(d)
        return f + one if d - f > half else f

    return body


def _mod_float(t: Any) -> Body:
    zero = t(0)

    def body(x: Any, y: Any) -> Any:
        a, b = t(x), t(y)
        m = t(np.fmod(a, b))
        if b == zero:
            return m
        if m == zero:
            return copysign_float(zero, b)
        return m + b if (b < zero) != (m < zero) else m

    return body


def _fmod_float(t: Any) -> Body:
    def body(x: Any, y: Any) -> Any:
        return t(np.fmod(t(x), t(y)))

    return body


def _divisions(
    of_int: Callable[[Any, bool], Body], of_float: Callable[[Any], Body]
) -> Callable[[Any, Any], Body | None]:
    def typer(x: Any, y: Any) -> Body | None:
        if not all(isinstance(k, (types.Integer, types.Float, types.Boolean)) for k in (x, y)):
            return None
        kind = types.int8 if is_bool(x) and is_bool(y) else unify(x, y)
        t = _scalar_type(kind)
        return of_float(t) if is_float(kind) else of_int(t, kind.signed)

    return typer


implements(floordiv)(_divisions(_floordiv_int, _floordiv_float))
implements(mod)(_divisions(_mod_int, _mod_float))
implements(fmod)(_divisions(_fmod_int, _fmod_float))


_complex_pow = complex_power(inlined(complex_exp), np.log)
implements(_complex_pow, inline=False)(lambda x, y: _complex_pow)
written(pow, "pow", integers=False)


@implements(pow)
def _pow(x: Any, y: Any) -> Body | None:
    if not all(isinstance(k, (types.Number, types.Boolean)) for k in (x, y)):
        return None
    kind = types.int8 if is_bool(x) and is_bool(y) else unify(x, y)
    t = _scalar_type(kind)
    if is_complex(kind):
        return lambda x, y: t(_complex_pow(np.complex128(x), np.complex128(y)))
    if is_float(kind):
        return None
    zero, one = t(0), t(1)

    def of_int(x: Any, y: Any) -> Any:
        base, exponent, result = t(x), t(y), one
        if exponent < zero:
            return zero
        while exponent > zero:
            if exponent & one:
                result = t(result * base)
            base = t(base * base)
            exponent = t(exponent >> one)
        return result

    return of_int


def _shift(to_left: bool) -> Callable[[Any, Any], Body | None]:
    def typer(x: Any, y: Any) -> Body | None:
        if not (is_integer(x) or is_bool(x)) or not (is_integer(y) or is_bool(y)):
            return None
        kind = types.int8 if is_bool(x) and is_bool(y) else unify(x, y)
        t = _scalar_type(kind)
        zero, width, last = t(0), t(kind.bitwidth), t(kind.bitwidth - 1)

        def left(x: Any, y: Any) -> Any:
            a, b = t(x), t(y)
            return t(a << b) if zero <= b and b < width else zero

        def right(x: Any, y: Any) -> Any:
            a, b = t(x), t(y)
            if zero <= b and b < width:
                return t(a >> b)
            return t(a >> last) if a < zero else zero

        return left if to_left else right

    return typer


implements(left_shift)(_shift(True))
implements(right_shift)(_shift(False))
