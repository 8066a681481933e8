"""Long lists that a `for` goes over: of things of one form one array for each leaf, of arrays of
different length one behind the other, with the places where each begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..ir.dispatch import STATE
from ..ir.forms import bounded, form_of
from ..sizes import form, number_of, same
from ..tensor import Boxed, inside
from .aliases import root_of
from .item_forms import Form
from .items import parts_of, wider
from .lists import Stacked, lists_in
from .places import followed, is_leaf
from .regions import Refused
from .stand_ins import item_of


class Least:
    """From when on a list is not written out."""

    items = 12


class Listed:
    """The items of a list, by number."""

    ragged = False

    def __init__(self, values: Sequence[Any], rows: Stacked, leaves: Sequence[Any]) -> None:
        self.values, self.rows, self.seen = values, rows, list(values)
        self.count: Any = len(self.seen)
        self.array = rows.arrays
        held = [x for v in (values, *self.seen) for x in lists_in(v)]
        roots = [root_of(x) for x in leaves if isinstance(x, Boxed) and x.shape]
        self.owners = {id(x) for x in (values, *held, *roots)}
        """What must not change in the loop, which would not see it."""

    def item(self, k: Any) -> Any:
        """The item of a number."""
        rows = self.rows
        assert rows.form is not None
        assert rows.arrays is not None
        leaves = [
            item_of(a, k, "list") if kind.shape else inside(a)[k]
            for a, kind in zip(rows.arrays, rows.form.kinds, strict=True)
        ]
        return rows.made(leaves)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


class Ragged:
    """Arrays of different length in a list, by number."""

    ragged = True

    def __init__(self, values: Sequence[Any]) -> None:
        self.values, self.seen = values, list(values)
        self.count: Any = len(self.seen)
        sizes = [v.shape[0] for v in self.seen]
        self.lengths: Any
        self.bounds: Any
        if all(type(n) is int for n in sizes):
            self.lengths = np.array(sizes)
            self.starts: Any = np.cumsum(self.lengths) - self.lengths
            self.bounds = (int(self.lengths.min()), int(self.lengths.max()) + 1)
        else:
            numbers = [ops.convert(number_of(n), np.int64) for n in sizes]
            self.lengths, self.bounds = ops.stack(numbers, axis=0), (0, form(sum(sizes)) + 1)
            self.starts = ops.cumsum(self.lengths) - self.lengths
        self.array = _joined(self.seen)
        roots = [root_of(x) for x in self.seen if isinstance(x, Boxed)]
        self.owners = {id(x) for x in (values, *roots)}

    def begun(self, k: Any) -> Callable[[], Any]:
        """What gives the item of a number, where its length is the size of arrays."""
        n = self.array.shape[0]
        start, count = inside(self.starts)[k], inside(self.lengths)[k]
        bounded(count, *self.bounds)

        def item() -> Any:
            first = ops.minimum(start, n - count)
            bounded(first, 0, form(n) - form_of(count) + 1)
            return item_of(self.array, slice(first, first + count), "list")

        return item

    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.begun(k)()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


def _joined(values: Sequence[Any]) -> Any:
    if any(map(followed, values)):
        return ops.concatenate(list(values), 0)
    return np.concatenate([np.asarray(getattr(v, "_data", v)) for v in values])


def listed(values: Sequence[Any], least: int | None = None) -> Listed | Ragged | None:
    """A long list or tuple by number, while a function is traced; None of others."""
    if not STATE.traces or len(values) <= (Least.items if least is None else least):
        return None
    first = values[0]
    if not (is_leaf(first) or type(first) in (tuple, list)):
        return None
    if _is_ragged(values):
        return Ragged(values)
    try:
        found = [parts_of(x, "", "") for x in values]
        form = found[0][0]
        for other, _ in found[1:]:
            form = wider(form, other, "", "")
    except (Refused, TypeError):
        return None
    columns = list(zip(*[leaves for _, leaves in found], strict=True))
    if not columns or any(k.dtype.kind not in "biufc" for k in form.kinds):
        return None
    if any(type(n) is not int for k in form.kinds for n in k.shape):
        return None
    arrays = [stacked_column(form, k, c) for k, c in enumerate(columns)]
    return Listed(values, Stacked(form, arrays, len(values)), [x for c in columns for x in c])


def _is_ragged(values: Sequence[Any]) -> bool:
    """Whether they are arrays that differ in the length of their first axis alone."""
    if not all(isinstance(v, (np.ndarray, Boxed)) and v.ndim for v in values):
        return False
    kinds = {(v.dtype, v.ndim, v.shape[1:]) for v in values}
    first = values[0].shape[0]
    uneven = not all(same(v.shape[0], first) for v in values)
    return uneven and len(kinds) == 1 and values[0].dtype.kind in "biufc"


def stacked_column(form: Form, number: int, column: Sequence[Any]) -> Any:
    """The leaves of a number of all items as one array, a plain one where they are."""
    kind = form.kinds[number]
    if not any(map(followed, column)):
        plain = [getattr(x, "_data", x) if isinstance(x, Boxed) else x for x in column]
        return np.array(plain, kind.dtype)
    return ops.stack([ops.convert(x, kind.dtype) for x in column], axis=0)


def renewed(x: Any) -> Any:
    """What goes over lists as they are now, whatever they were when it was made."""
    for k, part in enumerate(getattr(x, "parts", ())):
        x.parts[k] = renewed(part)
    if hasattr(x, "part"):
        x.part = renewed(x.part)
    if not isinstance(x, (Listed, Ragged)):
        return x
    if len(x.values) == len(x.seen) and all(a is b for a, b in zip(x.values, x.seen, strict=True)):
        return x
    return listed(x.values) or x


def owners_in(x: Any) -> set[int]:
    """Of what a loop goes over: what must not change in it, by ids."""
    own: set[int] = set(getattr(x, "owners", ()))
    for part in (*getattr(x, "parts", ()), *([x.part] if hasattr(x, "part") else [])):
        own |= owners_in(part)
    return own


def is_ragged(x: Any) -> bool:
    """Whether an item has a length that only a run knows."""
    inner = (*getattr(x, "parts", ()), *([x.part] if hasattr(x, "part") else []))
    return bool(getattr(x, "ragged", False)) or any(map(is_ragged, inner))


def begun(x: Any, k: Any) -> Callable[[], Any]:
    """What gives an item, before a block in which its length is the size of arrays."""
    if isinstance(x, Ragged):
        return x.begun(k)
    if parts := getattr(x, "parts", ()):
        found = [begun(p, k) for p in parts]
        return lambda: tuple([f() for f in found])
    if hasattr(x, "part"):
        return begun(x.part, x.count - 1 - k)
    return lambda: x.item(k)


__all__ = [
    "Listed",
    "Ragged",
    "begun",
    "is_ragged",
    "listed",
    "owners_in",
    "renewed",
    "stacked_column",
]
