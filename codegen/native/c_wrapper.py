"""C functions around kernels (`codegen/c_function.py`) as LLVM text, which takes a millisecond to
compile: no Python is in them, and no type that Numba would have to infer.

A kernel is called as Numba calls it: each array as (null, null, elements, bytes of one, data,
shape, strides), then arena, status, phase, lo, hi, which are explained in `codegen/kernel.py`.
Memory for temporaries is on the stack, or taken from blocks that calls leave behind for others, or
the caller's. What failed is recorded per thread in a table, beside what the function returns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..c_function import (
    NO_MEMORY,
    NOT_A_NUMBER,
    WRONG_SIZE,
    At,
    ByValue,
    Captured,
    CFunction,
    CKernel,
    KernelArray,
    Place,
    Returned,
    Unwanted,
    checked_places,
    size_of,
)
from ..integers import Binary, Int, Integer, Symbol
from . import c_xla
from .c_support import ALIGNMENT

TYPES = {"int32": "i32", "int64": "i64", "float32": "float", "float64": "double", "pointer": "ptr"}
ON_STACK = 1 << (11 if sys.platform == "win32" else 14)
"""Bytes of temporaries up to which they are on the stack of the caller; Windows wants to be told of
more than a page."""
FEW = 16
"""Numbers up to which they are compared one by one."""
SMALL = 1 << 8
"""Bytes of a result up to which it is on the stack, where nobody asked for it."""
RELATIONS = {"==": "eq", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "!=": "ne"}


def element_type(dtype: np.dtype[Any]) -> str:
    """LLVM's type of a number."""
    if dtype.kind == "b":
        return "i8"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return {"float32": "float", "float64": "double"}.get(
        dtype.name, f"[2 x {'float' if dtype.itemsize == 8 else 'double'}]"
    )


class LlvmWriter:
    """Instructions of one function, with names for their results."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        """What stands at the head of the function: memory on the stack."""
        self.count = 0
        self.symbols: dict[str, str] = {}
        self.inputs: tuple[KernelArray, ...] = ()

    def fresh(self, word: str = "v") -> str:
        self.count += 1
        return f"%{word}.{self.count}"

    def let(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def memory(self, kind: str, count: int = 1, align: int = 8, name: str = "") -> str:
        name = name or self.fresh("at")
        self.entry.append(f"  {name} = alloca {kind}, i64 {count}, align {align}")
        return name

    def fails(self, condition: str, code: str, value: str = "0") -> None:
        """Leave with this status where the condition holds."""
        go_on, bad = self.fresh("well")[1:], self.fresh("bad")[1:]
        self.do(f"br i1 {condition}, label %{bad}, label %{go_on}, !prof !0")
        self.label(bad)
        self.do(f"store i32 {code}, ptr %.code")
        self.do(f"store i64 {value}, ptr %.value")
        self.do("br label %.failed")
        self.label(go_on)

    def integer(self, value: Int) -> str:
        """An integer expression in 64-bit integers."""
        if isinstance(value, int):
            return str(value)
        assert isinstance(value, Integer)
        total = "0"
        for monomial, coefficient in value.terms:
            part = str(coefficient)
            for atom in monomial:
                part = self.let(f"mul i64 {part}, {self._atom(atom)}")
            total = self.let(f"add i64 {total}, {part}")
        return total

    def _atom(self, atom: Any) -> str:
        if isinstance(atom, Symbol):
            return self.symbols[atom.name]
        assert isinstance(atom, Binary)
        left = self.integer(atom.left)
        if atom.op == "root":
            real = self.let(f"sitofp i64 {left} to double")
            root = self.let(f"call double @llvm.sqrt.f64(double {real})")
            return self.let(f"fptosi double {root} to i64")
        right = self.integer(atom.right)
        if atom.op in ("min", "max"):
            return self.let(f"call i64 @llvm.s{atom.op}.i64(i64 {left}, i64 {right})")
        # Python's: towards minus infinity.
        quotient = self.let(f"sdiv i64 {left}, {right}")
        product = self.let(f"mul i64 {quotient}, {right}")
        rest = self.let(f"sub i64 {left}, {product}")
        mixed = self.let(f"xor i64 {rest}, {right}")
        opposite = self.let(f"icmp slt i64 {mixed}, 0")
        some = self.let(f"icmp ne i64 {rest}, 0")
        below = self.let(f"and i1 {opposite}, {some}")
        if atom.op == "//":
            one = self.let(f"zext i1 {below} to i64")
            return self.let(f"sub i64 {quotient}, {one}")
        more = self.let(f"select i1 {below}, i64 {right}, i64 0")
        return self.let(f"add i64 {rest}, {more}")


def wrapper(
    function: CFunction,
    kernel: CKernel,
    callee: str,
    failures: str,
    captured: str,
    number: int = 0,
    exported: bool = False,
) -> str:
    """The LLVM text of a function. `callee`, `failures` (the counter and the table, with their
    types) and `captured` (the addresses of captured arrays) are constants of type ptr; `number`
    stands with the status in the table."""
    checked_places(function, kernel)
    w = LlvmWriter()
    w.inputs = kernel.inputs
    if function.returns == "xla":
        w.lines += c_xla.prologue()
        w.memory("i64", 4, name="%.error")
    for parameter, wanted in function.sizes:
        _size(w, function, parameter, wanted)
    if function.skips:
        _structure(w, function)
    for relation, difference, fact in kernel.facts:
        holds = w.let(f"icmp {RELATIONS[relation]} i64 {w.integer(difference)}, 0")
        w.fails(w.let(f"xor i1 {holds}, true") if fact else holds, str(WRONG_SIZE))
    arena, free = _arena(w, function, kernel)
    arguments = ["ptr %.nothing", "ptr %.trouble"]
    addresses: list[str] = []
    table = captured
    if function.user and any(isinstance(p, Captured) for p in function.inputs):
        own = w.let(f"icmp eq ptr %{function.user}, null")
        table = w.let(f"select i1 {own}, ptr {captured}, ptr %{function.user}")
    for array, place in zip(
        (*kernel.inputs, *kernel.outputs), (*function.inputs, *function.outputs), strict=True
    ):
        addresses.append(_address(w, function, array, place, table, free))
        arguments += _array(w, array, addresses[-1])
    results = [
        (array, place, address)
        for array, place, address in zip(
            kernel.outputs, function.outputs, addresses[len(kernel.inputs) :], strict=True
        )
    ]
    size = w.integer(kernel.arena + ALIGNMENT)
    arguments += ["ptr null", "ptr null", f"i64 {size}", "i64 1", f"ptr {arena}"]
    arguments += [f"i64 {size}", "i64 1"]
    arguments += ["ptr null", "ptr null", "i64 2", "i64 8", "ptr %.status", "i64 2", "i64 8"]
    arguments += ["i64 -1", "i64 0", "i64 0"]
    w.do(f"%.ignored = call i32 {callee}({', '.join(arguments)})")
    if _pooled(function, kernel):
        w.do(f"call void @tg.give_back(ptr {arena})")
    if kernel.checked:
        code = w.let("load i64, ptr %.status")
        value_at = w.let("getelementptr i64, ptr %.status, i64 1")
        value = w.let(f"load i64, ptr {value_at}")
        short = w.let(f"call i64 @llvm.smax.i64(i64 {code}, i64 {NO_MEMORY})")
        small = w.let(f"trunc i64 {short} to i32")
        w.fails(w.let(f"icmp ne i64 {code}, 0"), small, value)
    told = function.returns in ("status", "success") and function.finite
    for k, (array, place, address) in enumerate(results):
        if told and array.dtype.kind in "fc" and not _unwanted(place):
            bad = _has_nan(w, array, address)
            w.fails(bad, str(NOT_A_NUMBER), str(k))
    _leave_well(w, function, results)
    _leave_failed(w, function, results, failures, number)
    kinds = ", ".join(f"{TYPES[p.kind]} %{p.name}" for p in function.parameters)
    linkage = "dllexport " if exported and sys.platform == "win32" else ""
    head = [
        f"define {linkage}{_returned_type(function, kernel)} @{function.name}({kinds}) nounwind {{",
        ".entry:",
        "  %.code = alloca i32",
        "  %.value = alloca i64",
        "  %.nothing = alloca ptr",
        "  %.trouble = alloca ptr",
        "  %.status = alloca i64, i64 2, align 16",
        *w.entry,
        *(["  store [2 x i64] zeroinitializer, ptr %.status"] if kernel.checked else []),
    ]
    return "\n".join([*head, *w.lines, "}"]) + "\n"


def _returned_type(function: CFunction, kernel: CKernel) -> str:
    if function.returns in ("nothing", "xla"):
        return "ptr" if function.returns == "xla" else "void"
    if function.returns != "value":
        return "i32"
    k = next(k for k, p in enumerate(function.outputs) if isinstance(p, Returned))
    return element_type(kernel.outputs[k].dtype)


def _unwanted(place: Place) -> bool:
    """Whether nobody may have asked for a result: what is in it is no failure."""
    return isinstance(place, Unwanted) or (isinstance(place, At) and place.optional)


def _size(w: LlvmWriter, function: CFunction, parameter: str, wanted: Int) -> None:
    """Bind a symbol, or compare."""
    given = f"%{parameter}"
    if function.parameter(parameter).kind == "int32":
        given = w.let(f"sext i32 {given} to i64")
    name = str(wanted)
    if isinstance(wanted, Integer) and name.isidentifier() and name not in w.symbols:
        w.symbols[name] = given
        # Symbols were never 0 or 1 while tracing.
        w.fails(w.let(f"icmp slt i64 {given}, 2"), str(WRONG_SIZE), given)
    else:
        w.fails(w.let(f"icmp ne i64 {given}, {w.integer(wanted)}"), str(WRONG_SIZE), given)


def _structure(w: LlvmWriter, function: CFunction) -> None:
    """Store where the values belong, if these are not asked for."""
    asked, values = w.fresh("structure")[1:], w.fresh("values")[1:]
    missing = w.let(f"icmp eq ptr %{function.skips}, null")
    w.do(f"br i1 {missing}, label %{asked}, label %{values}")
    w.label(asked)
    for k, (parameter, numbers) in enumerate(function.structure):
        w.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr %{parameter}, "
            f"ptr @{structure_name(function, k)}, i64 {4 * len(numbers)}, i1 false)"
        )
    w.do("ret i32 1" if function.returns == "success" else "ret i32 0")
    w.label(values)


def structure_name(function: CFunction, k: int) -> str:
    return f"{function.name}.structure.{k}"


def structures(function: CFunction) -> str:
    """The constants of a function: what `_structure` copies, messages."""
    texts = c_xla.messages(function.name, function.messages) if function.messages else ""
    return texts + "".join(
        f"@{structure_name(function, k)} = internal constant [{len(numbers)} x i32] "
        f"[{', '.join(f'i32 {n}' for n in numbers)}]\n"
        for k, (_, numbers) in enumerate(function.structure)
    )


def _address(
    w: LlvmWriter,
    function: CFunction,
    array: KernelArray,
    place: Place,
    table: str,
    free: Iterator[str],
) -> str:
    kind = element_type(array.dtype)
    if isinstance(place, At) and place.optional:
        given = _address(w, function, array, replace(place, optional=False), table, free)
        other = "@tg.zeros" if array in w.inputs else _scratch(w, array, free)
        missing = w.let(f"icmp eq ptr {given}, null")
        return w.let(f"select i1 {missing}, ptr {other}, ptr {given}")
    if isinstance(place, At):
        base = f"%{place.parameter}"
        for number in place.through:
            at = w.let(f"getelementptr ptr, ptr {base}, i64 {number}")
            base = w.let(f"load ptr, ptr {at}")
        if place.offset == 0:
            return base
        return w.let(f"getelementptr {kind}, ptr {base}, i64 {w.integer(place.offset)}")
    if isinstance(place, Captured):
        at = w.let(f"getelementptr ptr, ptr {table}, i64 {place.number}")
        return w.let(f"load ptr, ptr {at}")
    if isinstance(place, ByValue):
        slot = w.memory(kind, align=16)
        parameter = function.parameter(place.parameter)
        w.do(f"store {kind} {_converted(w, parameter, array.dtype)}, ptr {slot}")
        return slot
    return _scratch(w, array, free)


def _scratch(w: LlvmWriter, array: KernelArray, free: Iterator[str]) -> str:
    """Memory for a result that nobody asked for: on the stack, or behind the arena."""
    if _small(array):
        count = size_of(array.shape)
        assert isinstance(count, int)
        return w.memory(element_type(array.dtype), max(count, 1), ALIGNMENT)
    return next(free)


def _small(array: KernelArray) -> bool:
    count = size_of(array.shape)
    return isinstance(count, int) and count * array.dtype.itemsize <= SMALL


def _aside(function: CFunction, kernel: CKernel) -> list[KernelArray]:
    """Results that may need memory of ours behind the arena."""
    return [
        array
        for array, place in zip(kernel.outputs, function.outputs, strict=True)
        if not _small(array)
        and (isinstance(place, Unwanted) or (isinstance(place, At) and place.optional))
    ]


def workspace(function: CFunction, kernel: CKernel) -> Int:
    """The bytes that a call uses beside the stack's few words: the arena, and results aside."""
    total = kernel.arena
    for array in _aside(function, kernel):
        total = total + size_of(array.shape) * array.dtype.itemsize + ALIGNMENT
    return total


def _converted(w: LlvmWriter, parameter: Any, dtype: np.dtype[Any]) -> str:
    given, kind = f"%{parameter.name}", element_type(dtype)
    source = TYPES[parameter.kind]
    if source == kind:
        return given
    if source[0] == "i" and kind[0] == "i":
        wider = int(kind[1:]) > int(source[1:])
        return w.let(f"{'sext' if wider else 'trunc'} {source} {given} to {kind}")
    if source[0] == "i":
        return w.let(f"sitofp {source} {given} to {kind}")
    return w.let(f"{'fptrunc' if kind == 'float' else 'fpext'} {source} {given} to {kind}")


def _array(w: LlvmWriter, array: KernelArray, address: str) -> list[str]:
    shape = [w.integer(extent) for extent in array.shape]
    strides: list[str] = []
    step: Int = array.dtype.itemsize
    for extent in reversed(array.shape):
        strides.insert(0, w.integer(step))
        step = step * extent
    return [
        "ptr null",
        "ptr null",
        f"i64 {w.integer(size_of(array.shape))}",
        f"i64 {array.dtype.itemsize}",
        f"ptr {address}",
        *[f"i64 {x}" for x in (*shape, *strides)],
    ]


def _pooled(function: CFunction, kernel: CKernel) -> bool:
    size = workspace(function, kernel)
    return not function.work and not (isinstance(size, int) and size <= ON_STACK)


def _arena(w: LlvmWriter, function: CFunction, kernel: CKernel) -> tuple[str, Iterator[str]]:
    """Memory for temporaries, and for results aside."""
    size = workspace(function, kernel)
    if function.work:
        block = f"%{function.work}"
    elif not _pooled(function, kernel):
        assert isinstance(size, int)
        block = w.memory("i8", size + ALIGNMENT if size else 1, ALIGNMENT)
    else:
        block = w.let(f"call ptr @tg.take(i64 {w.integer(size + ALIGNMENT)})")
        w.fails(w.let(f"icmp eq ptr {block}, null"), str(NO_MEMORY), w.integer(size))

    def aside() -> Iterator[str]:
        at = kernel.arena + ALIGNMENT
        for array in _aside(function, kernel):
            # The kernel's elements are aligned to their size.
            start = w.let(f"getelementptr i8, ptr {block}, i64 {w.integer(at)}")
            number = w.let(f"ptrtoint ptr {start} to i64")
            upwards = w.let(f"add i64 {number}, {ALIGNMENT // 4 - 1}")
            whole = w.let(f"and i64 {upwards}, {-(ALIGNMENT // 4)}")
            yield w.let(f"inttoptr i64 {whole} to ptr")
            at = at + size_of(array.shape) * array.dtype.itemsize + ALIGNMENT // 2

    return block, aside()


def _has_nan(w: LlvmWriter, array: KernelArray, address: str) -> str:
    kind = "double" if array.dtype.name in ("float64", "complex128") else "float"
    count = size_of(array.shape) * (2 if array.dtype.kind == "c" else 1)
    if not isinstance(count, int) or count > FEW:
        return w.let(f"call i1 @tg.has_nan_{kind}(ptr {address}, i64 {w.integer(count)})")
    # By single elements, as they may have been stored: a load of several waits for all of them.
    values = []
    for k in range(count):
        at = w.let(f"getelementptr {kind}, ptr {address}, i64 {k}") if k else address
        values.append(w.let(f"load {kind}, ptr {at}"))
    found = "false"
    for k in range(0, count, 2):
        pair = w.let(f"fcmp uno {kind} {values[k]}, {values[min(k + 1, count - 1)]}")
        found = w.let(f"or i1 {found}, {pair}") if k else pair
    return found


Results = Sequence[tuple[KernelArray, Place, str]]


def _leave_well(w: LlvmWriter, function: CFunction, results: Results) -> None:
    if function.returns == "value":
        array, address = next((a, at) for a, p, at in results if isinstance(p, Returned))
        kind = element_type(array.dtype)
        w.do(f"ret {kind} {w.let(f'load {kind}, ptr {address}')}")
    else:
        well = {
            "status": "ret i32 0",
            "success": "ret i32 1",
            "nothing": "ret void",
            "xla": "ret ptr null",
        }
        w.do(well[function.returns])


def _leave_failed(
    w: LlvmWriter, function: CFunction, results: Results, failures: str, number: int
) -> None:
    w.label(".failed")
    code, value = w.let("load i32, ptr %.code"), w.let("load i64, ptr %.value")
    low = w.let(f"zext i32 {code} to i64")
    noted = w.let(f"or i64 {low}, {number << 32}")
    w.do(f"call void @tg.record({failures}, i64 {noted}, i64 {value})")
    if function.returns == "xla":
        w.lines += c_xla.epilogue(function.name, code, len(function.messages) - 1)
        return
    if function.returns == "value":
        array = next(a for a, p, _ in results if isinstance(p, Returned))
        kind = element_type(array.dtype)
        w.do(f"ret {kind} {'0x7FF8000000000000' if array.dtype.kind == 'f' else '0'}")
        return
    if function.returns == "nothing":
        for array, place, address in results:
            if array.dtype.kind in "fc" and not _unwanted(place):
                count = size_of(array.shape) * (2 if array.dtype.kind == "c" else 1)
                kind = "double" if array.dtype.name in ("float64", "complex128") else "float"
                w.do(f"call void @tg.fill_nan_{kind}(ptr {address}, i64 {w.integer(count)})")
        w.do("ret void")
        return
    w.do(f"ret i32 {code}" if function.returns == "status" else "ret i32 0")


__all__ = ["structures", "workspace", "wrapper"]
