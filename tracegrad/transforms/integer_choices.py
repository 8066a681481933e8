"""Branches that only say which integers or flags go on, as `where`.

Such integers are mostly places: which half of a table is searched next, nobody can foretell, the
processor neither. What is chosen between numbers stays a branch: a processor that guesses it right
goes on with the next step before the condition is known, where `where` has to wait for it. (Where
no step waits for another, `at_once.py` chooses so between numbers, too.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ops.elementwise.arithmetic import where_op
from ..types import equal_types
from .rewriter import Rewriter, rewrite


def integer_choices(graph: Graph) -> Graph:
    """The graph without such branches. They have to be trimmed before."""
    return chosen(graph, "biu")


def chosen(graph: Graph, kinds: str) -> Graph:
    """The graph without branches that only choose between numbers of these kinds of dtypes."""
    if not any(_is_plain(node, kinds) for node in graph.nodes):
        return graph

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if not _is_plain(node, kinds):
            return None
        no, yes = [_results(g, inputs[1:]) for g in node.params["branches"]]
        sides = list(zip(yes, no, strict=True))
        types = [where_op.infer(inputs[0], x, y)[0] for x, y in sides]
        if not all(equal_types(k, v.type) for k, v in zip(types, node.outputs, strict=True)):
            return None
        return [b.emit(where_op, [inputs[0], x, y], {}, node) for x, y in sides]

    return rewrite(graph, rule)


def _is_plain(node: Node, kinds: str) -> bool:
    """Whether a node is one of two branches that compute nothing."""
    return (
        node.op.lowering is lowering.SWITCH
        and node.inputs[0].type.dtype.kind == "b"
        and bool(node.outputs)
        and all(v.type.dtype.kind in kinds and not v.type.ndim for v in node.outputs)
        and not any(g.nodes for g in node.params["branches"])
    )


def _results(graph: Graph, operands: Sequence[Atom]) -> list[Atom]:
    given = dict(zip(graph.inputs, operands, strict=True))
    return [given[a] if isinstance(a, Var) else a for a in graph.outputs]


__all__ = ["chosen", "integer_choices"]
