"""A graph and its adjoint as two graphs that share work: the first also returns residuals, the
second reads them.

Which values are handed over is a minimum cut, by bytes; inputs and outputs of the forward graph are
free, for they exist anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..ir.graph import Atom, Graph, Node, Var
from ..ir.recording import span
from .cut_regions import cut_regions
from .derive import joint
from .minimum_cut import bytes_of, is_dear, minimum_cut
from .rewrite import optimize, tidy

ARRAY = 2048
"""What passing one more array costs, in bytes of memory traffic."""


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
    hints = both.sizes.hints
    if stacked:
        both = cut_regions(both, late, free, hints)
    made: dict[Var, Node | None] = {
        v: None for v, ok in zip(inputs, known[0], strict=True) if not ok
    }
    made |= {v: node for node in both.nodes for v in node.outputs if v not in late}
    # Readers in the order of the graph, so that the same graph always gives the same text.
    readers = [a for node in both.nodes if node.outputs[0] in late for a in node.inputs] + [
        *results
    ]
    reads = [a for a in dict.fromkeys(readers) if isinstance(a, Var) and a not in late]
    residuals = minimum_cut(made, free, reads, hints, lambda v: ARRAY + bytes_of(v.type, hints))
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


__all__ = ["Partition", "partition"]
