"""Running generated source as plain Python: where its bugs show first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tracegrad.codegen.printer import print_program

from tracegrad._codegen import integers
from tracegrad.ir.graph import Graph
from tracegrad.runtime.execute import layout_of
from tracegrad.schedule import schedule
from tracegrad.sizes import SIZES


def run_unjitted(graph: Graph, values: Sequence[Any], keep: bool = False) -> list[Any]:
    """The outputs of an optimized graph by its generated source, executed by CPython. With `keep`
    the source stays with the graph, for the calls that follow."""
    arrays = [np.asarray(v, t.dtype) for v, t in zip(values, graph.input_types, strict=True)]
    layouts = tuple(map(layout_of, arrays))
    kept = graph.derived if keep else {}
    if ("unjitted", layouts) not in kept:
        kept["unjitted", layouts] = _made(graph, layouts)
    program, arena_bytes, function = kept["unjitted", layouts]
    bindings: dict[str, int] = {}
    for v, a in zip(graph.inputs, arrays, strict=True):
        for s, n in zip(v.type.shape, a.shape, strict=True):
            if isinstance(s, integers.Integer):
                bindings[str(s)] = n
    outs = [
        np.full([integers.evaluate(s, bindings) for s in b.shape], 123, b.dtype)
        for b in program.buffers
        if b.role == "out"
    ]
    arena = np.full(integers.evaluate(arena_bytes, bindings) + 64, 77, np.uint8)
    status = np.zeros(2, np.int64)
    function(*arrays, *outs, arena, status, -1, 0, 0)
    assert status[0] == 0, program.errors[status[0] - 1]
    return outs


def _made(graph: Graph, layouts: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """The program, the bytes of its working space, and the function that its source defines."""
    SIZES.open.append(graph.sizes)
    try:
        program = schedule(graph, layouts)
        printed = print_program(program)
    finally:
        SIZES.open.pop()
    space: dict[str, Any] = {}
    exec(compile(printed.source, f"<{program.name}>", "exec"), space)
    return program, printed.arena_bytes, space[program.name]
