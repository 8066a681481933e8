"""The derivative written by hand as loops and compiled by Numba: what a patient person would get, on one thread."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .contestant import NotFittingError, Prepared
from .workload import Workload, direction


def prepare(workload: Workload, arguments: list[Any], threads: int) -> Prepared:
    if workload.numba is None:
        raise NotFittingError("no hand-written loops for this workload")
    compiled = numba.njit(workload.numba, fastmath=True, error_model="numpy")
    inputs = [*arguments, direction(arguments)] if workload.derivative == "hvp" else arguments
    return Prepared(lambda: compiled(*inputs), None, lambda result: [np.asarray(a) for a in result])
