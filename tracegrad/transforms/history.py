"""What reverse mode sees of a traced function: which of its results it goes through, where it ends
inside of the graph, and the hooks that would wait for a sweep outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..errors import TracegradError
from ..ir.graph import Graph, Var
from ..ir.graph import Node as GraphNode
from ..ir.trace import Trace
from ..ops.totals.statistics import no_grad_op
from ..tape.tape import End, Node
from ..tensor import Boxed


def history_of(x: Any, trace: Trace) -> str:
    """Whether reverse mode goes through a result, and whether a sweep inside the trace freed what
    it would need."""
    if not isinstance(x, Boxed) or not x._requires_grad:
        return ""
    # What was there before the trace, and is returned as it is, stands where it stood.
    if isinstance(x._data, Var) and x._data.trace is trace and x._data not in trace.live:
        return ""
    seen: set[int] = set()
    stack: list[End] = [x._grad_fn] if x._grad_fn is not None else []
    while stack:
        node = stack.pop()
        if node._order in seen or not isinstance(node, Node):
            continue
        seen.add(node._order)
        if node.saved is None:
            return "spent"
        stack.extend(e[0] for e in node.edges if e is not None)
    return "live"


def cut_history(graph: Graph, live: set[Var], history: Sequence[str]) -> Graph:
    """The graph with `no_grad` where reverse mode ends: at live operands of operations, and at
    results, that were off the tape."""
    nodes: list[GraphNode] = []
    cuts: dict[Var, Var] = {}

    def cut(v: Any) -> Any:
        if not isinstance(v, Var) or v not in live or not is_differentiable(v.type.dtype):
            return v
        if v not in cuts:
            cuts[v] = Var(v.type)
            nodes.append(GraphNode(no_grad_op, (v,), {}, (cuts[v],)))
        return cuts[v]

    for node in graph.nodes:
        if (
            node.op.vjp is not None
            and not any(v in live for v in node.outputs)
            and any(v in live for v in node.inputs if isinstance(v, Var))
        ):
            node = node.replace(inputs=tuple([cut(a) for a in node.inputs]))
        nodes.append(node)
    outputs = [
        a if k >= len(history) or history[k] else cut(a) for k, a in enumerate(graph.outputs)
    ]
    return graph.replace(nodes=tuple(nodes), outputs=tuple(outputs)) if cuts else graph


def check_hooks(boxes: Sequence[Boxed], results: Sequence[Any], trace: Trace, born: int) -> None:
    """An error where a hook that the function registered waits for a gradient that is computed
    outside, from the graph."""
    nodes: list[Any] = [
        x._grad_fn for x in results if history_of(x, trace) == "live" and x._grad_fn is not None
    ]
    waiting = bool(nodes) and any(b._hooks is not None and b._hooks.node.waits() for b in boxes)
    seen: set[int] = set()
    while nodes and not waiting:
        node = nodes.pop()
        if node._order in seen or node._order < born or not isinstance(node, Node):
            continue
        seen.add(node._order)
        waiting = node.hooks is not None and node.hooks.waits()
        nodes.extend(e[0] for e in node.edges if e is not None)
    if waiting:
        raise TracegradError(
            f"{trace.name} registers a hook on a value whose gradient is computed outside of it, "
            "when the compiled function is differentiated. Call backward inside the function, "
            "register the hook on its result outside, or write the change of the gradient as "
            "an autograd.Function."
        )
