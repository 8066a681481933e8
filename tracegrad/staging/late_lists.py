"""New lists of the items of lists of which only a run knows the length: two behind one another, one
several times, every second item, one whose length is a size. The arrays of the old ones are read
at the places of the new items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..ir.dispatch import bind
from ..ir.forms import bounded, form_of
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..ops.elementwise.elementary import identity_op
from ..sizes import form as size_form
from ..tensor import Boxed, inside
from .agreement import with_numbers
from .algorithms import alike_lists, extended
from .growing import GrownPlace
from .items import prior_of, wider
from .lengths import size_of
from .lists import Grown, Stacked
from .reading import shared
from .regions import change, is_born
from .session import current

COPIES = "Read single items of it, or go over it with for"


def is_late_list(x: Any) -> bool:
    """Whether it is a list of which only a run knows the length."""
    return type(x) is Grown and x.stacked is not None and x.stacked.counted


def of_places(x: Stacked, places: Callable[[Any], Any], count: Any, rows: Any) -> Grown:
    """A list of so many items, for which there are rows: the item k is that at `places(k)`."""
    found, arrays = Grown(), x.arrays
    if arrays is not None:
        last = ops.maximum(x.rows - 1, 0)
        # Rows that hold no item are read as well.
        at = ops.minimum(ops.maximum(places(ops.arange(rows)), 0), last)
        arrays = [inside(a)[at] for a in arrays]
    count = ops.convert(with_numbers(count), np.int64)
    bounded(count, 0, form_of(size_form(rows)) + 1)
    found.stacked = Stacked(x.form, arrays, 0, number(count), None, rows)
    return found


def _now(x: Any) -> Stacked:
    if not isinstance(x, Grown):
        x = Grown(x)
    return x.ready() or prior_of(x, user_line())


def joined(a: Any, b: Any) -> Grown:
    """`a + b`."""
    for x in (a, b):
        if not isinstance(x, list):
            raise TypeError(f'can only concatenate list (not "{type(x).__name__}") to list')
    first, second = _now(a), _now(b)
    if first.arrays is None or second.arrays is None:
        return copied(b if first.arrays is None else a)
    assert first.form is not None
    assert second.form is not None
    form = wider(first.form, second.form, user_line(), "a + b")
    arrays = [
        ops.concatenate([ops.convert(p, k.dtype), ops.convert(q, k.dtype)], 0)
        for p, q, k in zip(first.arrays, second.arrays, form.kinds, strict=True)
    ]
    n, room = with_numbers(first.count), with_numbers(first.rows)
    rows = first.rows + second.rows

    def places(k: Any) -> Any:
        return ops.where(ops.less(k, n), k, room + k - n)

    found = of_places(Stacked(form, arrays, rows), places, n + with_numbers(second.count), rows)
    return shared(found, [a, b], user_line())


def copied(a: Any) -> Grown:
    """A list of the same items."""
    found, now = Grown(), _now(a)
    if now.arrays is not None:
        arrays = [bind(identity_op, [inside(x)]) for x in now.arrays]
        now = now.rebased() if now.counted else now
        found.stacked = now.but(arrays, now.added)
    return shared(found, [a], user_line())


def extend(owner: Grown, items: Grown) -> None:
    """`owner.extend(items)`."""
    session = current()
    assert session is not None
    if session.regions and not is_born(session, owner):
        change(session, GrownPlace(owner), owner)
    if owner.stacked is not None and owner.stacked.open:
        session.version(extended)(owner, items)
        return
    found = joined(owner, items)
    owner.stacked = None if found.stacked is None else found.stacked.rebased()
    owner.shares([items])


def repeated(a: Grown, times: Any) -> Grown:
    """`a * times`."""
    if not isinstance(times, (int, np.integer)):
        if not isinstance(times, Boxed) or times.shape or times.dtype.kind not in "iu":
            raise TypeError("can't multiply sequence by non-int")
    now, times = _now(a), max(int(times), 0)
    n = with_numbers(now.count)
    found = of_places(now, lambda k: k % ops.maximum(n, 1), n * times, now.rows * times)
    return shared(found, [a], user_line())


def stepped(a: Grown, key: slice) -> Grown:
    """`a[start:stop:step]` of a step that is known and not 1."""
    now, step = _now(a), int(key.step)
    n = with_numbers(now.count)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def end(place: Any, missing: Any) -> Any:
        if place is None:
            return missing
        place = ops.where(ops.less(place, 0), place + n, place)
        return ops.minimum(ops.maximum(place, low), high)

    begin, stop = (low, high) if step > 0 else (high, low)
    first, last, size = end(key.start, begin), end(key.stop, stop), abs(step)
    span = last - first if step > 0 else first - last
    count = ops.maximum((span + (size - 1)) // size, 0)
    rows = (now.rows + (size - 1)) // size
    found = of_places(now, lambda k: first + step * k, ops.minimum(count, rows), rows)
    return shared(found, [a], user_line())


def exact(a: Grown) -> Grown:
    """The same list over its length as a size."""
    found, now = Grown(), _now(a)
    rows = size_of(now.count, COPIES)
    arrays = [ops.dynamic_slice(x, 0, rows, axis=0) for x in now.arrays or ()]
    found.stacked = Stacked(now.form, arrays, rows)
    return shared(found, [a], user_line())


def of_any_length(a: Any) -> Any:
    """A list whose length is a size as one of which only a run knows the length."""
    if type(a) is not Grown or a.stacked is None or a.stacked.open:
        return a
    if a.late or isinstance(a.stacked.count, int):
        return a
    found, now = Grown(), a.stacked
    count = with_numbers(now.count)
    found.stacked = Stacked(now.form, now.arrays, 0, count, None, now.rows)
    return found.shares([a])


def alike(a: Any, b: Any) -> Any:
    """`a == b`."""
    session = current()
    if session is None or not isinstance(b, list):
        return False
    for x, y in ((a, b), (b, a)):
        if not is_late_list(x) and not len(x):
            return ops.equal(y.length(), 0) if type(y) is Grown else False
    return session.version(alike_lists)(a, b)


def truths(a: Grown, every: bool) -> Any:
    """`all(a)`, or `any(a)`."""
    now = _now(a)
    if now.arrays is None:
        return every
    if len(now.arrays) != 1 or now.arrays[0].ndim > 1:
        return NotImplemented
    (array,) = now.arrays
    holds = array if array.dtype.kind == "b" else ops.not_equal(array, 0)
    there = ops.less(ops.arange(now.rows), with_numbers(now.count))
    if every:
        return number(ops.all(ops.logical_or(holds, ops.logical_not(there))))
    return number(ops.any(ops.logical_and(holds, there)))


__all__ = [
    "alike", "copied", "exact", "extend", "is_late_list", "joined", "of_any_length",
    "of_places", "repeated",
    "stepped", "truths",
]  # fmt: skip
