"""Quantiles and medians over axes, with NumPy's methods, of all elements or of those that are not
NaN.

NaN comes last in the order of the elements. A quantile lies at a place among them that is no
whole number, between the elements below and above it. How many elements count is known, or, where
NaN are passed over or only a run knows it, an array: the rules for places are written for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...checks import describe, explained_here
from ...dtypes import INT64, inexact
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ir.lines import program_place
from ...sizes import form, known_less, traced_number
from ...sizes.owners import is_late
from ...types import show
from ..arrays.concatenation import stack
from ..arrays.shape import broadcast_to, reshape, transpose
from ..arrays.slices import slice_array
from ..check import check as check_code
from ..check import error_text
from ..define import as_array, shape_of
from ..elementwise.arithmetic import div, less, sub, where
from ..elementwise.comparison import maximum
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import isnan, logical_not
from ..places.along import take_along_axis
from .axes import count, kept, moved_axes, normalize_axes
from .reductions import sum as total
from .selection import MOST, ranked
from .sorting import check_order, sort
from .weighted_quantiles import weighted_quantiles

Axis = int | Sequence[int] | None
Place = Callable[[Any, Any], Any]


class Method(NamedTuple):
    """How a quantile is found among n sorted elements (Hyndman and Fan 1996)."""

    place: Place
    """Where the quantile q of n elements lies, counted from 0."""
    weight: Callable[[Any, Any], Any] | None = lambda part, place: part
    """The weight of the element above, of the part of a step that the place lies above the one
    below; None where the place is one of the elements."""


def _between(alpha: float, beta: float) -> Place:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _next(stays: Callable[[Any], Any]) -> Place:
    """The element above, but where `stays` says so of the place the one below."""

    def rounded(place: Any) -> Any:
        return np.maximum(np.floor(place) + np.where(stays(place), 0, 1), 0)

    return lambda n, q: rounded(n * q - 1)


def _closest(n: Any, q: Any) -> Any:
    place = n * q - 1 - 0.5
    low = np.floor(place)
    return np.maximum(low + np.where((place == low) & (low % 2 == 1), 0, 1), 0)


METHODS: dict[str, Method] = {
    "linear": Method(lambda n, q: (n - 1) * q),
    "lower": Method(lambda n, q: np.floor((n - 1) * q), None),
    "higher": Method(lambda n, q: np.ceil((n - 1) * q), None),
    "nearest": Method(lambda n, q: np.round((n - 1) * q), None),
    "midpoint": Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda part, place: np.where(place % 1 == 0, 0.0, 0.5),
    ),
    "inverted_cdf": Method(_next(lambda place: place == np.floor(place)), None),
    "averaged_inverted_cdf": Method(
        lambda n, q: n * q - 1, lambda part, place: np.where(part == 0, 0.5, 1.0)
    ),
    "closest_observation": Method(_closest, None),
    "interpolated_inverted_cdf": Method(_between(0, 1)),
    "hazen": Method(_between(0.5, 0.5)),
    "weibull": Method(_between(0, 0)),
    "median_unbiased": Method(_between(1 / 3, 1 / 3)),
    "normal_unbiased": Method(_between(3 / 8, 3 / 8)),
}


def _found(
    x: Any, q: Any, whole: int, axis: Any, keepdims: bool, method: str, weights: Any, skip: bool
) -> Any:
    """Quantiles, of which `q` says the places as parts of `whole`; `skip` leaves NaN out."""
    given = known(q) / whole if whole > 1 else known(q)
    if weights is not None:
        return weighted_quantiles(x, given, axis, keepdims, method, weights, skip)
    return quantiles(x, given, type(q) in (int, float), axis, keepdims, method, skip=skip)


def quantile(
    x: Any,
    q: Any,
    axis: Axis = None,
    keepdims: bool = False,
    method: str = "linear",
    *,
    weights: Any = None,
) -> Any:
    """The q-th quantiles (0 to 1, known numbers) over axes; a list of them gives a leading axis.
    NaN where there is one.

    `method` is one of NumPy's 13; with `weights` (of the shape of x, or of the axes) it must be
    "inverted_cdf". As in NumPy the dtype of a q that has one, or of a list of
    floats, takes part in that of an interpolated result; a Python number does not.

    >>> import tracegrad as tg
    >>> float(tg.quantile([1.0, 2.0, 4.0], 0.25))
    1.5
    """
    return _found(x, q, 1, axis, keepdims, method, weights, skip=False)


def percentile(
    x: Any,
    q: Any,
    axis: Axis = None,
    keepdims: bool = False,
    method: str = "linear",
    *,
    weights: Any = None,
) -> Any:
    """The q-th percentiles (0 to 100) over axes; see `quantile`.

    >>> import tracegrad as tg
    >>> float(tg.percentile([1.0, 2.0, 4.0], 50))
    2.0
    """
    return _found(x, q, 100, axis, keepdims, method, weights, skip=False)


def nanquantile(
    x: Any,
    q: Any,
    axis: Axis = None,
    keepdims: bool = False,
    method: str = "linear",
    *,
    weights: Any = None,
) -> Any:
    """The q-th quantiles of the elements that are not NaN; NaN where there is none. See
    `quantile`.

    >>> import tracegrad as tg
    >>> float(tg.nanquantile([1.0, float("nan"), 2.0, 4.0], 0.25))
    1.5
    """
    return _found(x, q, 1, axis, keepdims, method, weights, skip=True)


def nanpercentile(
    x: Any,
    q: Any,
    axis: Axis = None,
    keepdims: bool = False,
    method: str = "linear",
    *,
    weights: Any = None,
) -> Any:
    """The q-th percentiles (0 to 100) of the elements that are not NaN; see `nanquantile`.

    >>> import tracegrad as tg
    >>> float(tg.nanpercentile([1.0, float("nan"), 2.0, 4.0], 50))
    2.0
    """
    return _found(x, q, 100, axis, keepdims, method, weights, skip=True)


def median(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The median over axes: the mean of the two middle elements where their number is even. NaN
    where there is one.

    >>> import tracegrad as tg
    >>> float(tg.median([5.0, 1.0, 2.0, 3.0]))
    2.5
    """
    return _median(x, axis, keepdims, skip=False)


def nanmedian(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The median of the elements that are not NaN; NaN where there is none.

    >>> import tracegrad as tg
    >>> float(tg.nanmedian([5.0, float("nan"), 1.0, 2.0]))
    2.0
    """
    return _median(x, axis, keepdims, skip=True)


def _median(x: Any, axis: Axis, keepdims: bool, skip: bool) -> Any:
    given = _Ordered(x, axis, keepdims, skip)
    n = given.count
    both = [(n - 1) // 2, n // 2]
    given.find(both)

    def at(index: Any) -> Any:
        value = given.pick(index)
        return value if value.dtype.kind == "f" else convert(value, np.float64)

    # One element is itself: twice the largest number is infinite.
    return given.result(
        _chosen(n % 2 == 1, lambda: at(both[0]), lambda: div(add(at(both[0]), at(both[1])), 2))
    )


def known(q: Any) -> Any:
    """Which part of the elements lies below, as an array of real numbers."""
    places = np.asarray(q)
    if places.dtype.kind not in "biuf":
        raise explained_here(TypeError(f"q is {describe(q)}; it must be a real number, or several"))
    return places.astype(np.int64) if places.dtype.kind == "b" else places


def quantiles(
    x: Any,
    q: Any,
    weak: bool,
    axis: Axis,
    keepdims: bool,
    method: str,
    *,
    skip: bool = False,
    above: Callable[[Any], Any] = lambda place: np.floor(place) + 1,
) -> Any:
    """The quantiles, of which `weak` says whether they are given as Python's number, which raises
    no dtype. `above` gives the place of the element above a place."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    if np.any((q < 0) | (q > 1) | np.isnan(q)):
        raise ValueError("quantiles must lie between 0 and 1 (percentiles between 0 and 100)")
    given, rule = _Ordered(x, axis, keepdims, skip), METHODS[method]

    def around(q: Any) -> tuple[Any, Any, Any]:
        """The places below and above a quantile, and how far it lies between them."""
        n = given.count if isinstance(given.count, int) else convert(given.count, q.dtype)
        place = rule.place(n, q)
        if rule.weight is None or (method == "linear" and q.dtype.kind in "iu"):
            return place, None, None
        low = np.clip(np.floor(place), 0, n - 1)
        # At an end both are its element.
        high = np.where(place < 0, 0, np.clip(above(place), 0, n - 1))
        return low, high, _as(rule.weight(place - np.floor(place), place), place.dtype)

    found = [around(v) for v in ([q[()]] if q.ndim == 0 else q.ravel())]
    given.find([place for low, high, _ in found for place in (low, high) if place is not None])

    def one(low: Any, high: Any, part: Any) -> Any:
        if high is None:
            return given.result(given.pick(low))
        return given.result(_lerp(given.pick(low), given.pick(high), part, weak))

    if q.ndim == 0:
        return one(*found[0])
    shape = given.shape
    return reshape(stack([one(*v) for v in found]), (*q.shape, *shape))


def _lerp(a: Any, b: Any, part: Any, weak: bool) -> Any:
    """What lies so far between two elements, computed from the nearer one, as NumPy does it."""
    gap = sub(b, a)

    def times(w: Any) -> Any:
        if weak:
            w = float(w) if isinstance(w, np.generic) else convert(w, inexact(gap.dtype))
        return mul(gap, w)

    return _chosen(part >= 0.5, lambda: sub(b, times(1 - part)), lambda: add(a, times(part)))


def _chosen(condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two values by a condition that is known, or by element."""
    if isinstance(condition, (bool, np.bool_)):
        return yes() if condition else no()
    return where(condition, yes(), no())


def _as(x: Any, dtype: Any) -> Any:
    """A place, known or not, as another dtype."""
    return convert(x, dtype) if isinstance(x, Value) else np.asarray(x).astype(dtype)[()]


_OF_NONE = "a quantile of no elements: the array, whose length only a run knows, is empty"


class _Ordered:
    """The elements over some axes by their places in the order, and what a result over these axes
    looks like."""

    def __init__(self, x: Any, axis: Axis, keepdims: bool, skip: bool) -> None:
        self.x = as_array(x)
        check_order(self.x.dtype)
        shape = shape_of(self.x)
        axes = normalize_axes(axis, len(shape))
        lead = tuple(s for k, s in enumerate(shape) if k not in axes)
        self.shape = kept(shape, axes) if keepdims else lead
        flat = reshape(transpose(self.x, moved_axes(axes, len(shape))), (*lead, count(shape, axes)))
        n: Any = shape_of(flat)[-1]
        if known_less(n, 1):
            raise ShapeError(
                f"a quantile of no elements: axes {axes} of an array of shape {show(shape)} "
                "are empty"
            )
        late = is_late(form(n))
        n = traced_number(n)
        if late:
            code = convert(less(n, 1), INT64)
            check_code(code, (error_text(ShapeError(_OF_NONE), *program_place()),))
        self.flat = flat
        skip = skip and self.x.dtype.kind == "f"
        self.count: Any = maximum(total(logical_not(isnan(flat)), -1), 1) if skip else n
        """How many elements count, at least one."""
        self.last = None if skip or self.x.dtype.kind != "f" else n - 1
        """The place where NaN stands if there is one."""
        self.places: list[Any] = []
        self.columns: dict[int, int] = {}

    def find(self, places: Sequence[Any]) -> None:
        """Look for the elements at these places, of which there is one for all or one for each:
        for a few of them one by one, for many by sorting."""
        wanted = [*places, *([] if self.last is None else [self.last])]
        if isinstance(self.count, int):
            self.places = sorted({int(place) for place in wanted})
            self.columns = {place: k for k, place in enumerate(self.places)}
            ranks: Any = self.places
        else:
            self.places = wanted
            self.columns = {id(place): k for k, place in enumerate(wanted)}
            lead = shape_of(self.flat)[:-1]
            ranks = stack([broadcast_to(convert(p, np.int64), lead) for p in wanted], -1)
        if len(self.places) <= MOST:
            unique = isinstance(self.count, int)
            self.values = take_along_axis(self.flat, ranked(self.flat, ranks), -1, unique=unique)
            return
        self.values = sort(self.flat, -1)
        if isinstance(self.count, int):
            self.columns = {place: place for place in self.places}
        else:
            self.values = take_along_axis(self.values, ranks, -1)

    def pick(self, place: Any) -> Any:
        """The element at one of these places."""
        key = int(place) if isinstance(self.count, int) else id(place)
        return pick(self.values, self.columns[key])

    def result(self, value: Any) -> Any:
        """The value, or the NaN among the elements, in the shape of the result."""
        if self.last is not None:
            worst = self.pick(self.last)
            value = where(isnan(worst), convert(worst, value.dtype), value)
        return reshape(value, self.shape)


def pick(x: Any, index: int) -> Any:
    """`x[..., index]`."""
    shape = shape_of(x)
    return reshape(
        slice_array(x, (*[0] * (len(shape) - 1), index), (*shape[:-1], 1), (1,) * len(shape)),
        shape[:-1],
    )
