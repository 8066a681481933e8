"""What a branch gives to be added at a place is added within the branch, and not at all where it
is zero.

The adjoint of `if new < d[i, j]: d[i, j] = new` hands out a cotangent of `new`, which is zero where
the branch was not taken; without this, zeros would be read, added and written back in every step.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ops.places.gathering import ADDING
from .collect_in_place import is_zero
from .loop_parts import trim


def sink_additions(graph: Graph) -> Graph:
    """The graph in which choices add to those of their results that are arrays; a zero that is left
    out of a sum may leave it -0.0."""
    changed = graph
    while (found := _next(changed)) is not None:
        changed = found
    return graph if changed is graph else trim(changed)


def _next(graph: Graph) -> Graph | None:
    chosen: dict[Atom, int] = {
        v: k for k, n in enumerate(graph.nodes) for v in n.outputs if _chooses(n)
    }
    if not chosen:
        return None
    place: dict[Atom, int] = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
    uses = Counter([a for n in graph.nodes for a in n.inputs] + [*graph.outputs])
    for k, node in enumerate(graph.nodes):
        if node.op not in ADDING:
            continue
        total, value, *at = node.inputs
        choice = chosen.get(value)
        if (
            choice is None
            or chosen.get(total) != choice
            or uses[total] != 1
            or not _is_absent(graph.nodes[choice], value)
            or any(place.get(a, -1) >= choice for a in at)
        ):
            continue
        nodes = [*graph.nodes[:k], *graph.nodes[k + 1 :]]
        nodes[choice] = _adding(graph.nodes[choice], node)
        return graph.replace(nodes=tuple(nodes))
    return None


def _chooses(node: Node) -> bool:
    return node.op.lowering is lowering.SWITCH


def _is_absent(choice: Node, value: Atom) -> bool:
    """Whether some branch gives a zero there."""
    at = choice.outputs.index(value)
    return any(is_zero(branch.outputs[at]) for branch in choice.params["branches"])


def _adding(choice: Node, node: Node) -> Node:
    """The choice whose branches do what `node` does to two of its results."""
    total, value, *at = node.inputs
    to, what = choice.outputs.index(total), choice.outputs.index(value)
    known = {*choice.inputs[1:]}
    more = tuple(dict.fromkeys(a for a in at if isinstance(a, Var) and a not in known))
    branches = []
    for branch in choice.params["branches"]:
        inputs = (*branch.inputs, *[Var(a.type) for a in more])
        changes: dict[str, Any] = {"inputs": inputs}
        if not is_zero(branch.outputs[what]):
            given: dict[Atom, Atom] = dict(zip((*choice.inputs[1:], *more), inputs, strict=True))
            parts = (branch.outputs[to], branch.outputs[what], *[given.get(a, a) for a in at])
            made = Var(node.outputs[0].type)
            changes["nodes"] = (*branch.nodes, node.replace(parts, outputs=(made,)))
            changes["outputs"] = (*branch.outputs[:to], made, *branch.outputs[to + 1 :])
        branches.append(branch.replace(**changes))
    outputs = (*choice.outputs[:to], node.outputs[0], *choice.outputs[to + 1 :])
    return choice.replace(
        (*choice.inputs, *more), {**choice.params, "branches": tuple(branches)}, outputs
    )


__all__ = ["sink_additions"]
