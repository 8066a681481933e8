"""Derivatives of Bessel functions, Hankel functions and spherical Bessel functions of real numbers,
with SciPy's names: compositions of Bessel functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...checks import describe
from ...dtypes import inexact
from ...errors import DTypeError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ..define import as_array
from ..elementwise.arithmetic import complex_, div, equal, greater, less, neg, sub, where
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import absolute, sqrt, square
from ..elementwise.logic import logical_and
from ..elementwise.powers import power
from ..elementwise.trigonometric import cos, sin
from .bessel import iv, jv, kv, yv
from .degrees_and_counts import cosdg, sindg

HIGHEST = 1000


def _integer(name: str, word: str, n: Any) -> int:
    try:
        found = operator.index(n)
    except TypeError:
        found = -1
    if isinstance(n, Value) or not 0 <= found <= HIGHEST:
        raise ValueError(
            f"special.{name}: {word} is {describe(n)}; it must be a known integer from 0 to "
            f"{HIGHEST}"
        )
    return found


def _order(v: Any, k: int) -> Any:
    """v + k; a Python number stays one, so that it does not decide the dtype."""
    return v + k if type(v) in (int, float) else add(v, float(k))


def _derivative(name: str, f: Callable[[Any, Any], Any], v: Any, z: Any, n: Any, sign: int) -> Any:
    """The derivative of order n by the argument, of functions with
    2 f'(v) = f(v - 1) + sign * f(v + 1) (DLMF 10.6.7, 10.29.5)."""
    n = _integer(name, "the order n of the derivative", n)
    total: Any = f(_order(v, -n), z)
    for i in range(1, n + 1):
        term = f(_order(v, 2 * i - n), z)
        total = add(total, mul(term, float(math.comb(n, i) * sign**i)))
    return mul(total, 0.5**n)


def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """The derivative of order n of `jv` by z; z is real.

    >>> import tracegrad as tg
    >>> round(float(tg.special.jvp(0.0, 1.0)), 6)
    -0.440051
    """
    return _derivative("jvp", jv, v, z, n, -1)


def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """The derivative of order n of `yv` by z; z is real.

    >>> import tracegrad as tg
    >>> round(float(tg.special.yvp(0.0, 1.0)), 6)
    0.781213
    """
    return _derivative("yvp", yv, v, z, n, -1)


def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """The derivative of order n of `iv` by z; z is real.

    >>> import tracegrad as tg
    >>> round(float(tg.special.ivp(0.0, 1.0)), 6)
    0.565159
    """
    return _derivative("ivp", iv, v, z, n, 1)


def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """The derivative of order n of `kv` by z; z is real.

    >>> import tracegrad as tg
    >>> round(float(tg.special.kvp(0.0, 1.0)), 6)
    -0.601907
    """
    found = _derivative("kvp", kv, v, z, n, 1)
    return neg(found) if operator.index(n) % 2 else found


def _beside_the_cut(name: str, v: Any, z: Any) -> tuple[Any, ...]:
    """Whether z is negative, J and Y of its size, and the cosine and sine of v turns by 180 degrees
    (DLMF 10.11.3 to 10.11.5)."""
    z = _argument(name, z)
    at = absolute(z)
    turn = mul(v, 180.0)
    return less(z, 0), *_pair(v, at), cosdg(turn), sindg(turn)


def _pair(v: Any, z: Any) -> tuple[Any, Any]:
    """J and Y. Of numbers so large that SciPy's have no digits by the first term of their
    asymptotic series; NaN where these are negative."""
    far = logical_and(greater(z, 1e15), less(z, math.inf))
    z = where(less(z, -1e15), math.nan, z)
    at, phase = where(far, z, 1.0), add(mul(v, 90.0), 45.0)
    size, c, s = sqrt(div(2 / math.pi, at)), cosdg(phase), sindg(phase)
    j = mul(size, add(mul(cos(at), c), mul(sin(at), s)))
    y = mul(size, sub(mul(sin(at), c), mul(cos(at), s)))
    z, known = where(far, 1.0, z), less(v, 1e6)
    j, y = where(known, j, math.nan), where(known, y, math.nan)
    return where(far, j, jv(v, z)), where(far, y, yv(v, z))


def hankel1(v: Any, z: Any) -> Any:
    """Hankel's function of the first kind, `jv + 1j * yv`, of a real argument; of a negative one
    above the cut.

    >>> import tracegrad as tg
    >>> complex(tg.special.hankel1(0.0, 1.0)).real.__round__(6)
    0.765198
    """
    below, j, y, c, s = _beside_the_cut("hankel1", v, z)
    return complex_(
        where(below, sub(mul(s, y), mul(c, j)), j), where(below, add(mul(c, y), mul(s, j)), y)
    )


def hankel2(v: Any, z: Any) -> Any:
    """Hankel's function of the second kind, `jv - 1j * yv`, of a real argument; of a negative one
    above the cut.

    >>> import tracegrad as tg
    >>> complex(tg.special.hankel2(0.0, 1.0)).imag.__round__(6)
    -0.088257
    """
    below, j, y, c, s = _beside_the_cut("hankel2", v, z)
    return complex_(
        where(below, sub(mul(mul(c, j), 3.0), mul(s, y)), j),
        where(below, sub(mul(s, j), mul(c, y)), neg(y)),
    )


# --- spherical ------------------------------------------------------------------------------------


def hankel1e(v: Any, z: Any) -> Any:
    """`hankel1(v, z) * exp(-1j * z)`, of a real argument; of a negative one above the cut.

    >>> import tracegrad as tg
    >>> complex(tg.special.hankel1e(0.0, 1.0)).real.__round__(6)
    0.487704
    """
    return mul(hankel1(v, z), complex_(cos(z), neg(sin(z))))


def hankel2e(v: Any, z: Any) -> Any:
    """`hankel2(v, z) * exp(1j * z)`, of a real argument; of a negative one above the cut.

    >>> import tracegrad as tg
    >>> complex(tg.special.hankel2e(0.0, 1.0)).real.__round__(6)
    0.487704
    """
    return mul(hankel2(v, z), complex_(cos(z), sin(z)))


def jve(v: Any, z: Any) -> Any:
    """`jv(v, z) * exp(-abs(z.imag))`, which is `jv(v, z)` of the real z that it takes here.

    >>> import tracegrad as tg
    >>> float(tg.special.jve(0.0, 0.0))
    1.0
    """
    return _pair(v, _argument("jve", z))[0]


def yve(v: Any, z: Any) -> Any:
    """`yv(v, z) * exp(-abs(z.imag))`, which is `yv(v, z)` of the real z that it takes here.

    >>> import tracegrad as tg
    >>> round(float(tg.special.yve(0.0, 1.0)), 6)
    0.088257
    """
    return _pair(v, _argument("yve", z))[1]


def _argument(name: str, z: Any) -> Any:
    z = as_array(z)
    if z.dtype.kind == "c":
        raise DTypeError(f"{user_line()}: special.{name}: of complex numbers it is not supported")
    return z if z.dtype.kind == "f" else convert(z, inexact(z.dtype))


def _regular(name: str, f: Callable[[Any, Any], Any], n: Any, z: Any, sign: float) -> Any:
    """j or i of order n: near 0 by the power series (DLMF 10.53.1), which has all derivatives."""
    n, z = _integer(name, "the order n", n), _argument(name, z)
    near = less(absolute(z), 1.0)
    small = where(near, z, 0.0)
    half = mul(square(small), 0.5 * sign)
    series: Any = 1.0
    for k in range(10, 0, -1):
        series = add(mul(mul(half, series), 1.0 / (k * (2 * (n + k) + 1))), 1.0)
    scale = 1.0
    for k in range(1, n + 1):
        scale /= 2 * k + 1
    start = mul(power(small, n), series) if n else series
    away = where(near, 1.0, absolute(z))
    far = mul(f(n + 0.5, away), sqrt(div(math.pi / 2, away)))
    # Beyond all numbers the product is that of infinity and 0.
    far = where(equal(away, math.inf), math.inf if sign > 0 else 0.0, far)
    far = where(less(z, 0), neg(far), far) if n % 2 else far
    return where(near, mul(start, scale), far)


def _with_derivative(
    name: str, f: Callable[[int, Any], Any], n: Any, z: Any, derivative: Any, signs: tuple[int, int]
) -> Any:
    """f, or its derivative (DLMF 10.51.2, 10.51.5) from the orders on both sides."""
    if not derivative:
        return f(n, z)
    n = _integer(name, "the order n", n)
    below, above = (float(s) for s in signs)
    after = mul(f(n + 1, z), above * (n + 1) / (2 * n + 1))
    return after if n == 0 else add(mul(f(n - 1, z), below * n / (2 * n + 1)), after)


def spherical_jn(n: int, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the first kind of a known order n and real z, or its
    derivative.

    >>> import tracegrad as tg
    >>> round(float(tg.special.spherical_jn(1, 1.0)), 6)
    0.301169
    """
    name = "spherical_jn"
    return _with_derivative(name, lambda k, x: _regular(name, jv, k, x, -1.0), n, z, derivative,
                            (1, -1))  # fmt: skip


def spherical_in(n: int, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the first kind of a known order n and real z, or
    its derivative.

    >>> import tracegrad as tg
    >>> round(float(tg.special.spherical_in(1, 1.0)), 6)
    0.367879
    """
    name = "spherical_in"
    return _with_derivative(name, lambda k, x: _regular(name, iv, k, x, 1.0), n, z, derivative,
                            (1, 1))  # fmt: skip


def _singular(name: str, f: Callable[[Any, Any], Any], n: Any, z: Any) -> Any:
    n, z = _integer(name, "the order n", n), _argument(name, z)
    ends = equal(z, math.inf)
    z = where(ends, 1.0, z)
    return where(ends, 0.0, mul(f(n + 0.5, z), sqrt(div(math.pi / 2, z))))


def spherical_yn(n: int, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the second kind of a known order n and real z, or its
    derivative.

    >>> import tracegrad as tg
    >>> round(float(tg.special.spherical_yn(1, 1.0)), 6)
    -1.381773
    """
    name = "spherical_yn"

    def value(k: int, x: Any) -> Any:
        x = _argument(name, x)
        left = less(x, 0)
        found = _singular(name, yv, k, where(left, neg(x), x))
        return found if _integer(name, "the order n", k) % 2 else where(left, neg(found), found)

    return _with_derivative(name, value, n, z, derivative, (1, -1))


def spherical_kn(n: int, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the second kind of a known order n and real z > 0
    (NaN below), or its derivative.

    >>> import tracegrad as tg
    >>> round(float(tg.special.spherical_kn(1, 1.0)), 6)
    1.155727
    """
    name = "spherical_kn"
    return _with_derivative(name, lambda k, x: _singular(name, kv, k, x), n, z, derivative,
                            (-1, -1))  # fmt: skip


__all__ = [
    "hankel1", "hankel1e", "hankel2", "hankel2e", "ivp", "jve", "jvp", "kvp",
    "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "yve", "yvp",
]  # fmt: skip
