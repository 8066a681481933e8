"""Which values to hand from a graph that runs early to one that runs late: those of a minimum cut.

What the late graph reads is computed from what it has anyway, through nodes that are either cheap,
and may be computed again, or dear, and may not. So every path from a dear node to a reader must be
cut somewhere, by storing one value on it; the cut with the least price wins, and among equal ones
that nearest to the readers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from .._codegen import integers, lowering
from ..ir.graph import Node, Var
from ..types import ArrayType, Int

CHEAP = 8
"""An elementwise operation of at most so many additions is computed again whatever its size."""
WORK = 2000
"""About as many additions as passing one more array costs (an allocation, an argument, 0.2 us):
less work is done again."""

Vertex: TypeAlias = tuple[Var | None, int]
"""A value on its way in (0) or out (1); without a value the source (0) and the sink (1)."""


def minimum_cut(
    made: dict[Var, Node | None],
    free: set[Var],
    reads: Sequence[Var],
    hints: dict[str, int],
    price: Callable[[Var], float],
) -> set[Var]:
    """The values to store: a minimum cut between dear nodes and `reads`, by the paths that still
    have room (Edmonds and Karp 1972).

    made    what could be stored, and the node that makes it (None for an input that is not there
            later)
    free    what is there anyway
    hints   how large symbolic sizes were seen to be
    price   what it costs to store a value

    Each value is two vertices with an edge of its price between them; along all other edges any
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
        edge((v, 0), (v, 1), price(v))
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
    if node.effects or rule is None:
        return True
    if isinstance(rule, lowering.Pointwise):
        return rule.cost > CHEAP and rule.cost * number_of(node.outputs[0].type.size, hints) > WORK
    if isinstance(rule, lowering.Reduce):
        return number_of(node.inputs[0].type.size, hints) > WORK
    return not isinstance(rule, (lowering.View, lowering.Piecewise, lowering.Gather))


def bytes_of(kind: ArrayType, hints: dict[str, int]) -> int:
    """About how much memory an array takes."""
    return number_of(kind.size, hints) * kind.dtype.itemsize


def number_of(size: Int, hints: dict[str, int]) -> int:
    """About how large a size is."""
    return (
        size
        if isinstance(size, int)
        else int(integers.evaluate(size, {**dict.fromkeys(integers.symbols(size), 64), **hints}))
    )


__all__ = ["bytes_of", "is_dear", "minimum_cut", "number_of"]
