"""B-splines, their derivatives and integrals, under the names of scipy.interpolate."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import reshape
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, greater, less, sub, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, mul
from ..elementwise.logic import logical_or
from ..elementwise.remainders import mod
from ..places.along import take
from ..totals.scans import cumsum
from ..totals.sorting import searchsorted
from .interpolation import floats, in_front, part, put_back, rows

Extrapolate = bool | str | None


def _beyond(extrapolate: Any) -> bool | str:
    """What `extrapolate` says of points beyond the base interval."""
    if isinstance(extrapolate, str) and extrapolate == "periodic":
        return extrapolate
    if isinstance(extrapolate, (bool, np.bool_)):
        return bool(extrapolate)
    raise ValueError(
        f'BSpline: extrapolate is {describe(extrapolate)}; it must be True, False or "periodic"'
    )


def _count(name: str, nu: Any) -> int:
    count = operator.index(nu)
    if count < 0:
        raise ValueError(f"BSpline: {name} is {count}; it must be from 0 on")
    return count


def _degree(k: Any) -> int:
    try:
        return operator.index(k)
    except TypeError:
        raise TypeError(f"BSpline: k is {describe(k)}; it must be a known integer") from None


class BSpline:
    """The spline of degree k with knots t and coefficients c (along their axis `axis`), evaluated
    by de Boor's recursion.

    extrapolate   of points beyond the base interval from t[k] to t[n]: True, the outermost
                  polynomials go on; False, NaN; "periodic", the point is taken by the period

    ShapeError, ValueError where knots and coefficients do not make a spline.

    >>> import tracegrad as tg
    >>> line = tg.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [1.0, 3.0], 1)
    >>> float(line(0.5)), float(line.derivative()(0.5)), float(line.integrate(0.0, 1.0))
    (2.0, 2.0, 2.0)
    """

    def __init__(
        self, t: Any, c: Any, k: int, extrapolate: Extrapolate = True, axis: int = 0
    ) -> None:
        self.t, self.k = floats(t), _degree(k)
        self._front, self.axis = in_front("BSpline", "c", floats(c), axis)
        self.extrapolate = _beyond(extrapolate)
        if ndim_of(self.t) != 1:
            raise ShapeError("BSpline: t must be a vector")
        count = int(shape_of(self.t)[0]) - self.k - 1
        if self.k < 0 or count < self.k + 1 or int(shape_of(self._front)[0]) < count:
            raise ValueError(
                f"BSpline: {shape_of(self.t)[0]} knots and {shape_of(self._front)[0]} coefficients "
                f"do not make a spline of degree {self.k}: it takes at least {2 * self.k + 2} "
                f"knots, and {self.k + 1} coefficients less than knots"
            )
        self.count = count

    @property
    def c(self) -> Any:
        """The coefficients."""
        return put_back(self._front, self.axis, 1)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Extrapolate = None) -> Any:
        """Values at points of any shape, or the derivative of order nu by the points, whose axes
        stand where that of the coefficients was; `extrapolate` instead of the spline's own.

        >>> import tracegrad as tg
        >>> step = tg.interpolate.BSpline([0.0, 1.0, 2.0], [5.0, 7.0], 0)
        >>> float(step(1.5))
        7.0
        """
        beyond = self.extrapolate if extrapolate is None else _beyond(extrapolate)
        points = floats(x)
        flat = reshape(points, (-1,))
        first, last = part(self.t, self.k, 1), part(self.t, self.count, 1)
        if beyond == "periodic":
            flat = add(first, mod(sub(flat, first), sub(last, first)))
        order = _count("nu", nu)
        total = self._lowered(min(order, self.k))._inside(flat)
        if order > self.k:
            total = mul(total, 0.0)
        if beyond is False:
            outside = logical_or(less(flat, first), greater(flat, last))
            total = where(rows(outside, total), np.nan, total)
        whole = reshape(total, (*shape_of(points), *shape_of(self._front)[1:]))
        return put_back(whole, self.axis, ndim_of(points))

    def _inside(self, flat: Any) -> Any:
        """Values by the polynomial of the interval of each point, of the outermost ones beyond."""
        k, n = self.k, self.count
        inner = part(self.t, k + 1, n - k - 1)
        span = add(searchsorted(inner, flat, "right"), k) if n > k + 1 else (
            add(mul(searchsorted(self.t, flat, "right"), 0), k))  # fmt: skip
        d = [take(self._front, add(span, j - k), 0) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                low = take(self.t, add(span, j - k), 0)
                high = take(self.t, add(span, j + 1 - r), 0)
                share = rows(div(sub(flat, low), sub(high, low)), d[0])
                d[j] = add(mul(sub(1.0, share), d[j - 1]), mul(share, d[j]))
        return d[k]

    def _made(self, t: Any, front: Any, k: int) -> BSpline:
        made = BSpline(t, front, k, self.extrapolate)
        made.axis = self.axis
        return made

    def _lowered(self, order: int) -> BSpline:
        """The derivative, whose coefficients are slopes between neighbours. Those that belong to
        repeated knots reach no interval, and are 0."""
        found = self
        for _ in range(order):
            t, c, k = found.t, found._front, found.k
            n = found.count
            wide = rows(sub(part(t, k + 1, n - 1), part(t, 1, n - 1)), c)
            none = equal(wide, 0)
            slopes = div(sub(part(c, 1, n - 1), part(c, 0, n - 1)), where(none, 1.0, wide))
            found = found._made(
                part(t, 1, n + k - 1), where(none, 0.0, mul(slopes, float(k))), k - 1
            )
        return found

    def derivative(self, nu: int = 1) -> BSpline:
        """The spline that is the derivative of order nu, of degree k - nu.

        ValueError for nu > k, or where a knot is repeated so often that there is none.

        >>> import tracegrad as tg
        >>> parabola = tg.interpolate.BSpline([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0], 2)
        >>> float(parabola.derivative()(0.25))
        0.5
        """
        order = _count("nu", nu)
        if order > self.k:
            raise ValueError(f"BSpline: nu is {order}; the degree is {self.k}, so there is none")
        if type(self.t) is np.ndarray:
            inner = self.t[self.k + 1 : self.count]
            ends = self.t[self.k], self.t[self.count]
            times = [int(np.sum(inner == v)) for v in inner if ends[0] < v < ends[1]]
            if times and max(times) > self.k - order + 1:
                raise ValueError(
                    f"BSpline: a knot that stands {max(times)} times leaves no derivative of order "
                    f"{order} of a spline of degree {self.k}"
                )
        return self._lowered(order)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The spline of degree k + nu whose derivative of order nu is this one; 0 at the first
        knot. That of a periodic spline goes on beyond the ends as polynomials do.

        >>> import tracegrad as tg
        >>> one = tg.interpolate.BSpline([0.0, 1.0], [1.0], 0)
        >>> float(one.antiderivative()(0.75))
        0.75
        """
        found = self
        for _ in range(_count("nu", nu)):
            t, k, n = found.t, found.k, found.count
            c = part(found._front, 0, n)
            wide = rows(sub(part(t, k + 1, n), part(t, 0, n)), c)
            sums = cumsum(mul(c, div(wide, k + 1.0)), 0)
            none = zeros((1, *shape_of(c)[1:]), c.dtype)
            ends = [part(t, 0, 1), t, part(t, n + k, 1)]
            found = found._made(concatenate(ends), concatenate([none, sums]), k + 1)
        if found is not self and found.extrapolate == "periodic":
            found.extrapolate = False
        return found

    def integrate(self, a: Any, b: Any, extrapolate: Extrapolate = None) -> Any:
        """The integral from a to b; beyond the base interval 0 is integrated where the spline is
        not extrapolated.

        >>> import tracegrad as tg
        >>> line = tg.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [1.0, 3.0], 1)
        >>> float(line.integrate(1.0, 0.0))
        -2.0
        """
        beyond = self.extrapolate if extrapolate is None else _beyond(extrapolate)
        if beyond == "periodic":
            raise ValueError(
                "BSpline.integrate: a periodic spline is not supported; integrate over one period, "
                "and add the periods"
            )
        ends = [floats(as_array(x)) for x in (a, b)]
        if not beyond:
            first, last = (reshape(part(self.t, j, 1), ()) for j in (self.k, self.count))
            ends = [minimum(maximum(x, first), last) for x in ends]
        whole = self.antiderivative()
        whole.extrapolate = True
        return sub(whole(ends[1]), whole(ends[0]))


__all__ = ["BSpline"]
