"""Graphs with numbers, or other names, in the place of sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from .._codegen import integers
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..types import ArrayType, Int


def with_sizes(graph: Graph, sizes: Mapping[str, Int]) -> Graph:
    """The graph with numbers (or other expressions) in the place of sizes."""
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

    def changed(n: Node) -> Node:
        operands = tuple(map(atom, n.inputs))
        params = {k: param(v) for k, v in n.params.items()}
        return Node(n.op, operands, params, tuple(map(var, n.outputs)), n.where, n.note)

    nodes = [changed(n) for n in graph.nodes]
    inputs = tuple(map(var, graph.inputs))
    return graph.replace(inputs=inputs, nodes=tuple(nodes), outputs=tuple(map(atom, graph.outputs)))


def counted(graph: Graph) -> Iterator[str]:
    """The names of the sizes that are known only while the graph runs, one for each node that
    counts."""
    for node in graph.nodes:
        if "symbol" in node.params:
            yield node.params["symbol"]
        for inner in node.subgraphs():
            yield from counted(inner)


def told_apart(graph: Graph) -> Graph:
    """The graph with a name of its own for each such size, as a program needs it, in which all
    names stand side by side."""
    names = list(counted(graph))
    return graph if len(set(names)) == len(names) else _renamed(graph, set())


def _renamed(graph: Graph, taken: set[str]) -> Graph:
    def param(value: Any, sizes: Mapping[str, Int]) -> Any:
        if isinstance(value, tuple):
            return tuple([param(v, sizes) for v in value])
        return (
            _renamed(with_sizes(value, sizes) if sizes else value, taken)
            if isinstance(value, Graph)
            else value
        )

    nodes = []
    for n in graph.nodes:
        sizes: dict[str, Int] = {}
        if "symbol" in n.params:
            symbol: str = n.params["symbol"]
            others = (f"{symbol}_{k}" for k in itertools.count(1))
            name = symbol if symbol not in taken else next(x for x in others if x not in taken)
            taken.add(name)
            sizes = {} if name == symbol else {symbol: integers.symbol(name)}
            n = Node(n.op, n.inputs, {**n.params, "symbol": name}, n.outputs, n.where, n.note)
        params = {key: param(value, sizes) for key, value in n.params.items()}
        nodes.append(Node(n.op, n.inputs, params, n.outputs, n.where, n.note))
    return graph.replace(nodes=tuple(nodes))


__all__ = ["counted", "told_apart", "with_sizes"]
