"""Library routines over whole buffers on a device."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import kernel
from . import driver


def call_routine(index: int, call: kernel.Call, operands: list[Any]) -> None:
    """Run a routine. What the device has no own form of runs on the host: its operands are copied there, and what changed is copied back."""
    module, _, name = call.routine.rpartition(".")
    on_host(index, getattr(importlib.import_module(f"..native.{module or 'library'}", __package__), name), operands)


def on_host(index: int, function: Any, operands: list[Any]) -> None:
    given = [driver.download(index, x) if isinstance(x, np.ndarray) else x for x in operands]
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
    with np.errstate(all="ignore"):
        function(*given)
    for memory, old, new in zip(operands, before, given, strict=True):
        if isinstance(memory, np.ndarray) and old.tobytes() != new.tobytes():
            driver.upload(index, memory, new)
