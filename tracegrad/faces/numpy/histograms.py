"""NumPy's histograms: counts, or sums of weights, of samples between edges. Differentiable in the
weights; by samples and edges the counts are constant."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...ops.define import ndim_of, shape_of
from ...ops.places.along import index_add
from ...sizes import numel, same
from ..operators import array_of, operand
from .counting import known
from .lookup import plain, result_type, tracked, unsupported


def _even(name: str, x: Any, bins: Any, range: Any, like: tuple[Any, ...]) -> Any:
    """Edges of so many bins of one width, from the least sample to the largest or in a range, as
    floats of the kind that these and `like` have."""
    count = operator.index(known(name, "bins", bins)[()])
    if count < 1:
        raise ValueError(f"bins is {count}; it must be at least 1")
    if not (range is None or hasattr(range, "__len__")):
        raise TypeError(f"range is {describe(range)}; it must be two numbers, or None")
    none = numel(shape_of(x)) == 0
    low, high = (0.0, 1.0) if none else (ops.min(x), ops.max(x))
    if range is not None:
        low, high = range
        falls = low > high
        if not isinstance(falls, Value) and falls:
            raise ValueError(f"{user_line()}: {name}: range is {range}, which goes down")
    flat = low == high
    if isinstance(flat, Value):
        low, high = ops.where(flat, low - 0.5, low), ops.where(flat, high + 0.5, high)
    elif flat:
        low, high = low - 0.5, high + 0.5
    kind = result_type(low, high, *like)
    return ops.linspace(low, high, count + 1, dtype=kind if kind.kind == "f" else None)


def _edges(name: str, x: Any, bins: Any, range: Any, like: tuple[Any, ...] = ()) -> Any:
    """The edges that `bins` says: how many bins, or the edges themselves."""
    if isinstance(bins, str):
        raise unsupported(name, f" with bins={bins!r}")
    if ndim_of(operand(bins)) == 0:
        return _even(name, x, bins, range, like)
    edges = array_of(bins)
    if ndim_of(edges) != 1:
        raise ValueError(f"{user_line()}: {name}: bins must be a number or a vector of edges")
    if not tracked(edges) and np.any(plain(edges)[:-1] > plain(edges)[1:]):
        raise ValueError(f"{user_line()}: {name}: bins must not go down")
    return edges


def _places(x: Any, edges: Any, count: int) -> tuple[Any, Any]:
    """The bin of each sample and whether it is in one; the last edge belongs to the last bin."""
    place = ops.searchsorted(edges, ops.convert(x, result_type(edges, x)), "right") - 1
    inside = ops.logical_and(place >= 0, ops.logical_or(place < count, x == edges[-1]))
    return ops.clip(place, 0, count - 1), inside


def _weights(weights: Any, shape: Any) -> Any:
    given = ops.reshape(array_of(weights), -1)
    if not (len(shape) == 1 and same(shape_of(given)[0], shape[0])):
        raise ShapeError(f"weights have the shape {shape_of(given)} for {shape} elements")
    return given


def _amounts(inside: Any, weights: Any, shape: Any) -> Any:
    """What each sample counts."""
    if weights is None:
        return ops.convert(inside, np.int64)
    given = _weights(weights, shape)
    return ops.where(inside, given, given.dtype.type(0))


def _given(edges: Any) -> Any:
    return edges if isinstance(edges, Value) else np.asarray(edges)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges alone."""
    x = ops.reshape(array_of(a), -1)
    if weights is not None:
        _weights(weights, shape_of(x))
    return _given(_edges("np.histogram_bin_edges", x, bins, range, (x,)))


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts in the bins, and the edges of these."""
    x = ops.reshape(array_of(a), -1)
    edges = _edges("np.histogram", x, bins, range, (x,))
    count = int(edges.shape[0]) - 1
    place, inside = _places(x, edges, count)
    amount = _amounts(inside, weights, shape_of(x))
    found = index_add(np.zeros(count, amount.dtype), 0, place, amount)
    if density:
        found = found / ops.convert(ops.diff(edges), np.float64) / ops.sum(found)
    return found, _given(edges)


_axes = range  # which stands for limits below


def _length(given: Any) -> int | None:
    """How many there are in a sequence; None of a number."""
    if isinstance(given, (tuple, list)):
        return len(given)
    return int(shape_of(array_of(given))[0]) if ndim_of(operand(given)) else None


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts of points (n, d) in boxes, as floats, and the edges along each of the d axes. A tuple
    or list of d vectors holds the points as well."""
    x = ops.stack([array_of(s) for s in sample], -1) if isinstance(sample, (tuple, list)) else None
    x = array_of(sample) if x is None else x
    x = ops.expand_dims(x, -1) if ndim_of(x) == 1 else x
    if ndim_of(x) != 2:
        raise ShapeError(f"np.histogramdd: points must be (n, d), not of shape {shape_of(x)}")
    n, d = shape_of(x)
    each = [bins] * d if _length(bins) is None else list(bins)
    ranges = [None] * d if range is None else list(range)
    for word, given in (("bins", each), ("ranges", ranges)):
        if len(given) != d:
            raise ValueError(f"np.histogramdd: {len(given)} {word} for points of {d} numbers")
    edges, sizes = [], []
    total, inside = ops.zeros((n,), dtype=np.int64), ops.full((n,), True)
    for k, (asked, limits) in enumerate(zip(each, ranges, strict=True)):
        column = x[:, k]
        own = _edges("np.histogramdd", column, asked, limits)
        size = int(own.shape[0]) - 1
        place, within = _places(column, own, size)
        total, inside = total * size + place, ops.logical_and(inside, within)
        edges.append(_given(own))
        sizes.append(size)
    amount = ops.convert(_amounts(inside, weights, (n,)), np.float64)
    found = index_add(np.zeros(int(np.prod(sizes))), 0, total, amount)
    found = ops.reshape(found, tuple(sizes))
    if density:
        whole = ops.sum(found)
        for k, own in enumerate(edges):
            widths = ops.reshape(ops.diff(own), [-1 if j == k else 1 for j in _axes(d)])
            found = found / widths
        found = found / whole
    return found, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts of pairs, and the edges along both axes."""
    across, up = array_of(x), array_of(y)
    if not same(shape_of(across)[0], shape_of(up)[0]):
        raise ValueError("np.histogram2d: x and y must be of one length")
    if _length(bins) not in (None, 1, 2):
        bins = [bins, bins]  # edges for both
    found, edges = histogramdd((across, up), bins, range, density, weights)
    return found, edges[0], edges[1]
