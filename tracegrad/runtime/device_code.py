"""A graph compiled for a GPU: the analogue of `execute.Compiled`, over arrays in the memory of a
device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import config
from .._codegen import loading
from ..ir.graph import Graph
from ..ir.recording import span
from ..schedule import schedule
from ..sizes import SIZES
from ..tape.modes import restoring


@restoring
def planned(graph: Graph, layouts: tuple[str, ...]) -> Any:
    """The kernels of a graph whose inputs have these memory layouts, and what the host does with
    them (codegen/cuda/kernels.py); needs no device.

    The graph was optimised without tapes: while a kernel runs, no memory grows."""
    with span("import the compiler"):
        kernels = loading.imported("..codegen.cuda.kernels", __package__)
    with SIZES.opened(graph.sizes):
        with span(f"{graph.name}: schedule"):
            program = schedule(graph, layouts, device=True)
        with span(f"{graph.name}: print"):
            return kernels.plan(program, config.deterministic())


class CompiledOnDevice:
    """Kernels for one layout of the inputs. Calls return before the device is done; what fails
    there is told where a value is asked for."""

    def __init__(self, graph: Graph, layouts: tuple[str, ...], index: int, take: Any) -> None:
        self.plan = planned(graph, layouts)
        self.program = self.plan.program
        with span("import the compiler"):
            run = loading.imported("..codegen.cuda.run", __package__)
        with span(f"{graph.name}: compile"):
            self.runner = run.Runner(self.plan, index, take, config.cache_dir())
        self.layouts = layouts
        self.symbols = tuple(graph.sizes.hints)
        self.inputs = [b.name for b in self.program.buffers if b.role == "in"]
        self.outputs = [b for b in self.program.buffers if b.role == "out"]
        self.out_shapes, self.out_dtypes = (
            [b.shape for b in self.outputs],
            [b.dtype for b in self.outputs],
        )
        shapes = "".join("(" + "".join(f"{s}, " for s in b.shape) + "), " for b in self.outputs)
        self.shapes: Any = eval(f"lambda {', '.join(self.symbols)}: ({shapes})")

    def launch(self, arrays: Sequence[Any], sizes: Sequence[int]) -> Any:
        """Start the programs on the memory of inputs (transposed where it is in Fortran order) and
        outputs; what comes back will hold (code, value) of the first failure, or is None."""
        names = [*self.inputs, *[b.name for b in self.outputs]]
        return self.runner.run(
            dict(zip(names, arrays, strict=True)), dict(zip(self.symbols, sizes, strict=True))
        )

    def run(
        self, layouts: Sequence[np.ndarray[Any, Any]], sizes: Sequence[int], empty: Any
    ) -> tuple[list[Any], Any]:
        """The results, in memory from `empty(shape, dtype)`; all arrays are layouts (see
        codegen/cuda/driver.py). With them comes what will hold (code, value) of the first failure,
        or None where nothing can fail."""
        outs = [
            empty(shape, b.dtype)
            for shape, b in zip(self.shapes(*sizes), self.outputs, strict=True)
        ]
        # A program takes memory in Fortran order as the transpose of what it is.
        given = [x.T if order == "F" else x for x, order in zip(layouts, self.layouts, strict=True)]
        return outs, self.launch((*given, *outs), sizes)


__all__ = ["CompiledOnDevice", "planned"]
