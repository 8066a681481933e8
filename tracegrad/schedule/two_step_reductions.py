"""What stands between two loops over the lanes of a batch, written so that blocks of lanes can go
through both (passes/batch_blocks.py).

The value of a loss stands between the loop that goes forth and the one that goes back. One pass
over all lanes would part the two, and all that the way back reads would be kept. So a reduction
that no loop reads is made in two steps: over what each lane has, which is the lane's own business,
and over the lanes, behind all loops. And what the way back reads is not a parallel phase for
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .._codegen import integers, kernel, lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..types import ArrayType, Int
from .lanewise import by_themselves
from .passes.batch_blocks import FEWEST, lanes_of_block
from .tasks import Task

LOOPS = (lowering.SCAN, lowering.WHILE, lowering.SIZED, lowering.TAPED)


class Own(NamedTuple):
    """What lanes have for themselves."""

    totals: frozenset[Var] = frozenset()
    """Of the reductions in two steps, the results of the first."""
    all: frozenset[Var] = frozenset()
    """These, and what the second of two loops reads that the first did not need."""


NOTHING = Own()


def by_lane(graph: Graph) -> tuple[Graph, Own]:
    """The graph with such reductions in two steps, and what lanes then have for themselves."""
    loops = [node for node in graph.nodes if node.op.lowering in LOOPS]
    if len(loops) < 2:
        return graph, NOTHING
    made = [(node.outputs, node.inputs) for node in graph.nodes]
    needs = {loop: _read(made, loop.outputs) for loop in loops}
    behind: dict[Atom, frozenset[Node]] = {}
    """The loops on which a value depends."""
    for node in graph.nodes:
        found = frozenset[Node]().union(*[behind[a] for a in node.inputs if a in behind])
        behind.update(dict.fromkeys(node.outputs, found | {node} if node in loops else found))
    pairs = [
        (a, b, lanes)
        for b in loops
        for a in loops
        if a is not b and a in behind[b.outputs[0]] and (lanes := _lanes(a, b, loops))
    ]
    between = {
        v
        for a, b, lanes in pairs
        for v in needs[b] - needs[a]
        if isinstance(v, Var) and lanes.intersection(v.type.shape)
    }
    nodes: list[Node] = []
    totals: set[Var] = set()
    for node in graph.nodes:
        nodes.append(node)
        out = node.outputs[0]
        if isinstance(node.op.lowering, lowering.Reduce) and not any(
            out in needed for needed in needs.values()
        ):
            around = [
                (_sizes(a), lanes)
                for a, b, lanes in pairs
                if a in behind[out] and b not in behind[out]
            ]
            axis = next(
                (k for k in (_axis(node, *found) for found in around) if k is not None), None
            )
            if axis is not None:
                nodes[-1:] = steps = _in_steps(node, axis)
                (total,) = steps[-1].inputs
                assert isinstance(total, Var)
                totals.add(total)
    return graph.replace(nodes=tuple(nodes)), Own(frozenset(totals), frozenset(totals | between))


def _sizes(loop: Node) -> set[Int]:
    """The sizes of a loop's carries; without carries, its length."""
    carries = loop.params.get("carries")
    return (
        {loop.params["length"]}
        if carries == 0
        else {size for v in loop.outputs[:carries] for size in v.type.shape}
    )


def _lanes(first: Node, second: Node, loops: Sequence[Node]) -> set[Int]:
    """How many lanes may go through two loops of these in blocks."""
    return {
        size
        for size in _sizes(first) & _sizes(second)
        if not (isinstance(size, int) and all(size <= _of_block(loop, size) for loop in loops))
        and by_themselves(first, size)
        and by_themselves(second, size)
    }


def _of_block(loop: Node, lanes: int) -> int:
    """The fewest lanes that a block of a loop may have, as far as its graph tells. What is kept of
    its steps for another loop, which reads it, does not make blocks smaller."""
    each = _kept(loop, lanes)
    return FEWEST if each is None else lanes_of_block(each)


def _kept(loop: Node, lanes: int) -> int | None:
    """The most bytes that each lane may keep in a step; None where that is not known, or lanes are
    items with loops of their own."""
    if loop.op.lowering != lowering.SCAN or not loop.params["carries"]:
        return None
    body: Graph = loop.params["body"]
    # The carries are there twice: before a step and after it.
    values = [*body.outputs, *[v for node in body.nodes for v in node.outputs]]
    found = [_bytes(v.type, lanes) for v in values if isinstance(v, Var)]
    inner = [node for node in body.nodes if next(node.subgraphs(), None) is not None]
    found += [_kept(node, lanes) for node in inner]
    known = [n for n in found if n is not None]
    return sum(known) if len(known) == len(found) else None


def _bytes(kind: ArrayType, lanes: int) -> int | None:
    size = integers.product(kind.shape)
    if not isinstance(size, int):
        return None
    return size * kind.dtype.itemsize // lanes if lanes and lanes in kind.shape else 0


def _axis(node: Node, sizes: set[Int], lanes: set[Int]) -> int | None:
    """Which reduced axis is along lanes, if the total of a lane takes no more than a carry."""
    shape, axes = node.inputs[0].type.shape, node.params["axes"]
    if not all(size in sizes for k, size in enumerate(shape) if k not in axes):
        return None
    return max(
        (k for k in axes if shape[k] in lanes),
        key=lambda k: shape[k] if isinstance(shape[k], int) else 1 << 62,
        default=None,
    )


def _in_steps(node: Node, axis: int) -> list[Node]:
    """A reduction over all axes but one, and one over that; only the latter where there is no
    other."""
    (source,) = node.inputs
    rest = tuple([k for k in node.params["axes"] if k != axis])
    if not rest:
        return [node]
    kept = [k for k in range(source.type.ndim) if k not in rest]
    total = Var(ArrayType(node.outputs[0].type.dtype, tuple([source.type.shape[k] for k in kept])))
    return [
        Node(node.op, (source,), {"axes": rest}, (total,), node.where, "of each lane"),
        node.replace(inputs=(total,), params={"axes": (kept.index(axis),)}),
    ]


def _read(
    made: Sequence[tuple[Iterable[Atom], Iterable[Atom]]], loops: Collection[Atom]
) -> set[Atom]:
    """What loops read, and what that is made of; `made` are results with what they are made of."""
    found: set[Atom] = set()
    for outputs, inputs in reversed(made):
        if any(v in loops or v in found for v in outputs):
            found.update(inputs)
    return found


def in_turn(tasks: Sequence[Task], own: Own) -> tuple[list[Task], list[Task]]:
    """The tasks, and behind all loops those that take all lanes and no loop reads, with what is
    made of them."""
    if not any(t.var in own.totals for t in tasks):
        return list(tasks), []
    loops = {t.var for t in tasks if t.node is not None and t.node.op.lowering in LOOPS}
    read = _read([((t.var,), [v for v, _ in t.reads]) for t in tasks], loops)
    first: list[Task] = []
    last: list[Task] = []
    waiting: set[Atom] = set()
    for t in tasks:
        apart = (
            t.kind == "map"
            or t.node is None
            or t.var in own.totals
            or t.var in loops
            or t.var in read
        )
        if apart and not any(v in waiting for v, _ in t.reads):
            first.append(t)
        else:
            last.append(t)
            waiting.update(() if t.copy else (t.var,))
    return first, last


def in_blocks(program: kernel.Program, buffers: Collection[str]) -> bool:
    """Whether only blocks of lanes write these buffers."""
    outside: set[str] = set()
    for phase in program.phases:
        if phase.kind == "serial":
            kernel.walk(
                phase.body, lambda s: outside.add(s.buffer) if isinstance(s, kernel.Store) else None
            )
    return outside.isdisjoint(buffers)


__all__ = ["NOTHING", "Own", "by_lane", "in_blocks", "in_turn"]
