"""Order statistics of Tensors, with torch's names and meaning: sorting, medians, quantiles, running
extremes, modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...dtypes import inexact
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ops.arrays.transfer import place_of, transfer
from ...ops.totals.quantiles import known, quantiles
from ...ops.totals.selection import MOST, ranked
from ...ops.totals.statistics import stop_gradient
from ...sizes import same
from ...types import normalize_axis, show
from ..numpy.laying import laid
from .casts import titled
from .numbers import dim_of, numbers_too


class Extremes(NamedTuple):
    """What `x.max(dim)` returns, and others that pick elements: their values and where they
    stood."""

    values: Any
    indices: Any


def _picked(x: Any, indices: Any, dim: int, keepdim: bool, title: str) -> Extremes:
    """The elements at `indices`, of size 1 along `dim`."""
    values = ops.take_along_axis(x, indices, dim)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return Extremes(titled(values, title, x), indices)


def _places(x: Any, ranks: Sequence[Any], axis: int) -> Any:
    """Where the elements stand that have these places in the order along an axis; of each there is
    one, or one for each lane."""
    lanes = ops.moveaxis(x, axis, -1)
    lead = lanes.shape[:-1]
    ranks = [
        ops.broadcast_to(r if np.ndim(r) < 2 else ops.moveaxis(r, axis, -1), (*lead, 1))
        for r in ranks
    ]
    return ops.moveaxis(ranked(lanes, ops.concatenate(ranks, -1)), -1, axis)


def _at_places(x: Any, ranks: Sequence[Any], axis: int) -> list[Any]:
    """The elements themselves, by sorting where they are many."""
    if len(ranks) > MOST:
        ordered = x.sort(axis).values
        return [ops.take_along_axis(ordered, rank, axis) for rank in ranks]
    found = ops.take_along_axis(x, _places(x, ranks, axis), axis)
    return [found.narrow(axis, k, 1) for k in range(len(ranks))]


def _without_dimensions(x: Any, *dims: int) -> bool:
    """Whether `x` is a number, of which torch names the dimensions 0 and -1."""
    if x.ndim:
        return False
    for dim in dims:
        if normalize_axis(dim, 1):
            raise ShapeError(f"dimension {dim} is out of range for a tensor without dimensions")
    return True


def _numpys(dim: Any, keepdim: Any, axis: Any, keepdims: Any) -> tuple[Any, Any]:
    """`dim` and `keepdim`, where NumPy's words were said for them, as torch allows."""
    if (dim is not None and axis is not None) or (keepdim and keepdims is not None):
        raise TypeError(
            "dim and axis mean the same, and so do keepdim and keepdims: give one of them"
        )
    return dim if axis is None else axis, bool(keepdim) if keepdims is None else keepdims


class TensorOrders(Value):
    """Methods that ask for the order of elements. NaN counts as largest, except where it is
    said."""

    __slots__ = ()

    def max(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        other: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """The largest element; with `dim` (values, indices), with another tensor the elementwise
        maximum."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return self._extreme(
            ops.max, ops.argmax, ops.maximum, other if dim is None else dim, keepdim
        )

    def min(
        self: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        other: Any = None,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """The smallest element; with `dim` (values, indices), with another tensor the elementwise
        minimum."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return self._extreme(
            ops.min, ops.argmin, ops.minimum, other if dim is None else dim, keepdim
        )

    def _extreme(
        self: Any, reduce: Any, position: Any, between: Any, dim: Any, keepdim: bool
    ) -> Any:
        if dim is None:
            return reduce(self)
        if isinstance(dim, Value):
            return between(self, dim)
        if _without_dimensions(self, dim):
            return Extremes(self.clone(), self.face(np.array(0)))
        title = "MaxBackward0" if reduce is ops.max else "MinBackward0"
        return _picked(self, position(self, axis=dim, keepdims=True), dim, keepdim, title)

    @numbers_too
    def cummax(self: Any, dim: int) -> Extremes:
        """Running maxima along a dimension, and their positions."""
        return Extremes(*ops.cummax(self, axis=dim))

    @numbers_too
    def cummin(self: Any, dim: int) -> Extremes:
        """Running minima along a dimension, and their positions."""
        return Extremes(*ops.cummin(self, axis=dim))

    @numbers_too
    def topk(
        self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> Extremes:
        """(values, indices) of the k largest or smallest along a dimension."""
        return Extremes(*ops.topk(self, k, dim, largest, sorted))

    def sort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Extremes:
        """(values, indices) in ascending or descending order, in which equal elements keep
        theirs."""
        if _without_dimensions(self, dim):
            return Extremes(self.clone(), self.face(np.array(0)))
        indices = laid(ops.argsort(self, dim, descending), "K", self)
        values = laid(ops.take_along_axis(self, indices, dim, unique=True), "K", self)
        return Extremes(titled(values, "SortBackward0", self), indices)

    def argsort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
        """The indices that sort along a dimension."""
        return self.sort(dim, descending).indices

    def msort(self: Any) -> Any:
        """Sorted along the first dimension."""
        return self.sort(0).values

    @numbers_too
    def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Extremes:
        """(value, index) of the k-th smallest element along a dimension, counted from 1.

        >>> import tracegrad as tg
        >>> tg.tensor([3.0, 1.0, 2.0]).kthvalue(2).values
        tensor(2.)
        """
        axis = normalize_axis(dim, self.ndim)
        if not 1 <= k <= self.shape[axis]:
            raise RuntimeError(
                f"kthvalue(): selected number k={k} out of range for dimension {dim} "
                f"of size {self.shape[axis]}"
            )
        indices = _places(self, [np.array([k - 1])], axis)
        return _picked(self, indices, axis, keepdim, "KthvalueBackward0")

    @numbers_too
    def median(
        self: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """The middle element, the lower of two, as torch has it; NaN where one element is. With
        `dim` (values, indices) along it; without, equal elements share the gradient.

        >>> import tracegrad as tg
        >>> tg.tensor([[1.0, 4.0, 2.0, 3.0]]).median(1).values
        tensor([2.])
        """
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return self._middle(dim, keepdim, "MedianBackward", skip_nan=False)

    @numbers_too
    def nanmedian(
        self: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: Any = None,
    ) -> Any:
        """The middle one of the elements that are not NaN, the lower of two; as `median`
        otherwise."""
        if axis is not None or keepdims is not None:
            dim, keepdim = _numpys(dim, keepdim, axis, keepdims)
        return self._middle(dim, keepdim, "NanmedianBackward", skip_nan=True)

    def _middle(self: Any, dim: int | None, keepdim: bool, title: str, skip_nan: bool) -> Any:
        x = self if dim is not None else ops.reshape(self, (-1,))
        axis = 0 if dim is None else normalize_axis(dim, self.ndim)
        size = x.shape[axis]
        if same(size, 0):
            if dim is None:
                return self.face(np.array(np.nan, self.dtype))
            raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
        lost = ops.sum(ops.isnan(x), axis=axis, keepdims=True)
        if skip_nan:
            place = ops.floor_divide(ops.maximum(size - lost, 1) - 1, 2)
        else:
            # The first NaN in the order stands behind all numbers.
            place = ops.where(lost > 0, size - lost, (size - 1) // 2)
        indices = _places(x, [place], axis)
        if dim is not None:
            return _picked(self, indices, axis, keepdim, title + "1")
        value = stop_gradient(ops.take_along_axis(x, indices, axis)[0])
        alike = ops.logical_or(ops.equal(x, value), ops.logical_and(ops.isnan(x), ops.isnan(value)))
        if self.dtype.kind != "f":
            return value
        many = ops.convert(ops.sum(alike), self.dtype)
        shares = ops.convert(alike, self.dtype) / many
        # The value itself, whose gradient goes in equal shares to all elements that have it.
        exact = value + ops.sum(ops.where(alike, x - stop_gradient(x), 0) * shares)
        not_finite = ops.sum(ops.where(alike, x, 0) * shares)
        return titled(ops.where(ops.isfinite(value), exact, not_finite), title + "0", self)

    def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Extremes:
        """(value, index) of the element that is most frequent along a dimension, the smallest of
        several, and the last of its places."""
        if _without_dimensions(self, dim):
            return Extremes(self.clone(), self.face(np.array(0)))
        axis = normalize_axis(dim, self.ndim)
        data = np.moveaxis(
            self._concrete("mode()", "Count with tg.sum(x == value) instead."), axis, -1
        )
        order = np.argsort(data, -1, kind="stable")
        lanes = np.take_along_axis(data, order, -1)
        first = np.concatenate(
            [np.ones((*lanes.shape[:-1], 1), bool), lanes[..., 1:] != lanes[..., :-1]], -1
        )
        places = np.arange(lanes.shape[-1])
        run = places - np.maximum.accumulate(np.where(first, places, 0), -1)
        # Of the longest run the last element, and of several the one that comes first.
        indices = np.take_along_axis(order, np.argmax(run, -1)[..., None], -1)
        chosen = transfer(self.face(np.moveaxis(indices, -1, axis)), place_of(self))
        return _picked(self, chosen, axis, keepdim, "ModeBackward0")

    def quantile(
        self: Any,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Any:
        """The values below which the fractions `q` of the elements lie."""
        # At a whole place torch takes the element there alone, NumPy adds 0 times the next one.
        weak = type(q) in (int, float)
        dim = dim_of(self, dim)
        return quantiles(self, known(q), weak, dim, keepdim, interpolation, above=np.ceil)

    def nanquantile(
        self: Any,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Any:
        """As `quantile`, of the elements that are not NaN."""
        if interpolation != "linear":
            raise NotImplementedError(
                f"nanquantile: interpolation is 'linear', not {interpolation!r}"
            )
        dim = dim_of(self, dim)
        # Between two integers lie fractions.
        x = ops.convert(self, inexact(self.dtype))
        x, axis = (x, normalize_axis(dim, self.ndim)) if dim is not None else (x.reshape(-1), 0)
        count = ops.sum(ops.logical_not(ops.isnan(x)), axis=axis, keepdims=True)
        several = getattr(q, "shape", ()) != ()
        fractions = list(q) if several else [q]
        ats = [ops.maximum(count - 1, 0) * fraction for fraction in fractions]
        lows = [ops.convert(ops.floor(at), np.int64) for at in ats]
        highs = [ops.minimum(low + 1, ops.maximum(count - 1, 0)) for low in lows]
        values = _at_places(x, [*lows, *highs], axis)
        parts = []
        for at, low, a, b in zip(ats, lows, values, values[len(ats) :], strict=False):
            part = a + (b - a) * ops.convert(at - low, x.dtype)
            if dim is None:
                part = ops.reshape(part, (1,) * self.ndim if keepdim else ())
            parts.append(part if keepdim or dim is None else ops.squeeze(part, axis))
        return titled(ops.stack(parts) if several else parts[0], "NanquantileBackward0", self)

    def unique_consecutive(
        self: Any, return_inverse: bool = False, return_counts: bool = False
    ) -> Any:
        """The elements without repetitions of the one before, where each of all stands among them,
        and how often each is repeated."""
        data = self._concrete("unique_consecutive()", "Its size depends on the values.")
        flat = data.reshape(-1)
        first = np.ones(flat.shape, bool)
        first[1:] = flat[1:] != flat[:-1]
        inverse = (np.cumsum(first) - 1).reshape(data.shape)
        counts = np.diff(np.append(np.flatnonzero(first), flat.size))
        chosen = [
            flat[first],
            *([inverse] if return_inverse else []),
            *([counts] if return_counts else []),
        ]
        boxes = tuple(transfer(self.face(c), place_of(self)) for c in chosen)
        return boxes if len(boxes) > 1 else boxes[0]

    def histc(self: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
        """How many elements lie in each of `bins` equal intervals of [min, max] (all elements where
        both are 0); those outside are not counted."""
        data = self._concrete("histc()", "Count with tg.sum of comparisons instead.")
        low, high = (
            (min, max) if (min, max) != (0, 0) or not data.size else (data.min(), data.max())
        )
        if low == high:
            low, high = low - 1, high + 1
        if not low < high:
            raise RuntimeError(f"histc: max must be larger than min, but they are {high} and {low}")
        # Small integers could not count far.
        kind = self.dtype if self.dtype.kind == "f" else np.int64
        counts = np.histogram(data.astype(kind), int(bins), (low, high))[0]
        return transfer(self.face(counts.astype(kind)), place_of(self))

    def logcumsumexp(self: Any, dim: int) -> Any:
        """Logarithms of the running sums of exponentials along a dimension.

        >>> import tracegrad as tg
        >>> tg.tensor([0.0, 0.0, 0.0]).logcumsumexp(0)
        tensor([0.0000, 0.6931, 1.0986])
        """
        if _without_dimensions(self, dim):
            return self.clone()
        axis = normalize_axis(dim, self.ndim)
        size = self.shape[axis]
        if not isinstance(size, int):
            raise RuntimeError(
                f"logcumsumexp: dimension {dim} of shape {show(self.shape)} must have a known size"
            )
        # Doubling: each pass joins runs of twice the length, and every sum is relative to its own
        # largest.
        total, width = self, 1
        while width < size:
            joined = ops.logaddexp(
                total.narrow(axis, width, size - width), total.narrow(axis, 0, size - width)
            )
            total = ops.concatenate([total.narrow(axis, 0, width), joined], axis)
            width *= 2
        return titled(total, "LogcumsumexpBackward0", self)
