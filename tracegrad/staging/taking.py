"""Items taken off a list that loops fill, and items of it that are replaced: at places which only a
run knows, and in branches and loops on traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..checks.ranges import out_of_range
from ..ir.dispatch import STATE
from .agreement import with_numbers
from .algorithms import count, index, insert, reverse, taken_at
from .growing import GrownPlace, own
from .items import parts_of, prior_of, put, wider, wider_rows
from .lists import Grown, Stacked, lists_in
from .places import unknown
from .reading import read
from .regions import Refused, change, is_born
from .session import Session, current

EMPTY = "pop from empty list"


def is_open(owner: Grown) -> bool:
    """Whether what is done to a list belongs into a graph."""
    session = current()
    if session is None or not STATE.traces or owner.frozen:
        return False
    return owner.stacked is not None or bool(session.regions and not is_born(session, owner))


def changing(owner: Grown, line: str) -> tuple[Session, Stacked]:
    """Before a list changes: what it holds."""
    owner.before_change()
    session = current()
    assert session is not None
    if session.regions and not is_born(session, owner):
        change(session, GrownPlace(owner), owner)
    now = prior_of(owner, line)
    return session, now


def last_of(owner: Grown, helpers: Any, line: int, error: str = EMPTY) -> Any:
    """`owner.pop()`."""
    where = helpers.line_of(line)
    session, now = changing(owner, where)
    if now.seen is not None:
        now.seen.taken = True
    count, form = with_numbers(now.count), now.form or (now.seen.form if now.seen else None)
    known = isinstance(count, int)
    if form is None or (known and count == 0):
        # Nothing was ever appended.
        raise out_of_range(error)
    at = count - 1
    if not known:
        helpers.check(line, ops.greater(count, 0), lambda: IndexError(error))
        at = ops.maximum(at, 0)
    owner.stacked = now
    item = read(session, owner, form, at, where)
    if known and not now.open:
        arrays = [a[:at] for a in now.arrays or ()]
        owner.stacked = Stacked(form, arrays, at, off=True)
    else:
        if not now.open:
            now = Stacked(form, now.arrays, 0, count, None, now.rows, True)
        owner.stacked = now.but(now.arrays, now.added - 1, now.most)
    return item


def replace(owner: Grown, key: Any, value: Any, helpers: Any, line: int) -> None:
    """`owner[key] = value`."""
    where = helpers.line_of(line)
    session, now = changing(owner, where)
    form, leaves = parts_of(value, where, owner.name)
    for x in leaves:
        own(session, x, owner.name, where)
    if lists_in(value):
        raise Refused(
            f"{where}: a list is put into {owner.name} in a branch or loop on traced values. Put a "
            "tuple or an array there."
        )
    before = now.form if now.seen is None else now.seen.form or now.form
    if before is None:
        raise out_of_range("list assignment index out of range")
    form = wider(before, form, where, owner.name)
    if now.seen is not None:
        now.seen.form, now.seen.written = form, True
    else:
        now = wider_rows(now, form, 0)
    at = place_in(key, now.count, helpers, line)
    arrays = now.arrays
    if arrays is not None and form.same_as(now.form):
        arrays = [put(a, at, ops.convert(x, a.dtype)) for a, x in zip(arrays, leaves, strict=True)]
    found = now.but(arrays, now.added)
    found.off = True if now.seen is None else now.off
    owner.stacked = found


def detach(owner: Grown, line: str) -> None:
    """Let a list have its items as arrays."""
    session = current()
    if owner.stacked is None and session is not None:
        _, now = changing(owner, line)
        owner.stacked = Stacked(now.form, now.arrays, now.base, off=True)


def changed(helpers: Any, line: int, name: str, owner: Grown, args: Any, kwargs: Any) -> Any:
    """What a method gives of a list of which loops know; NotImplemented of others."""
    method = METHODS.get(name)
    if method is None or kwargs or not is_open(owner):
        return NotImplemented
    return method(owner, helpers, line, *args)


def _pop(owner: Grown, helpers: Any, line: int, key: Any = -1) -> Any:
    if type(key) is int and key == -1:
        return last_of(owner, helpers, line)
    detach(owner, helpers.line_of(line))
    place = place_in(key, owner.length(), helpers, line, "pop index out of range")
    return version(taken_at)(owner, place)


def deleted(owner: Grown, key: Any, helpers: Any, line: int) -> None:
    """`del owner[key]`."""
    detach(owner, helpers.line_of(line))
    version(taken_at)(owner, place_in(key, owner.length(), helpers, line))


def _index(owner: Grown, helpers: Any, line: int, x: Any, *ends: Any) -> Any:
    place = with_numbers(version(index)(owner, x, *ends))
    _found(place, helpers, line, "list.index(x): x not in list")
    return place


def _remove(owner: Grown, helpers: Any, line: int, x: Any) -> None:
    detach(owner, helpers.line_of(line))
    place = with_numbers(version(index)(owner, x))
    _found(place, helpers, line, "list.remove(x): x not in list")
    version(taken_at)(owner, ops.maximum(place, 0) if unknown(place) else place)


def _found(place: Any, helpers: Any, line: int, error: str) -> None:
    if isinstance(place, int):
        if place < 0:
            raise ValueError(error)
    else:
        helpers.check(line, ops.greater_equal(place, 0), lambda: ValueError(error))


def _insert(owner: Grown, helpers: Any, line: int, place: Any, x: Any) -> None:
    detach(owner, helpers.line_of(line))
    version(insert)(owner, place, x)


def _count(owner: Grown, helpers: Any, line: int, x: Any) -> Any:
    return version(count)(owner, x)


def _reverse(owner: Grown, helpers: Any, line: int) -> None:
    detach(owner, helpers.line_of(line))
    version(reverse)(owner)


def _clear(owner: Grown, helpers: Any, line: int) -> None:
    _, now = changing(owner, helpers.line_of(line))
    if now.seen is not None:
        now.seen.taken = True
        owner.stacked = now.but(now.arrays, 0 - now.base, now.most)
    else:
        owner.stacked = Stacked(now.form, [a[:0] for a in now.arrays or ()], 0, off=True)


def version(function: Any) -> Any:
    """What is called in the place of a function that is rewritten."""
    session = current()
    assert session is not None
    return session.version(function)


METHODS: dict[str, Callable[..., Any]] = {
    "pop": _pop, "index": _index, "remove": _remove, "insert": _insert, "count": _count,
    "reverse": _reverse, "clear": _clear,
}  # fmt: skip


def holds(owner: Grown, x: Any) -> Any:
    """`x in owner`."""
    place = version(index)(owner, x)
    return place >= 0


def filled(count: Any, helpers: Any, line: int, error: str) -> None:
    """Before something is taken of so many items."""
    count = with_numbers(count)
    if isinstance(count, int):
        if count == 0:
            raise out_of_range(error)
        return
    helpers.check(line, ops.greater(count, 0), lambda: IndexError(error))


def place_in(
    key: Any, count: Any, helpers: Any, line: int, error: str = "list assignment index out of range"
) -> Any:
    """An index of a list of so many items, which is checked, from the start."""
    key, count = with_numbers(key), with_numbers(count)
    if isinstance(key, int) and isinstance(count, int):
        if not -count <= key < count:
            raise out_of_range(error)
        return key % count
    if isinstance(key, int):
        at: Any = key if key >= 0 else count + key
    else:
        at = ops.where(ops.less(key, 0), key + count, key)
    fine = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, count))
    helpers.check(line, fine, lambda: IndexError(error))
    return ops.clip(at, 0, ops.maximum(count - 1, 0))


__all__ = [
    "changed",
    "deleted",
    "detach",
    "filled",
    "holds",
    "is_open",
    "last_of",
    "place_in",
    "replace",
    "version",
]
