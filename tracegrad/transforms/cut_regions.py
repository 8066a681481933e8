"""Regions of an adjoint cut in two: what does not wait for cotangents becomes a region of its own,
which can run with the forward loop around it.

The adjoint of a region reads what the region was given. In a loop that may be a large array of
which it reads some elements: kept for every step it would take memory and time of the order of
steps times elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.loops import Loop, Result, Slice, is_loop
from ..ops.arrays.slices import embed_op, slice_op
from ..types import ArrayType, Int, Shape
from .choices import GAIN, KEPT, choice_in_two
from .halves import Halves
from .loop_parts import TRIMMED
from .minimum_cut import bytes_of, number_of

AGAIN = 4
"""How many times more may be kept in place of operands from which loops compute it again."""

Hints: TypeAlias = dict[str, int]


def cut_regions(graph: Graph, late: set[Atom], free: set[Var], hints: Hints) -> Graph:
    """The graph with such regions.

    late    what depends on cotangents
    free    what the adjoint has without keeping it
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        cut = CUTS.get(node.op.lowering) if isinstance(node.op.lowering, lowering.Region) else None
        waits = cut is not None and any(a in late for a in node.inputs)
        effects = node.effects
        found = cut(node, late, free, hints) if waits and cut and not effects else None
        nodes.extend(found or [node])
    same = len(nodes) == len(graph.nodes) and all(map(operator.is_, nodes, graph.nodes))
    return graph if same else graph.replace(nodes=tuple(nodes))


def _choice(node: Node, late: set[Atom], free: set[Var], hints: Hints) -> list[Node] | None:
    before = node
    node = _cut_inside(node, late, free, hints)
    found = None if node.inputs[0] in late else choice_in_two(node, late, free, hints)
    if found is None:
        # What no branch reads need not be kept.
        smaller = TRIMMED["switch"](node, [True] * len(node.outputs))
        found = [smaller] if len(smaller.inputs) < len(node.inputs) else None
    return [node] if found is None and node is not before else found


def _cut_inside(node: Node, late: set[Atom], free: set[Var], hints: Hints) -> Node:
    """A choice whose branches' own regions are cut: a choice in a branch reads fewer arrays than it
    is given."""
    graphs: list[Graph] = []
    for g in node.params["branches"]:
        given = list(zip(g.inputs, node.inputs[1:], strict=True))
        waiting = [v for v, a in given if a in late]
        there = {v for v, a in given if a not in late and _there(a, free)}
        graphs.append(_inside(g, waiting, there, hints))
    if all(map(operator.is_, graphs, node.params["branches"])):
        return node
    return node.replace(params={**node.params, "branches": tuple(graphs)})


def _there(atom: Atom, free: set[Var]) -> bool:
    """Whether an operand need not be kept, or is a number, which costs nothing."""
    return not isinstance(atom, Var) or atom in free or not atom.type.ndim


def _inside(graph: Graph, waiting: Sequence[Var], there: set[Var], hints: Hints) -> Graph:
    """A region's graph whose own regions are cut."""
    late: set[Atom] = set(waiting)
    for node in graph.nodes:
        if any(a in late for a in node.inputs):
            late.update(node.outputs)
    return cut_regions(graph, late, there, hints)


def _loop(node: Node, late: set[Atom], free: set[Var], hints: Hints) -> list[Node] | None:
    """A loop backwards as one that collects what the steps read, and one that reads that slice by
    slice. What is carried is taken to wait."""
    loop = Loop.of(node)
    assert loop.number is not None
    early = [c for c in loop.constants if c.given not in late]
    slices = [s for s in loop.slices if s.stacked not in late]
    waiting = [
        *[c.inside for c in loop.constants if c.given in late],
        *[c.inside for c in loop.carries],
        *[s.inside for s in loop.slices if s.stacked in late],
    ]
    there = {
        loop.number,
        *[c.inside for c in early if _there(c.given, free)],
        *[s.inside for s in slices if not isinstance(s.stacked, Var) or s.stacked in free],
    }
    length = number_of(loop.param("length"), hints)
    once = {c.inside for c in early}

    def price(v: Var) -> float:
        return KEPT + bytes_of(v.type, hints) * (1 if v in once else length)

    half = Halves(_inside(loop.body, waiting, there, hints), waiting, there, hints, price)
    kept = [v for v in half.kept if v not in loop.body.inputs]
    own = [c.next for c in loop.carries] + [r.inside for r in loop.results]
    used = half.used(own, half.again)
    gone = half.inputs_read() - used
    saved = [c.given for c in early if c.inside in gone] + [
        s.stacked for s in slices if s.inside in gone
    ]
    if not kept or GAIN * sum(map(price, kept)) > sum(
        KEPT + bytes_of(a.type, hints) for a in saved
    ):
        return None
    size = loop.param("length")
    collected = [
        Result(v, Var(ArrayType(v.type.dtype, (size, *v.type.shape)), v.name)) for v in kept
    ]
    before = half.before(kept)
    wanted = half.used(kept, before)
    first = loop.replace(
        constants=tuple([c for c in early if c.inside in wanted]),
        carries=(),
        slices=tuple([s for s in slices if s.inside in wanted]),
        results=tuple(collected),
        body=half.graph.replace(name=f"{loop.body.name}_kept", nodes=tuple(before)),
    )
    second = loop.replace(
        constants=tuple([c for c in loop.constants if c.inside in used]),
        slices=(
            *[s for s in loop.slices if s.inside in used],
            *[Slice(r.stacked, v) for r, v in zip(collected, kept, strict=True)],
        ),
        body=half.graph.replace(nodes=tuple(half.again)),
    )
    return [first.node(), second.node()]


def _sized(node: Node, late: set[Atom], free: set[Var], hints: Hints) -> list[Node] | None:
    """A graph over a size that is known late, and at most so large: what is kept has the largest
    size it may have."""
    most: Int | None = node.params.get("most")
    count, operands = node.inputs[0], node.inputs[1:]
    if count in late:
        return None
    symbol: str = node.params["symbol"]
    graph: Graph = node.params["graph"]
    given = dict(zip(graph.inputs, operands, strict=True))
    waiting = [v for v, a in given.items() if a in late]
    there = {v for v, a in given.items() if a not in late and _there(a, free)}
    if most is None:
        whole = _inside(graph, waiting, there, hints)
        return None if whole is graph else [node.replace(params={**node.params, "graph": whole})]
    hints = {**hints, symbol: number_of(most, hints)}

    def price(v: Var) -> float:
        return KEPT + bytes_of(v.type, hints)

    half = Halves(_inside(graph, waiting, there, hints), waiting, there, hints, price)
    kept = [v for v in half.kept if v not in graph.inputs]
    used = half.used(graph.outputs, half.again)
    shapes = [_largest(v.type.shape, symbol, most) for v in kept]
    before = half.before(kept)
    again = any(is_loop(n) and Loop.of(n).carries for n in before)
    # Loops are not run again for what takes less room than that which they read.
    read = half.inputs_read() if again else half.inputs_read() - used
    saved = [given[v] for v in graph.inputs if v in read]
    room = sum(KEPT + bytes_of(a.type, hints) for a in saved) * (AGAIN if again else 1 / GAIN)
    if not kept or None in shapes or sum(map(price, kept)) > room:
        return None
    inner: list[Var] = []
    padded: list[Node] = []
    cropped: list[Node] = []
    for v, shape in zip(kept, shapes, strict=True):
        assert shape is not None
        inner.append(v if shape == v.type.shape else Var(ArrayType(v.type.dtype, shape), v.name))
        if inner[-1] is not v:
            zero = (0,) * len(shape)
            larger = {"shape": shape, "start": zero, "absent": False}
            padded.append(Node(embed_op, (v,), larger, (inner[-1],)))
            params = {"start": zero, "size": v.type.shape, "step": (1,) * len(shape)}
            cropped.append(Node(slice_op, (inner[-1],), params, (v,)))
    between = [Var(v.type, v.name) for v in inner]
    wanted = half.used(kept, before)
    early = [v for v in graph.inputs if v in wanted]
    rest = [v for v in graph.inputs if v in used]
    first = node.replace(
        inputs=(count, *[given[v] for v in early]),
        params={
            **node.params,
            "graph": graph.replace(
                name=f"{graph.name}_kept",
                inputs=tuple(early),
                nodes=(*before, *padded),
                outputs=tuple(inner),
            ),
        },
        outputs=tuple(between),
    )
    second = node.replace(
        inputs=(count, *[given[v] for v in rest], *between),
        params={
            **node.params,
            "graph": graph.replace(
                inputs=(*rest, *inner), nodes=(*cropped, *half.again), outputs=graph.outputs
            ),
        },
    )
    return [first, second]


def _largest(shape: Shape, symbol: str, most: Int) -> Shape | None:
    """The shape where a size is the largest it may be; None where a larger size may make an axis
    smaller."""
    found: list[Int] = []
    for n in shape:
        if isinstance(n, int) or symbol not in integers.symbols(n):
            found.append(n)
            continue
        factor = integers.coefficient(n, symbol)
        if not isinstance(factor, int) or factor < 0:
            return None
        found.append(integers.substitute(n, {symbol: most}))
    return tuple(found)


Cut: TypeAlias = Callable[[Node, set[Atom], set[Var], Hints], list[Node] | None]

CUTS: dict[lowering.Region, Cut] = {
    lowering.SWITCH: _choice,
    lowering.SCAN: _loop,
    lowering.SIZED: _sized,
}

__all__ = ["cut_regions"]
