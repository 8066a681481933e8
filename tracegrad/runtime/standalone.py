"""`njit()`: a compiled graph as a Numba dispatcher that other compiled code can call."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.graph import Graph
from .execute import Compiled, executable_for


def standalone(graph: Graph, values: Sequence[Any], arguments: int, captures: str) -> Any:
    """A dispatcher over the first `arguments` inputs (all of them with captures="arguments"); the rest is frozen to `values`."""
    native = importlib.import_module("..codegen.native.njit_wrapper", __package__)
    executable = executable_for(graph)
    compiled: Compiled = executable.compiled(("A",) * len(graph.inputs))
    program = compiled.program
    frozen = (
        () if captures == "arguments" else tuple(np.ascontiguousarray(v._data if hasattr(v, "_data") else v) for v in values[arguments:])
    )
    return native.make_njit(compiled.printed, program, frozen, len(graph.outputs) > 1)
