"""The steps of a loop that is a map (`maps.py`), all at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..ir.dispatch import STATE, bind
from ..ir.forms import About
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Parts
from ..ops import add, broadcast_to, convert, flip, moveaxis, sub
from ..ops.arrays.creation import iota
from ..ops.arrays.slices import cut
from ..ops.elementwise.arithmetic import sub_op
from ..ops.places.gathering import ADDING
from ..ops.places.positions import result_shape
from ..ops.totals.reductions import sum as total
from ..sizes import form, same, seen
from ..types import Int
from .integer_choices import chosen
from .maps import Along, StepsApart, Write

Loop = Callable[[Callable[..., list[Any]], Parts], Sequence[Any]]
"""Makes a loop of `step(constants, number, slices) -> results`; what it gives are stacked
results."""


class StepsAtOnce:
    """The steps at once, in the trace that is open."""

    def __init__(self, steps: StepsApart, given: Parts, loop: Loop) -> None:
        self.steps, self.loop = steps, loop
        self.body, self.length = steps.body, seen(steps.length)
        self.first = dict(zip(steps.carries, given.carries, strict=True))
        self.values: dict[Atom, Any] = dict(zip(steps.constants, given.constants, strict=True))
        self.values |= {v: self.first[v] for v in steps.still}
        self.where: dict[Atom, int | None] = dict.fromkeys(self.values)
        self.ends: dict[int, dict[Atom, Any]] = {0: {}, 1: {}}

    def result(self) -> list[Any]:
        """The last values of the carries."""
        steps = self.steps
        for carry in steps.writes:
            for version in steps.settled.chains[carry]:
                self.values[version], self.where[version] = self.first[carry], None
        self.slices = {node: self._read(node, along) for node, along in steps.along.items()}
        # Graphs may hold rules of the user's, which know nothing of batches.
        if any(any(n.subgraphs()) for n in self.body.nodes):
            self._in_a_loop()
        else:
            self._at_once()
        return [self._last(v) for v in steps.carries]

    def _read(self, node: Node, along: Along) -> tuple[Any, int]:
        """What all steps read, and which axis of it tells them apart."""
        source = self._known(node.inputs[0])
        axis, s = along.axis, along.step
        windows = self._windows(node, along)
        taken = node.params["axes"]
        kept = [
            k
            for k in range(len(source.shape))
            if k not in taken or windows[taken.index(k)] is not None
        ]
        if self._is_whole(node, 1, along, windows):
            found = source
        elif len(taken) == 1 and along.least is not None and len(STATE.traces) == 1:
            found = cut(source, axis, along.least, self.length, abs(s))
        else:
            params = {**node.params, "windows": windows}
            found = bind(node.op, [source, *self._starts(node, 1, along)], params)
        place = kept.index(axis)
        return (flip(found, place) if s < 0 else found), place

    def _windows(self, node: Node, along: Along) -> tuple[Any, ...]:
        s = abs(along.step)
        length = self.steps.length
        extent = (length - 1) * s + 1
        return tuple(
            (length, s, extent) if k == along.place else w
            for k, w in enumerate(node.params["windows"])
        )

    def _starts(self, node: Node, first: int, along: Along) -> list[Any]:
        return [
            self._at_end(a, along.step < 0) if k == along.place else self._known(a)
            for k, a in enumerate(node.inputs[first:])
        ]

    def _known(self, atom: Atom) -> Any:
        """A value that is the same in all steps."""
        return self._at_end(atom, False)

    def _at_end(self, atom: Atom, last: bool) -> Any:
        """The value of an integer in the first or the last step."""
        if isinstance(atom, Literal):
            return seen(atom.value)
        if atom is self.steps.number:
            return (self.length - 1) if last else 0
        if atom in self.values and (
            atom in self.steps.settled.carry or not self.steps.varies(atom)
        ):
            return self.values[atom]
        known = self.ends[last]
        if atom not in known:
            node = self.steps.made[atom]
            found = bind(node.op, [self._at_end(a, last) for a in node.inputs], node.params)
            known.update(zip(node.outputs, [found] if node.op.outputs == 1 else found, strict=True))
        return known[atom]

    # --- what stands in a step --------------------------------------------------------------------

    def _at_once(self) -> None:
        steps = self.steps
        number = iota(self.length)
        self.values[steps.number], self.where[steps.number] = number, 0
        for node in self.body.nodes:
            if node in steps.skipped:
                continue
            if node in self.slices:
                self._know(node, [self.slices[node][0]], [self.slices[node][1]])
            elif node in steps.forwarded:
                update = steps.forwarded[node].inputs[1]
                out = node.outputs[0]
                value, axis = self._of(update)
                value, axis = self._shaped(value, axis, out.type.shape, out.type.dtype)
                self._know(node, [value], [axis])
            else:
                found = [self._of(a) for a in node.inputs]
                values, places = [v for v, _ in found], [k for _, k in found]
                if all(k is None for k in places):
                    result = bind(node.op, values, node.params)
                    outs = [result] if node.op.outputs == 1 else list(result)
                    self._know(node, outs, [None] * len(outs))
                else:
                    assert node.op.batch is not None
                    self._know(node, *node.op.batch(values, places, self.length, **node.params))

    def _know(self, node: Node, values: Sequence[Any], places: Sequence[int | None]) -> None:
        self.values.update(zip(node.outputs, values, strict=True))
        self.where.update(zip(node.outputs, places, strict=True))

    def _of(self, atom: Atom) -> tuple[Any, int | None]:
        if isinstance(atom, Literal):
            return seen(atom.value), None
        return self.values[atom], self.where[atom]

    def _shaped(
        self, value: Any, axis: int | None, shape: Sequence[Int], dtype: Any
    ) -> tuple[Any, int | None]:
        """A value of each step in another shape, the axis of the steps in front."""
        value = convert(value, dtype)
        if axis is None:
            return broadcast_to(value, tuple(shape)), None
        value = moveaxis(value, axis, 0) if axis else value
        own = value.shape[1:]
        if len(own) < len(shape):
            value = value.reshape((self.length, *(1,) * (len(shape) - len(own)), *own))
        return broadcast_to(value, (self.length, *shape)), 0

    def _in_a_loop(self) -> None:
        steps = self.steps
        wanted: list[Atom] = []
        for write in itertools.chain.from_iterable(steps.writes.values()):
            wanted += [write.node.inputs[1]]
            wanted += [] if write.along else write.node.inputs[2:]
        wanted += [n.inputs[k] for n, k in itertools.chain.from_iterable(steps.terms.values())]
        wanted = [a for a in dict.fromkeys(wanted) if isinstance(a, Var) and steps.varies(a)]
        sliced = list(self.slices)
        read = {a for n in self.body.nodes if n not in steps.skipped for a in n.inputs}
        outside = [v for v in self.values if v in read or v in wanted]
        given = Parts(
            [self.values[v] for v in outside],
            [],
            [moveaxis(x, axis, 0) if axis else x for x, axis in self.slices.values()],
        )

        def step(constants: Sequence[Any], number: Any, slices: Sequence[Any]) -> list[Any]:
            values: dict[Atom, Any] = dict(zip(outside, constants, strict=True))
            values[steps.number] = number
            values.update((n.outputs[0], s) for n, s in zip(sliced, slices, strict=True))

            def of(a: Atom) -> Any:
                return seen(a.value) if isinstance(a, Literal) else values[a]

            for node in self.body.nodes:
                if node in steps.skipped or node in self.slices:
                    continue
                if node in steps.forwarded:
                    out = node.outputs[0]
                    update = convert(of(steps.forwarded[node].inputs[1]), out.type.dtype)
                    values[out] = broadcast_to(update, out.type.shape)
                    continue
                found = bind(node.op, list(map(of, node.inputs)), node.params)
                values.update(
                    zip(node.outputs, [found] if node.op.outputs == 1 else found, strict=True)
                )
            return [of(a) for a in wanted]

        stacked = self.loop(step, given)
        self.values.update(zip(wanted, stacked, strict=True))
        self.where.update((a, 0) for a in wanted)

    # --- what the loop leaves ---------------------------------------------------------------------

    def _last(self, carry: Var) -> Any:
        steps, value = self.steps, self.first[carry]
        if carry in steps.terms:
            for node, at in steps.terms[carry]:
                term, axis = self._term(node.inputs[at])
                term = convert(term, carry.type.dtype)
                summed = term * self.length if axis is None else total(term, axis=axis)
                summed = convert(summed, carry.type.dtype)
                value = sub(value, summed) if node.op is sub_op else add(value, summed)
            return convert(value, carry.type.dtype)
        for write in steps.writes.get(carry, ()):
            value = self._put(value, write)
        return value

    def _term(self, atom: Atom) -> tuple[Any, int | None]:
        """What is added in each step, and the axis of the steps."""
        if isinstance(atom, Literal) or not self.steps.varies(atom):
            return self._known(atom), None
        return self._of(atom)

    def _put(self, x: Any, write: Write) -> Any:
        node, along = write
        update, axis = self._term(node.inputs[1])
        indices, params = node.inputs[2:], node.params
        shape = tuple(map(seen, node.inputs[0].type.shape))
        own = result_shape(shape, [()] * len(indices), params)
        update, axis = self._shaped(update, axis, own, node.outputs[0].type.dtype)
        if axis is None:
            update = broadcast_to(update, (self.length, *own))
        if along is None:
            found = [self._term(a) for a in indices]
            return bind(
                node.op, [x, moveaxis(update, 0, params["at"]), *[v for v, _ in found]], params
            )
        windows = self._windows(node, along)
        taken = params["axes"]
        kept = [
            k for k in range(len(shape)) if k not in taken or windows[taken.index(k)] is not None
        ]
        place = kept.index(along.axis)
        update = flip(update, 0) if along.step < 0 else update
        update = moveaxis(update, 0, place) if place else update
        if node.op not in ADDING and self._is_whole(node, 2, along, windows):
            return update
        return bind(
            node.op, [x, update, *self._starts(node, 2, along)], {**params, "windows": windows}
        )

    @staticmethod
    def _is_whole(node: Node, first: int, along: Along, windows: tuple[Any, ...]) -> bool:
        """Whether all steps together read or write the whole array."""
        shape = node.inputs[0].type.shape
        starts = [a.value if isinstance(a, Literal) else None for a in node.inputs[first:]]
        starts[along.place] = 0
        return all(
            w is not None and w[1] == 1 and same(w[0], shape[axis]) and start == 0
            for axis, w, start in zip(node.params["axes"], windows, starts, strict=True)
        )


def as_map(body: Graph, given: Parts, length: Int, known: About, loop: Loop) -> list[Any] | None:
    """The last carries of a loop without slices and results, made at once; None where its steps
    need each other.

    known   of the inputs of the body
    loop    what makes a loop whose steps are alone
    """
    if isinstance(length, int) and length < 1:
        return None
    # Items do not wait for one another, so a choice between numbers needs no foretelling.
    plain = chosen(body, "biufc")
    body = body if any(any(n.subgraphs()) for n in plain.nodes) else plain
    steps = StepsApart(body, (len(given.constants), len(given.carries)), form(length), known)
    return StepsAtOnce(steps, given, loop).result() if steps.are_a_map() else None


__all__ = ["as_map"]
