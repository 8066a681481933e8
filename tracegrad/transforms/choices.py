"""Branches of an adjoint cut in two: what does not wait for cotangents becomes a choice of its
own."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ops.arrays.shape import broadcast_to_op
from ..types import ArrayType
from .halves import Halves
from .minimum_cut import bytes_of

GAIN = 4
"""How many times less a region must keep to be cut."""
KEPT = 16
"""What one more value costs that a region keeps, in bytes."""


class _Branch(Halves):
    """A branch, what of it waits, and what the half that waits needs from the other."""

    def __init__(
        self, graph: Graph, waiting: Sequence[bool], free: Sequence[bool], hints: dict[str, int]
    ) -> None:
        super().__init__(
            graph,
            [v for v, w in zip(graph.inputs, waiting, strict=True) if w],
            [v for v, ok in zip(graph.inputs, free, strict=True) if ok],
            hints,
            lambda v: KEPT + bytes_of(v.type, hints),
        )
        self.slots: list[int] = []
        """Where each value that is kept stands among those of all branches."""

    def early(self, operands: Sequence[int], slots: Sequence[ArrayType]) -> Graph:
        """What is kept, zeros in the places of other branches' values."""
        nodes = self.before(self.kept)
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


def choice_in_two(
    node: Node, late: set[Atom], free: set[Var], hints: dict[str, int]
) -> list[Node] | None:
    """A choice that waits as one that does not and one that does; None where that keeps no less."""
    index, operands = node.inputs[0], node.inputs[1:]
    graphs: tuple[Graph, ...] = node.params["branches"]
    waiting = [a in late for a in operands]
    there = [
        not w and (not isinstance(a, Var) or a in free or not a.type.ndim)
        for a, w in zip(operands, waiting, strict=True)
    ]
    branches = [_Branch(g, waiting, there, hints) for g in graphs]
    read = {k for b in branches for k, v in enumerate(b.graph.inputs) if v in b.inputs_read()}
    whole = sum(KEPT + bytes_of(operands[k].type, hints) for k in read if not there[k])
    slots: list[ArrayType] = []
    for b in branches:
        for v in b.kept:
            kind = ArrayType(v.type.dtype, v.type.shape)
            fitting = (k for k, s in enumerate(slots) if s == kind and k not in b.slots)
            b.slots.append(next(fitting, len(slots)))
            if b.slots[-1] == len(slots):
                slots.append(kind)
    if not slots or GAIN * sum(KEPT + bytes_of(kind, hints) for kind in slots) > whole:
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


__all__ = ["choice_in_two"]
