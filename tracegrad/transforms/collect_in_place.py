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
from ..ir.loops import Loop, is_loop
from ..ops.arrays.shape import broadcast_to_op
from ..ops.elementwise.derived import add_op
from ..ops.places.gathering import ADDING
from ..types import equal_types


def collect(graph: Graph) -> Graph:
    """The graph in which what collects begins with the total that its result would be added to."""
    while (found := _next(graph)) is not None:
        graph = found
    return graph


def _next(graph: Graph) -> Graph | None:
    chains = _Chains(graph)
    for k, node in enumerate(graph.nodes):
        if node.op is not add_op:
            continue
        for part, total in (node.inputs, node.inputs[::-1]):
            if (
                not isinstance(part, Var)
                or chains.uses[part] != 1
                or not equal_types(total.type, part.type)
            ):
                continue
            first, new = _beginning(chains, part, total)
            # The total must be known where the first that adds to it stands.
            if new is None or chains.place.get(total, -1) >= chains.place[new.outputs[0]]:
                continue
            nodes = [new if n is first else n for n in graph.nodes[:k]]
            renamed: dict[Atom, Atom] = {node.outputs[0]: part}
            rest = [
                _with_inputs(n, [renamed.get(a, a) for a in n.inputs]) for n in graph.nodes[k + 1 :]
            ]
            outputs = tuple([renamed.get(a, a) for a in graph.outputs])
            return graph.replace(nodes=(*nodes, *rest), outputs=outputs)
    return None


def _with_inputs(node: Node, inputs: list[Atom]) -> Node:
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return node
    return node.replace(inputs=tuple(inputs))


class _Chains:
    """A graph's arrays by the writes that add to places of them, one after the other."""

    def __init__(self, graph: Graph) -> None:
        self.made = {v: node for node in graph.nodes for v in node.outputs}
        self.place: dict[Atom, int] = {
            v: k for k, node in enumerate(graph.nodes) for v in node.outputs
        }
        self.uses = Counter([a for node in graph.nodes for a in node.inputs] + [*graph.outputs])

    def begin(self, atom: Atom) -> tuple[Atom, Node | None, int]:
        """What `atom` was before anything was added to it, and the first node that adds, with the
        number of the operand to which it does; nothing else reads what comes between."""
        first, slot = None, -1
        while isinstance(atom, Var) and atom in self.made:
            found = _added_to(self.made[atom], atom)
            if found is None or self.uses[atom] != 1:
                break
            first, slot = self.made[atom], found
            atom = first.inputs[slot]
        return atom, first, slot


def _added_to(node: Node, result: Var) -> int | None:
    """The operand that becomes this result by additions at places, if one does."""
    rule = node.op.lowering
    if node.op in ADDING:
        return 0
    if is_loop(node):
        loop = Loop.of(node)
        for k, c in enumerate(loop.carries, len(loop.constants)):
            if c.last is result and not (loop.test and c.asked in _read(loop.test)):
                return k if _is_begun(loop.body, c.next, c.inside) else None
    elif rule in (lowering.SWITCH, lowering.SIZED):
        at = node.outputs.index(result)
        begun = {_begun_in(graph, graph.outputs[at]) for graph in node.subgraphs()}
        if len(begun) == 1 and (only := begun.pop()) is not None:
            return 1 + only
    return None


def _is_begun(graph: Graph, atom: Atom, start: Var) -> bool:
    """Whether a graph makes `atom` of an input by additions at places, and does nothing else with
    that input."""
    return atom is not start and _root_in(graph, atom) is start


def _begun_in(graph: Graph, atom: Atom) -> int | None:
    """Which input a graph makes `atom` of by additions at places."""
    root = _root_in(graph, atom)
    return next((k for k, v in enumerate(graph.inputs) if v is root), None)


def _root_in(graph: Graph, atom: Atom) -> Atom | None:
    """What `atom` was before anything was added to it, if nothing else reads that. It is found
    once: branches in branches would be walked anew from each of those around them."""
    if not isinstance(atom, Var):
        return None
    key = "root", atom
    if key not in graph.derived:
        chains = _Chains(graph)
        root = chains.begin(atom)[0]
        graph.derived[key] = root if chains.uses[root] == 1 else None
    found: Atom | None = graph.derived[key]
    return found


def _read(graph: Graph) -> set[Atom]:
    return {a for node in graph.nodes for a in node.inputs} | {*graph.outputs}


def _beginning(chains: _Chains, part: Var, total: Atom) -> tuple[Node | None, Node | None]:
    """The node that begins to collect `part`, and the same with the total in place of zeros; None
    where nothing does, or not in zeros."""
    root, first, slot = chains.begin(part)
    if first is not None and _is_zeros(root, chains.made):
        inputs = [total if k == slot else a for k, a in enumerate(first.inputs)]
        return first, first.replace(inputs=tuple(inputs))
    node = chains.made.get(root) if isinstance(root, Var) else None
    if node is None or chains.uses[root] != 1:
        return None, None
    return node, _filling(node, node.outputs.index(root), total)


def _filling(node: Node, at: int, total: Atom) -> Node | None:
    """A choice, or a graph over a size known late, that fills zeros itself to collect in, with one
    more operand in which it collects."""
    if node.op.lowering not in (lowering.SWITCH, lowering.SIZED):
        return None
    graphs = list(node.subgraphs())
    known = [g for g in (_collecting(graph, at, total) for graph in graphs) if g is not None]
    # Where nothing is added at places there is nothing to gain.
    if len(known) < len(graphs) or not any(_adds(g, g.outputs[at]) for g in graphs):
        return None
    single = "graph" in node.params
    params = {"graph": known[0]} if single else {"branches": tuple(known)}
    return node.replace(inputs=(*node.inputs, total), params={**node.params, **params})


def _adds(graph: Graph, atom: Atom) -> bool:
    """Whether a graph adds at places to what becomes this atom, or a region of it does."""
    chains = _Chains(graph)
    root, first, _ = chains.begin(atom)
    node = chains.made.get(root) if isinstance(root, Var) else None
    return first is not None or (node is not None and isinstance(node.op.lowering, lowering.Region))


def _collecting(graph: Graph, at: int, total: Atom) -> Graph | None:
    """The graph with one more input, in which its result collects."""
    chains = _Chains(graph)
    root, first, slot = chains.begin(graph.outputs[at])
    begin = Var(total.type)
    inputs = (*graph.inputs, begin)
    if not _is_zeros(root, chains.made):
        node = chains.made.get(root) if isinstance(root, Var) else None
        if node is None or chains.uses[root] != 1:
            return None
        filled = _filling(node, node.outputs.index(root), begin)
        if filled is None:
            return None
        return graph.replace(
            inputs=inputs, nodes=tuple([filled if n is node else n for n in graph.nodes])
        )
    if first is None:
        return graph.replace(
            inputs=inputs, outputs=(*graph.outputs[:at], begin, *graph.outputs[at + 1 :])
        )
    begun = _with_inputs(first, [begin if k == slot else a for k, a in enumerate(first.inputs)])
    return graph.replace(
        inputs=inputs, nodes=tuple([begun if n is first else n for n in graph.nodes])
    )


def _is_zeros(atom: Atom, made: dict[Var, Node]) -> bool:
    if isinstance(atom, Var) and atom in made and made[atom].op is broadcast_to_op:
        atom = made[atom].inputs[0]
    return is_zero(atom)


def is_zero(atom: Atom) -> bool:
    """Whether it is the number 0."""
    return (
        isinstance(atom, Literal)
        and not isinstance(atom.value, integers.Integer)
        and bool(atom.value == 0)
    )


__all__ = ["collect", "is_zero"]
