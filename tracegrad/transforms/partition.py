"""A graph and its adjoint as two graphs that share work: the first also returns residuals, the
second reads them.

Which values are handed over is a minimum cut, by bytes; inputs and outputs of the forward graph are
free, for they exist anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from .._codegen import lowering
from ..dtypes import is_differentiable
from ..ir.forms import NOTHING, About
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.recording import span
from ..ops.places.gathering import OPERATIONS
from ..types import ArrayType, Int
from .cut_regions import cut_regions
from .derive import joint
from .minimum_cut import bytes_of, is_dear, minimum_cut
from .rewrite import optimize, tidy
from .settled import Settled

PUTS = frozenset(OPERATIONS["put"])
ARRAY = 2048
"""What passing one more array costs, in bytes of memory traffic."""
STEP = 32
"""The same at each step of a loop, which stores one more number."""


class Partition(NamedTuple):
    """`forward(inputs...) -> outputs..., residuals...`; `backward(inputs[k] for k in inputs...,
    outputs[k] for k in outputs..., last carries, first carries, residuals..., cotangents of the
    given outputs...) -> cotangents of the wanted inputs`."""

    forward: Graph
    backward: Graph
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    lasts: tuple[int, ...] = ()
    """Of a loop the carries whose values after the last step are read."""
    firsts: tuple[int, ...] = ()
    """And before the first step."""


class Stepped(NamedTuple):
    """Of which loop a graph is the body. Its carries are the inputs and outputs that are not known
    later."""

    about: About
    length: Int
    reverse: bool


Known: TypeAlias = tuple[Sequence[bool], Sequence[bool]]
"""Which inputs and which outputs of the forward graph the backward graph may read; others have to
be stored."""


def partition(
    graph: Graph,
    wanted: Sequence[bool],
    given: Sequence[bool],
    known: Known | None = None,
    steps: Stepped | None = None,
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
        steps,
    )
    if key not in graph.derived:
        everything = [True] * len(graph.inputs), [True] * len(graph.outputs)
        with span(f"{graph.name}: partition"):
            both = joint(graph, wanted, given, NOTHING if steps is None else steps.about)
            graph.derived[key] = _split(
                graph,
                optimize(both, apart=True) if known is None else tidy(both),
                known or everything,
                steps,
            )
    found: Partition = graph.derived[key]
    return found


def _split(graph: Graph, both: Graph, known: Known, steps: Stepped | None) -> Partition:
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
    stacked = steps is not None
    ends = Ends()
    if steps is not None:
        both, ends = read_off_ends(both, late, known, steps)
        both = cut_regions(both, late, free | set(ends.regions), hints)
        both = ends.placed(both, late)
        free |= ends.inputs()
    made: dict[Var, Node | None] = {
        v: None for v, ok in zip(inputs, known[0], strict=True) if not ok
    }
    made |= {v: node for node in both.nodes for v in node.outputs if v not in late}
    made |= ends.instead
    # Readers in the order of the graph, so that the same graph always gives the same text.
    readers = [a for node in both.nodes if node.outputs[0] in late for a in node.inputs] + [
        *results
    ]
    reads = [a for a in dict.fromkeys(readers) if isinstance(a, Var) and a not in late]
    each = STEP if stacked else ARRAY
    residuals = minimum_cut(made, free, reads, hints, lambda v: each + bytes_of(v.type, hints))
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
    lasts, firsts = ({k: v for k, v in e.items() if v in read} for e in (ends.lasts, ends.firsts))
    kept = [v for v in made if v in residuals]
    forward = graph.replace(
        name=f"{graph.name}_forward",
        inputs=inputs,
        nodes=_living([n for n in both.nodes if n.outputs[0] not in late], (*outputs, *kept)),
        outputs=(*outputs, *kept),
    )
    nodes = [n for n in both.nodes if n in again or n.outputs[0] in late]
    defined = {v for n in nodes for v in n.outputs}
    instead = [n for v, n in ends.instead.items() if n in again and v not in defined]
    backward = graph.replace(
        name=f"{graph.name}_backward",
        inputs=(*passed, *lasts.values(), *firsts.values(), *kept, *cotangents),
        nodes=_sorted([*nodes, *instead]),
        outputs=results,
    )
    return Partition(forward, backward, taken, tuple(others), tuple(lasts), tuple(firsts))


def _sorted(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes, each behind those whose results it takes, else in this order."""
    makers = {v: n for n in nodes for v in n.outputs}
    found: dict[Node, None] = {}
    stack = list(reversed(nodes))
    while stack:
        node = stack[-1]
        before = [makers[a] for a in node.inputs if isinstance(a, Var) and a in makers]
        missing = [n for n in before if n not in found]
        if missing and node not in found:
            stack.extend(reversed(missing))
        else:
            found.setdefault(stack.pop())
    return tuple(found)


@dataclass
class Ends:
    """What of a loop's first and last carries the backward graph reads, by the carries' numbers."""

    lasts: dict[int, Var] = field(default_factory=dict)
    firsts: dict[int, Var] = field(default_factory=dict)
    instead: dict[Var, Node] = field(default_factory=dict)
    """How the backward graph makes what the forward graph reads off a carry."""
    regions: dict[Var, tuple[Var, Var]] = field(default_factory=dict)
    """What stands for a version in a region that waits: the version and the end, which agree where
    the region reads."""

    def placed(self, graph: Graph, late: Collection[Atom]) -> Graph:
        """The graph where regions that run with the loop read versions, and those that wait ends:
        these are there when the loop is done."""
        nodes = []
        for node in graph.nodes:
            if any(a in self.regions for a in node.inputs):
                k = int(node.outputs[0] in late)
                found = [self.regions[a][k] if a in self.regions else a for a in node.inputs]
                node = node.replace(inputs=tuple(found))
            nodes.append(node)
        return graph.replace(nodes=tuple(nodes))

    def inputs(self) -> set[Var]:
        """The values that are there."""
        return {*self.lasts.values(), *self.firsts.values()}


def read_off_ends(
    graph: Graph, late: Collection[Atom], known: Known, steps: Stepped
) -> tuple[Graph, Ends]:
    """The graph, whose late regions read such values in place of versions of carries."""
    at = [k for k, ok in enumerate(known[0]) if not ok]
    inside = [graph.inputs[k] for k in at]
    carries = list(zip(inside, graph.outputs, strict=False))
    ends = Ends()
    if not any(v.type.ndim for v in inside):
        return graph, ends
    settled = Settled(graph, carries, graph.inputs[at[-1] + 1], *steps[1:], steps.about)

    reads: list[tuple[Node, Var, list[str]]] = []
    for node in graph.nodes:
        waits = node.outputs[0] in late
        region = waits and isinstance(node.op.lowering, lowering.Region)
        if region or isinstance(node.op.lowering, lowering.Gather):
            for version in [a for a in dict.fromkeys(node.inputs) if a in settled.carry]:
                places = settled.now.read_by(node, version)
                reads.append((node, version, settled.ends(version, places) if places else []))
    # What is read off both ends of one carry has to have two arrays at a time.
    begun = {settled.carry[version] for _, version, found in reads if found == ["first"]}

    def value(version: Var, found: Sequence[str]) -> Var | None:
        carry = settled.carry[version]
        last = "last" in found and not ("first" in found and carry in begun)
        if not found:
            return None
        name, at_end = ("last", ends.lasts) if last else ("first", ends.firsts)
        k = inside.index(carry)
        return at_end.setdefault(k, Var(version.type, f"{inside[k].name}_{name}"))

    changed: dict[Node, Node] = {}
    for node, version, found in reads:
        end = value(version, found)
        if end is None:
            continue
        waits = node.outputs[0] in late
        other = Var(version.type, version.name) if waits else end
        now = changed.get(node, node)
        now = now.replace(inputs=tuple(other if a is version else a for a in now.inputs))
        if waits:
            ends.regions[other] = version, end
            changed[node] = now
        else:
            ends.instead[node.outputs[0]] = now
    for node in graph.nodes:
        if node.op in PUTS and node.outputs[0] in settled.carry:
            _written(node, settled, ends, value)
    return graph.replace(nodes=tuple(changed.get(n, n) for n in graph.nodes)), ends


def _written(
    node: Node, settled: Settled, ends: Ends, end: Callable[[Var, Sequence[str]], Var | None]
) -> None:
    """What is written and stays there is read off the end, too."""
    version, (_, value, *indices) = node.outputs[0], node.inputs
    if (
        isinstance(value, Var)
        and value in settled.made
        and is_differentiable(value.type.dtype)  # no index, which it might be made of
        and value.type == ArrayType(version.type.dtype, ())
        and all(i.type.shape == () for i in indices)
        and "last" in settled.ends(version, [settled.now.place(node, version, 2)])
    ):
        last = end(version, ["last"])
        assert last is not None
        gather = OPERATIONS["gather"][len(indices) - 1]
        ends.instead[value] = Node(gather, (last, *indices), node.params, (value,))


def _cheap(graph: Graph, given: set[Var]) -> set[Atom]:
    """What cheap nodes make of given values, without these."""
    found: set[Atom] = set()
    for node in graph.nodes:
        if all(
            not isinstance(a, Var) or a in given or a in found for a in node.inputs
        ) and not is_dear(node, graph.sizes.hints):
            found.update(v for v in node.outputs if v not in given)
    return found


def _living(nodes: Sequence[Node], outputs: Sequence[Atom]) -> tuple[Node, ...]:
    """Those of the nodes that these outputs need, and those with effects."""
    live = set(outputs)
    kept = []
    for node in reversed(nodes):
        if node.effects or any(v in live for v in node.outputs):
            kept.append(node)
            live.update(node.inputs)
    return tuple(reversed(kept))


__all__ = ["Partition", "partition"]
