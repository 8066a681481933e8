"""What inner loops and branches collect at some places of an array of zeros, and their surroundings
add to a total, is added there at once.

The adjoint of a loop sums the gradient of what all its steps read. Where an inner loop or a branch
reads some elements of it, each step would fill an array with zeros, add to a few of them, and add
all to the total: work for every element in every step.
"""

from __future__ import annotations

from collections import Counter

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Loop
from ..ops.arrays.shape import broadcast_to_op
from ..ops.elementwise.derived import add_op
from ..ops.places.gathering import ADDING
from ..types import equal_types


def collect(graph: Graph) -> Graph:
    """The graph in which loops and branches begin with the total that their result would be added
    to."""
    while (found := _next(graph)) is not None:
        graph = found
    return graph


def _next(graph: Graph) -> Graph | None:
    made = {v: node for node in graph.nodes for v in node.outputs}
    uses = Counter([a for node in graph.nodes for a in node.inputs] + [*graph.outputs])
    place = {v: k for k, node in enumerate(graph.nodes) for v in node.outputs}
    for k, node in enumerate(graph.nodes):
        if node.op is not add_op:
            continue
        for part, total in (node.inputs, node.inputs[::-1]):
            if (
                not isinstance(part, Var)
                or part not in made
                or uses[part] != 1
                or not equal_types(total.type, part.type)
            ):
                continue
            inner = made[part]
            new = _beginning(inner, part, total, made)
            # The total must be known where the loop or branch stands.
            if new is None or (isinstance(total, Var) and place.get(total, -1) >= place[part]):
                continue
            nodes = [new if n is inner else n for n in graph.nodes[:k]]
            renamed = {node.outputs[0]: part}
            rest = [
                _with_inputs(n, [renamed.get(a, a) if isinstance(a, Var) else a for a in n.inputs])
                for n in graph.nodes[k + 1 :]
            ]
            outputs = tuple([renamed.get(a, a) if isinstance(a, Var) else a for a in graph.outputs])
            return graph.replace(nodes=(*nodes, *rest), outputs=outputs)
    return None


def _with_inputs(node: Node, inputs: list[Atom]) -> Node:
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    return node.replace(inputs=tuple(inputs))


def _beginning(node: Node, part: Var, total: Atom, made: dict[Var, Node]) -> Node | None:
    """The loop or branch whose result `part` has the total in it; None where it does not collect in
    zeros."""
    if node.op.lowering is lowering.SCAN:
        loop = Loop.of(node)
        carry = next((c for c in loop.carries if c.last is part), None)
        if carry is None or not _is_zeros(carry.first, made) or carry.next is carry.inside:
            return None
        if _root(loop.body, carry.next) is not carry.inside:
            return None
        return loop.replace(
            carries=tuple([c._replace(first=total) if c is carry else c for c in loop.carries])
        ).node()
    if node.op.lowering is lowering.SWITCH:
        at = node.outputs.index(part)
        branches = [_collecting(branch, at, total) for branch in node.params["branches"]]
        known = [b for b in branches if b is not None]
        # Where no branch has places there is nothing to gain.
        if len(known) < len(branches) or not any(_links(b, b.outputs[at]) for b in known):
            return None
        params = {**node.params, "branches": tuple(known)}
        return node.replace(inputs=(*node.inputs, total), params=params)
    return None


def _collecting(branch: Graph, at: int, total: Atom) -> Graph | None:
    """The branch with one more input, in which its result collects."""
    made = {v: node for node in branch.nodes for v in node.outputs}
    root, links = _root(branch, branch.outputs[at]), _links(branch, branch.outputs[at])
    if root is None or not _is_zeros(root, made):
        return None
    begin = Var(total.type)
    inputs = (*branch.inputs, begin)
    if not links:
        return branch.replace(
            inputs=inputs, outputs=(*branch.outputs[:at], begin, *branch.outputs[at + 1 :])
        )
    first = links[0]
    nodes = [_with_inputs(n, [begin, *n.inputs[1:]]) if n is first else n for n in branch.nodes]
    return branch.replace(inputs=inputs, nodes=tuple(nodes))


def _links(graph: Graph, atom: Atom) -> list[Node]:
    """The nodes that add to places of an array until it is `atom`, the first one first."""
    made = {v: node for node in graph.nodes for v in node.outputs}
    links: list[Node] = []
    while isinstance(atom, Var) and atom in made and made[atom].op in ADDING:
        links.insert(0, made[atom])
        atom = links[0].inputs[0]
    return links


def _root(graph: Graph, atom: Atom) -> Atom | None:
    """The array to whose places something is added until it is `atom`, if nothing else reads it or
    what comes between."""
    links = _links(graph, atom)
    uses = Counter([a for node in graph.nodes for a in node.inputs] + [*graph.outputs])
    root = links[0].inputs[0] if links else atom
    between = [n.outputs[0] for n in links]
    alone = all(uses[v] == 1 for v in between)
    return root if alone and (root not in graph.inputs or uses[root] == 1) else None


def _is_zeros(atom: Atom, made: dict[Var, Node]) -> bool:
    if isinstance(atom, Var) and atom in made and made[atom].op is broadcast_to_op:
        atom = made[atom].inputs[0]
    return (
        isinstance(atom, Literal)
        and not isinstance(atom.value, integers.Integer)
        and bool(atom.value == 0)
    )


__all__ = ["collect"]
