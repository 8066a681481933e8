"""A graph as something to call: compiled per memory layout of its inputs, with outputs and scratch memory provided."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import config
from .._codegen import integers
from ..control.call import EXECUTE
from ..ir.graph import Graph, Var
from ..schedule import schedule
from ..transforms.rewrite import optimize
from ..tree import unflatten
from ..types import SIZES


class _Scratch(threading.local):
    """Per thread: the arena that kernels use for temporaries, and the status word they write."""

    def __init__(self) -> None:
        self.arena = np.empty(1 << 12, np.uint8)
        self.status = np.zeros(2, np.int64)


_SCRATCH = _Scratch()
_EMPTY_STATUS = 0


class Compiled:
    """Native code for one layout of the inputs."""

    def __init__(self, graph: Graph, layouts: tuple[str, ...]) -> None:
        printing = importlib.import_module("..codegen.printer", __package__)
        native = importlib.import_module("..codegen.native.compile", __package__)
        SIZES.append(graph.sizes)
        try:
            self.program = schedule(graph, layouts)
            self.printed = printing.print_program(self.program)
        finally:
            SIZES.pop()
        inputs = [b for b in self.program.buffers if b.role == "in"]
        outputs = [b for b in self.program.buffers if b.role == "out"]
        self.entry = native.compile_source(
            self.printed.source, self.program.name,
            [(b.dtype, len(b.shape), b.layout) for b in inputs], [(b.dtype, len(b.shape)) for b in outputs], config.cache_dir(),
        ).call
        self.symbols = tuple(graph.sizes.hints)
        self.out_dtypes = tuple(b.dtype for b in outputs)
        shapes = ", ".join("(" + "".join(f"{s}, " for s in b.shape) + ")" for b in outputs)
        # One function from the sizes to everything that must be allocated; constants where no size is symbolic.
        self.plan: Callable[..., Any] = eval(f"lambda {', '.join(self.symbols)}: (({shapes},), {self.printed.arena_bytes})")  # noqa: S307
        self.fixed = None if self.symbols else self.plan()

    def run(self, arrays: Sequence[np.ndarray[Any, Any]], sizes: Sequence[int]) -> list[np.ndarray[Any, Any]]:
        shapes, arena_bytes = self.fixed or self.plan(*sizes)
        outs = [np.empty(s, d) for s, d in zip(shapes, self.out_dtypes, strict=True)]
        scratch = _SCRATCH
        arena, status = scratch.arena, scratch.status
        if arena.nbytes < arena_bytes + 64:
            arena = np.empty(arena_bytes + 64, np.uint8)
            if arena_bytes < 1 << 24:
                scratch.arena = arena
        self.entry(*arrays, *outs, arena, status, -1, 0, 0)
        if status[0]:
            self.fail(status)
        return outs

    def fail(self, status: np.ndarray[Any, Any]) -> None:
        """Raise what a kernel recorded: IndexError for indices, LinAlgError for factorizations."""
        code, value = int(status[0]), int(status[1])
        status[:] = 0
        text = self.program.errors[code - 1].replace("{value}", str(value))
        raise IndexError(text) if "index" in text else np.linalg.LinAlgError(text)


class Executable:
    """A graph, optimized once, compiled per layout."""

    def __init__(self, graph: Graph) -> None:
        self.graph = optimize(graph)
        self.dtypes = [t.dtype for t in graph.input_types]
        self._compiled: dict[tuple[str, ...], Compiled] = {}
        self._lock = threading.Lock()
        self._where = _symbol_places(self.graph)
        self._spec: Any = None
        self._count = 0
        self._scalar: tuple[bool, ...] = ()

    def compiled(self, layouts: tuple[str, ...]) -> Compiled:
        found = self._compiled.get(layouts)
        if found is None:
            with self._lock:
                found = self._compiled.get(layouts)
                if found is None:
                    found = self._compiled[layouts] = Compiled(self.graph, layouts)
        return found

    def __call__(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        arrays = [np.asarray(x, d) for x, d in zip(values, self.dtypes, strict=True)]
        layouts = tuple(["C" if a.flags.c_contiguous else "A" for a in arrays])
        compiled = self.compiled(layouts)
        return compiled.run(arrays, [arrays[k].shape[axis] for k, axis in self._where])

    def prepare_fast(self, spec: Any, count: int) -> None:
        """Remember how results are rebuilt, for `call`."""
        self._spec, self._count = spec, count

    def call(self, args: Sequence[Any]) -> Any:
        """A flat call with arrays and numbers; 0-d results as NumPy scalars."""
        outs = self(args)
        if self._spec is not None and self._count == 1 and self._spec.num_nodes == 1:
            out = outs[0]
            return out if out.ndim else out[()]
        return unflatten(self._spec, [o if o.ndim else o[()] for o in outs])

    def source(self, values: Sequence[Any]) -> str:
        arrays = [np.asarray(x._data if hasattr(x, "_data") else x) for x in values]
        text: str = self.compiled(tuple(["C" if a.flags.c_contiguous else "A" for a in arrays])).printed.source
        return text


def _symbol_places(graph: Graph) -> list[tuple[int, int]]:
    """For each symbol, an input and axis whose size it is."""
    places: dict[str, tuple[int, int]] = {}
    for k, v in enumerate(graph.inputs):
        for axis, s in enumerate(v.type.shape):
            if isinstance(s, integers.Integer):
                places.setdefault(str(s), (k, axis))
    return [places[name] for name in graph.sizes.hints]


def executable_for(graph: Graph) -> Executable:
    """The executable of a graph, made once."""
    found = graph.derived.get("executable")
    if found is None:
        found = graph.derived["executable"] = Executable(graph)
    made: Executable = found
    return made


def run_graph(graph: Graph, arrays: Sequence[Any]) -> Sequence[Any]:
    """Run a graph on plain arrays, compiled."""
    return executable_for(graph)(arrays)


EXECUTE[0] = run_graph
__all__ = ["Compiled", "Executable", "Var", "executable_for", "run_graph"]
