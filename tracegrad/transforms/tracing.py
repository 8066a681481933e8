"""Calling a Python function with symbolic values, and getting its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checks import array
from ..devices import Device, DeviceArray
from ..dtypes import SHORT, SUPPORTED, is_differentiable, of_another_library
from ..errors import DTypeError, TracegradError
from ..faces.writing import CHANGING
from ..ir.dispatch import STATE, bind, current
from ..ir.graph import Graph, Var
from ..ir.graph import Node as GraphNode
from ..ir.operands import plain_array
from ..ir.trace import Stager, Trace, user_line
from ..ops.elementwise.elementary import identity_op
from ..ops.random import draws
from ..ops.totals.statistics import no_grad_op
from ..sizes import Size, Sizes
from ..tape.hooks import Registered, TensorHooks, boxed
from ..tape.modes import restoring
from ..tape.tape import End, Node, next_number
from ..tensor import Array, Boxed, Tensor, ZeroDimensional, unbox
from ..tree import flatten, unflatten
from ..types import ArrayType
from ..weak import KINDS, WEAK
from .constants import fold_constants


@dataclass(frozen=True, eq=False)
class Traced:
    """What tracing a function gave: the graph (captures are its last inputs), and how to rebuild
    the result."""

    graph: Graph
    captures: list[Any]
    out_spec: Any
    out_boxed: tuple[bool, ...]
    """Which results are Tensors."""
    writes: tuple[int, ...] = ()
    """Which arguments the function wrote to; their new values are the last outputs, in this
    order."""
    generators: tuple[Any, ...] = ()
    """The random generators that were drawn from; their raised counters are outputs after the
    writes."""
    folded: bool = False
    """Whether constant arrays became formulas of the graph."""
    grads: tuple[int, ...] = ()
    """Which arguments brought a `.grad`: these are inputs behind the arguments."""
    changes: tuple[Change, ...] = ()
    """What else the function changed; the new values are outputs after the writes."""
    history: tuple[str, ...] = ()
    """Of each result, write and changed value: "" (a constant to reverse mode), "live", or "spent"
    (a sweep inside freed its history)."""
    asked: tuple[Any, ...] = ()
    """The boxes from outside whose `grad` the function looked at."""
    reads_grads: bool = False
    """Whether it looked at the `grad` of an argument."""
    device: Device | None = None
    """Where it has to run: on the device of an argument or of what it read; None where all that is
    on the CPU."""
    swept: bool = False
    """Whether a backward pass ran inside, which calls the hooks of what it reaches."""
    deciding: tuple[Any, ...] = ()
    """Captured arrays and boxes whose elements decided what was recorded."""


class Change(NamedTuple):
    """Something that a traced function did to a box that it did not make."""

    target: int | Any
    """The number of the argument, or the box itself where it came from outside."""
    what: str
    """"data" of an outer box, "grad" (set), "grad data" (written to in place), "flag"
    (`requires_grad`)."""
    value: Any = None
    """Of a flag: the new one. Of others: whether there is an output (else the gradient was set to
    None)."""


@restoring
def trace_function(
    function: Callable[..., Any],
    spec: Any,
    types: Sequence[ArrayType],
    faces: Sequence[type[Boxed]],
    names: Sequence[str] = (),
    name: str = "",
    sizes: Sizes | None = None,
    static: dict[str, Any] | None = None,
    standing: Sequence[Standing] = (),
    changing: bool = False,
    device: Device | None = None,
    watch: Any = None,
    repeated: str = "",
    stager: Stager | None = None,
) -> Traced:
    """Trace `function(*args, **kwargs)` where `spec` is the structure of (args, kwargs) and `types`
    its leaves.

    `standing` says where the arguments stand on the tape (nowhere, by default). What the function
    does to boxes from outside is undone, and handed over as `changes` where the caller is ready to
    carry it out (`changing`); else it is an error. `device` is where the arguments lie, if that is
    no host. `watch` looks at the Python state around the function (surroundings/state.py); what has
    to be stored of it at each call are further outputs. What is traced once and runs as often as it
    may, as a loop's body does, must not change any: `repeated` says what to do. `stager` is asked
    whether the graph may grow as it does, and sizes become numbers.
    """
    trace = Trace(
        name or getattr(function, "__name__", "function").replace("<lambda>", "lambda_"), sizes
    )
    trace.repeated = repeated
    if device is not None:
        trace.choose_device(device)
    if stager is not None:
        trace.stager, trace.most = stager, 0
    standing = standing or [NOWHERE] * len(types)
    born = next_number()
    outer = (
        [(t.watch, t.watch.mark()) for t in STATE.traces if t.watch is not None] if repeated else []
    )
    with trace:
        variables = [trace.input(t, names[k] if names else "") for k, t in enumerate(types)]
        boxes = [face(v, s.tracked) for face, v, s in zip(faces, variables, standing, strict=True)]
        grads: dict[int, Var] = {}
        for k, s in enumerate(standing):
            if s.grad:
                grads[k] = trace.input(
                    ArrayType(types[k].dtype, types[k].shape),
                    f"{names[k]}_grad" if names and names[k] else "",
                )
                boxes[k]._grad = faces[k](grads[k])
            if s.hooks:
                boxes[k]._hooks = TensorHooks.of(s.hooks)
        before = [b._grad for b in boxes]
        trace.live.update(v for v, s in zip(variables, standing, strict=True) if s.tracked)
        args, kwargs = unflatten(spec, boxes)
        try:
            if watch is not None:
                watch.open(trace, args, kwargs)
            result = function(*args, **kwargs, **(static or {}))
            leaves, out_spec = flatten(result)
            for leaf in leaves:
                check_leaf(leaf, "the traced function returned")
            written = tuple(
                k for k, (b, v) in enumerate(zip(boxes, variables, strict=True)) if b._data is not v
            )
            for b in boxes:
                if b._base is not None:
                    b._refresh()
            done = [
                *_to_arguments(boxes, before, variables, grads, standing, trace.answered),
                *_to_others(trace, boxes),
            ]
            if done and not changing:
                raise TracegradError(
                    f"{user_line()}: {trace.name} changes a Tensor that it was not given "
                    f"({done[0][0].what}), which vmap, loops and custom derivatives cannot carry "
                    "out. Return the new value instead."
                )
            for other, mark in outer:
                other.check(mark, f"inside {trace.name!r}, {repeated}")
            drawn = draws(trace)
            changed = [v for _, v in done if v is not None]
            kept = watch.close(trace) if watch is not None else []
            results = [
                refreshed(x) if isinstance(x, Boxed) else x
                for x in [*leaves, *[boxes[k] for k in written], *changed, *kept]
            ]
            check_hooks(
                [b for b, s in zip(boxes, standing, strict=True) if hooks_of_leaf(b) != s.hooks],
                results,
                trace,
                born,
            )
            reads = any(id(b) in trace.asked for b in boxes)
            if grads and not reads:
                trace.inputs = trace.inputs[: len(boxes)]
                grads = {}
            history = (
                *[history_of(x, trace) for x in leaves],
                *[
                    "" if boxes[k]._grad_fn is None else history_of(boxes[k], trace)
                    for k in written
                ],
                *[
                    "" if c.what == "data" and _stays(c.target, trace) else history_of(v, trace)
                    for c, v in done
                    if v is not None
                ],
                *[history_of(x, trace) for x in kept],
            )
            graph, captures = trace.finish([*results, *[counter for _, counter in drawn]])
        except BaseException:
            draws(trace)  # generators forget it
            raise
        finally:
            if watch is not None:
                watch.restore()
                trace.watch = None
            for box, was in trace.touched.values():
                box._restore(was)
    asked = tuple(trace.asked.values())
    boxed = tuple(isinstance(x, Tensor) for x in leaves)
    # What only the trace itself held is now held by the captures alone.
    del boxes, args, kwargs, result, leaves, results, before, changed, kept
    trace.captures.clear()
    trace.contents.clear()
    if trace.live and (
        any(s.tracked for s in standing)
        or any(isinstance(x, Boxed) and x._on_tape() for x in captures)
    ):
        graph = cut_history(graph, trace.live, history)
    graph, kept = fold_constants(graph, captures)
    return Traced(
        graph,
        kept,
        out_spec,
        boxed,
        written,
        tuple(g for g, _ in drawn),
        len(kept) < len(captures),
        tuple(grads),
        tuple(c for c, _ in done),
        history,
        asked,
        reads,
        trace.device,
        trace.swept,
        tuple(trace.deciding),
    )


class Standing(NamedTuple):
    """Where an argument stands on the tape."""

    tracked: bool = False
    """Whether it requires grad."""
    leaf: bool = True
    grad: bool = False
    """Whether it has a `.grad` that a sweep inside the function would add to."""
    hooks: Registered = ()
    """Of a leaf: its hooks, which a sweep inside the function calls."""


NOWHERE = Standing()
OF_A_TANGENT = Standing(True, False)
"""Of a value of which only a tangent is on the tape: a trace, which sees no tangents, takes the
value for tracked."""


def standing_of(x: Any) -> Standing:
    """Where a value stands on the tape."""
    if not isinstance(x, Boxed) or not x._on_tape():
        return NOWHERE
    if not x._requires_grad:
        return OF_A_TANGENT
    leaf = x._grad_fn is None
    return Standing(
        True,
        leaf,
        leaf and isinstance(x._grad, Boxed) and not x._grad._requires_grad,
        hooks_of_leaf(x) if leaf else (),
    )


def hooks_of_leaf(x: Boxed) -> Registered:
    """The hooks that a sweep calls when it reaches a leaf."""
    return x._hooks.parts() if x._hooks is not None else ()


def _to_arguments(
    boxes: Sequence[Boxed],
    before: Sequence[Any],
    variables: Sequence[Var],
    grads: dict[int, Var],
    standing: Sequence[Standing],
    answered: set[int],
) -> Iterator[tuple[Change, Any]]:
    """What the function did to its arguments besides writing to them, each with the new value (None
    where there is none)."""
    for k, (box, old, v, s) in enumerate(zip(boxes, before, variables, standing, strict=True)):
        if box._grad is not old or (box._grad is None and id(box) in answered):
            yield Change(k, "grad", box._grad is not None), box._grad
        elif k in grads and old._data is not grads[k]:
            yield Change(k, "grad data", True), old
        if box._requires_grad != s.tracked and box._grad_fn is None and box._data is v:
            yield Change(k, "flag", box._requires_grad), None


def _to_others(trace: Trace, boxes: Sequence[Boxed]) -> Iterator[tuple[Change, Any]]:
    """What the function did to boxes that it found around it."""
    own = {id(b) for b in boxes}
    for key, (box, (attributes, _)) in trace.touched.items():
        if key in own or key in trace.made:
            continue
        was = dict(zip(CHANGING, attributes, strict=True))
        if box._data is not was["_data"] and box._base is None:
            yield Change(box, "data", True), box
        if box._grad is not was["_grad"] or (box._grad is None and key in trace.answered):
            yield Change(box, "grad", box._grad is not None), box._grad
        if (
            box._requires_grad != was["_requires_grad"]
            and box._grad_fn is None
            and was["_grad_fn"] is None
        ):
            yield Change(box, "flag", box._requires_grad), None


def _stays(box: Any, trace: Trace) -> bool:
    """Whether a box that was written to stands where it stood on the tape."""
    return box._grad_fn is trace.touched[id(box)][1][0][CHANGING.index("_grad_fn")]


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


def refreshed(x: Boxed) -> Boxed:
    """The box, brought up to date where it is a view of something written to."""
    if x._base is not None:
        x._refresh()
    return x


def check_leaf(x: Any, who: str) -> None:
    """A TypeError where `x` is nothing that a graph can hold."""
    current(x)
    if isinstance(x, (Boxed, bool, int, float, complex, np.generic)):
        dtype = getattr(x, "dtype", None)
        if isinstance(x, int) and not -(2**63) <= x < 2**63:
            way = f". Pass np.uint64({x})." if 0 < x < 2**64 else ""
            raise OverflowError(f"{who} the integer {x}, which int64 does not hold{way}")
    elif isinstance(x, np.ndarray):
        dtype = plain_array(x, who).dtype
    elif isinstance(x, Size):
        return
    else:
        foreign = of_another_library(x)
        if foreign:
            raise TypeError(f"{who} {foreign}. tracegrad cannot follow that library's operations.")
        if x is None and who.endswith("returned"):
            raise TypeError(f"{who} None. Is a `return` missing at its end?")
        raise TypeError(
            f"{who} a {type(x).__name__} ({x!r:.60}), which is neither an array nor a number. "
            "Pass arrays, numbers, and tuples, lists, dicts or dataclasses of them; "
            "name other arguments in static_argnames."
        )
    if dtype is not None and dtype not in SUPPORTED and dtype.name not in SHORT:
        raise DTypeError(
            f"{who} an array of dtype {dtype}; the supported dtypes are {', '.join(SHORT)}. "
            "Convert it with .astype first."
        )


def device_of(values: Sequence[Any]) -> Device | None:
    """The device of the first value that lies on one."""
    for x in values:
        data = x._data if isinstance(x, Boxed) else x
        if type(data) is DeviceArray:
            return data.device
    return None


def leaf_type(x: Any) -> ArrayType:
    """The type as which an argument is traced: Python scalars are weak, boxed values have their
    own."""
    if isinstance(x, Boxed):
        return refreshed(x).array_type
    if isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, WEAK):
        dtype = x.dtype
        return ArrayType(dtype if dtype.isnative else dtype.newbyteorder("="), x.shape)
    dtype = array(x).dtype
    return ArrayType(dtype, (), weak=True)


def face_of(x: Any) -> type[Boxed]:
    """Tensors stay Tensors; all else is traced with NumPy's face."""
    if isinstance(x, Tensor):
        return Tensor
    return (
        ZeroDimensional
        if isinstance(x, ZeroDimensional) or (isinstance(x, np.ndarray) and not x.ndim)
        else Array
    )


def plain(x: Any) -> Any:
    """A result as the caller wants it: an ndarray, a NumPy scalar for 0-d, or the box where it is
    traced, tracked or a Tensor."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Boxed):
        if (
            isinstance(x._data, Var)
            or x._requires_grad
            or (x._tangents and any(k in STATE.levels for k in x._tangents))
        ):
            return x
        x = Tensor(x._data) if type(x._data) is DeviceArray else unbox(x)
        if type(x) in KINDS:
            return x.dtype.type(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def result_of(x: Any, tensor: bool) -> Any:
    """A result as the function itself would give it: a Tensor, or without a box where it needs
    none, a NumPy scalar for a number. What lies on a device is a Tensor."""
    if tensor and STATE.traces and isinstance(x, (np.ndarray, np.generic)):
        x = Array(np.asarray(x))
    if isinstance(x, Boxed):
        tensor = tensor or type(x._data) is DeviceArray
        if tensor and STATE.traces and type(x._data) is np.ndarray and not x._on_tape():
            # A constant goes where the graph runs; a Tensor would lie on the host.
            x = bind(identity_op, [x._as(Array)])
        if x.boxes_everything is not tensor:
            x = x._as(Tensor if tensor else Array)
        if tensor or isinstance(x._data, Var) or x._requires_grad or x._tangents:
            return x
        x = x._data
        if type(x) in KINDS:
            return x.dtype.type(x)
    elif tensor or type(x) is DeviceArray:
        return boxed(Tensor, x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
