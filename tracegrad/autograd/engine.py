"""The reverse sweep: cotangents flow from outputs to inputs along the tape, latest node first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ops import add, broadcast_to
from .mode import MODE, set_grad_enabled
from .tape import FREED, AccumulateGrad, Edge, Node, NodeHooks, Saved

Box = Callable[..., Any]
BOX: list[Box] = []
"""Makes a boxed value of raw data: BOX[0](data, like, grad_fn, output_nr); set by tensor.py, which stands above."""


def sweep(
    roots: Sequence[tuple[Edge, Any]],
    targets: dict[Edge, int] | None,
    create_graph: bool = False,
    retain_graph: bool = False,
) -> dict[Edge, Any]:
    """Cotangents of the target edges (or, with None, of every leaf reached) given cotangents of the roots.

    Visits nodes in the reverse of their creation order, which is a topological order, with a heap instead of recursion.
    """
    cotangents: dict[Node, dict[int, Any]] = {}
    needed = _needed(roots, targets) if targets is not None else None
    heap: list[tuple[int, int]] = []
    queued: dict[int, Node] = {}

    def receive(edge: Edge, ct: Any) -> None:
        node = edge.node
        if needed is not None and node not in needed:
            return
        slots = cotangents.setdefault(node, {})
        slots[edge.output_nr] = add(slots[edge.output_nr], ct) if edge.output_nr in slots else ct
        if node.sequence_nr not in queued:
            queued[node.sequence_nr] = node
            heapq.heappush(heap, (-node.sequence_nr, node.sequence_nr))

    results: dict[Edge, Any] = {}
    # Traced adjoint nodes carry the line of their forward node.
    trace = STATE.traces[-1] if STATE.traces else None
    lines = (trace.keep_lines, trace.where) if trace is not None else (True, "")
    if trace is not None:
        trace.keep_lines = False
    previous = MODE.enabled
    MODE.enabled = create_graph
    try:
        for edge, ct in roots:
            receive(edge, ct)
        while heap:
            node = queued[heapq.heappop(heap)[1]]
            slots = cotangents.pop(node)
            hooks = node.hooks
            if hooks is not None:
                slots = before_node(hooks, slots, create_graph, targets, node, results)
            elif targets is not None:
                for nr in slots:
                    if Edge(node, nr) in targets:
                        results[Edge(node, nr)] = slots[nr]
            if isinstance(node, AccumulateGrad):
                if targets is None:
                    results[Edge(node, 0)] = slots[0]
                continue
            if node.saved is None:
                raise RuntimeError(FREED)
            wanted = [e is not None and (needed is None or e.node in needed) for e in node.edges]
            if any(wanted):
                if trace is not None:
                    trace.where = node.where
                gradients = apply_rules(node, slots, wanted, create_graph)
                for hook in tuple(hooks.post.values()) if hooks is not None else ():
                    gradients = hook(gradients, slots) or gradients
                for e, g in zip(node.edges, gradients, strict=True):
                    if e is not None and g is not None:
                        receive(e, g)
            if not retain_graph:
                node.release()
    finally:
        MODE.enabled = previous
        if trace is not None:
            trace.keep_lines, trace.where = lines
    return results


def before_node(
    hooks: NodeHooks, slots: dict[int, Any], create_graph: bool, targets: dict[Edge, int] | None, node: Node, results: dict[Edge, Any]
) -> dict[int, Any]:
    """Run what stands before a node's rule: hooks of its outputs, then those who keep the cotangents, then hooks of the node."""
    for nr, functions in hooks.tensor.items():
        if nr in slots:
            for function in tuple(functions.values()):
                slots[nr] = function(slots[nr])
    for nr, reference in hooks.retained.items():
        tensor = reference()
        if tensor is not None and nr in slots:
            tensor._accumulate_grad(slots[nr], create_graph)
    if targets is not None:
        for nr in slots:
            if Edge(node, nr) in targets:
                results[Edge(node, nr)] = slots[nr]
    for function in tuple(hooks.pre.values()):
        slots = function(slots)
    return slots


def _needed(roots: Sequence[tuple[Edge, Any]], targets: dict[Edge, int]) -> set[Node]:
    """The nodes on a path from a root to a target."""
    wanted = {e.node for e in targets}
    oldest = min((n.sequence_nr for n in wanted), default=0)
    order: list[Node] = []
    seen: set[Node] = set()
    stack = [e.node for e, _ in roots]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        if not isinstance(node, AccumulateGrad) and (node.sequence_nr > oldest or any(isinstance(w, AccumulateGrad) for w in wanted)):
            stack.extend(e.node for e in node.edges if e is not None)
    needed = set(wanted) & seen
    # Producers were created before consumers, except leaves, whose node is made on first use.
    for node in sorted((n for n in order if not isinstance(n, AccumulateGrad)), key=lambda n: n.sequence_nr):
        if any(e is not None and e.node in needed for e in node.edges):
            needed.add(node)
    return needed


def unpack(node: Node, saved: Saved, create_graph: bool) -> Any:
    """What a rule reads: raw data when nothing is recorded, else the boxed value with its history."""
    box, data, version = saved
    if box is None:
        if node.counters is not None and node.counters[version][0] and isinstance(data, np.ndarray):
            raise RuntimeError(modified(data, node, version, node.counters[version][0], 0))
        if create_graph or isinstance(data, Var):
            return BOX[0](data, node if create_graph else None, version)
        return data
    if not isinstance(box, Value):
        return box
    boxed: Any = box
    if boxed._base is not None:
        # A view whose base was written to since must not be taken for what it was when it was saved.
        boxed._refresh()
    if boxed._data is data:
        if boxed._version_counter[0] != version and isinstance(data, np.ndarray):
            producer, nr = (boxed.grad_fn, boxed.output_nr) if boxed.requires_grad else (None, 0)
            raise RuntimeError(modified(data, producer, nr, boxed._version_counter[0], version))
        value = boxed
    else:
        value = boxed._past_with(data)
    if create_graph or (value._tangents and STATE.levels):
        return value
    return BOX[0](data, None, 0) if isinstance(data, Var) or STATE.traces else data


KINDS = {
    "float64": "DoubleTensor",
    "float32": "FloatTensor",
    "complex128": "ComplexDoubleTensor",
    "complex64": "ComplexFloatTensor",
    "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "bool": "BoolTensor",
}
"""What torch calls tensors of these dtypes in messages."""


def modified(data: np.ndarray[Any, Any], producer: Node | None, nr: int, version: int, expected: int) -> str:
    """The message about a saved value that was overwritten."""
    source = "" if producer is None else f", which is output {nr} of {producer.name()},"
    return (
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[tracegrad.{KINDS.get(data.dtype.name, 'Tensor')} {list(data.shape)}]{source} is at version {version}; expected version "
        f"{expected} instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "tracegrad.autograd.set_detect_anomaly(True); or use an out-of-place operation, or clone the tensor before it is modified."
    )


def apply_rules(node: Node, cts: dict[int, Any], wanted: Sequence[bool], create_graph: bool) -> list[Any]:
    """The cotangents of a node's inputs."""
    op, saved = node.op, node.saved
    assert op is not None
    assert saved is not None
    many = len(node.out_types) != 1
    if isinstance(op.vjp, tuple):
        names: dict[Any, Any] = {name: unpack(node, s, create_graph) for name, s in saved.items()}
        if many:
            for k, type in enumerate(node.out_types):
                names[f"ct{k}"] = cts[k] if k in cts else zeros(type)
        else:
            names["ct"] = cts[0]
        params = node.params
        result: list[Any] = []
        for k, want in enumerate(wanted):
            rule = op.vjp[k]
            if not want or rule is None:
                result.append(None)
                continue
            given = {n: (node.in_types[k] if n == "like" else params[n]) for n in rule.keywords}
            result.append(rule.function(*[names[n] for n in rule.positional], **given))
        return result
    assert op.vjp is not None
    inputs = [unpack(node, saved["in", k], create_graph) for k in range(len(node.edges))]
    outs = [unpack(node, saved["out", k], create_graph) for k in range(len(node.out_types))]
    full = [cts.get(k) for k in range(len(node.out_types))]
    return list(op.vjp(full, inputs, outs, list(wanted), **node.params))


def zeros(type: Any) -> Any:
    """A zero array that takes no memory."""
    return broadcast_to(type.dtype.type(0), type.shape)


def gradient(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[Any]:
    """Vector-Jacobian product on the tape; None for an input that the outputs do not depend on."""
    roots = [(o._edge(), ct) for o, ct in zip(outputs, cotangents, strict=True) if isinstance(o, Value) and o.requires_grad]  # type: ignore[attr-defined]
    targets = {x._edge(): k for k, x in enumerate(inputs)}
    found = sweep(roots, targets, create_graph, create_graph if retain_graph is None else retain_graph)
    return [found.get(x._edge()) for x in inputs]


__all__ = ["apply_rules", "gradient", "set_grad_enabled", "sweep", "unpack", "zeros"]
