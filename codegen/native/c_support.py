"""What C functions call (`c_wrapper.py`), as LLVM text: memory for temporaries, failures noted per
thread, NaNs looked for and written."""

from __future__ import annotations

from collections.abc import Sequence

from ..c_function import FAILURES, THREAD, THREAD_KIND, WORDS

ALIGNMENT = 64
"""Kernels align their arena to so many bytes, for which it is larger by as many."""
BLOCKS = 8
"""Blocks of memory that calls leave behind."""


def _loops(kind: str) -> str:
    """Whether there is a NaN among so many numbers, and NaN for so many."""
    return f"""
define internal i1 @tg.has_nan_{kind}(ptr %x, i64 %n) nounwind {{
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %found = phi i1 [false, %entry], [%either, %body]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr {kind}, ptr %x, i64 %k
  %value = load {kind}, ptr %at
  %nan = fcmp uno {kind} %value, %value
  %either = or i1 %found, %nan
  %next = add i64 %k, 1
  br label %head
done:
  ret i1 %found
}}

define internal void @tg.fill_nan_{kind}(ptr %x, i64 %n) nounwind {{
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr {kind}, ptr %x, i64 %k
  store {kind} 0x7FF8000000000000, ptr %at
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}}
"""


def _record() -> str:
    """The failure of a thread, in its row of the table or a free one; in the last row where others
    have all of them."""
    widen = "" if THREAD_KIND == "i64" else "  %self = zext i32 %thread to i64\n"
    self = "%thread" if THREAD_KIND == "i64" else "%self"
    return f"""
define internal void @tg.record(ptr %counter, ptr %rows, i64 %code, i64 %value) cold noinline {{
entry:
  %thread = call {THREAD_KIND} @{THREAD}()
{widen}  %number = atomicrmw add ptr %counter, i64 1 monotonic
  %later = add i64 %number, 1
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %other]
  %offset = mul i64 %k, {WORDS}
  %row = getelementptr i64, ptr %rows, i64 %offset
  %pair = cmpxchg ptr %row, i64 0, i64 {self} acq_rel acquire
  %owner = extractvalue {{i64, i1}} %pair, 0
  %free = icmp eq i64 %owner, 0
  %mine = icmp eq i64 %owner, {self}
  %last = icmp eq i64 %k, {FAILURES - 1}
  %known = or i1 %free, %mine
  %stop = or i1 %known, %last
  br i1 %stop, label %write, label %other
other:
  %next = add i64 %k, 1
  br label %look
write:
  store i64 {self}, ptr %row
  %at1 = getelementptr i64, ptr %row, i64 1
  store i64 %code, ptr %at1
  %at2 = getelementptr i64, ptr %row, i64 2
  store i64 %value, ptr %at2
  %at3 = getelementptr i64, ptr %row, i64 3
  store i64 %later, ptr %at3
  ret void
}}
declare {THREAD_KIND} @{THREAD}() nounwind
"""


def last_failure(name: str) -> str:
    """`int name(int *function, long long *value)`: the status of this thread's last failure, 0
    where there is none; the number of the function that failed, and what was recorded with it."""
    widen = "" if THREAD_KIND == "i64" else "  %self = zext i32 %thread to i64\n"
    self = "%thread" if THREAD_KIND == "i64" else "%self"
    return f"""
define i32 @{name}(ptr %function, ptr %value) nounwind {{
entry:
  %thread = call {THREAD_KIND} @{THREAD}()
{widen}  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %other]
  %more = icmp ult i64 %k, {FAILURES}
  br i1 %more, label %row, label %none
row:
  %offset = mul i64 %k, {WORDS}
  %at = getelementptr i64, ptr @tg.failures, i64 %offset
  %owner = load atomic i64, ptr %at acquire, align 8
  %mine = icmp eq i64 %owner, {self}
  br i1 %mine, label %found, label %other
other:
  %next = add i64 %k, 1
  br label %look
found:
  %at1 = getelementptr i64, ptr %at, i64 1
  %packed = load i64, ptr %at1
  %at2 = getelementptr i64, ptr %at, i64 2
  %recorded = load i64, ptr %at2
  %high = lshr i64 %packed, 32
  %number = trunc i64 %high to i32
  store i32 %number, ptr %function
  store i64 %recorded, ptr %value
  %code = trunc i64 %packed to i32
  ret i32 %code
none:
  ret i32 0
}}
"""


FAILURE_TABLE = f"""
@tg.failures.count = internal global i64 0
@tg.failures = internal global [{FAILURES * WORDS} x i64] zeroinitializer, align 64
"""


_POOL = f"""
@tg.blocks = internal global [{BLOCKS} x ptr] zeroinitializer

define internal ptr @tg.take(i64 %bytes) nounwind {{
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %empty]
  %more = icmp ult i64 %k, {BLOCKS}
  br i1 %more, label %try, label %make
try:
  %at = getelementptr ptr, ptr @tg.blocks, i64 %k
  %block = atomicrmw xchg ptr %at, ptr null acq_rel
  %none = icmp eq ptr %block, null
  br i1 %none, label %empty, label %found
empty:
  %next = add i64 %k, 1
  br label %look
found:
  %size = load i64, ptr %block
  %fits = icmp uge i64 %size, %bytes
  br i1 %fits, label %ready, label %small
small:
  call void @free(ptr %block)
  br label %make
make:
  %whole = add i64 %bytes, {ALIGNMENT}
  %made = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %nothing, label %fresh
fresh:
  store i64 %bytes, ptr %made
  br label %ready
ready:
  %one = phi ptr [%block, %found], [%made, %fresh]
  %memory = getelementptr i8, ptr %one, i64 {ALIGNMENT}
  ret ptr %memory
nothing:
  ret ptr null
}}

define internal void @tg.give_back(ptr %memory) nounwind {{
entry:
  %block = getelementptr i8, ptr %memory, i64 -{ALIGNMENT}
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %taken]
  %more = icmp ult i64 %k, {BLOCKS}
  br i1 %more, label %try, label %over
try:
  %at = getelementptr ptr, ptr @tg.blocks, i64 %k
  %pair = cmpxchg ptr %at, ptr null, ptr %block acq_rel monotonic
  %put = extractvalue {{ptr, i1}} %pair, 1
  br i1 %put, label %done, label %taken
taken:
  %next = add i64 %k, 1
  br label %look
over:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}}
declare noalias ptr @malloc(i64) nounwind
declare void @free(ptr) nounwind
"""


def module_text(functions: Sequence[str], extra: str = "", zeros: int = 64) -> str:
    """A module of functions with what they call, and so many bytes of zeros."""
    body = "\n".join(functions)
    parts = [extra]
    if "@tg.has_nan_" in body or "@tg.fill_nan_" in body:
        parts += [_loops("double"), _loops("float")]
    if "@tg.record(" in body:
        parts.append(_record())
    if "@tg.zeros" in body:
        parts.append(f"@tg.zeros = internal constant [{zeros} x i8] zeroinitializer, align 64\n")
    if "@tg.take(" in body:
        parts.append(_POOL)
    declared = {
        "@llvm.smax.i64": "declare i64 @llvm.smax.i64(i64, i64)",
        "@llvm.smin.i64": "declare i64 @llvm.smin.i64(i64, i64)",
        "@llvm.sqrt.f64": "declare double @llvm.sqrt.f64(double)",
        "@llvm.memcpy.p0": "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    }
    parts += [text for name, text in declared.items() if name in body]
    # A failure is rare.
    return "\n".join([*parts, body, '!0 = !{!"branch_weights", i32 1, i32 2000}', ""])


__all__ = ["ALIGNMENT", "FAILURE_TABLE", "last_failure", "module_text"]
