"""The step of a call that computes: a kernel on the CPU, programs on a device, or, where a backward
pass may come through the results, a compiled call that is one node of the tape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers
from ..autograd.grad_mode import set_grad_enabled
from ..control.call import call_op, forward_of, staged_for, with_history
from ..devices import DeviceArray, later
from ..ir.dispatch import SPECIAL, STATE, bind
from ..ir.op import Op
from ..runtime.device_code import CompiledOnDevice
from ..runtime.execute import SCRATCH, Compiled, Executable, executable_for, failure
from ..runtime.memory import LARGE, scratch_memory
from ..runtime.threads import NO_PHASE
from ..tape.hooks import boxed
from ..tape.interpret import results_of
from ..tape.mode import MODE
from ..tape.tape import record
from ..tensor import Boxed, Tensor, unbox
from .effects import as_they_are
from .entry import Entry
from .guards import Unfit
from .on_device import GraphOnDevice, placed
from .steps import PlainCall, Step

if TYPE_CHECKING:
    from .callers import CallerText

OWN_ARENA = 1 << 16
"""Scratch memory up to this size belongs to the caller; callers that need more share that of their
thread."""


@dataclass(frozen=True)
class ResultTexts:
    """How the text behind the computing step reads the results o0, o1 and so on."""

    plain: Sequence[str]
    """The expressions of the results as NumPy would give them."""
    data: Sequence[str]
    """The same as what a Tensor holds."""
    finished: Collection[int] = ()
    """Those that are Tensors already."""
    last: str = ""
    """What is done when all results are put together."""


class Compute(Step):
    """Compute the results of the graph from its operands: the way is a class of its own, chosen
    when the signature is traced."""

    gives_swept = False
    """Whether its text can be followed by one that gives results with a history that is gone."""

    def do(self, call: PlainCall) -> None:
        if STATE.traces or any(isinstance(x, Boxed) for x in call.values):
            values = as_they_are(call.values, self.entry, call.changes)
            call.outs = bound(call_op, self.entry, values)
        else:
            call.outs = self.run(call.values)

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """The results for plain operands."""
        raise NotImplementedError

    def code(self, values: Sequence[Any]) -> Compiled | CompiledOnDevice | None:
        """What serves calls with operands like these; None where such a call is always made the
        plain way."""
        raise NotImplementedError

    def write(self, to: CallerText) -> None:
        history = self.traced.history
        # `GiveResults` writes it of Tensors among the results, and nobody else does.
        if "spent" in history and (
            not self.gives_swept
            or "spent" in history[len(self.traced.out_boxed) :]
            or any(isinstance(x, Boxed) and not x.boxes_everything for x in to.values)
        ):
            raise Unfit("a history that a sweep inside the function went through")
        to.results = self.text(to)

    def text(self, to: CallerText) -> ResultTexts:
        """Add the text that computes; where the results are then."""
        raise NotImplementedError


def computing(entry: Entry) -> Compute:
    """The step that computes for a signature."""
    if "live" in entry.traced.history:
        return Recorded(entry)
    return OnKernel(entry) if entry.traced.device is None else OnDevice(entry)


def bound(op: Op, entry: Entry, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an operation that applies the graph of an entry, each where the function's own
    would stand on the tape."""
    history = entry.traced.history
    with set_grad_enabled(MODE.enabled and "live" in history):
        outs = bind(op, values, {"graph": entry.graph})
    return [*map(with_history, outs, history), *outs[len(history) :]]


# --- a kernel -------------------------------------------------------------------------------------


class OnKernel(Compute):
    """A kernel on the CPU."""

    gives_swept = True

    def executable(self) -> Executable:
        """The graph to call, once something is to be run."""
        if self.entry.executable is None:
            self.entry.executable = executable_for(self.entry.graph, self.entry.given_up)
        return self.entry.executable

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        return self.executable()(values)

    def code(self, values: Sequence[Any]) -> Compiled | None:
        return self.executable().ready_for([unbox(x) for x in values])

    def text(self, to: CallerText) -> ResultTexts:
        """Memory, the kernel's call, and what it may have failed at."""
        compiled = to.compiled
        assert isinstance(compiled, Compiled)
        made = list(zip(compiled.out_shapes, compiled.out_dtypes, strict=True))
        outs = [f"o{k}" for k in range(len(made)) if k not in compiled.reused]
        scalars = {f"o{k}": dtype for k, (shape, dtype) in enumerate(made) if shape == ()}
        scalars |= {f"z{k}": compiled.in_dtypes[k] for k in to.numbers}
        own = isinstance(compiled.program.arena, int) and compiled.program.arena <= OWN_ARENA
        room = int(compiled.program.arena) + 64 if own else 0

        def workspace() -> tuple[Any, ...]:
            """What one call at a time uses: status words, scratch memory, and a place for each
            number that goes in or out."""
            status = np.zeros(2, np.int64)
            return (
                status,
                status.data,
                scratch_memory(room),
                *[np.empty((), d) for d in scalars.values()],
            )

        free: list[tuple[Any, ...]] = []
        to.space.update(
            workspace=workspace,
            free=free,
            kernel=compiled.entry,
            fail=compiled.fail,
            scratch=SCRATCH,
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
        for k, (shape, dtype) in enumerate(made):
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
        if compiled.shown is not None:
            to.space["show"] = compiled.shown.show
            shown = "".join(f"o{k}, " for k in range(compiled.results, len(made)))
            to.line(1, f"show(({shown}))")
            del made[compiled.results :]
        if compiled.program.checked:
            to.line(1, "if words[0]: fail(status)")
        # A number lies in memory that the next call writes to.
        return ResultTexts(
            [f"o{k}[()]" if shape == () else f"o{k}" for k, (shape, _) in enumerate(made)],
            [f"o{k}.copy()" if shape == () else f"o{k}" for k, (shape, _) in enumerate(made)],
            last="free.append(w)",
        )


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


class OnDevice(Compute):
    """Programs on a device."""

    @property
    def made(self) -> GraphOnDevice:
        assert self.traced.device is not None
        return placed(self.entry.graph, self.traced.device)

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        return [boxed(Tensor, x) for x in self.made(values)]

    def code(self, values: Sequence[Any]) -> CompiledOnDevice:
        return self.made.ready(values)[1]

    def text(self, to: CallerText) -> ResultTexts:
        """The start of the programs; what fails there is told where something waits for them."""
        compiled, device, made = to.compiled, self.traced.device, self.made
        assert isinstance(compiled, CompiledOnDevice)
        if made.shown is not None:
            raise Unfit("what is printed is fetched from the device first")
        to.space.update(
            launch=compiled.launch,
            later=later,
            failure=partial(failure, compiled.program),
            DeviceArray=DeviceArray,
            device=device,
            allocate=made.pool.empty,
        )
        to.computes()
        memory = list(zip(compiled.out_shapes, compiled.out_dtypes, strict=True))
        for k, (shape, dtype) in enumerate(memory):
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
        results = [f"o{k}" for k in range(len(compiled.out_shapes))]
        for k, o in enumerate(results):
            to.line(1, f"{o} = {to.boxed(f'DeviceArray(device, m{k})')}")
        return ResultTexts(results, results, range(len(results)))


# --- a node of the tape ---------------------------------------------------------------------------


class Recorded(Compute):
    """A compiled call that is one node of the tape."""

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        way = OnKernel if self.traced.device is None else OnDevice
        return way(self.entry).run(values)

    def code(self, values: Sequence[Any]) -> Compiled | CompiledOnDevice | None:
        wanted, device = _wanted(values), self.traced.device
        if (SPECIAL and STATE.special) or not self.entry.mode or not any(wanted):
            return None
        graph, values = forward_of(self.entry.graph, wanted), [unbox(x) for x in values]
        if device is None:
            return executable_for(graph).ready_for(values)
        return placed(graph, device).ready(values)[1]

    def text(self, to: CallerText) -> ResultTexts:
        """What `interpret` does with the operation `call`: the forward graph is run, and the node
        keeps what the backward graph reads."""
        entry, traced = self.entry, self.traced
        if traced.writes or traced.changes or traced.generators or entry.given_up or entry.stored:
            raise Unfit("a recorded call that changes something")
        if traced.reads_grads or not entry.mode:
            raise Unfit("a call that is not simply recorded")
        if not all(x.boxes_everything for x in to.values if isinstance(x, Boxed)):
            raise Unfit("operands under a transform")
        to.space.update(recorded=_recorder(entry, _wanted(to.values)), asarray=np.asarray)
        to.computes()
        raw = "".join(f"{x}, " for x in to.unboxed())
        boxes = "".join(f"{to.box_of.get(x, x)}, " for x in to.unboxed())
        outs = [f"o{k}" for k in range(len(traced.history))]
        to.line(1, f"{''.join(f'{o}, ' for o in outs)} = recorded(({raw}), ({boxes}))")
        live = {k for k, h in enumerate(traced.history) if h == "live"}
        if traced.device is not None:
            # What left the tape inside of the call lies on the device, where all are Tensors.
            boxed = [o if k in live else to.boxed(o) for k, o in enumerate(outs)]
            return ResultTexts(boxed, outs, live)
        shapes = [t.shape for t in entry.graph.output_types]
        return ResultTexts(
            [f"{o}[()]" if s == () else o for o, s in zip(outs, shapes, strict=True)],
            [f"asarray({o})" if s == () else o for o, s in zip(outs, shapes, strict=True)],
            live,
        )


def _wanted(values: Sequence[Any]) -> list[bool]:
    return [isinstance(x, Boxed) and x._requires_grad for x in values]


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


__all__ = ["ResultTexts", "bound", "computing"]
