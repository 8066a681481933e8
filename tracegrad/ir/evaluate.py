"""Running a graph's operations on values: arrays, boxed values, or variables of another trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dispatch import STATE, bind
from .graph import Atom, Graph, Literal, Var


def evaluate(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of `graph` for these inputs. Inside a trace the nodes keep the user lines they were traced from."""
    values: dict[Atom, Any] = dict(zip(graph.inputs, inputs, strict=True))
    trace = STATE.traces[-1] if STATE.traces else None
    keep, where = (trace.keep_lines, trace.where) if trace else (True, "")
    if trace:
        trace.keep_lines = False
    last_use = _last_uses(graph)
    try:
        for position, node in enumerate(graph.nodes):
            if trace:
                trace.where = node.where
            result = bind(node.op, [values[a] if isinstance(a, Var) else a.value for a in node.inputs], node.params)
            if node.op.outputs == 1:
                values[node.outputs[0]] = result
            else:
                values.update(zip(node.outputs, result, strict=True))
            for dead in last_use[position]:
                del values[dead]
    finally:
        if trace:
            trace.keep_lines, trace.where = keep, where
    return [a.value if isinstance(a, Literal) else values[a] for a in graph.outputs]


def _last_uses(graph: Graph) -> list[list[Var]]:
    """For each node the variables that nothing reads after it, so that their memory can go."""
    key = "last_uses"
    if key not in graph.derived:
        kept = {a for a in graph.outputs if isinstance(a, Var)}
        result: list[list[Var]] = []
        for node in reversed(graph.nodes):
            dead = [a for a in dict.fromkeys((*node.inputs, *node.outputs)) if isinstance(a, Var) and a not in kept]
            kept.update(dead)
            result.append(dead)
        graph.derived[key] = result[::-1]
    found: list[list[Var]] = graph.derived[key]
    return found
