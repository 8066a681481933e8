"""Whether the lanes of a batch go through the steps of a loop each by itself, as far as the step's
operations tell: where they do not, nothing is prepared for blocks of lanes
(two_step_reductions.py).

An axis of a carry is followed through the step. Where an operation reads along it (a sum, a
neighbour, a product with a whole array), a lane needs what others have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._codegen import integers, lowering
from ..ir.graph import Graph, Node, Var
from ..ir.loops import Loop
from ..sizes import same
from ..types import Int, Shape

Axes = frozenset[int]
NO_AXIS: Axes = frozenset()


def by_themselves(node: Node, lanes: Int) -> bool:
    """Whether no operation in a step of a loop keeps so many lanes from going through it alone."""
    if "body" not in node.params:
        return True
    loop = Loop.of(node)
    along = {c.inside: _of_size(c.inside, lanes) for c in loop.carries}
    while True:
        found = _followed(loop.body, along, lanes)
        if found is None:
            return False
        narrower = {
            c.inside: along[c.inside] & found.get(c.next, along[c.inside])
            if isinstance(c.next, Var)
            else along[c.inside]
            for c in loop.carries
        }
        if narrower == along:
            return True
        if any(along[v] and not axes for v, axes in narrower.items()):
            return False
        along = narrower


def _of_size(var: Var, lanes: Int) -> Axes:
    return frozenset([k for k, size in enumerate(var.type.shape) if same(size, lanes)])


def _followed(graph: Graph, given: Mapping[Var, Axes], lanes: Int) -> dict[Var, Axes] | None:
    """The axes of values along which they have what is a lane's own; None where there is none left
    of one that lanes have made."""
    along = {v: axes for v, axes in given.items() if axes}
    for node in graph.nodes:
        of = [(k, along[a]) for k, a in enumerate(node.inputs) if isinstance(a, Var) and a in along]
        if not of:
            continue
        follow = FOLLOWED.get(type(node.op.lowering))
        for var in node.outputs:
            kept = _of_size(var, lanes)
            if follow is None:
                # What holds a graph tells nothing here.
                if kept:
                    along[var] = kept
                continue
            for k, axes in of:
                kept &= follow(node, var, k, axes)
            if not kept:
                return None
            along[var] = kept
    return along


# --- where an axis of an operand is in the result -------------------------------------------------


def _symbols(shape: Shape) -> tuple[Int, ...]:
    """An index of which each entry is known again."""
    return tuple([integers.symbol(f"axis {k}") for k in range(len(shape))])


def _in_index(axes: Axes, read: Sequence[Any], index: Sequence[Int]) -> Axes:
    """The axes of a result that read such an axis at their own place."""
    return frozenset(
        [q for q, i in enumerate(index) if any(read[p] is i or _same(read[p], i) for p in axes)]
    )


def _same(read: Any, i: Int) -> bool:
    return isinstance(read, integers.Integer) and read == i


def _pointwise(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    ahead = out.type.ndim - node.inputs[k].type.ndim
    return frozenset([p + ahead for p in axes])


def _reduced(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    gone = node.params.get("axes", (node.params.get("axis"),))
    if node.params.get("keepdims"):
        return axes.difference(gone)
    return frozenset([p - sum(a < p for a in gone) for p in axes if p not in gone])


def _scanned(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    return axes - {node.params["axis"]}


def _viewed(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    rule: lowering.View = node.op.lowering  # type: ignore[assignment]
    source, shape = node.inputs[0].type.shape, out.type.shape
    if rule.reshape:
        return frozenset(
            [q for q in range(len(shape)) if any(_as_far(source, p, shape, q) for p in axes)]
        )
    index = _symbols(shape)
    return _in_index(axes, rule.index(index, source, shape, node.params), index)


def _as_far(source: Shape, p: int, shape: Shape, q: int) -> bool:
    """Whether two axes of one memory are as long and have as much before them."""
    return bool(
        same(source[p], shape[q])
        and same(integers.product(source[:p]), integers.product(shape[:q]))
    )


def _pieced(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    rule: lowering.Piecewise = node.op.lowering  # type: ignore[assignment]
    index = _symbols(out.type.shape)
    shapes = tuple([a.type.shape for a in node.inputs])
    kept = frozenset(range(len(index)))
    for box in rule.boxes(shapes, out.type.shape, node.params):
        if box.source == k:
            kept &= _in_index(axes, box.index(index), index)
    return kept


def _gathered(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    rule: lowering.Gather = node.op.lowering  # type: ignore[assignment]
    index = _symbols(out.type.shape)
    read = rule.index(index, tuple([a.type.shape for a in node.inputs]), node.params)
    if k == 0:
        return _in_index(axes, read, index)
    kept = frozenset(range(len(index)))
    for run in read:
        if isinstance(run, lowering.Run) and run.which == k:
            kept &= _in_index(axes, run.position, index)
    return kept


def _called(node: Node, out: Var, k: int, axes: Axes) -> Axes:
    """A routine works along the last axis at least."""
    return axes - {node.inputs[k].type.ndim - 1}


FOLLOWED: dict[type, Callable[[Node, Var, int, Axes], Axes]] = {
    lowering.Pointwise: _pointwise,
    lowering.Reduce: _reduced,
    lowering.ArgReduce: _reduced,
    lowering.Scan: _scanned,
    lowering.View: _viewed,
    lowering.Piecewise: _pieced,
    lowering.Gather: _gathered,
    lowering.Library: _called,
    lowering.Kernel: _called,
}

__all__ = ["by_themselves"]
