"""Calls on lists that loops fill, on heaps, and on deques: where they are to be such, and what does
there what Python would do."""

from __future__ import annotations

import builtins
import heapq
from collections import deque
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from ..ir.dispatch import STATE
from ..ir.forms import as_length
from ..ops.elementwise.arithmetic import number
from ..sizes import Size
from ..sizes.owners import is_late
from ..tensor import Boxed
from .heaps import FUNCTIONS, heaped
from .kept_lists import to_grown
from .late_lists import copied, is_late_list, of_any_length, truths
from .lists import Grown
from .places import any_in, unknown
from .queues import EMPTY, Queue
from .regions import born
from .session import Session
from .taking import changed, detach, filled


def of_container(
    helpers: Any,
    line: int,
    place: int,
    function: Any,
    args: Any,
    kwargs: Any,
    session: Session,
) -> Any:
    """What a call gives; NotImplemented of others."""
    owner = getattr(function, "__self__", None)
    if args and type(args[0]) is list and STATE.traces and _is_of_heaps(function):
        if session.regions or any_in((args[0], *args[1:]), unknown):
            to_grown(args[0])
    if type(owner) is Grown and STATE.traces:
        return changed(helpers, line, function.__name__, owner, args, kwargs)
    if args and type(args[-1]) is Grown and not kwargs and STATE.traces and _hashable(function):
        late = of_any_length(args[-1]) if _has_late_size(args[-1]) else args[-1]
        if is_late_list(late):
            found = _of_late_list(helpers, line, place, function, *args[:-1], late)
            if found is not NotImplemented:
                return found
    if type(owner) is Queue and function.__name__ in ("pop", "popleft"):
        detach(owner.items, helpers.line_of(line))
        filled(owner.length(), helpers, line, EMPTY)
    elif args and type(args[0]) is Grown and not kwargs and _is_of_heaps(function):
        return heaped(helpers, line, function, args)
    elif function is deque and (
        (helpers.code, place) in session.queues or (args and is_late_list(args[0]))
    ):
        made = Queue(*args, **kwargs)
        if session.regions:
            born(session, made)
            born(session, made.items)
        return made
    elif function is builtins.len and args and type(args[0]) in (Queue, Grown):
        n = args[0].length()
        return as_length(number(n) if isinstance(n, Boxed) else n)
    return NotImplemented


def _has_late_size(items: Grown) -> bool:
    now = items.stacked
    return now is not None and type(now.count) is Size and is_late(now.count.form)


def _of_late_list(helpers: Any, line: int, place: int, function: Any, *args: Any) -> Any:
    """What functions of Python's give of a list of which only a run knows the length."""
    *before, items = args
    if function in OF_ONE and not before:
        return OF_ONE[function](items)
    if len(before) != 1:
        return NotImplemented
    if function in (heapq.nlargest, heapq.nsmallest):
        largest = function is heapq.nlargest
        found = helpers.call(line, place, builtins.sorted, items, reverse=largest)
        return helpers.get_item(line, found, slice(0, before[0]))
    asked = partial(helpers.call, line, place, before[0])
    if function is builtins.map:
        return helpers.collected(line, items, asked)
    if function is builtins.filter:
        return helpers.collected(line, items, _itself, _itself if before[0] is None else asked)
    return NotImplemented


def _tuple_of(items: Grown) -> Grown:
    found = copied(items)
    found.name, found.frozen = "a tuple", True
    return found


OF_ONE: dict[Any, Any] = {
    builtins.list: copied,
    builtins.tuple: _tuple_of,
    builtins.reversed: lambda items: items[::-1],
    builtins.any: partial(truths, every=False),
    builtins.all: partial(truths, every=True),
}


def _itself(x: Any) -> Any:
    return x


def _hashable(function: Any) -> bool:
    return getattr(type(function), "__hash__", None) is not None


def _is_of_heaps(function: Any) -> bool:
    return _hashable(function) and function in FUNCTIONS


def with_lists_of_queues(function: Any, args: Any) -> Any:
    """The arguments of a call, with lists in the place of deques."""
    if isinstance(function, (FunctionType, MethodType, partial)) or not any(
        type(a) is Queue for a in args
    ):
        return args
    if function in (builtins.isinstance, builtins.type):
        return tuple([deque() if type(a) is Queue else a for a in args])
    return tuple([a.listed() if type(a) is Queue else a for a in args])


__all__ = ["of_container", "with_lists_of_queues"]
