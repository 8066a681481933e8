"""Powers, with whole exponents as products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import INT64, is_flag, promote
from ...ir.dispatch import bind
from ...ir.op import Op
from .arithmetic import equal, not_equal, where
from .derived import add, convert, mul, strong_mul, strong_mul_op
from .elementary import absolute, reciprocal_op, sqrt, square_op
from .pointwise import pointwise


def _power_by_squaring(x: Any, n: int) -> Any:
    """x to a positive integer power, multiplied as the compiled template does it, so that both
    round alike."""
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
    partials=(lambda x, *, n: 2 * x if n == 2 else n * integer_pow_op(x, n=n - 1),),
    parity=lambda x, *, n: x**n,
    doc="x to a fixed integer power of at least 2.",
)
inverse_pow_op: Op = pointwise(
    "inverse_pow",
    ("x",),
    numpy=lambda x, *, n: 1 / _power_by_squaring(x, n),
    code=lambda p: f"np.{{dtype}}(1) / ({_power_code(p['n'])})",
    of_complex=lambda p: f"complex_div(np.{{dtype}}(1), {_power_code(p['n'])})",
    partials=(lambda x, *, n: -n * inverse_pow_op(x, n=n + 1),),
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
    # Where the first term is infinite, the second is less by a logarithm, and may have the other
    # sign.
    second = mul(n, lower) if n == 1 else mul(n, power_log(x, y - 1, lower, n - 1))
    return where(equal(absolute(first), math.inf), first, add(first, second))


# With the power and its logarithm in one operation every derivative in y has its limit at x = 0: as
# a product of two, the next one would be infinity times 0.
power_log_op: Op = pointwise(
    "power_log",
    ("x", "y", "p"),
    numpy=_power_log_evaluate,
    code=lambda p: f"strong_mul({{p}}, {_power_code(p['n']).replace('{x}', 'log({x})')})",
    result="promote",
    domain="singular",
    cost=20,
    partials=(_power_log_by_base, lambda x, y, p, *, n: power_log(x, y, p, n + 1), None),
    doc=(
        "p * log(x)**n for p = x**y, the n-th derivative of the power by y: 0 where p is 0. "
        "The derivatives are those of x and y; p is known from them."
    ),
)


def power_log(x: Any, y: Any, p: Any, n: int) -> Any:
    """The n-th derivative of `p = x**y` by y."""
    return power_log_op(x, y, p, n=n)


pow_below_op: Op = pointwise(
    "pow_below",
    ("x", "n"),
    numpy=lambda x, n, *, limit: np.power(x, n),
    code=lambda p: f"pow_below_{p['limit']}({{x}}, {{n}})",
    result="promote",
    domain="singular",
    cost=24,
    compute=lambda x, n, *, limit: (x.type.dtype, INT64),
    partials=(lambda x, n, *, limit: strong_mul(n, power(x, n - 1)), None),
    doc=(
        "x to an integer power known to lie in 0 <= n < limit: "
        "what `pow` becomes where the exponents count upwards."
    ),
)
POWER_LIMITS = (16, 128, 1024)
"""The limits for which `pow_below` has native code."""

_UNROLLED = 16
"""Up to this integer exponent a power is unrolled into multiplications."""


def power(x: Any, y: Any) -> Any:
    """`x ** y`, of which nobody looks whether it is an integer to a negative power."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or type(y) not in (int, float):
        if (dtype is None or dtype.kind == "b") and is_flag(x) and is_flag(y):
            x = convert(x, np.int8)
        return bind(pow_op, [x, y])
    if dtype.kind in "biu":
        if type(y) is int and y < 0:
            raise ValueError(
                f"integers to the negative integer power {y} are not allowed. "
                f"Write x ** {y}.0, or use float_power."
            )
        x = convert(
            x,
            np.int8
            if dtype.kind == "b" and type(y) is int and y == 2  # as NumPy's square
            else promote(dtype, int if type(y) is int else float),
        )
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
    wide = (
        np.complex128
        if any(getattr(v, "dtype", np.dtype(type(v))).kind == "c" for v in (x, y))
        else np.float64
    )
    return power(convert(x, wide), y if isinstance(y, (int, float)) else convert(y, wide))


OPS = (integer_pow_op, inverse_pow_op, pow_op, pow_below_op, power_log_op)
