"""Traced numbers that follow from the sizes of arrays alone: their value is known where the sizes
are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._codegen import integers
from ..sizes import pinned
from ..sizes.owners import is_late
from .graph import Atom, Literal, Node, Var
from .trace import is_left_over, left_over, outside


def _of_sizes_alone(var: Var, made: dict[Var, Node], order: dict[Node, None]) -> bool:
    """Whether a variable follows from numbers and sizes alone; `order`: from which nodes."""
    stack: list[tuple[Var, bool]] = [(var, False)]
    while stack:
        v, done = stack.pop()
        node = made.get(v)
        if node is None:
            return False
        if done:
            order.setdefault(node)
        elif node not in order:
            stack.append((v, True))
            stack += [(a, False) for a in node.inputs if not isinstance(a, Literal)]
    return True


def of_sizes(var: Var) -> np.ndarray[Any, Any] | None:
    """The value of a traced number that was computed from symbolic sizes alone, which pins them;
    None for any other, and of lengths that only a run knows."""
    if is_left_over(var):
        raise left_over(var)
    trace = var.trace
    made = {out: node for node in trace.nodes if len(node.outputs) == 1 for out in node.outputs}
    order: dict[Node, None] = {}

    if var.type.shape or not _of_sizes_alone(var, made, order):
        return None
    if any(isinstance(a, Literal) and _is_late(a.value) for node in order for a in node.inputs):
        return None
    if trace.sizes.symbolic and any(any(node.subgraphs()) for node in order):
        return None
    values: dict[Atom, Any] = {
        a: _number(a.value) for node in order for a in node.inputs if isinstance(a, Literal)
    }
    with outside():
        for node in order:
            operands = [values[a] for a in node.inputs]
            found = node.op.evaluate(*operands, **node.params)
            values[node.outputs[0]] = found if node.op.outputs == 1 else found[0]
    return np.asarray(values[var])


def _is_late(value: Any) -> bool:
    return isinstance(value, integers.Integer) and is_late(value)


def _number(value: Any) -> Any:
    return pinned(value) if isinstance(value, integers.Integer) else value
