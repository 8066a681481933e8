"""Rebuilding a graph node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .._codegen import integers
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.op import Op
from ..sizes import SIZES
from ..tape.modes import restoring


@restoring
def rewrite(
    graph: Graph, rule: Callable[[Rewriter, Node, tuple[Atom, ...]], Sequence[Atom] | None]
) -> Graph:
    """Rebuild a graph node by node; `rule` returns replacements for a node's outputs, or None to
    keep it."""
    with SIZES.opened(graph.sizes):
        builder = Rewriter(graph)
        values: dict[Var, Atom] = {}
        for node in graph.nodes:
            inputs = tuple([values.get(a, a) if isinstance(a, Var) else a for a in node.inputs])
            new = rule(builder, node, inputs)
            if new is None:
                new = builder.keep(node, inputs)
            values.update(zip(node.outputs, new, strict=True))
            builder.inherit(node.outputs, new)
        outputs = tuple([values.get(a, a) if isinstance(a, Var) else a for a in graph.outputs])
        return builder.called(graph.replace(nodes=tuple(builder.nodes), outputs=outputs))


class Rewriter:
    """The nodes of the graph being built, and who defined each variable."""

    def __init__(self, graph: Graph) -> None:
        self.uses = Counter([a for node in graph.nodes for a in node.inputs] + [*graph.outputs])
        """How often the values of the graph before are read."""
        self.nodes: list[Node] = []
        self.definition: dict[Var, Node] = {}
        self.seen: dict[Any, tuple[Atom, ...]] = {}
        """Applications by what they compute, filled by `simplify`."""
        self.names: dict[Var, Var] = {}
        """In place of values without a name: the same with that of what they stand for."""

    def keep(self, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom]:
        same = len(inputs) == len(node.inputs) and all(
            a is b for a, b in zip(inputs, node.inputs, strict=True)
        )
        kept = node if same else node.replace(inputs)
        self.nodes.append(kept)
        for v in kept.outputs:
            self.definition[v] = kept
        return kept.outputs

    def emit(self, op: Op, inputs: Sequence[Atom], params: dict[str, Any], like: Node) -> Atom:
        """The result of an operation that has one."""
        return self.apply(op, inputs, params, like)[0]

    def apply(
        self, op: Op, inputs: Sequence[Atom], params: dict[str, Any], like: Node
    ) -> Sequence[Atom]:
        types = op.infer(*inputs, **params)
        node = Node(
            op, tuple(inputs), params, tuple([Var(t) for t in types]), like.where, like.note
        )
        return self.keep(node, node.inputs)

    def inherit(self, old: Sequence[Var], new: Sequence[Atom]) -> None:
        """What stands for a value of the user's has its name, if it has none of its own."""
        for v, atom in zip(old, new, strict=True):
            if v.name and atom is not v and isinstance(atom, Var) and not atom.name:
                # The variable may be one of the graph before, too, in which it has no name.
                self.names.setdefault(atom, Var(atom.type, v.name))

    def called(self, graph: Graph) -> Graph:
        """The finished graph with the names."""
        inputs = set(graph.inputs) & self.names.keys()
        names = {v: new for v, new in self.names.items() if v not in inputs}
        if not names:
            return graph

        def name(atoms: Sequence[Any]) -> tuple[Any, ...]:
            return tuple([names.get(a, a) if isinstance(a, Var) else a for a in atoms])

        nodes = [
            n.replace(inputs=name(n.inputs), outputs=name(n.outputs))
            if not names.keys().isdisjoint((*n.inputs, *n.outputs))
            else n
            for n in graph.nodes
        ]
        return graph.replace(nodes=tuple(nodes), outputs=name(graph.outputs))

    def known(self, op: Op, inputs: Sequence[Atom], params: dict[str, Any]) -> Atom | None:
        """The result of an application that is already there."""
        found = self.seen.get(application(op, inputs, params))
        return found[0] if found else None

    def made_by(self, atom: Atom, op: Op) -> Node | None:
        node = self.definition.get(atom) if isinstance(atom, Var) else None
        return node if node is not None and node.op is op else None


def _key(value: Any) -> Any:
    if isinstance(value, Literal):
        v = value.value
        return (type(v), v if isinstance(v, integers.Integer) else repr(v))
    if isinstance(value, (list, tuple)):
        return tuple(_key(v) for v in value)
    if isinstance(value, slice):
        return (value.start, value.stop, value.step)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (type(value), value)


def application(op: Op, inputs: Sequence[Atom], params: dict[str, Any]) -> Any:
    """What makes two applications equal."""
    operands = tuple([a if isinstance(a, Var) else _key(a) for a in inputs])
    return op, operands, tuple([(k, _key(params[k])) for k in sorted(params)])


__all__ = ["Rewriter", "application", "rewrite"]
