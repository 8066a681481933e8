"""A region's graph in two halves: what does not wait for cotangents, and what does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.graph import Atom, Graph, Node, Var
from .minimum_cut import minimum_cut


class Halves:
    """The half of a graph that waits, and what it needs from the other half."""

    def __init__(
        self,
        graph: Graph,
        waiting: Iterable[Var],
        there: Iterable[Var],
        hints: dict[str, int],
        price: Callable[[Var], float],
    ) -> None:
        """
        waiting     the inputs that are cotangents, or depend on such
        there       inputs that the half that waits has without keeping them
        """
        self.graph = graph
        self.late: set[Atom] = set(waiting)
        for node in graph.nodes:
            if any(a in self.late for a in node.inputs):
                self.late.update(node.outputs)
        free = set(there)
        early = [v for v in graph.inputs if v not in self.late]
        made: dict[Var, Node | None] = {v: None for v in early if v not in free}
        made |= {v: node for node in graph.nodes for v in node.outputs if v not in self.late}
        readers = [a for node in graph.nodes if node.outputs[0] in self.late for a in node.inputs]
        self.reads = [
            a
            for a in dict.fromkeys([*readers, *graph.outputs])
            if isinstance(a, Var) and a not in self.late
        ]
        """What the half that waits reads of the other."""
        chosen = minimum_cut(made, free, self.reads, hints, price)
        self.kept = [v for v in made if v in chosen]
        """What is handed over; inputs among it are handed over whole."""
        needed: set[Atom] = set(self.reads)
        self.again: list[Node] = []
        """The nodes of the half that waits, with what is cheap enough to be computed again."""
        for node in reversed(graph.nodes):
            if node.outputs[0] in self.late:
                self.again.append(node)
            elif any(v in needed and v not in self.kept for v in node.outputs):
                self.again.append(node)
                needed.update(a for a in node.inputs if isinstance(a, Var))
        self.again.reverse()

    def used(self, atoms: Iterable[Atom], nodes: Iterable[Node]) -> set[Atom]:
        """The inputs of the graph that these nodes read, or that are among the atoms."""
        found = {*atoms, *[a for node in nodes for a in node.inputs]}
        return found.intersection(self.graph.inputs)

    def inputs_read(self) -> set[Atom]:
        """The inputs from which all that the half that waits reads is computed."""
        return self.used(self.reads, self.before(self.reads))

    def before(self, atoms: Iterable[Atom]) -> list[Node]:
        """The nodes that these values need."""
        needed: set[Atom] = set(atoms)
        nodes: list[Node] = []
        for node in reversed(self.graph.nodes):
            if any(v in needed for v in node.outputs):
                nodes.append(node)
                needed.update(node.inputs)
        return nodes[::-1]


__all__ = ["Halves"]
