"""What methods of lists do, as a user would write it: of lists that loops fill, these are rewritten
as the user's own functions are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import ops
from .functions import PROGRAMS
from .places import traced

F = TypeVar("F", bound=Callable[..., Any])


def program(f: F) -> F:
    """A function that is rewritten as one of the user's is."""
    PROGRAMS.add(f.__code__)
    return f


def alike(a: Any, b: Any) -> Any:
    """`a == b`, of tuples number by number."""
    for x in (a, b):
        if not isinstance(x, tuple) or type(x).__eq__ is not tuple.__eq__:
            return a == b
    found: Any = len(a) == len(b)
    for x, y in zip(a, b, strict=False):
        found = _either(alike(x, y), found, False)
    return found


@program
def alike_lists(a: Any, b: Any) -> Any:
    """`a == b` of lists."""
    if len(a) != len(b):
        return False
    for k in range(len(a)):
        x, y = a[k], b[k]
        if not alike(x, y):
            return False
    return True


@program
def extended(items: Any, more: Any) -> None:
    """Append all of these."""
    for k in range(len(more)):
        items.append(more[k])


@program
def some(items: Any, found: Any, test: Any, value: Any) -> Any:
    """Whether what is found of some item that passes a test has this truth value."""
    for x in items:
        if test is None or test(x):
            if found(x):
                if value:
                    return True
            elif not value:
                return True
    return False


def _either(test: Any, a: Any, b: Any) -> Any:
    return ops.where(test, a, b) if traced(test) else a if test else b


# --- lists ----------------------------------------------------------------------------------------


@program
def index(items: Any, x: Any, start: Any = 0, stop: Any = None) -> Any:
    """Where an item is first, from `start` on; -1 where it is not."""
    n = len(items)
    last = n if stop is None else min(max(stop + n, 0) if stop < 0 else stop, n)
    for k in range(max(start + n, 0) if start < 0 else start, last):
        if alike(items[k], x):
            return k
    return -1


@program
def count(items: Any, x: Any) -> Any:
    """How many items are so."""
    found = 0
    for k in range(len(items)):
        if alike(items[k], x):
            found += 1
    return found


@program
def insert(items: Any, place: Any, x: Any) -> None:
    """Put an item before that at a place."""
    n = len(items)
    k = min(max(place + n, 0) if place < 0 else place, n)
    items.append(x)
    for j in range(n, k, -1):
        items[j] = items[j - 1]
    items[k] = x


@program
def taken_at(items: Any, place: Any) -> Any:
    """Take an item out of its place, which is inside and counted from the start."""
    x = items[place]
    for j in range(place, len(items) - 1):
        items[j] = items[j + 1]
    items.pop()
    return x


@program
def reverse(items: Any) -> None:
    """Turn it round."""
    n = len(items)
    for j in range(n // 2):
        items[j], items[n - 1 - j] = items[n - 1 - j], items[j]


@program
def bisected(items: Any, x: Any, right: bool) -> Any:
    """The place of an item in order, behind those like it or before them."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if (not x < items[middle]) if right else items[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


__all__ = [
    "alike", "alike_lists", "bisected", "count", "extended", "index", "insert", "program",
    "reverse", "some", "taken_at",
]  # fmt: skip
