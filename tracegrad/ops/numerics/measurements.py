"""Statistics of the elements that have a label, under the names of scipy.ndimage.

The labels and the index may be traced; how many results there are, the size of the index says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...dtypes import FLOAT64, INT64
from ...errors import DTypeError, ShapeError
from ...sizes import numel, same
from ...types import Int, Shape, broadcast_shapes, show
from ..arrays.creation import arange, full, iota, ones, zeros
from ..arrays.shape import broadcast_to, reshape
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, greater, sub, where
from ..elementwise.comparison import clip
from ..elementwise.comparison import maximum as larger
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.elementary import sqrt
from ..elementwise.logic import isnan, logical_and, logical_or
from ..elementwise.remainders import floor_divide, mod
from ..places.along import take
from ..places.combining import max_at, min_at
from ..places.gathering import add_at
from ..totals.quantiles import median as median_of
from ..totals.reductions import max as max_
from ..totals.reductions import min as min_
from ..totals.reductions import sum as sum_
from ..totals.sorting import argsort, searchsorted


class _Groups(NamedTuple):
    """The elements, flattened, and of which of `number` groups each is: `number` where of none. A
    group that the index names twice has a further number without elements: `back` says the first
    number of each."""

    x: Any
    at: Any
    number: Int
    back: Any
    shape: Shape | None
    """Of the results; None for a number."""

    def results(self, of_groups: Any) -> Any:
        if self.shape is None:
            return reshape(of_groups, ())
        return reshape(take(of_groups, self.back, 0), self.shape)

    def total(self, values: Any) -> Any:
        start = zeros((self.number + 1,), values.dtype)
        return add_at(start, values, [self.at], (0,), 0)[: self.number]

    def sizes(self) -> Any:
        return self.total(ones(shape_of(self.x), INT64))

    def of_each(self, of_groups: Any) -> Any:
        """What the group of each element has; anything for an element of none."""
        return take(of_groups, clip(self.at, 0, self.number - 1), 0)


def _groups(name: str, input: Any, labels: Any, index: Any) -> _Groups:
    x = as_array(input)
    if labels is None:
        flat = reshape(x, (-1,))
        return _Groups(flat, zeros(shape_of(flat), INT64), 1, None, None)
    labels = as_array(labels)
    if "c" in (labels.dtype.kind, as_array(0 if index is None else index).dtype.kind):
        raise DTypeError(f"ndimage.{name}: labels and index must be real numbers, not complex")
    try:
        shape = broadcast_shapes(shape_of(x), shape_of(labels))
    except ValueError:
        raise ShapeError(
            f"ndimage.{name}: labels of shape {show(shape_of(labels))} do not fit an array of "
            f"shape {show(shape_of(x))}"
        ) from None
    x, labels = (reshape(broadcast_to(v, shape), (-1,)) for v in (x, labels))
    if labels.dtype.kind == "b":
        labels = convert(labels, INT64)
    if index is None or ndim_of(as_array(index)) == 0:
        inside = greater(labels, 0) if index is None else equal(labels, index)
        if type(inside) is np.ndarray and not inside.any() and name not in OF_NOTHING:
            raise ValueError(f"ndimage.{name}: no element has the label")
        return _Groups(x, where(inside, 0, 1), 1, None, None)
    index = as_array(index)
    flat = reshape(index, (-1,))
    count = shape_of(flat)[0]
    if flat.dtype.kind == "b":
        flat = convert(flat, INT64)
    ordered = take(flat, argsort(flat), 0)
    place = clip(searchsorted(ordered, labels), 0, larger(count - 1, 0))
    at = where(equal(take(ordered, place, 0), labels), place, count)
    return _Groups(x, at, count, searchsorted(ordered, flat), shape_of(index))


OF_NOTHING = ("mean", "median", "standard_deviation", "sum_labels", "variance")
"""What has an answer for no elements: 0, or NaN."""

# --- sums -----------------------------------------------------------------------------------------


def _summed(given: _Groups, values: Any) -> Any:
    """Sums of one group in the array's own precision, of several in double, as SciPy's."""
    if given.shape is None:
        return sum_(where(equal(given.at, 0), values, values.dtype.type(0)))
    wide = np.dtype(complex) if values.dtype.kind == "c" else FLOAT64
    return given.results(given.total(convert(values, wide)))


def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The sums of the elements with each label of `index`, in its shape; of those of one label; or
    without an index of all whose label is above 0. Without labels that is the sum of all.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.sum_labels(np.array([1.0, 2.0, 4.0]), [1, 2, 1], [1, 2, 3])
    array([5., 2., 0.])
    """
    given = _groups("sum_labels", input, labels, index)
    return _summed(given, given.x)


def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The means of the elements with each label, in double precision; NaN where no element has it.
    Arguments as of `sum_labels`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.mean(np.array([1.0, 2.0, 4.0]), [1, 2, 1], [1, 2])
    array([2.5, 2. ])
    """
    given = _groups("mean", input, labels, index)
    return div(_summed(given, given.x), convert(given.results(given.sizes()), FLOAT64))


def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean squared distances of the elements with each label from their mean; arguments as of
    `sum_labels`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.variance(np.array([1.0, 2.0, 5.0]), [1, 2, 1], [1, 2])
    array([4., 0.])
    """
    given = _groups("variance", input, labels, index)
    x = given.x if given.shape is None else convert(given.x, _inexact(given.x.dtype))
    sizes = convert(given.sizes(), FLOAT64)
    if x.dtype.kind in "biu":
        x = convert(x, FLOAT64)
    middle = div(given.total(x), convert(sizes, x.dtype))
    off = sub(x, given.of_each(middle))
    # Elements of no group have the mean of another one, and no share.
    off = where(equal(given.at, given.number), x.dtype.type(0), off)
    return div(_summed(given, mul(off, conj(off))), given.results(sizes))


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(complex) if dtype.kind == "c" else FLOAT64


def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The roots of `variance`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.standard_deviation(np.array([1.0, 2.0, 5.0]), [1, 2, 1], [1, 2])
    array([2., 0.])
    """
    return sqrt(variance(input, labels, index))


# --- extremes and medians -------------------------------------------------------------------------


def _ordered(name: str, input: Any, labels: Any, index: Any) -> _Groups:
    if as_array(input).dtype.kind == "c":
        raise DTypeError(f"ndimage.{name}: complex numbers have no order; input must be real")
    return _groups(name, input, labels, index)


def _limit(dtype: np.dtype[Any], top: bool) -> Any:
    if dtype.kind == "f":
        return dtype.type(np.inf if top else -np.inf)
    if dtype.kind == "b":
        return np.bool_(top)
    return dtype.type(np.iinfo(dtype).max if top else np.iinfo(dtype).min)


def _extremes(given: _Groups, top: bool) -> Any:
    """Of each group; 0 for one without elements, and NaN if it is the only one and of floats."""
    x = given.x
    start = full((given.number + 1,), _limit(x.dtype, not top), x.dtype)
    found = (max_at if top else min_at)(start, x, [given.at], (0,), 0)[: given.number]
    nothing = x.dtype.type(np.nan if given.shape is None and x.dtype.kind == "f" else 0)
    return where(greater(given.sizes(), 0), found, nothing)


def _extreme(name: str, input: Any, labels: Any, index: Any, top: bool) -> Any:
    given = _ordered(name, input, labels, index)
    if labels is None:
        return (max_ if top else min_)(given.x)
    return given.results(_extremes(given, top))


def minimum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The smallest element with each label, NaN where one is; 0 for a label that no element of
    several has, as SciPy's. Equal ones share the derivative. Arguments as of `sum_labels`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.minimum(np.array([1.0, 2.0, 4.0]), [1, 2, 1], [1, 2])
    array([1., 2.])
    """
    return _extreme("minimum", input, labels, index, False)


def maximum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The largest element with each label; as `minimum`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.maximum(np.array([1.0, 2.0, 4.0]), [1, 2, 1], [1, 2])
    array([4., 2.])
    """
    return _extreme("maximum", input, labels, index, True)


def _positions(name: str, input: Any, labels: Any, index: Any, top: bool) -> Any:
    given = _ordered(name, input, labels, index)
    n = shape_of(given.x)[0]
    if same(n, 0):
        raise ValueError(f"ndimage.{name}: the array has no elements, of which one would be found")
    extreme = given.of_each(_extremes(given, top))
    here = equal(given.x, extreme)
    if given.x.dtype.kind == "f":
        here = logical_or(here, logical_and(isnan(given.x), isnan(extreme)))
    last = full((given.number + 1,), n, INT64)
    first = min_at(last, where(here, iota(n), n), [given.at], (0,), 0)[: given.number]
    flat = given.results(where(greater(given.sizes(), 0), first, 0))
    sizes = shape_of(as_array(input))
    if labels is not None:
        sizes = broadcast_shapes(sizes, shape_of(as_array(labels)))
    places = [mod(floor_divide(flat, numel(sizes[k + 1 :])), size) for k, size in enumerate(sizes)]
    if given.shape is None:
        return tuple(places)
    rows = [reshape(p, (-1,)) for p in places]
    return [tuple(row[k] for row in rows) for k in range(int(numel(given.shape)))]


def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Where the first smallest element with each label is: a tuple of places along the axes, or a
    list of tuples. Arguments as of `sum_labels`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [int(k) for k in tg.ndimage.minimum_position(np.array([[3.0, 2.0], [4.0, 0.5]]))]
    [1, 1]
    """
    return _positions("minimum_position", input, labels, index, False)


def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Where the first largest element with each label is; as `minimum_position`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [int(k) for k in tg.ndimage.maximum_position(np.array([[3.0, 2.0], [4.0, 0.5]]))]
    [1, 0]
    """
    return _positions("maximum_position", input, labels, index, True)


def extrema(input: Any, labels: Any = None, index: Any = None) -> tuple[Any, Any, Any, Any]:
    """`minimum`, `maximum`, `minimum_position` and `maximum_position`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [float(v) for v in tg.ndimage.extrema(np.array([3.0, 2.0, 4.0]))[:2]]
    [2.0, 4.0]
    """
    given = (input, labels, index)
    return minimum(*given), maximum(*given), minimum_position(*given), maximum_position(*given)


def median(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The medians of the elements with each label; NaN where no element has it. In one group a NaN
    makes the median NaN; in several it counts as the largest, as SciPy's. Arguments as of
    `sum_labels`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.median(np.array([1.0, 2.0, 5.0, 4.0]), [1, 2, 1, 1], [1, 2])
    array([4., 2.])
    """
    if labels is None:
        return median_of(_ordered("median", input, None, None).x)
    given = _ordered("median", input, labels, index)
    x = given.x if given.x.dtype.kind == "f" else convert(given.x, FLOAT64)
    n = shape_of(x)[0]
    by_value = argsort(x)
    order = take(by_value, argsort(take(given.at, by_value, 0)), 0)
    x, at = take(x, order, 0), take(given.at, order, 0)
    numbers = arange(given.number)
    start, end = searchsorted(at, numbers), searchsorted(at, numbers, "right")
    size = sub(end, start)
    low, high = (
        take(x, clip(add(start, floor_divide(add(size, k), 2)), 0, n - 1), 0) for k in (-1, 0)
    )
    nothing = equal(size, 0)
    if given.shape is None:
        nothing = logical_or(nothing, isnan(take(x, clip(sub(end, 1), 0, n - 1), 0)))
    middle = mul(add(low, high), x.dtype.type(0.5))
    return given.results(where(nothing, x.dtype.type(np.nan), middle))


sum = sum_labels
"""SciPy's older name."""

__all__ = [
    "extrema", "maximum", "maximum_position", "mean", "median", "minimum", "minimum_position",
    "standard_deviation", "sum", "sum_labels", "variance",
]  # fmt: skip
