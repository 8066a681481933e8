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
from ..ir.dispatch import STATE
from ..ir.forms import ENDLESS, bounded, form_of, largest
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..ops.places.spans import ComputedLength
from ..sizes import form, same, seen
from ..sizes.owners import is_count
from ..tensor import Boxed
from .agreement import with_numbers
from .aliases import arrays_of, root_of
from .carried import Retry
from .item_forms import Form, Seen
from .items import parts_of, prior_of, put, wider, wider_rows
from .lengths import size_of
from .lists import Grown, Stacked, lists_in
from .pending import is_full, outgrow
from .regions import Refused, change, is_born
from .rooms import Roomless
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
        self.taken: bool
        self.written: bool
        self.guarded: bool
        self.reads: bool
        self.taken, self.written, self.guarded, self.reads = self.seen.known
        """What is known of it (`Seen`)."""
        self.began: Any = own, _shown(self.form)

    @property
    def rows(self) -> Any:
        """For how many items there is room, besides those that are there before."""
        exact = self.exact if self.twin is None else self.twin.exact
        if exact is not None:
            return exact
        if not _nonzero(self.per) or (self.guarded and self.prior.open):
            return 0
        if self._asks_for_room:
            if self.room is not None:
                return self.room
            raise Roomless(
                f"{self.line}: this loop appends to {self.place.name}, and how many items that "
                "makes is not known before it runs. Write into an array that is long enough, and "
                "count."
            )
        if isinstance(self.count, Boxed):
            self.count = size_of(self.count)
        return self.count * self.per

    def settled(self, found: Sequence[Any], end: int) -> bool:
        """Whether the loop is to be made again, with as many rows as it needs: the number of items
        stands before `end` in what it gave, and depends on no argument."""
        if not self.counted or self.taken or self.twin is not None or self.exact is not None:
            return False
        self.exact = known_integer(found[end - 1])
        return self.exact is not None and not self.looking and not self.prior.open

    def fits(self) -> Any:
        """In a pass: whether there is room for the items of one more."""
        if self.guarded:
            return ops.logical_not(is_full())
        if not (_nonzero(self.per) and self._asks_for_room):
            return np.bool_(True)
        if self.taken:
            rows = self.prior.rows + self.room
            return ops.less_equal(with_numbers(self.place.get().count) + self.per, rows)
        return ops.less_equal(with_numbers(self.place.get().added) + self.per, self.room)

    @property
    def _asks_for_room(self) -> bool:
        """Whether the passes do not say how many rows there have to be."""
        return self.count is None or self.guarded

    @property
    def looking(self) -> bool:
        """Whether what the loops append is not known yet."""
        return not _nonzero(self.per) or self._is_inside_of_a_look

    @property
    def _is_inside_of_a_look(self) -> bool:
        return bool(self.prior.open and self.prior.arrays is None)

    @property
    def _carries(self) -> bool:
        """Whether the loop hands on the items, since it changes some."""
        changes = _nonzero(self.per) or self.written
        return changes and self.form is not None and not self._is_inside_of_a_look

    def settle(self) -> None:
        """Begin anew with what was found."""
        if self.found is not None:
            self.learnt.append(self.found)
            (self.form, self.per, self.counted, known), self.found = self.found, None
            self.taken, self.written, self.guarded, self.reads = known
            self.seen.note(known)

    def recall(self, began: Any, learnt: Any) -> None:
        """Settle what an earlier look found, where that began with the same."""
        if self.began == began:
            for self.found in learnt:
                self.settle()

    def initial(self) -> list[Any]:
        """The arrays, with room for all passes, and how many items there are."""
        first: Any = np.int64(0)
        if self.taken:
            first = ops.convert(with_numbers(self.prior.count), np.int64)
        return [*self._rows(), *([first] if self.counted and self.twin is None else [])]

    def _rows(self) -> list[Any]:
        if not self._carries:
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
        arrays = self.prior.arrays if self.taken or self.reads else None
        if self._carries:
            assert self.form is not None
            arrays = [given.pop(0) for _ in self.form.kinds]
            # So that what is there already is seen to be at least so much.
            base = base if self.counted or not _nonzero(self.per) else base + self.step * self.per
        if self.counted:
            before, most = number(given.pop(0)) if self.twin is None else self.twin.entered, 0
            self.entered = before
        return Stacked(self.form, arrays, 0 if self.taken else base, before, self.seen, most)

    def leave(self, value: Stacked, contents: dict[int, Any]) -> list[Any]:
        """The arrays after a pass; Retry where more is known of them now."""
        form = self.form if self.seen.form is None else self.seen.form
        most, counted = self._most(value.most, self.counted or value.counted)
        if (
            not same(most, self.per)
            or counted != self.counted
            or self.seen.known != (self.taken, self.written, self.guarded, self.reads)
            or not (form is self.form or (form is not None and form.same_as(self.form)))
        ):
            self.found = form, most, counted, self.seen.known
            raise Retry
        self.left = value.added
        if self.twin is not None and form_of(self.left) != form_of(self.twin.left):
            self.apart = True
            raise Retry
        own = counted and self.twin is None
        total = [ops.convert(with_numbers(value.added), np.int64)] if own else []
        return [*(list(value.arrays or ()) if self._carries else []), *total]

    def _most(self, most: Any, counted: bool) -> tuple[Any, bool]:
        """How many items a pass appends at most; whether their number is one of the graph."""
        if is_count(form_of(most)) and not self.seen.unbounded:
            # Other passes append more, or less.
            top, counted = largest(form_of(most)), True
            if top is not None and not is_count(top):
                return seen(top), counted
            self.seen.unbounded = True
        if self.seen.unbounded:
            return int(_nonzero(most)), True
        return most, counted or self.seen.taken

    def _more(self) -> Any:
        """By how many items the list may be longer after the loop."""
        if self.guarded and self.prior.open:
            return int(_nonzero(self.per))
        try:
            return self.rows
        except ComputedLength:
            if not self.prior.open:
                raise
            self.seen.unbounded = True
            return 1

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Put what the loop ended with in the list."""
        room, before = self._more(), self.prior
        arrays = before.arrays
        if self._carries:
            assert self.form is not None
            arrays = [given.pop(0) for _ in self.form.kinds]
        if self.taken:
            self.place.put(self._shorter(given.pop(0), arrays, room))
            return
        more = room
        if self.twin is not None:
            more = self.twin.entered
        elif self.counted:
            more = given.pop(0)
            bounded(more, 0, ENDLESS if self.guarded else form_of(form(room)) + 1)
            known = self.exact if _nonzero(room) else 0
            self.entered = more = number(more) if known is None else known
        if not self._carries and not before.open:
            return
        counted = (self.counted and not isinstance(more, int)) or before.counted
        if not (before.open or counted or self.written) and isinstance(more, int) and more == 0:
            return
        off = before.off or self.written
        if before.open or counted:
            base, added, seen = before.base, before.added + more, before.seen and self.seen
            most = before.most + room if counted else None
            made = Stacked(self.form, arrays, base, added, seen, most, off)
        else:
            made = Stacked(self.form, arrays, before.count + more, off=off)
        self.place.put(made)

    def _shorter(self, count: Any, arrays: Sequence[Any] | None, room: Any) -> Stacked:
        """What a list holds of which the loop took items off: so many."""
        before = self.prior
        top = form_of(form(arrays[0].shape[0])) + 1 if arrays else ENDLESS
        bounded(count, 0, top)
        n = number(count)
        if before.open:
            most = before.most + room
            return Stacked(self.form, arrays, before.base, n - before.base, self.seen, most)
        return Stacked(self.form, arrays, 0, n, None, before.rows + room, True)

    def hold(self, items: list[Any], session: Session) -> None:
        """After the loop: these arrays may be items of the list."""
        now = self.place.get()
        if now is None or not items:
            return
        if now.open:
            for x in [root_of(x) for value in items for x in arrays_of(value)]:
                own(session, x, self.place.name, self.line)
        else:
            session.merge(now.arrays, items, self.line)


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
        own(session, x, owner.name, line)
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
        arrays = with_row(session, now, leaves)
    added = now.added + 1
    most = now.most + 1 if now.counted else None
    if arrays and now.seen.unbounded:
        # The program ends in this pass where there is no row, and reads until then what is there.
        most = now.most + 1
        added = ops.minimum(added, with_numbers(arrays[0].shape[0]) - now.base)
    owner.stacked = now.but(arrays, added, most)
    return True


def with_row(session: Session, now: Stacked, leaves: Sequence[Any]) -> list[Any] | None:
    """The arrays with these leaves in the row behind the last item. None in a look at a loop that
    does not know yet that they have none."""
    arrays, at = now.arrays or [], now.count
    rows = arrays[0].shape[0] if arrays else 0
    if isinstance(at, int) and isinstance(rows, int) and at >= rows:
        return None
    if now.seen is not None and now.seen.unbounded:
        rows = with_numbers(rows)
        outgrow(session, ops.greater_equal(at, rows))
        at = ops.minimum(at, rows - 1)
    return [put(a, at, ops.convert(x, a.dtype)) for a, x in zip(arrays, leaves, strict=True)]


def longer(owner: Grown, item: Any, line: str) -> Stacked:
    """What a list holds with one more item, where no loop that appends is going on."""
    now, line = prior_of(owner, line), line or user_line()
    form, leaves = parts_of(item, line, owner.name)
    session = current()
    if session is not None and session.regions:
        for x in leaves:
            own(session, x, owner.name, line)
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
    most = now.most + 1 if now.counted else None
    return Stacked(rows.form, arrays, now.base, now.added + 1, None, most, now.off)


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


def own(session: Session, x: Any, name: str, line: str) -> None:
    """A list shows what is written later into an array that was appended."""
    root = root_of(x) if getattr(x, "shape", ()) else None
    if root is not None:
        session.merged.append(Appended(root, name, line))


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


__all__ = ["Growing", "GrownPlace", "Growth"]
