"""The verifier: every variable is defined once and before use, and every type is what the
operation's rule infers."""

from __future__ import annotations

from ..errors import VerificationError
from ..sizes import SIZES, Size
from ..types import equal_types
from .graph import Graph, Literal, Node, Var

EVERY_PASS = [False]
"""Tests set this: what each pass has made is verified, of graphs and of programs."""


def verify(graph: Graph, right: set[Node] | None = None) -> Graph:
    """The graph itself, or a VerificationError that names the node; memoised on the graph, which
    many passes give back as it is. `right` holds nodes whose types are known to be right, and gets
    those that are found so: most stay as they are, too."""
    if "verified" not in graph.derived:
        with SIZES.opened(graph.sizes):
            _verify(graph, set() if right is None else right)
        graph.derived["verified"] = True
    return graph


def _verify(graph: Graph, right: set[Node]) -> None:
    known: set[Var] = set()
    for var in graph.inputs:
        if var in known:
            raise VerificationError(f"{graph.name}: input {var!r} stands twice")
        known.add(var)
    for node in graph.nodes:
        for atom in node.inputs:
            if isinstance(atom, Var) and atom not in known:
                raise VerificationError(
                    f"{graph.name}: {node.op.name} ({node.where}) reads {atom!r} "
                    "before it is defined"
                )
        if node not in right:
            _verify_types(graph, node)
            right.add(node)
        for var in node.outputs:
            if any(isinstance(s, Size) for s in var.type.shape):
                raise VerificationError(f"{graph.name}: {var!r} is typed by what a trace sees")
            if var in known:
                raise VerificationError(f"{graph.name}: {var!r} is defined twice")
            known.add(var)
    for sub in graph.subgraphs():
        verify(sub, right)
    for atom in graph.outputs:
        if not isinstance(atom, Literal) and atom not in known:
            raise VerificationError(f"{graph.name}: the output {atom!r} is not defined")


def _verify_types(graph: Graph, node: Node) -> None:
    types = node.op.infer(*node.inputs, **node.params)
    found = tuple(v.type for v in node.outputs)
    if len(types) != len(found) or not all(map(equal_types, types, found)):
        raise VerificationError(
            f"{graph.name}: {node.op.name} ({node.where}) has outputs {found}, "
            f"its rule says {tuple(types)}"
        )
