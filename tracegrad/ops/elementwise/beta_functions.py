"""The beta function and its logarithm, also where gamma has poles."""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import div, equal, less, less_equal, neg, sub, where
from .comparison import floor
from .derived import add, mul
from .elementary import absolute, exp, log, log1p, square
from .logic import isinf, logical_and, logical_not, logical_or
from .remainders import remainder
from .special import gamma, lgamma
from .trigonometric import sin

INFINITE = float("inf")


def betaln(a: Any, b: Any) -> Any:
    """Logarithm of the absolute value of the beta function; real arrays only (DTypeError).

    >>> import tracegrad as tg
    >>> float(tg.betaln(1.0, 1.0))
    0.0
    """
    pole, finite, a, b, _ = _beside_poles(a, b)
    found = log_beta(a, b)
    return where(pole, where(finite, found, INFINITE), found)


def _beside_poles(a: Any, b: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Where one argument is a pole of gamma; where the beta function is finite all the same, since
    gamma of their sum has a pole, too; arguments of the same absolute value that are none; and
    where what it is has the sign -. At whole numbers the functions jump and have no derivative:
    `floor` has 0."""
    of_a, of_b = _is_pole(a), _is_pole(b)
    other = where(of_a, b, a)
    pole, whole = logical_or(of_a, of_b), equal(other, floor(other))
    mirror = sub(1.0, add(floor(a), floor(b)))
    finite = logical_and(logical_and(pole, whole), logical_and(less(0, other), less(0, mirror)))
    signed = logical_or(finite, logical_and(of_a, of_b))
    below = logical_and(signed, equal(remainder(other, 2), 1))
    first = where(finite, mirror, where(pole, 1.0, a))
    second = where(finite, floor(other), where(pole, 1.0, b))
    return pole, finite, first, second, below


def log_beta(a: Any, b: Any) -> Any:
    """`betaln` of arguments that are no poles."""
    swapped = less(absolute(a), absolute(b))
    large, small = where(swapped, b, a), where(swapped, a, b)
    total = add(large, small)
    # lgamma(large) - lgamma(large + small) would cancel: the difference of Stirling's series (DLMF
    # 5.11.1), four terms of which are all digits from 32 on.
    far = logical_and(less(32.0, large), less(32.0, total))
    start, end = where(far, large, 32.0), where(far, total, 32.0)
    step = where(far, small, 0.0)
    # (end - 1/2) log1p(step / start) is close to `step`, and is that in the limit.
    ends = isinf(start)
    known = where(ends, 32.0, start)
    bend = where(ends, step, mul(sub(where(ends, 32.0, end), 0.5), log1p(div(step, known))))
    more = add(sub(mul(step, log(start)), step), bend)
    series = add(neg(more), sub(_stirling(start), _stirling(end)))
    near = where(far, 32.0, large)
    apart = sub(lgamma(near), lgamma(where(far, 32.0, total)))
    return add(where(far, series, apart), lgamma(small))


def _stirling(x: Any) -> Any:
    """What lgamma has beyond (x - 1/2) log(x) - x + log(2 pi) / 2, of x >= 32."""
    r = div(1.0, x)
    q = square(r)
    inner = sub(1 / 1260, mul(q, 1 / 1680))
    return mul(r, sub(1 / 12, mul(q, sub(1 / 360, mul(q, inner)))))


def _gamma_sign(x: Any) -> Any:
    """The sign of gamma(x): it alternates between the negative integers."""
    return where(less(x, 0), sub(1.0, mul(remainder(floor(x), 2), 2.0)), 1.0)


def beta(a: Any, b: Any) -> Any:
    """The beta function; real arrays only (DTypeError). At whole numbers up to 0 it has the values
    that Cephes, and so SciPy, gives it.

    >>> import tracegrad as tg
    >>> round(float(tg.beta(-1.7, 1.3)), 6)
    -0.606012
    """
    pole, finite, a, b, below = _beside_poles(a, b)
    total = add(a, b)
    # There it is 0, and has a slope: gamma(a) gamma(b) / gamma(a + b) by reflection.
    zero = logical_and(_is_pole(total), logical_not(logical_or(_is_pole(a), _is_pole(b))))
    # Beyond, gamma overflows.
    zero = logical_and(zero, less(add(absolute(a), absolute(b)), 170.0))
    at, nearest = where(zero, total, 0.0), floor(where(zero, total, 0.0))
    turn = mul(sub(1.0, mul(remainder(nearest, 2), 2.0)), 1 / math.pi)
    mirror = mul(mul(sin(mul(sub(at, nearest), math.pi)), turn), gamma(sub(1.0, at)))
    slope = mul(mul(gamma(where(zero, a, 1.0)), gamma(where(zero, b, 1.0))), mirror)
    signs = mul(mul(_gamma_sign(a), _gamma_sign(b)), _gamma_sign(total))
    apart = exp(log_beta(where(zero, 1.0, a), where(zero, 1.0, b)))
    found = where(zero, slope, mul(apart, signs))
    at_pole = where(finite, found, INFINITE)
    return where(pole, where(below, neg(at_pole), at_pole), found)


def _is_pole(x: Any) -> Any:
    return logical_and(less_equal(x, 0), equal(x, floor(x)))
