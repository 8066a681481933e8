"""Kernels and C functions as one object file for a linker, which needs nothing of Python or NumPy.

A kernel is compiled again for this, since the code in the cache is made for this process: without
the function that Python calls, and in a form that may lie anywhere. Routines of our own that it
calls come along. Those of BLAS and LAPACK are taken from a library that the caller names; without
one, plain forms of most stand in for them. What else is missing is told by its name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as binding
import numpy as np
from numba import njit
from numba.core import types
from numba.core.compiler import Compiler

from ..c_function import THREAD
from ..disk.sources import declared
from ..indices import typed
from ..loading import uninterrupted
from ..scalars import bodies
from ..translation.direct import DirectCompiler, KernelCompiler
from . import plain, prebuilt
from .compile import FLAGS, _function, signature

_OF_FLOATS = (
    "sqrt exp log log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "fmod floor ceil trunc rint round fma hypot expm1 log1p cbrt erf erfc tgamma lgamma ldexp "
    "copysign fabs"
)
_OF_SYSTEM = f"malloc calloc free memcpy memset memmove bzero madvise {THREAD}"
KNOWN = frozenset(
    [*_OF_SYSTEM.split(), *[name + end for name in _OF_FLOATS.split() for end in ("", "f")]]
)
"""Functions of C's own libraries."""
OF_SCIPY = {
    "tracegrad_special_gammaln": bodies.lgamma,
    "tracegrad_special_psi": bodies.digamma,
}
"""Special functions of one number for which there is another way."""
OUTSIDE = re.compile(r"tracegrad_(blas|lapack)_(\w+)")
LEVELS = {
    "x86-64-v2": "sse3 ssse3 sse4.1 sse4.2 popcnt",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe sse4.2 popcnt",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl avx2 bmi bmi2 f16c fma lzcnt movbe",
}
"""What processors of a level have."""
COUNTS = re.compile(r"avx|sse|ssse|fma|bmi|f16c|lzcnt|popcnt|movbe|neon|sve|asimd|fp16|dotprod")
"""The features of a processor that compilers make use of."""


@dataclass(frozen=True)
class LibraryKernel:
    """A kernel as it is printed, and the name that C functions call it by."""

    source: str
    name: str
    inputs: tuple[tuple[np.dtype[Any], int, str], ...]
    outputs: tuple[tuple[np.dtype[Any], int], ...]
    symbol: str


class _Bare(KernelCompiler):
    """A kernel without the function that Python calls."""

    def define_pipelines(self) -> Any:
        self.state.flags.no_cpython_wrapper = True
        return super().define_pipelines()


class _WithoutWrappers:
    state: Any

    def define_pipelines(self) -> Any:
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        return super().define_pipelines()  # type: ignore[misc]


class _BareRoutine(_WithoutWrappers, DirectCompiler):
    pass


class _BareBody(_WithoutWrappers, Compiler):  # type: ignore[misc]
    """What is written for devices, by Numba's own passes."""


def features(cpu: str) -> tuple[str, str, tuple[str, ...]]:
    """Of "native" or a level: the name and the features as LLVM takes them, and what a processor
    must have to run the code."""
    if cpu == "native":
        own = binding.get_host_cpu_features()
        wanted = tuple(sorted(f for f, has in own.items() if has and COUNTS.match(f)))
        return binding.get_host_cpu_name(), own.flatten(), wanted
    if cpu not in LEVELS:
        raise ValueError(f"cpu is 'native' or one of {', '.join(LEVELS)}, not {cpu!r:.60}")
    return cpu, "", tuple(sorted(LEVELS[cpu].split()))


def missing(wanted: Sequence[str]) -> list[str]:
    """What this processor has not."""
    own = binding.get_host_cpu_features()
    return [f for f in wanted if not own.get(f, False)]


def object_file(
    text: str, kernels: Sequence[LibraryKernel], exported: Sequence[str], cpu: str, linked: bool
) -> bytes:
    """The object code of C functions given as LLVM text, with the kernels that they call.

    `exported` are the names that stay; with `linked` routines of BLAS and LAPACK are left to the
    linker under their Fortran names. LookupError for anything else that would be missing.
    """

    def made() -> bytes:
        binding.initialize_native_asmparser()
        name, flags, _ = features(cpu)
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=name, features=flags, opt=2, reloc="pic", codemodel="default"
        )
        whole = binding.parse_assembly(text)
        whole.triple, whole.data_layout = machine.triple, str(machine.target_data)
        for kernel in kernels:
            _link(whole, _kernel_module(kernel), machine)
        _complete(whole, machine, linked)
        for function in whole.functions:
            if not function.is_declaration and function.name not in exported:
                function.linkage = binding.Linkage.internal
        for variable in whole.global_variables:
            if not variable.is_declaration and variable.name not in exported:
                variable.linkage = binding.Linkage.internal
        builder = binding.create_pass_builder(
            machine, binding.create_pipeline_tuning_options(speed_level=2)
        )
        builder.getModulePassManager().run(whole, builder)
        _outside(whole, linked)
        whole.verify()
        return bytes(machine.emit_object(whole))

    return uninterrupted(made)


def _link(whole: Any, text: str, machine: Any) -> None:
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    whole.link_in(module)


def _kernel_module(kernel: LibraryKernel) -> str:
    sig = signature([*kernel.inputs, *[(dtype, ndim, "C") for dtype, ndim in kernel.outputs]])
    function = _function(
        f"<{kernel.symbol}>",
        kernel.name,
        kernel.source,
        kernel.symbol,
        functools.partial(declared, change=typed),
    )
    dispatcher = njit(**FLAGS, pipeline_class=_Bare)(function)
    dispatcher.compile(sig)
    (result,) = dispatcher.overloads.values()
    return _renamed(result, kernel.symbol)


def _routine_module(symbol: str) -> str:
    """A routine of our own, or in the place of one, which takes all its arguments by address."""
    routine = _stands_in(symbol)
    if routine is not None:
        function, sig = routine
    else:
        family, dtype = symbol.removeprefix("tracegrad_own_").split("_")
        entry, of_dtype = prebuilt.FAMILIES[family]
        function, sig = entry(dtype), of_dtype(dtype)
    inner, number = f"{symbol}_inner", sig.return_type == types.float64
    passes = _BareBody if number else _BareRoutine
    made = njit(error_model="numpy", _nrt=False, pipeline_class=passes)(function)
    made.compile(sig)
    (result,) = made.overloads.values()
    if number:
        taken, passed, kinds = "double %x, i32 %which", "double %x", "double"
    else:
        taken = passed = ", ".join(f"ptr %a{k}" for k in range(len(sig.args)))
        kinds = ", ".join(["ptr"] * len(sig.args))
    # Numba's function takes two addresses more: of a result, and of an error's description.
    outer = (
        f"declare i32 @{inner}(ptr, ptr, {kinds})\n"
        f"define {'double' if number else 'void'} @{symbol}({taken}) {{\n"
        "  %result = alloca double\n  %error = alloca ptr\n"
        f"  %ignored = call i32 @{inner}(ptr %result, ptr %error, {passed})\n"
        "  %value = load double, ptr %result\n"
        f"  ret {'double %value' if number else 'void'}\n}}\n"
    )
    module = binding.parse_assembly(_renamed(result, inner))
    module.link_in(binding.parse_assembly(outer))
    return str(module)


def _renamed(result: Any, symbol: str) -> str:
    text = str(result.library._final_module)
    name = result.fndesc.llvm_func_name
    return text.replace(f'@"{name}"', f"@{symbol}").replace(f"@{name}(", f"@{symbol}(")


_MEMORY = """
define ptr @NRT_Allocate(i64 %n) { %p = call ptr @malloc(i64 %n) ret ptr %p }
define void @NRT_Free(ptr %p) { call void @free(ptr %p) ret void }
declare ptr @malloc(i64)
declare void @free(ptr)
"""
_GAMMA = """
define double @tracegrad_special_gamma(double %x, i32 %which) {
  %y = call double @tgamma(double %x)
  ret double %y
}
declare double @tgamma(double)
"""


def _stands_in(symbol: str) -> tuple[Any, Any] | None:
    """The form of a routine of BLAS or LAPACK, or of a special function of SciPy's, that needs
    neither, with its signature, if there is one."""
    match = OUTSIDE.fullmatch(symbol)
    if match:
        return plain.entry(match[2])
    body = OF_SCIPY.get(symbol)
    return (body, types.float64(types.float64)) if body is not None else None


def _complete(whole: Any, machine: Any, linked: bool) -> None:
    """Add what is called and stands in no library of C's."""
    done: set[str] = set()
    while True:
        wanted = {f.name for f in whole.functions if f.is_declaration} - done
        own = sorted(
            n
            for n in wanted
            if n.startswith("tracegrad_own_")
            or (not (linked and OUTSIDE.fullmatch(n)) and _stands_in(n) is not None)
        )
        memory = wanted & {"NRT_Allocate", "NRT_Free"}
        gamma = wanted & {"tracegrad_special_gamma"}
        if not own and not memory and not gamma:
            return
        for name in own:
            _link(whole, _routine_module(name), machine)
        if memory:
            _link(whole, _MEMORY, machine)
        if gamma:
            _link(whole, _GAMMA, machine)
        done |= {*own, *memory, *gamma}


def _outside(whole: Any, linked: bool) -> None:
    unknown = []
    for function in list(whole.functions):
        name = function.name
        if not function.is_declaration or name.startswith("llvm.") or name in KNOWN:
            continue
        match = OUTSIDE.fullmatch(name)
        if match and linked:
            function.name = f"{match[2]}_"
            continue
        unknown.append(
            f"{match[1].upper()}'s {match[2]}"
            if match
            else "SuperLU, which SciPy gives to Python only"
            if name.startswith("tracegrad_python_sparse_solve")
            else name.removeprefix("tracegrad_special_")
        )
    if unknown:
        raise LookupError(", ".join(sorted(set(unknown))))


__all__ = ["LEVELS", "LibraryKernel", "features", "missing", "object_file"]
