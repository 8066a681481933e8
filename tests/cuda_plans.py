"""What the CUDA tests share: the plan of a function for some arguments, and when such tests can run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.test_ops import graph_and_inputs
from tracegrad.runtime.on_device import planned

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
INSTALLED = importlib.util.find_spec("numba_cuda") is not None
NEEDS_COMPILER = pytest.mark.skipif(
    not INSTALLED or SIMULATED,
    reason="needs numba-cuda (pip install 'tracegrad[cuda]') and not its simulator (NUMBA_ENABLE_CUDASIM)",
)


def plan_of(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """The kernels and host steps of a function, as for arguments in C order."""
    graph, _ = graph_and_inputs(function, arrays)
    return planned(graph, ("C",) * len(graph.inputs))
