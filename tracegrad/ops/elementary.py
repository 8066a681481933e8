"""Exponentials, logarithms, powers and roots, absolute value and sign."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..dtypes import INT64, is_flag, promote
from ..ir.dispatch import bind
from ..ir.op import Op, elementwise, even, odd
from .arithmetic import add, conj, convert, equal, mul, not_equal, real, strong_mul, strong_mul_op, where
from .pointwise import pointwise

LN2, LN10 = math.log(2.0), math.log(10.0)

exp_op = pointwise("exp", ("x",), numpy=np.exp, code="exp({x})", partials=(lambda out: out,), cost=10, doc="e to the power x.")
expm1_op = pointwise(
    "expm1", ("x",), numpy=np.expm1, code="expm1({x})", partials=(lambda x: exp(x),), cost=10, doc="exp(x) - 1, accurate near 0."
)
exp2_op = pointwise("exp2", ("x",), numpy=np.exp2, code="exp2({x})", partials=(lambda out: out * LN2,), cost=10, doc="2 to the power x.")
log_op = pointwise(
    "log", ("x",), numpy=np.log, code="log({x})", partials=(lambda x: 1 / x,), domain="singular", cost=15, doc="Natural logarithm."
)
log1p_op = pointwise(
    "log1p",
    ("x",),
    numpy=np.log1p,
    code="log1p({x})",
    partials=(lambda x: 1 / (1 + x),),
    domain="singular",
    cost=17,
    doc="log(1 + x), accurate near 0.",
)
log2_op = pointwise(
    "log2",
    ("x",),
    numpy=np.log2,
    code="log2({x})",
    partials=(lambda x: 1 / (x * LN2),),
    domain="singular",
    cost=20,
    doc="Logarithm to base 2.",
)
log10_op = pointwise(
    "log10",
    ("x",),
    numpy=np.log10,
    code="log10({x})",
    partials=(lambda x: 1 / (x * LN10),),
    domain="singular",
    cost=22,
    doc="Logarithm to base 10.",
)
sqrt_op = pointwise(
    "sqrt", ("x",), numpy=np.sqrt, code="sqrt({x})", partials=(lambda out: 0.5 / out,), domain="singular", cost=5, doc="Square root."
)
cbrt_op = pointwise(
    "cbrt",
    ("x",),
    numpy=np.cbrt,
    code="cbrt({x})",
    partials=(lambda out: 1 / (3 * (out * out)),),
    domain="singular",
    cost=22,
    kinds="biuf",
    parity=odd,
    doc="Cube root, negative for negative x.",
)
square_op = pointwise(
    "square",
    ("x",),
    numpy=np.square,
    kinds="iufc",
    code="square({x})",
    partials=(lambda x: 2 * x,),
    result="promote",
    parity=even,
    doc="x times x.",
)
reciprocal_op = pointwise(
    "reciprocal",
    ("x",),
    numpy=np.reciprocal,
    code="np.{dtype}(1) / {x}",
    partials=(lambda out: -(out * out),),
    result="promote",
    domain="singular",
    cost=4,
    kinds="fc",
    doc="1 / x.",
)
abs_op = pointwise(
    "abs",
    ("x",),
    numpy=np.absolute,
    code="abs_({x})",
    partials=(lambda x: conj(sign(x)),),
    result="real",
    parity=even,
    doc="Absolute value; of a complex number its modulus. The derivative at 0 is 0.",
)
sign_op = pointwise(
    "sign",
    ("x",),
    numpy=np.sign,
    code="sign({x})",
    partials=(0,),
    result="promote",
    kinds="iuf",
    parity=odd,
    doc="-1, 0 or 1 by the sign of x.",
)


def _sgn_differential(d: Any, x: Any, out: Any) -> Any:
    # The part of d that turns x, without the part that stretches it. This map is symmetric, so it is its own adjoint.
    zero = equal(x, 0)
    modulus = absolute(where(zero, 1, x))
    return where(zero, 0, (d - out * real(conj(out) * d)) / modulus)


sgn_op = pointwise(
    "sgn",
    ("x",),
    numpy=np.sign,
    code="sign({x})",
    partials=(_sgn_differential,),
    result="promote",
    cost=8,
    parity=odd,
    doc="x / |x| of a complex number; 0 at 0.",
)


# --- powers --------------------------------------------------------------------------------------------------------------------


def _power_by_squaring(x: Any, n: int) -> Any:
    """x to a positive integer power, multiplied as the compiled template does it, so that both round alike."""
    half = x if n < 4 else _power_by_squaring(x, n // 2)
    if n > 1:
        half = np.square(half)
    return half if n % 2 == 0 or n == 1 else half * x


def _power_code(n: int) -> str:
    if n == 1:
        return "{x}"
    squared = f"square({_power_code(n // 2)})"
    return squared if n % 2 == 0 else f"{squared} * {{x}}"


integer_pow_op: Op = pointwise(
    "integer_pow",
    ("x",),
    numpy=lambda x, *, n: _power_by_squaring(x, n),
    code=lambda p: _power_code(p["n"]),
    result="promote",
    cost=2,
    kinds="iufc",
    partials=(lambda x, *, n: 2 * x if n == 2 else n * bind(integer_pow_op, [x], {"n": n - 1}),),
    parity=lambda x, *, n: x**n,
    doc="x to a fixed integer power of at least 2.",
)
inverse_pow_op: Op = pointwise(
    "inverse_pow",
    ("x",),
    numpy=lambda x, *, n: 1 / _power_by_squaring(x, n),
    code=lambda p: f"np.{{dtype}}(1) / ({_power_code(p['n'])})",
    partials=(lambda x, *, n: -n * bind(inverse_pow_op, [x], {"n": n + 1}),),
    result="float",
    domain="singular",
    cost=6,
    parity=lambda x, *, n: 1 if x == 1 or n % 2 == 0 else None,
    doc="1 / x**n for a fixed positive integer n.",
)
pow_op = pointwise(
    "pow",
    ("x", "y"),
    numpy=np.power,
    code="pow({x}, {y})",
    result="promote",
    domain="singular",
    cost=75,
    partials=(
        # Strong products keep 0 * 0**-1 at zero, and still have the right derivative in y there.
        # The number 0 as exponent is known to have none, and 0**-1 would warn.
        lambda x, y: 0.0 if type(y) in (int, float) and y == 0 else strong_mul(y, power(x, y - 1)),
        # At x = y = 0 it is 0 by convention.
        lambda x, y, out: power_log(where(not_equal(y, 0), x, where(equal(x, 0), 1, x)), y, out, 1),
    ),
    doc="x to the power y.",
)


def _power_log_evaluate(x: Any, y: Any, p: Any, *, n: int) -> Any:
    base = np.asarray(x, np.result_type(x, p))
    with np.errstate(divide="ignore", invalid="ignore"):
        return strong_mul_op.evaluate(p, np.log(base) ** n)


def _power_log_by_base(x: Any, y: Any, *, n: int) -> Any:
    lower = power(x, y - 1)
    first = strong_mul(y, power_log(x, y - 1, lower, n))
    # Where the first term is infinite, the second is less by a logarithm, and may have the other sign.
    second = mul(n, lower) if n == 1 else mul(n, power_log(x, y - 1, lower, n - 1))
    return where(equal(absolute(first), math.inf), first, add(first, second))


# With the power and its logarithm in one operation every derivative in y has its limit at x = 0: as a product of two, the next
# one would be infinity times 0.
power_log_op: Op = pointwise(
    "power_log",
    ("x", "y", "p"),
    numpy=_power_log_evaluate,
    code=lambda p: f"strong_mul({{p}}, {_power_code(p['n']).replace('{x}', 'log({x})')})",
    result="promote",
    domain="singular",
    cost=20,
    partials=(_power_log_by_base, lambda x, y, p, *, n: power_log(x, y, p, n + 1), None),
    doc="p * log(x)**n for p = x**y, the n-th derivative of the power by y: 0 where p is 0. The derivatives are those of x and y; p is known from them.",
)


def power_log(x: Any, y: Any, p: Any, n: int) -> Any:
    """The n-th derivative of `p = x**y` by y."""
    return bind(power_log_op, [x, y, p], {"n": n})


pow_below_op: Op = replace(
    pointwise(
        "pow_below",
        ("x", "n"),
        numpy=lambda x, n, *, limit: np.power(x, n),
        code=lambda p: f"pow_below_{p['limit']}({{x}}, {{n}})",
        result="promote",
        domain="singular",
        cost=24,
        partials=(lambda x, n, *, limit: strong_mul(n, power(x, n - 1)), None),
        doc="x to an integer power known to lie in 0 <= n < limit: what `pow` becomes where the exponents count upwards.",
    ),
    compute=lambda x, n, *, limit: (x.type.dtype, INT64),
)
POWER_LIMITS = (16, 128, 1024)
"""The limits for which `pow_below` has native code."""

_UNROLLED = 16
"""Up to this integer exponent a power is unrolled into multiplications."""


def power(x: Any, y: Any) -> Any:
    """`x ** y` with broadcasting; integer arrays allow no negative integer exponent (ValueError).

    A Python number as exponent is known when the function is traced, and small integers become multiplications.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.power(np.array([1.0, 2.0, 3.0]), 2)
    array([1., 4., 9.])
    """
    dtype = getattr(x, "dtype", None)
    if dtype is None or type(y) not in (int, float):
        if (dtype is None or dtype.kind == "b") and is_flag(x) and is_flag(y):
            x = convert(x, np.int8)
        return bind(pow_op, [x, y])
    if dtype.kind in "biu":
        if type(y) is int and y < 0:
            raise ValueError(f"integers to the negative integer power {y} are not allowed. Write x ** {y}.0, or use float_power.")
        x = convert(x, np.int8 if dtype.kind == "b" and type(y) is int else promote(dtype, int if type(y) is int else float))
    if y == 0.5:
        return sqrt(x)
    if math.isfinite(y) and y == int(y):
        n = int(y)
        if n == 1:
            return mul(x, 1)
        if n == 2:
            return bind(square_op, [x])
        if n == -1:
            return bind(reciprocal_op, [x])
        if 2 < n <= _UNROLLED:
            return bind(integer_pow_op, [x], {"n": n})
        if -_UNROLLED <= n < 0:
            return bind(inverse_pow_op, [x], {"n": -n})
    return bind(pow_op, [x, y])


def float_power(x: Any, y: Any) -> Any:
    """`x ** y` in float64 (complex128) at least, so that integers have negative powers.

    >>> import tracegrad as tg
    >>> float(tg.float_power(2, -1))
    0.5
    """
    wide = np.complex128 if any(getattr(v, "dtype", np.dtype(type(v))).kind == "c" for v in (x, y)) else np.float64
    return power(convert(x, wide), y if isinstance(y, (int, float)) else convert(y, wide))


def square(x: Any) -> Any:
    """`x * x`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.square(np.array([-2.0, 3.0]))
    array([4., 9.])
    """
    return bind(square_op, [convert(x, np.int8) if getattr(x, "dtype", None) == np.bool_ else x])


def reciprocal(x: Any) -> Any:
    """`1 / x`; of integers rounded towards zero, as in NumPy.

    >>> import tracegrad as tg
    >>> float(tg.reciprocal(4.0))
    0.25
    """
    if isinstance(x, int) or (hasattr(x, "dtype") and x.dtype.kind in "iu"):
        return where(equal(mul(x, x), 1), x, 0)
    return bind(reciprocal_op, [x])


def sqrt(x: Any) -> Any:
    """Square root; NaN for negative numbers. The derivative at 0 is infinite, but a zero cotangent stays zero.

    >>> import tracegrad as tg
    >>> float(tg.sqrt(9.0))
    3.0
    """
    return bind(sqrt_op, [x])


def cbrt(x: Any) -> Any:
    """Real cube root.

    >>> import tracegrad as tg
    >>> round(float(tg.cbrt(-8.0)), 12)
    -2.0
    """
    return bind(cbrt_op, [x])


# --- exponentials and logarithms -----------------------------------------------------------------------------------------------


def exp(x: Any) -> Any:
    """e to the power `x`.

    >>> import tracegrad as tg
    >>> float(tg.exp(0.0))
    1.0
    """
    return bind(exp_op, [x])


def expm1(x: Any) -> Any:
    """`exp(x) - 1`, accurate for small `x`.

    >>> import tracegrad as tg
    >>> float(tg.expm1(1e-20))
    1e-20
    """
    return bind(expm1_op, [x])


def exp2(x: Any) -> Any:
    """2 to the power `x`.

    >>> import tracegrad as tg
    >>> float(tg.exp2(3.0))
    8.0
    """
    return bind(exp2_op, [x])


def log(x: Any) -> Any:
    """Natural logarithm; -inf at 0, NaN for negative real numbers.

    >>> import tracegrad as tg
    >>> float(tg.log(1.0))
    0.0
    """
    return bind(log_op, [x])


def log1p(x: Any) -> Any:
    """`log(1 + x)`, accurate for small `x`.

    >>> import tracegrad as tg
    >>> float(tg.log1p(1e-20))
    1e-20
    """
    return bind(log1p_op, [x])


def log2(x: Any) -> Any:
    """Logarithm to base 2.

    >>> import tracegrad as tg
    >>> float(tg.log2(8.0))
    3.0
    """
    return bind(log2_op, [x])


def log10(x: Any) -> Any:
    """Logarithm to base 10.

    >>> import tracegrad as tg
    >>> float(tg.log10(1000.0))
    3.0
    """
    return bind(log10_op, [x])


# --- absolute value and sign ---------------------------------------------------------------------------------------------------


def absolute(x: Any) -> Any:
    """Absolute value (a real array also for complex `x`); its derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> float(tg.absolute(-2.5))
    2.5
    """
    return bind(abs_op, [x])


def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers `x / |x|`. Booleans have none (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.sign(-2.5))
    -1.0
    """
    is_complex = x.dtype.kind == "c" if hasattr(x, "dtype") else isinstance(x, complex)
    return bind(sgn_op if is_complex else sign_op, [x])


def _copied(x: Any) -> Any:
    return np.array(x) if np.asarray(x).dtype.kind == "b" else np.positive(x)


identity_op = elementwise("identity", ("x",), numpy=_copied, code="{x}", partials=(1,), result="promote", parity=odd, doc="The same value.")
object.__setattr__(identity_op, "on_reals", np.positive)


def positive(x: Any) -> Any:
    """`+x`: the same values in a new array.

    >>> import tracegrad as tg
    >>> float(tg.positive(2.0))
    2.0
    """
    return bind(identity_op, [x])


abs, fabs, pow = absolute, absolute, power

PLAIN = {
    sqrt: sqrt_op,
    cbrt: cbrt_op,
    exp: exp_op,
    expm1: expm1_op,
    exp2: exp2_op,
    log: log_op,
    log1p: log1p_op,
    log2: log2_op,
    log10: log10_op,
    positive: identity_op,
}
"""Functions that do nothing but apply their operation."""

OPS = (
    exp_op,
    expm1_op,
    exp2_op,
    log_op,
    log1p_op,
    log2_op,
    log10_op,
    sqrt_op,
    cbrt_op,
    square_op,
    reciprocal_op,
    abs_op,
    sign_op,
    sgn_op,
    integer_pow_op,
    inverse_pow_op,
    pow_op,
    pow_below_op,
    power_log_op,
    identity_op,
)
