"""Loops that repeat each other's steps, or read each other's results slice by slice, as one loop.

A derivative runs the loop of its function again, with residuals or tangents beside the carries.
Side by side in one graph these loops share carries that start alike and are updated alike; one loop
then does the work of both, also where a condition on such carries ends it. Loops without carries,
as `vmap` makes one of what each item decides for itself, are one where they have loops inside that
repeat each other; and one of them joins another that reads its results.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from .._codegen import lowering
from ..dtypes import INT64
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.loops import Carry, Constant, Loop, Result, Slice, is_loop
from ..types import ArrayType, equal_types

TRIES = 2
"""How often carries that start alike but differ are matched with others that start so; each try
costs some milliseconds."""
COUNT = ArrayType(INT64, ())
"""The type of the number of a step."""


def fuse(graph: Graph, simplify: Callable[[Graph], Graph], apart: bool) -> Graph:
    """Two scans of equal length, or loops that end alike, as one where they share a carry, or one
    reads slices of the other (unless they stay `apart`); `simplify` finds equal expressions."""

    def within(body: Graph) -> Graph:
        # The loops in the bodies of two loops have to be one before these can share what they
        # compute.
        return fuse(simplify(body), simplify, apart)

    def both_in(a: Node, b: Node) -> tuple[Node, Mapping[Atom, Atom]] | None:
        if not is_loop(a):
            return _sized(a, b, within)
        first, second = Loop.of(a), Loop.of(b)
        found = (joined if first.test is None else joined_whiles)(first, second, within)
        return found and (found[0].node(), found[1])

    tried: set[tuple[Node, Node]] = set()
    while True:
        pairs = itertools.chain(
            () if apart else _alike_sized(graph), _pairs(graph, apart), _alike_maps(graph)
        )
        pair = next((p for p in pairs if p not in tried), None)
        if pair is None:
            return graph
        tried.add(pair)
        found = both_in(*pair)
        if found is not None:
            both, same = found
            graph = in_order(
                graph, [both if n is pair[0] else n for n in graph.nodes if n is not pair[1]], same
            )


def _alike_sized(graph: Graph) -> Iterable[tuple[Node, Node]]:
    """Graphs over the same size that is known late, of which the second does not wait for the
    first."""
    sized = [n for n in graph.nodes if n.op.lowering is lowering.SIZED]
    if len(sized) < 2:
        return
    needs: dict[Atom, frozenset[Node]] = {}
    for node in graph.nodes:
        found = frozenset().union(*[needs.get(a, frozenset()) for a in node.inputs])
        for v in node.outputs:
            needs[v] = found | {node}
    for k, second in enumerate(sized):
        for first in sized[:k]:
            if (
                first.inputs[0] is second.inputs[0]
                and all(first.params.get(p) == second.params.get(p) for p in ("symbol", "most"))
                and first not in needs[second.outputs[0]]
            ):
                yield first, second


def _sized(
    first: Node, second: Node, simplify: Callable[[Graph], Graph]
) -> tuple[Node, Mapping[Atom, Atom]] | None:
    """Two such graphs as one; None where their loops stay apart."""
    ours, theirs = first.params["graph"], second.params["graph"]
    inside = {_key(a): v for a, v in zip(first.inputs[1:], ours.inputs, strict=True)}
    operands = list(first.inputs)
    inputs = list(ours.inputs)
    values: dict[Atom, Atom] = {}
    for a, v in zip(second.inputs[1:], theirs.inputs, strict=True):
        if _key(a) not in inside:
            inside[_key(a)] = Var(v.type, v.name)
            operands.append(a)
            inputs.append(inside[_key(a)])
        values[v] = inside[_key(a)]
    nodes = (*ours.nodes, *copies(theirs.nodes, values))
    outputs = (*ours.outputs, *[values.get(a, a) for a in theirs.outputs])
    whole = simplify(ours.replace(inputs=tuple(inputs), nodes=nodes, outputs=outputs))
    if sum(map(is_loop, whole.nodes)) == sum(map(is_loop, nodes)):
        return None
    both = first.replace(
        inputs=tuple(operands),
        params={**first.params, "graph": whole},
        outputs=(*first.outputs, *second.outputs),
    )
    return both, {}


def _pairs(graph: Graph, apart: bool) -> Iterable[tuple[Node, Node]]:
    loops = [Loop.of(n) for n in graph.nodes if is_loop(n)]
    if len(loops) < 2:
        return
    needs: dict[Atom, frozenset[Node]] = {}
    for node in graph.nodes:
        found = frozenset().union(*[needs.get(a, frozenset()) for a in node.inputs])
        for v in node.outputs:
            needs[v] = found | {node} if is_loop(node) else found
    for k, second in enumerate(loops):
        for first in loops[:k]:
            if _ends(first) != _ends(second):
                continue
            starts = {_key(c.first) for c in first.carries}
            free = first.origin not in needs[second.origin.outputs[0]] and first.param(
                "reverse"
            ) == second.param("reverse")
            fed = _fed(first, second)
            # Of what comes from a loop slices alone may be read; without carries no step waits for
            # another.
            operands = [*[c.given for c in second.constants], *[c.first for c in second.carries]]
            operands += [s.stacked for s in second.slices if s.inside not in fed]
            read = any(first.origin in needs.get(a, ()) for a in operands)
            if (free and any(_key(c.first) in starts for c in second.carries)) or (
                not apart and fed and not read
            ):
                yield first.origin, second.origin


def _alike_maps(graph: Graph) -> Iterable[tuple[Node, Node]]:
    """Loops without carries of which one may repeat the other. They come last: as part of the loop
    that reads its results a loop keeps nothing for all steps."""
    maps = [loop for n in graph.nodes if is_loop(n) and not (loop := Loop.of(n)).carries]
    for k, second in enumerate(maps):
        for first in maps[:k]:
            same = first.param("reverse") == second.param("reverse")
            if same and _ends(first) == _ends(second) and _repeats(first, second):
                yield first.origin, second.origin


def _repeats(first: Loop, second: Loop) -> bool:
    """Whether loops without carries may have loops inside that are alike: the second reads nothing
    that the first does not read."""
    if first.carries or second.carries or not (_loops(first.body) and _loops(second.body)):
        return False
    return set(map(_key, second.origin.inputs)) <= set(map(_key, first.origin.inputs))


def _loops(graph: Graph) -> int:
    return sum(is_loop(n) or n.op.lowering is lowering.SIZED for n in graph.nodes)


def _fed(first: Loop, second: Loop) -> dict[Var, Result]:
    """Which stacked results of a loop without carries another one reads slice by slice."""
    if first.carries or second.carries:
        return {}
    made = {r.stacked: r for r in first.results}
    return {
        s.inside: made[s.stacked]
        for s in second.slices
        if isinstance(s.stacked, Var) and s.stacked in made
    }


def _ends(loop: Loop) -> list[object]:
    """What must be equal of two loops for them to be one; tests are compared where carries are
    known to agree."""
    return [
        loop.origin.op,
        *[loop.param(name) for name in ("length", "max_steps", "failure", "checkpoint")],
    ]


def _key(atom: Atom) -> object:
    return atom if isinstance(atom, Var) else (repr(atom), atom.type)


def joined(
    first: Loop, second: Loop, simplify: Callable[[Graph], Graph]
) -> tuple[Loop, dict[Atom, Atom]] | None:
    """One loop in place of two, and which results of the second are results of the first; None
    where they have nothing in common."""
    repeats = _repeats(first, second)
    ours, theirs = (
        [(_key(c.first), c.inside.type) for c in loop.carries] for loop in (first, second)
    )
    count = len(ours)
    refused: set[tuple[int, int]] = set()
    fed = _fed(first, second)
    for tried in itertools.count():
        shared = _alike(ours, theirs, refused)
        if not shared and not fed and not repeats:
            return None
        assert second.number is not None
        assert first.number is not None
        values: dict[Atom, Atom] = {
            second.number: first.number,
            **{v: r.inside for v, r in fed.items()},
        }
        constants = _joined(values, first.constants, second.constants, lambda c: c.given, Constant)
        slices = _joined(
            values,
            first.slices,
            [s for s in second.slices if s.inside not in fed],
            lambda s: s.stacked,
            Slice,
        )
        alone: list[Carry] = []
        for k, c in enumerate(second.carries):
            if k in shared:
                values[c.inside] = first.carries[shared[k]].inside
            else:
                alone.append(c._replace(inside=Var(c.inside.type, c.inside.name)))
                values[c.inside] = alone[-1].inside
        nodes = [*first.body.nodes, *copies(second.body.nodes, values)]
        carries = [*first.carries, *alone]
        whole = simplify(
            first.body.replace(
                inputs=(
                    *[c.inside for c in constants],
                    *[c.inside for c in carries],
                    first.number,
                    *[s.inside for s in slices],
                ),
                nodes=tuple(nodes),
                outputs=(
                    *[c.next for c in first.carries],
                    *[values.get(c.next, c.next) for c in second.carries],
                    *[r.inside for r in first.results],
                    *[values.get(r.inside, r.inside) for r in second.results],
                ),
            )
        )
        outs = whole.outputs
        apart = {(k, m) for k, m in shared.items() if _key(outs[m]) != _key(outs[count + k])}
        if not apart:
            break
        refused |= apart if tried < TRIES else {(k, m) for k, _ in apart for m in range(count)}
    if repeats and not fed and _loops(whole) == _loops(first.body) + _loops(second.body):
        return None
    own = [k for k in range(len(second.carries)) if k not in shared]
    following = [*outs[:count], *[outs[count + k] for k in own]]
    given = outs[count + len(second.carries) :]
    both = first.replace(
        constants=tuple(constants),
        carries=tuple(
            [c._replace(next=out, asked=None) for c, out in zip(carries, following, strict=True)]
        ),
        slices=tuple(slices),
        results=tuple(
            [
                r._replace(inside=out)
                for r, out in zip((*first.results, *second.results), given, strict=True)
            ]
        ),
        body=whole,
    )
    return both, {second.carries[k].last: first.carries[m].last for k, m in shared.items()}


def copies(nodes: Iterable[Node], values: dict[Atom, Atom]) -> Iterator[Node]:
    """The nodes with results of their own, for these values of what they read; `values` learns the
    results."""
    for node in nodes:
        copy = node.again(tuple([values.get(a, a) for a in node.inputs]))
        values.update(zip(node.outputs, copy.outputs, strict=True))
        yield copy


def _alike(
    first: Sequence[object], second: Sequence[object], refused: Container[tuple[int, int]]
) -> dict[int, int]:
    """Which items of the second list are which ones of the first: the next that is equal, but for
    pairs that are refused."""
    found: dict[int, int] = {}
    for k, item in enumerate(second):
        places = [
            m
            for m, other in enumerate(first)
            if other == item and (k, m) not in refused and m not in found.values()
        ]
        if places:
            found[k] = places[0]
    return found


def joined_whiles(
    first: Loop, second: Loop, simplify: Callable[[Graph], Graph]
) -> tuple[Loop, dict[Atom, Atom]] | None:
    """The same of two loops that a condition ends; None where the conditions may differ."""
    found = joined(as_scan(first), as_scan(second), simplify)
    if found is None:
        return None
    both, same = found
    constants = tuple([c._replace(asked=Var(c.inside.type, c.inside.name)) for c in both.constants])
    carries = tuple([c._replace(asked=Var(c.inside.type, c.inside.name)) for c in both.carries])
    operands: dict[object, Any] = {_key(c.given): c.asked for c in constants}
    lasts: dict[Atom, Any] = {c.last: c.asked for c in carries}
    nodes: list[Node] = []
    answers: list[Atom] = []
    for loop in (first, second):
        assert loop.test is not None
        values: dict[Atom, Atom] = {}
        for c in loop.constants:
            values[c.asked] = operands[_key(c.given)]  # type: ignore[index]
        for carry in loop.carries:
            values[carry.asked] = lasts[same.get(carry.last, carry.last)]  # type: ignore[index]
        nodes.extend(copies(loop.test.nodes, values))
        answers.append(values.get(loop.test.outputs[0], loop.test.outputs[0]))
    assert first.test is not None
    asked = (*operands.values(), *lasts.values())
    tests = simplify(first.test.replace(inputs=asked, nodes=tuple(nodes), outputs=tuple(answers)))
    if _key(tests.outputs[0]) != _key(tests.outputs[1]):
        return None
    whole = both.replace(
        constants=constants,
        carries=carries,
        number=None,
        count=first.count,
        test=tests.replace(outputs=tests.outputs[:1]),
    )
    return whole, {**same, second.origin.outputs[-1]: first.origin.outputs[-1]}


def as_scan(loop: Loop) -> Loop:
    """A loop that a condition ends in the form of one whose length is known."""
    return loop.replace(number=Var(COUNT, "step"), count=None, test=None)


Operand = TypeVar("Operand", Constant, Slice)


def _joined(
    values: dict[Atom, Atom],
    there: Sequence[Operand],
    more: Sequence[Operand],
    atom: Callable[[Operand], Atom],
    make: Callable[[Atom, Var], Operand],
) -> list[Operand]:
    """The operands of both loops, each once; `values` learns what stands for which."""
    result = list(there)
    known = {_key(atom(x)): x for x in there}
    for x in more:
        found = known.get(_key(atom(x)))
        if found is None or not equal_types(found.inside.type, x.inside.type):
            found = known[_key(atom(x))] = make(atom(x), Var(x.inside.type, x.inside.name))
            result.append(found)
        values[x.inside] = found.inside
    return result


def in_order(graph: Graph, nodes: Sequence[Node], same: Mapping[Atom, Atom]) -> Graph:
    """The graph of these nodes in dependency order, and otherwise in the order that they have;
    `same` says which values have another name."""

    def renamed(node: Node) -> Node:
        if not any(a in same for a in node.inputs):
            return node
        return node.replace(inputs=tuple([same.get(a, a) for a in node.inputs]))

    nodes = list(map(renamed, nodes))
    maker = {v: k for k, n in enumerate(nodes) for v in n.outputs}
    missing = [
        len({maker[a] for a in n.inputs if isinstance(a, Var) and a in maker}) for n in nodes
    ]
    readers: list[list[int]] = [[] for _ in nodes]
    for k, n in enumerate(nodes):
        for m in {maker[a] for a in n.inputs if isinstance(a, Var) and a in maker}:
            readers[m].append(k)
    ready = [k for k, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(nodes[k])
        for r in readers[k]:
            missing[r] -= 1
            if missing[r] == 0:
                heapq.heappush(ready, r)
    assert len(order) == len(nodes)
    return graph.replace(nodes=tuple(order), outputs=tuple([same.get(a, a) for a in graph.outputs]))


__all__ = ["COUNT", "as_scan", "copies", "fuse", "in_order", "joined"]
