"""Integrals of samples, and of functions by fixed points, under the names of scipy.integrate."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import describe, flag
from ...dtypes import real_of
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...sizes import known_less, same
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import moveaxis
from ..arrays.slices import cut
from ..define import as_array, ndim_of, of_list, shape_of
from ..elementwise.arithmetic import div, equal, sub, where
from ..elementwise.derived import add, convert, mul
from ..elementwise.floating import floating
from ..totals.reductions import sum as sum_
from ..totals.scans import cumsum, trapezoid


def _samples(name: str, y: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """The samples with their axis last, and their places likewise."""
    y = as_array(y)
    y = y if y.dtype.kind in "fc" else convert(y, np.float64)
    axis = normalize_axis(axis, ndim_of(y))
    n = shape_of(y)[axis]
    y = moveaxis(y, axis, -1)
    if x is None:
        return y, None
    x = floating(x, "x")
    if ndim_of(x) not in (1, ndim_of(y)):
        raise ShapeError(
            f"{name}: x has shape {show(shape_of(x))}; it must be a vector or as y, "
            f"{show(shape_of(y))}"
        )
    x = x if ndim_of(x) == 1 else moveaxis(x, axis, -1)
    if not same(shape_of(x)[-1], n):
        raise ShapeError(f"{name}: {shape_of(x)[-1]} places for {n} samples")
    return y, x


def _part(x: Any, start: Any, size: Any, step: int = 1) -> Any:
    return cut(x, ndim_of(x) - 1, start, size, step)


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: float | None = None
) -> Any:
    """Integrals up to each sample by the trapezoidal rule; with initial=0 that of no width first.

    >>> import tracegrad as tg
    >>> tg.integrate.cumulative_trapezoid([1.0, 1.0, 3.0])
    array([1., 3.])
    """
    if initial is not None and initial != 0:
        raise ValueError(f"cumulative_trapezoid: initial is {initial!r}; it must be 0 or None")
    samples, places = _samples("cumulative_trapezoid", y, x, axis)
    n = shape_of(samples)[-1]
    if known_less(n, 1):
        raise ValueError("cumulative_trapezoid: y has no samples along that axis")
    widths = dx if places is None else sub(_part(places, 1, n - 1), _part(places, 0, n - 1))
    means = mul(add(_part(samples, 1, n - 1), _part(samples, 0, n - 1)), 0.5)
    total = cumsum(mul(means, widths), -1)
    if initial is not None:
        total = concatenate([zeros((*shape_of(total)[:-1], 1), dtype=total.dtype), total], -1)
    return moveaxis(total, -1, normalize_axis(axis, ndim_of(total)))


def _ratio(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0: intervals without length add nothing, as SciPy has it."""
    flat = equal(b, 0)
    return where(flat, 0.0, div(a, where(flat, 1.0, b)))


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrals of samples by Simpson's rule, with Cartwright's correction of the last interval for
    an even number of samples, as SciPy's. The number of samples has to be known.

    >>> import tracegrad as tg
    >>> float(tg.integrate.simpson([0.0, 1.0, 4.0]))
    2.6666666666666665
    """
    samples, places = _samples("simpson", y, x, axis)
    if ndim_of(of_list(dx)):
        raise ShapeError(
            f"simpson: dx has shape {show(shape_of(of_list(dx)))}; it must be a number"
        )
    n = int(shape_of(samples)[-1])
    if n < 1:
        raise ValueError("simpson: y has no samples along that axis")
    if n == 1:
        return mul(sum_(samples, -1), 0.0)
    if places is None:
        widths: Any = mul(np.ones(n - 1, real_of(samples.dtype)), dx)
    else:
        widths = sub(_part(places, 1, n - 1), _part(places, 0, n - 1))
    if n == 2:
        return sum_(mul(mul(add(_part(samples, 0, 1), _part(samples, 1, 1)), 0.5), widths), -1)
    pairs = (n - 1) // 2
    h0, h1 = _part(widths, 0, pairs, 2), _part(widths, 1, pairs, 2)
    y0, y1, y2 = (_part(samples, k, pairs, 2) for k in range(3))
    both, ratio = add(h0, h1), _ratio(h0, h1)
    terms = add(
        mul(y0, sub(2.0, _ratio(1.0, ratio))),
        add(mul(y1, _ratio(mul(both, both), mul(h0, h1))), mul(y2, sub(2.0, ratio))),
    )
    total = sum_(mul(mul(both, 1 / 6), terms), -1)
    if n % 2:
        return total
    # The last interval by the parabola through the last three samples.
    a, b = _part(widths, n - 2, 1), _part(widths, n - 3, 1)
    last, middle, first = (_part(samples, n - k, 1) for k in (1, 2, 3))
    squares, sum_ab = mul(a, a), add(a, b)
    alpha = _ratio(add(mul(squares, 2.0), mul(mul(a, b), 3.0)), mul(sum_ab, 6.0))
    beta = _ratio(add(squares, mul(mul(a, b), 3.0)), mul(b, 6.0))
    eta = _ratio(mul(squares, a), mul(mul(b, sum_ab), 6.0))
    more = sub(add(mul(alpha, last), mul(beta, middle)), mul(eta, first))
    return add(total, sum_(more, -1))


def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrals of 2**k + 1 evenly spaced samples by Romberg's rule: trapezoidal sums of half the
    samples, a quarter of them and so on, extrapolated. `show` is refused.

    >>> import tracegrad as tg
    >>> float(tg.integrate.romb([0.0, 1.0, 4.0]))
    2.6666666666666665
    """
    if flag("show", show):
        raise UnsupportedFunctionError(f"{user_line()}: romb with show= is not supported")
    samples, _ = _samples("romb", y, None, axis)
    count = int(shape_of(samples)[-1]) - 1
    levels = count.bit_length() - 1
    if count < 1 or count != 1 << levels:
        raise ValueError(f"romb: {count + 1} samples along the axis; it must be 2**k + 1 of them")
    ends = mul(add(_part(samples, 0, 1), _part(samples, count, 1)), 0.5)
    row: list[Any] = []
    for k in range(levels + 1):
        step = count >> k
        inside = sum_(_part(samples, step, (1 << k) - 1, step), -1)
        before, row = row, [mul(add(sum_(ends, -1), inside), mul(dx, float(step)))]
        for j, coarse in enumerate(before):
            gain = sub(row[j], coarse)
            row.append(add(row[j], mul(gain, 1.0 / (4.0 ** (j + 1) - 1.0))))
    return row[-1]


def _first_intervals(y: list[Any], widths: list[Any]) -> Any:
    """Integrals over the first of two intervals, of the parabola through three samples."""
    a, b = widths
    near, ratio = _ratio(a, add(a, b)), _ratio(a, b)
    curved = mul(near, ratio)
    inside = add(mul(sub(3.0, near), y[0]), mul(add(add(curved, near), 3.0), y[1]))
    return mul(mul(a, 1 / 6), sub(inside, mul(curved, y[2])))


def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrals up to each sample by Simpson's rule over pairs of intervals that may be unequal
    (Cartwright 2017), as SciPy's; by the trapezoidal rule for two samples. With `initial` that
    number first, and added to the others. Places x must increase. The number of samples has to be
    known.

    >>> import tracegrad as tg
    >>> tg.integrate.cumulative_simpson([0.0, 1.0, 4.0, 9.0], initial=0.0).round(6)
    array([0.      , 0.333333, 2.666667, 9.      ])
    """
    samples, places = _samples("cumulative_simpson", y, x, axis)
    n = int(shape_of(samples)[-1])
    if n < 1:
        raise ValueError("cumulative_simpson: y has no samples along that axis")
    if places is None:
        widths: Any = mul(np.ones(n - 1, real_of(samples.dtype)), dx)
    else:
        widths = sub(_part(places, 1, n - 1), _part(places, 0, n - 1))
    if n < 3:
        means = mul(add(_part(samples, 1, n - 1), _part(samples, 0, n - 1)), 0.5)
        parts = mul(means, widths)
    else:
        three = [_part(samples, k, n - 2) for k in range(3)]
        two = [_part(widths, k, n - 2) for k in range(2)]
        first = _first_intervals(three, two)
        second = _first_intervals(three[::-1], two[::-1])
        # Of two intervals that share a sample, the first by the first and so on; the last one is
        # no other's first.
        firsts = concatenate([first, _part(second, n - 3, 1)], -1)
        seconds = concatenate([_part(first, 0, 1), second], -1)
        even = (np.arange(n - 1) % 2 == 0) & (np.arange(n - 1) < n - 2)
        parts = where(even, firsts, seconds)
    total = cumsum(parts, -1)
    if initial is not None:
        start = as_array(initial)
        if ndim_of(start):
            shape = tuple(shape_of(moveaxis(as_array(y), axis, -1)))
            if ndim_of(start) != len(shape) or not all(
                map(same, shape_of(moveaxis(start, axis, -1)), (*shape[:-1], 1))
            ):
                raise ShapeError(
                    f"cumulative_simpson: initial has the shape {show(shape_of(start))}; it must "
                    "be one number, or of y's shape with one element along the axis"
                )
            start = moveaxis(start, axis, -1)
        start = add(mul(_part(samples, 0, 1), 0.0), start)
        total = concatenate([start, add(total, start)], -1)
    return moveaxis(total, -1, normalize_axis(axis, ndim_of(total)))


def fixed_quad(
    func: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...] = (), n: int = 5
) -> tuple[Any, None]:
    """The integral of `func(x, *args)` over x from a to b by Gauss' rule of n points, and None.
    `func` takes a vector of points. Differentiable by a, b and whatever `func` reads.

    >>> import tracegrad as tg
    >>> round(float(tg.integrate.fixed_quad(lambda x: x**4, 0.0, 1.0)[0]), 12)
    0.2
    """
    points = operator.index(n)
    if points < 1:
        raise ValueError(f"fixed_quad: n is {n}; it must be at least 1")
    if ndim_of(of_list(a)) or ndim_of(of_list(b)):
        raise ShapeError("fixed_quad: a and b must be numbers")
    for word, end in (("a", a), ("b", b)):
        if not isinstance(end, Value) and not np.isfinite(end):
            raise ValueError(f"fixed_quad: {word} is {describe(end)}; limits must be finite")
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = mul(sub(b, a), 0.5)
    values = as_array(of_list(func(add(mul(half, nodes), mul(add(a, b), 0.5)), *args)))
    if not ndim_of(values) or not same(shape_of(values)[-1], points):
        raise ShapeError(
            f"fixed_quad: func gave shape {show(shape_of(values))} for {points} points, which must "
            "be its last axis"
        )
    return mul(half, sum_(mul(values, weights), -1)), None


__all__ = [
    "cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson", "trapezoid",
]  # fmt: skip
