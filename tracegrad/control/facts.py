"""Numbers of an open trace that depend on no argument: how often `k % 5 == 0` holds in a loop of
known length. They are computed while the function is traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._codegen import integers, lowering
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Literal, Node, Var
from ..ir.trace import outside
from ..tensor import Boxed
from ..transforms.loop_parts import inline_constants, trim
from ..types import ArrayType


def known_integer(x: Any) -> int | None:
    """The value of an integer of the innermost trace; None where it depends on what the graph will
    be given."""
    found = _value(x)
    return None if found is None else int(found)


def known_number(x: Any) -> Any:
    """The value of one of Python's numbers in the innermost trace, as such a one; None where it
    depends on what the graph will be given, or is none."""
    if not isinstance(x, Boxed) or x.shape or not x._data.type.weak:
        return None
    found = _value(x)
    return None if found is None else found.item()


def _value(x: Any) -> Any:
    var = x._data if isinstance(x, Boxed) else x
    if not STATE.traces or type(var) is not Var or var.trace is not STATE.traces[-1]:
        return None
    graph = _that_computes(var)
    if graph is None:
        return None
    with outside():
        try:
            return np.asarray(evaluate(graph, [])[0])
        except IndexError:
            # A look at a loop that does not know yet how many rows a list has.
            return None


def _that_computes(var: Var) -> Graph | None:
    """A graph without inputs that has this variable as its output."""
    nodes, outputs = tuple(STATE.traces[-1].nodes), (var,)
    graph = Graph("fact", (), nodes, outputs)
    # What a loop needs for other results goes first; then numbers can move into its body.
    for _ in range(2):
        graph = trim(_needed(graph))
        graph = inline_constants(graph)
    graph = trim(_needed(graph))
    made = {v for node in graph.nodes for v in node.outputs}
    atoms = [*[a for n in graph.nodes for a in n.inputs], *graph.outputs]
    if any(a not in made if isinstance(a, Var) else _unknown(a.value) for a in atoms):
        return None
    return graph if all(map(_is_settled, _every_node(graph))) else None


def _needed(graph: Graph) -> Graph:
    """The graph without what its outputs do not need."""
    wanted = {a for a in graph.outputs if isinstance(a, Var)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            kept.append(node)
            wanted.update(a for a in node.inputs if isinstance(a, Var))
    return graph.replace(nodes=tuple(reversed(kept)))


def _every_node(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for inner in node.subgraphs():
            yield from _every_node(inner)


def _is_settled(node: Node) -> bool:
    """Whether an operation has one value, at whatever call and for whatever sizes."""
    if node.effects or node.op.lowering is lowering.HOST:
        return False
    values = [a.value for a in node.inputs if isinstance(a, Literal)]
    sizes = [n for v in node.outputs for n in v.type.shape]
    return not any(map(_unknown, [*values, *sizes, *node.params.values()]))


def _unknown(value: Any) -> bool:
    if isinstance(value, ArrayType):
        value = value.shape
    if isinstance(value, tuple):
        return any(map(_unknown, value))
    return isinstance(value, integers.Integer)


__all__ = ["known_integer", "known_number"]
