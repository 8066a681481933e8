"""Eigenvalues and singular values: their vectors are computed where somebody reads them, once."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Atom, Graph, Node
from ..ir.op import Op
from ..ops.matrices.spectral import VALUES_ALONE
from .rewriter import Rewriter, rewrite

WHOLE = {values: (whole, at) for whole, (at, values) in VALUES_ALONE.items()}
"""The decomposition of an operation that gives values alone, and which of its results they are."""


def values_alone(graph: Graph) -> Graph:
    """`w, v = eigh(a)` -> `w = eigvalsh(a)` where nothing reads v, and `w = eigvalsh(a)` -> that of
    `eigh(a)` where something does; likewise for singular values. Needs common subexpressions."""
    nodes = [n for n in graph.nodes if n.op in VALUES_ALONE or n.op in WHOLE]
    if not nodes:
        return graph
    read = {a for n in graph.nodes for a in n.inputs} | set(graph.outputs)
    full: dict[tuple[Op, Atom], Node] = {}
    for node in nodes:
        if node.op in VALUES_ALONE:
            at = VALUES_ALONE[node.op][0]
            if any(v in read for k, v in enumerate(node.outputs) if k != at):
                full[node.op, node.inputs[0]] = node
    placed: dict[Node, Sequence[Atom]] = {}

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if node.op not in VALUES_ALONE and node.op not in WHOLE:
            return None
        whole, at = WHOLE.get(node.op) or (node.op, VALUES_ALONE[node.op][0])
        wanted = full.get((whole, node.inputs[0]))
        if wanted is None:
            if node.op in WHOLE:
                return None
            value = b.emit(VALUES_ALONE[node.op][1], inputs, {}, node)
            return [value if k == at else v for k, v in enumerate(node.outputs)]
        if wanted not in placed:
            placed[wanted] = b.keep(wanted, inputs)
        return [placed[wanted][at]] if node.op in WHOLE else placed[wanted]

    return rewrite(graph, rule)


__all__ = ["values_alone"]
