"""From printed source to a native entry point."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import config, types
from numba.np import numpy_support

from ..disk import cache, stored
from ..disk.entry import DiskEntry
from ..disk.sources import declared, generated
from ..indices import typed
from ..loading import uncollected, uninterrupted
from ..translation.direct import KernelCompiler
from .borrowed import BorrowedArray, available
from .support import index

FLAGS = {"nogil": True, "error_model": "numpy", "boundscheck": False}


@dataclass(frozen=True)
class NativeKernel:
    """`call(inputs..., outputs..., arena, status, phase, lo, hi)` with exactly the array types it
    was compiled for."""

    call: Callable[..., None]
    source: str
    address: Callable[[], int] = lambda: 0
    """Where the native function is, which takes its arrays as `borrowed` structures; 0 where there
    is none."""
    strict: bool = False
    """Whether `call` raises TypeError for arrays of another class, dtype, rank or layout."""
    at_hand: bool = False
    """Whether the disk cache had it, or this process."""


def signature(arrays: Sequence[tuple[np.dtype[Any], int, str]]) -> Any:
    """The entry's type: arrays by dtype, rank and layout, then arena, status, phase, lo, hi."""
    borrow = available()
    made = []
    for dtype, ndim, layout in [
        *arrays,
        (np.dtype(np.uint8), 1, "C"),
        (np.dtype(np.int64), 1, "C"),
    ]:
        kind = numpy_support.from_dtype(dtype)
        made.append(
            BorrowedArray(kind, ndim, layout) if borrow else types.Array(kind, ndim, layout)
        )
    return types.void(*made, types.int64, types.int64, types.int64)


def _function(
    file: str, name: str, source: str, key: str, make: Callable[..., Callable[..., Any]]
) -> Any:
    """Function `name` of the source, whose lines tracebacks find under `file`.

    The linker knows its machine code by a name that holds the key: two kernels of one name, from
    processes that each counted for themselves, would be taken for one another.
    """
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    made = make(source, name, {"__name__": "tracegrad_kernel", "index": index}, file)
    made.__qualname__ = f"{name}_{key}"
    return made


def _key(source: str, name: str, inputs: Any, outputs: Any) -> tuple[str, Any]:
    """The key of a kernel, and its signature."""
    sig = signature([*inputs, *[(dtype, ndim, "C") for dtype, ndim in outputs]])
    return cache.key_of(source, name, sig, sorted(FLAGS.items())), sig


KERNELS: dict[tuple[str, Path | None], NativeKernel] = {}
"""What this process has compiled or loaded. LLVM keeps machine code as long as the process lives,
so what is made anew of the same text, as by `jit` in a loop, must be the same code."""


def kernel(*given: Any) -> NativeKernel:
    """`compile_source`, where this process does not have the kernel."""

    def made() -> NativeKernel:
        *_, cache_dir = given
        key = _key(*given[:-1])[0], cache_dir
        if key in KERNELS:
            return replace(KERNELS[key], at_hand=True)
        KERNELS[key] = compiled(*given)
        return KERNELS[key]

    return uninterrupted(made)


def compile_source(*given: Any) -> NativeKernel:
    """`compiled` in a thread of its own, while no other one compiles."""
    return uninterrupted(lambda: compiled(*given))


def _in_python(function: Callable[..., None]) -> Callable[..., None]:
    """A kernel that Python runs. Where it is interrupted after it recorded a failure, the record is
    cleared: the next kernel would be taken to have failed."""

    @functools.wraps(function)
    def run(*args: Any) -> None:
        try:
            function(*args)
        except BaseException:
            args[-4][:] = 0  # the status: a phase and two bounds follow
            raise

    return run


@uncollected()
def compiled(
    source: str,
    name: str,
    inputs: Sequence[tuple[np.dtype[Any], int, str]],
    outputs: Sequence[tuple[np.dtype[Any], int]],
    cache_dir: Path | None,
) -> NativeKernel:
    """Compile function `name` of `source` for these array types, or take it from the disk cache
    below `cache_dir` (None: memory only)."""
    cache.FOLDER[0] = cache_dir
    key, sig = _key(source, name, inputs, outputs)
    if config.DISABLE_JIT:
        cache.COUNTERS.compiled += 1
        function = _function(f"<{key}>", name, source, key, generated)
        return NativeKernel(_in_python(function), source)

    def executable(entry: Callable[..., None], address: Callable[[], int]) -> NativeKernel:
        return NativeKernel(entry, source, address if available() else lambda: 0, available())

    def build() -> tuple[NativeKernel, DiskEntry | None]:
        dispatcher = njit(**FLAGS, pipeline_class=KernelCompiler)(
            _function(f"<{key}>", name, source, key, functools.partial(declared, change=typed))
        )
        dispatcher.compile(sig)
        (result,) = dispatcher.overloads.values()
        entry, native = (
            result.entry_point,
            result.library.get_pointer_to_function(result.fndesc.llvm_func_name),
        )
        kept = stored.saved(result)
        stored.forget(result.library)
        return executable(entry, lambda: int(native)), kept

    def load(entry: DiskEntry) -> NativeKernel:
        loaded = stored.load(entry)
        return replace(executable(loaded.entry, loaded.address), at_hand=True)

    if cache_dir is None:
        cache.COUNTERS.compiled += 1
        return build()[0]
    made: NativeKernel = cache.fetch(cache_dir, key, build, load)
    return made
