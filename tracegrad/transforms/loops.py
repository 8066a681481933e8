"""Loops and branches as nodes: what nobody reads of them goes, numbers and what no step changes move into their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ops.shape import broadcast_to_op
from ..types import ArrayType


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
        if isinstance(rule, lowering.Region) and rule.kind in BODIES:
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
    twins = _twins(node.inputs[first:], range(constants)) | _twins(
        node.inputs[first:], range(constants + carries, len(node.inputs) - first)
    )
    if not any(still) and not any(fixed) and not twins:
        return node
    # Inputs of a body: constants, carries that stay, carries, the rest.
    order = [k for k, gone in enumerate(fixed) if not gone and k not in twins]
    order += [constants + k for k, stays in enumerate(still) if stays]
    order += [constants + k for k, stays in enumerate(still) if not stays]
    after = [k for k in range(constants + carries, len(node.inputs) - first) if k not in twins]

    def inside(graph: Graph, results: bool) -> Graph:
        given: dict[Var, Atom] = {v: a for v, a, gone in zip(graph.inputs, node.inputs[first:], fixed, strict=False) if gone}
        # The slices that a body takes come after the number of the step.
        places = [k if k < constants + carries else k + 1 for k in range(len(node.inputs))]
        given |= {graph.inputs[places[k]]: graph.inputs[places[m]] for k, m in twins.items()}
        numbered = [constants + carries] if len(graph.inputs) > constants + carries else []
        kept = [*order, *numbered, *[places[k] for k in after if places[k] < len(graph.inputs)]]
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
        params["constants"] = len(order) - carries + sum(still)
    if kind == "scan":
        params["carries"] = carries - sum(still)
    for k, stays in enumerate(still):
        if stays:
            same[node.outputs[k]] = node.inputs[constants + k]
    outputs = [v for k, v in enumerate(node.outputs) if not (k < carries and still[k])]
    return _rebuilt(node, (*node.inputs[:first], *[node.inputs[first + k] for k in (*order, *after)]), params, outputs)


def _twins(operands: Sequence[Atom], places: Iterable[int]) -> dict[int, int]:
    """Which of these operands are others before them."""
    seen: dict[Atom, int] = {}
    return {k: seen[operands[k]] for k in places if isinstance(operands[k], Var) and seen.setdefault(operands[k], k) != k}


def unstack(graph: Graph) -> Graph:
    """Slices that are all alike, as cotangents of a sum over steps are, are constants of the loop."""
    made = {v: node for node in graph.nodes for v in node.outputs}

    def repeated(atom: Atom) -> Atom | None:
        node = made.get(atom) if isinstance(atom, Var) else None
        source = node.inputs[0] if node is not None and node.op is broadcast_to_op else None
        return source if source is not None and source.type.ndim < atom.type.ndim else None

    def changed(node: Node) -> Node:
        first = node.params["constants"] + node.params["carries"] if node.op.lowering is lowering.SCAN else len(node.inputs)
        sources = [None if k < first else repeated(a) for k, a in enumerate(node.inputs)]
        if not any(sources):
            return node
        body: Graph = node.params["body"]
        slices = body.inputs[first + 1 :]
        alike = [(a, v) for a, v in zip(sources[first:], slices, strict=True) if a is not None]
        given = [v if a.type.shape == v.type.shape else Var(ArrayType(v.type.dtype, a.type.shape)) for a, v in alike]
        spread = [
            Node(broadcast_to_op, (w,), {"shape": v.type.shape}, (v,), node.where, node.note)
            for w, (_, v) in zip(given, alike, strict=True)
            if w is not v
        ]
        kept = [a is None for a in sources[first:]]
        n = node.params["constants"]
        inner = (*body.inputs[:n], *given, *body.inputs[n : first + 1], *_chosen(slices, kept))
        params = {"body": body.replace(inputs=inner, nodes=(*spread, *body.nodes)), "constants": n + len(given)}
        outer = (*node.inputs[:n], *[a for a, _ in alike], *node.inputs[n:first], *_chosen(node.inputs[first:], kept))
        return _rebuilt(node, outer, params, node.outputs)

    return graph.replace(nodes=tuple(map(changed, graph.nodes)))


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
    "taped": lambda node, live: node,
}


__all__ = ["TRIMMED", "settle", "trim", "unstack"]
