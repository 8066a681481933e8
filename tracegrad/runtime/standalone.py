"""`njit()`: a compiled graph as a Numba dispatcher that other compiled code can call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import loading
from ..errors import TracegradError
from ..ir.graph import Graph
from ..schedule import schedule
from ..sizes import SIZES
from ..tape.modes import restoring
from ..transforms.rewrite import optimize
from .execute import Compiled, executable_for


def numba_function(
    traced: Any,
    graph: Graph,
    names: Sequence[str],
    leaves: Sequence[Any],
    captured: Sequence[Any],
    captures: str | None,
    target: str,
    changing: bool,
) -> Any:
    """What `Jitted.njit` returns, for what was traced: `captured` are the values of what it reads
    around it, `names` where those stand of them that it does not make itself; `changing` says that
    calls change any of it."""
    if not isinstance(target, str) or target not in ("cpu", "cuda"):
        raise ValueError(f"njit: target is 'cpu' or 'cuda', not {target!r}")
    if not isinstance(captures, (str, type(None))) or captures not in (None, "freeze", "arguments"):
        raise ValueError(f"njit: captures is 'freeze' or 'arguments', not {captures!r}")
    if changing:
        raise TracegradError(
            f"njit: a call of {graph.name} changes what is around it (variables, Tensors, random "
            "generators), which a function for Numba cannot; return the new values, and take "
            "random numbers as arguments"
        )
    if names and captures is None:
        raise TracegradError(
            f"njit: {graph.name} reads {', '.join(names)} from its surroundings. "
            "Pass captures='freeze' to build the present values in, "
            "or captures='arguments' to make them further arguments."
        )
    if traced.writes:
        raise TracegradError(
            f"njit: {graph.name} writes to its arguments; return the new values instead"
        )
    if target == "cuda":
        return device_function(graph, captures != "arguments" and len(captured) > 0)
    return standalone(graph, [*leaves, *captured], len(leaves), captures or "freeze")


def standalone(graph: Graph, values: Sequence[Any], arguments: int, captures: str) -> Any:
    """A dispatcher over the first `arguments` inputs (all of them with captures="arguments"); the
    rest is frozen to `values`."""
    native = loading.imported("..codegen.native.njit_wrapper", __package__)
    executable = executable_for(graph)
    if executable.shown is not None:
        raise TracegradError(
            f"njit: {graph.name} prints, which a function for Numba cannot; take out print and "
            "debug_print"
        )
    compiled: Compiled = executable.compiled(("A",) * len(graph.inputs))
    program = compiled.program
    frozen = (
        ()
        if captures == "arguments"
        else tuple(
            np.ascontiguousarray(v._data if hasattr(v, "_data") else v) for v in values[arguments:]
        )
    )
    return native.make_njit(compiled.printed, program, frozen, len(graph.outputs) > 1)


@restoring
def device_function(graph: Graph, captures: bool) -> Any:
    """A function that kernels of the user's own call on a GPU."""
    if captures:
        raise TypeError(
            f"{graph.name} reads arrays from its surroundings, which a device function cannot "
            "hold: pass captures='arguments'"
        )
    loading.imported("..codegen.cuda.driver", __package__).target()  # says what is missing
    module = loading.imported("..codegen.cuda.device_function", __package__)
    graph = optimize(graph, tapes=False)
    with SIZES.opened(graph.sizes):
        return module.make_device_function(schedule(graph, ("A",) * len(graph.inputs), device=True))
