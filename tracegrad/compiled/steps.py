"""A compiled call as a list of steps, chosen when its signature is traced.

Each step stands here in both of its forms. `do` is the plain way: for any call, also for one with
operands on the tape or inside of a trace. `write` gives the text of the same for a caller
(`callers.py`): for calls like the one that was just made; it raises Unfit for what is left to the
plain way. Up to the step that computes (`computing.py`) the text may give MISS, and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.call import spent
from ..ir.dispatch import STATE
from ..staging.places import MISSING
from ..surroundings.earlier import Earlier
from ..surroundings.places import ITEM, Place
from ..surroundings.stored import Output
from ..tape.mode import MODE
from ..tensor import Boxed, Tensor
from ..transforms.tracing import Change, result_of
from ..tree import flatten, unflatten
from .effects import carry_out, set_flags, store, write_back
from .entry import Entry
from .guards import Unfit
from .on_device import operands
from .overlaps import check_changed, check_donated, check_order_of_bytes, check_overlap, owned
from .sharing import written_boxes

if TYPE_CHECKING:
    from .callers import CallerText


class PlainCall:
    """One call on the plain way: what it was given, and what its steps have found so far."""

    def __init__(
        self, entry: Entry, leaves: Sequence[Any], captured: Sequence[Any], given: Sequence[Any]
    ) -> None:
        self.entry, self.leaves, self.captured, self.given = entry, leaves, captured, given
        self.values: Sequence[Any] = ()
        """The operands of the graph."""
        self.changes: Sequence[tuple[Change, Any]] = ()
        """What the call changes, and the boxes of now."""
        self.outs: Sequence[Any] = ()
        """The results of the graph."""
        self.held: Sequence[Any] = ()
        """What was there before the call, and is stored by it."""
        self.result: Any = None
        self.who = "jit"
        """What errors name as called."""


class Step:
    """One thing that a call does, for one signature."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.traced = entry, entry.traced

    def do(self, call: PlainCall) -> None:
        """Do it."""
        raise NotImplementedError

    def write(self, to: CallerText) -> None:
        """Add the text that does it."""
        raise NotImplementedError


class BringOperands(Step):
    """Bring together what the graph reads: the arguments, their gradients, what is captured."""

    def do(self, call: PlainCall) -> None:
        traced, leaves = self.traced, call.leaves
        call.values = [*leaves, *[leaves[k]._grad for k in traced.grads], *call.captured]
        if traced.device is not None and not STATE.traces:
            call.values = operands(self.entry.graph, call.values, len(leaves), traced.device)

    def write(self, to: CallerText) -> None:
        if self.traced.grads:
            raise Unfit("gradients of arguments")
        given = [f"z{k}" if k in to.numbers else f"x{k}" for k in range(to.count)]
        to.operands = [*given, *to.surroundings()]
        for k, operand in enumerate(to.operands):
            to.memory(k, operand)


class Written(Step):
    """See that what is written to shares no memory with another operand: compiled code reads all of
    them before it writes."""

    def do(self, call: PlainCall) -> None:
        read = [*call.values, *self.entry.read_once()]
        given = flatten(call.given)[0]
        for k in self.traced.writes:
            name = self.entry.graph.inputs[k].name or f"number {k}"
            if k < len(given):
                check_order_of_bytes(given[k], name)
            check_overlap(read, k, name, call.who)

    def write(self, to: CallerText) -> None:
        for k in self.traced.writes:
            to.apart(k)


class GivenUp(Step):
    """See that what the caller gives up is memory that results may take."""

    def __init__(self, entry: Entry, numbers: Sequence[int]) -> None:
        super().__init__(entry)
        self.numbers = numbers

    def do(self, call: PlainCall) -> None:
        check_donated(call.values, self.numbers, [v.name for v in self.entry.graph.inputs])

    def write(self, to: CallerText) -> None:
        for k in self.entry.given_up:
            to.wrong(f"not {to.name(owned)}(x{k})")
            to.apart(k)


class ChangedBoxes(Step):
    """Find the boxes that the call changes, and see that no argument shows their memory; a flag is
    set before the results, which depend on it."""

    def do(self, call: PlainCall) -> None:
        call.changes = self.entry.changed(call.leaves)
        check_changed(self.entry.graph.name, call.leaves, written_boxes(call.changes))
        set_flags(call.changes)

    def write(self, to: CallerText) -> None:
        to.changed()


class Holders(Step):
    """Find what holds the variables that the call stores into, each under its name h0 and so on,
    and what was there before and is stored: old0 and so on."""

    def do(self, call: PlainCall) -> None:
        # What holds variables, their places themselves know.
        call.held = [x.read(call.leaves) for s in self.entry.stored for x in s.held()]

    def write(self, to: CallerText) -> None:
        read: dict[Place, str] = {}
        for j, stored in enumerate(self.entry.stored):
            if stored.into_argument(self.entry.holder):
                raise Unfit("a change of a container among the arguments")
            if stored.into is not None:
                to.line(2, f"h{j} = {to.at(stored.into, read)}")
                if stored.simple and stored.place.code == ITEM:
                    to.wrong(f"type(h{j}) is not {to.name(type(stored.into()))}")
        for k, x in enumerate(x for s in self.entry.stored for x in s.held()):
            if x.place is not None:
                to.line(2, f"old{k} = {to.at(x.place, read)}")
            else:
                given = f"b{x.number}" if x.number in to.boxes else f"x{x.number}"
                to.line(2, f"old{k} = {given}")


# --- after the results are there ------------------------------------------------------------------


class WriteBack(Step):
    """Write the new values of arguments, results from number `first` on, into them."""

    def __init__(self, entry: Entry, first: int) -> None:
        super().__init__(entry)
        self.first = first

    def do(self, call: PlainCall) -> None:
        for k, new in zip(self.traced.writes, call.outs[self.first :], strict=False):
            write_back(call.leaves[k], new)

    def write(self, to: CallerText) -> None:
        for j, k in enumerate(self.traced.writes, self.first):
            if k in to.boxes:
                to.line(1, f"{to.name(write_back)}(b{k}, o{j})")
            else:
                to.line(1, f"{to.name(np.copyto)}(x{k}, o{j}, casting='unsafe')")


class Changes(Step):
    """Do to boxes what the function did to them: results from number `first` on are the values."""

    def __init__(self, entry: Entry, first: int) -> None:
        super().__init__(entry)
        self.first = first

    def do(self, call: PlainCall) -> None:
        carry_out(call.changes, call.outs[self.first :])

    def write(self, to: CallerText) -> None:
        out = self.first
        for j, (change, _) in enumerate(self.entry.changes):
            if change.what != "grad":
                to.line(1, f"{to.name(store)}(t{j}, {to.results.data[out]})")
            else:
                to.line(1, f"t{j}._grad = {to.tensor(out) if change.value else None}")
            out += bool(change.value)


class StoreInVariables(Step):
    """Store in Python's variables what the function stored there: results from number `first`
    on."""

    def __init__(self, entry: Entry, first: int) -> None:
        super().__init__(entry)
        self.first = first

    def do(self, call: PlainCall) -> None:
        self.entry.store(call.outs, call.given, call.held)

    def write(self, to: CallerText) -> None:
        # All values first: what is stored may be the old value of another variable.
        numbers = iter(range(self.first, len(self.traced.history)))
        before, made = iter(range(sum(len(s.held()) for s in self.entry.stored))), dict[int, str]()
        for j, stored in enumerate(self.entry.stored):
            leaves = [self._leaf(to, x, numbers, before, made) for x in stored.fixed]
            if stored.spec is not None:
                value = to.together(unflatten(stored.spec, range(len(leaves))), leaves)
                to.line(1, f"new{j} = {value}")
        for j, stored in enumerate(self.entry.stored):
            if not stored.simple:
                value = to.name(MISSING) if stored.spec is None else f"new{j}"
                it = "None" if stored.into is None else f"h{j}"
                to.line(1, f"{to.name(stored)}.carry_out({it}, {value})")
                continue
            key = stored.place.key
            key = repr(key) if type(key) in (str, int) else to.name(key)
            to.line(1, f"{stored.place.code.format(it=f'h{j}', key=key)} = new{j}")

    def _leaf(
        self,
        to: CallerText,
        x: Any,
        numbers: Iterator[int],
        before: Iterator[int],
        made: dict[int, str],
    ) -> str:
        """What is stored at one leaf: a fixed object, what was there before, or the next result as
        it stood there."""
        if type(x) is Earlier:
            held = f"old{next(before)}"
            return f"{to.name(x)}.shown({held})" if x.view or x.detached else held
        if type(x) is not Output:
            return to.name(x)
        out = next(numbers)
        if x.number in made:
            return made[x.number]
        if x.kind is Tensor:
            new = to.tensor(out)
        elif x.kind is not None:
            return f"{to.name(x.kind)}(o{out})"
        elif self.traced.device is not None:
            raise Unfit("an array of NumPy that is stored by a call on a device")
        else:
            new = to.results.plain[out]
        made[x.number] = f"made{x.number}"
        to.line(1, f"made{x.number} = {new}")
        return made[x.number]


class Draws(Step):
    """Hand the random generators their counters: results from number `first` on."""

    def __init__(self, entry: Entry, first: int) -> None:
        super().__init__(entry)
        self.first = first

    def do(self, call: PlainCall) -> None:
        counters = call.outs[self.first :]
        for generator, counter in zip(self.traced.generators, counters, strict=True):
            generator.store(counter)

    def write(self, to: CallerText) -> None:
        for j, generator in enumerate(self.traced.generators, self.first):
            to.line(1, f"{to.name(generator)}.store(o{j})")


class GiveResults(Step):
    """Put the results together as the function returned them: a Tensor where it gave one, else an
    array or a number."""

    def do(self, call: PlainCall) -> None:
        traced, leaves = self.traced, []
        for k, tensor in enumerate(traced.out_boxed):
            out = call.outs[k]
            gone = traced.history[k] == "spent" and MODE.enabled and not isinstance(out, Boxed)
            leaves.append(spent(np.asarray(out)) if gone else result_of(out, tensor))
        call.result = unflatten(traced.out_spec, leaves)

    def write(self, to: CallerText) -> None:
        traced, leaves = self.traced, []
        for k, tensor in enumerate(traced.out_boxed):
            if tensor and self.entry.mode and traced.history[k] == "spent":
                leaves.append(f"{to.name(spent)}({to.results.data[k]})")
            else:
                boxed = tensor or k in to.results.finished
                leaves.append(to.tensor(k) if boxed else to.results.plain[k])
        together = to.together(unflatten(traced.out_spec, range(len(leaves))), leaves)
        to.line(1, f"r = {together}")
        if to.results.last:
            to.line(1, to.results.last)
        to.line(1, "return r")


def around(entry: Entry, given_up: Sequence[int] = ()) -> tuple[list[Step], list[Step]]:
    """The steps before and after the one that computes; `given_up` are the leaves whose memory the
    caller gave up."""
    traced = entry.traced
    count = len(traced.out_boxed)
    before: list[Step] = [BringOperands(entry)]
    after: list[Step] = []
    if traced.writes:
        before.append(Written(entry))
        after.append(WriteBack(entry, count))
    if given_up:
        before.append(GivenUp(entry, given_up))
    if entry.changes:
        before.append(ChangedBoxes(entry))
        after.append(Changes(entry, count + len(traced.writes)))
    if entry.stored:
        before.append(Holders(entry))
        stored = sum(s.results for s in entry.stored)
        after.append(StoreInVariables(entry, len(traced.history) - stored))
    if traced.generators:
        after.append(Draws(entry, len(traced.history)))
    after.append(GiveResults(entry))
    return before, after


__all__ = ["PlainCall", "Step", "around"]
