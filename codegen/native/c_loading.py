"""LLVM text as functions of this process, and as values that Numba's compiled functions take."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding as binding
from numba.core import types
from numba.experimental import function_type  # noqa: F401  the type of a FunctionValue

from ..c_function import THREAD
from ..loading import COMPILING

C_TYPES = {
    "int32": types.int32,
    "int64": types.int64,
    "float32": types.float32,
    "float64": types.float64,
    "pointer": types.voidptr,
}


def loaded(text: str, names: Sequence[str]) -> tuple[Any, list[int]]:
    """What owns the machine code of a text, and the addresses of these functions of it."""
    with COMPILING:
        _register()
        binding.initialize_native_asmparser()
        module = binding.parse_assembly(text)
        module.verify()
        machine = _machine()
        options = binding.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        # A machine that has made code keeps 0.8 MB, an engine that only loads some 12 kB.
        code = machine.emit_object(module)
        module.close()
        empty = binding.parse_assembly("")
        empty.triple = machine.triple
        target = binding.Target.from_default_triple()
        engine = binding.create_mcjit_compiler(empty, target.create_target_machine())
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        addresses = [engine.get_function_address(name) for name in names]
        if not all(addresses):
            raise RuntimeError(f"the linker does not find {', '.join(names)}")
        return engine, addresses


@cache
def _machine() -> Any:
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=2,
        codemodel="jitdefault",
    )


@cache
def _register() -> None:
    """Tell the linker where C's functions are, which on some systems it does not find."""
    if sys.platform == "win32":
        library = ctypes.CDLL("ucrtbase")
        system = ctypes.WinDLL("kernel32")
        functions = [
            ("malloc", library.malloc),
            ("free", library.free),
            ("GetCurrentThreadId", system.GetCurrentThreadId),
        ]
    else:
        library = ctypes.CDLL(None)
        functions = [(name, getattr(library, name)) for name in ("malloc", "free", THREAD)]
    for name, function in functions:
        binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


class FunctionValue(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A C function that Numba's compiled functions take as an argument, and call without Python:
    all of one signature are of one type, so another one costs no compilation."""

    address: int
    _returned: str
    _taken: Sequence[str]

    def __wrapper_address__(self) -> int:
        return self.address

    def signature(self) -> Any:
        """The types as Numba writes them."""
        returned = types.void if self._returned == "nothing" else C_TYPES[self._returned]
        return returned(*[C_TYPES[kind] for kind in self._taken])


__all__ = ["FunctionValue", "loaded"]
