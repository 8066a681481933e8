"""Interpolation of samples by piecewise polynomials, under the names of scipy.interpolate.

Differentiable by the points, the samples and their places. Each is a function that is made of
samples along an axis (the first by default) and called with points of any shape.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ...sizes import same
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import expand_dims, moveaxis, reshape
from ..arrays.slices import cut
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, greater, less, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, sign
from ..elementwise.floating import floating
from ..elementwise.logic import logical_and, logical_not, logical_or
from ..elementwise.remainders import mod
from ..matrices.banded import solve_banded
from ..matrices.linalg import solve
from ..places.along import take
from ..totals.reductions import max as max_
from ..totals.sorting import searchsorted


def floats(x: Any) -> Any:
    return floating(x, "an array")


def in_front(name: str, word: str, y: Any, axis: int) -> tuple[Any, int]:
    """Samples or coefficients with their axis in front, and where it was."""
    if not ndim_of(y):
        raise ShapeError(f"{name}: {word} is one number; it must have at least one axis")
    place = normalize_axis(axis, ndim_of(y))
    return moveaxis(y, place, 0), place


def put_back(found: Any, axis: int, count: int) -> Any:
    """The axes of the points in the place of the axis of the samples."""
    if not axis or not count:
        return found
    return moveaxis(found, tuple(range(count)), tuple(range(axis, axis + count)))


def _samples(name: str, x: Any, y: Any, least: int, axis: int) -> tuple[Any, Any, int, int]:
    x = floats(x)
    y, axis = in_front(name, "y", floats(y), axis)
    if ndim_of(x) != 1 or not same(shape_of(x)[0], shape_of(y)[0]):
        raise ShapeError(
            f"{name}: x must be a vector, and y have as many samples along its axis {axis}, not "
            f"{show(shape_of(x))} and {shape_of(y)[0]}"
        )
    n = int(shape_of(x)[0])
    if n < least:
        raise ValueError(f"{name}: {n} samples; it takes at least {least}")
    if type(x) is np.ndarray and not np.all(np.diff(x) > 0):
        raise ValueError(f"{name}: x must ascend strictly")
    return x, y, n, axis


def rows(v: Any, like: Any) -> Any:
    """A vector along the first axis of what has the axes of `like`."""
    return reshape(v, (-1, *(1,) * (ndim_of(like) - 1)))


def part(x: Any, start: Any, size: Any) -> Any:
    return cut(x, 0, start, size)


class _Cubic:
    """A cubic polynomial between each two samples, from their values and slopes."""

    name = ""

    def __init__(self, x: Any, y: Any, slopes: Any, extrapolate: bool | str, axis: int) -> None:
        self.x, self.y, self.slopes, self.extrapolate = x, y, slopes, extrapolate
        self.axis = axis

    def __call__(self, x: Any, nu: int = 0) -> Any:
        """Values at points of any shape, or the derivative of order nu by the points, whose axes
        stand where that of the samples was. Beyond the ends the outermost polynomials go on, or
        there is NaN.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> cubes = tg.interpolate.CubicSpline(np.arange(5.0), np.arange(5.0) ** 3)
        >>> round(float(cubes(1.5)), 12)
        3.375
        """
        order = operator.index(nu)
        if order < 0:
            raise ValueError(f"{self.name}: nu is {nu}; it must be from 0 on")
        points = floats(x)
        shape, beside = tuple(shape_of(points)), tuple(shape_of(self.y)[1:])
        flat = reshape(points, (-1,))
        n = int(shape_of(self.x)[0])
        if self.extrapolate == "periodic":
            first = part(self.x, 0, 1)
            flat = add(first, mod(sub(flat, first), sub(part(self.x, n - 1, 1), first)))
        k = clip(sub(searchsorted(self.x, flat, "right"), 1), 0, n - 2)
        x0, x1 = take(self.x, k, 0), take(self.x, add(k, 1), 0)
        y0, y1 = take(self.y, k, 0), take(self.y, add(k, 1), 0)
        s0, s1 = take(self.slopes, k, 0), take(self.slopes, add(k, 1), 0)
        h, t = rows(sub(x1, x0), y0), rows(sub(flat, x0), y0)
        chord = div(sub(y1, y0), h)
        c3 = div(sub(add(s0, s1), mul(chord, 2.0)), mul(h, h))
        c2 = div(sub(sub(mul(chord, 3.0), mul(s0, 2.0)), s1), h)
        coefficients = [y0, s0, c2, c3]
        for _ in range(min(order, 4)):
            coefficients = [mul(c, float(p)) for p, c in enumerate(coefficients)][1:]
        total = mul(y0, 0.0)
        for c in reversed(coefficients):
            total = add(mul(total, t), c)
        if not self.extrapolate:
            outside = logical_or(
                less(flat, part(self.x, 0, 1)), greater(flat, part(self.x, n - 1, 1))
            )
            total = where(rows(outside, y0), np.nan, total)
        return put_back(reshape(total, (*shape, *beside)), self.axis, len(shape))


def _beyond(name: str, extrapolate: Any, usual: bool | str) -> bool | str:
    """What an option says of places beyond the ends: a truth value, or "periodic"."""
    if extrapolate is None:
        return usual
    if type(extrapolate) is str and extrapolate == "periodic":
        return extrapolate
    if isinstance(extrapolate, (bool, int, np.bool_, np.integer)):
        return bool(extrapolate)
    raise ValueError(
        f'{name}: extrapolate is {describe(extrapolate)}; it must be True, False, "periodic" or '
        "None"
    )


def _second(x: Any, y: Any) -> tuple[Any, Any]:
    """Distances of the places, and slopes of the chords."""
    n = int(shape_of(x)[0])
    h = sub(part(x, 1, n - 1), part(x, 0, n - 1))
    return h, div(sub(part(y, 1, n - 1), part(y, 0, n - 1)), rows(h, y))


def _at(size: int, row: int, column: int) -> Any:
    unit = np.zeros((size, size))
    unit[row, column] = 1.0
    return unit


class CubicSpline(_Cubic):
    """The cubic spline through samples y at places x, with two continuous derivatives, as SciPy's.

    bc_type   what holds at both ends: "not-a-knot" (the first two and the last two polynomials are
              one), "natural" (no second derivative), "clamped" (no first one) or "periodic" (the
              spline goes on as it began: the last sample is the first one, and points beyond the
              ends are taken by the period)

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> spline = tg.interpolate.CubicSpline(np.arange(5.0), np.arange(5.0) ** 2)
    >>> round(float(spline(2.5)), 12)
    6.25
    """

    name = "CubicSpline"

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: str = "not-a-knot", extrapolate: Any = None
    ) -> None:
        if bc_type not in ("not-a-knot", "natural", "clamped", "periodic"):
            raise ValueError(
                f'CubicSpline: bc_type is {describe(bc_type)}; it must be "not-a-knot", "natural", '
                '"clamped" or "periodic"'
            )
        x, y, n, axis = _samples(self.name, x, y, 2, axis)
        h, chord = _second(x, y)
        slopes = self._slopes(x, y, h, chord, n, bc_type)
        beyond = _beyond(self.name, extrapolate, "periodic" if bc_type == "periodic" else True)
        super().__init__(x, y, slopes, beyond, axis)

    @staticmethod
    def _slopes(x: Any, y: Any, h: Any, chord: Any, n: int, bc_type: str) -> Any:
        if bc_type == "periodic":
            return _round_slopes(y, h, chord, n - 1)
        if n == 2 and bc_type != "clamped":
            return concatenate([chord, chord])
        if n == 3 and bc_type == "not-a-knot":
            # One parabola through all three.
            first, last = part(chord, 0, 1), part(chord, 1, 1)
            bend = div(sub(last, first), rows(sub(part(x, 2, 1), part(x, 0, 1)), y))
            h0, h1 = rows(part(h, 0, 1), y), rows(part(h, 1, 1), y)
            return concatenate(
                [sub(first, mul(bend, h0)), add(first, mul(bend, h0)), add(last, mul(bend, h1))]
            )
        first = _end(h, chord, y, 0, 1, bc_type)
        last = _end(h, chord, y, n - 2, n - 3, bc_type)
        # Between them, row i says that second derivatives agree at sample i.
        before, behind = part(h, 0, n - 2), part(h, 1, n - 2)
        below = concatenate([behind, last[1], last[1] * 0])
        main = concatenate([first[0], mul(add(before, behind), 2.0), last[0]])
        above = concatenate([first[1] * 0, first[1], before])
        inside = mul(
            add(
                mul(rows(behind, y), part(chord, 0, n - 2)),
                mul(rows(before, y), part(chord, 1, n - 2)),
            ),
            3.0,
        )
        right = concatenate([first[2], inside, last[2]])
        return _solved(above, main, below, right)


def _solved(above: Any, main: Any, below: Any, right: Any) -> Any:
    """The solution of a system of three diagonals."""
    bands = concatenate([expand_dims(v, 0) for v in (above, main, below)])
    found = solve_banded((1, 1), bands, reshape(right, (shape_of(right)[0], -1)))
    return reshape(found, tuple(shape_of(right)))


def _round_slopes(y: Any, h: Any, chord: Any, n: int) -> Any:
    """Slopes of a periodic spline of n intervals: second derivatives agree at each sample, of which
    the first and the last are one."""
    if type(y) is np.ndarray and not np.allclose(y[0], y[-1], rtol=1e-15, atol=1e-15):
        raise ValueError("CubicSpline: the last sample of a periodic spline has to be the first")
    around = [n - 1, *range(n - 1)]
    before, slope = take(h, around, 0), take(chord, around, 0)
    right = mul(add(mul(rows(h, y), slope), mul(rows(before, y), chord)), 3.0)
    main = mul(add(before, h), 2.0)
    if n < 4:
        off = (np.arange(n) - np.arange(n)[:, None]) % n
        matrix: Any = 0.0
        for place, values in ((-1, h), (0, main), (1, before)):
            matrix = add(matrix, where(off == place % n, reshape(values, (n, 1)), 0.0))
        found = reshape(solve(matrix, reshape(right, (n, -1))), tuple(shape_of(right)))
        return concatenate([found, part(found, 0, 1)])
    # Three diagonals for all slopes but the last one, which the first and the last of them meet.
    m, nothing = n - 1, zeros((1,), h.dtype)
    meets = concatenate([part(h, 0, 1), zeros((m - 2,), h.dtype), part(before, m - 1, 1)])
    flat = reshape(right, (n, -1))
    both = concatenate([part(flat, 0, m), reshape(meets, (m, 1))], 1)
    above = concatenate([nothing, part(before, 0, m - 1)])
    below = concatenate([part(h, 1, m - 1), nothing])
    both = _solved(above, part(main, 0, m), below, both)
    count = shape_of(flat)[1]
    free, meeting = cut(both, 1, 0, count), cut(both, 1, count, 1)
    behind, ahead = part(h, m, 1), part(before, m, 1)
    known, share = (
        add(mul(part(v, m - 1, 1), behind), mul(part(v, 0, 1), ahead)) for v in (free, meeting)
    )
    last = div(sub(part(flat, m, 1), known), sub(part(main, m, 1), share))
    found = concatenate([sub(free, mul(meeting, last)), last])
    found = reshape(found, tuple(shape_of(right)))
    return concatenate([found, part(found, 0, 1)])


def _end(h: Any, chord: Any, y: Any, near: int, far: int, bc_type: str) -> tuple[Any, Any, Any]:
    """The equation of an end, whose interval is `near`: the factors of the slopes at the end and
    beside it, and the right-hand side."""
    a, c = part(h, near, 1), part(chord, near, 1)
    if bc_type == "clamped":
        return add(mul(a, 0.0), 1.0), mul(a, 0.0), mul(c, 0.0)
    if bc_type == "natural":
        return add(mul(a, 0.0), 2.0), add(mul(a, 0.0), 1.0), mul(c, 3.0)
    b = part(h, far, 1)
    both = add(a, b)
    u, v, w = (rows(q, y) for q in (a, b, both))
    value = div(add(mul(mul(add(u, mul(w, 2.0)), v), c), mul(mul(u, u), part(chord, far, 1))), w)
    return b, both, value


class CubicHermiteSpline(_Cubic):
    """The cubic polynomials between samples y at places x that have the slopes dydx there, as
    SciPy's.

    >>> import tracegrad as tg
    >>> hermite = tg.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])
    >>> float(hermite(0.5))
    0.5
    """

    name = "CubicHermiteSpline"

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        slopes, _ = in_front(self.name, "dydx", floats(dydx), axis)
        x, y, _, axis = _samples(self.name, x, y, 2, axis)
        if len(shape_of(slopes)) != len(shape_of(y)) or not all(
            map(same, shape_of(slopes), shape_of(y))
        ):
            raise ShapeError(f"{self.name}: dydx must have the shape of y")
        super().__init__(x, y, slopes, _beyond(self.name, extrapolate, True), axis)


class Akima1DInterpolator(_Cubic):
    """The interpolation of Akima (1970) through samples y at places x, as SciPy's; with
    method="makima" the modified one, which does not overshoot where samples are equal. Beyond the
    ends it is NaN, but for extrapolate=True.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> akima = tg.interpolate.Akima1DInterpolator(np.arange(5.0), np.arange(5.0) ** 2)
    >>> float(akima(2.0))
    4.0
    """

    name = "Akima1DInterpolator"

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise ValueError(
                f'{self.name}: method is {describe(method)}; it must be "akima" or "makima"'
            )
        x, y, n, axis = _samples(self.name, x, y, 2, axis)
        _, chord = _second(x, y)
        slopes = concatenate([chord, chord]) if n == 2 else self._slopes(chord, n, method)
        super().__init__(x, y, slopes, _beyond(self.name, extrapolate, False), axis)

    @staticmethod
    def _slopes(chord: Any, n: int, method: str) -> Any:
        # Two chords more at both ends, of the parabola through the last three samples.
        def beyond(near: Any, far: Any) -> tuple[Any, Any]:
            one = sub(mul(near, 2.0), far)
            return one, sub(mul(one, 2.0), near)

        last = n - 2
        before = beyond(part(chord, 0, 1), part(chord, 1, 1))
        after = beyond(part(chord, last, 1), part(chord, last - 1, 1))
        m = concatenate([before[1], before[0], chord, *after])
        gap = absolute(sub(part(m, 1, n + 2), part(m, 0, n + 2)))
        if method == "makima":
            both = absolute(add(part(m, 1, n + 2), part(m, 0, n + 2)))
            gap = add(gap, mul(both, 0.5))
        left, right = part(gap, 2, n), part(gap, 0, n)
        low, high = part(m, 1, n), part(m, 2, n)
        whole = add(left, right)
        # Where both gaps vanish beside the largest, the mean of the chords around.
        flat = logical_not(greater(whole, mul(max_(whole), 1e-9)))
        safe = where(flat, 1.0, whole)
        found = add(mul(div(left, safe), low), mul(div(right, safe), high))
        return where(flat, mul(add(part(m, 0, n), part(m, 3, n)), 0.5), found)


class PchipInterpolator(_Cubic):
    """The monotone cubic interpolation of Fritsch and Butland through samples y at places x, as
    SciPy's: it does not overshoot, and has one continuous derivative.

    >>> import tracegrad as tg
    >>> steps = tg.interpolate.PchipInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 1.0])
    >>> float(steps(1.5))
    0.5
    """

    name = "PchipInterpolator"

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, n, axis = _samples(self.name, x, y, 2, axis)
        h, chord = _second(x, y)
        beyond = _beyond(self.name, extrapolate, True)
        super().__init__(x, y, self._slopes(y, h, chord, n), beyond, axis)

    @staticmethod
    def _slopes(y: Any, h: Any, chord: Any, n: int) -> Any:
        if n == 2:
            return concatenate([chord, chord])
        wide = rows(h, y)
        h0, h1 = part(wide, 0, n - 2), part(wide, 1, n - 2)
        m0, m1 = part(chord, 0, n - 2), part(chord, 1, n - 2)
        turns = logical_or(
            logical_not(equal(sign(m0), sign(m1))), logical_or(equal(m0, 0), equal(m1, 0))
        )
        w0, w1 = add(mul(h1, 2.0), h0), add(h1, mul(h0, 2.0))
        inverse = add(div(w0, where(turns, 1.0, m0)), div(w1, where(turns, 1.0, m1)))
        inside = where(turns, 0.0, div(add(w0, w1), where(turns, 1.0, inverse)))

        def end(k: int, near: int) -> Any:
            """The slope of a parabola, kept from overshooting."""
            a, b = part(wide, k, 1), part(wide, near, 1)
            c, d = part(chord, k, 1), part(chord, near, 1)
            slope = div(sub(mul(add(mul(a, 2.0), b), c), mul(a, d)), add(a, b))
            against = logical_not(equal(sign(slope), sign(c)))
            steep = logical_and(
                logical_not(equal(sign(c), sign(d))),
                greater(absolute(slope), mul(absolute(c), 3.0)),
            )
            return where(against, 0.0, where(steep, mul(c, 3.0), slope))

        return concatenate([end(0, 1), inside, end(n - 2, n - 3)])


__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PchipInterpolator"]
