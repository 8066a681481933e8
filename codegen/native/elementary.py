"""Elementary functions without branches, so that loops over them vectorise: exp, expm1, log, log1p, tanh, sigmoid, softplus.

Each is reduced to a short interval, evaluated there by a polynomial in fused multiply-adds, and put together by the
exponent's bits; special values are selected at the end. The polynomials are minimax fits. No fast-math flag is set
anywhere: reassociation would destroy the reductions. One text serves both precisions, with the constants of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable

from .bridge import JIT_OPTIONS
from .support import bits, copysign_float, fabs_float, fma, from_bits, select


@dataclass(frozen=True)
class Format:
    """The constants of one floating-point format."""

    real: Any
    integer: Any
    mantissa: int
    bias: int
    magic: float
    """1.5 * 2**mantissa: adding it to a small float leaves the nearest integer in the low bits."""
    highest: float
    lowest: float
    """exp overflows above `highest` and is 0 below `lowest`."""
    exp: tuple[float, ...]
    log: tuple[float, ...]
    short: tuple[float, float]
    """log(2) in two parts, the first with so few bits that an exponent times it is exact."""


DOUBLE = Format(
    np.float64, np.int64, 52, 1023, 6755399441055744.0, 709.782712893384, -745.1332191019412,
    exp=(0.5, 0.16666666666666685, 0.04166666666666673, 0.00833333333331662, 0.0013888888888858209, 0.00019841269897361157,
         2.480158737409155e-05, 2.7557233930214123e-06, 2.7557233107306724e-07, 2.5112348210513994e-08, 2.0927013137492448e-09),
    log=(0.6666666666666735, 0.399999999994113, 0.28571428743223065, 0.22222198479599417, 0.18183569569516417,
         0.1531390725096072, 0.14797470532639503),
    short=(0.6931471805598903, 5.497923018708371e-14),
)  # fmt: skip
SINGLE = Format(
    np.float32, np.int32, 23, 127, 12582912.0, 88.72283, -103.97208,
    exp=(0.5, 0.1666666716337204, 0.041666269302368164, 0.008333263918757439, 0.0013946176040917635, 0.00019918559701181948),
    log=(0.6666666269302368, 0.4000033736228943, 0.28537240624427795, 0.23583540320396423),
    short=(0.693145751953125, 1.428606765330187e-06),
)  # fmt: skip

Unary = Callable[[Any], Any]
_inlined = register_jitable(**JIT_OPTIONS)


def _horner(coefficients: tuple[Any, ...]) -> Unary:
    """The polynomial as one expression per degree; the source is generated because Numba unrolls no loop over a closure's tuple."""
    names = {f"c{k}": c for k, c in enumerate(coefficients)}
    text = f"c{len(coefficients) - 1}"
    for k in range(len(coefficients) - 2, -1, -1):
        text = f"fma({text}, x, c{k})"
    scope: dict[str, Any] = {"fma": fma, **names}
    exec(f"def polynomial(x):\n    return {text}\n", scope)
    function: Unary = _inlined(scope["polynomial"])
    return function


def build(f: Format) -> dict[str, Unary]:
    """The functions of one format."""
    real, integer = f.real, f.integer
    zero, one, half, two = real(0), real(1), real(0.5), real(2)
    infinity, nan = real(np.inf), real(np.nan)
    per_ln2, ln2, magic = real(1 / np.log(2)), real(np.log(np.longdouble(2))), real(f.magic)
    ln2_rest = real(np.log(np.longdouble(2)) - np.longdouble(ln2))
    short, short_rest = real(f.short[0]), real(f.short[1])
    highest, lowest = real(f.highest), real(f.lowest)
    shift, bias, one_bit = integer(f.mantissa), integer(f.bias), integer(1)
    magic_bits, root_bits = magic.view(integer), real(np.sqrt(0.5)).view(integer)
    normal, up, up_exponent = real(np.finfo(real).tiny), real(2.0 ** (f.mantissa + 2)), real(f.mantissa + 2)
    exp_tail = _horner(tuple(real(c) for c in f.exp))
    log_tail = _horner(tuple(real(c) for c in f.log))
    floor_expm1, tiny = real(-(f.mantissa + 8) * 0.6931471805599453), real(2.0 ** -(f.mantissa + 2))

    @_inlined
    def power_of_two(n: Any) -> Any:
        return from_bits(integer(integer(n + bias) << shift))

    @_inlined
    def exp(x: Any) -> Any:
        t = fma(x, per_ln2, magic)
        k = t - magic
        n = integer(bits(t) - magic_bits)
        r = fma(-k, ln2_rest, fma(-k, ln2, x))
        y = fma(r * r, exp_tail(r), r) + one
        # In two factors, since 2**n alone may be out of range where the result is not.
        n1 = integer(n >> one_bit)
        y = y * power_of_two(n1) * power_of_two(integer(n - n1))
        return select(x > highest, infinity, select(x < lowest, zero, y))

    @_inlined
    def expm1(x: Any) -> Any:
        c = select(x < floor_expm1, floor_expm1, x)
        t = fma(c, per_ln2, magic)
        k = t - magic
        n = integer(bits(t) - magic_bits)
        r = fma(-k, ln2_rest, fma(-k, ln2, c))
        y = fma(r * r, exp_tail(r), r)
        s = power_of_two(integer(n - one_bit))
        y = fma(y, s, s - half) * two
        return select(x > highest, infinity, select(fabs_float(x) < tiny, x, y))

    @_inlined
    def log(x: Any) -> Any:
        small = x < normal
        b = bits(select(small, x * up, x))
        n = integer(integer(b - root_bits) >> shift)
        k = from_bits(integer(n + magic_bits)) - magic - select(small, up_exponent, zero)
        g = from_bits(integer(b - integer(n << shift))) - one
        s = g / (two + g)
        z = s * s
        h = half * g * g
        y = k * short - ((h - fma(s, h + z * log_tail(z), k * short_rest)) - g)
        y = select(x < infinity, y, x)
        return select(x == zero, -infinity, select(x < zero, nan, y))

    @_inlined
    def log1p(x: Any) -> Any:
        u = one + x
        v = u - one
        lost = ((one - (u - v)) + (x - v)) / u
        b = bits(u)
        n = integer(integer(b - root_bits) >> shift)
        k = from_bits(integer(n + magic_bits)) - magic
        g = from_bits(integer(b - integer(n << shift))) - one
        s = g / (two + g)
        z = s * s
        h = half * g * g
        y = k * short - ((h - (fma(s, h + z * log_tail(z), k * short_rest) + lost)) - g)
        y = select(x < infinity, y, x)
        y = select(fabs_float(x) < tiny, x, y)
        return select(x == -one, -infinity, select(x < -one, nan, y))

    @_inlined
    def tanh(x: Any) -> Any:
        e = expm1(-two * fabs_float(x))
        return copysign_float(-e / (two + e), x)

    @_inlined
    def sigmoid(x: Any) -> Any:
        e = exp(-fabs_float(x))
        return select(x < zero, e, one) / (one + e)

    @_inlined
    def softplus(x: Any) -> Any:
        return select(x > zero, x, select(x <= zero, zero, x)) + log1p(exp(-fabs_float(x)))

    @_inlined
    def sinh(x: Any) -> Any:
        e = expm1(fabs_float(x))
        # exp(|x|) overflows before sinh does: halve inside where it would.
        big = exp(half * fabs_float(x))
        y = select(e < infinity, half * (e + e / (e + one)), half * big * big)
        return copysign_float(select(x == x, y, x), x)

    @_inlined
    def cosh(x: Any) -> Any:
        e = exp(fabs_float(x))
        big = exp(half * fabs_float(x))
        return select(e < infinity, half * (e + one / e), half * big * big)

    return {"exp": exp, "expm1": expm1, "log": log, "log1p": log1p, "tanh": tanh, "sigmoid": sigmoid, "softplus": softplus,
            "sinh": sinh, "cosh": cosh}  # fmt: skip


FUNCTIONS = {"float64": build(DOUBLE), "float32": build(SINGLE)}
