"""Kernels whose text says `@arithmetic(...)`: their arithmetic is not NumPy's to the last bit."""

from __future__ import annotations

import ast
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from ..options import PLAIN, CodeOptions, chosen

ROUNDED = ("fadd", "fsub", "fmul")
X86_ZEROS = 0x8040
"""Bits of MXCSR: denormal results are zeros, denormal operands are zeros."""
ARM_ZEROS = 1 << 24
"""The bit of FPCR for both."""


def arithmetic_of(tree: ast.FunctionDef | ast.Lambda) -> CodeOptions:
    """What stands above the definition."""
    if isinstance(tree, ast.FunctionDef):
        for decorator in tree.decorator_list:
            match decorator:
                case ast.Call(ast.Name("arithmetic"), [], words):
                    return chosen(PLAIN, {str(w.arg): ast.literal_eval(w.value) for w in words})
    return PLAIN


def unrounded(function: Any) -> None:
    """Let products that a sum in any order adds (`acc`) go into it in one rounding. Both operations
    have to allow it: no other sum of these products does, nor what stands for itself."""
    for block in function.blocks:
        for instruction in block.instructions:
            if instruction.opname == "fmul" and "contract" not in instruction.flags:
                instruction.flags = [*instruction.flags, "contract"]


def contract(function: Any) -> None:
    """Let products and sums of a function be one rounding. What it calls, elementary functions
    among it, computes as ever."""
    for block in function.blocks:
        for instruction in block.instructions:
            if instruction.opname in ROUNDED and "contract" not in instruction.flags:
                instruction.flags = [*instruction.flags, "contract"]


@contextmanager
def denormals_are_zeros(module: Any, builder: Any) -> Iterator[None]:
    """What is called in between has this mode, which the processor keeps per thread. It must be a
    call that is not inlined: LLVM moves arithmetic across changes of the mode."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        number = ir.IntType(64)
        before = builder.call(_intrinsic(module, "llvm.aarch64.get.fpcr", number, []), [])
        put = _intrinsic(module, "llvm.aarch64.set.fpcr", ir.VoidType(), [number])
        builder.call(put, [builder.or_(before, number(ARM_ZEROS))])
        yield
        builder.call(put, [before])
        return
    word = ir.IntType(32)
    pointer = ir.IntType(8).as_pointer()
    read, write = (
        _intrinsic(module, f"llvm.x86.sse.{name}", ir.VoidType(), [pointer])
        for name in ("stmxcsr", "ldmxcsr")
    )
    old, new = builder.alloca(word), builder.alloca(word)
    old_place, new_place = (builder.bitcast(place, pointer) for place in (old, new))
    builder.call(read, [old_place])
    builder.store(builder.or_(builder.load(old), word(X86_ZEROS)), new)
    builder.call(write, [new_place])
    yield
    builder.call(write, [old_place])


def _intrinsic(module: Any, name: str, result: Any, parameters: list[Any]) -> Any:
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, parameters), name)


__all__ = ["arithmetic_of", "contract", "denormals_are_zeros", "unrounded"]
