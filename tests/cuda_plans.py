"""What the CUDA tests share: the plan of a function for some arguments, and when such tests can
run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import pytest

import tracegrad as tg
from tracegrad.runtime.device_code import planned
from tracegrad.transforms.rewrite import optimize

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
INSTALLED = importlib.util.find_spec("numba_cuda") is not None
NEEDS_COMPILER = pytest.mark.skipif(
    not INSTALLED or SIMULATED,
    reason=(
        "needs numba-cuda (pip install 'tracegrad[cuda]') and not its simulator "
        "(NUMBA_ENABLE_CUDASIM)"
    ),
)


def plan_of(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """The kernels and host steps of a function, as for arguments in C order."""
    # As runs on a device: it cannot ask for memory in a loop.
    graph = optimize(tg.jit(function)._entry(arrays, {})[0].graph, tapes=False)
    return planned(graph, ("C",) * len(graph.inputs))
