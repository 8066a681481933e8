"""Calling a Python function with symbolic values, and getting its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import array
from ..devices import Device, DeviceArray
from ..dtypes import SHORT, SUPPORTED, of_another_library
from ..errors import DTypeError, TracegradError
from ..faces.certainty import rests_of
from ..faces.writing import CHANGING
from ..ir.dispatch import STATE, bind, current
from ..ir.graph import Graph, Var
from ..ir.operands import plain_array, plain_number
from ..ir.trace import Stager, Trace, user_line
from ..ops.elementwise.elementary import identity_op
from ..ops.random import draws
from ..sizes import Size, Sizes
from ..tape.hooks import Registered, TensorHooks, boxed
from ..tape.modes import restoring
from ..tape.tape import next_number
from ..tensor import Array, Boxed, Tensor, ZeroDimensional, unbox
from ..tree import flatten, unflatten
from ..types import ArrayType
from ..weak import KINDS, WEAK
from .constants import fold_constants
from .history import check_hooks, cut_history, history_of


@dataclass(eq=False)
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
    rests: dict[int, str] = field(default_factory=dict)
    """The arguments that have to lie in C order, and where that decides what a write reaches."""


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
    if stager is None and STATE.traces:
        # What is batched, or a step of a loop, is written out no further than what is around it.
        stager = STATE.traces[-1].stager
    if stager is not None:
        trace.stager, trace.most = stager, 0
    outer = (
        [(t.watch, t.watch.mark()) for t in STATE.traces if t.watch is not None] if repeated else []
    )
    with trace:
        given = TracedArguments(trace, types, faces, names, standing)
        args, kwargs = unflatten(spec, given.boxes)
        try:
            if watch is not None:
                watch.open(trace, args, kwargs)
            result = function(*args, **kwargs, **(static or {}))
            traced = _finished(trace, given, result, watch, outer, changing)
        except BaseException:
            draws(trace)  # generators forget it
            raise
        finally:
            if watch is not None:
                watch.restore()
                trace.watch = None
            for box, was in trace.touched.values():
                box._restore(was)
    tracked = any(s.tracked for s in given.standing)
    # What only the trace itself held is now held by the captures alone.
    del given, args, kwargs, result
    trace.captures.clear()
    trace.contents.clear()
    captures = traced.captures
    if trace.live and (tracked or any(isinstance(x, Boxed) and x._on_tape() for x in captures)):
        traced.graph = cut_history(traced.graph, trace.live, traced.history)
    traced.graph, traced.captures = fold_constants(traced.graph, captures)
    traced.folded = len(traced.captures) < len(captures)
    return traced


def _finished(
    trace: Trace,
    given: TracedArguments,
    result: Any,
    watch: Any,
    outer: Sequence[tuple[Any, Any]],
    changing: bool,
) -> Traced:
    """What the function did, when it has returned `result`: the outputs of the graph are its
    leaves, then what it wrote to, changed and drew."""
    leaves, out_spec = flatten(result)
    for leaf in leaves:
        check_leaf(leaf, "the traced function returned")
    written = given.written()
    for b in given.boxes:
        refreshed(b)
    done = [*given.changes(trace.answered), *_to_others(trace, given.boxes)]
    if done and not changing:
        raise TracegradError(
            f"{user_line()}: {trace.name} changes a Tensor that it was not given "
            f"({done[0][0].what}), which vmap, loops and custom derivatives cannot carry "
            "out. Return the new value instead."
        )
    for other, mark in outer:
        other.check(mark, f"inside {trace.name!r}, {trace.repeated}")
    drawn = draws(trace)
    rewritten = [given.boxes[k] for k in written]
    changed = [(c, v) for c, v in done if v is not None]
    kept = watch.close(trace) if watch is not None else []
    results = [
        refreshed(x) if isinstance(x, Boxed) else x
        for x in [*leaves, *rewritten, *[v for _, v in changed], *kept]
    ]
    check_hooks(given.with_new_hooks(), results, trace, given.born)
    reads_grads = any(id(b) in trace.asked for b in given.boxes)
    if not reads_grads:
        given.leave_out_grads(trace)
    history = (
        *[history_of(x, trace) for x in leaves],
        *["" if b._grad_fn is None else history_of(b, trace) for b in rewritten],
        *[
            "" if c.what == "data" and _stays(c.target, trace) else history_of(v, trace)
            for c, v in changed
        ],
        *[history_of(x, trace) for x in kept],
    )
    graph, captures = trace.finish([*results, *[counter for _, counter in drawn]])
    return Traced(
        graph,
        captures,
        out_spec,
        tuple(isinstance(x, Tensor) for x in leaves),
        written,
        tuple(g for g, _ in drawn),
        False,
        tuple(given.grads),
        tuple(c for c, _ in done),
        history,
        tuple(trace.asked.values()),
        reads_grads,
        trace.device,
        trace.swept,
        tuple(trace.deciding),
        rests_of(trace, given.variables),
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


class TracedArguments:
    """The arguments of a traced function: boxes of variables, which stand on the tape where the
    arguments stand."""

    def __init__(
        self,
        trace: Trace,
        types: Sequence[ArrayType],
        faces: Sequence[type[Boxed]],
        names: Sequence[str],
        standing: Sequence[Standing],
    ) -> None:
        self.born = next_number()
        """What the function makes has higher numbers."""
        self.standing = standing or [NOWHERE] * len(types)
        self.variables = [trace.input(t, names[k] if names else "") for k, t in enumerate(types)]
        self.boxes = [
            face(v, s.tracked)
            for face, v, s in zip(faces, self.variables, self.standing, strict=True)
        ]
        self.grads: dict[int, Var] = {}
        """By the numbers of the arguments the variables of what they bring as `.grad`."""
        for k, s in enumerate(self.standing):
            if s.grad:
                self.grads[k] = trace.input(
                    ArrayType(types[k].dtype, types[k].shape),
                    f"{names[k]}_grad" if names and names[k] else "",
                )
                self.boxes[k]._grad = faces[k](self.grads[k])
            if s.hooks:
                self.boxes[k]._hooks = TensorHooks.of(s.hooks)
        self.before = [b._grad for b in self.boxes]
        trace.live.update(
            v for v, s in zip(self.variables, self.standing, strict=True) if s.tracked
        )

    def written(self) -> tuple[int, ...]:
        """Which of them the function wrote to."""
        pairs = zip(self.boxes, self.variables, strict=True)
        return tuple(k for k, (b, v) in enumerate(pairs) if b._data is not v)

    def changes(self, answered: set[int]) -> Iterator[tuple[Change, Any]]:
        """What the function did to them besides writing, each with the new value (None where there
        is none)."""
        for k, (box, old, v, s) in enumerate(
            zip(self.boxes, self.before, self.variables, self.standing, strict=True)
        ):
            if box._grad is not old or (box._grad is None and id(box) in answered):
                yield Change(k, "grad", box._grad is not None), box._grad
            elif k in self.grads and old._data is not self.grads[k]:
                yield Change(k, "grad data", True), old
            if box._requires_grad != s.tracked and box._grad_fn is None and box._data is v:
                yield Change(k, "flag", box._requires_grad), None

    def with_new_hooks(self) -> list[Boxed]:
        """Those on which the function registered hooks."""
        pairs = zip(self.boxes, self.standing, strict=True)
        return [b for b, s in pairs if hooks_of_leaf(b) != s.hooks]

    def leave_out_grads(self, trace: Trace) -> None:
        """Their `.grad` are no inputs, as nobody has looked at them."""
        if self.grads:
            trace.inputs = trace.inputs[: len(self.boxes)]
            self.grads = {}


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
            isinstance(box, Tensor)
            and box._requires_grad != was["_requires_grad"]
            and box._grad_fn is None
            and was["_grad_fn"] is None
        ):
            yield Change(box, "flag", box._requires_grad), None


def _stays(box: Any, trace: Trace) -> bool:
    """Whether a box that was written to stands where it stood on the tape: a Tensor, of which a
    write may go unrecorded."""
    if not box.boxes_everything:
        return False
    was = dict(zip(CHANGING, trace.touched[id(box)][1][0], strict=True))
    return box._grad_fn is was["_grad_fn"] and box._output_nr == was["_output_nr"]


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
        plain_number(x, who)
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
        if isinstance(x, (tuple, list, dict)) and who.endswith("returned"):
            raise TypeError(
                f"{who} a {type(x).__name__} of {len(x)}, not one number. Return that alone, or "
                "the pair of it and of what is not differentiated, with has_aux=True; tg.jacobian "
                "is of all."
            )
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
    elif tensor or type(x) is DeviceArray:
        return boxed(Tensor, x)
    if type(x) in KINDS:
        return x.dtype.type(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
