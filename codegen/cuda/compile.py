"""Kernels made runnable: on the simulator as they stand, for a device as PTX that Numba compiles,
and as machine code."""

from __future__ import annotations

import ast
import functools
import importlib
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numba import cuda
from numba.core import types

from ..locks import lock
from ..syntax import parse
from . import driver
from .kernels import PARTS, DeviceKernel
from .support import SIMULATED

Start = Callable[[int, Sequence[int]], None]
"""Launches a kernel for so many items, with these arguments."""
SIMULATED_THREADS, SIMULATED_BLOCKS = 4, 2
"""The simulator takes milliseconds for each thread."""


@functools.cache
def prepare() -> None:
    """Tell Numba's compiler for devices what kernels call; the simulator has none to tell."""
    if not SIMULATED:
        for name in ("addresses", "scalar"):
            importlib.import_module(f".{name}", __package__).register()


def functions(source: str, kernels: Sequence[DeviceKernel]) -> dict[str, Callable[..., None]]:
    """The kernels of a module as Python functions."""
    file = f"<tracegrad cuda {sha256(source.encode()).hexdigest()[:12]}>"
    # Numba's messages and the user's tracebacks show the lines.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "tracegrad_cuda"}
    tree = parse(source)
    exec(compile(_Numbers().visit(tree) if SIMULATED else tree, file, "exec"), space)
    if SIMULATED:
        # As on a device, nothing is said about overflow or NaN. Each simulated thread begins with
        # NumPy's defaults.
        for k in kernels:
            exec(
                "def quiet(*words):\n"
                "    with np.errstate(all='ignore'):\n"
                f"        inner_{k.name}(*words)",
                space,
            )
            space[f"inner_{k.name}"], space[k.name] = space[k.name], space["quiet"]
    return {k.name: space[k.name] for k in kernels}


_NUMPY_FLOAT = parse("np.float64", mode="eval").body


class _Numbers(ast.NodeTransformer):
    """Literals as NumPy's numbers: a Python float divided by zero raises, where on a device it is
    infinite."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        return ast.fix_missing_locations(
            ast.copy_location(ast.Call(_NUMPY_FLOAT, [node], []), node)
        )


def ptx(function: Callable[..., None], kernel: DeviceKernel, capability: tuple[int, int]) -> str:
    """The kernel in PTX for a compute capability; needs no device."""
    prepare()
    with compiling_for(capability):
        text, _ = cuda.compile_ptx(
            function, (types.uint64,) * kernel.words, cc=capability, launch_bounds=kernel.threads
        )
    return str(text)


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """Numba asks the current device what to compile functions called by a kernel for; here the
    kernel's own target answers."""
    from numba.cuda import dispatcher

    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = before


def starters(
    source: str, kernels: Sequence[DeviceKernel], index: int, folder: Path | None
) -> dict[str, Start]:
    """The kernels of a module by name, ready to be launched on a device; `folder` is where machine
    code is kept (None: nowhere)."""
    if SIMULATED:
        made = functions(source, kernels)
        return {k.name: _on_simulator(made[k.name], k) for k in kernels}
    machine = importlib.import_module(".machine", __package__)
    code = machine.machine_code(source, kernels, driver.capability(index), folder)
    return {k.name: _on_gpu(machine.starter(code[k.name], k, index, PARTS), k) for k in kernels}


def _on_gpu(start: Start, kernel: DeviceKernel) -> Start:
    if kernel.single:
        return lambda work, words: start(1, words)
    if kernel.per_block:
        return start
    threads = kernel.threads
    return lambda work, words: start(-(-work // threads), words)


def _on_simulator(function: Callable[..., None], kernel: DeviceKernel) -> Start:
    # The kernel's own module holds the `cuda` that the simulator exchanges.
    jitted = cuda.jit(function)
    threads = min(kernel.threads, SIMULATED_THREADS)

    def start(work: int, words: Sequence[int]) -> None:
        wanted = work if kernel.per_block else -(-work // threads)
        blocks = 1 if kernel.single or kernel.waits else min(wanted, SIMULATED_BLOCKS)
        # Simulated threads wait for each other by looking again and again: 20 times as fast where
        # they take turns more often.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)
        try:
            with _SIMULATOR:
                jitted[blocks, threads](*words)
        finally:
            sys.setswitchinterval(interval)

    return start


_SIMULATOR = lock()
"""It runs one kernel at a time."""
