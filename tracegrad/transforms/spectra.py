"""Eigenvalues and singular values: their vectors are computed where somebody reads them, once."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.graph import Atom, Graph, Node
from ..ir.op import Op
from ..ops.matrices.eigenvalues import GENERAL_ALONE, HERMITIAN_ALONE
from ..ops.matrices.spectral import VALUES_ALONE as SINGULAR_ALONE
from ..ops.matrices.tridiagonal import VALUES_ALONE as TRIDIAGONAL_ALONE
from .rewriter import Rewriter, rewrite

IN_ORDER = {**HERMITIAN_ALONE, **SINGULAR_ALONE, **TRIDIAGONAL_ALONE}
VALUES_ALONE = {**IN_ORDER, **GENERAL_ALONE}
VALUES = {op for _, op in VALUES_ALONE.values()}
"""The operations that give values alone."""


def values_alone(graph: Graph) -> Graph:
    """`w, v = eigh(a)` -> `w = eigvalsh(a)` where nothing reads v, and `w = eigvalsh(a)` -> that of
    `eigh(a)` where something does; likewise for singular values. Needs common subexpressions."""
    nodes = [n for n in graph.nodes if n.op in VALUES_ALONE or n.op in VALUES]
    if not nodes:
        return graph
    read = {a for n in graph.nodes for a in n.inputs} | set(graph.outputs)
    whole: set[Node] = set()
    of_values: dict[tuple[Op, tuple[Atom, ...]], Node] = {}
    """The decomposition whose vectors are read, by the operation of its values."""
    for node in nodes:
        if node.op in VALUES_ALONE:
            at, values = VALUES_ALONE[node.op]
            if any(v in read for k, v in enumerate(node.outputs) if k != at):
                whole.add(node)
                of_values.setdefault((values, tuple(node.inputs)), node)
    placed: dict[Node, Sequence[Atom]] = {}

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if node.op not in VALUES_ALONE and node.op not in VALUES:
            return None
        at, values = VALUES_ALONE.get(node.op, (0, node.op))
        wanted = node if node in whole else of_values.get((values, tuple(node.inputs)))
        if wanted is None:
            # General matrices' values come in another order perhaps, and somebody may have asked
            # for vectors in another graph.
            if node.op not in IN_ORDER:
                return None
            value = b.emit(values, inputs, {}, node)
            return [value if k == at else v for k, v in enumerate(node.outputs)]
        if wanted not in placed:
            placed[wanted] = b.keep(wanted, inputs)
        found = placed[wanted]
        return [found[VALUES_ALONE[wanted.op][0]]] if node.op in VALUES else found

    return rewrite(graph, rule)


__all__ = ["values_alone"]
