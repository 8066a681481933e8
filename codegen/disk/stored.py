"""Compiled functions as entries of the cache, which hold all that running them takes, read without
Numba's dispatcher, caches or typing.

Numba's own reader first loads every type and function that Numba knows of: a tenth of a second in
each process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import llvmlite.binding as binding
from numba import _dynfunc
from numba.core import registry
from numba.core.lowering import Environment
from numba.core.runtime import rtsys

from ..native import symbols
from .entry import DiskEntry

CODE = "object code"


@dataclass(frozen=True)
class Loaded:
    """A compiled function as Python calls it, and the address of its native form."""

    entry: Callable[..., None]
    address: Callable[[], int]


def saved(result: Any) -> DiskEntry | None:
    """The entry of a compile result of Numba's; None for what holds constants of Numba's, which
    each process makes again."""
    library, descriptor = result.library, result.fndesc
    environments = {
        env.env_name: env.consts
        for env in (result.environment, *result._find_referenced_environments())
    }
    if any(environments.values()):
        return None
    data = {
        "library": library.name,
        "called": called_by(library),
        "wrapper": descriptor.llvm_cpython_wrapper_name,
        "native": descriptor.llvm_func_name,
        "environments": list(environments),
    }
    return DiskEntry(data, {CODE: object_code(library)})


def called_by(library: Any) -> list[str]:
    """The names outside of a library that its code calls."""
    return [
        f.name
        for f in library._final_module.functions
        if f.is_declaration and not f.name.startswith("llvm.")
    ]


def introduce(called: Sequence[str]) -> None:
    """Make names known to the linker before it sees code that calls them: an unknown one ends the
    process."""
    for name in filter(symbols.is_ours, called):
        symbols.register(name)
    # Which tells the linker Numba's helpers.
    context = registry.cpu_target.target_context
    for name in _unknown(called):
        if name.startswith("NRT_"):
            rtsys.initialize(context)
        elif hasattr(ctypes.pythonapi, name):
            function = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
            binding.add_symbol(name, function.value)
    if _unknown(called):
        # Another of Numba's modules that tell the linker names when they are loaded.
        context.refresh()
    if unknown := _unknown(called):
        raise ImportError(f"the linker does not know {unknown}")


def _unknown(called: Sequence[str]) -> list[str]:
    return [name for name in called if not binding.address_of_symbol(name)]


def object_code(library: Any) -> bytes:
    """What LLVM made of a library of Numba's. It goes through a callback in which an interrupt is
    lost, and with it the code."""
    try:
        return bytes(library._get_compiled_object())
    except RuntimeError as missing:
        if "no compiled object" not in str(missing):
            raise
        raise KeyboardInterrupt from None


def forget(library: Any) -> None:
    """Let go of the text that LLVM has made a library's code of: a hundred kB for a small kernel.
    The code stays."""
    module = library._final_module
    library._codegen._engine._ee.remove_module(module)
    module.close()


def library_of(name: str, code: bytes, defined: Sequence[str]) -> Any:
    """A library of Numba's with such object code, in which these names are looked up. The linker
    knows what the code calls."""
    codegen = registry.cpu_target.target_context.codegen()
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(code)
    # The empty module of a new library goes to LLVM, which asks for its object code.
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(defined)
    return library


def load(entry: DiskEntry) -> Loaded:
    """The function that an entry holds."""
    called, environments = entry.texts("called"), entry.texts("environments")
    wrapper, native = entry.text("wrapper"), entry.text("native")
    introduce(called)
    library = library_of(entry.text("library"), entry.part(CODE), (wrapper, native))
    for name in environments:
        at = library.codegen._engine.get_global_value_address(name)
        if not at:
            raise ImportError(f"the code has no {name}")
        place = ctypes.c_void_p.from_address(at)
        # A place that functions of one name share may be in use already.
        place.value = place.value or id(_ENVIRONMENT)
    address = library.get_pointer_to_function(wrapper)
    made = _dynfunc.make_function(
        ModuleType(__name__), wrapper, "a compiled kernel", address, _ENVIRONMENT, library
    )
    return Loaded(made, lambda: int(library.get_pointer_to_function(native)))


_ENVIRONMENT = Environment({})
"""Where code finds its constants; kernels have none. It outlives them all."""
