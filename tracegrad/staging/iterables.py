"""What a `for` goes over, item by item: ranges, rows of arrays, several of them side by side."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..errors import ConcretizationError
from ..faces.numpy.flat import Flat
from ..ir.dispatch import STATE
from ..ir.forms import form_of, smallest
from ..ir.lines import program_place
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..sizes import SYMBOLIC, form, larger_of, numel, same
from ..tensor import Boxed
from .letters import Spelled
from .listed import Least, Listed, Ragged, listed, renewed
from .lists import Grown
from .pending import fail
from .places import traced
from .queues import Queue
from .session import current
from .stand_ins import part_of
from .tables import Tabled


class Counted:
    """`range(start, stop, step)` of which a bound is traced, or a size."""

    def __init__(self, *bounds: Any) -> None:
        start, stop, step = (
            (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
        )
        for b in (start, stop, step):
            if isinstance(b, Boxed) and (b.shape or b.dtype.kind not in "iu"):
                raise TypeError(f"range() takes integers, not {b.array_type}")
            if not isinstance(b, (Boxed, *SYMBOLIC)):
                operator.index(b)
        if traced(step):
            _not_zero(step)
        else:
            step = operator.index(step)
            if step == 0:
                raise ValueError(NO_STEP)
        self.start, self.stop, self.step = start, stop, step

    @property
    def count(self) -> Any:
        """The number of items."""
        if traced(self.step):
            return self._count_of_any_step()
        span = self.stop - self.start if self.step > 0 else self.start - self.stop
        size = abs(self.step)
        found = span if size == 1 else (span + (size - 1)) // size
        if not isinstance(found, Boxed):
            return larger_of(0, found)
        # Of the difference more is known than of a maximum.
        least = smallest(form_of(form(found)))
        return found if isinstance(least, int) and least >= 0 else ops.maximum(found, 0)

    def _count_of_any_step(self) -> Any:
        """Where only a run knows the step; of a step of 0, which fails, none."""
        span = self.stop - self.start
        size = self.step
        if not _positive(size):
            span = ops.where(size > 0, span, -span)
            size = ops.maximum(abs(size), 1)
        # No numbers of Python's: their quotients would be checked once more.
        count = ops.floor_divide(*(ops.convert(v, np.int64) for v in (span + size - 1, size)))
        return ops.maximum(number(count), 0)

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.start + self.step * k

    def __iter__(self) -> Iterator[int]:
        return iter(range(*map(operator.index, (self.start, self.stop, self.step))))

    def __len__(self) -> int:
        return len(range(*map(operator.index, (self.start, self.stop, self.step))))


NO_STEP = "range() arg 3 must not be zero"


def _positive(step: Any) -> bool:
    least = smallest(form_of(form(step)))
    return isinstance(least, int) and least > 0


def _not_zero(step: Any) -> None:
    """Fail as Python does where a step that only a run knows is 0."""
    session = current()
    if _positive(step):
        return
    if session is None or session.tries:
        raise ConcretizationError(
            f"{user_line()}: the step of a range() is a traced value. Where it is 0, that is an "
            "error which a 'try' or 'with' around it could not see. Make the range before the try."
        )
    fail(session, ValueError(NO_STEP), program_place(), ops.equal(step, 0))


class Rows:
    """The items of an array along its first axis: views, as NumPy's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def count(self) -> Any:
        """The number of items."""
        return self.array.shape[0]

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.array[k] if isinstance(self.array, Boxed) else part_of(self.array, k)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)


class TableRows(Rows):
    """The lists in a list of them."""

    def __init__(self, table: Tabled) -> None:
        super().__init__(table.box)
        self.table = table

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.table.item(k)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.table)


class Numbers:
    """A Python range."""

    def __init__(self, steps: range) -> None:
        self.steps = steps
        self.count: Any = len(steps)

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.steps.start + self.steps.step * k

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)


class Zipped:
    """Several side by side, as long as the shortest."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)

    @property
    def count(self) -> Any:
        """The number of items."""
        counts = [p.count for p in self.parts]
        if all(type(c) is int for c in counts):
            return min(counts)
        first = counts[0]
        for c in counts[1:]:
            if isinstance(first, Boxed) or isinstance(c, Boxed):
                first = ops.minimum(first, c)
            else:
                first = -larger_of(-first, -c)
        return first

    def item(self, k: Any) -> Any:
        """The items of a number."""
        return tuple([p.item(k) for p in self.parts])

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.parts, strict=False)


class Numbered(Zipped):
    """The items of something with their numbers."""

    @property
    def count(self) -> Any:
        """The number of items, of which no least one of two has to be found."""
        return self.parts[1].count


class Backwards:
    """From the last to the first."""

    def __init__(self, part: Any) -> None:
        self.part = part

    @property
    def count(self) -> Any:
        """The number of items."""
        return self.part.count

    def item(self, k: Any) -> Any:
        """The item of a number, counted from the end."""
        return self.part.item(self.count - 1 - k)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.part)[::-1])


class Items:
    """The items of a list that a loop filled."""

    def __init__(self, items: Grown) -> None:
        self.items = items

    @property
    def count(self) -> Any:
        """The number of items."""
        return self.items.length()

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.items.item(k)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Everywhere:
    """The places of an array, the last axis first, as `np.ndindex` gives them."""

    def __init__(self, shape: Sequence[Any]) -> None:
        self.shape = tuple(shape)

    @property
    def count(self) -> Any:
        """The number of places."""
        return numel(self.shape)

    def item(self, k: Any) -> Any:
        """The place of a number."""
        found: list[Any] = []
        for n in reversed(self.shape):
            found.insert(0, k % n)
            k = k // n
        return tuple(found)

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ndindex(*map(operator.index, self.shape)))


COUNTED = (Everywhere, Items, Counted, Rows, Numbers, Zipped, Backwards, Listed, Ragged, Spelled)


def by_number(x: Any) -> Any:
    """An iterable whose items are had by number; None of others."""
    if isinstance(x, COUNTED):
        return renewed(x)
    if type(x) is range:
        return Numbers(x)
    if type(x) is Queue:
        x = x.listed()
    if type(x) is Grown and x.ready() is not None:
        return Items(x)
    if type(x) is Tabled:
        return TableRows(x) if x.nested else Rows(x.box)
    if isinstance(x, Flat):
        return Rows(x.base.reshape(-1))
    if isinstance(x, (Boxed, np.ndarray)) and x.ndim and x.dtype != object:
        return Rows(x)
    if type(x) is str and len(x) > Least.items and STATE.traces:
        return Spelled(x)
    return listed(x) if type(x) in (list, tuple, Grown) else None


def counted(bounds: Sequence[Any]) -> Any:
    """`range(*bounds)`."""
    if any(traced(b) or isinstance(b, SYMBOLIC) for b in bounds):
        return Counted(*bounds)
    return range(*bounds)


def side_by_side(parts: Sequence[Any], otherwise: Any, strict: bool = False) -> Any:
    """`zip(*parts)`: by number where all are, and are as long as each other where they have to
    be."""
    found = [by_number(p) for p in parts]
    if not found or any(f is None for f in found):
        return otherwise()
    if strict and not all(_as_long(f.count, found[0].count) for f in found[1:]):
        return otherwise()
    return Zipped(found)


def _as_long(a: Any, b: Any) -> bool:
    return not isinstance(a, Boxed) and not isinstance(b, Boxed) and same(a, b)


def numbered(x: Any, start: Any, otherwise: Any) -> Any:
    """`enumerate(x, start)`."""
    part = by_number(x)
    return otherwise() if part is None else Numbered([Counted(start, start + part.count), part])


def everywhere(function: Any, args: Sequence[Any]) -> Any:
    """`np.ndindex(shape)` and `np.ndenumerate(array)`; None where NumPy's own does."""
    if function is np.ndenumerate:
        x = args[0]
        if not isinstance(x, Boxed):
            return None
        return Zipped([Everywhere(x.shape), Rows(ops.reshape(x, (-1,)))])
    shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    return Everywhere(shape)


def weak_number(k: Any) -> Any:
    """A step's number as Python's."""
    return number(k) if isinstance(k, Boxed) else int(k)


__all__ = [
    "COUNTED",
    "ConcretizationError",
    "by_number",
    "counted",
    "everywhere",
    "numbered",
    "side_by_side",
    "weak_number",
]
