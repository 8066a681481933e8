"""CuPy: the derivative written by hand on whole arrays, which is what its users have."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..contestant import NotFittingError, Prepared, Setting
from ..workload import Workload, direction, with_modules

cupy: Any = import_module("cupy")


def prepare(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """The workload's own reference on CuPy's arrays."""
    if workload.loops or workload.step is not None:
        raise NotFittingError("a loop in Python")
    special = import_module("cupyx.scipy.special")
    derivative, primal = (
        with_modules(f, cupy, special) for f in (workload.reference, workload.function)
    )
    inputs = [cupy.asarray(a) for a in arguments]
    extended = (
        [*inputs, cupy.asarray(direction(arguments))] if workload.derivative == "hvp" else inputs
    )

    def timed(call: Callable[[], Any], number: int) -> float:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(number):
            call()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end)) / 1e3

    wait = cupy.cuda.get_current_stream().synchronize
    return Prepared(
        lambda: derivative(*extended),
        lambda: primal(*inputs),
        lambda r: [cupy.asnumpy(a) for a in r],
        wait=wait,
        timed=timed,
    )
