"""A graph with steps that Python does, in parts: native code up to a step, the step, native code
behind it. A loop or branch that has such a step inside is interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._codegen import integers
from ..control.host import by_python, has_steps, host_op
from ..errors import TracegradError
from ..ir.evaluate import evaluate
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.trace import outside
from ..transforms.sizes import with_sizes


class GraphPart(NamedTuple):
    """Native code, and the steps that can be done when it has been run."""

    graph: Graph | None
    steps: tuple[tuple[Node, tuple[Node, ...]], ...]
    """Each with those whose results it gives, too."""


def parts_of(graph: Graph) -> tuple[GraphPart, ...]:
    """The parts in their order; nothing for a graph without such steps."""
    if not has_steps(graph):
        return ()
    stage: dict[Atom, int] = {}
    natives: dict[int, list[Node]] = {}
    steps: dict[int, list[Node]] = {}
    for node in graph.nodes:
        # As early as possible: steps that wait for nothing but each other's operands are together.
        at = max((stage.get(a, 0) for a in node.inputs), default=0)
        (steps if by_python(node) else natives).setdefault(at, []).append(node)
        stage.update(dict.fromkeys(node.outputs, at + by_python(node)))
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
                and node.op is host_op is other.op
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
        self.interpreted: dict[Any, Graph] = {}

    def __call__(self, values: Sequence[Any], sizes: Sequence[int]) -> list[np.ndarray[Any, Any]]:
        known: dict[Any, Any] = dict(zip(self.graph.inputs, values, strict=True))

        def value(a: Atom) -> Any:
            return known[a] if isinstance(a, Var) else a.value

        for part, native in self.parts:
            if native is not None and part.graph is not None:
                outs = native([known[v] for v in part.graph.inputs])
                known.update(zip(part.graph.outputs, outs, strict=True))
            for node, more in part.steps:
                operands = [value(a) for a in node.inputs]
                if node.op is not host_op:
                    made = self._interpreted(node, operands, tuple(sizes))
                    known.update(zip(node.outputs, made, strict=True))
                    continue
                made = node.params["rule"].run(operands)
                for one in (node, *more):
                    _check(one, made)
                    # What a step gives besides its value comes behind that.
                    known.update(zip(one.outputs, made, strict=False))
        return [np.asarray(value(a)) for a in self.graph.outputs]

    def _interpreted(self, node: Node, operands: Sequence[Any], sizes: tuple[int, ...]) -> Any:
        """The results of a loop or branch."""
        found = self.interpreted.get((node, sizes))
        if found is None:
            own = dict.fromkeys(a for a in node.inputs if isinstance(a, Var))
            alone = self.graph.replace(inputs=tuple(own), nodes=(node,), outputs=node.outputs)
            known = dict(zip(self.graph.sizes.hints, sizes, strict=True))
            found = self.interpreted[node, sizes] = with_sizes(alone, known)
        given = {a: x for a, x in zip(node.inputs, operands, strict=True) if isinstance(a, Var)}
        with outside():
            return [np.asarray(x) for x in evaluate(found, list(given.values()))]


def _check(node: Node, made: Sequence[np.ndarray[Any, Any]]) -> None:
    """An error where the code behind a step was compiled for other results."""
    for v, x in zip(node.outputs, made, strict=False):
        if x.dtype != v.type.dtype or x.shape != v.type.shape:
            raise TracegradError(
                f"{node.where}: {node.params['rule']} gave {x.dtype}{list(x.shape)}, and the "
                f"compiled function around it was made for {v.type}: something that its function "
                "reads has changed. Make that an argument, or `jit` the function around it anew."
            )


__all__ = ["GraphPart", "InParts", "parts_of"]
