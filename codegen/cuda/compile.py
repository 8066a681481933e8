"""Kernels made runnable: on the simulator as they stand, for a device as PTX that Numba compiles, and as machine code."""

from __future__ import annotations

import importlib
import linecache
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numba import cuda
from numba.core import types

from . import driver
from .kernels import PARTS, Launch, Plan
from .support import SIMULATED

if not SIMULATED:
    # The simulator has no compiler to tell.
    for _name in ("addresses", "scalar"):
        importlib.import_module(f".{_name}", __package__).register()

Kernel = Callable[[int, Sequence[int]], None]
"""Launches a kernel for so many items, with these arguments."""
SIMULATED_THREADS, SIMULATED_BLOCKS = 4, 2
"""The simulator takes milliseconds for each thread."""


def functions(plan: Plan) -> dict[str, Callable[..., None]]:
    """The kernels of a plan as Python functions."""
    name = f"<tracegrad {plan.program.name} {sha256(plan.source.encode()).hexdigest()[:12]}>"
    # Numba's messages and the user's tracebacks show the lines.
    linecache.cache[name] = (len(plan.source), None, plan.source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "tracegrad_cuda"}
    exec(compile(plan.source, name, "exec"), space)
    if SIMULATED:
        # As on a device, nothing is said about overflow or NaN. Each simulated thread begins with NumPy's defaults.
        for launch in plan.launches:
            exec(f"def quiet(*words):\n    with np.errstate(all='ignore'):\n        inner_{launch.name}(*words)", space)
            space[f"inner_{launch.name}"], space[launch.name] = space[launch.name], space["quiet"]
    return {launch.name: space[launch.name] for launch in plan.launches}


def signature_of(launch: Launch) -> tuple[Any, ...]:
    """All arguments are words: addresses, strides, sizes."""
    words = sum(1 + (len(b.shape) if b.layout == "A" else 0) for b in launch.buffers) + len(launch.scratch) + len(launch.scalars)
    return (types.uint64,) * words


def ptx(function: Callable[..., None], launch: Launch, capability: tuple[int, int]) -> str:
    """The kernel in PTX for a compute capability; needs no device."""
    with compiling_for(capability):
        text, _ = cuda.compile_ptx(function, signature_of(launch), cc=capability, launch_bounds=launch.threads)
    return str(text)


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """Numba asks the current device what to compile functions called by a kernel for; here the kernel's own target answers."""
    from numba.cuda import dispatcher

    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = before


def kernels_of(plan: Plan, index: int, folder: Path | None) -> dict[str, Kernel]:
    """The kernels of a plan by name, ready to be launched on a device; `folder` is where machine code is kept (None: nowhere)."""
    if SIMULATED:
        made = functions(plan)
        return {launch.name: _on_simulator(made[launch.name], launch) for launch in plan.launches}
    machine = importlib.import_module(".machine", __package__)
    code = machine.machine_code(plan, driver.capability(index), folder)
    return {
        launch.name: _on_gpu(machine.starter(code[launch.name], index, launch.threads, launch.waits, PARTS), launch)
        for launch in plan.launches
    }


def _on_gpu(start: Callable[[int, Sequence[int]], None], launch: Launch) -> Kernel:
    if launch.single:
        return lambda work, words: start(1, words)
    if launch.per_block:
        return start
    threads = launch.threads
    return lambda work, words: start(-(-work // threads), words)


def _on_simulator(function: Callable[..., None], launch: Launch) -> Kernel:
    # The kernel's own module holds the `cuda` that the simulator exchanges.
    jitted = cuda.jit(function)
    threads = min(launch.threads, SIMULATED_THREADS)

    def start(work: int, words: Sequence[int]) -> None:
        wanted = work if launch.per_block else -(-work // threads)
        blocks = 1 if launch.single or launch.waits else min(wanted, SIMULATED_BLOCKS)
        # Simulated threads wait for each other by looking again and again: 20 times as fast where they take turns more often.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)
        try:
            with _SIMULATOR:
                jitted[blocks, threads](*words)
        finally:
            sys.setswitchinterval(interval)

    return start


_SIMULATOR = threading.Lock()
"""It runs one kernel at a time."""
