"""B-splines through the values of a grid: coefficients, and values at places between, with the
boundaries of scipy.ndimage.

The coefficients are exact for every boundary; SciPy 1.17's, of grids of few elements that are
reflected ("reflect", "grid-mirror", "nearest"), are off by up to 1e-4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.concatenation import concatenate
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import cut
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import equal, greater, greater_equal, less, sub, where
from ..elementwise.comparison import clip, floor
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import logical_and, logical_or
from ..elementwise.remainders import mod
from ..places.along import take
from ..totals.reductions import sum as sum_
from .filters import recursive_filter

MODES = (
    "reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap",
)  # fmt: skip
ORDERS = (0, 1, 2, 3, 4, 5)
POLES: dict[int, tuple[float, ...]] = {
    2: (math.sqrt(8.0) - 3.0,),
    3: (math.sqrt(3.0) - 2.0,),
    4: (
        math.sqrt(664.0 - math.sqrt(438976.0)) + math.sqrt(304.0) - 19.0,
        math.sqrt(664.0 + math.sqrt(438976.0)) - math.sqrt(304.0) - 19.0,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}
"""Of the recursions that give the coefficients of each order (Unser, Aldroubi and Eden 1993)."""
MARGIN = 12
"""As far as SciPy continues an array whose boundary has no exact recursion."""


def boundary(mode: str) -> str:
    """The boundary of the spline itself: where SciPy has none for a mode, it mirrors."""
    if mode in ("constant", "wrap"):
        return "mirror"
    return "reflect" if mode == "grid-mirror" else mode


def coefficients(
    x: Any, order: int, mode: str, cval: Any, count: int | None = None
) -> tuple[Any, int]:
    """The coefficients of the spline of that order along all axes, or the first `count`, and by how
    many elements they go beyond x on each side."""
    if order < 2:
        return x, 0
    margin = MARGIN if mode in ("nearest", "grid-constant") else 0
    axes = range(ndim_of(x) if count is None else count)
    for axis in axes:
        n = int(shape_of(x)[axis])
        if mode == "nearest":
            x = take(x, np.pad(np.arange(n), margin, mode="edge"), axis)
        elif mode == "grid-constant":
            shape = (*shape_of(x)[:axis], margin, *shape_of(x)[axis + 1 :])
            side = mul(np.ones(shape, x.dtype), cval)
            x = concatenate([side, x, side], axis)
    for axis in axes:
        x = along_one(x, axis, boundary(mode), order)
    return x, margin


def _weights(n: int, mode: str, pole: float) -> tuple[Any, Any]:
    """The first value of the recursion forwards as a sum of all elements, and the first one of that
    backwards as a sum of the last results (Unser 1999; the boundaries as SciPy has them)."""
    powers = pole ** np.arange(n, dtype=np.float64)
    first, last = powers.copy(), np.zeros(n)
    if mode in ("reflect", "nearest"):
        all_ = pole**n
        first = (powers + all_ * powers[::-1]) * pole / (1 - all_ * all_)
        first[0] += 1
        last[-1] = pole / (pole - 1)
    elif mode == "grid-wrap":
        first[1:] = powers[:0:-1]
        first /= 1 - pole**n
        last[-1], last[:-1] = 1.0, pole * powers[:-1]
        last *= pole / (pole**n - 1)
    else:
        most = pole ** (n - 1)
        first[1:-1] += most * powers[1:-1][::-1]
        first /= 1 - most * most
        last[-2:] = pole * pole, pole
        last /= pole * pole - 1
    return first, last


def along_one(x: Any, axis: int, mode: str, order: int = 3) -> Any:
    """The coefficients of splines of an order from 2 on, along one axis."""
    n = int(shape_of(x)[axis])
    if n < 2:
        return x
    moved = moveaxis(x, axis, -1)
    shape = tuple(shape_of(moved))
    rows = reshape(moved, (1, -1, n))
    for pole in POLES[order]:
        rows = mul(rows, (1 - pole) * (1 - 1 / pole))
        first, last = _weights(n, mode, pole)
        before = np.full((1, 1), -pole, x.dtype)
        start = sum_(mul(rows, first.astype(x.dtype)), 2, keepdims=True)
        up = recursive_filter(before, concatenate([start, cut(rows, 2, 1, n - 1)], 2))
        end = sum_(mul(up, last.astype(x.dtype)), 2, keepdims=True)
        back = concatenate([mul(cut(up, 2, 0, n - 1), -pole), end], 2)
        rows = recursive_filter(before, back, True)
    return moveaxis(reshape(rows, shape), -1, axis)


def _folded(at: Any, n: int, mode: str) -> Any:
    """Places beyond the ends of n elements as places within that have the same value."""
    if n == 1 and mode not in ("constant", "grid-constant", "nearest"):
        return mul(at, 0)
    if mode == "nearest":
        # The coefficients go on, not the values: what lies a support beyond the ends is level.
        return clip(at, -7.0, n + 6.0)
    if mode == "mirror":
        t = mod(at, 2 * n - 2)
        return where(greater(t, n - 1), sub(2 * n - 2, t), t)
    if mode == "reflect":
        t = mod(add(at, 0.5), 2 * n)
        return sub(where(greater(t, n), sub(2 * n, t), t), 0.5)
    if mode == "grid-wrap":
        return mod(at, n)
    if mode == "wrap":
        t = mod(at, n - 1)
        t = where(logical_and(less(at, 0), equal(t, 0)), n - 1.0, t)
        inside = logical_and(greater_equal(at, 0), less(at, n - 1 + 1e-300))
        return where(logical_or(inside, equal(at, n - 1)), at, t)
    return at


def _folded_indices(at: Any, n: int, mode: str) -> Any:
    """The same of integers."""
    if n == 1 or mode == "nearest" or mode == "grid-constant":
        return clip(at, 0, n - 1)
    if mode == "mirror":
        t = mod(at, 2 * n - 2)
        return where(greater(t, n - 1), sub(2 * n - 2, t), t)
    if mode == "reflect":
        t = mod(at, 2 * n)
        return where(greater_equal(t, n), sub(2 * n - 1, t), t)
    return mod(at, n)


def support(at: Any, n: int, margin: int, order: int, mode: str) -> tuple[Any, Any, Any, Any]:
    """For places along an axis of n elements (and the margin on both sides): which coefficients are
    read (a last axis more), their weights, which of them are beyond the ends of a grid that is
    constant there, and which places are beyond those of an array that has one value there."""
    outside = None
    if mode == "constant":
        outside = logical_or(less(at, 0), greater(at, n - 1))
        at = clip(at, 0, n - 1)
    at = _folded(
        add(at, float(margin)), n + 2 * margin, "reflect" if mode == "grid-mirror" else mode
    )
    n = n + 2 * margin
    # Between the knots, which splines of even orders have halfway between the elements.
    half = 0.0 if order % 2 else 0.5
    low = floor(add(at, half))
    first = sub(low, float(order // 2))
    weights = basis(sub(add(at, half), low), order)
    count = order + 1
    steps = np.arange(count)
    index = add(convert(reshape(first, (*shape_of(first), 1)), np.int64), steps)
    beyond = None
    if mode == "grid-constant":
        beyond = logical_or(less(index, 0), greater(index, n - 1))
    stacked = concatenate([reshape(w, (*shape_of(w), 1)) for w in weights], -1)
    return _folded_indices(index, n, boundary(mode)), stacked, beyond, outside


def basis(t: Any, order: int) -> list[Any]:
    """The values of the order + 1 B-splines over knots of distance 1 that are not 0 at t, from 0 to
    1 behind a knot (Cox and de Boor)."""
    found = [add(mul(t, 0.0), 1.0)]
    for degree in range(1, order + 1):
        parts = [mul(f, 1.0 / degree) for f in found]
        found = [mul(sub(1.0, t), parts[0])]
        for r in range(1, degree):
            left, right = add(t, float(degree - r)), sub(float(r + 1), t)
            found.append(add(mul(left, parts[r - 1]), mul(right, parts[r])))
        found.append(mul(t, parts[-1]))
    return found


def check_mode(name: str, mode: Any, allowed: tuple[str, ...] = MODES) -> str:
    if not isinstance(mode, str) or mode not in allowed:
        raise ValueError(f"{name}: mode is {mode!r}; it must be one of {', '.join(allowed)}")
    return mode


def at_places(
    x: Any, places: list[Any], lengths: tuple[int, ...], margin: int, order: int, mode: str,
    cval: Any,
) -> Any:  # fmt: skip
    """The spline with coefficients x at places, one array of them (p,) for each of the first axes;
    further ones stay as they are."""
    ndim = len(lengths)
    flat: Any = 0
    weight: Any = 1.0
    missing: Any = None
    outside: Any = None
    sizes, beside = [int(n) for n in shape_of(x)[:ndim]], tuple(shape_of(x)[ndim:])
    ones = (1,) * len(beside)
    for k, at in enumerate(places):
        index, w, beyond, out = support(at, lengths[k], margin, order, mode)
        shape = (-1, *[order + 1 if j == k else 1 for j in range(ndim)])
        flat = add(flat, mul(reshape(index, shape), math.prod(sizes[k + 1 :])))
        weight = mul(weight, reshape(w, (*shape, *ones)))
        if beyond is not None:
            beyond = reshape(beyond, (*shape, *ones))
            missing = beyond if missing is None else logical_or(missing, beyond)
        if out is not None:
            out = reshape(out, (-1, *ones))
            outside = out if outside is None else logical_or(outside, out)
    values = take(reshape(x, (-1, *beside)), flat, 0)
    if missing is not None:
        values = where(missing, x.dtype.type(cval), values)
    found = sum_(mul(values, weight), tuple(range(1, ndim + 1)))
    return found if outside is None else where(outside, x.dtype.type(cval), found)


__all__ = ["MODES", "ORDERS", "along_one", "at_places", "check_mode", "coefficients", "support"]
