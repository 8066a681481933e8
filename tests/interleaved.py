"""Threads that may be switched between any two instructions of the library, as they run without
Python's global lock: with it, Python switches only at calls and where loops go back, so that
`table[key] += 1` and the like never come apart."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

LIBRARY = str(Path(__file__).parents[1] / "tracegrad")
CODEGEN = str(Path(__file__).parents[1] / "codegen")


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith((LIBRARY, CODEGEN, "<tracegrad"))


@contextmanager
def interleaved(rate: float) -> Iterator[list[int]]:
    """A block in which each instruction of the library lets other threads run with this
    probability; how often that was. Only threads that are started inside, for Python 3.11."""
    switches = [0]

    def step() -> None:
        if random.random() < rate:
            switches[0] += 1
            time.sleep(0 if random.random() < 0.9 else 0.0005)

    with _monitored(step) if sys.version_info >= (3, 12) else _traced(step):
        yield switches


@contextmanager
def _monitored(step: Callable[[], None]) -> Iterator[None]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool, event = monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION

    def instruction(code: CodeType, _: int) -> Any:
        return step() if _is_ours(code) else monitoring.DISABLE

    monitoring.use_tool_id(tool, "interleaved")
    try:
        monitoring.register_callback(tool, event, instruction)
        monitoring.set_events(tool, event)
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


@contextmanager
def _traced(step: Callable[[], None]) -> Iterator[None]:
    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            step()
        return line

    def entered(frame: FrameType, _: str, __: Any) -> Any:
        if not _is_ours(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return line

    threading.settrace(entered)
    try:
        yield
    finally:
        threading.settrace(None)  # type: ignore[arg-type]


def at_once(work: Callable[[int], Any], threads: int) -> list[Any]:
    """What `work(number)` gives in so many threads; the first error."""
    results: list[Any] = [None] * threads
    errors: list[BaseException] = []

    def one(number: int) -> None:
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=one, args=(k,)) for k in range(threads)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(120)
    assert not any(t.is_alive() for t in workers)
    if errors:
        raise errors[0]
    return results
