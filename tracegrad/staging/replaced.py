"""Lists that a loop replaces: `frontier = found` at the end of a pass, where only a run knows the
lengths. The variable gets a list of its own before the loop, which takes the items of what stands
in its place at the end of each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import ops
from ..ir.dispatch import STATE
from ..ops.elementwise.arithmetic import number
from ..tensor import inside
from .agreement import readable, with_numbers
from .growing import AppendedList, GrownPlace, own
from .items import prior_of, wider
from .late_lists import copied, is_late_list
from .listed import listed
from .lists import Grown, Stacked, lists_in
from .looks import Looks, variables_of
from .pending import outgrow
from .places import MISSING, AttributePlace, StagedPlace, VariablePlace
from .reading import with_a_row
from .regions import Refused, born, change, is_born, is_grown, parts
from .session import Restart, Session


def is_replaced(place: StagedPlace, before: Any, after: Any) -> bool:
    """Whether a list stands in the place of another one, which a graph cannot hand on."""
    if not isinstance(place, (VariablePlace, AttributePlace)) or before is after:
        return False
    if not all(type(x) in (list, Grown) for x in (before, after)):
        return False
    return any(map(is_grown, (before, after))) or parts(before)[1] != parts(after)[1]


def replace(session: Session, line: str, name: str) -> None:
    """Begin anew, and know of a statement that it replaces the list of a variable."""
    if (line, name) not in session.replaced:
        session.replaced.add((line, name))
        raise Restart


class KnownTwice(Refused):
    """A list that takes the place of another one has a second name."""


class Watched:
    """The lists in the variables of a loop before a pass that is written out."""

    def __init__(self, session: Session | None, line: str, places: Sequence[StagedPlace]) -> None:
        self.session, self.line = session, line
        values = [(p, p.get()) for p in places] if session is not None and STATE.traces else []
        self.lists = [(p, x) for p, x in values if type(x) in (list, Grown)]

    def passed(self) -> None:
        """After the pass: Restart where it is found to replace lists."""
        for p, before in self.lists:
            now = p.get()
            if now is not before and is_late_list(now):
                assert self.session is not None
                replace(self.session, self.line, p.name)


def as_one_loop(session: Session | None, line: str, items: Any, names: Sequence[str]) -> Any:
    """A short list that a loop goes over which replaces lists, by number."""
    if session is None or type(items) not in (list, tuple, Grown):
        return None
    return listed(items, 1) if any((line, n) in session.replaced for n in names) else None


class Slots:
    """The lists that stand in the variables of a statement which replaces their lists. Those of
    loops and branches are made for them; a block, or a branch in such a loop, has those around."""

    def __init__(
        self,
        session: Session,
        line: str,
        functions: Sequence[Any],
        looks: Looks,
        makes: bool = True,
        inherits: bool = False,
    ) -> None:
        self.session, self.line, self.functions, self.looks = session, line, functions, looks
        self.makes, self.inherits = makes, inherits
        self.slots: dict[Any, tuple[StagedPlace, Grown]] = {}
        self.given: dict[Any, Any] = {}
        """What stood in the places, of those that were made here."""
        self._taken: list[Any] = []

    def known(self, place: StagedPlace) -> None:
        """Begin with what an earlier look found, and with what stands there."""
        given = place.get()
        if self.inherits and type(given) is Grown and given.stands_in == place.key:
            self.slots[place.key] = place, given
        elif self.makes and (self.line, place.name) in self.session.replaced:
            self._make(place, given)

    def _make(self, place: StagedPlace, given: Any) -> None:
        if type(given) not in (list, Grown) and not (given is MISSING and self.inherits):
            return
        if type(given) is Grown and given.stands_in == place.key and given.maker is self.looks:
            # Another loop is made of the same statement.
            self.slots[place.key], self.given[place.key] = (place, given), given.instead_of
            return
        before = given if type(given) is Grown else Grown([] if given is MISSING else given)
        before.name = before.name if before is given else readable(place.name)
        slot = copied(before)
        now = slot.stacked or Stacked(None, None, 0)
        if not now.counted:
            count = number(ops.convert(with_numbers(now.count), np.int64))
            slot.stacked = Stacked(now.form, now.arrays, 0, count, None, now.rows, True)
        slot.name, slot.stands_in = place.name, place.key
        slot.maker, slot.instead_of = self.looks, given
        born(self.session, slot)
        self.slots[place.key] = place, slot
        self.given[place.key] = given
        if given is not MISSING:
            place.put(slot)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While it is open the lists stand in the variables; and behind it, if nothing fails."""
        made = [(*self.slots[key], given) for key, given in self.given.items()]
        for p, slot, given in made:
            if given is not MISSING:
                slot.may_be(given)
                p.put(slot)
        try:
            yield
        except BaseException:
            for p, slot, given in made:
                slot.forget()
                p.put(given)
            raise

    def settled(self, call: Callable[[], Any], places: Sequence[StagedPlace]) -> Callable[[], Any]:
        """A pass, at the end of which the lists have the items of what stands in their places."""
        if not self.slots:
            return call

        def one() -> Any:
            result = call()
            self._settle(places)
            return result

        return one

    def _settle(self, places: Sequence[StagedPlace]) -> None:
        every = [(p, x) for p in places for x in lists_of(p.get())]
        new: list[Any] = []
        for p in places if self.inherits else ():
            # A variable that takes the list of another one has to have its own.
            around = [b.line for b in self.session.regions if p.key in b.passed]
            if around and p.key not in self.slots and type(p.get()) is Grown:
                if any(p.get() is slot for _, slot in self.slots.values()):
                    replace(self.session, around[-1], p.name)
        for p, slot in self.slots.values():
            value, name = p.get(), readable(p.name)
            if value is slot or value is MISSING:
                continue
            if type(value) not in (list, Grown):
                raise Refused(
                    f"{self.line}: {name} is a {type(value).__name__} at the end of these "
                    "statements and a list before them."
                )
            others = [q.name for q, x in every if x is value and q.key != p.key]
            if self.inherits:
                others += self._names_of(slot)
            if self._is_older(value):
                others.append("what was there before")
            if others:
                raise KnownTwice(
                    f"{self.line}: {name} is at the end of these statements another name of a list "
                    f"({readable(others[0])}), so that a change would have to be seen through "
                    f"both. Bind it to a copy: {name} = list(...)"
                )
            new.append((p, slot, value, self._items(value, p.name)))
        for p, slot, value, items in new:
            refill(self.session, slot, items, self.line)
            slot.shares([value])
            p.put(slot)
        self._taken = [(slot, value) for _, slot, value, _ in new]

    def _is_older(self, value: Any) -> bool:
        """Whether a list was there when the pass began, so that others may know it, and later
        passes change it."""
        if any(slot is value for _, slot in self.slots.values()):
            return False
        around = [b.there for b in self.session.regions if b.there is not None]
        if around:
            return any(x is value for x in around[-1])
        return self.inherits and type(value) is list and not is_born(self.session, value)

    def _names_of(self, slot: Grown) -> list[str]:
        """Other variables that show a list which is filled anew before the pass has ended."""
        mine = {p.name for p, _ in self.slots.values()}
        return [
            name
            for body in self.session.regions
            for name, values in variables_of(body.functions).items()
            if name not in mine and any(x is slot for v in values for x in lists_of(v))
        ]

    def _items(self, value: Any, name: str) -> Stacked:
        """What a list holds, which is left as it is from here on."""
        if type(value) is not Grown:
            value = Grown(value)
            value.name = readable(name)
        if value.stacked is None:
            for x in list.__iter__(value):
                for inner in lists_in(x):
                    if not is_born(self.session, inner):
                        raise Refused(
                            f"{self.line}: a list that was there before is an item of {name}, "
                            "which would show what becomes of it later. Put a copy there."
                        )
                    self.session.merged.append(AppendedList(inner))
        found: Stacked = value.ready() or prior_of(value, self.line)
        leaves = [a for a in found.arrays or () if len(a.shape) > 1]
        if value.stacked is None:
            leaves = [x for item in list.__iter__(value) for x in _arrays(item)]
        for x in leaves:
            for root in (x, *self.session.sources(x)):
                own(self.session, root, name, self.line)
        return found

    def after(self, sure: bool) -> None:
        """Behind the statement: a loop with at least one pass leaves no list that it began with,
        and what a block or branch leaves may still be known there."""
        for _, slot in self.slots.values():
            if sure and not self.inherits:
                slot.is_none_other()
        for slot, value in self._taken if self.inherits else ():
            slot.may_be(value)


def _arrays(item: Any) -> list[Any]:
    if isinstance(item, (tuple, list)):
        return [x for part in item for x in _arrays(part)]
    return [item] if getattr(item, "shape", ()) else []


def lists_of(value: Any) -> list[Any]:
    """The lists in the value of a variable."""
    if not isinstance(value, (tuple, list, dict)):
        return []
    inner: Any = value.values() if isinstance(value, dict) else value
    if isinstance(value, Grown):
        inner = list.__iter__(value)
    return [value, *[x for v in inner for x in lists_of(v)]]


def refill(session: Session, owner: Grown, new: Stacked, line: str) -> None:
    """`owner[:] = new`."""
    if session.regions and not is_born(session, owner):
        change(session, GrownPlace(owner), owner)
    now = owner.stacked
    count = ops.convert(with_numbers(new.count), np.int64)
    if now is None or now.seen is None:
        owner.stacked = Stacked(new.form, new.arrays, 0, count, None, new.rows, True)
        return
    now.seen.taken = now.seen.unbounded = True
    form = now.seen.form or now.form
    if new.form is not None:
        form = new.form if form is None else wider(form, new.form, line, owner.name)
    now.seen.form, arrays = form, now.arrays
    # Where the form is a wider one now the loop is looked at again.
    if arrays and form is not None and form.same_as(now.form):
        rows = with_numbers(arrays[0].shape[0])
        outgrow(session, ops.greater(count, rows))
        count = ops.minimum(count, rows)
        if new.arrays:
            arrays = [_rows(a, b, count) for a, b in zip(arrays, new.arrays, strict=True)]
    owner.stacked = now.but(arrays, count - now.base, 1)


def _rows(room: Any, items: Any, count: Any) -> Any:
    """The first rows are those of the items, as many as are counted."""
    places = ops.arange(room.shape[0])
    there = ops.reshape(ops.less(places, count), (-1, *[1] * (len(room.shape) - 1)))
    items = with_a_row(inside(items))
    last = ops.maximum(with_numbers(items.shape[0]) - 1, 0)
    found = ops.convert(items, room.dtype)[ops.minimum(places, last)]
    return ops.where(there, found, ops.convert(0, room.dtype))


__all__ = [
    "KnownTwice",
    "Slots",
    "Watched",
    "as_one_loop",
    "is_replaced",
    "lists_of",
    "refill",
    "replace",
]
