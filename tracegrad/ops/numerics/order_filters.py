"""The largest, smallest, and otherwise ranked elements of windows around each, under the names of
scipy.ndimage."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...checks import describe
from ...errors import DTypeError
from ..arrays.concatenation import stack
from ..define import as_array, ndim_of
from ..elementwise.comparison import maximum, minimum
from ..places.keys import concrete
from ..totals.quantiles import pick
from ..totals.sorting import sort
from .images import as_image, per_axis
from .neighbourhoods import Axes, axes_along, shifts


class Window(NamedTuple):
    """What counts around each element."""

    places: list[tuple[int, ...]]
    """Places in the window, of all axes of the array."""
    shifted: Callable[[], Callable[[tuple[int, ...]], Any]]
    """Continues the array beyond its ends, and gives what the neighbour at a place sees of it."""

    def parts(self) -> list[Any]:
        return list(map(self.shifted(), self.places))


def window(
    name: str, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any,
    origin: Any, axes: Axes,
) -> Window:  # fmt: skip
    x = as_array(input)
    if x.dtype.kind == "c":
        raise DTypeError(f"ndimage.{name}: complex numbers have no order; input must be real")
    if output is not None:
        as_image(name, x, output, cval)
    along = axes_along(name, x, axes)
    if footprint is None and size is None:
        raise ValueError(f"ndimage.{name}: give size or footprint")
    if footprint is None:
        sizes = [operator.index(n) for n in per_axis(name, "size", size, len(along))]
        if any(n < 1 for n in sizes):
            raise ValueError(f"ndimage.{name}: size is {describe(size)}; it must be from 1 on")
        counts = np.ones(sizes, bool)
    else:
        counts = np.asarray(footprint, bool)
        if counts.ndim != len(along) or not counts.any():
            raise ValueError(
                f"ndimage.{name}: footprint has {counts.ndim} axes for {len(along)} of the array, "
                "or no element that counts"
            )
    modes, origins = (per_axis(name, word, v, len(along))
                      for word, v in (("mode", mode), ("origin", origin)))  # fmt: skip
    ndim = ndim_of(x)
    full, ways, moves = [1] * ndim, ["reflect"] * ndim, [0] * ndim
    for axis, way, move in zip(along, modes, origins, strict=True):
        ways[axis], moves[axis] = way, move
    # The axes of a footprint are in the order of the array's, whatever that of `axes` is.
    for axis, count in zip(
        along if footprint is None else sorted(along), counts.shape, strict=True
    ):
        full[axis] = count
    places = counts if footprint is not None else np.ones(full, bool)
    places = places.reshape(full)
    return Window(
        [tuple(int(i) for i in at) for at in np.argwhere(places)],
        lambda: shifts(name, x, full, ways, x.dtype.type(cval), moves),
    )


def _extreme(
    name: str, choose: Callable[[Any, Any], Any], input: Any, size: Any, footprint: Any,
    output: Any, mode: Any, cval: Any, origin: Any, axes: Axes,
) -> Any:  # fmt: skip
    """Along one axis after the other where all of a window counts, as SciPy's does."""
    x = as_array(input)
    if footprint is not None and np.ndim(footprint) and np.all(footprint):
        size, footprint = np.shape(footprint), None
        axes = sorted(axes_along(name, x, axes))
    given = window(name, x, size, footprint, output, mode, cval, origin, axes)
    if footprint is not None or ndim_of(x) < 2:
        return functools.reduce(choose, given.parts())
    along = axes_along(name, x, axes)
    words = (per_axis(name, word, v, len(along))
             for word, v in (("size", size), ("mode", mode), ("origin", origin)))  # fmt: skip
    for axis, n, m, o in zip(along, *words, strict=True):
        if n > 1:
            line = window(name, x, n, None, None, m, cval, o, axis)
            x = functools.reduce(choose, line.parts())
    return x


def maximum_filter(
    input: Any,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The largest element of the window around each: of `size` elements along all axes, or `axes`,
    or where `footprint` is true. Neighbours that are equal share the derivative.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.maximum_filter(np.array([1.0, 5.0, 2.0, 0.0]), 3)
    array([5., 5., 5., 2.])
    """
    return _extreme("maximum_filter", maximum, input, size, footprint, output, mode, cval, origin,
                    axes)  # fmt: skip


def minimum_filter(
    input: Any,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The smallest element of the window around each; arguments as of `maximum_filter`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.minimum_filter(np.array([1.0, 5.0, 2.0, 0.0]), 3)
    array([1., 1., 0., 0.])
    """
    return _extreme("minimum_filter", minimum, input, size, footprint, output, mode, cval, origin,
                    axes)  # fmt: skip


def median_filter(
    input: Any,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The element in the middle of the ordered window around each (of an even number the upper
    one); arguments as of `maximum_filter`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.median_filter(np.array([1.0, 5.0, 2.0, 0.0]), 3)
    array([1., 2., 2., 0.])
    """
    parts = window(
        "median_filter", input, size, footprint, output, mode, cval, origin, axes
    ).parts()
    return _ranked(parts, len(parts) // 2)


def _ranked(parts: list[Any], rank: int) -> Any:
    if rank in (0, len(parts) - 1):
        return functools.reduce(maximum if rank else minimum, parts)
    return pick(sort(stack(parts, -1), -1), rank)


def rank_filter(
    input: Any,
    rank: int,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The element at place `rank` of the ordered window around each, from the smallest on, or with
    a negative rank from the largest; arguments as of `maximum_filter`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.rank_filter(np.array([1.0, 5.0, 2.0, 0.0]), -2, 3)
    array([1., 2., 2., 0.])
    """
    parts = window("rank_filter", input, size, footprint, output, mode, cval, origin, axes).parts()
    place = operator.index(rank) + (len(parts) if rank < 0 else 0)
    if not 0 <= place < len(parts):
        raise ValueError(
            f"ndimage.rank_filter: rank is {rank}; it must be from {-len(parts)} to "
            f"{len(parts) - 1}, as {len(parts)} elements count"
        )
    return _ranked(parts, place)


def percentile_filter(
    input: Any,
    percentile: float,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> Any:
    """The element of the ordered window around each below which `percentile` of them are, a known
    number from 0 to 100 (negative: from 100 on); arguments as of `maximum_filter`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.percentile_filter(np.array([1.0, 5.0, 2.0, 0.0]), 50, 3)
    array([1., 2., 2., 0.])
    """
    share = known_number("percentile_filter", "percentile", percentile)
    share += 100.0 if share < 0 else 0.0
    if not 0 <= share <= 100:
        raise ValueError(
            f"ndimage.percentile_filter: percentile is {percentile}; it must be from 0 to 100, or "
            "from -100 on"
        )
    parts = window(
        "percentile_filter", input, size, footprint, output, mode, cval, origin, axes
    ).parts()
    return _ranked(parts, min(int(len(parts) * share / 100.0), len(parts) - 1))


def known_number(name: str, word: str, x: Any) -> float:
    return float(
        concrete(x, f"ndimage.{name}: {word}", "Give it as a plain number, or make it static.")
    )


def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The largest of `size` neighbours along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.maximum_filter1d(np.array([1.0, 5.0, 2.0, 0.0]), 3)
    array([5., 5., 5., 2.])
    """
    given = window("maximum_filter1d", input, size, None, output, mode, cval, origin, (axis,))
    return functools.reduce(maximum, given.parts())


def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The smallest of `size` neighbours along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.minimum_filter1d(np.array([1.0, 5.0, 2.0, 0.0]), 3)
    array([1., 1., 0., 0.])
    """
    given = window("minimum_filter1d", input, size, None, output, mode, cval, origin, (axis,))
    return functools.reduce(minimum, given.parts())


__all__ = [
    "maximum_filter", "maximum_filter1d", "median_filter", "minimum_filter", "minimum_filter1d",
    "percentile_filter", "rank_filter",
]  # fmt: skip
