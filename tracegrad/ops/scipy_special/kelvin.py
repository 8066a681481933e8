"""Kelvin's functions of real numbers, with SciPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op, even, odd
from ..elementwise.arithmetic import complex_, div, less, neg, sub, where
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, square
from .family import scipys

Unary = Callable[[Any], Any]
TERMS = 7
NEAR = 1.0
"""Up to here quotients by x are power series."""


# y = ber + 1j bei and y = ker + 1j kei solve y'' = 1j y - y' / x (DLMF 10.61.3).


def _quotient(x: Any, over: Any, factors: list[float]) -> Any:
    """`over / x`, near 0 by its series in (x / 2)**4 (DLMF 10.65.1), which has all derivatives."""
    near = less(absolute(x), NEAR)
    small = where(near, x, 0.0)
    half = square(mul(small, 0.5))
    fourth, series = square(half), factors[-1]
    for factor in reversed(factors[:-1]):
        series = add(mul(fourth, series), factor)
    if factors is BER:
        series = mul(half, series)
    return where(near, series, div(over, where(near, 1.0, x)))


def _factor(count: int) -> float:
    return float(math.factorial(count)) ** -2


BER = [(-1) ** k * k * _factor(2 * k) for k in range(1, TERMS + 1)]
BEI = [(-1) ** k * (2 * k + 1) / 2 * _factor(2 * k + 1) for k in range(TERMS)]

ber_op: Op = scipys("ber", ("x",), (lambda x: berp(x),), "Kelvin's function ber.", parity=even)
bei_op: Op = scipys("bei", ("x",), (lambda x: beip(x),), "Kelvin's function bei.", parity=even)
berp_op: Op = scipys(
    "berp",
    ("x",),
    (lambda x, out: neg(add(bei(x), _quotient(x, out, BER))),),
    "The derivative of ber.",
    parity=odd,
)
beip_op: Op = scipys(
    "beip",
    ("x",),
    (lambda x, out: sub(ber(x), _quotient(x, out, BEI)),),
    "The derivative of bei.",
    parity=odd,
)
ker_op: Op = scipys("ker", ("x",), (lambda x: kerp(x),), "Kelvin's function ker.")
kei_op: Op = scipys("kei", ("x",), (lambda x: keip(x),), "Kelvin's function kei.")
kerp_op: Op = scipys(
    "kerp", ("x",), (lambda x, out: neg(add(kei(x), div(out, x))),), "The derivative of ker."
)
keip_op: Op = scipys(
    "keip", ("x",), (lambda x, out: sub(ker(x), div(out, x)),), "The derivative of kei."
)


def _function(op: Op, what: str, example: str) -> Unary:
    def function(x: Any) -> Any:
        return bind(op, [x])

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"""{what} of a real number.

    >>> import tracegrad as tg
    >>> round(float(tg.special.{op.name}(1.0)), 6)
    {example}
    """
    return function


ber: Unary = _function(ber_op, "Kelvin's function ber", "0.984382")
bei: Unary = _function(bei_op, "Kelvin's function bei", "0.249566")
ker: Unary = _function(ker_op, "Kelvin's function ker (NaN below 0)", "0.286706")
kei: Unary = _function(kei_op, "Kelvin's function kei (NaN below 0)", "-0.494995")
berp: Unary = _function(berp_op, "The derivative of `ber`", "-0.062446")
beip: Unary = _function(beip_op, "The derivative of `bei`", "0.497397")
kerp: Unary = _function(kerp_op, "The derivative of `ker` (NaN below 0)", "-0.694604")
keip: Unary = _function(keip_op, "The derivative of `kei` (NaN below 0)", "0.35237")


def kelvin(x: Any) -> tuple[Any, Any, Any, Any]:
    """`ber + 1j * bei`, `ker + 1j * kei`, and the derivatives of both, of real numbers.

    >>> import tracegrad as tg
    >>> complex(tg.special.kelvin(1.0)[0]).real.__round__(6)
    0.984382
    """
    return (
        complex_(ber(x), bei(x)),
        complex_(ker(x), kei(x)),
        complex_(berp(x), beip(x)),
        complex_(kerp(x), keip(x)),
    )


OPS = (ber_op, bei_op, berp_op, beip_op, ker_op, kei_op, kerp_op, keip_op)
__all__ = ["bei", "beip", "ber", "berp", "kei", "keip", "kelvin", "ker", "kerp"]
