"""Running a graph's operations on values: arrays, boxed values, or variables of another trace,
which are called as those of the graph are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..checks import REFUSED, placed
from ..errors import TracegradError
from ..sizes import seen, seen_within
from ..types import Int
from .dispatch import STATE, bind
from .graph import Atom, Graph, Literal, Node, Var


def evaluate(
    graph: Graph, inputs: Sequence[Any], before: Callable[[], None] | None = None
) -> list[Any]:
    """The outputs of `graph` for these inputs; `before()` is called before each operation. Inside a
    trace the nodes keep the user lines they were traced from."""
    values: dict[Atom, Any] = dict(zip(graph.inputs, inputs, strict=True))
    trace = STATE.traces[-1] if STATE.traces else None
    kept = (trace.keep_lines, trace.where, trace.note) if trace else (True, "", "")
    if trace:
        trace.keep_lines = False
        for v in graph.inputs:
            trace.call(values[v], v.name)
    last_use = _last_uses(graph)
    node = None
    symbolic = trace is not None and trace.sizes.symbolic
    try:
        for position, node in enumerate(graph.nodes):
            if before is not None:
                before()
            if trace:
                trace.where, trace.note = node.where, node.note
            operands = [values[a] if isinstance(a, Var) else a.value for a in node.inputs]
            result = bind(
                node.op, *(_seen(operands, node) if symbolic else (operands, node.params))
            )
            if node.op.outputs == 1:
                values[node.outputs[0]] = result
            else:
                values.update(zip(node.outputs, result, strict=True))
            if trace:
                for v in node.outputs:
                    trace.call(values[v], v.name)
            for dead in last_use[position]:
                del values[dead]
    except REFUSED as error:
        found = placed(error, node.where, node.op.name) if node else error
        if found is error:
            raise
        raise found from error
    finally:
        if trace:
            trace.keep_lines, trace.where, trace.note = kept
    return [seen(a.value) if isinstance(a, Literal) else values[a] for a in graph.outputs]


def evaluate_batched(
    graph: Graph, inputs: Sequence[Any], axes: Sequence[int | None], size: Int
) -> tuple[list[Any], list[int | None]]:
    """Run a graph on values of which some have one more axis, by the operations' batching rules."""
    values: dict[Any, Any] = dict(zip(graph.inputs, inputs, strict=True))
    where: dict[Any, int | None] = dict(zip(graph.inputs, axes, strict=True))
    trace = STATE.traces[-1] if STATE.traces else None
    kept = (trace.keep_lines, trace.where, trace.note) if trace else (True, "", "")
    node = None
    symbolic = trace is not None and trace.sizes.symbolic
    try:
        for node in graph.nodes:
            if trace:
                trace.keep_lines, trace.where, trace.note = False, node.where, node.note
            operands = [a.value if isinstance(a, Literal) else values[a] for a in node.inputs]
            places = [None if isinstance(a, Literal) else where[a] for a in node.inputs]
            params = node.params
            if symbolic:
                operands, params = _seen(operands, node)
            if all(p is None for p in places):
                result = bind(node.op, operands, params)
                outs = [result] if node.op.outputs == 1 else list(result)
                out_axes = [None] * len(node.outputs)
            elif node.op.batch is None:
                raise TracegradError(
                    f"{node.where}: {node.op.name} has no batching rule, "
                    "so it cannot be used under vmap"
                )
            else:
                outs, out_axes = node.op.batch(operands, places, seen(size), **params)
            if trace:
                for v, out in zip(node.outputs, outs, strict=True):
                    trace.call(out, v.name)
            values.update(zip(node.outputs, outs, strict=True))
            where.update(zip(node.outputs, out_axes, strict=True))
    except REFUSED as error:
        found = placed(error, node.where, node.op.name) if node else error
        if found is error:
            raise
        raise found from error
    finally:
        if trace:
            trace.keep_lines, trace.where, trace.note = kept
    return (
        [seen(a.value) if isinstance(a, Literal) else values[a] for a in graph.outputs],
        [None if isinstance(a, Literal) else where[a] for a in graph.outputs],
    )


def _seen(operands: list[Any], node: Node) -> tuple[list[Any], dict[str, Any]]:
    """Operands and parameters of a node as the rules of operations see them in a trace."""
    return [seen(x) for x in operands], {k: seen_within(v) for k, v in node.params.items()}


def _last_uses(graph: Graph) -> list[list[Var]]:
    """For each node the variables that nothing reads after it, so that their memory can go."""
    key = "last_uses"
    if key not in graph.derived:
        kept = {a for a in graph.outputs if isinstance(a, Var)}
        result: list[list[Var]] = []
        for node in reversed(graph.nodes):
            dead = [
                a
                for a in dict.fromkeys((*node.inputs, *node.outputs))
                if isinstance(a, Var) and a not in kept
            ]
            kept.update(dead)
            result.append(dead)
        graph.derived[key] = result[::-1]
    found: list[list[Var]] = graph.derived[key]
    return found
