"""What Numba makes of loops written by hand, on one thread: the derivative as a patient person would write it, and the floors.

Sums may be split over several accumulators and multiply-adds fused, as tracegrad does; nothing is assumed about NaN and inf.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .contestant import NotFittingError, Prepared
from .workload import Function, Workload, direction, with_helpers


def prepare(workload: Workload, arguments: list[Any], threads: int) -> Prepared:
    if workload.numba is None:
        raise NotFittingError("no hand-written loops for this workload")
    loops = compiled(workload.numba)
    inputs = [*arguments, direction(arguments)] if workload.derivative == "hvp" else arguments
    return Prepared(lambda: loops(*inputs), None, arrays)


def prepare_floor(workload: Workload, arguments: list[Any], threads: int) -> Prepared:
    """The workload's floor; the number of BLAS threads follows from the environment."""
    if workload.floor is None:
        raise NotFittingError("no floor for this workload")
    work = compiled(workload.floor.function) if workload.floor.compiled else workload.floor.function
    return Prepared(lambda: work(*arguments), None, arrays)


def compiled(function: Function) -> Any:
    """The function and its helpers in native code."""
    return numba.njit(with_helpers(function, compiled), fastmath={"contract", "reassoc"}, error_model="numpy")


def arrays(result: Any) -> list[Any]:
    return [np.asarray(a) for a in result]
