"""Filters between two rates of sampling, with scipy.signal's names.

All phases of the filter are one matrix, by which windows of the signal are multiplied: `up` outputs
(or fewer, where up and down have a factor in common) read one window, and the next ones a window
that begins so many samples later.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..._codegen import loading
from ...checks import describe
from ...dtypes import FLOAT64, promote
from ...errors import ShapeError
from ...types import show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import cut, embed
from ..arrays.windows import windows
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, sub
from ..elementwise.derived import add, convert, mul
from ..matrices.products import matmul
from ..places.along import take
from ..totals.quantiles import median
from ..totals.reductions import max as max_
from ..totals.reductions import min as min_
from ..totals.statistics import mean
from .spectra import _series

MODES = (
    "constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect",
    "line",
)  # fmt: skip
KINDS = {"f": "biuf", "c": "biufc"}
LEVELS = {"mean": mean, "median": median, "minimum": min_, "maximum": max_}


def _factor(name: str, word: str, n: Any) -> int:
    try:
        found = operator.index(n)
    except TypeError:
        found = int(n) if isinstance(n, (float, np.floating)) and n == int(n) else 0
    if found < 1:
        raise ValueError(f"{name}: {word} is {describe(n)}; it must be a known integer from 1 on")
    return found


def _filter(name: str, word: str, h: Any) -> Any:
    h = as_array(h)
    if ndim_of(h) != 1 or not isinstance(shape_of(h)[0], int) or not shape_of(h)[0]:
        raise ShapeError(
            f"{name}: {word} has the shape {show(shape_of(h))}; it must be a vector of at least "
            "one element, of a known size"
        )
    return h


def _part(x: Any, start: int, size: int) -> Any:
    return cut(x, ndim_of(x) - 1, start, size)


def _mirrored(x: Any, places: Any, n: int, mode: str) -> Any:
    """Values at places beyond the ends of a signal that goes on as its mirror images."""
    if mode in ("symmetric", "antisymmetric"):
        period, back = np.divmod(places, n)
        odd = period % 2 == 1
        found = take(x, np.where(odd, n - 1 - back, back), -1)
        return mul(found, np.where(odd, -1.0, 1.0).astype(x.dtype)) if mode[0] == "a" else found
    if n == 1:
        return take(x, np.zeros_like(places), -1)
    period, back = np.divmod(places, n - 1)
    odd = period % 2 == 1
    found = take(x, np.where(odd, n - 1 - back, back), -1)
    if mode == "reflect":
        return found
    # Each period goes on from the end of the one before, turned by half about it.
    first, last = _part(x, 0, 1), _part(x, n - 1, 1)
    rise = mul(sub(last, first), period.astype(x.dtype))
    other = sub(add(first, last), found)
    share = odd.astype(x.dtype)
    return add(add(mul(found, 1 - share), mul(other, share)), rise)


def _extended(x: Any, before: int, after: int, mode: str, cval: Any) -> Any:
    """The signal along the last axis with what it is taken to be around it."""
    if mode == "constant" and (
        ndim_of(cval) or as_array(cval).dtype.kind not in KINDS[x.dtype.kind]
    ):
        raise ValueError(f"upfirdn: cval is {describe(cval)}; it must be one number of x's kind")
    n, last = shape_of(x)[-1], ndim_of(x) - 1
    shape = (*shape_of(x)[:-1], before + n + after)
    if mode == "constant" and type(cval) in (int, float) and cval == 0:
        return embed(x, shape, [before if k == last else 0 for k in range(last + 1)])
    sides = []
    for places in (np.arange(-before, 0), np.arange(n, n + after)):
        if mode == "constant":
            beside = add(zeros((*shape[:-1], len(places)), x.dtype), cval)
        elif mode == "edge":
            beside = take(x, np.clip(places, 0, n - 1), -1)
        elif mode == "wrap":
            beside = take(x, places % n, -1)
        elif mode in ("smooth", "line"):
            if n < 2:
                raise ShapeError(f'upfirdn: one sample has no slope, which mode="{mode}" takes')
            here = 0 if len(places) and places[0] < 0 else n - 1
            low, high = (0, n - 1) if mode == "line" else (0, 1) if not here else (n - 2, n - 1)
            slope = div(sub(_part(x, high, 1), _part(x, low, 1)), float(high - low))
            steps = (places - here).astype(x.dtype)
            beside = add(_part(x, here, 1), mul(slope, steps))
        else:
            beside = _mirrored(x, places, n, mode)
        sides.append(convert(beside, x.dtype))
    return concatenate([sides[0], x, sides[1]], -1)


def _resampled(h: Any, x: Any, up: int, down: int, mode: str, cval: Any) -> Any:
    """The outputs for a signal along the last axis."""
    taps, n = shape_of(h)[0], shape_of(x)[-1]
    count = ((n - 1) * up + taps - 1) // down + 1
    shared = math.gcd(up, down)
    phases, step = min(up // shared, count), down // shared
    groups = -(-count // phases)
    # Output k of a group reads sample (k * down) // up and the ones before it.
    reach = -(-taps // up)
    at = np.arange(phases) * down
    newest, phase = at // up, at % up
    size = int(newest[-1]) + reach
    back = newest + reach - 1 - np.arange(size)[:, None]
    tap = phase + back * up
    inside = (back >= 0) & (tap < taps)
    weights = take(concatenate([h, zeros((1,), h.dtype)]), np.where(inside, tap, taps), 0)
    length = (groups - 1) * step + size
    after = length - (reach - 1) - n
    whole = _extended(x, reach - 1, max(after, 0), mode, cval)
    last = ndim_of(x) - 1
    rows = moveaxis(windows(_part(whole, 0, length), last, size, step), last, -1)
    found = reshape(matmul(rows, weights), (*shape_of(x)[:-1], groups * phases))
    return _part(found, 0, count)


def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: Any = 0,
) -> Any:  # fmt: skip
    """The signal x along an axis with `up - 1` zeros after each sample, filtered with h, of which
    every `down`th element is left. h of shape (taps,), x of any shape with samples along `axis`,
    real or complex (integers are converted to float64); differentiable by both. mode: what x is
    beyond its ends, "constant" (`cval`), "edge", "wrap", "symmetric", "reflect", "antisymmetric",
    "antireflect", "smooth" or "line". A NaN reaches outputs beside those that read it, too.
    ShapeError for an h that is no vector, ValueError for rates below 1 and unknown modes.

    >>> import tracegrad as tg
    >>> tg.signal.upfirdn([1.0, 1.0], [1.0, 2.0, 3.0], up=2)
    array([1., 1., 2., 2., 3., 3.])
    """
    up, down = _factor("upfirdn", "up", up), _factor("upfirdn", "down", down)
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"upfirdn: mode is {describe(mode)}; it must be one of {', '.join(MODES)}")
    h = _filter("upfirdn", "h", h)
    given = as_array(x)
    x, _ = _series("upfirdn", "x", given, axis)
    dtype = promote(x.dtype, h.dtype if h.dtype.kind in "fc" else FLOAT64)
    found = _resampled(convert(h, dtype), convert(x, dtype), up, down, mode, cval)
    return moveaxis(found, -1, axis % ndim_of(given))


def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
    padtype: str = "constant", cval: Any = None,
) -> Any:  # fmt: skip
    """The signal x along an axis at `up / down` times its rate, by a filter of zero phase
    (`upfirdn`). x of any shape, real or complex; of n samples `ceil(n * up / down)` are left.
    window: a name or tuple of `scipy.signal.get_window` for a low-pass filter of 20 * max(up, down)
    + 1 taps, or the filter itself, a vector (differentiable, too). padtype: what x is beyond its
    ends, a mode of `upfirdn` or a level that is taken off before, "mean", "median", "minimum",
    "maximum". ValueError for rates below 1, unknown padtypes, and a cval without "constant".

    >>> import tracegrad as tg
    >>> tg.signal.resample_poly([0.0, 1.0, 2.0, 3.0], 1, 2, padtype="line").round(6)
    array([0., 2.])
    """
    name = "resample_poly"
    up, down = _factor(name, "up", up), _factor(name, "down", down)
    if not isinstance(padtype, str) or padtype not in (*LEVELS, *MODES):
        words = ", ".join((*LEVELS, *MODES))
        raise ValueError(f"{name}: padtype is {describe(padtype)}; it must be one of {words}")
    if cval is not None and padtype != "constant":
        raise ValueError(f'{name}: cval is for padtype="constant", not for "{padtype}"')
    shared = math.gcd(up, down)
    up, down = up // shared, down // shared
    given = as_array(x)
    x, n = _series(name, "x", given, axis)
    place = axis % ndim_of(given)
    if up == down:
        return moveaxis(x, -1, place) if given.dtype.kind in "fc" else mul(given, 1)
    wide = max(up, down)
    if isinstance(window, (str, tuple)):
        h = loading.imported("scipy.signal").firwin(20 * wide + 1, 1.0 / wide, window=window)
        h, half = h.astype(np.finfo(x.dtype).dtype) * x.dtype.type(up).real, 10 * wide
    else:
        h = _filter(name, "window", window)
        half = (shape_of(h)[0] - 1) // 2
        h = mul(h if h.dtype.kind in "fc" else convert(h, FLOAT64), up)
    dtype = promote(x.dtype, h.dtype)
    h, x = convert(h, dtype), convert(x, dtype)
    count = -(-n * up // down)
    ahead = down - half % down
    first = (half + ahead) // down
    taps = shape_of(h)[0] + ahead
    short = (first + count - 1) * down + 1 - (n - 1) * up
    taps = max(taps, short)
    h = embed(h, (taps,), [ahead])
    level = LEVELS[padtype](x, axis=-1, keepdims=True) if padtype in LEVELS else None
    if level is not None:
        x, padtype = sub(x, level), "constant"
    found = _resampled(h, x, up, down, padtype, 0 if cval is None else cval)
    found = _part(found, first, count)
    return moveaxis(found if level is None else add(found, level), -1, place)


__all__ = ["resample_poly", "upfirdn"]
