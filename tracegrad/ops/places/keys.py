"""Keys as NumPy reads them (integers, slices, None, `...`, index arrays and masks), as plans."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..._codegen import integers
from ...devices import to_host
from ...errors import ConcretizationError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.op import Op
from ...ir.trace import is_left_over, left_over, user_line
from ...sizes import SYMBOLIC, at_most_of, form, less, same, seen
from ...sizes.owners import SIZES, is_late
from ...types import Int, Shape
from ..arrays.shape import reshape_op
from ..arrays.slices import select_op, slice_op
from ..define import ndim_of, of_list, shape_of
from .gathering import MOST
from .positions import Window, Windows, integer_place
from .spans import has_traced_ends, slice_part, span

_LABEL = (
    ". Of a Series or DataFrame the function gets the values alone: pass its columns as arguments, "
    "or a dict of arrays"
)


class ReadingPlan(NamedTuple):
    """A key in three steps: a slice of x, its `shape` without the axes of integers and with new
    axes, index arrays into that."""

    start: Shape
    size: Shape
    step: tuple[int, ...]
    shape: Shape
    indices: tuple[Any, ...]
    axes: tuple[int, ...]
    at: int
    unique: bool
    windows: Windows

    def places(self) -> tuple[Any, ...]:
        """Where the index arrays point, as gather_at, add_at and put_at take it."""
        return self.axes, self.at, (), self.unique, self.windows


def concrete(x: Any, asked: str, instead: str) -> np.ndarray[Any, Any]:
    """The values of x, or a ConcretizationError where x is traced."""
    if not isinstance(x, Value):
        return np.asarray(x)
    if isinstance(x._data, Var):
        if is_left_over(x._data):
            raise left_over(x._data)
        raise ConcretizationError(
            f"{user_line()}: {asked} needs the values of a traced array ({x._data.type}), "
            f"which are not known while the function is traced. {instead}"
        )
    if x._base is not None:
        x._refresh()
    return np.asarray(to_host(x._data))


def _nonzero(mask: Any) -> tuple[np.ndarray[Any, Any], ...]:
    instead = (
        "The result's size would depend on the data: use tg.where(mask, x, 0), "
        "or a reduction's where= argument, or compute the mask from static values."
    )
    return np.nonzero(concrete(mask, "indexing with a boolean mask", instead))


def of_places(item: Sequence[Any]) -> Any:
    """A list of places, known and traced ones mixed, as an index array."""
    if any(part is None or part is Ellipsis or isinstance(part, slice) for part in item):
        raise IndexError(
            "an index must be an integer, a slice, None, ..., or an array. "
            "Several indices are a tuple, not a list."
        )
    found = of_list(list(item))
    # An empty list means no elements, of integer kind.
    return found.astype(np.int64) if found.size == 0 else found


def _entry(item: Any) -> Any:
    """One part of a key as None, Ellipsis, slice, integer, or an index array (with dtype)."""
    if item is None or item is Ellipsis or isinstance(item, (slice, *SYMBOLIC)):
        return item
    if isinstance(item, (bool, np.bool_, int, np.integer)):
        return np.asarray(item) if isinstance(item, (bool, np.bool_)) else int(item)
    if isinstance(item, (list, tuple, range)):
        item = of_places(item)
    if not hasattr(item, "dtype"):
        if hasattr(item, "__index__"):
            return operator.index(item)
        raise IndexError(
            "an index must be an integer, a slice, None, ..., or an array of integers or "
            f"booleans, not {type(item).__name__}{_LABEL if isinstance(item, str) else ''}"
        )
    if item.dtype.kind not in "biu":
        raise IndexError(
            f"arrays used as indices must be of integer or boolean dtype, not {item.dtype}. "
            "Convert with .astype(int)."
        )
    if (
        ndim_of(item) == 0
        and item.dtype.kind != "b"
        and not (isinstance(item, Value) and (STATE.traces or isinstance(item._data, Var)))
    ):
        return int(concrete(item, "", ""))
    return item


def _bound(value: Any, size: Any, default: Any, low: Any, high: Any) -> Any:
    """One end of a slice, clipped to [low, high]."""
    if value is None:
        return default
    place: Any = value if isinstance(value, SYMBOLIC) else slice_part(value)
    place = place + size if place < 0 else place
    return low if place < low else high if place > high else place


def _slice_range(item: slice, size: Int) -> tuple[Int, Int, int]:
    """start, number of elements, step."""
    step = 1 if item.step is None else slice_part(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if is_late(form(size)) and (found := _late_range(item, size, step)) is not None:
        return found
    if step > 0:
        start, stop = _bound(item.start, size, 0, 0, size), _bound(item.stop, size, size, 0, size)
        span = stop - start
    else:
        start = _bound(item.start, size, size - 1, -1, size - 1)
        stop = _bound(item.stop, size, -1, -1, size - 1)
        span = start - stop
    late = is_late(form(span)) and SIZES.open[-1].proven("<=", -form(span))
    if not late and span <= 0:
        return 0, 0, 1
    return start, (span + abs(step) - 1) // abs(step), step


def _late_range(item: slice, size: Int, step: int) -> tuple[Int, Int, int] | None:
    """The same for a length that only a run knows, of which nothing is asked; None for ends that
    are not numbers."""
    ends: list[Any] = [
        x if x is None or isinstance(x, SYMBOLIC) else slice_part(x)
        for x in (item.start, item.stop)
    ]
    if not all(x is None or type(x) is int for x in ends):
        return None
    first, last = ends
    if step < 0:
        whole = first is None and last is None
        return (size - 1, (size - step - 1) // -step, step) if whole else None

    # The code computes in unsigned words: no difference may be below 0.
    def place(end: int) -> Int:
        inside = at_most_of(size, abs(end))
        found: Int = size - inside if end < 0 else inside
        return found

    start = 0 if first is None else place(first)
    if last is None:
        span = size - start
    elif last < 0 <= (first or 0):
        # One form, however an array is cut at both ends: a[2:], a[1:-1] and a[:-2] have one length.
        span = size - at_most_of(size, (first or 0) - last)
    elif first is not None and (first < 0) == (last < 0):
        span = place(last) - start if first < last else 0
    else:
        stop = place(last)
        span = (seen(integers.maximum(form(stop), form(start))) if first else stop) - start
    return start, (span + step - 1) // step, step


def check_mask(mask: Any, shape: Shape, axis: int, nothing: bool = False) -> None:
    """An IndexError where a mask has other sizes than the axes that it is for; with `nothing`, an
    axis of a mask may be empty: it chooses nothing, of whatever there is."""
    for k, n in enumerate(shape_of(mask)):
        if nothing and isinstance(n, int) and n == 0:
            continue
        if axis + k < len(shape) and not same(shape[axis + k], n):
            raise IndexError(
                f"boolean index did not match the indexed array along axis {axis + k}: "
                f"its size is {shape[axis + k]}, the mask's is {n}"
            )


def _axes_used(entry: Any) -> int:
    """How many axes of the source a part of a key takes."""
    if entry is None or entry is Ellipsis:
        return 0
    return ndim_of(entry) if hasattr(entry, "dtype") and entry.dtype.kind == "b" else 1


def _is_one_place(entries: Sequence[Any]) -> bool:
    """Whether a key with traced integers names one element or window, which its other integers and
    slices then help to name: a write is one write, not that of a slice into which is written."""
    traced = [
        e
        for e in entries
        if (isinstance(e, Value) and ndim_of(e) == 0 and e.dtype.kind != "b")
        or (isinstance(e, slice) and has_traced_ends(e))
    ]
    named = [e for e in entries if not (e is Ellipsis or _is_whole(e))]
    return (
        bool(traced)
        and len(named) <= MOST
        and all(isinstance(e, (int, slice, *SYMBOLIC)) for e in named if not _among(e, traced))
    )


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry.start is entry.stop is entry.step is None


def _number(place: Any) -> Any:
    return place if isinstance(place, SYMBOLIC) else np.int64(place)


def _among(entry: Any, entries: Sequence[Any]) -> bool:
    return any(entry is e for e in entries)


class _Reading:
    """A plan in the making: what the entries of a key read, one after the other."""

    def __init__(self, shape: Shape, entries: Sequence[Any]) -> None:
        self.shape = shape
        self.start: list[Int] = []
        self.size: list[Int] = []
        self.step: list[int] = []
        self.result: list[Int] = []
        self.indices: list[Any] = []
        self.axes: list[int] = []
        self.windows: list[Window | None] = []
        # Positions in the key of integers and index arrays: where the block goes depends on their
        # neighbourhood.
        self.runs: list[int] = []
        self.at = -1
        self.masks = 0
        self.together = _is_one_place(entries)
        """Whether integers and slices stay together as one place."""

    def part(self, start: Int, size: Int, step: int) -> None:
        """A slice of the next axis."""
        self.start.append(start)
        self.size.append(size)
        self.step.append(step)

    def whole(self) -> None:
        """All of the next axis."""
        n = self.shape[len(self.start)]
        self.part(0, n, 1)
        self.result.append(n)

    def pick(self, index: Any, window: Window | None = None) -> None:
        """An index array into the next axis of what is read so far."""
        self.axes.append(len(self.result))
        self.indices.append(index)
        self.windows.append(window)

    def cut(self, e: slice) -> None:
        n = self.shape[len(self.start)]
        found = span(e, n) if has_traced_ends(e) else e
        if isinstance(found, slice):
            b, count, s = _slice_range(found, n)
            if not (self.together and s > 0 and not less(count, 1) and not same(count, n)):
                self.part(b, count, s)
                self.result.append(count)
                return
            found = _number(b), (count, s, (count - 1) * s + 1)
        self.pick(*found)
        self.whole()

    def place(self, position: int, e: Any) -> None:
        """An integer, a mask or an index array."""
        if self.at < 0:
            self.at = len(self.result) - self.windows.count(None)
        self.runs.append(position)
        axis = len(self.start)
        if not hasattr(e, "dtype"):
            i = integer_place(e, self.shape[axis], axis)
            if not self.together:
                self.part(i, 1, 1)
                return
            self.pick(_number(i))
            self.whole()
        elif e.dtype.kind == "b" and ndim_of(e) == 0:
            self.masks += 2
            chosen = bool(concrete(e, "indexing with a boolean", "Use tg.where."))
            self.pick(np.zeros(int(chosen), np.int64))
            self.result.append(1)
        elif e.dtype.kind == "b":
            self.masks += 1
            check_mask(e, self.shape, axis, nothing=True)
            for places in _nonzero(e):
                self.pick(places)
                self.whole()
        else:
            self.pick(e)
            self.whole()

    def plan(self, arrays: int) -> ReadingPlan:
        """The plan of all entries, of which so many are arrays."""
        runs = self.runs
        adjacent = not runs or runs == list(range(runs[0], runs[-1] + 1))
        single_mask = (
            self.masks == 1 and arrays == 1 and all(isinstance(i, np.ndarray) for i in self.indices)
        )
        return ReadingPlan(
            tuple(self.start),
            tuple(self.size),
            tuple(self.step),
            tuple(self.result),
            tuple(self.indices),
            tuple(self.axes),
            self.at if adjacent and self.at >= 0 else 0,
            single_mask or all(ndim_of(i) == 0 for i in self.indices),
            tuple(self.windows),
        )


def make_plan(shape: Shape, key: Any) -> ReadingPlan:
    """What the key means for an array of this shape."""
    if (
        isinstance(key, (np.ndarray, Value))
        and key.dtype.kind in "iu"
        and shape
        and key.shape
        and not STATE.traces
    ):
        return _of_rows(tuple(shape))._replace(indices=(key,))
    entries = [_entry(item) for item in (key if isinstance(key, tuple) else (key,))]
    used = sum(map(_axes_used, entries))
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, "
            f"but {used} were indexed"
        )
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    reading = _Reading(shape, entries)
    for position, e in enumerate(entries):
        if e is None:
            reading.result.append(1)
        elif e is Ellipsis:
            for _ in range(len(shape) - used):
                reading.whole()
        elif isinstance(e, slice):
            reading.cut(e)
        else:
            reading.place(position, e)
    return reading.plan(sum(hasattr(e, "dtype") for e in entries))


@lru_cache(maxsize=1024)
def _of_rows(shape: Shape) -> ReadingPlan:
    """The plan for one index array of running code, which takes the place of `indices`."""
    reading = _Reading(shape, ())
    reading.place(0, np.zeros(1, np.int64))
    for _ in shape[1:]:
        reading.whole()
    return reading.plan(1)


def hashable(key: Any) -> Any:
    """A key of plain integers, slices, None and `...` in a form that can be looked up; None for any
    other."""
    kind = type(key)
    if kind is slice:
        parts = (key.start, key.stop, key.step)
        return (slice, *parts) if _PLAIN.issuperset(map(type, parts)) else None
    if kind is int or key is None or key is Ellipsis:
        return (key,)
    if kind is tuple:
        found = [hashable(item) if type(item) is not tuple else None for item in key]
        return None if None in found else (tuple, *found)
    return None


_PLAIN = frozenset((int, type(None)))


@lru_cache(maxsize=4096)
def known_plan(shape: Shape, known: Any) -> ReadingPlan:
    """The plan for a key as `hashable` gives it: running code asks for the same few again and
    again."""
    return make_plan(shape, key_of(known))


def only_new_axes(shape: Shape, plan: ReadingPlan) -> bool:
    """Whether the key takes all of x as it is, or under a shape with new axes."""
    whole = plan.size == shape and all(s == 1 for s in plan.step)
    return whole and (plan.shape == shape or len(plan.shape) > len(shape))


class Reading(NamedTuple):
    """What reads a key of integers and slices: an operation with its parameters, and the key with
    which NumPy shows the same."""

    op: Op
    params: dict[str, Any]
    key: Any


def reading(shape: Shape, key: Any) -> Reading | None:
    """How running code reads a key from an array of this shape; None where that takes more than one
    view."""
    kind = type(key)
    if kind is int or key is None or key is Ellipsis:
        return _known_reading(shape, (key,))
    if kind is slice:
        start, stop, step = key.start, key.stop, key.step
        if (
            step is None
            and (start is None or type(start) is int)
            and (stop is None or type(stop) is int)
        ):
            return _known_reading(shape, (slice, start, stop, None))
    known = hashable(key) if kind is slice or kind is tuple else None
    return None if known is None else _known_reading(shape, known)


@lru_cache(maxsize=4096)
def _known_reading(shape: Shape, known: Any) -> Reading | None:
    plan = known_plan(shape, known)
    if plan.indices:
        return None
    key = made if type(made := key_of(known)) is tuple else (made,)
    # With the ellipsis NumPy gives a view of 0 dimensions in place of a number.
    key = key if Ellipsis in key else (*key, Ellipsis)
    if only_new_axes(shape, plan):
        return Reading(reshape_op, {"shape": plan.shape}, key)
    params = {"start": plan.start, "size": plan.size, "step": plan.step}
    return (
        Reading(slice_op, params, key)
        if plan.shape == plan.size
        else Reading(select_op, {**params, "shape": plan.shape}, key)
    )


def key_of(known: Any) -> Any:
    if known[0] is slice:
        return slice(*known[1:])
    return tuple([key_of(item) for item in known[1:]]) if known[0] is tuple else known[0]
