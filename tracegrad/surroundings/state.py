"""Python state: what a function that is traced binds anew or changes around it, besides Tensors.

`Watch` looks at everything that the function can reach before and after it is traced (reach.py).
What was changed is put back, and becomes a result of the graph that each call stores (`Stored`). A
number or an array that is replaced (`self.n += 1`) is an input as well: the function is traced once
more with a traced value in its place. Any other value is what it was while tracing, which later
calls check, and what was written then is written again. What cannot be done in this way is refused,
with the line that does it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ..errors import TracegradError
from ..faces.twins import twins
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.trace import Trace, is_left_over
from ..sizes import SYMBOLIC
from ..staging.places import MISSING
from ..staging.read_only import unlock
from ..tensor import Array, Boxed, Tensor, inside
from ..transforms.tracing import leaf_type
from ..tree import flatten
from .earlier import Earlier
from .escapes import escaped, traced_in
from .places import ABSENT, ATTRIBUTE, CELL, ITEM, LENGTH, TYPE, Fact, Place, leads_to
from .reach import Reach, library
from .refusals import ELEMENTS, LIST, RANDOM, Refusals
from .stand_ins import holds, of_tensors, replaceable
from .stored import Log, Number, Output, Stored
from .variables import Contents, Reached, Slot, Variables

_IN_RULE = (
    "in a derivative that the user gives, which is traced once for the derivative of a compiled "
    "function, and not run at each call. Compute what is to be kept from the arguments "
    "and results of the function, or compile the whole: tg.jit(tg.grad(f))."
)


@contextmanager
def unchanged(owner: Any) -> Iterator[None]:
    """A block that must not change what a class or an object of the user's can reach."""
    name = owner.__name__
    if library(getattr(owner, "__module__", "")):
        yield
        return
    watch = Watch(name, owner)
    mark = watch.mark()
    try:
        yield
        watch.check(mark, _IN_RULE)
    finally:
        watch.restore()


class Watch(Refusals):
    """What a function changes around it while it is traced."""

    def __init__(
        self, name: str, function: Any, given: Sequence[tuple[Any, type, Any]] = ()
    ) -> None:
        self.name = name
        self.reach = Reach(function, given)
        self.slots: list[Slot] = []
        """Those in whose place a traced value stands while the function is traced."""
        self.wanted: list[Slot] = []
        """Those which need one: the function has to be traced again."""
        self.logs: list[tuple[Slot, Log]] = []
        self.stored: list[Stored] = []
        self.there: dict[int, Earlier] = {}
        """By their ids the arguments, and what stands for arrays."""
        self.facts: list[Fact] = []
        """What the surroundings were where the function changed them, and could not be given a
        traced value."""
        self.replaced: list[tuple[Variables, Any, Any]] = []
        """Variables that held Tensors or arrays, with these, which are bound anew at each call."""
        self.made: dict[int, int] = {}
        """By their ids the new objects that are stored, numbered."""
        self.places: dict[int, Place] = {}
        """By their ids what stands for captured values, and where those are read."""
        self.boxes: dict[tuple[int, Any], Any] = {}
        """What stands in the places of the slots."""
        self.holder: list[Any] = []
        """The arguments of the call that is being made, as (args, kwargs); where they hold
        containers, these are changed."""
        self.given: list[Variables | Contents] = []
        self._kinds: dict[tuple[int, Any], list[type]] = {}
        self._locked: list[np.ndarray[Any, Any]] = []

    # --- around a trace ---------------------------------------------------------------------------

    def open(self, trace: Trace, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Put traced values in the places of what changes, before the function runs with these
        arguments."""
        trace.watch = self
        self.holder[:] = args, kwargs
        self.given = []
        at = Reached(self.holder, None, "")
        for k, tree in enumerate((args, kwargs)):
            self._take(at.then(tree, "args" if k == 0 else "", ITEM, k))
        self.stored, self.facts, self.places, self.boxes = [], [], {}, {}
        self.replaced, self.made = [], {}
        leaves = flatten((args, kwargs))[0]
        self.there = {
            id(x): Earlier(x, None, k) for k, x in enumerate(leaves) if isinstance(x, Boxed)
        }
        for node in self.reach.arrays:
            node.value.flags.writeable = False
            self._locked.append(node.value)
        self.logs = []
        for slot in self.slots:
            place = slot.variables.place(slot.key)
            if slot.grows:
                box: Any = Log(place.path)
                self.logs.append((slot, box))
            elif slot.shows:
                box = Array(slot.old)
            else:
                box = self._boxed(slot.old, place, trace)
            self.boxes[id(slot.variables), slot.key] = box
            slot.variables.put(slot.key, box)

    def _take(self, node: Reached) -> None:
        """Look at the containers among the arguments, which stand for those of each call."""
        tree = node.value
        if isinstance(tree, (tuple, list)):
            if isinstance(tree, list):
                self.given.append(Contents(node, "changes the length of", lambda: list(tree), None))
                self.given.append(Variables(node, ITEM, lambda: dict(enumerate(tree))))
            for k, x in enumerate(tree):
                self._take(node.then(x, f"[{k}]", ITEM, k))
        elif isinstance(tree, dict):
            if node.path:
                self.given.append(Variables(node, ITEM, lambda: dict(tree)))
            for key, x in tree.items():
                self._take(node.then(x, f"[{key!r:.40}]" if node.path else str(key), ITEM, key))
        elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
            names = [f.name for f in dataclasses.fields(tree)]
            self.given.append(
                Variables(
                    node,
                    ATTRIBUTE,
                    lambda: {
                        n: x for n in names if (x := getattr(tree, n, MISSING)) is not MISSING
                    },
                )
            )
            for name in names:
                self._take(node.then(getattr(tree, name, None), f".{name}", ATTRIBUTE, name))

    def _boxed(self, old: Any, place: Place, trace: Trace) -> Any:
        kind = type(old)
        if kind in (tuple, list):
            return kind(
                [self._boxed(x, place.then(f"[{k}]", ITEM, k), trace) for k, x in enumerate(old)]
            )
        if kind is dict:
            return {
                key: self._boxed(x, place.then(f"[{key!r:.40}]", ITEM, key), trace)
                for key, x in old.items()
            }
        if isinstance(old, Boxed):
            return old  # which is read at its place by itself
        if isinstance(old, np.ndarray):
            self.places[id(old)] = place
            box = inside(old)
            self.there[id(box)] = Earlier(box, place, instead=(box, box._data))
            return box
        type_ = leaf_type(old)
        var = Var(type_, "", trace)
        box = Number(var)
        box.kind, box.old, box.path = kind, old, place.path
        # Kept as what is captured, until its place takes over.
        trace.captures["state", id(box)] = var, (box, var)
        self.places[id(box)] = place
        return box

    def close(self, trace: Trace) -> list[Any]:
        """What the function changed, after it ran: the values that the graph has to compute for
        it."""
        self.wanted = []
        outputs: list[Any] = []
        boxed = self.boxes.keys()
        found: list[Slot] = []
        for held in self.reach.contents:
            if held.changed():
                found += self._whole(held)
        for v, key, _, _ in self._changes():
            self._refuse_group(v, key)
        lists = {id(s.old) for s in found}
        written = {id(v.node.value) for v, *_ in self._changes()}
        found += [
            Slot(v, key, old)
            for v, key, old, _ in self._changes()
            if (id(v), key) not in boxed
            and replaceable(old)
            and not of_tensors(old)
            and not holds(old, written)
            and id(v.node.value) not in lists
        ]
        if found:
            self.wanted = found
            for v, key, _, new in self._changes():
                self._kinds[id(v), key] = [*map(type, flatten(new)[0])]
            return []
        for slot, log in self.logs:
            leaves, spec = flatten(log.items)
            kinds = [self._leaf(x, None, slot.variables, slot.key, trace) for x in leaves]
            outputs += [x for x, f in zip(leaves, kinds, strict=True) if type(f) is Output]
            self.stored.append(Stored(slot.variables.place(slot.key), spec, tuple(kinds), "extend"))
        for v, key, old, new in self._changes():
            if (id(v), key) not in boxed:
                self._rely_on(v, key, old)
            outputs += self._store(v, key, new, trace)
        grown = {id(c.node.value) for c in self.given if isinstance(c, Contents) and c.changed()}
        for given in self.given:
            if isinstance(given, Variables) and id(given.node.value) not in grown:
                for key, _, new in given.changes():
                    outputs += self._store(given, key, new, trace)
            elif isinstance(given, Contents) and given.changed():
                at = Variables(given.node, ITEM, dict)
                leaves, spec = flatten(given.read())
                fixed = tuple([self._leaf(x, None, at, slice(None), trace) for x in leaves])
                outputs += [x for x, f in zip(leaves, fixed, strict=True) if type(f) is Output]
                self.stored.append(Stored(given.node.place(), spec, fixed, "replace"))
        return outputs

    def _store(self, v: Variables, key: Any, new: Any, trace: Trace) -> list[Any]:
        """Note that each call binds a variable anew; the values for that which the graph has to
        compute."""
        if new is MISSING:
            self.stored.append(Stored(v.place(key), None, ()))
            return []
        whole = id(new) in self.reach.seen and not isinstance(new, (Boxed, np.ndarray, np.generic))
        leaves, spec = ([new], flatten(0)[1]) if whole else flatten(new)
        kinds = self._kinds.get((id(v), key), [])
        if not kinds and type(v.before.get(key)) is bool and len(leaves) == 1:
            kinds = [bool]  # which no traced value stands for, so that a loop makes it an array
        fixed = tuple(
            [
                self._leaf(x, kinds[k] if len(kinds) == len(leaves) else None, v, key, trace)
                for k, x in enumerate(leaves)
            ]
        )
        self.stored.append(Stored(v.place(key), spec, fixed))
        return [x for x, f in zip(leaves, fixed, strict=True) if type(f) is Output]

    def restore(self) -> None:
        """Let everything be what it was before the function ran."""
        for held in self.reach.contents:
            if held.reset is not None and held.changed():
                held.reset(held.before)
        for v in self.reach.variables:
            for key, old, _ in list(v.changes()):
                v.put(key, old)
        unlock(self._locked)
        self._locked = []

    def _changes(self) -> Iterator[tuple[Variables, Any, Any, Any]]:
        for v in self.reach.variables:
            for key, old, new in v.changes():
                if (id(v), key) not in self.boxes or self.boxes[id(v), key] is not new:
                    yield v, key, old, new

    def showing(self, arrays: Sequence[Any], found: Sequence[Fact]) -> bool:
        """Put boxes in the places of these arrays while the function is traced, so that what NumPy
        computes with them is seen; False where one is found where it cannot be replaced."""
        for x in arrays:
            held = [(v, key) for v in self.reach.variables for key, y in v.before.items() if y is x]
            if not held or len(held) < sum(y is x for _, y in found):
                return False
            self.slots += [Slot(v, key, x, shows=True) for v, key in held]
        return True

    def again(self) -> None:
        """Trace with traced values in the places that the last trace found changed."""
        self.slots += self.wanted

    def holders(self) -> Iterator[tuple[Any, Place]]:
        """What holds the variables that are read and stored at each call, and where it is found
        then."""
        for v in {id(s.variables): s.variables for s in self.slots}.values():
            if v.code != CELL:
                yield v.node.value, v.node.place()
        for stored in self.stored:
            if (into := stored.into) is not None and not stored.into_argument(self.holder):
                yield into(), into

    def unread(self, facts: Sequence[Fact]) -> list[Fact]:
        """Those facts that are not about variables which the graph reads and writes at each
        call."""
        taken = [(s.variables, s.key, s.old) for s in self.slots] + self.replaced
        if not taken:
            return list(facts)
        mark, log = Array(np.zeros(())), Array(np.zeros(()))
        for v, key, _ in taken:
            v.put(key, mark)
        for s in self.slots:
            if s.grows:
                s.variables.put(s.key, log)
        try:
            # How many there are, and in what, has shaped the graph; of a log it has not.
            return [
                (place, x)
                for place, x in facts
                if not leads_to(place, log)
                and (place.code in (TYPE, LENGTH) or not leads_to(place, mark))
            ]
        finally:
            for v, key, old in taken:
                v.put(key, old)

    # --- regions ----------------------------------------------------------------------------------

    def mark(self) -> list[Any]:
        """What everything is now, to be compared when the body of a loop, a branch or a rule has
        been traced."""
        return [[v.read() for v in self.reach.variables], [c.read() for c in self.reach.contents]]

    def check(self, mark: list[Any], where: str) -> None:
        """An error where the function has changed state since the mark, which says `where` and what
        to do."""
        for v, before in zip(self.reach.variables, mark[0], strict=True):
            now = v.read()
            for key in now.keys() | before.keys():
                if now.get(key, MISSING) is not before.get(key, MISSING):
                    self._refuse_region(v.place(key).path, now.get(key), where, key, v.code)
        for held, before in zip(self.reach.contents, mark[1], strict=True):
            now = held.read()
            if (
                len(now) != len(before)
                if isinstance(now, list)
                else now != before and not isinstance(now, frozenset)
            ):
                self._refuse_region(held.node.path, now, where, None, "")

    def _refuse_region(self, path: str, new: Any, inside: str, key: Any, code: str) -> NoReturn:
        where = self._written_at(key, code)
        if (var := traced_in(new)) is not None and not (
            isinstance(new, Number) and var.trace in STATE.traces
        ):
            raise escaped(var, where, path, self.name)
        raise TracegradError(f"{where}: jit: {self.name} changes {path} {inside}")

    # --- what was changed -------------------------------------------------------------------------

    def _rely_on(self, v: Variables, key: Any, old: Any) -> None:
        """Note that a variable was what it was, or was not there."""
        if of_tensors(old):
            self.replaced.append((v, key, old))
        if isinstance(old, np.ndarray) or of_tensors(old):
            return
        if old is not MISSING:
            self.facts.append((v.place(key), old))
        elif v.code != CELL:
            self.facts.append(
                (
                    v.node.place().then(v.place(key).path[len(v.node.path) :], ABSENT[v.code], key),
                    False,
                )
            )

    def _leaf(self, x: Any, kind: Any, v: Variables, key: Any, trace: Trace) -> Any:
        """A leaf of a new value: an `Output`, something `Earlier`, or what is stored as it is."""
        path = v.place(key).path
        if isinstance(x, (Boxed, np.ndarray)) and (held := self._held(x)) is not None:
            return held
        number = self.made.setdefault(id(x), len(self.made))
        if isinstance(x, SYMBOLIC):
            raise TracegradError(
                f"jit: {self.name} stores a size in {path}, which has to be known for that"
            )
        if isinstance(x, Boxed):
            data = x._data
            if (
                isinstance(data, Var)
                and data.trace is not trace
                and (is_left_over(data) or data.trace not in STATE.traces)
            ):
                raise escaped(data, self._written_at(key, v.code), path, self.name)
            if isinstance(x, Number) and x.old is not None:
                return Output(x.kind, number)
            # What a branch chooses is a Tensor among Tensors: that it is a number, its type tells,
            # or what Python stored before.
            counted = kind in (int, float, bool, complex) and not x.shape
            plain = kind is np.ndarray or (counted and x.dtype.kind == np.dtype(kind).kind)
            plain = plain or (isinstance(data, Var) and data.type.weak)
            if isinstance(x, Tensor) and not plain:
                return Output(Tensor, number)
            if kind in (int, float, bool, complex):
                if np.dtype(kind).kind != x.dtype.kind:
                    self._refuse(
                        path,
                        v,
                        key,
                        f"as a number it is a Python {kind.__name__}, "
                        f"computed as an array a {x.dtype}",
                    )
                return Output(kind, number)
            return Output(
                _PYTHON[x.dtype.kind] if isinstance(data, Var) and data.type.weak else None, number
            )
        if isinstance(x, (np.ndarray, np.generic)):
            if x.dtype.hasobject or x.dtype.kind not in "biufc":
                self._refuse(path, v, key, f"it becomes an array of dtype {x.dtype}")
            return Output(None, number)
        if id(x) not in self.reach.seen and (var := traced_in(x)) is not None:
            raise escaped(var, self._written_at(key, v.code), path, self.name)
        return x

    def _held(self, x: Any) -> Earlier | None:
        """Of an array or Tensor that was there before, and of a view of one, that it is this one;
        None of a new one."""
        if (known := self._known(x)) is not None:
            return known
        root = x._root if isinstance(x, Boxed) else x
        for one in (root, *twins(root)):
            if (known := self._known(one)) is not None:
                return known.showing(x, one is not root)
        return None

    def _known(self, x: Any) -> Earlier | None:
        known = self.there.get(id(x))
        if known is None and (node := self.reach.found.get(id(x))) is not None:
            known = Earlier(x, node.place())
        return known if known is not None and known.one is x and known.stands() else None

    def _whole(self, held: Contents) -> list[Slot]:
        """A change of an object as a whole: of a set it is carried out, and so are appends to a
        list, once it is known that these are all."""
        now, before = held.read(), held.before
        where = self._written_at(None, ITEM if "elements" in held.what else "")
        if isinstance(now, frozenset):
            if (var := traced_in(tuple(now - before))) is not None:
                raise escaped(var, where, held.node.path, self.name)
            place = held.node.place()
            self.facts.append((place.then("", "frozenset({it})"), before))
            self.stored.append(Stored(place, None, tuple(now), "refill"))
            return []
        if isinstance(now, list):
            grows = len(now) > len(before) and all(
                x is y for x, y in zip(now, before, strict=False)
            )
            at = self.reach.holding(held.node)
            if (
                grows
                and at is not None
                and (id(at[0]), at[1]) not in {(id(s.variables), s.key) for s in self.slots}
            ):
                return [Slot(*at, held.node.value, True)]
            if (var := traced_in(now[len(before) :])) is not None:
                raise escaped(var, where, held.node.path, self.name)
        raise TracegradError(
            f"{where}: jit: {self.name} {held.what} {held.node.path}, which happens once, "
            "while the function is traced, and not at each call. "
            + (
                RANDOM
                if held.what == "draws from"
                else ELEMENTS
                if "elements" in held.what
                else LIST
            )
        )


_PYTHON = {"b": bool, "i": int, "f": float, "c": complex}


__all__ = ["Slot", "Watch"]
