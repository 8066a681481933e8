"""Appending to a list in a loop: a place that the loop hands on as it does a variable. A first look
at the body tells how many items a pass appends and of which form; then the loop carries an array
with room for those of all passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.facts import known_integer
from ..ir.dispatch import STATE, bind
from ..ir.forms import bounded, form_of, largest
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..ops.elementwise.elementary import identity_op
from ..ops.places.spans import ComputedLength
from ..sizes import form, same, seen
from ..sizes.owners import is_count
from ..tensor import Boxed, inside
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from .agreement import nothing, with_numbers
from .aliases import arrays_of, root_of
from .carried import ChangedShape, Retry, ends_after, late_sizes
from .items import part_of, parts_of, prior_of, put, wider, wider_rows
from .lengths import size_of
from .lists import Form, Grown, Seen, Stacked, lists_in
from .regions import Refused, change, is_born
from .session import Session, current


class GrownPlace:
    """What a list holds that grows."""

    lasts = False

    def __init__(self, owner: Grown) -> None:
        self.owner, self.name = owner, owner.name
        self.key: Any = id(owner), "grown"

    def get(self) -> Any:
        """What the loops that are open have appended to; None before the first of them."""
        return self.owner.stacked

    def put(self, value: Any) -> None:
        """Change it."""
        self.owner.stacked = value


class Roomless(ComputedLength):
    """A loop appends to a list, for which nobody knows how many rows it takes."""


class Growing:
    """What one loop hands on of a list, in place of a `Carried`."""

    undefined = False

    def __init__(
        self, place: GrownPlace, line: str, count: Any, ends: bool, room: Any = None
    ) -> None:
        self.place, self.line, self.count, self.room = place, line, count, room
        self.counted = ends
        """Whether the number of items is one of the graph: the loop may end before `count` passes,
        or not all of them append as many."""
        if isinstance(count, Boxed):
            self.count = count = size_of(count)
        if count is None and room is None:
            raise Roomless(
                f"{line}: this loop appends to {place.name}, and how many passes it takes is not "
                "known before it runs. Write into an array that is long enough, and count.",
                frozenset(),
            )
        self.exact: int | None = None
        """How many items all passes append, where that is a fact of their numbers."""
        self.twin: Growing | None = None
        """Another list of the loop that gets as many items."""
        self.apart = False
        """Whether none does."""
        self.entered: Any = 0
        self.left: Any = 0
        self.start: Any = place.get()
        self.others: list[Any] = []
        self.form: Form | None = None
        self.per: Any = 0
        self.step: Any = 0
        self.found: Any = None
        self.learnt: list[Any] = []
        own = self.start is None or not self.start.open
        self.prior = prior_of(place.owner, line) if own else self.start
        """What is there before the loop; of a list that the loops around this one append to, too,
        with the room that those made."""
        self.form = self.prior.form
        self.seen = self.prior.seen or Seen()
        self.began: Any = own, _shown(self.form)

    @property
    def rows(self) -> Any:
        """For how many items there is room, besides those that are there before."""
        exact = self.exact if self.twin is None else self.twin.exact
        if exact is not None:
            return exact
        return self.count * self.per if self.room is None else self.room

    def settled(self, found: Sequence[Any], end: int) -> bool:
        """Whether the loop is to be made again, with as many rows as it needs: the number of items
        stands before `end` in what it gave, and depends on no argument."""
        if not self.counted or self.twin is not None or self.exact is not None:
            return False
        self.exact = known_integer(found[end - 1])
        return self.exact is not None and not self.looking and not self.prior.open

    def fits(self) -> Any:
        """In a pass: whether there is room for the items of one more."""
        return ops.less_equal(with_numbers(self.place.get().added) + self.per, self.room)

    @property
    def looking(self) -> bool:
        """Whether what the loops append is not known yet."""
        return not _nonzero(self.per) or (self.prior.open and self.prior.arrays is None)

    def settle(self) -> None:
        """Begin anew with what was found."""
        if self.found is not None:
            self.learnt.append(self.found)
            (self.form, self.per, self.counted), self.found = self.found, None

    def recall(self, began: Any, learnt: Any) -> None:
        """Settle what an earlier look found, where that began with the same."""
        if self.began == began:
            for self.found in learnt:
                self.settle()

    def initial(self) -> list[Any]:
        """The arrays, with room for all passes, and how many items there are."""
        return [*self._rows(), *([np.int64(0)] if self.counted and self.twin is None else [])]

    def _rows(self) -> list[Any]:
        if self.looking:
            return []
        assert self.form is not None
        if self.prior.open and self.prior.arrays is not None:
            return [
                ops.convert(a, k.dtype) if a.dtype != k.dtype else a
                for a, k in zip(self.prior.arrays, self.form.kinds, strict=True)
            ]
        room = self.rows
        empty = [ops.zeros((room, *k.shape), k.dtype) for k in self.form.kinds]
        if self.prior.arrays is None:
            return empty
        return [
            ops.concatenate([ops.convert(a, b.dtype), b], axis=0)
            for a, b in zip(self.prior.arrays, empty, strict=True)
        ]

    def enter(self, given: list[Any]) -> Stacked:
        """The list at the start of a pass; it takes its arrays off what is given."""
        base, before, most = self.prior.count, 0, None
        arrays = None
        if not self.looking:
            assert self.form is not None
            arrays = [given.pop(0) for _ in self.form.kinds]
            # So that what is there already is seen to be at least so much.
            base = base if self.counted else base + self.step * self.per
        if self.counted:
            before, most = number(given.pop(0)) if self.twin is None else self.twin.entered, 0
            self.entered = before
        return Stacked(self.form, arrays, base, before, self.seen, most)

    def leave(self, value: Stacked, contents: dict[int, Any]) -> list[Any]:
        """The arrays after a pass; Retry where more is known of them now."""
        form = self.form if self.seen.form is None else self.seen.form
        most, counted = value.most, self.counted or value.counted
        if is_count(form_of(most)):
            # Other passes append more, or less.
            top = largest(form_of(most))
            if top is None or is_count(top):
                raise Refused(
                    f"{self.line}: how many items a pass of this loop appends to "
                    f"{self.place.name} is not known before it runs. Write into an array."
                )
            most, counted = seen(top), True
        if (
            not same(most, self.per)
            or counted != self.counted
            or not (form is self.form or (form is not None and form.same_as(self.form)))
        ):
            self.found = form, most, counted
            raise Retry
        self.left = value.added
        if self.twin is not None and form_of(self.left) != form_of(self.twin.left):
            self.apart = True
            raise Retry
        own = counted and self.twin is None
        total = [ops.convert(with_numbers(value.added), np.int64)] if own else []
        return [*([] if self.looking else list(value.arrays or ())), *total]

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Put what the loop ended with in the list."""
        room, before, arrays = self.rows, self.prior, None
        if not self.looking:
            assert self.form is not None
            arrays = [given.pop(0) for _ in self.form.kinds]
        more = room
        if self.twin is not None:
            more = self.twin.entered
        elif self.counted:
            more = given.pop(0)
            bounded(more, 0, form_of(form(room)) + 1)
            self.entered = more = number(more) if self.exact is None else self.exact
        if self.looking and not before.open:
            return
        counted = (self.counted and not isinstance(more, int)) or before.counted
        if not before.open and not counted and isinstance(more, int) and more == 0:
            return
        if before.open or counted:
            base, added, seen = before.base, before.added + more, before.seen and self.seen
            made = Stacked(
                self.form, arrays, base, added, seen, before.most + room if counted else None
            )
        else:
            made = Stacked(self.form, arrays, before.count + more)
        self.place.put(made)

    def hold(self, items: list[Any], session: Session) -> None:
        """After the loop: these arrays may be items of the list."""
        now = self.place.get()
        if now is None or not items:
            return
        if now.open:
            for x in [root_of(x) for value in items for x in arrays_of(value)]:
                _own(session, x, self.place.name, self.line)
        else:
            session.merge(now.arrays, items, self.line)


class Gone(Stacked):
    """What a list holds behind a block with lengths that only a run knows, in which it changed."""

    def __init__(self) -> None:
        """There is nothing to know."""

    def __getattr__(self, name: str) -> Any:
        raise Refused(
            f"{user_line()}: this list changed in a branch or loop in which it has a length that "
            "only a run knows, and is read behind that. Write into an array, and count."
        )


class InBlock:
    """What a block that is run for itself hands on of a list."""

    undefined, began = False, None

    def __init__(self, place: GrownPlace) -> None:
        self.place, self.start = place, place.get()
        self.end, self.learnt = self.start, ()
        self.around = late_sizes()

    def settle(self) -> None:
        """Nothing is learnt of it."""

    def recall(self, began: Any, learnt: Any) -> None:
        """Nothing was."""

    def initial(self) -> list[Any]:
        """Its arrays are those around the block."""
        return []

    def enter(self, given: list[Any]) -> Any:
        """The list at the start."""
        return self.start

    @property
    def gone(self) -> bool:
        """Whether it has no meaning behind the block."""
        return isinstance(self.end, Gone)

    def leave(self, value: Any, contents: dict[int, Any]) -> list[Any]:
        """The arrays at the end of the block, and how many items there are."""
        self.end = value
        if value is self.start or value is None:
            return []
        leaves, _ = flatten(value)
        before = None if self.start is None else self.start.base
        sizes = [value.most, *[n for x in leaves for n in leaf_type(x).shape]]
        sizes += [] if value.base is before else [value.base]
        if any(isinstance(n, Boxed) or not ends_after(n, self.around) for n in sizes):
            self.end = Gone()
            return []
        return leaves

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Behind the block."""
        if self.end is not self.start and not self.gone and self.end is not None:
            leaves, spec = flatten(self.end)
            self.end = unflatten(spec, [given.pop(0) for _ in leaves])
        self.place.put(self.end)


def _nonzero(x: Any) -> bool:
    return not (isinstance(x, int) and x == 0)


def _shown(form: Form | None) -> Any:
    return None if form is None else (form.spec, form.kinds)


class Appended:
    """An array that is an item of a list now: under its other names it must not be written."""

    def __init__(self, root: Any, name: str, line: str) -> None:
        self.value, self.name, self.line = weakref.ref(root), name, line
        self.others: tuple[Any, ...] = ()

    def concerns(self, root: Any, held: Any) -> bool:
        """Whether it is written to."""
        return self.value() is root


def appended(owner: Grown, item: Any) -> bool:
    """Append in a branch or body that becomes a graph; False elsewhere."""
    session = current()
    if session is None or not session.regions or not STATE.traces or is_born(session, owner):
        return False
    place = GrownPlace(owner)
    change(session, place, owner)
    now, line = owner.stacked, session.regions[-1].line
    if now is None or not now.open:
        owner.stacked = longer(owner, item, line)
        return True
    form, leaves = parts_of(item, line, owner.name)
    for x in leaves:
        _own(session, x, owner.name, line)
    for inner in lists_in(item):
        if not is_born(session, inner):
            raise Refused(
                f"{line}: a list that was there before is appended to {owner.name}, which would "
                f"show what becomes of it later. Append a copy: {owner.name}.append(list(a))"
            )
        session.merged.append(AppendedList(inner))
    assert now.seen is not None
    before = now.seen.form or now.form
    now.seen.form = form if before is None else wider(before, form, line, owner.name)
    arrays = now.arrays
    # Where the form is a wider one now the loop is looked at again.
    if arrays is not None and now.seen.form.same_as(now.form):
        arrays = [
            put(a, now.count, ops.convert(x, a.dtype)) for a, x in zip(arrays, leaves, strict=True)
        ]
    most = now.most + 1 if now.counted else None
    owner.stacked = Stacked(now.form, arrays, now.base, now.added + 1, now.seen, most)
    return True


def longer(owner: Grown, item: Any, line: str) -> Stacked:
    """What a list holds with one more item, where no loop that appends is going on."""
    now, line = prior_of(owner, line), line or user_line()
    form, leaves = parts_of(item, line, owner.name)
    session = current()
    if session is not None and session.regions:
        for x in leaves:
            _own(session, x, owner.name, line)
        if lists_in(item):
            raise Refused(
                f"{line}: a list is appended to {owner.name} in a branch on traced values. Append "
                "a tuple or an array."
            )
    rows = wider_rows(now, form if now.form is None else wider(now.form, form, line, owner.name), 1)
    assert rows.form is not None
    arrays = [
        put(a, now.count, ops.convert(x, a.dtype))
        for a, x in zip(rows.arrays or (), leaves, strict=True)
    ]
    return Stacked(
        rows.form, arrays, now.base, now.added + 1, None, now.most + 1 if now.counted else None
    )


class AppendedList:
    """A list that is an item of one that grows: it must stay as it was."""

    others: tuple[Any, ...] = ()

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.before = self._now()

    def value(self) -> Any:
        """No array."""

    def concerns(self, root: Any, held: Any) -> bool:
        """No array is meant."""
        return False

    def _now(self) -> tuple[Any, list[Any]]:
        return getattr(self.items, "stacked", None), list(list.__iter__(self.items))

    def changed(self) -> bool:
        """Whether it is another one now."""
        (stacked, items), (then, were) = self._now(), self.before
        return (
            stacked is not then
            or len(items) != len(were)
            or any(a is not b for a, b in zip(items, were, strict=True))
        )


def _own(session: Session, x: Any, name: str, line: str) -> None:
    """A list shows what is written later into an array that was appended."""
    root = root_of(x) if getattr(x, "shape", ()) else None
    if root is not None:
        session.merged.append(Appended(root, name, line))


def item_of(owner: Grown, key: Any, helpers: Any, line: int) -> Any:
    """`owner[key]` of a list that loops have appended to, or are appending to; NotImplemented where
    it is one as any other."""
    session, now = current(), owner.stacked
    if now is None:
        if session is None or not session.regions or list.__len__(owner):
            return NotImplemented
        # A pass reads what one before it has to append.
        change(session, GrownPlace(owner), owner)
        return NotImplemented
    if session is None or not (now.open or now.counted):
        return owner[key]
    if isinstance(key, slice):
        return owner[key] if now.open or key.step not in (None, 1) else part_of(now, key)
    if isinstance(key, int) and 0 <= key < list.__len__(owner):
        return list.__getitem__(owner, key)
    form = now.form or (now.seen.form if now.seen else None)
    if form is None:
        raise ChangedShape(
            f"{helpers.line_of(line)}: {owner.name} is read before anything was appended to it."
        )
    negative = isinstance(key, int) and key < 0
    at = now.count + key if negative else key
    least = list.__len__(owner) + (now.added if isinstance(now.added, int) else 0)
    sure = negative and -key <= least
    if not sure:
        low = ops.less(at, 0)
        at = ops.where(low, at + now.count, at) if not negative else at
        fine = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, now.count))
        helpers.check(line, fine, lambda: IndexError("list index out of range"))
        at = ops.clip(at, 0, ops.maximum(now.count - 1, 0))
    if now.arrays is None:
        return Stacked(form, None, 0).made([inside(nothing(k)) for k in form.kinds])
    leaves = [bind(identity_op, [inside(a)[at]]) for a in now.arrays]
    if now.seen is not None:
        session.merge(leaves, [now.seen.anchor], helpers.line_of(line))
    return owner.of_mine(now.made(leaves))


class Growth:
    """The helper of lists that may grow."""

    line_of: Callable[[int], str]
    made: Callable[[int, Any], Any]

    def grows(self, line: int, name: str, items: list[Any]) -> Any:
        """A list that the user writes out, to which a loop appends."""
        if current() is None or not STATE.traces or type(items) is not list:
            return self.made(line, items)
        found = Grown(items)
        found.name = name
        return self.made(line, found)


__all__ = ["Growing", "Grown", "GrownPlace", "Growth", "InBlock", "Roomless", "item_of"]
