"""One matrix is factorised once: for systems with it, with its transpose, for its inverse and its
determinant. A function and its adjoint ask for several of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..ir.graph import Atom, Graph, Node, Var
from ..ops.arrays.shape import transpose_op
from ..ops.matrices.factored import (
    factored_inv_op,
    factored_slogdet_op,
    factored_solve_op,
    lu_factors_op,
)
from ..ops.matrices.stacks import is_large
from ..ops.matrices.systems import inv_op, slogdet_op, solve_op
from .rewriter import Rewriter, rewrite

BY_FACTORS = {inv_op: factored_inv_op, slogdet_op: factored_slogdet_op}


def factor_once(graph: Graph) -> Graph:
    """`solve(a, b)`, `solve(a.T, c)`, `inv(a)`, `slogdet(a)` by the same LU factors of a large real
    matrix, where there are two of them. Needs common subexpressions."""
    turned = {
        n.outputs[0]: n.inputs[0]
        for n in graph.nodes
        if n.op is transpose_op and n.params["axes"] == (0, 2, 1)
    }

    def matrix(node: Node) -> tuple[Atom, bool]:
        a = node.inputs[0]
        source = turned.get(a) if isinstance(a, Var) and node.op is solve_op else None
        return (a, False) if source is None else (source, True)

    users: defaultdict[Atom, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.op is solve_op or node.op in BY_FACTORS:
            users[matrix(node)[0]].append(node)
    shared = {node: nodes for nodes in users.values() if _share(nodes) for node in nodes}
    if not shared:
        return graph
    made: dict[Node, Sequence[Atom]] = {}

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if node not in shared:
            return None
        first, (_, other) = shared[node][0], matrix(node)
        if first not in made:
            moved = b.made_by(inputs[0], transpose_op) if other else None
            a = inputs[0] if moved is None else moved.inputs[0]
            made[first] = b.apply(lu_factors_op, [a], {}, node)
        if node.op is solve_op:
            operands = [*made[first], inputs[1]]
            return b.apply(factored_solve_op, operands, {"turned": other}, node)
        return b.apply(BY_FACTORS[node.op], made[first], {}, node)

    return rewrite(graph, rule)


def _share(nodes: Sequence[Node]) -> bool:
    """Whether factors that these nodes share take less time than each by itself."""
    kind = nodes[0].inputs[0].type
    return len(nodes) > 1 and is_large(kind.dtype, kind.shape[-1])


__all__ = ["factor_once"]
