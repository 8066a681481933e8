"""Branches of an adjoint cut in two: what does not wait for cotangents becomes a choice of its own,
which can run with the forward loop.

The adjoint of a choice reads what its branches were given. In a loop that may be a large array of
which a branch reads some elements: kept for every step it would take memory and time of the order
of steps times elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ops.arrays.shape import broadcast_to_op
from ..types import ArrayType

GAIN = 4
"""How many times less a choice must keep to be cut."""

Cut = Callable[[dict[Var, Node | None], set[Var], Sequence[Var]], set[Var]]
"""The values to keep: (what can be kept and what makes it, what is there anyway, what is read)."""


def cut_choices(
    graph: Graph, late: set[Atom], free: set[Var], cut: Cut, bytes_of: Callable[[ArrayType], int]
) -> Graph:
    """The graph with such choices; `late` is what depends on cotangents, `free` what the adjoint
    has without keeping it."""
    nodes: list[Node] = []
    for node in graph.nodes:
        waits = node.op.lowering == lowering.SWITCH and any(a in late for a in node.inputs)
        found = (
            _in_two(node, late, free, cut, bytes_of)
            if waits and node.inputs[0] not in late
            else None
        )
        nodes.extend(found or [node])
    return graph.replace(nodes=tuple(nodes)) if len(nodes) > len(graph.nodes) else graph


class _Branch:
    """A branch, what of it waits, and what the part that waits needs from the part that does
    not."""

    def __init__(
        self, graph: Graph, waiting: Sequence[bool], free: Sequence[bool], cut: Cut
    ) -> None:
        self.graph = graph
        self.late: set[Atom] = {v for v, w in zip(graph.inputs, waiting, strict=True) if w}
        for node in graph.nodes:
            if any(a in self.late for a in node.inputs):
                self.late.update(node.outputs)
        early = [v for v in graph.inputs if v not in self.late]
        there = {v for v, ok in zip(graph.inputs, free, strict=True) if ok}
        self.made: dict[Var, Node | None] = {v: None for v in early if v not in there}
        self.made |= {v: node for node in graph.nodes for v in node.outputs if v not in self.late}
        readers = [a for node in graph.nodes if node.outputs[0] in self.late for a in node.inputs]
        reads = [
            a
            for a in dict.fromkeys([*readers, *graph.outputs])
            if isinstance(a, Var) and a not in self.late
        ]
        self.kept = [v for v in self.made if v in cut(self.made, there, reads)]
        needed: set[Atom] = set(reads)
        self.again: list[Node] = []
        for node in reversed(graph.nodes):
            if node.outputs[0] in self.late:
                self.again.append(node)
            elif any(v in needed and v not in self.kept for v in node.outputs):
                self.again.append(node)
                needed.update(a for a in node.inputs if isinstance(a, Var))
        self.again.reverse()
        self.slots: list[int] = []
        """Where each value that is kept stands among those of all branches."""
        self.reads = reads

    def inputs_read(self) -> set[Atom]:
        """The inputs from which all that the waiting part reads is computed."""
        found: set[Atom] = set(self.reads)
        for node in reversed(self.graph.nodes):
            if any(v in found for v in node.outputs):
                found.update(node.inputs)
        return found.intersection(self.graph.inputs)

    def early(self, operands: Sequence[int], slots: Sequence[ArrayType]) -> Graph:
        """What is kept, zeros in the places of other branches' values."""
        needed: set[Atom] = set(self.kept)
        nodes: list[Node] = []
        for node in reversed(self.graph.nodes):
            if any(v in needed for v in node.outputs):
                nodes.insert(0, node)
                needed.update(node.inputs)
        outputs: list[Atom] = []
        for k, kind in enumerate(slots):
            zero: Atom = Literal(kind.dtype.type(0))
            if k in self.slots:
                zero = self.kept[self.slots.index(k)]
            elif kind.ndim:
                nodes.append(
                    Node(broadcast_to_op, (zero,), {"shape": kind.shape}, (filled := Var(kind),))
                )
                zero = filled
            outputs.append(zero)
        inputs = tuple([self.graph.inputs[k] for k in operands])
        name = f"{self.graph.name}_kept"
        return self.graph.replace(
            name=name, inputs=inputs, nodes=tuple(nodes), outputs=tuple(outputs)
        )

    def late_part(
        self, operands: Sequence[int], waiting: Sequence[int], slots: Sequence[ArrayType]
    ) -> Graph:
        """The part that waits, which reads what is kept."""
        kept = [
            self.kept[self.slots.index(k)] if k in self.slots else Var(kind)
            for k, kind in enumerate(slots)
        ]
        given = [self.graph.inputs[k] for k in operands]
        inputs = (*given, *kept, *[self.graph.inputs[k] for k in waiting])
        return self.graph.replace(inputs=inputs, nodes=tuple(self.again))


def _in_two(
    node: Node, late: set[Atom], free: set[Var], cut: Cut, bytes_of: Callable[[ArrayType], int]
) -> list[Node] | None:
    index, operands = node.inputs[0], node.inputs[1:]
    graphs: tuple[Graph, ...] = node.params["branches"]
    if any(n.op.effects for g in graphs for n in g.nodes):
        return None
    waiting = [a in late for a in operands]
    there = [
        not w and (not isinstance(a, Var) or a in free or not a.type.ndim)
        for a, w in zip(operands, waiting, strict=True)
    ]
    branches = [_Branch(g, waiting, there, cut) for g in graphs]
    read = {k for b in branches for k, v in enumerate(b.graph.inputs) if v in b.inputs_read()}
    whole = sum(bytes_of(operands[k].type) for k in read if not there[k])
    slots: list[ArrayType] = []
    for b in branches:
        for v in b.kept:
            kind = ArrayType(v.type.dtype, v.type.shape)
            fitting = (k for k, s in enumerate(slots) if s == kind and k not in b.slots)
            b.slots.append(next(fitting, len(slots)))
            if b.slots[-1] == len(slots):
                slots.append(kind)
    if not slots or GAIN * sum(map(bytes_of, slots)) > whole:
        return None
    first = [k for k, w in enumerate(waiting) if not w]
    second = [k for k, ok in enumerate(there) if ok]
    between = [Var(kind) for kind in slots]
    early = [b.early(first, slots) for b in branches]
    after = [b.late_part(second, [k for k, w in enumerate(waiting) if w], slots) for b in branches]
    given = (
        index,
        *[operands[k] for k in second],
        *between,
        *[a for a, w in zip(operands, waiting, strict=True) if w],
    )
    before = (index, *[operands[k] for k in first])
    return [
        node.replace(
            inputs=before, params={**node.params, "branches": tuple(early)}, outputs=tuple(between)
        ),
        node.replace(inputs=given, params={**node.params, "branches": tuple(after)}),
    ]


__all__ = ["cut_choices"]
