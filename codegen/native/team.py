"""Running the phases of one call on several threads, without Python between them.

The caller and its helpers share a control block of 64-bit words. For each parallel phase the caller
publishes the phase's range, cut into pieces, in the block, and then everyone claims pieces until
none is left; the caller waits for claimed pieces only, so a helper that sleeps or comes late costs
nothing. A helper that has found nothing for a while returns to Python to sleep there.

The claim word holds (generation, pieces left). A helper reads the fields and then takes a piece by
compare-and-swap: success shows that the generation was current all along, because the caller
changes the fields only when no piece is left and all are done.

The code is LLVM text, since it needs atomic operations, and takes milliseconds to compile where
Numba would take a second.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as binding

from ..loading import COMPILING
from .borrowed import DATA, DIMENSIONS, STRIDES, available

CLAIM, DONE, STOP, FIELDS = 0, 8, 16, 24
"""Where things stand in the control block, in words; each on a cache line of its own."""
ROW = 5
"""Words of a phase in the table of a call: phase, lo, hi, iterations a piece, pieces."""
RUN, KERNEL, OBJECTS, STATUS, PHASE, LO, HI, STEP, PIECES = range(9)
PATIENCE = 20_000
"""Looks at a piece that another thread runs before the caller lets others have its core."""


def _pause() -> str:
    """The instruction by which a waiting loop leaves the core's resources to others."""
    text = {"x86_64": "pause", "AMD64": "pause", "arm64": "yield", "aarch64": "yield"}.get(
        platform.machine()
    )
    return f'call void asm sideeffect "{text}", ""()' if text else "fence acquire"


def _field(k: int) -> str:
    return f"  %at{k} = getelementptr i64, ptr %c, i64 {FIELDS + k}\n"


def _team() -> str:
    places = "".join(_field(k) for k in range(9))
    read = places + "".join(
        f"  %f{k} = load atomic i64, ptr %at{k} monotonic, align 8\n" for k in range(9)
    )
    write = places + "".join(
        f"  store atomic i64 %w{k}, ptr %at{k} monotonic, align 8\n" for k in range(9)
    )
    return f"""
define internal i1 @turn(ptr %c) alwaysinline {{
  %claim = load atomic i64, ptr %c acquire, align 8
  %left = and i64 %claim, 4294967295
  %some = icmp ne i64 %left, 0
  br i1 %some, label %take, label %nothing
take:
{read}
  %next = sub i64 %claim, 1
  %pair = cmpxchg ptr %c, i64 %claim, i64 %next acq_rel monotonic
  %mine = extractvalue {{i64, i1}} %pair, 1
  br i1 %mine, label %work, label %something
work:
  %index = sub i64 %f{PIECES}, %left
  %skip = mul i64 %index, %f{STEP}
  %lo = add i64 %f{LO}, %skip
  %far = add i64 %lo, %f{STEP}
  %over = icmp slt i64 %f{HI}, %far
  %hi = select i1 %over, i64 %f{HI}, i64 %far
  %offset = mul i64 %index, 16
  %status = add i64 %f{STATUS}, %offset
  %run = inttoptr i64 %f{RUN} to ptr
  call void %run(i64 %f{KERNEL}, i64 %f{OBJECTS}, i64 %status, i64 %f{PHASE}, i64 %lo, i64 %hi)
  %done = getelementptr i64, ptr %c, i64 {DONE}
  %old = atomicrmw add ptr %done, i64 1 release
  br label %something
something:
  ret i1 true
nothing:
  ret i1 false
}}

define void @serve(ptr %c, i64 %looks) {{
entry:
  %stop = getelementptr i64, ptr %c, i64 {STOP}
  br label %again
again:
  br label %look
look:
  %k = phi i64 [0, %again], [%k1, %idle]
  %worked = call i1 @turn(ptr %c)
  br i1 %worked, label %again, label %idle
idle:
  {_pause()}
  %k1 = add i64 %k, 1
  %told = load atomic i64, ptr %stop monotonic, align 8
  %quit = icmp ne i64 %told, 0
  %tired = icmp ugt i64 %k1, %looks
  %end = or i1 %quit, %tired
  br i1 %end, label %leave, label %look
leave:
  ret void
}}

define void @drive(ptr %c, ptr %table, i64 %rows, i64 %w0, i64 %w1, i64 %w2, \
i64 %words, ptr %yield) {{
entry:
  %done = getelementptr i64, ptr %c, i64 {DONE}
  br label %row
row:
  %r = phi i64 [0, %entry], [%r1, %next]
  %w3 = phi i64 [%words, %entry], [%words1, %next]
  %more = icmp slt i64 %r, %rows
  br i1 %more, label %phase, label %leave
phase:
  %start = mul i64 %r, {ROW}
  %p0 = getelementptr i64, ptr %table, i64 %start
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %p4 = getelementptr i64, ptr %p0, i64 4
  %w4 = load i64, ptr %p0
  %w5 = load i64, ptr %p1
  %w6 = load i64, ptr %p2
  %w7 = load i64, ptr %p3
  %w8 = load i64, ptr %p4
  %several = icmp sgt i64 %w8, 1
  br i1 %several, label %share, label %alone
alone:
  %run = inttoptr i64 %w0 to ptr
  call void %run(i64 %w1, i64 %w2, i64 %w3, i64 %w4, i64 %w5, i64 %w6)
  br label %next
share:
{write}
  store atomic i64 0, ptr %done monotonic, align 8
  %before = load atomic i64, ptr %c monotonic, align 8
  %old = lshr i64 %before, 32
  %new = add i64 %old, 1
  %high = shl i64 %new, 32
  %claim = or i64 %high, %w8
  store atomic i64 %claim, ptr %c release, align 8
  br label %help
help:
  %worked = call i1 @turn(ptr %c)
  br i1 %worked, label %help, label %join
join:
  %k = phi i64 [0, %help], [%k2, %joining]
  %finished = load atomic i64, ptr %done acquire, align 8
  %all = icmp eq i64 %finished, %w8
  br i1 %all, label %next, label %wait
wait:
  {_pause()}
  %k1 = add i64 %k, 1
  %long = icmp ugt i64 %k1, {PATIENCE}
  %can = icmp ne ptr %yield, null
  %both = and i1 %long, %can
  br i1 %both, label %yielding, label %joining
yielding:
  call void %yield()
  br label %joining
joining:
  %k2 = phi i64 [%k1, %wait], [{PATIENCE - 100}, %yielding]
  br label %join
next:
  %statuses = mul i64 %w8, 16
  %words1 = add i64 %w3, %statuses
  %r1 = add i64 %r, 1
  br label %row
leave:
  ret void
}}
"""


def _trampoline(name: str, arrays: Sequence[tuple[int, int]]) -> str:
    """A function that reads array objects as `borrowed` does and calls a kernel: arrays are (rank,
    bytes of an element)."""
    lines: list[str] = []
    passed: list[str] = ["ptr %nothing", "ptr %trouble"]

    def read(base: str, offset: int, what: str) -> str:
        n = len(lines)
        lines.append(f"  %a{n} = getelementptr i8, ptr {base}, i64 {offset}")
        lines.append(f"  %v{n} = load {what}, ptr %a{n}")
        return f"%v{n}"

    for k, (ndim, size) in enumerate(arrays):
        address = read("%objects", 8 * k, "ptr")
        dims, steps = read(address, DIMENSIONS, "ptr"), read(address, STRIDES, "ptr")
        shape = [read(dims, 8 * axis, "i64") for axis in range(ndim)]
        strides = [read(steps, 8 * axis, "i64") for axis in range(ndim)]
        count = "1"
        for axis, extent in enumerate(shape):
            lines.append(f"  %n{k}_{axis} = mul i64 {count}, {extent}")
            count = f"%n{k}_{axis}"
        data = read(address, DATA, "ptr")
        passed += [
            "ptr null",
            "ptr null",
            f"i64 {count}",
            f"i64 {size}",
            f"ptr {data}",
            *[f"i64 {x}" for x in (*shape, *strides)],
        ]
    passed += [
        "ptr null",
        "ptr null",
        "i64 2",
        "i64 8",
        "ptr %status",
        "i64 2",
        "i64 8",
        "i64 %phase",
        "i64 %lo",
        "i64 %hi",
    ]
    body = "\n".join(lines)
    return f"""
define void @{name}(i64 %kernel, ptr %objects, ptr %status, i64 %phase, i64 %lo, i64 %hi) {{
  %nothing = alloca ptr
  %trouble = alloca ptr
{body}
  %function = inttoptr i64 %kernel to ptr
  %ignored = call i32 %function({", ".join(passed)})
  ret void
}}
"""


_ENGINES: list[Any] = []
_ADDRESSES: dict[Any, int] = {}


def _compile(text: str, names: Sequence[str]) -> list[int]:
    binding.initialize_native_asmparser()
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    passes = binding.create_pass_builder(
        machine, binding.create_pipeline_tuning_options(speed_level=1)
    )
    passes.getModulePassManager().run(module, passes)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _ENGINES.append(engine)
    return [engine.get_function_address(name) for name in names]


def trampoline(arrays: Sequence[tuple[int, int]]) -> int:
    """The address of the function that calls kernels over arrays of these (rank, bytes of an
    element)."""
    key = tuple(arrays)
    with COMPILING:
        if key not in _ADDRESSES:
            (_ADDRESSES[key],) = _compile(_trampoline("trampoline", key), ["trampoline"])
        return _ADDRESSES[key]


class Team:
    """The native functions; `drive(control, table, rows, run, kernel, objects, statuses)` and
    `serve(control, looks)`."""

    def __init__(self) -> None:
        if not available():
            raise NotImplementedError("array objects of this Python are not laid out as expected")
        with COMPILING:
            drive, serve = _compile(_team(), ["drive", "serve"])
        word, address = ctypes.c_int64, ctypes.c_void_p
        self._drive = ctypes.CFUNCTYPE(
            None, address, address, word, word, word, word, word, address
        )(drive)
        self.serve: Callable[[int, int], None] = ctypes.CFUNCTYPE(None, address, word)(serve)
        self.yielding = _yield_address()

    def drive(
        self,
        control: int,
        table: int,
        rows: int,
        run: int,
        kernel: int,
        objects: int,
        statuses: int,
    ) -> None:
        self._drive(control, table, rows, run, kernel, objects, statuses, self.yielding)


def _yield_address() -> int:
    """The address of `sched_yield`, 0 where there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0
