"""Struve's functions, with SciPy's names. Their derivatives by the argument are functions of
neighbouring orders (DLMF 11.4.27 to 11.4.30)."""

from __future__ import annotations

import math
from typing import Any

from ...ir.dispatch import bind
from ...ir.op import Op
from ..elementwise.arithmetic import sub
from ..elementwise.derived import add, mul
from ..elementwise.powers import power
from .family import scipys
from .series import rgamma


def _driven(v: Any, x: Any) -> Any:
    """What the equation has on its right side: (x / 2)**v / (sqrt(pi) gamma(v + 3/2))."""
    return mul(power(mul(x, 0.5), v), mul(rgamma(add(v, 1.5)), 1 / math.sqrt(math.pi)))


struve_op: Op = scipys(
    "struve",
    ("v", "x"),
    (
        None,
        lambda v, x: mul(
            add(sub(struve(sub(v, 1.0), x), struve(add(v, 1.0), x)), _driven(v, x)), 0.5
        ),
    ),
    "Struve's function.",
)
modstruve_op: Op = scipys(
    "modstruve",
    ("v", "x"),
    (
        None,
        lambda v, x: mul(
            add(add(modstruve(sub(v, 1.0), x), modstruve(add(v, 1.0), x)), _driven(v, x)), 0.5
        ),
    ),
    "Struve's modified function.",
)


def struve(v: Any, x: Any) -> Any:
    """Struve's function of real order v; no derivative by v. That by x: DLMF 11.4.27 and 28.

    >>> import tracegrad as tg
    >>> round(float(tg.special.struve(0.0, 1.0)), 6)
    0.568657
    """
    return bind(struve_op, [v, x])


def modstruve(v: Any, x: Any) -> Any:
    """Struve's modified function of real order v; no derivative by v. That by x: DLMF 11.4.29
    and 30.

    >>> import tracegrad as tg
    >>> round(float(tg.special.modstruve(0.0, 1.0)), 6)
    0.710243
    """
    return bind(modstruve_op, [v, x])


OPS = (struve_op, modstruve_op)
__all__ = ["modstruve", "struve"]
