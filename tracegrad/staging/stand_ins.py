"""Parts of plain arrays and lists at places that are known only while a program runs: `row = m[k]`
of a plain `m` is traced, and who writes into the row writes into `m`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import ops
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..tensor import Array, Boxed, inside
from .constructors import stacked
from .places import is_leaf
from .regions import Refused
from .session import Restart, current
from .tables import kind_of_items


class StandIn(Array):
    """Stands for a plain array, or the items of a list, of which a part is read at such a place.
    A write into the part, by whatever name, function or method, comes here first."""

    __slots__ = ("written",)
    written: Callable[[], NoReturn]

    def _touch(self: Any) -> None:
        self.written()


def _part(array: Any, key: Any, written: Callable[[], NoReturn]) -> Any:
    # Where the items stand on the tape, so does it.
    stand_in = inside(array)._as(StandIn)
    stand_in.written = written
    return stand_in[key]


def part_of(array: np.ndarray[Any, Any], key: Any) -> Any:
    """`array[key]`. Before somebody writes into it the array is traced from its start."""
    return _part(array, key, lambda: trace_from_start(array, user_line()))


def item_of(stacked: Any, key: Any, kind: str) -> Any:
    """An item of a list, of which the items are stacked here; nobody may write into it."""

    def written() -> NoReturn:
        raise Refused(
            f"{user_line()}: an item of a {kind} is written to, which was read at a place that is "
            "not known while the function is traced. Make one array of the items: np.stack(...)."
        )

    return _part(stacked, key, written)


def one_of(values: Any, key: Any, kind: str) -> Any:
    """An item of a list or a range, a number of Python's where all are."""
    item = item_of(stacked(values), key, kind)
    if type(values) is range:
        return number(item)
    common = kind_of_items(values)
    return number(item) if common is not None and common[1] and common[0].kind != "b" else item


def entry_of(entries: dict[Any, Any], key: Any, check: Any) -> Any:
    """`entries[key]` by a traced integer, where the keys are integers and the values numbers or
    arrays of one shape; else NotImplemented. `check`: what is raised where there is no such key."""
    keys, values = list(entries), list(entries.values())
    if not (
        isinstance(key, Boxed)
        and not key.shape
        and key.dtype.kind in "iu"
        and keys
        and all(isinstance(k, (int, np.integer)) for k in keys)
        and all(map(is_leaf, values))
        and len({getattr(x, "shape", ()) for x in values}) == 1
    ):
        return NotImplemented
    if keys == list(range(len(keys))):
        place, there = key, ops.logical_and(ops.greater_equal(key, 0), ops.less(key, len(keys)))
    else:
        equal = ops.equal(np.array(keys), key)
        place, there = ops.argmax(equal), ops.any(equal)
    check(there, lambda: KeyError("a key that only a run knows"))
    place = ops.where(there, place, 0)
    return one_of(values, place, "dict")


def trace_from_start(array: Any, line: str, who: str = "") -> NoReturn:
    """A plain array is to hold traced values, for which it has to be traced from its start. `who`
    writes, where it is a function that got the array as an argument."""
    session = current()
    found = None if session is None else session.site_of(array)
    if session is not None and found is None and not session.whole:
        session.whole = True
        raise Restart
    if session is None or found is None or found[0] in session.sites:
        raise Refused(
            f"{line}: {who and who + ': '}a traced or differentiated value is written into a "
            f"plain array of shape {array.shape} that was made elsewhere (an argument, a variable "
            "around the function, a library). Write into a new one: np.zeros_like(x), or a copy "
            "made in the function."
        )
    session.sites.add(found[0])
    raise Restart


__all__ = ["item_of", "one_of", "part_of", "trace_from_start"]
