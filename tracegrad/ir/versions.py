"""Arrays of which one is made of the other by writing some elements: versions, which can lie in one
place."""

from __future__ import annotations

from collections.abc import Mapping

from .._codegen import lowering
from ..types import equal_types
from .graph import Atom, Graph, Node, Var
from .loops import Loop, is_loop


def chain_of(atom: Atom, made: Mapping[Var, Node]) -> list[Var]:
    """The arrays that become `atom` by writes in place, the first one first, `atom` last."""
    chain: list[Var] = []
    while isinstance(atom, Var):
        chain.insert(0, atom)
        node = made.get(atom)
        place = None if node is None else passed(node).get(atom)
        if node is None or place is None:
            break
        atom = node.inputs[place]
    return chain


def passed(node: Node) -> dict[Var, int]:
    """The results that may lie where an input lies, and which one."""
    rule = node.op.lowering
    found: dict[Var, int] = {}
    if isinstance(rule, lowering.Scatter):
        found = {node.outputs[0]: 0}
    elif is_loop(node):
        loop = Loop.of(node)
        found = {c.last: k for k, c in enumerate(loop.carries, len(loop.constants))}
    elif rule in (lowering.SWITCH, lowering.SIZED):
        for graph in node.subgraphs():
            for v, k in zip(node.outputs, _begun(graph), strict=True):
                if k is not None:
                    found.setdefault(v, 1 + k)
    return {v: k for v, k in found.items() if equal_types(node.inputs[k].type, v.type)}


def _begun(graph: Graph) -> list[int | None]:
    """Of each result of a graph the input in whose place it may lie. It is found once: branches in
    branches would be walked anew for each write in those around them."""
    if "begun" not in graph.derived:
        made = {o: n for n in graph.nodes for o in n.outputs}
        at = {v: k for k, v in enumerate(graph.inputs)}
        chains = [chain_of(result, made) for result in graph.outputs]
        graph.derived["begun"] = [at.get(chain[0]) if chain else None for chain in chains]
    found: list[int | None] = graph.derived["begun"]
    return found


__all__ = ["chain_of", "passed"]
