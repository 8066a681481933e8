"""From printed source to a native entry point."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator
from numba.np import numpy_support

from . import cache, symbols
from .borrowed import BorrowedArray, available
from .direct import KernelCompiler

SYMBOLS = "symbols.txt"
"""Names the routines of SciPy that the compiled code calls."""
FLAGS = {"nogil": True, "error_model": "numpy", "boundscheck": False}


class _Locator(InTreeCacheLocator):  # type: ignore[misc]
    """Beside the source and nowhere else, whatever NUMBA_CACHE_DIR says; the directory's manifest stands for the source's time stamp."""

    def get_source_stamp(self) -> str:
        return "sealed"


class _Files(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's reader and writer of compiled functions, in the directory of one kernel."""

    _impl_class = _Files


@dataclass(frozen=True)
class Executable:
    """`call(inputs..., outputs..., arena, status, phase, lo, hi)` with exactly the array types it was compiled for."""

    call: Callable[..., None]
    source: str
    address: Callable[[], int] = lambda: 0
    """Where the native function is, which takes its arrays as `borrowed` structures; 0 where there is none."""


def signature(arrays: Sequence[tuple[np.dtype[Any], int, str]]) -> Any:
    """The entry's type: arrays by dtype, rank and layout, then arena, status, phase, lo, hi."""
    borrow = available()
    made = []
    for dtype, ndim, layout in [*arrays, (np.dtype(np.uint8), 1, "C"), (np.dtype(np.int64), 1, "C")]:
        kind = numpy_support.from_dtype(dtype)
        made.append(BorrowedArray(kind, ndim, layout) if borrow else types.Array(kind, ndim, layout))
    return types.void(*made, types.int64, types.int64, types.int64)


def _module(path: Path | None, name: str, source: str) -> dict[str, Any]:
    """Run the source as a module that `sys.modules` knows, which Numba's cache needs to name its functions."""
    if path is None:
        file = f"<{name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        spec = importlib.util.spec_from_loader(name, loader=None, origin=file)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        exec(compile(source, file, "exec"), module.__dict__)
        return module.__dict__
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.__dict__


def compile_source(
    source: str,
    name: str,
    inputs: Sequence[tuple[np.dtype[Any], int, str]],
    outputs: Sequence[tuple[np.dtype[Any], int]],
    cache_dir: Path | None,
) -> Executable:
    """Compile function `name` of `source` for these array types, or take it from the disk cache below `cache_dir` (None: memory only)."""
    cache.FOLDER[0] = cache_dir
    kinds = [*inputs, *[(dtype, ndim, "C") for dtype, ndim in outputs]]
    sig = signature(kinds)
    options: dict[str, Any] = {**FLAGS, "pipeline_class": KernelCompiler}
    key = cache.key_of(source, name, sig, sorted(FLAGS.items()))
    module_name = f"tracegrad_kernel_{key}"

    def entry(namespace: dict[str, Any], keep: bool) -> tuple[Executable, Any]:
        function = namespace[name]
        if config.DISABLE_JIT:
            return Executable(function, source), None
        dispatcher = njit(**options)(function)
        if keep:
            dispatcher._cache = _KernelCache(function)
        dispatcher.compile(sig)
        (result,) = dispatcher.overloads.values()
        address = functools.partial(result.library.get_pointer_to_function, result.fndesc.llvm_func_name)
        return Executable(result.entry_point, source, address if available() else lambda: 0), dispatcher

    if cache_dir is None or config.DISABLE_JIT:
        cache.COUNTERS.compiled += 1
        return entry(_module(None, module_name, source), False)[0]

    def build(directory: Path) -> Executable:
        path = directory / "kernel.py"
        path.write_text(source, encoding="utf-8")
        made, dispatcher = entry(_module(path, module_name, source), True)
        (text,) = dispatcher.inspect_llvm().values()
        (directory / SYMBOLS).write_text("\n".join(symbols.mentioned(text)))
        return made

    def load(directory: Path) -> Executable | None:
        # The linker must know the names before it sees code that calls them: an unknown one ends the process.
        for symbol in (directory / SYMBOLS).read_text().split():
            symbols.register(symbol)
        made, dispatcher = entry(_module(directory / "kernel.py", module_name, source), True)
        return made if sum(dispatcher.stats.cache_hits.values()) else None

    made: Executable = cache.fetch(cache_dir, key, build, load)
    return made
