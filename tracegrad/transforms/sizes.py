"""Graphs with numbers in the place of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._codegen import integers
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..types import ArrayType


def with_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with numbers in the place of sizes."""
    known: dict[Var, Var] = {}

    def integer(value: Any) -> Any:
        return integers.substitute(value, sizes) if isinstance(value, integers.Integer) else value

    def typed(kind: ArrayType) -> ArrayType:
        return ArrayType(kind.dtype, tuple(map(integer, kind.shape)), kind.weak)

    def atom(a: Atom) -> Atom:
        if isinstance(a, Literal):
            return Literal(integer(a.value))
        if a not in known:
            known[a] = Var(typed(a.type), a.name)
        return known[a]

    def param(value: Any) -> Any:
        match value:
            case Graph():
                return with_sizes(value, sizes)
            case ArrayType():
                return typed(value)
            case tuple():
                return tuple(map(param, value))
            case slice():
                return slice(integer(value.start), integer(value.stop), integer(value.step))
        return integer(value)

    def var(v: Var) -> Var:
        found = atom(v)
        assert isinstance(found, Var)
        return found

    nodes = [
        Node(n.op, tuple(map(atom, n.inputs)), {k: param(v) for k, v in n.params.items()}, tuple(map(var, n.outputs)), n.where, n.note)
        for n in graph.nodes
    ]
    inputs = tuple(map(var, graph.inputs))
    return graph.replace(inputs=inputs, nodes=tuple(nodes), outputs=tuple(map(atom, graph.outputs)))


__all__ = ["with_sizes"]
