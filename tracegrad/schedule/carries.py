"""Which carries of a loop may be written where they lie: arrays of which a step changes some elements.

`x[i] = v` in a loop is a scatter, to the graph a new array. Where nothing reads the old one afterwards it is one store.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var

Chain = list[Node]
"""Scatters, each into the result of the one before, the first into the carry."""


def in_place(body: Graph, carries: Sequence[Var], following: Sequence[Atom]) -> list[tuple[int, Chain]]:
    """For each carry that may be written in place the scatters that do it, in an order in which all of them read what was there before.

    They are to run after all else in the body.
    """
    made = {v: node for node in body.nodes for v in node.outputs}
    readers: dict[Atom, list[Node | None]] = {}
    for node in body.nodes:
        for a in node.inputs:
            readers.setdefault(a, []).append(node)
    for a in body.outputs:
        readers.setdefault(a, []).append(None)
    chains: dict[int, Chain] = {}
    for k, (carry, last) in enumerate(zip(carries, following, strict=True)):
        chain: Chain = []
        atom = last
        while isinstance(atom, Var) and atom in made and isinstance(made[atom].op.lowering, lowering.Scatter):
            chain.insert(0, made[atom])
            atom = chain[0].inputs[0]
        if not chain or atom is not carry:
            continue
        if any(not _only_for(then, node, readers) for node, then in zip(chain, [*chain[1:], None], strict=True)):
            continue
        # A later scatter may read what the one before it has left, but nothing older.
        changed: set[Atom] = {carry, *[node.outputs[0] for node in chain]}
        if all(changed & _ancestors(node.inputs[1:], made, changed) <= {node.inputs[0]} for node in chain[1:]):
            chains[k] = chain
    order: list[tuple[int, Chain]] = []
    reads = {k: {m for m in chains if m != k and carries[m] in _ancestors(chain[0].inputs[1:], made)} for k, chain in chains.items()}
    for k, chain in chains.items():
        if len(chain) > 1:
            reads[k] |= {m for m in chains if m != k and any(carries[m] in _ancestors(node.inputs[1:], made) for node in chain[1:])}
    while reads:
        # Who is read by nobody that is left may be written; where they read each other, one is written elsewhere after all.
        free = [k for k in reads if not any(k in others for others in reads.values())]
        k = free[0] if free else max(reads)
        if free:
            order.append((k, chains[k]))
        del reads[k]
    return order


def _only_for(then: Node | None, node: Node, readers: dict[Atom, list[Node | None]]) -> bool:
    """Whether a result is read for one purpose only: by `then`, or by what in turn is only for it. None is the result of the body."""
    if then is None:
        return readers[node.outputs[0]] == [None]
    return all(r is then or (r is not None and _only_for(then, r, readers)) for v in node.outputs for r in readers.get(v, []))


def _ancestors(atoms: Sequence[Atom], made: dict[Var, Node], stop: Collection[Atom] = ()) -> set[Atom]:
    """What these are computed from, themselves included; not what is behind those in `stop`."""
    found: set[Atom] = set()
    stack = list(atoms)
    while stack:
        a = stack.pop()
        if a not in found:
            found.add(a)
            if isinstance(a, Var) and a in made and a not in stop:
                stack.extend(made[a].inputs)
    return found


def sources(atoms: Sequence[Atom], body: Graph) -> set[Atom]:
    """What these are computed from in a body, themselves included."""
    return _ancestors(atoms, {v: n for n in body.nodes for v in n.outputs})


__all__ = ["Chain", "in_place", "sources"]
