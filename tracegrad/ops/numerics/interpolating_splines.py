"""B-splines through samples, under the name of scipy.interpolate: the basis functions at the places
of the samples are a matrix, of which the coefficients are the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError
from ...sizes import same
from ...types import show
from ..arrays.concatenation import concatenate
from ..arrays.creation import eye, zeros
from ..arrays.shape import expand_dims, reshape
from ..arrays.slices import flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, mul
from ..elementwise.logic import logical_and
from ..matrices.banded import solve_banded
from ..matrices.linalg import solve
from ..places.along import take, take_along_axis
from ..totals.reductions import sum as sum_
from ..totals.scans import cumsum
from ..totals.sorting import searchsorted
from .b_splines import BSpline, _degree
from .interpolation import floats, in_front, part

NAME = "make_interp_spline"
ENDS = {"clamped": 1, "natural": 2}
"""Conditions by name: the order of the derivative that is 0."""
Conditions = list[tuple[int, Any]]


def _repeated(x: Any, at: int, count: int) -> Any:
    return take(x, np.full(count, at), 0)


def _usual_knots(x: Any, n: int, k: int, at_all: bool) -> Any:
    """Knots at all places (or for an odd degree but those next to the ends; between the places for
    an even one), the ends k + 1 times."""
    if at_all:
        inner = part(x, 1, n - 2) if n > 2 else part(x, 0, 0)
    else:
        left = x if k % 2 else mul(add(part(x, 1, n - 1), part(x, 0, n - 1)), 0.5)
        skip = (k + 1) // 2 if k % 2 else k // 2
        inner = part(left, skip, max(int(shape_of(left)[0]) - 2 * skip, 0))
    return concatenate([_repeated(x, 0, k + 1), inner, _repeated(x, n - 1, k + 1)])


def _round_knots(x: Any, n: int, k: int) -> Any:
    """Knots that go on beyond the ends by the period."""
    if k % 2 == 0:
        steps = sub(part(x, 1, n - 1), part(x, 0, n - 1))
        middle = sub(part(x, 1, n - 2), mul(part(steps, 0, n - 2), 0.5))
        x = concatenate([part(x, 0, 1), middle, part(x, n - 1, 1)])
    steps = sub(part(x, 1, n - 1), part(x, 0, n - 1))
    ahead, behind = (cumsum(take(steps, at, 0), 0) for at in (
        np.arange(k) % (n - 1), n - 2 - np.arange(k) % (n - 1)))  # fmt: skip
    first, last = part(x, 0, 1), part(x, n - 1, 1)
    return concatenate([flip(sub(first, behind), (0,)), x, add(last, ahead)]) if k else x


def _basis(t: Any, x: Any, span: Any, k: int) -> Any:
    """The k + 1 basis functions that reach places in these spans, as the last axis (Piegl and
    Tiller, "The NURBS Book", algorithm A2.2)."""
    found = [add(mul(x, 0.0), 1.0)]
    below = [sub(x, take(t, add(span, 1 - j), 0)) for j in range(1, k + 1)]
    above = [sub(take(t, add(span, j), 0), x) for j in range(1, k + 1)]
    for j in range(k):
        carried: Any = 0.0
        for r in range(j + 1):
            share = div(found[r], add(above[r], below[j - r]))
            found[r] = add(carried, mul(above[r], share))
            carried = mul(below[j - r], share)
        found.append(carried)
    return concatenate([expand_dims(v, 1) for v in found], 1)


def _spans(t: Any, x: Any, k: int, count: int) -> Any:
    """The last knots at or before the places, within the base interval."""
    if count == k + 1:
        return add(mul(searchsorted(t, x, "right"), 0), k)
    return add(searchsorted(part(t, k + 1, count - k - 1), x, "right"), k)


def _spread(values: Any, span: Any, k: int, count: int) -> Any:
    """Rows of a matrix with `count` columns, of which k + 1 that end at `span` are `values`."""
    at = add(sub(np.arange(count), expand_dims(span, 1)), k)
    inside = logical_and(at >= 0, at <= k)
    return where(inside, take_along_axis(values, clip(at, 0, k), 1), 0.0)


def _end_rows(t: Any, x: Any, k: int, count: int, conditions: Conditions) -> list[Any]:
    """The derivatives of the k + 1 basis functions that reach one place."""
    rows = []
    for order, _ in conditions:
        local = take(t, add(reshape(_spans(t, x, k, count), ()), np.arange(-k, k + 2)), 0)
        rows.append(BSpline(local, eye(k + 1, dtype=t.dtype), k)(x, order))
    return rows


def _diagonals(values: Any, span: Any, k: int, count: int) -> Any:
    """The diagonals, k to either side, of a matrix whose rows are `values`, k + 1 that end at
    `span`. Beyond them there is nothing, or the matrix is singular with and without it (Schoenberg
    and Whitney)."""
    row = np.arange(-k, k + 1)[:, None] + np.arange(count)
    known = (row >= 0) & (row < count)
    row = np.clip(row, 0, count - 1)
    at = add(sub(np.arange(count), take(span, row, 0)), k)
    inside = logical_and(logical_and(at >= 0, at <= k), known)
    flat = add(clip(at, 0, k), row * (k + 1))
    return where(inside, take(reshape(values, (-1,)), flat, 0), 0.0)


def _conditions(end: Any, k: int, side: str, shape: Any) -> Conditions:
    """Orders and values of the derivatives at one end."""
    if end is None:
        return []
    if isinstance(end, str):
        if end not in (*ENDS, "not-a-knot"):
            raise ValueError(
                f'{NAME}: bc_type is {describe(end)}; it must be "not-a-knot", "natural", '
                '"clamped" or "periodic", or pairs of an order and a value for both ends'
            )
        end = [(ENDS[end], 0.0)] if end in ENDS else []
    try:
        found = [(_degree(order), value) for order, value in end]
    except (TypeError, ValueError):
        raise ValueError(
            f"{NAME}: bc_type of the {side} end is {describe(end)}; it must be a sequence of pairs "
            "of the order of a derivative and its value"
        ) from None
    for order, value in found:
        if not 0 <= order <= k:
            raise ValueError(
                f"{NAME}: bc_type of the {side} end has a derivative of order {order}; of a spline "
                f"of degree {k} it must be from 0 to {k}"
            )
        given = tuple(shape_of(as_array(value)))
        if given and not (len(given) == len(shape) and all(map(same, given, shape))):
            raise ShapeError(
                f"{NAME}: a derivative at the {side} end has the shape {show(given)}; samples have "
                f"{show(shape)}"
            )
    return found


def _solved(right: Any, system: Callable[[Any], Any]) -> Any:
    rows = int(shape_of(right)[0])
    if not shape_of(right)[1:] or 0 not in shape_of(right)[1:]:
        return reshape(system(reshape(right, (rows, -1))), tuple(shape_of(right)))
    return right


def _round(x: Any, y: Any, n: int, k: int) -> tuple[Any, Any]:
    """Knots and coefficients of the periodic spline: the last k coefficients are the first ones."""
    if type(y) is np.ndarray and not np.allclose(y[0], y[-1], atol=1e-15):
        raise ValueError(f"{NAME}: the last sample of a periodic spline has to be the first")
    t = _round_knots(x, n, k)
    places = part(x, 0, n - 1)
    span = _spans(t, places, k, n + k - 1)
    wide = _spread(_basis(t, places, span, k), span, k, n + k - 1)
    turns = -(-(n + k - 1) // (n - 1))
    around = zeros((n - 1, turns * (n - 1) - (n + k - 1)), wide.dtype)
    matrix = sum_(reshape(concatenate([wide, around], 1), (n - 1, turns, n - 1)), 1)
    found = _solved(part(y, 0, n - 1), lambda right: solve(matrix, right))
    return t, take(found, np.arange(n + k - 1) % (n - 1), 0)


def _checked_knots(t: Any, x: Any, n: int, k: int) -> Any:
    t = floats(t)
    if ndim_of(t) != 1 or int(shape_of(t)[0]) < n + k + 1:
        raise ValueError(
            f"{NAME}: t has the shape {show(shape_of(t))}; for {n} samples and degree {k} it must "
            f"be a vector of at least {n + k + 1} knots"
        )
    if type(t) is np.ndarray:
        if np.any(t[1:] < t[:-1]):
            raise ValueError(f"{NAME}: t must ascend")
        if type(x) is np.ndarray and (x[0] < t[k] or x[-1] > t[-k - 1]):
            raise ValueError(f"{NAME}: x reaches beyond the base interval from t[k] to t[-k - 1]")
    return t


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """The B-spline (`BSpline`) of degree k through samples y at places x, differentiable by all of
    them, the knots and values at the ends.

    x         a vector (n,) that ascends strictly
    y         real, with n samples along `axis`
    t         knots; by default those of SciPy's
    bc_type   "not-a-knot" (None), "clamped" (no slope at the ends), "natural" (no second
              derivative), "periodic", or for both ends a name, None, or pairs of the order of a
              derivative and its value: as many in all as there are coefficients more than samples

    In a time as n, but of n^3 for a periodic spline. `check_finite` has no effect.
    ShapeError, ValueError where the arguments do not make a spline, LinAlgError where the samples
    do not determine one.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> spline = tg.interpolate.make_interp_spline(np.arange(5.0), np.arange(5.0) ** 2, k=2)
    >>> round(float(spline(2.5)), 12), round(float(spline(2.5, 1)), 12)
    (6.25, 5.0)
    """
    k, x = _degree(k), floats(x)
    front, axis = in_front(NAME, "y", floats(y), axis)
    if ndim_of(x) != 1 or not same(shape_of(x)[0], shape_of(front)[0]):
        raise ShapeError(
            f"{NAME}: x must be a vector, and y have as many samples along its axis {axis}, not "
            f"{show(shape_of(x))} and {shape_of(front)[0]}"
        )
    n, beside = int(shape_of(x)[0]), tuple(shape_of(front)[1:])
    if type(x) is np.ndarray and not np.all(np.diff(x) > 0):
        raise ValueError(f"{NAME}: x must ascend strictly")
    if k < 0 or n < min(k, 1) + 1:
        raise ValueError(
            f"{NAME}: k is {k}, and there are {n} samples; k must be from 0 on, with "
            "two samples or more (one for k=0)"
        )
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if isinstance(bc_type, str) and not periodic:
        bc_type = (bc_type, bc_type)
    if bc_type is None or periodic:
        bc_type = (None, None)
    try:
        left, right = bc_type
    except (TypeError, ValueError):
        raise ValueError(
            f"{NAME}: bc_type is {describe(bc_type)}; it must be a name or a pair for both ends"
        ) from None
    first = _conditions(left, k, "left", beside)
    last = _conditions(right, k, "right", beside)
    if periodic and k > 1:
        if t is not None:
            raise ValueError(f"{NAME}: the knots of a periodic spline follow from x; leave t out")
        knots, c = _round(x, front, n, k)
    elif (k == 0 or (k == 1 and t is None)) and not first and not last:
        if t is not None:
            raise ValueError(f"{NAME}: for k=0 the knots are the places; leave t out")
        knots = concatenate([part(x, 0, 1)] * k + [x, part(x, n - 1, 1)])
        c = front
    else:
        if t is not None:
            knots = _checked_knots(t, x, n, k)
        elif n < k + 1 and not (first or last):
            raise ValueError(f"{NAME}: {n} samples; for degree {k} it takes at least {k + 1}")
        else:
            knots = _usual_knots(x, n, k, bool(first or last))
        count = int(shape_of(knots)[0]) - k - 1
        if count - n != len(first) + len(last):
            raise ValueError(
                f"{NAME}: bc_type has {len(first)} and {len(last)} derivatives at the ends; {n} "
                f"samples for {count} coefficients leave {count - n} to be given"
            )
        span = _spans(knots, x, k, count)
        values = concatenate([
            *_end_rows(knots, part(x, 0, 1), k, count, first),
            _basis(knots, x, span, k),
            *_end_rows(knots, part(x, n - 1, 1), k, count, last),
        ])  # fmt: skip
        spans = [part(span, at, 1) for at in (0, n - 1)]
        span = concatenate([*spans[:1] * len(first), span, *spans[1:] * len(last)])
        bands = _diagonals(values, span, k, count)
        level = mul(part(front, 0, 1), 0.0)
        ends = [[add(level, v) for _, v in found] for found in (first, last)]
        c = _solved(
            concatenate([*ends[0], front, *ends[1]]),
            lambda right: solve_banded((k, k), bands, right),
        )
    made = BSpline(knots, c, k, "periodic" if periodic and k > 1 else True)
    made.axis = axis
    return made


__all__ = ["make_interp_spline"]
