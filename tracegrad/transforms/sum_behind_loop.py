"""Sums over the lanes of a batch that a loop adds up step by step are taken once, behind it.

The gradient by parameters that all items of a batch share is such a total: each step of the adjoint
sums over the items and adds to a carry. With a total per item in its place no step needs more than
its own lane, so that blocks of lanes go through all steps by themselves
(schedule/passes/batch_blocks.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Carry, Loop
from ..ops.arrays.concatenation import concatenate_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, sum_op, transpose_op
from ..ops.arrays.slices import embed_op, slice_op
from ..ops.elementwise.arithmetic import neg_op
from ..ops.elementwise.derived import add_op, mul_op
from ..types import Int, equal_types
from .loop_parts import trim

PLACED = (broadcast_to_op, embed_op, reshape_op)
"""Where a sum goes in the total."""
LANES = (*PLACED, slice_op, transpose_op, concatenate_op)
"""What else than arithmetic on elements a body of lanes may do."""


class _Term(NamedTuple):
    """Something that is added to a carry in each step: elements, summed, put in a place, and
    multiplied with numbers (or negated: None)."""

    elements: Atom
    steps: tuple[Node, ...]
    factors: tuple[Atom | None, ...]

    @property
    def kind(self) -> Any:
        """Terms of one kind can be added before they are summed."""
        return self.elements.type, tuple(
            [(n.op, sorted(n.params.items()), n.outputs[0].type) for n in self.steps]
        )


def sums_behind_loops(graph: Graph) -> Graph:
    """The graph with such sums behind its loops."""
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes.extend((_behind(node) if node.op.lowering is lowering.SCAN else None) or [node])
    return graph.replace(nodes=tuple(nodes)) if len(nodes) > len(graph.nodes) else graph


def _behind(node: Node) -> list[Node] | None:
    loop = Loop.of(node)
    body = loop.body
    sums = [node for node in body.nodes if node.op is sum_op]
    if not sums or not all(
        isinstance(node.op.lowering, lowering.Pointwise) or node.op in (*LANES, sum_op)
        for node in body.nodes
    ):
        return None
    made = {v: node for node in body.nodes for v in node.outputs}
    uses = Counter(
        [a for node in body.nodes for a in node.inputs if isinstance(a, Var)]
        + [a for a in body.outputs if isinstance(a, Var)]
    )
    found = {
        c: terms
        for c in loop.carries
        if (terms := _terms(c.next, c.inside, made, uses)) is not None
    }
    kept = [c for c in loop.carries if c not in found]
    widest = {size for c in kept for size in c.inside.type.shape}
    of_totals = {id(t.steps[0]) for terms in found.values() for t in terms}
    lanes = {size for s in sums if id(s) in of_totals for size in _summed(s)}
    # Lanes are apart if no other sum needs them; and a total takes no more than a carry that is
    # there.
    if not found or any(
        size in lanes for s in sums if id(s) not in of_totals for size in _summed(s)
    ):
        return None
    if not all(
        size in widest for terms in found.values() for t in terms for size in t.elements.type.shape
    ):
        return None
    before: list[Node] = []
    inside: list[Node] = []
    behind: list[Node] = []
    carried: list[Carry] = []

    def made_by(
        nodes: list[Node], op: Any, inputs: Sequence[Atom], params: dict[str, Any], out: Var
    ) -> Var:
        nodes.append(Node(op, tuple(inputs), params, (out,), node.where, node.note))
        return out

    for c, terms in found.items():
        kinds: list[list[_Term]] = []
        for t in terms:
            alike = next((group for group in kinds if group[0].kind == t.kind), None)
            kinds.append([t]) if alike is None else alike.append(t)
        result: Atom = c.first
        for number, group in enumerate(kinds):
            kind = group[0].elements.type
            zero = Literal(kind.dtype.type(0))
            first = made_by(before, broadcast_to_op, (zero,), {"shape": kind.shape}, Var(kind))
            start = Var(kind)
            total: Atom = start
            for t in group:
                elements = t.elements
                for factor in t.factors:
                    op, operands = (
                        (neg_op, (elements,)) if factor is None else (mul_op, (elements, factor))
                    )
                    elements = made_by(inside, op, operands, {}, Var(kind))
                total = made_by(inside, add_op, (total, elements), {}, Var(kind))
            placed = last = Var(kind)
            carried.append(Carry(first, start, total, last))
            for step in group[0].steps:
                placed = made_by(behind, step.op, (placed,), step.params, Var(step.outputs[0].type))
            final = c.last if number == len(kinds) - 1 else Var(c.last.type)
            result = made_by(behind, add_op, (result, placed), {}, final)
    changed = loop.replace(
        carries=(*kept, *carried), body=body.replace(nodes=(*body.nodes, *inside))
    ).node()
    trimmed = changed.replace(params={**changed.params, "body": trim(changed.params["body"])})
    return [*before, trimmed, *behind]


def _summed(node: Node) -> list[Int]:
    return [node.inputs[0].type.shape[axis] for axis in node.params["axes"]]


def _terms(out: Atom, carry: Var, made: dict[Var, Node], uses: Counter[Var]) -> list[_Term] | None:
    """What is added to a carry that nothing else reads; None where it is not of this form."""
    if uses[carry] != 1:
        return None
    kept = False
    found: list[_Term] = []
    pending: list[_Term] = [_Term(out, (), ())]
    while pending:
        term = pending.pop()
        atom, steps, factors = term
        if atom is carry and not steps and not factors:
            kept = True
            continue
        node = made.get(atom) if isinstance(atom, Var) else None
        if (
            node is None
            or uses[node.outputs[0]] != 1
            or any(
                a.type.dtype != node.outputs[0].type.dtype
                for a in node.inputs
                if isinstance(a, Var)
            )
        ):
            return None
        first = node.inputs[0]
        if node.op is add_op and all(
            equal_types(a.type, node.outputs[0].type) for a in node.inputs
        ):
            pending += [term._replace(elements=a) for a in reversed(node.inputs)]
        elif node.op in PLACED:
            pending.append(_Term(first, (node, *steps), factors))
        elif node.op is neg_op:
            pending.append(_Term(first, steps, (*factors, None)))
        elif (
            node.op is mul_op
            and (
                factor := next(
                    (a for a in node.inputs if a.type.shape == () and not _is_sum(a, made)), None
                )
            )
            is not None
        ):
            (other,) = [a for a in node.inputs if a is not factor] or [factor]
            pending.append(_Term(other, steps, (*factors, factor)))
        elif node.op is sum_op and first.type.shape:
            found.append(_Term(first, (node, *steps), factors))
        else:
            return None
    return found if kept and found else None


def _is_sum(atom: Atom, made: dict[Var, Node]) -> bool:
    """Whether a number is a sum, times others."""
    node = made.get(atom) if isinstance(atom, Var) else None
    return node is not None and (
        node.op is sum_op
        or (node.op in (mul_op, neg_op, *PLACED) and any(_is_sum(a, made) for a in node.inputs))
    )


__all__ = ["sums_behind_loops"]
