"""The reverse sweep: cotangents flow from outputs to inputs along the tape, latest node first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any, TypeAlias

from .._codegen import locks
from ..autograd.anomaly_mode import ANOMALY, watched
from ..autograd.grad_mode import set_grad_enabled
from ..devices import IN_USE, DeviceArray
from ..ir import upward
from ..ir.dispatch import PROFILES, SPECIAL, STATE, Value
from ..ir.graph import Var, adjoint_name
from ..ir.recording import OFF, span
from ..ops import add, broadcast_to
from .deep import IN_ONE_THREAD, elsewhere
from .hooks import run_posthooks, run_prehooks, run_tensor_hooks
from .mode import MODE, RECORDING, RECORDS
from .pieces import as_saved
from .reshaped import RESHAPED, check_shapes
from .rule_reads import READS
from .rule_text import pull_of
from .saved import FREED, unpack, unpack_result
from .tape import AccumulateGrad, Edge, End, Node, Producer


class SweepTask:
    """What is known about a sweep while it runs."""

    __slots__ = ("callbacks", "depth", "needed", "notes", "roots")

    def __init__(
        self, roots: Sequence[tuple[Edge, Any]], needed: dict[int, bool] | None, depth: int
    ) -> None:
        self.roots, self.needed, self.depth = roots, needed, depth
        self.callbacks: list[Callable[[], Any]] = []
        """What runs when the sweep is through."""
        self.notes: dict[Any, Any] = {}
        """What hooks that work together have seen of it."""

    def reached(self) -> Container[int]:
        """The numbers of the nodes and leaves at which this sweep arrives."""
        if self.needed is None:
            self.needed = _needed(self.roots, None)
        return self.needed


class _Running(threading.local):
    """The innermost sweep of this thread."""

    task: SweepTask | None = None
    fresh = False
    """Whether this thread was made for the sweep that comes next."""


RUNNING = _Running()


Place: TypeAlias = tuple[int, int]
"""An edge by the number of what it leads to: a leaf and its node have the same."""


def place(edge: Edge) -> Place:
    """What a sweep knows an edge by."""
    return edge[0]._order, edge[1]


def sweep(
    roots: Sequence[tuple[Edge, Any]],
    targets: Collection[Place] | None,
    create_graph: bool = False,
    retain_graph: bool = False,
    accumulate: bool = False,
    whole: bool = False,
    follow: bool = False,
) -> dict[Place, Any]:
    """Cotangents of the targets, given cotangents of the roots. With `accumulate` the leaves among
    the targets (with None: all leaves reached) add theirs to `.grad` when it is complete. `whole`
    tells that the targets are all the leaves that the roots depend on. With `follow` the sweep
    records from where a rule of the user's has read something tracked (rule_reads.py).

    Visits nodes in the reverse of their creation order, which is a topological order, with a heap
    instead of recursion.
    """
    outer = RUNNING.task
    if (
        outer is not None
        and outer.depth % IN_ONE_THREAD == 0
        and not STATE.traces
        and not RUNNING.fresh
    ):
        return elsewhere(
            partial(
                _inside,
                outer,
                roots,
                targets,
                create_graph,
                retain_graph,
                accumulate,
                whole,
                follow,
            ),
            outer.depth,
        )
    if RESHAPED:
        check_shapes(_behind(roots, 0))
    needed = None if whole or targets is None else _needed(roots, targets)
    wanted = frozenset(targets) if targets is not None else frozenset()
    special = SPECIAL and STATE.special
    # Traced adjoint nodes carry the line of their forward node.
    trace = STATE.traces[-1] if special and STATE.traces else None
    lines = (trace.keep_lines, trace.where, trace.note) if trace is not None else (True, "", "")
    if trace is not None:
        trace.keep_lines = False
        for opened in STATE.traces:
            opened.swept = True
    apply = apply_logged if PROFILES and trace is None else apply_rules
    if special and ANOMALY.enabled:
        apply = watched(apply)
    quick = not (create_graph or special or PROFILES or IN_USE)
    task = SweepTask(roots, needed, 1 if outer is None else outer.depth + 1)
    previous = RECORDS()
    try:
        RUNNING.task, RUNNING.fresh = task, False
        MODE.enabled = create_graph
        results = _visit(
            task, wanted, trace, apply, quick, create_graph, retain_graph, accumulate, follow
        )
        for function in task.callbacks:  # which may queue more
            function()
    finally:
        # No function of Python's is called first: an interrupt would come between.
        RUNNING.task = outer
        RECORDING.set(previous)
        if trace is not None:
            trace.keep_lines, trace.where, trace.note = lines
    return results


def _visit(
    task: SweepTask,
    wanted: frozenset[Place],
    trace: Any,
    apply: Callable[..., Any],
    quick: bool,
    create_graph: bool,
    retain_graph: bool,
    accumulate: bool,
    follow: bool,
) -> dict[Place, Any]:
    """The loop of a sweep. A function of its own: from 3.12 on, an interrupt at the jump back to
    the start of a loop passes by the `finally` of a `try` in the same function."""
    roots, needed = task.roots, task.needed
    # What has received cotangents by its number, and a heap whose first entry is minus the latest
    # of them.
    pending: dict[int, tuple[End, dict[int, Any]]] = {}
    heap: list[int] = []

    results: dict[Place, Any] = {}
    ends = {number for number, _ in wanted}
    edges: Sequence[Edge | None] = [edge for edge, _ in roots]
    gradients: Sequence[Any] = [ct for _, ct in roots]
    while True:
        # Not strict, which costs as much as all else in this loop.
        for edge, ct in zip(edges, gradients):  # noqa: B905
            if ct is None or edge is None:
                continue
            end, nr = edge
            number = end._order
            if needed is not None and number not in needed:
                continue
            known = pending.get(number)
            if known is None:
                pending[number] = end, {nr: ct}
                heappush(heap, -number)
            else:
                slots = known[1]
                slots[nr] = (
                    ct if nr not in slots else slots[nr] + ct if quick else add(slots[nr], ct)
                )
        if not heap:
            break
        number = -heappop(heap)
        node, slots = pending.pop(number)
        ct = None
        edges = gradients = ()
        if not isinstance(node, Node):
            leaf: Any = node.variable if isinstance(node, AccumulateGrad) else node
            if leaf._hooks is not None:
                run_tensor_hooks(leaf._hooks.node, slots, create_graph, receive)
            if trace is not None:
                trace.call(slots.get(0), adjoint_name(leaf._data))
            if number in ends:
                results[number, 0] = slots[0]
            # A leaf that no longer asks for its gradient: the user said so, or it was the
            # argument of a derivative that is done.
            if accumulate and leaf._requires_grad:
                arrive(leaf, slots, create_graph)
            continue
        hooks = node.hooks
        if hooks is not None:
            run_tensor_hooks(hooks, slots, create_graph, receive)
        if number in ends:
            results.update({(number, nr): slots[nr] for nr in slots if (number, nr) in wanted})
        if needed is not None and not needed[number]:
            continue
        if trace is not None:
            trace.where, made = node.traced
            trace.note = f"adjoint of {node.op.name}"
            for nr, ct in slots.items() if made else ():
                trace.call(ct, adjoint_name(made[nr]))
        if hooks is not None and hooks.pre:
            slots = run_prehooks(hooks, count_of(node), slots)
        edges = node.edges
        if not slots:  # a hook has taken all cotangents away
            gradients = [None] * len(edges)
        elif quick and (pull := node.plan.pull) is not None and node.rest is None:
            gradients = pull(node, slots[0], needed)
        else:
            gradients = apply(node, slots, needed, create_graph, trace is not None)
            if follow and READS.tracked:
                # What comes from here depends on that; what came before does not.
                create_graph, quick, follow, MODE.enabled = True, False, False, True
        if hooks is not None and hooks.post:
            gradients = run_posthooks(hooks, gradients, count_of(node), slots)
        if not retain_graph:
            node.release()
    return results


def _inside(outer: SweepTask, *given: Any) -> dict[Place, Any]:
    """A sweep inside of one that waits in another thread."""
    RUNNING.task, RUNNING.fresh = outer, True
    return sweep(*given)


def release(roots: Sequence[tuple[Edge, Any]], targets: Collection[Place]) -> None:
    """Free what a sweep from the roots to the targets would have freed."""
    found = _behind(roots, min(number for number, _ in targets))
    for number, goes_on in _needed(roots, targets).items():
        node = found[number]
        if isinstance(node, Node) and goes_on:
            node.release()


def count_of(node: Producer) -> int:
    """How many results a node's operation has."""
    return 1 if node._types is None else len(node._types)


_ACCUMULATING = locks.lock()
"""Held while a `.grad` is read and written: sweeps of several threads may end in the same leaf."""


def receive(tensor: Any, ct: Any, create_graph: bool, alone: bool = False) -> None:
    """Add a cotangent to a tensor's `.grad`; one that stands `alone` may become it."""
    if PROFILES:
        with _ACCUMULATING, span("AccumulateGrad", "backward"):
            tensor._accumulate_grad(ct, create_graph)
    else:
        with _ACCUMULATING:
            tensor._accumulate_grad(ct, create_graph, alone)


def _references() -> int:
    only = object()
    return getrefcount(only)


ALONE = _references()
"""What `getrefcount` says of an object that one local variable holds and nothing else."""


def arrive(leaf: Any, slots: dict[int, Any], create_graph: bool) -> None:
    """A leaf's cotangent is complete: hooks of its node, `.grad`, then those who wait for that."""
    if leaf._hooks is None:
        ct = slots.pop(0)
        alone = getrefcount(ct) == ALONE
        receive(leaf, ct, create_graph, alone)
        return
    hooks = leaf._hooks.node
    if hooks.pre:
        slots = run_prehooks(hooks, 1, slots)
    if slots:
        receive(leaf, slots[0], create_graph)
    for function in tuple(leaf._hooks.accumulated.values()):
        if function(leaf) is not None:
            name = getattr(function, "__name__", type(function).__name__)
            raise RuntimeError(
                "Tensor post accumulate grad hooks should return None, "
                f"but {name} returned something else."
            )
    if hooks.post:
        run_posthooks(hooks, (), 1, slots)


def _behind(roots: Sequence[tuple[Edge, Any]], oldest: int) -> dict[int, End]:
    """All nodes and leaves that the roots depend on, by number; of what is older than `oldest` only
    a part."""
    found: dict[int, End] = {}
    stack = [end for (end, _), _ in roots]
    while stack:
        end = stack.pop()
        number = end._order
        if number in found:
            continue
        found[number] = end
        if number > oldest and isinstance(end, Node):
            for e in end.edges:
                if e is not None:
                    stack.append(e[0])  # noqa: PERF401 - a comprehension costs a function call
    return found


def _needed(
    roots: Sequence[tuple[Edge, Any]], targets: Collection[Place] | None
) -> dict[int, bool]:
    """The numbers of the nodes on a path from a root to a target (with None: to a leaf), and
    whether it goes on from there: else the node's rule need not run."""
    wanted = {number for number, _ in targets} if targets is not None else ()
    found = _behind(roots, min(wanted, default=0))
    needed: dict[int, bool] = {}
    for number in sorted(found):
        node = found[number]
        if isinstance(node, Node):
            for e in node.edges:
                if e is not None and e[0]._order in needed:
                    needed[number] = True
                    break
            else:
                if number in wanted:
                    needed[number] = False
        elif targets is None or number in wanted:
            needed[number] = False
    return needed


def _known(cts: dict[int, Any]) -> bool:
    """Whether cotangents are arrays, and no variables of a trace beside running code."""
    return not any(isinstance(getattr(ct, "_data", None), Var) for ct in cts.values())


def apply_rules(
    node: Node,
    cts: dict[int, Any],
    needed: Container[int] | None,
    create_graph: bool,
    traced: bool = False,
) -> list[Any]:
    """The cotangents of a node's inputs, None of those that are not on the way to a target."""
    op, edges, plan, saved = node.op, node.edges, node.plan, node.saved
    if needed is not None:
        edges = [e if e is not None and e[0]._order in needed else None for e in edges]
    if saved is None:
        raise RuntimeError(FREED)
    plain = not (create_graph or traced)
    rest = node.rest
    if rest is not None and plain and edges == node.edges and _known(cts):
        count = len(plan.inputs)
        read = [unpack(saved[k], False) for k in rest.inputs]
        made = [unpack_result(node, saved[count + k], False) for k in rest.outputs]
        return rest.run([cts.get(k) for k in range(count_of(node))], read, made)
    fixed = plan.rules
    if plan.pull is None and fixed and node._types is None:
        plan.pull = pull_of(op, plan)
    values: list[Any] = []
    if fixed:
        if node._types is None:
            values.append(cts[0])
        else:
            values.extend(cts[k] if k in cts else zeros(type) for k, type in enumerate(node._types))
    inputs = len(plan.inputs)
    for one in saved[:inputs] if plan.outputs else saved:
        box, data, version = one
        if plain and box is not None and as_saved(box, data, version):
            values.append(data)
        else:
            values.append(unpack(one, create_graph))
    if plan.outputs:
        values.extend([unpack_result(node, one, create_graph) for one in saved[inputs:]])
    if IN_USE:
        values = [upward.FACES.box(x, None, 0) if type(x) is DeviceArray else x for x in values]
    if not fixed:
        assert callable(op.vjp)
        wanted = [e is not None for e in edges]
        return list(
            op.vjp(
                [cts.get(k) for k in range(count_of(node))],
                values[:inputs],
                values[inputs:],
                wanted,
                **node.params,
            )
        )
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
            gradients[k] = (
                function(values[places[0]], like=like_of(edge))
                if like
                else function(values[places[0]])
            )
        else:
            x, y = values[places[0]], values[places[1]]
            gradients[k] = function(x, y, like=like_of(edge)) if like else function(x, y)
    return gradients


def apply_logged(
    node: Node,
    cts: dict[int, Any],
    needed: Container[int] | None,
    create_graph: bool,
    traced: bool = False,
) -> list[Any]:
    """`apply_rules`, as an entry of the profile that is open in this thread."""
    with span(node.name(), "backward", node._order):
        return apply_rules(node, cts, needed, create_graph, traced)


def like_of(edge: Edge) -> Any:
    """What has the dtype and the shape of the value at the start of an edge."""
    end, nr = edge
    return end if end._types is None else end._types[nr]


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
    follow: bool = False,
) -> list[Any]:
    """Vector-Jacobian product on the tape; None for an input that the outputs do not depend on.
    `whole` and `follow` as for `sweep`."""
    roots = [
        (o._end(), ct)
        for o, ct in zip(outputs, cotangents, strict=True)
        if isinstance(o, Value) and o._requires_grad
    ]
    targets = [place(x._end()) for x in inputs]
    with span(f"{STATE.traces[-1].name}: derive") if PROFILES and STATE.traces else OFF:
        found = sweep(
            roots,
            targets,
            create_graph,
            create_graph if retain_graph is None else retain_graph,
            whole=whole,
            follow=follow,
        )
    return [found.get(target) for target in targets]


__all__ = [
    "apply_rules",
    "gradient",
    "place",
    "release",
    "set_grad_enabled",
    "sweep",
    "unpack",
    "zeros",
]
