"""A graph as something to call: compiled per memory layout of its inputs, with outputs and scratch
memory provided."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import config
from .._codegen import inplace, integers, kernel, loading, locks
from ..control.show import Prints, check_prints, shown_by
from ..errors import TracegradError
from ..ir.graph import Graph, Var
from ..ir.recording import CLOCK, clocked, span
from ..ops.check import error_of
from ..schedule import schedule
from ..sizes import SIZES
from ..tape.modes import restoring
from ..transforms.rewrite import optimize
from .background import BACKGROUND, BESIDE, Job, by_operations
from .memory import KEPT_BY_THREADS, POOL, scratch_memory
from .parts import InParts, parts_of
from .plan import Memory, planned
from .threads import Sharing


class _Scratch(threading.local):
    """Per thread: the arena that kernels use for temporaries, and the status word they write."""

    def __init__(self) -> None:
        self.arena = scratch_memory(1 << 12)
        self.status = np.zeros(2, np.int64)

    def provide(self, nbytes: int) -> np.ndarray[Any, Any]:
        """A larger arena; kept for later calls of this thread unless it is very large."""
        found = scratch_memory(nbytes)
        if nbytes < KEPT_BY_THREADS:
            self.arena = found
        return found


SCRATCH = _Scratch()


class Compiled:
    """Native code for one layout of the inputs; results may take the memory of the inputs whose
    numbers are `given_up`."""

    @restoring
    def __init__(
        self,
        graph: Graph,
        layouts: tuple[str, ...],
        given_up: tuple[int, ...] = (),
        shown: Prints | None = None,
    ) -> None:
        self.shown = shown
        self.results = len(graph.outputs) - (0 if shown is None else shown.operands)
        """How many of the outputs are not there to be printed."""
        with span("import the compiler"):
            printing = loading.imported("..codegen.printer", __package__)
            native = loading.imported("..codegen.native.compile", __package__)
        with SIZES.opened(graph.sizes), loading.uncollected():
            with span(f"{graph.name}: schedule"):
                program, self.program, self.reused = _scheduled(graph, layouts, given_up)
            with span(f"{graph.name}: print"):
                self.printed = printing.print_program(self.program)
        inputs = [b for b in self.program.buffers if b.role == "in"]
        outputs = [b for b in program.buffers if b.role == "out"]
        with span(f"{graph.name}: compile") as stage:
            made = native.kernel(
                self.printed.source,
                self.program.name,
                [(b.dtype, len(b.shape), b.layout) for b in inputs],
                [(b.dtype, len(b.shape)) for k, b in enumerate(outputs) if k not in self.reused],
                config.cache_dir(),
            )
            if made.at_hand:
                stage.rename(f"{graph.name}: load")
        self.entry, self.strict, self.address = made.call, made.strict, made.address
        self.symbols = tuple(graph.sizes.hints)
        self.layouts = layouts
        self.in_dtypes = tuple(b.dtype for b in inputs)
        self.out_dtypes = tuple(b.dtype for b in outputs)
        self.out_shapes = tuple(b.shape for b in outputs)
        shapes = "".join("(" + "".join(f"{s}, " for s in b.shape) + "), " for b in outputs)
        # One function from the sizes to everything that must be allocated; constants where no size
        # is symbolic.
        self.plan: Callable[..., Any] = eval(
            f"lambda {', '.join(self.symbols)}: (({shapes}), {self.printed.arena_bytes})"
        )
        self.fixed = None if self.symbols else self.plan()
        self.shared = Sharing(self.program, self.symbols, made.call, made.address)

    def run(
        self,
        arrays: Sequence[np.ndarray[Any, Any]],
        sizes: Sequence[int],
        into: Sequence[np.ndarray[Any, Any]] | None = None,
    ) -> Sequence[np.ndarray[Any, Any]]:
        """The results, in the contiguous arrays `into` where these are given."""
        shapes, arena_bytes = self.fixed or self.plan(*sizes)
        reused = self.reused
        outs = into or [
            arrays[reused[k]] if k in reused else POOL.empty(s, d)
            for k, (s, d) in enumerate(zip(shapes, self.out_dtypes, strict=True))
        ]
        own = [x for k, x in enumerate(outs) if k not in reused]
        scratch = SCRATCH
        arena, status = scratch.arena, scratch.status
        if arena.nbytes < arena_bytes + 64:
            arena = scratch.provide(arena_bytes + 64)
        table = self.shared.table(sizes)
        if table is not None:
            self.shared.run(table, (*arrays, *own, arena), status)
        else:
            self.entry(*arrays, *own, arena, status, -1, 0, 0)
        if self.shown is not None:
            self.shown.show(outs[self.results :])
            outs = outs[: self.results]
        if status[0]:
            self.fail(status)
        return outs

    def alone(self) -> Callable[[tuple[Any, ...]], None] | None:
        """`run` for arrays of fixed sizes with the results among them, for kernels that one thread
        does as well: nothing is asked that does not change. None for all others."""
        if self.fixed is None or self.shared.shares or self.shown is not None or self.reused:
            return None
        enough, entry, scratch = self.fixed[1] + 64, self.entry, SCRATCH

        def run(arrays: tuple[Any, ...]) -> None:
            arena, status = scratch.arena, scratch.status
            if arena.nbytes < enough:
                arena = scratch.provide(enough)
            entry(*arrays, arena, status, -1, 0, 0)
            if status[0]:
                self.fail(status)

        return run

    def fail(self, status: np.ndarray[Any, Any]) -> None:
        """Raise what a kernel recorded: IndexError for indices, LinAlgError for factorizations."""
        code, value = int(status[0]), int(status[1])
        status[:] = 0
        raise failure(self.program, code, value)


def _scheduled(
    graph: Graph,
    layouts: tuple[str, ...],
    given_up: tuple[int, ...],
    seen: Callable[[kernel.Program], None] | None = None,
) -> tuple[kernel.Program, kernel.Program, dict[int, int]]:
    """The program of a graph; the same with results in the memory of inputs; {output: input}."""
    program = schedule(graph, layouts, seen=seen)
    return program, *inplace.reuse(program, given_up)


def failure(program: Any, code: int, value: int) -> Exception:
    """What a kernel recorded, as an error."""
    if code < 0:
        return MemoryError(
            f"{program.name}: no memory for {value} bytes that a loop keeps for its derivative "
            "(see tg.checkpoint) or a routine works with"
        )
    text = program.errors[code - 1]
    if (error := error_of(text)) is not None:
        raised: Exception = error
        return raised
    text = text.replace("{value}", str(value))
    if text.startswith("RuntimeError: "):
        return RuntimeError(text.removeprefix("RuntimeError: "))
    return IndexError(text) if "index" in text else np.linalg.LinAlgError(text)


class Executable:
    """A graph, optimized once, compiled per layout; its callers give up the inputs whose numbers
    are `given_up`."""

    @restoring
    def __init__(self, graph: Graph, given_up: tuple[int, ...] = ()) -> None:
        check_prints(graph)
        with span(f"{graph.name}: optimize"):
            self.graph, self.shown = shown_by(optimize(graph))
        self.given_up = given_up
        self.dtypes = [t.dtype for t in graph.input_types]
        parts = parts_of(self.graph)
        self.in_parts = InParts(self.graph, parts, Executable) if parts else None
        """Where Python does a step of it."""
        self._compiled: dict[tuple[str, ...], Compiled] = {}
        self._jobs: dict[tuple[str, ...], Job] = {}
        self._lock = locks.lock()
        self._where = _symbol_places(self.graph)

    def compiled(self, layouts: tuple[str, ...]) -> Compiled:
        found = self._compiled.get(layouts)
        if found is None:
            if self.in_parts is not None:
                raise TracegradError(
                    f"{self.graph.name} has a step that Python does (tg.scale), so it is no single "
                    "piece of native code: call the jitted function itself"
                )
            with self._lock:
                found = self._compiled.get(layouts)
                if found is None:
                    found = self._compiled[layouts] = Compiled(
                        self.graph, layouts, self.given_up, self.shown
                    )
        return found

    def __call__(
        self, values: Sequence[Any], into: Sequence[np.ndarray[Any, Any]] | None = None
    ) -> Sequence[np.ndarray[Any, Any]]:
        # NumPy makes a view where two equal dtypes are different objects, but an array that is
        # given up is itself the result.
        arrays = [
            x if type(x) is np.ndarray and x.dtype == d else np.asarray(x, d)
            for x, d in zip(values, self.dtypes, strict=True)
        ]
        if self.in_parts is not None:
            return self._show(self.in_parts(arrays, self.sizes(arrays)))
        arrays = [a if a.flags.aligned else a.copy() for a in arrays]
        layouts, sizes = tuple(map(layout_of, arrays)), self.sizes(arrays)
        compiled = self.at_hand(layouts)
        if compiled is None:
            outs = by_operations(self.graph, arrays, sizes, lambda: layouts in self._compiled)
            if outs is not None:
                return self._show(outs) if into is None else _filled(into, self._show(outs))
            compiled = self.compiled(layouts)
        return compiled.run(arrays, sizes, into)

    def at_hand(self, layouts: tuple[str, ...]) -> Compiled | None:
        """The native code for these layouts; None while a thread beside the calls makes it."""
        found = self._compiled.get(layouts)
        if found is not None or self.graph.options.warm != "background":
            return found or self.compiled(layouts)
        job = self._jobs.get(layouts)
        if job is None:
            work = partial(self._compile_beside, layouts, CLOCK.times)
            job = self._jobs.setdefault(layouts, Job(self.graph.name, work))
        # One that failed is to fail here.
        return None if BACKGROUND.takes(job) else self.compiled(layouts)

    def _compile_beside(self, layouts: tuple[str, ...], first: dict[str, float] | None) -> None:
        """Make the native code in another thread than that whose first call the times are of."""
        times: dict[str, float] = {}
        with self._lock:
            with clocked(times):
                self.compiled(layouts)
            if first is not None:
                first.update({BESIDE + stage: seconds for stage, seconds in times.items()})

    def _show(self, outs: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Print what the graph prints, which are its last results."""
        if self.shown is not None:
            count = len(outs) - self.shown.operands
            self.shown.show(outs[count:])
            del outs[count:]
        return outs

    def sizes(self, arrays: Sequence[Any]) -> list[int]:
        """The sizes that the symbols stand for."""
        return [arrays[k].shape[axis] for k, axis in self._where]

    def kernel_for(self, values: Sequence[Any]) -> Compiled:
        """The native code for values of these layouts."""
        arrays = [np.asarray(x, d) for x, d in zip(values, self.dtypes, strict=True)]
        return self.compiled(tuple(map(layout_of, arrays)))

    def ready_for(self, values: Sequence[Any]) -> Compiled | None:
        """The same where a call need not wait for it; None for a graph that Python does a step
        of."""
        if self.in_parts is not None:
            return None
        arrays = [np.asarray(x, d) for x, d in zip(values, self.dtypes, strict=True)]
        return self.at_hand(tuple(map(layout_of, arrays)))

    def memory(self, values: Sequence[Any]) -> Memory:
        """What a call with these values takes."""
        arrays = [
            np.asarray(unboxed, d)
            for unboxed, d in zip(map(_plain, values), self.dtypes, strict=True)
        ]
        return planned(
            self.compiled(tuple(map(layout_of, arrays))),
            arrays,
            [arrays[k].shape[axis] for k, axis in self._where],
        )

    @restoring
    def programs(self, values: Sequence[Any]) -> list[kernel.Program]:
        """The program for such values after each pass, made anew."""
        seen: list[kernel.Program] = []
        layouts = tuple([layout_of(np.asarray(_plain(x))) for x in values])
        with SIZES.opened(self.graph.sizes):
            _, last, reused = _scheduled(self.graph, layouts, self.given_up, seen.append)
        return [*seen, last] if reused else seen

    def source(self, values: Sequence[Any]) -> str:
        arrays = [np.asarray(_plain(x)) for x in values]
        text: str = self.compiled(tuple(map(layout_of, arrays))).printed.source
        return text


def _filled(
    into: Sequence[np.ndarray[Any, Any]], outs: Sequence[np.ndarray[Any, Any]]
) -> Sequence[np.ndarray[Any, Any]]:
    for x, new in zip(into, outs, strict=True):
        np.copyto(x, new)
    return into


def _plain(x: Any) -> Any:
    return x._data if hasattr(x, "_data") else x


def layout_of(x: np.ndarray[Any, Any]) -> str:
    """Where an array's elements lie: "C" or "F" for gapless memory in C or Fortran order, "A" for
    any other strides."""
    return "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else "A"


def _symbol_places(graph: Graph) -> list[tuple[int, int]]:
    """For each symbol, an input and axis whose size it is."""
    places: dict[str, tuple[int, int]] = {}
    for k, v in enumerate(graph.inputs):
        for axis, s in enumerate(v.type.shape):
            if isinstance(s, integers.Integer):
                places.setdefault(str(s), (k, axis))
    return [places[name] for name in graph.sizes.hints]


def executable_for(graph: Graph, given_up: tuple[int, ...] = ()) -> Executable:
    """The executable of a graph, made once."""
    key = ("executable", given_up) if given_up else "executable"
    found = graph.derived.get(key)
    if found is None:
        found = graph.derived[key] = Executable(graph, given_up)
    made: Executable = found
    return made


__all__ = ["SCRATCH", "Compiled", "Executable", "Var", "executable_for"]
