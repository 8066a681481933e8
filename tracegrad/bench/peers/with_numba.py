"""What Numba makes of loops written by hand, on one thread: the derivative as a patient person
would write it, and the floors.

Sums may be split over several accumulators and multiply-adds fused, as tracegrad does; nothing is
assumed about NaN and inf.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import cuda

from ..contestant import NotFittingError, Prepared, Setting
from ..measure import by_events
from ..workload import Function, Workload, direction, with_helpers


def prepare(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    if workload.numba is None:
        raise NotFittingError("no hand-written loops for this workload")
    loops = compiled(workload.numba)
    inputs = [*arguments, direction(arguments)] if workload.derivative == "hvp" else arguments
    return Prepared(lambda: loops(*inputs), None, arrays)


def prepare_floor(workload: Workload, arguments: list[Any], setting: Setting) -> Prepared:
    """The workload's floor; the number of BLAS threads follows from the environment."""
    if workload.floor is None:
        raise NotFittingError("no floor for this workload")
    if setting.device != "cpu":
        return copied(workload, arguments)
    work = compiled(workload.floor.function) if workload.floor.compiled else workload.floor.function
    return Prepared(lambda: work(*arguments), None, arrays)


def copied(workload: Workload, arguments: list[Any]) -> Prepared:
    """Copying the arguments on the GPU, which takes as long as reading them and writing results of
    their size."""
    assert workload.floor is not None
    if workload.floor.name != "copy":
        raise NotFittingError("a floor of the CPU")
    pairs = [(cuda.device_array(a.shape, a.dtype), cuda.to_device(a)) for a in arguments]

    def copy() -> list[Any]:
        for to, what in pairs:
            to.copy_to_device(what)
        return [to for to, _ in pairs]

    return Prepared(
        copy,
        None,
        lambda result: [to.copy_to_host() for to in result],
        wait=cuda.synchronize,
        timed=by_events(cuda.event),
    )


def compiled(function: Function) -> Any:
    """The function and its helpers in native code."""
    return numba.njit(
        with_helpers(function, compiled), fastmath={"contract", "reassoc"}, error_model="numpy"
    )


def arrays(result: Any) -> list[Any]:
    return [np.asarray(a) for a in result]
