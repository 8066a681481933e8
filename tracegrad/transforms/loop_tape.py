"""A loop of unknown length and its adjoint as one operation: the steps are taken once, on a tape
that grows.

The adjoint of `while_loop` takes the steps a second time, as a loop whose length is known by then
(`sized`), and keeps what it reads of each. Where both stand in one graph, and little between them,
the first loop can keep that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._codegen import integers, lowering
from ..ir.evaluate import evaluate
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Loop
from ..ir.op import Types, op
from .loop_fusion import COUNT, as_scan, in_order, joined
from .sizes import with_sizes

LARGEST = 8192
"""The most elements of what is computed between the loop and its adjoint."""

# Inputs of the operation: constants, initial carries, what `after` reads else. Inputs of the test:
# constants, carries; of the body: constants, carries, the number of the step. Outputs of the body:
# new carries, what is kept. Inputs of `after`: what it reads else, the last carries, the number of
# steps, what was kept, stacked. Outputs of the operation: the last carries, the number of steps,
# results of `after`.


def _infer(*inputs: Any, after: Graph, body: Graph, carries: int, **params: Any) -> Types:
    return (*body.output_types[:carries], COUNT, *after.output_types)


def _evaluate(
    *inputs: Any,
    test: Graph,
    body: Graph,
    after: Graph,
    constants: int,
    carries: int,
    symbol: str,
    max_steps: int | None,
    failure: str = "",
) -> tuple[Any, ...]:
    fixed, carry = inputs[:constants], list(inputs[constants : constants + carries])
    kept: list[list[Any]] = []
    while evaluate(test, [*fixed, *carry])[0]:
        if len(kept) == max_steps:
            raise RuntimeError(
                failure or f"while_loop: still going after max_steps={max_steps} steps"
            )
        found = evaluate(body, [*fixed, *carry, np.int64(len(kept))])
        carry = found[:carries]
        kept.append(found[carries:])
    stacked = [
        np.array([row[k] for row in kept], t.dtype).reshape(len(kept), *t.shape)
        for k, t in enumerate(body.output_types[carries:])
    ]
    last = [np.array(c, t.dtype) for c, t in zip(carry, body.output_types, strict=False)]
    given = [*inputs[constants + carries :], *last, np.int64(len(kept)), *stacked]
    return (*last, np.int64(len(kept)), *evaluate(with_sizes(after, {symbol: len(kept)}), given))


taped_op = op(
    "taped",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    lowering=lowering.TAPED,
    variadic=True,
    outputs=0,
    doc=(
        "A loop that ends when a condition does not hold, and a graph that reads what its steps "
        "have kept; made of others, never derived."
    ),
)


def tape(
    graph: Graph, prepared: Callable[[Graph], Graph], simplify: Callable[[Graph], Graph]
) -> Graph:
    """The graph with each while_loop that keeps what its adjoint reads; `prepared` is how bodies of
    loops look where loops are joined."""
    for loop in [n for n in graph.nodes if n.op.lowering is lowering.WHILE]:
        for after in [
            n
            for n in graph.nodes
            if n.op.lowering is lowering.SIZED and n.inputs[0] is loop.outputs[-1]
        ]:
            found = _taped(graph, loop, after, prepared(after.params["graph"]), simplify)
            if found is not None:
                graph = found
                break
    return graph


def _taped(
    graph: Graph, loop: Node, after: Node, inside: Graph, simplify: Callable[[Graph], Graph]
) -> Graph | None:
    between = _between(graph, loop, after)
    if between is None:
        return None
    symbol = after.params["symbol"]
    values: dict[Atom, Atom] = dict(zip(inside.inputs, after.inputs[1:], strict=True))
    first = Loop.of(loop)
    for node in inside.nodes:
        if (
            node.op.lowering is not lowering.SCAN
            or node.params["reverse"]
            or node.params["length"] != integers.symbol(symbol)
        ):
            continue
        if any(isinstance(a, Var) and a not in values for a in node.inputs):
            continue
        again = Loop.of(node.replace(inputs=tuple([values.get(a, a) for a in node.inputs])))
        found = None if again.slices else joined(as_scan(first), again, simplify)
        # The steps are the same, and nothing is carried along beside them.
        if found is not None and len(found[0].carries) == len(first.carries):
            return _replaced(graph, first, after, inside, between, node, *found)
    return None


def _between(graph: Graph, loop: Node, after: Node) -> list[Node] | None:
    """What depends on the loop and is needed by what comes after it; None where that is more than a
    little."""
    depends: set[Atom] = set(loop.outputs)
    nodes: list[Node] = []
    for node in graph.nodes:
        if any(a in depends for a in node.inputs):
            depends.update(node.outputs)
            nodes.append(node)
    needed: set[Atom] = set(after.inputs)
    found: list[Node] = []
    for node in reversed(nodes):
        if node is not after and any(v in needed for v in node.outputs):
            needed.update(node.inputs)
            found.append(node)
    return found[::-1] if all(map(_little, found)) else None


def _little(node: Node) -> bool:
    sizes = [a.type.size for a in (*node.inputs, *node.outputs)]
    region = isinstance(node.op.lowering, lowering.Region)
    return (
        not region and not node.effects and all(isinstance(s, int) and s <= LARGEST for s in sizes)
    )


def _replaced(
    graph: Graph,
    loop: Loop,
    after: Node,
    inside: Graph,
    between: Sequence[Node],
    again: Node,
    both: Loop,
    same: Mapping[Atom, Atom],
) -> Graph:
    assert loop.test is not None
    asked = [c.asked or Var(c.inside.type, c.inside.name) for c in both.constants]
    test = loop.test.replace(
        inputs=tuple([v for v in (*asked, *[c.asked for c in loop.carries]) if v is not None])
    )

    # The graph that comes after: what is between, then the adjoint without its own forward loop.
    residuals = again.outputs[again.params["carries"] :]
    own: dict[Atom, Atom] = {v: Var(v.type, v.name) for v in (*loop.origin.outputs, *residuals)}
    kept = [own[v] for v in residuals]
    outside: dict[Atom, Var] = {}

    def within(atom: Atom, values: dict[Atom, Atom]) -> Atom:
        if isinstance(atom, Literal):
            return atom
        if atom in values:
            return values[atom]
        if atom not in outside:
            outside[atom] = Var(atom.type, atom.name)
        return outside[atom]

    nodes: list[Node] = []

    def add(node: Node, values: dict[Atom, Atom]) -> None:
        copy = node.again(tuple([within(a, values) for a in node.inputs]))
        nodes.append(copy)
        values.update(zip(node.outputs, copy.outputs, strict=True))

    for node in between:
        add(node, own)
    values: dict[Atom, Atom] = {
        v: within(a, own) for v, a in zip(inside.inputs, after.inputs[1:], strict=True)
    }
    values |= {v: own[same.get(v, v)] for v in again.outputs}
    for node in inside.nodes:
        if node is not again:
            add(node, values)
    read = {
        a for node in graph.nodes if node not in between and node is not after for a in node.inputs
    } | {*graph.outputs}
    results = [v for node in between for v in node.outputs if v in read]
    last = [own[v] for v in loop.origin.outputs]
    whole = inside.replace(
        inputs=tuple([v for v in (*outside.values(), *last, *kept) if isinstance(v, Var)]),
        nodes=tuple(nodes),
        outputs=(
            *[own[v] for v in results],
            *[values[a] if isinstance(a, Var) else a for a in inside.outputs],
        ),
    )
    steps = both.node()
    params: dict[str, Any] = {
        "test": test,
        "body": steps.params["body"],
        "after": whole,
        "constants": len(both.constants),
        "carries": len(both.carries),
        "symbol": after.params["symbol"],
        **{
            name: loop.origin.params[name]
            for name in ("max_steps", "failure")
            if name in loop.origin.params
        },
    }
    outputs = (*loop.origin.outputs, *results, *after.outputs)
    taped = Node(
        taped_op, (*steps.inputs, *outside), params, outputs, loop.origin.where, after.note
    )
    rest = [n for n in graph.nodes if n is not loop.origin and n not in between]
    return in_order(graph, [taped if n is after else n for n in rest], {})


OPS = (taped_op,)
__all__ = ["OPS", "tape", "taped_op"]
