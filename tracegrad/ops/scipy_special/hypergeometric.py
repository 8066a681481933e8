"""Hypergeometric functions. Their derivatives by the argument are the same functions of parameters
that are larger by one; by the parameters there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ...ir.dispatch import bind
from ...ir.op import Op
from ..elementwise.arithmetic import div, sub
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp
from .family import scipys

LARGEST = 1e4
"""Kummer's function of larger numbers is not computed: SciPy's does not come back from some."""
OVERFLOWS = 1e5


def _hyp0f1(v: Any, z: Any) -> Any:
    # SciPy's text divides by v - 1 where the Bessel function of order v - 1 is infinite.
    one = (v == 1) & (z > OVERFLOWS)
    found = scipy.special.hyp0f1(np.where(one, v.dtype.type(2), v), z)
    return np.where(one, scipy.special.i0(2 * np.sqrt(np.where(one, z, z.dtype.type(1)))), found)


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        known = (np.abs(a) <= LARGEST) & (np.abs(b) <= LARGEST) & (np.abs(x) <= LARGEST)
    found = scipy.special.hyp1f1(*[np.where(known, y, y.dtype.type(1)) for y in (a, b, x)])
    return np.where(known, found, found.dtype.type(np.nan))


hyp0f1_op: Op = scipys(
    "hyp0f1",
    ("v", "z"),
    (None, lambda v, z: div(hyp0f1(add(v, 1.0), z), v)),
    "The confluent limit function.",
    _hyp0f1,
)
hyp1f1_op: Op = scipys(
    "hyp1f1",
    ("a", "b", "x"),
    (None, None, lambda a, b, x: mul(div(a, b), hyp1f1(add(a, 1.0), add(b, 1.0), x))),
    "Kummer's function.",
    _hyp1f1,
)
hyp2f1_op: Op = scipys(
    "hyp2f1",
    ("a", "b", "c", "x"),
    (
        None,
        None,
        None,
        lambda a, b, c, x: mul(div(mul(a, b), c), hyp2f1(add(a, 1.0), add(b, 1.0), add(c, 1.0), x)),
    ),
    "Gauss' hypergeometric function.",
)
wright_op: Op = scipys(
    "wright_bessel",
    ("a", "b", "x"),
    (None, None, lambda a, b, x: wright_bessel(a, add(a, b), x)),
    "Wright's generalized Bessel function.",
)
log_wright_op: Op = scipys(
    "log_wright_bessel",
    ("a", "b", "x"),
    (None, None, lambda a, b, x, out: exp(sub(log_wright_bessel(a, add(a, b), x), out))),
    "The logarithm of Wright's generalized Bessel function.",
)


def hyp0f1(v: Any, z: Any) -> Any:
    """The confluent limit function 0F1(; v; z) of real numbers, in SciPy's accuracy; no derivative
    by v. Of v = 1 and z > 1.2e5 it is right, where SciPy 1.17 gives 0.

    >>> import tracegrad as tg
    >>> round(float(tg.special.hyp0f1(1.5, -1.0)), 6)
    0.454649
    """
    return bind(hyp0f1_op, [v, z])


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function 1F1(a; b; x) of real numbers, in SciPy's accuracy; no derivative by a and
    b. NaN where a, b or x is larger than 1e4 in size.

    >>> import tracegrad as tg
    >>> round(float(tg.special.hyp1f1(1.0, 2.0, 1.0)), 6)
    1.718282
    """
    return bind(hyp1f1_op, [a, b, x])


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss' hypergeometric function 2F1(a, b; c; x) in SciPy's accuracy; no derivative by a, b and
    c.

    >>> import tracegrad as tg
    >>> round(float(tg.special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 6)
    1.386294
    """
    return bind(hyp2f1_op, [a, b, c, x])


def wright_bessel(a: Any, b: Any, x: Any) -> Any:
    """Wright's generalized Bessel function, the sum of `x**k / (k! * gamma(a * k + b))`, of numbers
    from 0 on (NaN outside); no derivative by a and b.

    >>> import tracegrad as tg
    >>> round(float(tg.special.wright_bessel(0.0, 1.0, 1.0)), 6)
    2.718282
    """
    return bind(wright_op, [a, b, x])


def log_wright_bessel(a: Any, b: Any, x: Any) -> Any:
    """The logarithm of `wright_bessel(a, b, x)`.

    >>> import tracegrad as tg
    >>> round(float(tg.special.log_wright_bessel(0.0, 1.0, 1.0)), 6)
    1.0
    """
    return bind(log_wright_op, [a, b, x])


OPS = (hyp0f1_op, hyp1f1_op, hyp2f1_op, wright_op, log_wright_op)
__all__ = ["hyp0f1", "hyp1f1", "hyp2f1", "log_wright_bessel", "wright_bessel"]
