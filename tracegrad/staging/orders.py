"""The largest, the least and the order of things by traced keys, as Python's `max`, `min`, `sorted`
and `list.sort` give them: of tuples, too, and with a function that gives the keys."""

from __future__ import annotations

import bisect
import builtins
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .. import ops
from .._codegen import lowering
from ..ir.dispatch import STATE
from ..ir.forms import form_of, smallest
from ..ops.elementwise.arithmetic import number
from ..ops.totals.statistics import stop_gradient
from ..schedule.values import identity
from ..sizes import Size, form, number_of, same
from ..sizes.owners import is_late
from ..tensor import Boxed, inside
from .agreement import with_numbers
from .algorithms import bisected
from .constructors import stacked
from .items import prior_of
from .iterables import COUNTED, by_number
from .late_lists import exact, is_late_list, of_any_length
from .lists import Grown, Stacked
from .places import any_in, followed, is_leaf, unknown
from .reading import shared, with_a_row
from .regions import Refused
from .session import current
from .stand_ins import item_of
from .taking import changing, is_open, version

FEW = 8
"""So many numbers are compared one after another."""
BISECTIONS = {
    bisect.bisect: "right", bisect.bisect_right: "right", bisect.bisect_left: "left",
}  # fmt: skip
PLAIN: tuple[Any, ...] = (list, tuple, Grown, type({}.values()), type({}.keys()), zip, map)


def _open(x: Any) -> bool:
    return followed(x) and (not STATE.traces or unknown(x))


class Ordering:
    """A call that compares things: what they are, and their keys."""

    def __init__(self, helpers: Any, line: int, name: str, items: Any, key: Any) -> None:
        self.helpers, self.line, self.name = helpers, line, name
        numbered = by_number(items)
        if numbered is None:
            items = list(items)
        self.items, self.numbered = items, numbered
        self.keys = (
            items if key is None else helpers.collected(line, items, _called(helpers, line, key))
        )
        self.count = len(items) if numbered is None else numbered.count

    @property
    def open(self) -> bool:
        """Whether Python's own function would stop at a key, or at the number of items."""
        if isinstance(self.keys, Boxed) or type(self.count) is not int:
            return True
        keys = self.keys
        if isinstance(keys, Grown):
            return keys.stacked is not None or any_in(list(list.__iter__(keys)), _open, 8)
        return any_in(list(keys), _open, 8)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing, for certain."""
        return type(self.count) is int and self.count == 0

    def plain(self) -> tuple[list[Any], list[Any]]:
        """The items and the keys, as Python has them."""
        return list(self.items), list(self.keys)

    def _rows(self, things: Any) -> Stacked:
        where = self.helpers.line_of(self.line)
        if isinstance(things, Grown):
            found = things
        else:
            found = Grown(list(things))
        try:
            return prior_of(found, where)
        except Refused as error:
            raise Refused(
                f"{where}: {self.name}() is to choose by values that are not known while the "
                "function is traced, among things that are not numbers, or tuples of numbers, of "
                "one form each. Choose the place of it, and read arrays there: "
                "i = max(range(n), key=lambda i: a[i])"
            ) from error

    def leaves(self, late: bool = False) -> list[Any]:
        """The keys, as arrays that are compared one after another; none where they are arrays each,
        nor, but for `late`, where only a run knows how many rows hold a key."""
        if isinstance(self.keys, (Boxed, np.ndarray)):
            return [inside(self.keys)] if self.keys.ndim == 1 else []
        rows = self._rows(self.keys)
        if rows.form is None or rows.arrays is None or any(k.shape for k in rows.form.kinds):
            return []
        if rows.counted and not late:
            return []
        if any(a.dtype.kind == "c" for a in rows.arrays):
            sign = "<" if self.name in ("min", "sorted", "sort") else ">"
            raise TypeError(f"'{sign}' not supported between instances of 'complex' and 'complex'")
        return [inside(a) for a in rows.arrays]

    def item(self, place: Any) -> Any:
        """The thing at a place that is traced."""
        if isinstance(self.items, (Boxed, np.ndarray)):
            return self.helpers.get_item(self.line, self.items, place)
        if self.numbered is not None and not self._may_be_empty():
            return self.numbered.item(place)
        rows = self._rows(self.items)
        assert rows.form is not None
        assert rows.arrays is not None
        return rows.made(
            [
                item_of(a, place, "list") if k.shape else a[place]
                for a, k in zip(map(with_a_row, rows.arrays), rows.form.kinds, strict=True)
            ]
        )

    def _may_be_empty(self) -> bool:
        return isinstance(self.items, Grown) and type(self.count) is Size and not self._is_sure()

    def all_of(self, order: Any) -> Grown:
        """A list of the things in an order."""
        if self.numbered is not None and not isinstance(self.items, Grown):
            made = self.helpers.collected(self.line, inside(order), self._at)
            assert isinstance(made, Grown)
            return made
        rows = self._rows(self.items)
        found = Grown()
        arrays = [ops.take(a, order, 0) for a in rows.arrays or ()]
        if rows.counted:
            found.stacked = Stacked(rows.form, arrays, 0, rows.count, None, rows.base + rows.most)
        else:
            found.stacked = Stacked(rows.form, arrays, rows.count)
        return shared(found, [self.items], self.helpers.line_of(self.line))

    def _at(self, place: Any) -> Any:
        return self.item(place)

    def place(self, largest: bool, leaves: Sequence[Any]) -> Any:
        """Where the first largest or least is."""
        alive = ops.ones((self.count,), np.bool_)
        if not self._is_sure():
            fine = ops.greater(number_of(self.count), 0)
            error = f"{self.name}() iterable argument is empty"
            self.helpers.check(self.line, fine, lambda: ValueError(error))
            # Where nothing is, one that is never chosen keeps the place inside.
            alive = ops.concatenate([alive, ops.zeros((1,), np.bool_)], 0)
            leaves = [ops.concatenate([x, ops.zeros((1,), x.dtype)], 0) for x in leaves]
        for x in leaves:
            alive = _still(stop_gradient(x), alive, largest)
        found = ops.argmax(alive)
        return (
            number(found)
            if self._is_sure()
            else number(ops.maximum(ops.minimum(found, number_of(self.count) - 1), 0))
        )

    def _is_sure(self) -> bool:
        if type(self.count) is int:
            return self.count > 0
        least = smallest(form_of(self.count) if isinstance(self.count, Boxed) else form(self.count))
        return isinstance(least, int) and least > 0

    def order(self, leaves: Sequence[Any], backwards: bool) -> Any:
        """The places in order; equal ones stay as they are."""
        found: Any = None
        for x in reversed(leaves):
            x = stop_gradient(x)
            x = ops.convert(x, np.int8) if x.dtype.kind == "b" else x
            own = ops.argsort(x if found is None else ops.take(x, found, 0), 0, backwards)
            found = own if found is None else ops.take(found, own, 0)
        return found


def _still(x: Any, alive: Any, largest: bool) -> Any:
    """Of those that are alive the ones of which Python keeps the first: it passes NaNs, but a first
    one stays."""
    if x.dtype.kind == "b":
        x = ops.convert(x, np.int8)
    rule = lowering.Reduce("max", "lowest") if largest else lowering.Reduce("min", "highest")
    far = np.array(identity(rule, x.dtype), x.dtype)
    missing = ops.logical_not(alive)
    if x.dtype.kind == "f":
        missing = ops.logical_or(missing, ops.isnan(x))
    best = (ops.max if largest else ops.min)(ops.where(missing, far, x), axis=0)
    found = ops.logical_and(alive, ops.equal(x, best))
    if x.dtype.kind != "f":
        return found
    first = ops.argmax(alive)
    own = ops.equal(ops.iota(alive.shape[0]), first)
    return ops.where(ops.isnan(ops.take(x, first, 0)), own, found)


def _called(helpers: Any, line: int, key: Any) -> Any:
    """The function that gives the keys, as rewritten code calls it."""
    session = current()
    if session is not None and type(key) is FunctionType:
        return session.version(key)
    return lambda item: helpers.call(line, -1, key, item)


def ordered(helpers: Any, line: int, function: Any, args: Any, kwargs: Any) -> Any:
    """What `max`, `min`, `sorted` and `list.sort` give by traced keys; NotImplemented of others."""
    if not STATE.traces:
        return NotImplemented
    owner = getattr(function, "__self__", None)
    if isinstance(owner, list) and getattr(function, "__name__", "") == "sort" and not args:
        if type(owner) is Grown and is_open(owner):
            _sort(helpers, line, owner, kwargs)
            return (None,)
        found = _sorted(helpers, line, "sort", owner, kwargs)
        if found is NotImplemented:
            return found
        _replace(owner, found)
        return (None,)
    try:
        side = BISECTIONS.get(function)
    except TypeError:
        return NotImplemented
    if side is not None and len(args) == 2 and not kwargs:
        if isinstance(args[0], Grown) and args[0].stacked is not None and args[0].stacked.counted:
            return (version(bisected)(*args, side == "right"),)
        return _bisected(side, *args)
    if function is builtins.sorted and len(args) == 1:
        found = _sorted(helpers, line, "sorted", args[0], kwargs)
        return found if found is NotImplemented else (found,)
    if function not in (builtins.max, builtins.min) or not args or kwargs.keys() - {"key"}:
        return NotImplemented
    return _extreme(helpers, line, function, args, kwargs.get("key"))


def _extreme(helpers: Any, line: int, function: Any, args: Any, key: Any) -> Any:
    items = args[0] if len(args) == 1 else list(args)
    if isinstance(items, (int, float, np.generic)) or _is_chain(items, key):
        return NotImplemented
    if isinstance(items, Grown) and is_late_list(items):
        items = exact(items)
    found = Ordering(helpers, line, function.__name__, items, key)
    if not found.open or found.is_empty:
        if key is None:
            return NotImplemented
        own, keys = found.plain()
        return (own[function(range(len(own)), key=keys.__getitem__)],) if own else NotImplemented
    leaves = found.leaves()
    if not leaves:
        return NotImplemented
    return (found.item(found.place(function is builtins.max, leaves)),)


def _is_chain(items: Any, key: Any) -> bool:
    """Whether they are a few numbers, or nothing for which a place is wanted."""
    if key is not None:
        return type(items) not in (*PLAIN, range, np.ndarray) and by_number(items) is None
    if isinstance(items, Boxed):
        if items.ndim != 1 or is_late(form(items.shape[0])):
            return True
        return type(n := items.shape[0]) is int and n <= FEW
    if isinstance(items, Grown) and items.stacked is not None:
        of = items.stacked.form
        return items.stacked.counted and (of is None or len(of.kinds) == 1)
    if isinstance(items, COUNTED):
        return False
    return type(items) not in (list, tuple, Grown) or not (
        any(type(x) is tuple for x in list.__iter__(list(items)))
    )


def _sorted(helpers: Any, line: int, name: str, items: Any, kwargs: Any) -> Any:
    key, backwards = kwargs.get("key"), kwargs.get("reverse", False)
    if kwargs.keys() - {"key", "reverse"} or any_in(backwards, unknown):
        return NotImplemented
    late, by_size = is_late_list(items) and key is None, is_late_list(items) and key is not None
    items = exact(items) if by_size else items
    found = Ordering(helpers, line, name, items, key)
    if not found.open or found.is_empty:
        own, keys = found.plain()
        order = builtins.sorted(range(len(own)), key=keys.__getitem__, reverse=bool(backwards))
        return [own[k] for k in order]
    leaves = found.leaves(late)
    if not leaves:
        return NotImplemented
    if by_size:
        return of_any_length(found.all_of(found.order(leaves, bool(backwards))))
    if late:
        # Rows that hold no item come last.
        rows = items.stacked.base + items.stacked.most
        there = ops.less(ops.arange(rows), with_numbers(items.stacked.count))
        leaves = [there if backwards else ops.logical_not(there), *leaves]
    return found.all_of(found.order(leaves, bool(backwards)))


def _sort(helpers: Any, line: int, owner: Grown, kwargs: Any) -> None:
    """`owner.sort()` where that belongs into a graph."""
    _, now = changing(owner, helpers.line_of(line))
    if now.seen is not None:
        now.seen.written = True
    owner.stacked = now
    if now.arrays is None:
        return
    rows = now.arrays[0].shape[0] if now.arrays else 0
    before, count = Grown(), with_numbers(now.count)
    late = now.counted or now.open or (type(rows) is Size and is_late(rows.form))
    before.stacked = Stacked(now.form, now.arrays, 0, count, None, rows if late else None)
    found = _sorted(helpers, line, "sort", before, kwargs)
    if found is NotImplemented:
        raise Refused(
            f"{helpers.line_of(line)}: the items of {owner.name} are sorted in a branch or loop on "
            "traced values, and are no real numbers, or tuples of these."
        )
    made = _rows_of(found, rows)
    owner.stacked = now.but(made, now.added)
    owner.stacked.off = now.off or now.seen is None


def _rows_of(found: Grown, rows: Any) -> list[Any]:
    """The arrays of a list, with so many rows."""
    now = prior_of(found, "")
    short = [a for a in now.arrays or () if not same(a.shape[0], rows)]
    if not short:
        return list(now.arrays or ())
    return [
        ops.concatenate([a, ops.zeros((rows - a.shape[0], *a.shape[1:]), a.dtype)], 0)
        for a in now.arrays or ()
    ]


def _replace(owner: list[Any], items: Any) -> None:
    """Let a list have these items."""
    if type(owner) is Grown and type(items) is Grown:
        owner.stacked = items.stacked
        list.clear(owner)
        if items.stacked is None:
            list.extend(owner, list.__iter__(items))
        return
    owner[:] = list(items)


def _bisected(side: str, values: Any, x: Any) -> Any:
    """`bisect` of a list, or an array, of numbers in order."""
    if not any_in((values, x), _open):
        return NotImplemented
    if isinstance(values, Grown):
        values = values.array() if values.stacked is not None else list(values)
    if isinstance(values, (list, tuple)):
        if not values or not all(is_leaf(v) and not np.ndim(v) for v in values):
            return NotImplemented
        values = stacked(values)
    if values is None or values.ndim != 1 or not is_leaf(x) or np.ndim(x):
        return NotImplemented
    return (number(inside(ops.searchsorted(inside(values), x, side))),)


__all__ = ["ordered"]
