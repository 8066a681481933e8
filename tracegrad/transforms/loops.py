"""Loops and branches as nodes: what nobody reads of them goes, and loops that repeat each other's steps become one.

A derivative runs the loop of its function again, with residuals or tangents beside the carries. Side by side in one graph these loops share
carries that start alike and are updated alike; one loop then does the work of both.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var


def trim(graph: Graph) -> Graph:
    """Without the results of loops and branches that nothing reads, and without what only those needed."""
    live: set[Atom] = {a for a in graph.outputs if isinstance(a, Var)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not node.op.effects and not any(v in live for v in node.outputs):
            continue
        rule = node.op.lowering
        if isinstance(rule, lowering.Region):
            node = TRIMMED[rule.kind](node, [v in live for v in node.outputs])
        kept.append(node)
        live.update(node.inputs)
    return graph.replace(nodes=tuple(reversed(kept)))


A = TypeVar("A", Var, Atom)


def settle(graph: Graph) -> Graph:
    """Numbers that loops and branches are given stand in their bodies; carries that no step changes are constants."""
    same: dict[Atom, Atom] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple([same.get(a, a) for a in node.inputs])
        settled = Node(node.op, inputs, node.params, node.outputs, node.where, node.note)
        rule = node.op.lowering
        if isinstance(rule, lowering.Region):
            settled = _settled(settled, rule.kind, same)
        nodes.append(settled)
    return graph.replace(nodes=tuple(nodes), outputs=tuple([same.get(a, a) for a in graph.outputs]))


BODIES = {"scan": ("body",), "while": ("body", "test"), "switch": ("branches",), "sized": ("graph",), "block": ("graph",)}
"""Which parameters of a region hold its bodies, the first of them that which gives the results."""


def _settled(node: Node, kind: str, same: dict[Atom, Atom]) -> Node:
    loop = kind in ("scan", "while")
    first = 1 if kind in ("switch", "sized") else 0
    constants = node.params["constants"] if loop else len(node.inputs) - first
    carries = len(node.inputs) - constants if kind == "while" else node.params["carries"] if loop else 0
    body: Graph = node.params["body"] if loop else next(node.subgraphs())
    still = [body.outputs[k] is body.inputs[constants + k] for k in range(carries)]
    fixed = [isinstance(a, Literal) and not isinstance(a.value, integers.Integer) for a in node.inputs[first : first + constants]]
    if not any(still) and not any(fixed):
        return node
    # Inputs of a body: constants, carries that stay, carries, the rest.
    order = [k for k, gone in enumerate(fixed) if not gone]
    order += [constants + k for k, stays in enumerate(still) if stays]
    order += [constants + k for k, stays in enumerate(still) if not stays]
    after = list(range(constants + carries, len(node.inputs) - first))

    def inside(graph: Graph, results: bool) -> Graph:
        given = {v: a for v, a, gone in zip(graph.inputs, node.inputs[first:], fixed, strict=False) if gone}
        kept = [*order, *range(constants + carries, len(graph.inputs))]
        outputs = [a for k, a in enumerate(graph.outputs) if not (results and k < carries and still[k])]
        return graph.replace(
            inputs=tuple([graph.inputs[k] for k in kept]),
            nodes=tuple([_with(n, given) for n in graph.nodes]),
            outputs=tuple([given.get(a, a) if isinstance(a, Var) else a for a in outputs]),
        )

    params = dict(node.params)
    for k, name in enumerate(BODIES[kind]):
        value = params[name]
        params[name] = tuple([inside(g, False) for g in value]) if isinstance(value, tuple) else inside(value, k == 0)
    if loop:
        params["constants"] = constants - sum(fixed) + sum(still)
    if kind == "scan":
        params["carries"] = carries - sum(still)
    for k, stays in enumerate(still):
        if stays:
            same[node.outputs[k]] = node.inputs[constants + k]
    outputs = [v for k, v in enumerate(node.outputs) if not (k < carries and still[k])]
    return _rebuilt(node, (*node.inputs[:first], *[node.inputs[first + k] for k in (*order, *after)]), params, outputs)


def _with(node: Node, given: Mapping[Var, Atom]) -> Node:
    if not any(a in given for a in node.inputs if isinstance(a, Var)):
        return node
    inputs = tuple([given.get(a, a) if isinstance(a, Var) else a for a in node.inputs])
    return Node(node.op, inputs, node.params, node.outputs, node.where, node.note)


def _chosen(values: Sequence[A], flags: Iterable[bool]) -> tuple[A, ...]:
    return tuple([v for v, ok in zip(values, flags, strict=True) if ok])


def _body(body: Graph, outputs: Sequence[bool]) -> Graph:
    """Made once, so that loops in the bodies of two loops stay equal."""
    key = "trimmed", tuple(outputs)
    if key not in body.derived:
        body.derived[key] = trim(body.replace(outputs=_chosen(body.outputs, outputs)))
    trimmed: Graph = body.derived[key]
    return trimmed


def _read(body: Graph) -> list[bool]:
    """Which inputs a trimmed graph reads."""
    found = {a for node in body.nodes for a in node.inputs} | {*body.outputs}
    return [v in found for v in body.inputs]


def _with_inputs(body: Graph, kept: Sequence[bool]) -> Graph:
    key = "with inputs", tuple(kept)
    if key not in body.derived:
        body.derived[key] = body.replace(inputs=_chosen(body.inputs, kept))
    smaller: Graph = body.derived[key]
    return smaller


def _rebuilt(node: Node, inputs: Sequence[Atom], params: Mapping[str, object], outputs: Sequence[Var]) -> Node:
    return Node(node.op, tuple(inputs), {**node.params, **params}, tuple(outputs), node.where, node.note)


def _trim_scan(node: Node, live: Sequence[bool]) -> Node:
    body: Graph = node.params["body"]
    n, c = node.params["constants"], node.params["carries"]
    carries, ys = list(live[:c]), list(live[c:])
    while True:
        smaller = _body(body, [*carries, *ys])
        read = _read(smaller)
        wanted = [a or b for a, b in zip(carries, read[n : n + c], strict=True)]
        if wanted == carries:
            break
        carries = wanted
    kept = [*read[:n], *carries, True, *read[n + c + 1 :]]
    inputs = _chosen(node.inputs, [*kept[: n + c], *kept[n + c + 1 :]])
    params = {"body": _with_inputs(smaller, kept), "constants": sum(read[:n]), "carries": sum(carries)}
    return _rebuilt(node, inputs, params, _chosen(node.outputs, [*carries, *ys]))


def _trim_switch(node: Node, live: Sequence[bool]) -> Node:
    branches = [_body(b, live) for b in node.params["branches"]]
    kept = [any(flags) for flags in zip(*map(_read, branches), strict=True)]
    params = {"branches": tuple([_with_inputs(b, kept) for b in branches])}
    return _rebuilt(node, (node.inputs[0], *_chosen(node.inputs[1:], kept)), params, _chosen(node.outputs, live))


def _trim_while(node: Node, live: Sequence[bool]) -> Node:
    body: Graph = node.params["body"]
    n = node.params["constants"]
    test = trim(node.params["test"])
    asked = _read(test)
    carries = [a or b for a, b in zip(live[:-1], asked[n:], strict=True)]
    while True:
        smaller = _body(body, carries)
        read = _read(smaller)
        wanted = [a or b for a, b in zip(carries, read[n:], strict=True)]
        if wanted == carries:
            break
        carries = wanted
    kept = [*[a or b for a, b in zip(asked[:n], read[:n], strict=True)], *carries]
    params = {"body": _with_inputs(smaller, kept), "test": _with_inputs(test, kept), "constants": sum(kept[:n])}
    return _rebuilt(node, _chosen(node.inputs, kept), params, _chosen(node.outputs, [*carries, True]))


def _trim_sized(node: Node, live: Sequence[bool]) -> Node:
    graph = _body(node.params["graph"], live)
    kept = _read(graph)
    inputs = (node.inputs[0], *_chosen(node.inputs[1:], kept))
    return _rebuilt(node, inputs, {"graph": _with_inputs(graph, kept)}, _chosen(node.outputs, live))


def _trim_block(node: Node, live: Sequence[bool]) -> Node:
    graph = _body(node.params["graph"], live)
    kept = _read(graph)
    return _rebuilt(node, _chosen(node.inputs, kept), {"graph": _with_inputs(graph, kept)}, _chosen(node.outputs, live))


TRIMMED: dict[str, Callable[[Node, Sequence[bool]], Node]] = {
    "scan": _trim_scan,
    "switch": _trim_switch,
    "while": _trim_while,
    "sized": _trim_sized,
    "block": _trim_block,
}


# --- loops that repeat each other ----------------------------------------------------------------------------------------------------


def fuse(graph: Graph, simplify: Callable[[Graph], Graph]) -> Graph:
    """Two scans of equal length, of which neither needs the other and which share a carry, as one; `simplify` finds equal expressions."""
    tried: set[tuple[Node, Node]] = set()
    while True:
        pair = next((p for p in _pairs(graph) if p not in tried), None)
        if pair is None:
            return graph
        tried.add(pair)
        graph = _replaced(graph, *pair, simplify) or graph


def _pairs(graph: Graph) -> Iterable[tuple[Node, Node]]:
    scans = [n for n in graph.nodes if n.op.name == "scan"]
    if len(scans) < 2:
        return
    needs: dict[Var, frozenset[Node]] = {}
    for node in graph.nodes:
        found = frozenset().union(*[needs.get(a, frozenset()) for a in node.inputs if isinstance(a, Var)])
        for v in node.outputs:
            needs[v] = found | {node} if node.op.name == "scan" else found
    for k, second in enumerate(scans):
        for first in scans[:k]:
            alike = all(first.params[name] == second.params[name] for name in ("length", "reverse"))
            starts = set(map(_key, _starts(first)))
            if alike and first not in needs[second.outputs[0]] and any(_key(a) in starts for a in _starts(second)):
                yield first, second


def _starts(node: Node) -> tuple[Atom, ...]:
    n = node.params["constants"]
    return node.inputs[n : n + node.params["carries"]]


def _key(atom: Atom) -> object:
    return atom if isinstance(atom, Var) else (repr(atom), atom.type)


def _replaced(graph: Graph, first: Node, second: Node, simplify: Callable[[Graph], Graph]) -> Graph | None:
    """The graph with one loop in place of two; None where they share no carry."""
    n1, c1, n2, c2 = (node.params[name] for node in (first, second) for name in ("constants", "carries"))
    starts = {_key(a): k for k, a in reversed(list(enumerate(_starts(first))))}
    shared = {k: starts[_key(a)] for k, a in enumerate(_starts(second)) if _key(a) in starts}
    one: Graph = first.params["body"]
    two: Graph = second.params["body"]
    fixed, slices = list(first.inputs[:n1]), list(first.inputs[n1 + c1 :])
    while True:
        shared = {k: m for k, m in shared.items() if two.inputs[n2 + k].type == one.inputs[n1 + m].type}
        if not shared:
            return None
        constants, xs = list(one.inputs[:n1]), list(one.inputs[n1 + c1 + 1 :])
        own: list[Var] = []
        values: dict[Atom, Atom] = {two.inputs[n2 + c2]: one.inputs[n1 + c1]}
        more_fixed = _joined(values, fixed, constants, second.inputs[:n2], two.inputs[:n2])
        more_slices = _joined(values, slices, xs, second.inputs[n2 + c2 :], two.inputs[n2 + c2 + 1 :])
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
        agreed = {k: m for k, m in shared.items() if _key(outs[m]) == _key(outs[c1 + k])}
        if agreed == shared:
            break
        shared = agreed
    alone = [k for k in range(c2) if k not in shared]
    body = whole.replace(outputs=(*outs[:c1], *[outs[c1 + k] for k in alone], *outs[c1 + c2 :]))
    starts_of_second = _starts(second)
    inputs = (*more_fixed, *_starts(first), *[starts_of_second[k] for k in alone], *more_slices)
    carried = [second.outputs[k] for k in alone]
    outputs = (*first.outputs[:c1], *carried, *first.outputs[c1:], *second.outputs[c2:])
    params = {**first.params, "body": body, "constants": len(more_fixed), "carries": c1 + len(alone)}
    both = Node(first.op, inputs, params, outputs, first.where, first.note)
    same: dict[Atom, Atom] = {second.outputs[k]: first.outputs[m] for k, m in shared.items()}
    return _sorted(graph, first, second, both, same)


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


def _sorted(graph: Graph, first: Node, second: Node, both: Node, same: dict[Atom, Atom]) -> Graph:
    """The graph with `both` for two nodes, in dependency order and otherwise in the order that it has."""

    def renamed(node: Node) -> Node:
        if not any(a in same for a in node.inputs):
            return node
        return Node(node.op, tuple([same.get(a, a) for a in node.inputs]), node.params, node.outputs, node.where, node.note)

    nodes = [both if n is first else renamed(n) for n in graph.nodes if n is not second]
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


__all__ = ["TRIMMED", "fuse", "settle", "trim"]
