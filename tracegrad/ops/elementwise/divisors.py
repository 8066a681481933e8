"""Common divisors and multiples of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dispatch import bind
from .arithmetic import equal, where
from .derived import convert, mul
from .elementary import absolute
from .pointwise import pointwise
from .remainders import floor_divide

gcd_op = pointwise(
    "gcd",
    ("x", "y"),
    numpy=np.gcd,
    code="gcd({x}, {y})",
    partials=None,
    result="promote",
    kinds="iu",
    commutes=True,
    weak=True,
    doc="The greatest common divisor.",
)


def gcd(x: Any, y: Any) -> Any:
    """The greatest common divisors of integers (DTypeError for others), 0 of two zeros.

    >>> import tracegrad as tg
    >>> int(tg.gcd(12, -18))
    6
    """
    return bind(gcd_op, [x, y])


def lcm(x: Any, y: Any) -> Any:
    """The least common multiples of integers (DTypeError for others), 0 where one is 0.

    >>> import tracegrad as tg
    >>> int(tg.lcm(4, -6))
    12
    """
    common = gcd(x, y)
    size, other = (absolute(convert(v, common.dtype)) for v in (x, y))
    return mul(floor_divide(size, where(equal(common, 0), 1, common)), other)


OPS = (gcd_op,)
APPLIED_BY = {gcd: gcd_op}
__all__ = ["gcd", "lcm"]
