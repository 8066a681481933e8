"""A graph with steps that Python does, in parts: native code up to a step, the step, native code
behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._codegen import integers
from ..control.host import host_op
from ..ir.graph import Atom, Graph, Node, Var


class GraphPart(NamedTuple):
    """Native code, and the steps that can be done when it has been run."""

    graph: Graph | None
    steps: tuple[tuple[Node, tuple[Node, ...]], ...]
    """Each with those whose results it gives, too."""


def parts_of(graph: Graph) -> tuple[GraphPart, ...]:
    """The parts in their order; nothing for a graph without such steps."""
    if not any(n.op is host_op for n in graph.nodes):
        return ()
    stage: dict[Atom, int] = {}
    natives: dict[int, list[Node]] = {}
    steps: dict[int, list[Node]] = {}
    for node in graph.nodes:
        # As early as possible: steps that wait for nothing but each other's operands are together.
        at = max((stage.get(a, 0) for a in node.inputs), default=0)
        (steps if node.op is host_op else natives).setdefault(at, []).append(node)
        stage.update(dict.fromkeys(node.outputs, at + (node.op is host_op)))
    count = 1 + max([*natives, *steps])
    sized = [v for v in graph.inputs if any(isinstance(s, integers.Integer) for s in v.type.shape)]
    found = []
    wanted: set[Atom] = set(graph.outputs)
    for k in reversed(range(count)):
        own, then = natives.get(k, []), _together(steps.get(k, []))
        wanted.update(a for n, _ in then for a in n.inputs)
        made = {v for n in own for v in n.outputs}
        # In the order of the graph, so that the same graph always gives the same text.
        outs = [v for n in own for v in n.outputs if v in wanted]
        part = None
        if own:
            read = dict.fromkeys(
                [*sized, *[a for n in own for a in n.inputs if isinstance(a, Var)]]
            )
            inputs = tuple([v for v in read if v not in made])
            name = f"{graph.name}_part_{k}"
            part = graph.replace(name=name, inputs=inputs, nodes=tuple(own), outputs=tuple(outs))
            wanted.update(inputs)
        found.append(GraphPart(part, then))
    return tuple(reversed(found))


def _together(steps: Sequence[Node]) -> tuple[tuple[Node, tuple[Node, ...]], ...]:
    """Steps of one stage, without those whose results another one gives."""
    given: dict[Node, Node] = {}
    for node in steps:
        for other in steps:
            if (
                other is not node
                and other.inputs == node.inputs
                and other not in given
                and node.params["rule"].gives(other.params["rule"])
            ):
                given[other] = node
    return tuple(
        (n, tuple(o for o, by in given.items() if by is n)) for n in steps if n not in given
    )


class InParts:
    """The parts as something to call; `executable` makes the native code of one."""

    def __init__(self, graph: Graph, parts: Sequence[GraphPart], executable: Any) -> None:
        self.graph = graph
        self.parts = [(p, None if p.graph is None else executable(p.graph)) for p in parts]

    def __call__(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        known: dict[Any, Any] = dict(zip(self.graph.inputs, values, strict=True))

        def value(a: Atom) -> Any:
            return known[a] if isinstance(a, Var) else a.value

        for part, native in self.parts:
            if native is not None and part.graph is not None:
                outs = native([known[v] for v in part.graph.inputs])
                known.update(zip(part.graph.outputs, outs, strict=True))
            for node, more in part.steps:
                made = node.params["rule"].run([value(a) for a in node.inputs])
                for one in (node, *more):
                    # What a step gives besides its value comes behind that.
                    known.update(zip(one.outputs, made, strict=False))
        return [np.asarray(value(a)) for a in self.graph.outputs]


__all__ = ["GraphPart", "InParts", "parts_of"]
