"""The reverse sweep: cotangents flow from outputs to inputs along the tape, latest node first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Sequence
from heapq import heappop, heappush
from typing import Any

from ..ir.dispatch import PROFILES, STATE, Value
from ..ir.recording import OFF, span
from ..ops import add, broadcast_to
from .anomaly_mode import ANOMALY, watched
from .grad_mode import set_grad_enabled
from .hooks import run_posthooks, run_prehooks, run_tensor_hooks
from .mode import MODE
from .pulled import pull_of
from .saved import FREED, unpack, unpack_result
from .tape import AccumulateGrad, Edge, Node, Producer


class Task:
    """What is known about a sweep while it runs."""

    __slots__ = ("callbacks", "needed", "notes", "roots")

    def __init__(self, roots: Sequence[tuple[Edge, Any]], needed: dict[Producer, bool] | None) -> None:
        self.roots, self.needed = roots, needed
        self.callbacks: list[Callable[[], Any]] = []
        """What runs when the sweep is through."""
        self.notes: dict[Any, Any] = {}
        """What hooks that work together have seen of it."""

    def reached(self) -> Container[Producer]:
        """The nodes at which this sweep arrives."""
        if self.needed is None:
            self.needed = _needed(self.roots, None)
        return self.needed


class _Running(threading.local):
    """The innermost sweep of this thread."""

    task: Task | None = None


RUNNING = _Running()


def sweep(
    roots: Sequence[tuple[Edge, Any]],
    targets: dict[Edge, int] | None,
    create_graph: bool = False,
    retain_graph: bool = False,
    accumulate: bool = False,
    whole: bool = False,
) -> dict[Edge, Any]:
    """Cotangents of the target edges, given cotangents of the roots. With `accumulate` the leaves among the targets (with None: all
    leaves reached) add theirs to `.grad` when it is complete. `whole` tells that the targets are all the leaves that the roots depend on.

    Visits nodes in the reverse of their creation order, which is a topological order, with a heap instead of recursion.
    """
    needed = None if whole or targets is None else _needed(roots, targets)
    # What has received cotangents, and a heap whose first entry is the latest of them.
    pending: dict[Producer, dict[int, Any]] = {}
    heap: list[tuple[int, Producer]] = []

    results: dict[Edge, Any] = {}
    # Traced adjoint nodes carry the line of their forward node.
    trace = STATE.traces[-1] if STATE.traces else None
    lines = (trace.keep_lines, trace.where, trace.note) if trace is not None else (True, "", "")
    if trace is not None:
        trace.keep_lines = False
    apply = apply_logged if PROFILES and trace is None else apply_rules
    if STATE.special and ANOMALY.enabled:
        apply = watched(apply)
    quick = not (create_graph or STATE.special or PROFILES)
    task = Task(roots, needed)
    outer, RUNNING.task = RUNNING.task, task
    previous = MODE.enabled
    MODE.enabled = create_graph
    try:
        edges: Sequence[Edge | None] = [edge for edge, _ in roots]
        gradients: Sequence[Any] = [ct for _, ct in roots]
        while True:
            for edge, ct in zip(edges, gradients):  # noqa: B905 - strict costs as much as all else in this loop
                if ct is None or edge is None:
                    continue
                producer, nr = edge
                if needed is not None and producer not in needed:
                    continue
                found = pending.get(producer)
                if found is None:
                    pending[producer] = {nr: ct}
                    heappush(heap, (-producer.sequence_nr, producer))
                else:
                    found[nr] = ct if nr not in found else found[nr] + ct if quick else add(found[nr], ct)
            if not heap:
                break
            node = heappop(heap)[1]
            slots = pending.pop(node)
            edges = gradients = ()
            hooks = node.hooks
            if hooks is not None:
                run_tensor_hooks(hooks, slots, lambda tensor, ct: receive(tensor, ct, create_graph))
            if targets is not None:
                for nr in slots:
                    if (node, nr) in targets:
                        results[node, nr] = slots[nr]
            if not isinstance(node, Node):
                if accumulate:
                    arrive(node, slots, create_graph)
                continue
            if needed is not None and not needed[node]:
                continue
            if trace is not None:
                trace.where, trace.note = node.where, f"adjoint of {node.op.name}"
            if hooks is not None and hooks.pre:
                slots = run_prehooks(hooks, count_of(node), slots)
            edges = node.edges
            if not slots:  # a hook has taken all cotangents away
                gradients = [None] * len(edges)
            elif quick and (pull := node.plan.pull) is not None and node.rest is None:
                gradients = pull(node, slots[0], needed)
            else:
                gradients = apply(node, slots, needed, create_graph, trace is not None)
            if hooks is not None and hooks.post:
                gradients = run_posthooks(hooks, gradients, count_of(node), slots)
            if not retain_graph:
                node.release()
        for function in task.callbacks:  # which may queue more
            function()
    finally:
        RUNNING.task = outer
        MODE.enabled = previous
        if trace is not None:
            trace.keep_lines, trace.where, trace.note = lines
    return results


def release(roots: Sequence[tuple[Edge, Any]], targets: dict[Edge, int]) -> None:
    """Free what a sweep from the roots to the targets would have freed."""
    for node, goes_on in _needed(roots, targets).items():
        if isinstance(node, Node) and goes_on:
            node.release()


def count_of(node: Producer) -> int:
    """How many results a node's operation has."""
    return 1 if node.types is None else len(node.types)


_ACCUMULATING = threading.RLock()
"""Held while a `.grad` is read and written: sweeps of several threads may end in the same leaf."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ACCUMULATING._at_fork_reinit)  # type: ignore[attr-defined]


def receive(tensor: Any, ct: Any, create_graph: bool) -> None:
    """Add a cotangent to a tensor's `.grad`."""
    if PROFILES:
        with _ACCUMULATING, span("AccumulateGrad", "backward"):
            tensor._accumulate_grad(ct, create_graph)
    else:
        with _ACCUMULATING:
            tensor._accumulate_grad(ct, create_graph)


def arrive(node: Any, slots: dict[int, Any], create_graph: bool) -> None:
    """A leaf's cotangent is complete: hooks of its node, `.grad`, then those who wait for that."""
    hooks, variable = node.hooks, node.variable
    if hooks is not None and hooks.pre:
        slots = run_prehooks(hooks, 1, slots)
    if slots:
        receive(variable, slots[0], create_graph)
    if hooks is not None:
        for function in tuple(variable._hooks.accumulated.values()):
            function(variable)
        if hooks.post:
            run_posthooks(hooks, (), 1, slots)


def _needed(roots: Sequence[tuple[Edge, Any]], targets: dict[Edge, int] | None) -> dict[Producer, bool]:
    """The nodes on a path from a root to a target (with None: to a leaf), and whether it goes on from there: else the node's rule need
    not run."""
    wanted = {node for node, _ in targets} if targets is not None else ()
    # Producers were created before consumers, except leaves, whose node is made on first use.
    leaves = targets is None or any(isinstance(w, AccumulateGrad) for w in wanted)
    oldest = min((n.sequence_nr for n in wanted), default=0)
    found: dict[int, Producer] = {}
    stack = [node for (node, _), _ in roots]
    while stack:
        node = stack.pop()
        number = node.sequence_nr
        if number in found:
            continue
        found[number] = node
        if leaves or number > oldest:
            for e in node.edges:
                if e is not None and e[0].sequence_nr not in found:
                    stack.append(e[0])  # noqa: PERF401 - a comprehension costs a function call
    needed: dict[Producer, bool] = {}
    for number in sorted(found):
        node = found[number]
        for e in node.edges:
            if e is not None and e[0] in needed:
                needed[node] = True
                break
        else:
            if node in wanted or (targets is None and isinstance(node, AccumulateGrad)):
                needed[node] = False
    return needed


def apply_rules(node: Node, cts: dict[int, Any], needed: Container[Producer] | None, create_graph: bool, traced: bool = False) -> list[Any]:
    """The cotangents of a node's inputs, None of those that are not on the way to a target."""
    op, edges, plan, saved = node.op, node.edges, node.plan, node.saved
    if needed is not None:
        edges = [e if e is not None and e[0] in needed else None for e in edges]
    if saved is None:
        raise RuntimeError(FREED)
    plain = not (create_graph or traced)
    rest = node.rest
    if rest is not None and plain and edges == node.edges:
        count = len(plan.inputs)
        read = [unpack(saved[k], False) for k in rest.inputs]
        made = [unpack_result(node, saved[count + k], False) for k in rest.outputs]
        return rest.run([cts.get(k) for k in range(len(plan.outputs))], read, made)
    fixed = plan.rules
    if plan.pull is None and fixed and node.types is None:
        plan.pull = pull_of(op, plan)
    values: list[Any] = []
    if fixed:
        if node.types is None:
            values.append(cts[0])
        else:
            values.extend(cts[k] if k in cts else zeros(type) for k, type in enumerate(node.types))
    inputs = len(plan.inputs)
    for one in saved[:inputs] if plan.outputs else saved:
        box, data, version = one
        if (
            plain
            and box is not None
            and box._data is data
            and box._base is None
            and box._tangents is None
            and (box._versions is None or box._versions[0] == version)
        ):
            values.append(data)
        else:
            values.append(unpack(one, create_graph))
    if plan.outputs:
        values.extend([unpack_result(node, one, create_graph) for one in saved[inputs:]])
    if not fixed:
        assert callable(op.vjp)
        wanted = [e is not None for e in edges]
        count = 1 if node.types is None else len(node.types)
        return list(op.vjp([cts.get(k) for k in range(count)], values[:inputs], values[inputs:], wanted, **node.params))
    gradients: list[Any] = [None] * len(edges)
    params = node.params
    for k, function, places, keywords, like in fixed:
        edge = edges[k]
        if edge is None:
            continue
        count = len(places)
        if keywords or count > 2:
            given = {n: params[n] for n in keywords}
            if like:
                given["like"] = like_of(edge)
            gradients[k] = function(*[values[p] for p in places], **given)
        elif count == 1:
            gradients[k] = function(values[places[0]], like=like_of(edge)) if like else function(values[places[0]])
        else:
            x, y = values[places[0]], values[places[1]]
            gradients[k] = function(x, y, like=like_of(edge)) if like else function(x, y)
    return gradients


def apply_logged(
    node: Node, cts: dict[int, Any], needed: Container[Producer] | None, create_graph: bool, traced: bool = False
) -> list[Any]:
    """`apply_rules`, as an entry of the profile that is open in this thread."""
    with span(node.name(), "backward", node.sequence_nr):
        return apply_rules(node, cts, needed, create_graph, traced)


def like_of(edge: Edge) -> Any:
    """What has the dtype and the shape of the value at the start of an edge."""
    producer, nr = edge
    return producer if producer.types is None else producer.types[nr]


def zeros(type: Any) -> Any:
    """A zero array that takes no memory."""
    return broadcast_to(type.dtype.type(0), type.shape)


def gradient(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    create_graph: bool = False,
    retain_graph: bool | None = None,
    whole: bool = False,
) -> list[Any]:
    """Vector-Jacobian product on the tape; None for an input that the outputs do not depend on. `whole` as for `sweep`."""
    roots = [(o._edge(), ct) for o, ct in zip(outputs, cotangents, strict=True) if isinstance(o, Value) and o.requires_grad]  # type: ignore[attr-defined]
    edges = [x._edge() for x in inputs]
    targets = {edge: k for k, edge in enumerate(edges)}
    with span(f"{STATE.traces[-1].name}: derive") if PROFILES and STATE.traces else OFF:
        found = sweep(roots, targets, create_graph, create_graph if retain_graph is None else retain_graph, whole=whole)
    return [found.get(edge) for edge in edges]


__all__ = ["apply_rules", "gradient", "release", "set_grad_enabled", "sweep", "unpack", "zeros"]
