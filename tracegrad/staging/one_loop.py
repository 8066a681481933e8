"""One loop of the user's, on its way to become one of the graph: what it hands on, pass by pass."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.lengths import Outlived, name_of, over_size
from ..ir.dispatch import STATE
from ..ops.places.spans import ComputedLength
from ..tensor import Boxed
from .agreement import readable
from .aliases import arrays_of, root_of
from .carried import Carried, ChangedShape, Retry
from .failing import reached
from .growing import Appended, AppendedList, Growing, GrownPlace
from .in_blocks import InBlock
from .late_lists import is_late_list
from .looks import Looks, in_arrays
from .objects import Entered, alike
from .places import MISSING, BoxPlace, StagedPlace, VariablePlace
from .regions import ENDED, Refused, Want, parts, run
from .replaced import Slots, is_replaced, lists_of, replace
from .session import Restart, Session


class Varying(Exception):
    """Arrays in a loop have lengths that depend on the number of the step."""


class Changing(Exception):
    """The condition of a loop changes something, as a body does."""


def _changed(c: Carried, before: Any, after: Any) -> bool:
    if isinstance(c.place, BoxPlace):
        return getattr(before, "_data", before) is not getattr(after, "_data", after)
    return before is not after


class StagedLoop:
    """One loop of the user's, on its way to become one of the graph."""

    def __init__(
        self,
        session: Session,
        line: str,
        functions: Sequence[Callable[..., Any]],
        places: Sequence[StagedPlace],
        known: Sequence[str],
        others: Sequence[VariablePlace],
        flag: str,
        count: Any = None,
        ends: bool = False,
        room: Any = None,
        block: bool = False,
        looks: Looks | None = None,
    ) -> None:
        self.session, self.line, self.functions = session, line, functions
        self.known, self.others = known, others
        self.count, self.ends, self.room, self.block = count, ends, room, block
        """The number of passes, where it is known before, and whether they may be fewer; where it
        is not, for how many items there is room. `block`: it is no loop, but a block for itself.
        `looks`: what is known of the statement, where it is not the first loop made of it."""
        self.looks = Looks(session, line, functions) if looks is None else looks
        self.slots = Slots(session, line, functions, self.looks, not block, block)
        """The lists that it replaces."""
        self.given = {p.key for p in places}
        every = [*places, *self.looks.places(places)]
        self.carried: list[Any] = [self._carried(p) for p in every]
        names = self.looks.names(every) if self.looks.plan else ()
        for name, began, learnt in self.looks.plan or ():
            for own, c in zip(names, self.carried, strict=True):
                if own == name:
                    c.recall(began, learnt)
        self.flag = next((p for p in places if flag and p.name == flag), None)
        self.varies = False
        """Whether the number of the step is the size of arrays."""
        self.alike: list[list[Any]] = []
        """What is carried and leads to one array at the end of a pass."""
        self._ends: list[int] = []
        """Behind each of what is carried: how many leaves there are up to it."""
        self.items: list[Any] = []
        """What may be an item of a list that the loop appended to: arrays, or places."""

    def _carried(self, place: StagedPlace) -> Carried | Growing | InBlock:
        if isinstance(place, GrownPlace):
            if self.block:
                return InBlock(place, self.session)
            return Growing(place, self.line, self.count, self.ends, self.room)
        self.slots.known(place)
        return Carried(place, self.line, self.session.held, self.block)

    def until_known(self, attempt: Callable[[], Any]) -> Any:
        """The result of an attempt, once nothing more is learnt of what is carried."""
        with self.slots.in_place():
            return self._until_known(attempt)

    def _until_known(self, attempt: Callable[[], Any]) -> Any:
        also: Sequence[StagedPlace] = ()
        try:
            for _ in range(64):
                try:
                    return attempt()
                except Retry:
                    for c in self.carried:
                        c.settle()
                except Varying:
                    self.varies = True
                except Want as want:
                    if want.depth != len(self.session.regions):
                        also = want.places
                        raise
                    have = {c.place.key for c in self.carried}
                    self.carried += [self._carried(p) for p in want.places if p.key not in have]
                    left = {p.key for p in in_arrays([c.place for c in self.carried])}
                    self.carried = [c for c in self.carried if c.place.key in left]
        finally:
            # Where it ends with an exception, too: mostly it is looked at again then.
            places = [c.place for c in self.carried]
            names = self.looks.names(places)
            self.looks.learn(
                [*[p for p in places if p.key not in self.given], *also],
                [
                    (name, c.began, c.learnt)
                    for name, c in zip(names, self.carried, strict=True)
                    if c.learnt
                ],
            )
        raise Refused(f"{self.line}: what this loop changes differs from one look to the next")

    @property
    def counts(self) -> bool:
        """Whether it appends to a list of which only a run knows the length."""
        return any(isinstance(c, Growing) and c.counted for c in self.carried)

    def fits(self) -> Any:
        """Whether there is room for the items of one more pass."""
        found: Any = np.bool_(True)
        for c in self.carried:
            if isinstance(c, Growing):
                found = ops.logical_and(found, c.fits())
        return found

    def initial(self) -> list[Any]:
        """All leaves carried."""
        every = [c for c in self.carried if isinstance(c, Growing) and c.counted]
        # Those that it takes items off count what was there before, each for itself.
        grown = [c for c in every if not c.taken]
        for c in every:
            c.twin = None if c.apart or c.taken or c is grown[0] else grown[0]
        leaves = [c.initial() for c in self.carried]
        self._ends = list(itertools.accumulate(map(len, leaves)))
        return [x for own in leaves for x in own]

    def start(self) -> list[Any]:
        """The leaves of all that is no list."""
        return [x for c in self.carried if isinstance(c, Carried) for x in c.initial()]

    def places_of_start(self) -> list[int]:
        """Where these stand among all leaves."""
        spans = zip(self.carried, [0, *self._ends], self._ends, strict=False)
        return [k for c, a, b in spans if isinstance(c, Carried) for k in range(a, b)]

    def settled(self, found: Sequence[Any]) -> bool:
        """Whether the loop is to be made again: how many items it appends is known now."""
        grown = zip(self.carried, self._ends, strict=True)
        again = [c.settled(found, end) for c, end in grown if isinstance(c, Growing)]
        return any(again)  # and all of them know

    def at(self, step: Any) -> None:
        """Before a pass: its number."""
        for c in self.carried:
            if isinstance(c, Growing):
                c.step = step

    def step(self, k: Any, leaves: Sequence[Any], call: Callable[[], Any]) -> list[Any]:
        """A pass by its number: the leaves after it."""
        self.at(k)
        numbers = self.session.numbers

        def body(given: Sequence[Any]) -> list[Any]:
            return list(self.inside(given, call, True))

        numbers.append(name_of(k))
        every = self.session.every_pass
        every.append(("" if self.ends else numbers[-1], len(self.session.regions) + 1))
        try:
            return over_size(k, body, leaves) if self.varies else body(leaves)
        except ComputedLength as error:
            if self.varies or numbers[-1] not in error.names:
                raise
            raise Varying from error
        finally:
            numbers.pop()
            every.pop()

    def leaves_alone(self, owners: set[int]) -> None:
        """Refused where a pass changes what the loop goes over, which it would not see."""
        for c in self.carried:
            changed = getattr(c.place, "owner", getattr(c.place, "box", None))
            if id(changed) in owners:
                raise Refused(
                    f"{self.line}: this loop changes what it goes over ({readable(c.place.name)})"
                )

    def inside(self, leaves: Sequence[Any], call: Callable[[], Any], leave: bool) -> Any:
        """`call()` with the carry in its places; the leaves after it, or what it returned."""
        given, mark = list(leaves), len(self.session.merged)
        entry = Entered(self.session, self.line)
        values = [c.enter(given) for c in self.carried]
        entered = [
            [(x, x._data) for x in parts(v)[0] if isinstance(x, Boxed)]
            if not isinstance(c.place, BoxPlace) and v is not MISSING
            else []
            for c, v in zip(self.carried, values, strict=True)
        ]
        with self.session.held.more([x for boxes in entered for x, _ in boxes]):
            result, found, contents = run(
                self.session,
                self.line,
                (*self.looks.key, leave),
                self.functions,
                [c.place for c in self.carried],
                values,
                self.others,
                reached(self.session, self.slots.settled(call, [c.place for c in self.carried]))
                if leave and not self.block
                else self.slots.settled(call, [c.place for c in self.carried])
                if leave
                else call,
                passes=leave and not self.block,
            )
        if not leave:
            if any(map(_changed, self.carried, values, found)) or any(
                x._data is not data for boxes in entered for x, data in boxes
            ):
                raise Changing
            return result
        if result is ENDED:
            found = [
                x if c.place.lasts else v
                for c, v, x in zip(self.carried, values, found, strict=True)
            ]
        entry.after(self.carried, values, found)
        written = {
            id(root_of(x)) for boxes in entered for x, data in boxes if x._data is not data
        } | {id(c.place.box) for c in self.carried if isinstance(c.place, BoxPlace)}
        for c, v, now, boxes in zip(list(self.carried), values, found, entered, strict=True):
            if any(x._data is not data for x, data in boxes):
                self._written(c, now is v)
        self._named(values, found, written)
        self._appended(mark, values, found, written)
        del self.session.merged[mark:]
        ended = zip(self.carried, found, strict=True)
        return [x for c, v in ended for x in self._leaves_of(c, v, contents)]

    def _leaves_of(self, c: Any, value: Any, contents: dict[int, Any]) -> list[Any]:
        """What is handed on of one place after a pass."""
        try:
            left: list[Any] = c.leave(value, contents)
        except ChangedShape as error:
            counted = type(self.count) is int and not is_late_list(value)
            if counted or not is_replaced(c.place, c.start, value):
                raise
            line = self.line
            if self.block:
                around = [b for b in self.session.regions if c.place.key in b.passed]
                if not around:
                    raise Outlived(str(error)) from error
                line = around[-1].line
            replace(self.session, line, c.place.name)
            raise
        return left

    def _named(self, values: Sequence[Any], found: Sequence[Any], written: set[int]) -> None:
        """After a pass: variables may now be other names of an array that was there before it, or
        of one that the pass made. Such an array must not be written by the next pass, which would
        have to see that through all names; who comes after the loop learns of them."""
        before = [[root_of(x) for x in arrays_of(v)] for v in values]
        names = {id(r) for own in before for r in own}
        leading: dict[int, list[int]] = {}
        self.alike = []
        for k, (c, now) in enumerate(zip(self.carried, found, strict=True)):
            if isinstance(c.place, BoxPlace):
                continue
            roots = [root_of(x) for x in arrays_of(now)]
            for r in [s for root in roots for s in (root, *self.session.sources(root))]:
                ways = leading.setdefault(id(r), [])
                if id(r) not in names and self._was_there(r):
                    c.others.append(weakref.ref(r))
                    # Its own name, which a variable has that no pass reads before it binds it.
                    ways[:0] = [] if ways or c.undefined else [-1]
                ways.append(k)
        for root, ways in leading.items():
            self.alike += [[self.carried[k] for k in ways if k >= 0]] if len(ways) > 1 else []
            read = [k for k in ways if k < 0 or not self.carried[k].undefined]
            others = {id(r) for k in read if k >= 0 for r in before[k]}
            if len(read) > 1 and not written.isdisjoint({root, *others}):
                name = self.carried[read[-1]].place.name
                raise Refused(
                    f"{self.line}: {name} is after a pass of this loop another name of an array "
                    "that the loop writes into, so that the next pass would see the write through "
                    f"both. Bind it to a copy: {name} = a.copy()"
                )

    def _appended(
        self, mark: int, values: Sequence[Any], found: Sequence[Any], written: set[int]
    ) -> None:
        """After a pass: what it appended to lists, and under which names it goes on. The next pass
        must not write into it."""
        lists = [m for m in self.session.merged[mark:] if isinstance(m, AppendedList)]
        goes_on = [x for value in found for x in lists_of(value)]
        for m in lists:
            if m.changed() or any(m.items is x for x in goes_on):
                raise Refused(
                    f"{self.line}: a list is appended to another one, and changed or known by a "
                    "variable after that. Append a copy: a.append(list(row))"
                )
        roots = [m.value() for m in self.session.merged[mark:] if isinstance(m, Appended)]
        appended = {id(r) for r in roots if r is not None}
        appended |= {id(c.seen.anchor) for c in self.carried if isinstance(c, Growing)}
        self.items = [weakref.ref(r) for r in roots if r is not None and self._was_there(r)]
        for c, before, after in zip(self.carried, values, found, strict=True):
            box = isinstance(c.place, BoxPlace)
            first = [c.place.box] if box else [root_of(x) for x in arrays_of(before)]
            last = [c.place.box] if box else [root_of(x) for x in arrays_of(after)]
            last += [s for root in last for s in self.session.sources(root)]
            if not appended.isdisjoint(map(id, last)):
                if not written.isdisjoint(map(id, first)):
                    raise Refused(
                        f"{self.line}: {readable(c.place.name)} is appended to a list, which would "
                        "show what later passes of this loop write into it. Append a copy: "
                        "a.append(x.copy())"
                    )
                self.items.append(c.place)
            if not appended.isdisjoint(map(id, first)):
                self.items += [weakref.ref(root_of(x)) for x in arrays_of(c.start)]

    def _was_there(self, root: Any) -> bool:
        """Whether an array was there before this pass."""
        if isinstance(root, np.ndarray):
            site = self.session.site_of(root)
            return site is None or site[1] in (None, *self.session.regions)
        return getattr(root._data, "trace", None) is not STATE.traces[-1]

    def _written(self, c: Carried, stays: bool) -> None:
        """A pass writes into an array that a variable brings along. Other names of it have to see
        that: so the array itself is what the loop changes, if the variable stays bound to it."""
        start = c.start
        for x in arrays_of(start):
            # The body wrote into a box of its own, which nobody else may be.
            self.session.before_write(root_of(x), self.line)
        if isinstance(start, np.ndarray):
            site = self.session.site_of(start)
            if site is not None and site[0] not in self.session.sites:
                self.session.sites.add(site[0])
                raise Restart
        if isinstance(start, Boxed) and not c.shared:
            return
        if isinstance(start, Boxed) and stays:
            root = start._root
            self.carried.remove(c)
            raise Want([BoxPlace(root)], len(self.session.regions))
        raise Refused(
            f"{self.line}: {c.place.name} is written to and bound anew in the same loop, and is "
            "known by another name as well (an argument, a view, a list). Begin with a copy: "
            f"{c.place.name} = {c.place.name}.copy()"
        )

    def finish(self, found: Sequence[Any], sure: bool) -> None:
        """Hand over what the loop ended with."""
        given = list(found)
        for c in self.carried:
            c.finish(given, self.session, sure or c.place.name in self.known)
        self.slots.after(sure)
        for group in self.alike:
            for c in group:
                partners = [d.place.get() for d in group if d is not c or group.count(c) > 1]
                self.session.merge(c.place.get(), partners, self.line)
        alike(self.session, self.carried, self.line)
        items = [x() if isinstance(x, weakref.ref) else x.get() for x in self.items]
        for c in self.carried:
            if isinstance(c, Growing):
                c.hold([x for x in items if x is not None and x is not MISSING], self.session)
        for o in self.others:
            o.put(MISSING)


__all__ = ["Changing", "StagedLoop", "Varying"]
