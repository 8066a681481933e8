"""Slices between traced ends, `x[i - 1:i + 2]`: where they begin is known only while a program
runs, how long they are while it is traced."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import integers
from ...checks import describe
from ...checks.ranges import out_of_range
from ...errors import ConcretizationError, ShapeError
from ...ir.dispatch import STATE, Value
from ...ir.forms import UNKNOWN, form_of, proven, unknown
from ...ir.graph import Var
from ...ir.trace import is_left_over, left_over, user_line
from ...sizes import SYMBOLIC, form, quotient_of, seen
from ...sizes.owners import is_count
from ...types import Int, Shape, normalize_axis, show
from ..define import as_array, ndim_of, shape_of
from ..elementwise.derived import add, convert
from .gathering import gather_at, put_at
from .positions import Window

DYNAMIC = (
    "Write both ends as the same integer plus constants (x[i - 1:i + 2]), "
    "give the length as a Python int (a static argument of jit), or use tg.dynamic_slice(x, "
    "start, size) and tg.dynamic_update_slice(x, values, start)."
)


def is_traced(x: Any) -> bool:
    """Whether the value is to be that of each call."""
    return isinstance(x, Value) and (isinstance(x._data, Var) or bool(STATE.traces))


def has_traced_ends(item: slice) -> bool:
    return is_traced(item.start) or is_traced(item.stop) or is_traced(item.step)


class UnknownEnds(ConcretizationError):
    """It is not known whether the ends of a slice are in order, and inside of the axis."""


class ComputedLength(ConcretizationError):
    """The length of a slice is an expression of integers that are not known, here by their names:
    in a graph over these as sizes it is one as well."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        super().__init__(text)
        self.names = names


def span(item: slice, n: Any) -> slice | tuple[Any, Window]:
    """A slice with traced ends, of n elements, as where it begins, and its size, step and extent;
    as a slice between numbers where these are known."""
    for x, name in ((item.start, "start"), (item.stop, "stop"), (item.step, "step")):
        if isinstance(x, Value) and isinstance(x._data, Var) and is_left_over(x._data):
            raise left_over(x._data)
        if hasattr(x, "dtype") and (x.dtype.kind not in "iu" or ndim_of(x)):
            raise IndexError(
                f"{user_line()}: the {name} of a slice must be an integer, "
                f"not {x.dtype} of shape {show(shape_of(x))}"
            )
    if is_traced(item.step):
        raise ConcretizationError(
            f"{user_line()}: the step of a slice must be known while the function is traced, "
            "not a traced integer"
        )
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if item.start is not None and item.stop is not None:
        first, last = form_of(item.start), form_of(item.stop)
        if not _varies(first) and not _varies(last):
            return slice(seen(first), seen(last), step)
        extent = last - first if step > 0 else first - last
        if not _varies(extent):
            wide = seen(extent)
            if wide > 0:
                return item.start, _window(wide, step)
            # Of ends in this order there is something between them where just one of them counts
            # from the end.
            near, far = (last, first) if step > 0 else (first, last)
            if wide == 0 or proven("<=", -near) or proven("<", far):
                return slice(0, 0)
            raise ConcretizationError(
                f"{user_line()}: whether the ends of a slice count from the end is not known while "
                f"the function is traced, and it is empty where both or none do. {DYNAMIC}"
            )
    return _between(item.start, item.stop, step, form(n))


def _varies(place: Int) -> bool:
    return unknown(place) or is_count(place)


def _window(extent: Any, step: int) -> Window:
    return quotient_of(extent + abs(step) - 1, abs(step)), step, extent


def _wrapping(*ends: Any) -> str:
    """What to do about integers of which that is never known."""
    kinds = [x.dtype for x in ends if hasattr(x, "dtype") and x.dtype != np.int64]
    return f" ({kinds[0]} may wrap around: take i.astype(np.int64))" if kinds else ""


def _between(start: Any, stop: Any, step: int, n: Int) -> tuple[Any, Window]:
    """A slice of which a loop changes the length."""
    down = step < 0
    ends = [_end(x, n) for x in (start, stop)]
    first, last = (
        missing if end is None else end
        for end, missing in zip(ends, (n - 1, -1) if down else (0, n), strict=True)
    )
    extent = first - last if down else last - first
    inside = [-end for end in ends if end is not None]
    if not all(proven("<=", x) for x in (*inside, -extent, first - n + 1 if down else last - n)):
        raise UnknownEnds(
            f"{user_line()}: the ends of a slice are traced, and their difference is not known "
            f"while the function is traced, or not that they are in order and inside: so neither "
            f"is the result's size{_wrapping(start, stop)}. {DYNAMIC}"
        )
    if unknown(extent):
        names = frozenset(s for s in integers.symbols(extent) if s.startswith(UNKNOWN))
        raise ComputedLength(
            f"{user_line()}: how many elements a slice has that begins or ends at a traced "
            f"integer, as in x[i:], is not known while the function is traced. {DYNAMIC}",
            names,
        )
    if not _varies(first):
        start = seen(first)
        start = start if isinstance(start, SYMBOLIC) else np.int64(start)
    elif form_of(start) != first:
        start = add(start, seen(n))
    window = _window(seen(extent), step)
    if down and stop is None:
        # Behind the last element there is no place that could be named.
        window = window[0], step, (window[0] - 1) * -step
    return start, window


def _end(x: Any, n: Int) -> Int | None:
    """Where an end of a slice is, counted from the first element; None where none is given."""
    if x is None:
        return None
    place = form_of(x)
    return place + n if proven("<", place) else place


def _starts(x: Any, start: Any, axis: int | None, who: str) -> tuple[list[int], list[Any]]:
    """The axes, and where along them a slice begins."""
    ndim = ndim_of(x)
    given = (
        [start]
        if axis is not None or (not isinstance(start, (tuple, list)) and ndim_of(start) == 0)
        else list(start)
    )
    axes = list(range(ndim)) if axis is None else [normalize_axis(axis, ndim)]
    if len(given) != len(axes):
        raise ShapeError(
            f"{who}: {len(given)} starts for an array of shape {show(shape_of(x))}; "
            "give one for each axis, or axis="
        )
    for s in given:
        kind = np.asarray(s).dtype if not hasattr(s, "dtype") else s.dtype
        if not isinstance(s, SYMBOLIC) and (kind.kind not in "iu" or ndim_of(s)):
            raise IndexError(
                f"{who}: a start must be one integer, not {kind} of shape {show(shape_of(s))}"
            )
    return axes, given


def _windows(
    x: Any, axes: Sequence[int], starts: Sequence[Any], sizes: Sequence[Any], who: str
) -> tuple[list[Any], list[Window]]:
    """Operands of a gather; an IndexError where a slice is known to leave the array."""
    shape = shape_of(x)
    for k, s, n in zip(axes, starts, sizes, strict=True):
        if n < 0:
            raise ShapeError(f"{who}: a size must not be negative, it is {n}")
        if n > shape[k]:
            raise out_of_range(f"{who}: {n} elements of axis {k} with size {shape[k]}")
        if not is_traced(s) and not isinstance(s, SYMBOLIC):
            place = operator.index(s)
            if not (0 <= place <= shape[k] - n or 0 <= place + shape[k] < shape[k] - n):
                raise out_of_range(
                    f"{who}: {n} elements from {place} on are out of bounds for axis {k} "
                    f"with size {shape[k]}"
                )
    return [s if is_traced(s) else as_array(s) for s in starts], [(n, 1, n) for n in sizes]


def dynamic_slice(x: Any, start: Any, size: int | Sequence[int], axis: int | None = None) -> Any:
    """`x[start:start + size]`, where `start` may be traced and `size` may not.

    start   an integer for each axis, or with `axis` one for that axis alone, of which the others
            are taken whole
    size    as many Python ints

    Raises IndexError where the slice is not inside of x, in compiled code too (a slice of NumPy's
    would be shorter). As there it counts from the end where both of its ends are negative.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jit(lambda x, i: tg.dynamic_slice(x, i, 3))(np.arange(6.0), 2)
    array([2., 3., 4.])
    """
    x = as_array(x)
    axes, starts = _starts(x, start, axis, "dynamic_slice")
    sizes: list[Any] = list(size) if isinstance(size, (tuple, list)) else [size]
    if len(sizes) != len(axes) or any(is_traced(n) for n in sizes):
        raise ShapeError(
            f"dynamic_slice: size must be a Python int for each start, it is {size} for {len(axes)}"
        )
    sizes = [n if isinstance(n, SYMBOLIC) else operator.index(n) for n in sizes]
    indices, windows = _windows(x, axes, starts, sizes, "dynamic_slice")
    return gather_at(x, indices, tuple(axes), 0, (), True, tuple(windows)) if axes else x


def dynamic_update_slice(x: Any, values: Any, start: Any, axis: int | None = None) -> Any:
    """A new array: x with `values` in the slice that begins at `start`, which may be traced.

    values  an array of x's rank, of which the shape says how large the slice is
    start   an integer for each axis, or with `axis` one for that axis alone

    Raises IndexError where the slice is not inside of x, in compiled code too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jit(tg.dynamic_update_slice)(np.zeros(5), np.array([1.0, 2.0]), 3)
    array([0., 0., 0., 1., 2.])
    """
    x, values = as_array(x), as_array(values)
    axes, starts = _starts(x, start, axis, "dynamic_update_slice")
    shape, given = shape_of(x), shape_of(values)
    expected: Shape = tuple(
        given[k] if k in axes and k < len(given) else n for k, n in enumerate(shape)
    )
    if len(given) != len(shape) or given != expected:
        raise ShapeError(
            f"dynamic_update_slice: values of shape {show(given)} for an array of shape "
            f"{show(shape)}, of which {show(expected)}"
        )
    indices, windows = _windows(x, axes, starts, [given[k] for k in axes], "dynamic_update_slice")
    values = convert(values, x.dtype)
    return put_at(x, values, indices, tuple(axes), 0, (), True, tuple(windows)) if axes else values


__all__ = [
    "ComputedLength",
    "UnknownEnds",
    "dynamic_slice",
    "dynamic_update_slice",
    "has_traced_ends",
    "span",
]


def slice_part(value: Any) -> int:
    """An end or the step of a slice as an integer; a TypeError for what is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"the ends and the step of a slice index are integers or None, not {describe(value)}"
        ) from None
