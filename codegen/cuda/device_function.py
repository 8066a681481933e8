"""A program as a device function: what one thread calls from a kernel of the user's own."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
from numba import cuda

from .. import kernel, traversal
from ..owners import Owners
from ..printer import dtype_name, literal
from .compile import prepare
from .dependence import statements
from .kernels import header
from .team import ThreadTeam
from .teams import Body

THREAD_ROUTINES = frozenset({"library.matmul"})
"""Routines that a thread can run by itself."""


def source_of(program: kernel.Program) -> str:
    """The source of a function of the program's inputs and, after them, its array results, which it
    fills; its 0-d results are returned."""
    if program.sizes:
        raise TypeError(
            f"{program.name}: a device function needs fixed sizes; "
            f"it was traced for any size of {', '.join(dict(program.sizes))}"
        )
    for phase in program.phases:
        for s in statements(phase.body):
            if isinstance(s, kernel.Allocate):
                raise NotImplementedError(
                    f"{program.name}: a device function has no memory for loops whose number "
                    "of steps is not known"
                )
            if isinstance(s, kernel.Call) and s.routine not in THREAD_ROUTINES:
                raise NotImplementedError(
                    f"{program.name}: {s.routine.partition('.')[2]} has no form that one "
                    f"thread runs ({s.comment})"
                )
    inputs = [b for b in program.buffers if b.role == "in"]
    outputs = [b for b in program.buffers if b.role == "out"]
    scalars = {b.name for b in program.buffers if b.role in ("in", "out") and not b.shape}
    body = Body(program, {}, Owners.of_program(program), ThreadTeam.THREAD, deterministic=True)
    parameters = [b.name for b in inputs] + [b.name for b in outputs if b.shape]
    lines = [f"def {program.name}({', '.join(parameters)}):"]
    lines += [f"    {b.name} = {literal(0, b.dtype)}" for b in outputs if not b.shape]
    for b in sorted(program.buffers, key=lambda b: bool(b.of)):
        shape = "(" + "".join(f"{s}, " for s in b.shape) + ")"
        if b.of:
            lines.append(f"    {b.name} = {b.of}.reshape({shape})")
        elif b.role == "temp":
            lines.append(f"    {b.name} = cuda.local.array({shape}, np.{dtype_name(b.dtype)})")
    if program.errors:
        lines.append("    status = cuda.local.array((2,), np.int64)")
        lines.append("    status[0] = 0")
    for phase in program.phases:
        body.body(1, _with_locals(phase.body, scalars))
    lines += body.lines
    returned = [b.name for b in outputs if not b.shape]
    lines.append(f"    return {', '.join(returned)}" if returned else "    return")
    return header({**body.used, "library": set()}, "\n".join(lines)) + "\n".join(lines) + "\n"


def _with_locals(
    body: tuple[kernel.Statement, ...], scalars: set[str]
) -> tuple[kernel.Statement, ...]:
    """The statements with 0-d inputs and results as local numbers."""

    def load(e: kernel.Load) -> kernel.Expression:
        return kernel.Name(e.buffer, e.dtype) if e.buffer in scalars else e

    def store(s: kernel.Store) -> kernel.Statement:
        return kernel.Update(s.buffer, s.value, s.combine, True) if s.buffer in scalars else s

    return traversal.rewritten(body, load, store)


def make_device_function(program: kernel.Program) -> Any:
    """The program as a function that `@cuda.jit` kernels call."""
    prepare()
    source = source_of(program)
    file = f"<{program.name} for CUDA>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "tracegrad_cuda", "np": np}
    exec(compile(source, file, "exec"), space)
    return cuda.jit(device=True)(space[program.name])
