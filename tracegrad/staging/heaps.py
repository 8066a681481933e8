"""`heapq`, of lists that loops fill: the steps of its functions as loops of the graph, over the
arrays that hold the leaves of the items. So equal items end where they do in Python."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..checks.ranges import out_of_range
from ..control.repeat import fori_loop, while_loop
from ..ir.dispatch import STATE
from ..tensor import inside
from ..tree import flatten
from .agreement import with_numbers
from .algorithms import program
from .items import parts_of, put
from .lists import Grown, Stacked
from .places import any_in, followed
from .regions import Refused, is_static
from .taking import detach, filled, is_open, last_of, replace, version

Leaves = Sequence[Any]


def less(a: Leaves, b: Leaves) -> Any:
    """`a < b` of items by their leaves: by the first that differ, as Python compares tuples."""
    found: Any = np.bool_(False)
    for x, y in reversed(list(zip(a, b, strict=True))):
        if x.dtype.kind == "b":
            x, y = ops.convert(x, np.int8), ops.convert(y, np.int8)
        found = ops.where(ops.equal(x, y), found, ops.less(x, y))
    return found


def _below(a: Any, b: Any) -> Any:
    """`a < b` of items."""
    leaves = [[inside(np.asarray(x) if is_static(x) else x) for x in flatten(i)[0]] for i in (a, b)]
    return less(*leaves)


@program
def pushed_and_taken(heap: Any, x: Any) -> Any:
    """`heapq.heappushpop`."""
    if len(heap) > 0 and _below(heap[0], x):
        return heapq.heapreplace(heap, x)
    return x


def _at(arrays: Leaves, k: Any) -> list[Any]:
    return [inside(a)[k] for a in arrays]


def _put(arrays: Leaves, k: Any, leaves: Leaves) -> list[Any]:
    return [put(a, k, x) for a, x in zip(arrays, leaves, strict=True)]


def risen(arrays: Leaves, start: Any, place: Any, x: Leaves) -> list[Any]:
    """The heap with an item that goes up from a place until what is above is not larger."""

    def goes(carry: Any) -> Any:
        k, *now = carry
        above = ops.maximum(k - 1, 0) // 2
        return ops.logical_and(ops.greater(k, start), less(x, _at(now, above)))

    def step(carry: Any) -> Any:
        k, *now = carry
        above = ops.maximum(k - 1, 0) // 2
        return [above, *_put(now, k, _at(now, above))]

    k, *found = while_loop(goes, step, [ops.convert(inside(place), np.int64), *arrays])
    return _put(found, k, x)


def sunk(arrays: Leaves, count: Any, start: Any) -> list[Any]:
    """The heap of so many items with that at a place brought where it belongs: down to the end
    along the smaller ones, and up from there."""
    x = _at(arrays, start)

    def goes(carry: Any) -> Any:
        return ops.less(2 * carry[0] + 1, count)

    def step(carry: Any) -> Any:
        k, *now = carry
        left = 2 * k + 1
        right = ops.minimum(left + 1, count - 1)
        chosen = ops.where(less(_at(now, left), _at(now, right)), left, right)
        return [chosen, *_put(now, k, _at(now, chosen))]

    k, *found = while_loop(goes, step, [ops.convert(inside(start), np.int64), *arrays])
    return risen(found, start, k, x)


def heaped(helpers: Any, line: int, function: Any, args: Any) -> Any:
    """What a function of `heapq` gives of a heap that loops fill, or that has traced items;
    NotImplemented of others."""
    heap = args[0]
    if not STATE.traces:
        return NotImplemented
    if not (is_open(heap) or any_in((list(list.__iter__(heap)), args[1:]), followed)):
        return NotImplemented
    where = helpers.line_of(line)
    detach(heap, where)
    return FUNCTIONS[function](_Heap(heap, helpers, line, where), *args[1:])


class _Heap:
    """A heap in a call."""

    def __init__(self, owner: Grown, helpers: Any, line: int, where: str) -> None:
        self.owner, self.helpers, self.line, self.where = owner, helpers, line, where

    @property
    def now(self) -> Stacked:
        """What it holds."""
        found = self.owner.stacked
        assert found is not None
        kinds = () if found.form is None else found.form.kinds
        if found.form is not None and not _compared_as_tuples(found.form.spec):
            raise Refused(
                f"{self.where}: the items of the heap {self.owner.name} are of a class with a "
                "comparison of its own (__lt__). Put tuples there that begin with what decides."
            )
        if any(k.shape or k.dtype.kind == "c" for k in kinds):
            raise Refused(
                f"{self.where}: the items of the heap {self.owner.name} are compared, and are not "
                "real numbers, or tuples of these. Put an index there, and read arrays by it."
            )
        return found

    def filled(self) -> None:
        """Before an item is taken."""
        filled(self.owner.length(), self.helpers, self.line, "index out of range")

    def change(self, make: Callable[[list[Any]], list[Any]]) -> None:
        """Bring items to other places; nothing in a look that does not know them yet."""
        now = self.now
        if now.seen is not None:
            now.seen.written = True
        if now.arrays is not None and not _is_empty(now):
            found = now.but(make(now.arrays), now.added)
            found.off = found.off or now.seen is None
            self.owner.stacked = found

    def least(self) -> Any:
        """The first item."""
        now = self.now
        form = now.form or (now.seen.form if now.seen else None)
        if form is None:
            # Nothing was ever appended.
            raise out_of_range("index out of range")
        if now.arrays is None:
            assert now.seen is not None
            now.seen.read = True
            return Stacked(form, None, 0).made([ops.zeros((), k.dtype) for k in form.kinds])
        return now.made(_at(now.arrays, 0))


def _compared_as_tuples(spec: Any) -> bool:
    """Whether items of this structure are compared as Python compares tuples."""
    if isinstance(spec[0], type) and issubclass(spec[0], tuple):
        return spec[0].__lt__ is tuple.__lt__ and all(map(_compared_as_tuples, spec[1:]))
    return True


def _is_empty(x: Stacked) -> bool:
    rows = x.arrays[0].shape[0] if x.arrays else 0
    return isinstance(rows, int) and rows == 0


def _count(x: Stacked) -> Any:
    return ops.convert(with_numbers(x.count), np.int64)


def _push(heap: _Heap, x: Any) -> None:
    heap.owner.append(x)
    last = _count(heap.now) - 1
    heap.change(lambda a: risen(a, 0, last, _at(a, ops.maximum(last, 0))))


def _pop(heap: _Heap) -> Any:
    heap.filled()
    found = last_of(heap.owner, heap.helpers, heap.line, "index out of range")
    if heap.now.arrays is None or _is_empty(heap.now):
        return found
    least = heap.least()
    last = [ops.convert(inside(x), k.dtype) for x, k in zip(*_leaves(heap, found), strict=True)]
    count = _count(heap.now)
    heap.change(lambda a: sunk(_put(a, 0, last), count, np.int64(0)))
    return least


def _leaves(heap: _Heap, x: Any) -> tuple[list[Any], Any]:
    form, leaves = parts_of(x, heap.where, heap.owner.name)
    return leaves, form.kinds


def _heapify(heap: _Heap) -> None:
    count = _count(heap.now)
    half = count // 2
    heap.change(
        lambda a: list(
            fori_loop(0, half, lambda k, now: sunk(now, count, half - 1 - inside(k)), list(a))
        )
    )


def _replace(heap: _Heap, x: Any) -> Any:
    heap.filled()
    least = heap.least()
    replace(heap.owner, 0, x, heap.helpers, heap.line)
    count = _count(heap.now)
    heap.change(lambda a: sunk(a, count, np.int64(0)))
    return least


def _pushpop(heap: _Heap, x: Any) -> Any:
    return version(pushed_and_taken)(heap.owner, x)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    heapq.heappush: _push,
    heapq.heappop: _pop,
    heapq.heapify: _heapify,
    heapq.heapreplace: _replace,
    heapq.heappushpop: _pushpop,
}
"""What stands for functions of `heapq`."""


__all__ = ["FUNCTIONS", "heaped"]
