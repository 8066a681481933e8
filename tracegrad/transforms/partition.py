"""A graph and its adjoint as two graphs that share work: the first also returns residuals, the
second reads them.

Which values are handed over is a minimum cut. What the backward graph reads is computed from inputs
and outputs of the forward graph (free: they exist anyway) through nodes that are either cheap, and
may be computed again, or dear, and may not. So every path from a dear node to a reader must be cut
somewhere, by storing one value on it; the cut with the fewest bytes wins, and among equal ones that
nearest to the readers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.recording import span
from ..types import Int
from .choices import cut_choices
from .derive import joint
from .rewrite import optimize, tidy

CHEAP = 8
"""An elementwise operation of at most so many additions is computed again whatever its size."""
WORK = 2000
"""About as many additions as passing one more array costs (an allocation, an argument, 0.2 us):
less work is done again."""
ARRAY = 2048
"""What passing one more array costs, in bytes of memory traffic."""
KEPT = 16
"""What one more value costs that a branch keeps."""


Vertex: TypeAlias = tuple[Var | None, int]
"""A value on its way in (0) or out (1); without a value the source (0) and the sink (1)."""


class Partition(NamedTuple):
    """`forward(inputs...) -> outputs..., residuals...`; `backward(inputs[k] for k in inputs...,
    outputs[k] for k in outputs..., residuals..., cotangents of the given outputs...) -> cotangents
    of the wanted inputs`."""

    forward: Graph
    backward: Graph
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


Known: TypeAlias = tuple[Sequence[bool], Sequence[bool]]
"""Which inputs and which outputs of the forward graph the backward graph may read; others have to
be stored."""


def partition(
    graph: Graph, wanted: Sequence[bool], given: Sequence[bool], known: Known | None = None
) -> Partition:
    """Forward and backward graph for cotangents of the wanted inputs; memoised on the graph.

    Where it is said what is known both can be differentiated again. By default all inputs and
    outputs are, and both are to be run.
    """
    key = (
        "partition",
        tuple(wanted),
        tuple(given),
        None if known is None else (tuple(known[0]), tuple(known[1])),
    )
    if key not in graph.derived:
        everything = [True] * len(graph.inputs), [True] * len(graph.outputs)
        with span(f"{graph.name}: partition"):
            both = joint(graph, wanted, given)
            graph.derived[key] = _split(
                graph,
                optimize(both, apart=True) if known is None else tidy(both),
                known or everything,
                known is not None,
            )
    found: Partition = graph.derived[key]
    return found


def _split(graph: Graph, both: Graph, known: Known, stacked: bool) -> Partition:
    count = len(graph.inputs)
    inputs, cotangents = both.inputs[:count], both.inputs[count:]
    outputs, results = both.outputs[: len(graph.outputs)], both.outputs[len(graph.outputs) :]
    late: set[Atom] = set(cotangents)
    for node in both.nodes:
        if any(a in late for a in node.inputs):
            late.update(node.outputs)
    at_hand = zip((*inputs, *outputs), (*known[0], *known[1]), strict=True)
    free = {a for a, ok in at_hand if ok and isinstance(a, Var)}
    if stacked:
        hints = both.sizes.hints

        def chosen(made: dict[Var, Node | None], there: set[Var], reads: Sequence[Var]) -> set[Var]:
            return cut(made, there, reads, hints, KEPT)

        both = cut_choices(
            both, late, free, chosen, lambda t: _number(t.size, hints) * t.dtype.itemsize + KEPT
        )
    made: dict[Var, Node | None] = {
        v: None for v, ok in zip(inputs, known[0], strict=True) if not ok
    }
    made |= {v: node for node in both.nodes for v in node.outputs if v not in late}
    # Readers in the order of the graph, so that the same graph always gives the same text.
    readers = [a for node in both.nodes if node.outputs[0] in late for a in node.inputs] + [
        *results
    ]
    reads = [a for a in dict.fromkeys(readers) if isinstance(a, Var) and a not in late]
    residuals = cut(made, free, reads, both.sizes.hints)
    if stacked:
        # Results of a step are there for all steps only if they are asked for: what follows from
        # the rest is not read off them.
        free -= _cheap(both, residuals | {v for v, ok in zip(inputs, known[0], strict=True) if ok})

    again: set[Node] = set()
    read: set[Var] = set()
    stack = list(reads)
    while stack:
        v = stack.pop()
        if v in read:
            continue
        read.add(v)
        maker = made.get(v)
        if maker is not None and v not in free and v not in residuals:
            again.add(maker)
            stack.extend(a for a in maker.inputs if isinstance(a, Var))
    # An input that is not read still tells the sizes that it has.
    told = {v for v, ok in zip(inputs, known[0], strict=True) if ok}
    taken = tuple(
        k
        for k, v in enumerate(inputs)
        if v in told and (v in read or any(not isinstance(s, int) for s in v.type.shape))
    )
    passed = [inputs[k] for k in taken]
    others = []
    for k, (a, ok) in enumerate(zip(outputs, known[1], strict=True)):
        if ok and isinstance(a, Var) and a in read and a not in told:
            told.add(a)
            others.append(k)
    passed += [a for k in others if isinstance(a := outputs[k], Var)]
    kept = [v for v in made if v in residuals]
    forward = graph.replace(
        name=f"{graph.name}_forward",
        inputs=inputs,
        nodes=_living(both, (*outputs, *kept)),
        outputs=(*outputs, *kept),
    )
    nodes = tuple(n for n in both.nodes if n in again or n.outputs[0] in late)
    backward = graph.replace(
        name=f"{graph.name}_backward",
        inputs=(*passed, *kept, *cotangents),
        nodes=nodes,
        outputs=results,
    )
    return Partition(forward, backward, taken, tuple(others))


def _cheap(graph: Graph, given: set[Var]) -> set[Atom]:
    """What cheap nodes make of given values, without these."""
    found: set[Atom] = set()
    for node in graph.nodes:
        if all(
            not isinstance(a, Var) or a in given or a in found for a in node.inputs
        ) and not is_dear(node, graph.sizes.hints):
            found.update(v for v in node.outputs if v not in given)
    return found


def _living(graph: Graph, outputs: Sequence[Atom]) -> tuple[Node, ...]:
    """The nodes that these outputs need, and those with effects."""
    live = set(outputs)
    kept = []
    for node in reversed(graph.nodes):
        if node.op.effects or any(v in live for v in node.outputs):
            kept.append(node)
            live.update(node.inputs)
    return tuple(reversed(kept))


def cut(
    made: dict[Var, Node | None],
    free: set[Var],
    reads: Sequence[Var],
    hints: dict[str, int],
    each: int = ARRAY,
) -> set[Var]:
    """The values to store: a minimum cut between dear nodes and `reads`, by the paths that still
    have room (Edmonds and Karp 1972).

    made    what could be stored, and the node that makes it (None for an input that is not there
            later)

    Each value is two vertices with an edge of its size between them; along all other edges any
    amount flows.
    """
    source: Vertex = None, 0
    sink: Vertex = None, 1
    room: dict[Vertex, dict[Vertex, float]] = {source: {}, sink: {}}

    def edge(start: Vertex, end: Vertex, size: float) -> None:
        room.setdefault(start, {})[end] = size
        room.setdefault(end, {}).setdefault(start, 0.0)

    for v, node in made.items():
        if v in free:
            continue
        edge((v, 0), (v, 1), each + _number(v.type.size, hints) * v.type.dtype.itemsize)
        if node is None or is_dear(node, hints):
            edge(source, (v, 0), np.inf)
        else:
            for a in node.inputs:
                if isinstance(a, Var) and a in made and a not in free:
                    edge((a, 1), (v, 0), np.inf)
    for v in reads:
        if v in made and v not in free:
            edge((v, 1), sink, np.inf)
    while True:
        before: dict[Vertex, Vertex] = {source: source}
        queue = deque([source])
        while queue and sink not in before:
            here = queue.popleft()
            for there, size in room[here].items():
                if size > 0 and there not in before:
                    before[there] = here
                    queue.append(there)
        if sink not in before:
            break
        path = [sink]
        while path[-1] != source:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path, strict=False))
        flow = min(room[here][there] for here, there in steps)
        for here, there in steps:
            room[here][there] -= flow
            room[there][here] += flow
    # Nearest to the readers: what can still reach them.
    near: set[Vertex] = {sink}
    stack = [sink]
    while stack:
        there = stack.pop()
        for here in room[there]:
            if here not in near and room[here][there] > 0:
                near.add(here)
                stack.append(here)
    return {v for v in made if (v, 1) in near and (v, 0) not in near}


def is_dear(node: Node, hints: dict[str, int]) -> bool:
    """Whether a node should not be computed twice."""
    rule = node.op.lowering
    if node.op.effects or rule is None:
        return True
    if isinstance(rule, lowering.Pointwise):
        return rule.cost > CHEAP and rule.cost * _number(node.outputs[0].type.size, hints) > WORK
    if isinstance(rule, lowering.Reduce):
        return _number(node.inputs[0].type.size, hints) > WORK
    return not isinstance(rule, (lowering.View, lowering.Piecewise, lowering.Gather))


def _number(size: Int, hints: dict[str, int]) -> int:
    return (
        size
        if isinstance(size, int)
        else int(integers.evaluate(size, {**dict.fromkeys(integers.symbols(size), 64), **hints}))
    )


__all__ = ["Partition", "cut", "is_dear", "partition"]
