"""Compiled functions in one file that holds all that running them takes, read without Numba's dispatcher, caches or typing.

Numba's own reader first loads every type and function that Numba knows of: a tenth of a second in each process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as binding
from numba import _dynfunc
from numba.core import registry
from numba.core.lowering import Environment

from . import symbols

CODE = "code.bin"


@dataclass(frozen=True)
class Loaded:
    """A compiled function as Python calls it, and the address of its native form."""

    entry: Callable[..., None]
    address: Callable[[], int]


def save(directory: Path, result: Any) -> None:
    """Write a compile result of Numba's."""
    library, descriptor = result.library, result.fndesc
    environments = {env.env_name: list(env.consts) for env in (result.environment, *result._find_referenced_environments())}
    names = (descriptor.llvm_cpython_wrapper_name, descriptor.llvm_func_name, descriptor.env_name)
    called = [f.name for f in library._final_module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    content = (called, names, environments, object_code(library))
    try:
        (directory / CODE).write_bytes(pickle.dumps(content))
    except (AttributeError, TypeError, pickle.PicklingError):
        # Constants of Numba's that cannot be kept: such a kernel is compiled again by each process.
        return


def object_code(library: Any) -> Any:
    """What LLVM made of a library of Numba's. It goes through a callback in which an interrupt is lost, and with it the code."""
    try:
        return library.serialize_using_object_code()
    except RuntimeError as missing:
        if "no compiled object" not in str(missing):
            raise
        raise KeyboardInterrupt from None


def load(directory: Path) -> Loaded:
    """The function that a directory holds, whose seal was checked."""
    called, (wrapper, native, own), environments, content = pickle.loads((directory / CODE).read_bytes())
    context = registry.cpu_target.target_context
    # The linker must know all names before it sees code that calls them: an unknown one ends the process.
    for name in filter(symbols.is_ours, called):
        symbols.register(name)
    if not all(binding.address_of_symbol(name) for name in called):
        # Numba's runtime, or another of its modules that tell the linker names when they are loaded.
        context.refresh()
        if unknown := [name for name in called if not binding.address_of_symbol(name)]:
            raise ImportError(f"the linker does not know {unknown}")
    library = context.codegen().unserialize_library(content)
    made = {}
    for name, constants in environments.items():
        made[name] = Environment({})
        made[name].consts.extend(constants)
        made[name].env_name = name
        library.codegen.set_env(name, made[name])
    address = library.get_pointer_to_function(wrapper)
    keep = (library, *made.values())
    entry = _dynfunc.make_function(ModuleType(__name__), wrapper, "a compiled kernel", address, made[own], keep)
    return Loaded(entry, lambda: int(library.get_pointer_to_function(native)))
