"""The step of a call that computes: a kernel on the CPU, programs on a device, or, where a backward
pass may come through the results, a compiled call that is one node of the tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers
from ..autograd.grad_mode import set_grad_enabled
from ..control.call import call_op, forward_of, staged_for, with_history
from ..devices import DeviceArray, later
from ..ir.dispatch import SPECIAL, STATE, bind
from ..runtime.device_code import CompiledOnDevice
from ..runtime.execute import SCRATCH, Compiled, executable_for, failure
from ..runtime.memory import LARGE
from ..runtime.threads import NO_PHASE
from ..tape.eager_text import fresh
from ..tape.interpret import results_of
from ..tape.mode import MODE
from ..tape.tape import record
from ..tensor import Boxed, Tensor, unbox
from .effects import as_they_are
from .entry import Entry
from .guards import Unfit
from .on_device import GraphOnDevice, placed, run
from .steps import PlainCall, Step

if TYPE_CHECKING:
    from .callers import CallerText

OWN_ARENA = 1 << 16
"""Scratch memory up to this size belongs to the caller; callers that need more share that of their
thread."""


def compiled_for(entry: Entry, values: Sequence[Any]) -> Compiled | CompiledOnDevice | None:
    """The code that serves calls of an entry with operands like these; None where such a call is
    always made the plain way."""
    device = entry.traced.device
    if "live" in entry.traced.history:
        wanted = _wanted(values)
        if (SPECIAL and STATE.special) or not entry.mode or not any(wanted):
            return None
        graph, values = forward_of(entry.graph, wanted), [unbox(x) for x in values]
        if device is None:
            return executable_for(graph).kernel_for(values)
        return placed(graph, device).ready(values)[1]
    if device is not None:
        return placed(entry.graph, device).ready(values)[1]
    if entry.executable is None:
        entry.executable = executable_for(entry.graph, entry.given_up)
    return entry.executable.kernel_for([unbox(x) for x in values])


class Compute(Step):
    """Compute the results of the graph from its operands."""

    computes = True

    def do(self, call: PlainCall) -> None:
        entry, traced, values = self.entry, self.traced, call.values
        if STATE.traces or any(isinstance(x, Boxed) for x in values):
            with set_grad_enabled(MODE.enabled and "live" in traced.history):
                outs = bind(
                    call_op, as_they_are(values, entry, call.changes), {"graph": entry.graph}
                )
            count = len(traced.history)
            call.outs = [*map(with_history, outs, traced.history), *outs[count:]]
        elif traced.device is not None:
            call.outs = [Tensor(x) for x in run(entry.graph, values, traced.device)]
        else:
            if entry.executable is None:
                entry.executable = executable_for(entry.graph, entry.given_up)
            call.outs = entry.executable(values)

    def write(self, to: CallerText) -> None:
        history = self.traced.history
        if "spent" in history and any(
            isinstance(x, Boxed) and not x.boxes_everything for x in to.values
        ):
            raise Unfit("a differentiated array beside a value of a tape that was swept")
        if "live" in history:
            _recorded(self.entry, to)
        elif isinstance(to.compiled, CompiledOnDevice):
            _on_device(to, to.compiled)
        else:
            _kernel(to, to.compiled)


# --- a kernel -------------------------------------------------------------------------------------


def _kernel(to: CallerText, compiled: Compiled) -> None:
    """Memory, the kernel's call, and what it may have failed at."""
    outs = [f"o{k}" for k in range(len(compiled.out_shapes)) if k not in compiled.reused]
    scalars = {
        f"o{k}": d
        for k, (s, d) in enumerate(zip(compiled.out_shapes, compiled.out_dtypes, strict=True))
        if s == ()
    }
    scalars |= {f"z{k}": compiled.in_dtypes[k] for k in to.numbers}
    own = isinstance(compiled.program.arena, int) and compiled.program.arena <= OWN_ARENA
    room = int(compiled.program.arena) + 64 if own else 0

    def workspace() -> tuple[Any, ...]:
        """What one call at a time uses: status words, scratch memory, and a place for each number
        that goes in or out."""
        status = np.zeros(2, np.int64)
        return (
            status,
            status.data,
            np.empty(room, np.uint8),
            *[np.empty((), d) for d in scalars.values()],
        )

    free: list[tuple[Any, ...]] = []
    to.space.update(
        workspace=workspace, free=free, kernel=compiled.entry, fail=compiled.fail, scratch=SCRATCH
    )
    to.computes()
    # Taken from a list and put back, because several threads may make this call at once.
    to.line(1, "try: w = free.pop()")
    to.line(1, "except IndexError: w = workspace()")
    to.line(1, f"{', '.join(['status', 'words', 'arena', *scalars])}, = w")
    if not own:
        need = f"{compiled.printed.arena_code} + 64"
        to.line(1, "arena = scratch.arena")
        to.line(1, f"if arena.nbytes < {need}: arena = scratch.provide({need})")
    for k, (shape, dtype) in enumerate(zip(compiled.out_shapes, compiled.out_dtypes, strict=True)):
        if k in compiled.reused:
            to.line(1, f"o{k} = x{compiled.reused[k]}")
        elif shape != ():
            to.line(1, f"o{k} = {_memory(to, shape, dtype)}")
    to.line(1, "try:")
    for k in to.numbers:
        to.line(2, f"z{k}[()] = x{k}")
    given = "".join(f"{x}, " for x in (*to.operands, *outs))
    run = f"kernel({given}arena, status, -1, 0, 0)"
    if compiled.shared.shares:
        to.space["shared"] = compiled.shared
        to.line(2, f"table = shared.table(({''.join(f'{n}, ' for n in to.sizes)}))")
        to.line(2, f"if table is None: {run}")
        to.line(2, "else:")
        to.line(3, f"kernel({given}arena, status, {NO_PHASE}, 0, 0)")
        to.line(3, f"shared.run(table, ({given}arena), status)")
    else:
        to.line(2, run)
    to.line(1, "except (TypeError, OverflowError): return MISS")
    if compiled.program.checked:
        to.line(1, "if words[0]: fail(status)")
    # A number lies in memory that the next call writes to.
    to.plain = lambda k: f"o{k}[()]" if compiled.out_shapes[k] == () else f"o{k}"
    to.data = lambda k: f"o{k}.copy()" if compiled.out_shapes[k] == () else f"o{k}"
    to.done = lambda: to.line(1, "free.append(w)")


def _memory(to: CallerText, shape: Sequence[integers.Int], dtype: np.dtype[Any]) -> str:
    """The expression of new memory for a result."""
    nbytes = integers.product(shape) * dtype.itemsize
    if isinstance(nbytes, int):
        make = "empty" if nbytes < LARGE else "provide"
    else:
        make = f"(empty if {nbytes} < {LARGE} else provide)"
    text = "(" + "".join(f"{s}, " for s in shape) + ")"
    if make != "empty" or dtype != np.float64:
        text += f", {to.name(dtype)}"
    return f"{make}({text})"


# --- programs on a device -------------------------------------------------------------------------


def _on_device(to: CallerText, compiled: CompiledOnDevice) -> None:
    """The start of the programs; what fails there is told where something waits for them."""
    device = to.entry.traced.device
    assert device is not None
    if "spent" in to.entry.traced.history:
        raise Unfit("a history that was gone through")
    made: GraphOnDevice = placed(to.entry.graph, device)
    to.space.update(
        launch=compiled.launch,
        later=later,
        failure=partial(failure, compiled.program),
        DeviceArray=DeviceArray,
        device=device,
        allocate=made.pool.empty,
    )
    to.computes()
    for k, (shape, dtype) in enumerate(zip(compiled.out_shapes, compiled.out_dtypes, strict=True)):
        text = "".join(f"{s}, " for s in shape)
        to.line(1, f"m{k} = allocate(({text}), {to.name(dtype)})")
    # A program takes memory in Fortran order as the transpose of what it is.
    inputs = "".join(
        f"l{k}.T, " if order == "F" else f"l{k}, " for k, order in enumerate(compiled.layouts)
    )
    outs = "".join(f"m{k}, " for k in range(len(compiled.out_shapes)))
    sizes = "".join(f"{n}, " for n in to.sizes)
    to.line(1, f"status = launch(({inputs}{outs}), ({sizes}))")
    to.line(1, "if status is not None: later(device, status, failure)")
    made_of = f"{to.name(fresh)}({to.name(Tensor)}"
    for k in range(len(compiled.out_shapes)):
        to.line(1, f"o{k} = {made_of}, DeviceArray(device, m{k}))")
    to.finished = range(len(compiled.out_shapes))
    to.plain = to.data = lambda k: f"o{k}"


# --- a node of the tape ---------------------------------------------------------------------------


def _wanted(values: Sequence[Any]) -> list[bool]:
    return [isinstance(x, Boxed) and x._requires_grad for x in values]


def _recorded(entry: Entry, to: CallerText) -> None:
    """What `interpret` does with the operation `call`: the forward graph is run, and the node keeps
    what the backward graph reads."""
    traced = entry.traced
    if traced.writes or traced.changes or traced.generators or entry.given_up or entry.stored:
        raise Unfit("a recorded call that changes something")
    if traced.reads_grads or "spent" in traced.history or not entry.mode:
        raise Unfit("a call that is not simply recorded")
    if not all(x.boxes_everything for x in to.values if isinstance(x, Boxed)):
        raise Unfit("operands under a transform")
    to.space.update(recorded=_recorder(entry, _wanted(to.values)), asarray=np.asarray)
    to.computes()
    raw = "".join(f"{x}, " for x in to.unboxed())
    boxes = "".join(f"{to.box_of.get(x, x)}, " for x in to.unboxed())
    outs = "".join(f"o{k}, " for k in range(len(traced.history)))
    to.line(1, f"{outs} = recorded(({raw}), ({boxes}))")
    to.finished = {k for k, h in enumerate(traced.history) if h == "live"}
    to.plain = to.data = lambda k: f"o{k}"
    if traced.device is not None:
        to.plain = to.tensor
        return
    scalars = [t.shape == () for t in entry.graph.output_types]
    to.plain = lambda k: f"o{k}[()]" if scalars[k] else f"o{k}"
    to.data = lambda k: f"asarray(o{k})" if scalars[k] else f"o{k}"


def _recorder(
    entry: Entry, wanted: Sequence[bool]
) -> Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]:
    """`recorded(arrays, operands)`: the results of a call on the tape, from its operands without
    and with their boxes; as they come from the graph where they left the tape inside of it."""
    graph, history = entry.graph, entry.traced.history
    call, params = staged_for(graph, wanted), {"graph": graph}
    cut = [k for k, h in enumerate(history) if h != "live"]

    def recorded(arrays: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
        outs, rest = call(arrays)
        results = results_of(record(call_op, operands, params, outs), Tensor, outs, rest)
        if not cut:
            return results
        return [outs[k] if k in cut else r for k, r in enumerate(results)]

    return recorded


__all__ = ["Compute", "compiled_for"]
