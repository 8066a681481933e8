"""Routines of our own that compiled code calls by name: compiled once, kept on disk like kernels, never compiled into a kernel."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache as memoised
from pathlib import Path
from typing import Any

from numba import cfunc
from numba.core import registry

from . import cache, gemm, small, symbols
from .direct import DirectCompiler
from .stored import object_code

_FAMILIES: dict[str, tuple[Callable[[str], Callable[..., None]], Callable[[str], Any]]] = {
    "gemm": (gemm.entry, gemm.entry_signature),
    "eliminate": (small.eliminate, small.eliminate_signature),
    "cholesky": (small.cholesky, small.cholesky_signature),
    "triangular": (small.triangular, small.triangular_signature),
}
CODE = "code.bin"


@memoised
def address(name: str) -> int:
    """The address of the routine `family_dtype`, which takes all its arguments by address; compiled at first use on a machine."""
    family, dtype = name.split("_")
    entry, signature = _FAMILIES[family]
    loaded: list[Any] = []

    def build(directory: Path | None) -> int:
        compiled = cfunc(signature(dtype), error_model="numpy", _nrt=False, pipeline_class=DirectCompiler)(entry(dtype))
        library = compiled._library
        loaded.append(compiled)
        if directory is not None:
            names = symbols.mentioned(library)
            (directory / CODE).write_bytes(pickle.dumps((names, compiled.native_name, object_code(library))))
        return int(compiled.address)

    def load(directory: Path) -> int:
        names, native, payload = pickle.loads((directory / CODE).read_bytes())
        for mentioned in names:
            symbols.register(mentioned)
        library = registry.cpu_target.target_context.codegen().unserialize_library(payload)
        loaded.append(library)
        return int(library.get_pointer_to_function(native))

    folder = cache.FOLDER[0]
    found = build(None) if folder is None else int(cache.fetch(folder, cache.key_of("", name), build, load))
    _KEPT.extend(loaded)
    return found


_KEPT: list[Any] = []
"""What owns the machine code."""
