"""Loops that repeat each other's steps, or read each other's results slice by slice, as one loop.

A derivative runs the loop of its function again, with residuals or tangents beside the carries. Side by side in one graph these loops share
carries that start alike and are updated alike; one loop then does the work of both, also where a condition on such carries ends it. A loop
without carries, as `vmap` makes one of what each item decides for itself, joins the one that reads its results.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from .._codegen import lowering
from ..dtypes import INT64
from ..ir.graph import Atom, Graph, Node, Var
from ..types import ArrayType

TRIES = 2
"""How often carries that start alike but differ are matched with others that start so; each try costs some milliseconds."""
COUNT = ArrayType(INT64, ())
"""The type of the number of a step."""

LOOPS = (lowering.SCAN, lowering.WHILE)


def fuse(graph: Graph, simplify: Callable[[Graph], Graph], apart: bool) -> Graph:
    """Two scans of equal length, or loops that end alike, as one where they share a carry, or one reads slices of the other (unless they stay `apart`);
    `simplify` finds equal expressions."""

    def within(body: Graph) -> Graph:
        # The loops in the bodies of two loops have to be one before these can share what they compute.
        return fuse(simplify(body), simplify, apart)

    tried: set[tuple[Node, Node]] = set()
    while True:
        pair = next((p for p in _pairs(graph, apart) if p not in tried), None)
        if pair is None:
            return graph
        tried.add(pair)
        join = joined if pair[0].op.lowering is lowering.SCAN else joined_whiles
        found = join(*pair, within)
        if found is not None:
            both, same = found
            graph = in_order(graph, [both if n is pair[0] else n for n in graph.nodes if n is not pair[1]], same)


def _pairs(graph: Graph, apart: bool) -> Iterable[tuple[Node, Node]]:
    loops = [n for n in graph.nodes if n.op.lowering in LOOPS]
    if len(loops) < 2:
        return
    needs: dict[Atom, frozenset[Node]] = {}
    for node in graph.nodes:
        found = frozenset().union(*[needs.get(a, frozenset()) for a in node.inputs])
        for v in node.outputs:
            needs[v] = found | {node} if node.op.lowering in LOOPS else found
    for k, second in enumerate(loops):
        for first in loops[:k]:
            if first.op is not second.op or _ends(first) != _ends(second):
                continue
            starts = set(map(_key, _starts(first)))
            free = first not in needs[second.outputs[0]] and first.params.get("reverse") == second.params.get("reverse")
            # Of what comes from a loop slices alone may be read; without carries no step waits for another.
            read = [a for k, a in enumerate(second.inputs) if first in needs.get(a, ()) and k not in _fed(first, second)]
            if (free and any(_key(a) in starts for a in _starts(second))) or (not apart and _fed(first, second) and not read):
                yield first, second


def _fed(first: Node, second: Node) -> dict[int, int]:
    """Which operands of a loop without carries are stacked results of another one, and which of them."""
    if _starts(first) or _starts(second):
        return {}
    made = {v: k for k, v in enumerate(first.outputs)}
    return {k: made[a] for k, a in enumerate(second.inputs) if k >= second.params["constants"] and isinstance(a, Var) and a in made}


def _starts(node: Node) -> tuple[Atom, ...]:
    n = node.params["constants"]
    return node.inputs[n : n + node.params.get("carries", len(node.inputs))]


def _ends(node: Node) -> list[object]:
    """What must be equal of two loops for them to be one; tests are compared where carries are known to agree."""
    return [node.params.get(name) for name in ("length", "max_steps", "failure", "checkpoint")]


def _key(atom: Atom) -> object:
    return atom if isinstance(atom, Var) else (repr(atom), atom.type)


def joined(first: Node, second: Node, simplify: Callable[[Graph], Graph]) -> tuple[Node, dict[Atom, Atom]] | None:
    """One loop in place of two, and which results of the second are results of the first; None where they have nothing in common."""
    n1, c1, n2, c2 = (node.params[name] for node in (first, second) for name in ("constants", "carries"))
    one: Graph = first.params["body"]
    two: Graph = second.params["body"]
    ours, theirs = (
        [(_key(a), v.type) for a, v in zip(_starts(node), body.inputs[n:], strict=False)]
        for node, body, n in ((first, one, n1), (second, two, n2))
    )
    refused: set[tuple[int, int]] = set()
    fixed, slices = list(first.inputs[:n1]), list(first.inputs[n1 + c1 :])
    fed = _fed(first, second)
    own_slices = [k for k in range(n2 + c2, len(second.inputs)) if k not in fed]
    for tried in itertools.count():
        shared = _alike(ours, theirs, refused)
        if not shared and not fed:
            return None
        constants, xs = list(one.inputs[:n1]), list(one.inputs[n1 + c1 + 1 :])
        own: list[Var] = []
        values: dict[Atom, Atom] = {two.inputs[n2 + c2]: one.inputs[n1 + c1]}
        # Bodies take the number of the step before the slices.
        values |= {two.inputs[k + 1]: one.outputs[m] for k, m in fed.items()}
        more_fixed = _joined(values, fixed, constants, second.inputs[:n2], two.inputs[:n2])
        more_slices = _joined(values, slices, xs, [second.inputs[k] for k in own_slices], [two.inputs[k + 1] for k in own_slices])
        for k, v in enumerate(two.inputs[n2 : n2 + c2]):
            if k in shared:
                values[v] = one.inputs[n1 + shared[k]]
            else:
                own.append(Var(v.type, v.name))
                values[v] = own[-1]
        nodes = list(one.nodes)
        for node in two.nodes:
            fresh = tuple([Var(v.type) for v in node.outputs])
            nodes.append(Node(node.op, tuple([values.get(a, a) for a in node.inputs]), node.params, fresh, node.where, node.note))
            values.update(zip(node.outputs, fresh, strict=True))
        results = [values.get(a, a) for a in two.outputs]
        whole = simplify(
            one.replace(
                inputs=(*constants, *one.inputs[n1 : n1 + c1], *own, one.inputs[n1 + c1], *xs),
                nodes=tuple(nodes),
                outputs=(*one.outputs[:c1], *results[:c2], *one.outputs[c1:], *results[c2:]),
            )
        )
        outs = whole.outputs
        apart = {(k, m) for k, m in shared.items() if _key(outs[m]) != _key(outs[c1 + k])}
        if not apart:
            break
        refused |= apart if tried < TRIES else {(k, m) for k, _ in apart for m in range(c1)}
    alone = [k for k in range(c2) if k not in shared]
    body = whole.replace(outputs=(*outs[:c1], *[outs[c1 + k] for k in alone], *outs[c1 + c2 :]))
    starts_of_second = _starts(second)
    inputs = (*more_fixed, *_starts(first), *[starts_of_second[k] for k in alone], *more_slices)
    carried = [second.outputs[k] for k in alone]
    outputs = (*first.outputs[:c1], *carried, *first.outputs[c1:], *second.outputs[c2:])
    params = {**first.params, "body": body, "constants": len(more_fixed), "carries": c1 + len(alone)}
    both = Node(first.op, inputs, params, outputs, first.where, first.note)
    same: dict[Atom, Atom] = {second.outputs[k]: first.outputs[m] for k, m in shared.items()}
    return both, same


def _alike(first: Sequence[object], second: Sequence[object], refused: Container[tuple[int, int]]) -> dict[int, int]:
    """Which items of the second list are which ones of the first: the next that is equal, but for pairs that are refused."""
    found: dict[int, int] = {}
    for k, item in enumerate(second):
        places = [m for m, other in enumerate(first) if other == item and (k, m) not in refused and m not in found.values()]
        if places:
            found[k] = places[0]
    return found


def joined_whiles(first: Node, second: Node, simplify: Callable[[Graph], Graph]) -> tuple[Node, dict[Atom, Atom]] | None:
    """The same of two loops that a condition ends; None where the conditions may differ."""
    found = joined(as_scan(first), as_scan(second), simplify)
    if found is None:
        return None
    both, same = found
    body: Graph = both.params["body"]
    n, c = both.params["constants"], both.params["carries"]
    given = [Var(v.type, v.name) for v in body.inputs[: n + c]]
    known = {_key(a): v for a, v in zip(both.inputs[:n], given, strict=False)}
    known |= dict(zip(both.outputs, given[n:], strict=True))
    nodes: list[Node] = []
    asked: list[Atom] = []
    for loop in (first, second):
        test: Graph = loop.params["test"]
        fixed = [_key(a) for a in loop.inputs[: loop.params["constants"]]]
        values: dict[Atom, Atom] = {
            v: known[key] for v, key in zip(test.inputs, [*fixed, *[same.get(v, v) for v in loop.outputs[:-1]]], strict=True)
        }
        for node in test.nodes:
            fresh = tuple([Var(v.type) for v in node.outputs])
            nodes.append(Node(node.op, tuple([values.get(a, a) for a in node.inputs]), node.params, fresh, node.where, node.note))
            values.update(zip(node.outputs, fresh, strict=True))
        asked.append(values.get(test.outputs[0], test.outputs[0]))
    tests = simplify(first.params["test"].replace(inputs=tuple(given), nodes=tuple(nodes), outputs=tuple(asked)))
    if _key(tests.outputs[0]) != _key(tests.outputs[1]):
        return None
    params = {
        **first.params,
        "test": tests.replace(outputs=tests.outputs[:1]),
        "body": body.replace(inputs=body.inputs[: n + c]),
        "constants": n,
    }
    outputs = (*both.outputs, first.outputs[-1])
    return Node(first.op, both.inputs, params, outputs, first.where, first.note), {**same, second.outputs[-1]: first.outputs[-1]}


def as_scan(loop: Node, **params: object) -> Node:
    """A loop that a condition ends in the form of one whose length is known."""
    body: Graph = loop.params["body"]
    n = loop.params["constants"]
    counted = body.replace(inputs=(*body.inputs, Var(COUNT, "step")))
    params = {**params, "body": counted, "constants": n, "carries": len(loop.inputs) - n}
    return Node(loop.op, loop.inputs, params, loop.outputs[:-1], loop.where, loop.note)


def _joined(values: dict[Atom, Atom], there: Sequence[Atom], inside: list[Var], more: Sequence[Atom], theirs: Sequence[Var]) -> list[Atom]:
    """The operands of both loops, each once; `inside` grows by the variables of the new ones, `values` says what stands for which."""
    result = list(there)
    known = {_key(a): v for a, v in zip(there, inside, strict=True)}
    for a, v in zip(more, theirs, strict=True):
        found = known.get(_key(a))
        if found is None or found.type != v.type:
            found = known[_key(a)] = Var(v.type, v.name)
            inside.append(found)
            result.append(a)
        values[v] = found
    return result


def in_order(graph: Graph, nodes: Sequence[Node], same: Mapping[Atom, Atom]) -> Graph:
    """The graph of these nodes in dependency order, and otherwise in the order that they have; `same` says which values have another name."""

    def renamed(node: Node) -> Node:
        if not any(a in same for a in node.inputs):
            return node
        return Node(node.op, tuple([same.get(a, a) for a in node.inputs]), node.params, node.outputs, node.where, node.note)

    nodes = list(map(renamed, nodes))
    maker = {v: k for k, n in enumerate(nodes) for v in n.outputs}
    missing = [len({maker[a] for a in n.inputs if isinstance(a, Var) and a in maker}) for n in nodes]
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


__all__ = ["COUNT", "as_scan", "fuse", "in_order", "joined"]
