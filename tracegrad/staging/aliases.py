"""Which names lead to an array: so that a write into what a branch or a loop gave is seen by all of
them, or refused."""

from __future__ import annotations

import dataclasses
import gc
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..tensor import Boxed
from .lists import Grown


def root_of(x: Any) -> Any:
    """The array whose memory a value shows; None of what is no array."""
    if isinstance(x, Boxed):
        return x._root
    while isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray):
        x = x.base
    return x if isinstance(x, np.ndarray) else None


def arrays_of(value: Any) -> list[Any]:
    """The arrays in a value whose elements can be written."""
    if type(value) is Grown:
        value = value.contents()
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in arrays_of(v)]
    if isinstance(value, dict):
        return arrays_of(list(value.values()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return arrays_of([getattr(value, f.name, None) for f in dataclasses.fields(value)])
    return [value] if getattr(value, "shape", ()) and root_of(value) is not None else []


def objects_of(value: Any) -> list[Any]:
    """The dataclasses in a value whose attributes can be set, in the order of its parts."""
    if type(value) is Grown:
        value = value.contents()
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in objects_of(v)]
    if isinstance(value, dict):
        return objects_of(list(value.values()))
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    parts = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    frozen = getattr(type(value), "__dataclass_params__").frozen  # noqa: B009
    return [*([] if frozen else [value]), *objects_of(parts)]


class Held:
    """The references to values that open bodies hold: nobody writes through them."""

    def __init__(self) -> None:
        self.count: Counter[int] = Counter()

    @contextmanager
    def more(self, values: Iterable[Any]) -> Iterator[None]:
        """While it is open, each of the values is held once more."""
        ids = [id(x) for x in values]
        self.count.update(ids)
        try:
            yield
        finally:
            self.count.subtract(ids)

    def names(self, array: weakref.ref[Any]) -> int:
        """How many variables, containers, views and callers lead to an array."""
        key = id(array())
        noted = sum(
            (key in t.touched) + (key in t.made) + (key in (t.journal or ())) for t in STATE.traces
        )
        return _references(array) - _OWN - self.count[key] - noted

    def is_named(self, array: weakref.ref[Any]) -> bool:
        """Whether something leads to an array, other than what the tape saved."""
        found = self.names(array)
        return found > 0 and found > _saved(array)


def _references(array: weakref.ref[Any]) -> int:
    x = array()
    return 0 if x is None else sys.getrefcount(x)


def _saved(array: weakref.ref[Any]) -> int:
    """How often the tape keeps an array: in tuples with its variable."""
    return sum(
        type(holder) is tuple and any(type(x) is Var for x in holder)
        for holder in gc.get_referrers(array())
    )


def _own() -> int:
    x = np.zeros(1)
    return _references(weakref.ref(x)) - 1


_OWN = _own()


class Merged:
    """An array that a branch or loop gave, which may be one of several that have other names."""

    def __init__(self, value: Any, others: Iterable[Any], line: str) -> None:
        self.value = weakref.ref(value)
        self.others = [weakref.ref(r) for r in others]
        self.line = line

    def concerns(self, root: Any, held: Held) -> bool:
        """Whether a write into an array would have to be seen through another name."""
        value = self.value()
        if value is root:
            return any(r() is not value and held.is_named(r) for r in self.others)
        found = value is not None and any(r() is root for r in self.others)
        del value
        return found and held.is_named(self.value)


def merged(value: Any, sources: Iterable[Any], line: str) -> list[Merged]:
    """What is to be remembered of a value that may be one of these arrays, or hold one."""
    roots = [root_of(x) for s in sources for x in arrays_of(s)]
    return [Merged(root_of(x), roots, line) for x in arrays_of(value)] if roots else []


__all__ = ["Held", "arrays_of", "merged", "objects_of", "root_of"]
