"""What a profile is made from: per thread a log of what began when, inside what, and when it ended.

Nothing is logged while no profile is open; the places that could log ask `PROFILES`, which then is
empty.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, Self

import numpy as np

from .._codegen import fallbacks
from .dispatch import PROFILES, STATE
from .op import Op
from .trace import FOREIGN

OFF = contextlib.nullcontext()
"""In place of a span where none is wanted and even making one would cost too much."""
DEEPEST = 64
"""As many frames of the user's program are kept with an entry."""


class LogEntry:
    """One thing that happened. Times are in nanoseconds; `parent` is the entry inside of which it
    happened."""

    __slots__ = (
        "end",
        "flops",
        "memory",
        "name",
        "number",
        "parent",
        "sequence",
        "shapes",
        "sort",
        "stack",
        "start",
        "thread",
    )

    def __init__(self, name: str, sort: str, parent: LogEntry | None, thread: int) -> None:
        self.name, self.sort, self.parent, self.thread = name, sort, parent, thread
        self.number = 0
        self.start = self.end = 0
        self.shapes: list[Any] = []
        self.stack: tuple[str, ...] = ()
        self.memory = 0
        """The bytes of the results that are no views."""
        self.flops = 0
        self.sequence = -1
        """The number of the tape's node that this entry recorded, or whose rules it runs."""


class Recorder:
    """The log of one thread, shared by all profiles that are open in it."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.entries: list[LogEntry] = []
        self.open: list[LogEntry] = []
        self.shapes = self.stacks = self.memory = self.flops = False
        self.passing = False
        """Set while an operation that was logged is on its way to the interpreter, which would log
        it again."""

    def enter(self, name: str, sort: str) -> LogEntry:
        entry = LogEntry(name, sort, self.open[-1] if self.open else None, self.thread)
        if self.stacks:
            entry.stack = user_stack()
        self.entries.append(entry)
        self.open.append(entry)
        entry.start = time.perf_counter_ns()
        return entry

    def leave(self, entry: LogEntry) -> None:
        """The entry ends, and with it what an exception left open inside."""
        now = time.perf_counter_ns()
        while self.open:
            last = self.open.pop()
            last.end = now
            if last is entry:
                break

    def end_open(self) -> None:
        """Give what has not ended the present as its end, for a profile that ends first."""
        now = time.perf_counter_ns()
        for entry in self.open:
            entry.end = now

    def takes(self) -> bool:
        """Whether an operation that reaches the interpreter is to be logged; each one comes by
        twice, and is refused on its second way."""
        if STATE.traces:
            return False
        self.passing = not self.passing
        return self.passing

    def applied(self, op: Op, inputs: Sequence[Any], call: Callable[[], Any]) -> Any:
        """`call()`, which applies `op` to `inputs`, as one entry."""
        entry = self.enter(op.name, "operation")
        if self.shapes:
            entry.shapes = [sizes(x) for x in inputs]
        try:
            result = call()
            outs = result if isinstance(result, (tuple, list)) else (result,)
            if self.memory:
                entry.memory = made(outs)
            if self.flops:
                entry.flops = (
                    0
                    if op.flops is None
                    else op.flops([sizes(x) for x in inputs], [sizes(x) for x in outs])
                )
            node = getattr(outs[0], "_grad_fn", None) if outs else None
            if node is not None:
                entry.sequence = node._order
        finally:
            self.leave(entry)
        return result


def sizes(x: Any) -> list[int]:
    """The shape, where it is known."""
    shape = getattr(x, "shape", ())
    return list(shape) if all(isinstance(s, int) for s in shape) else []


def made(outs: Sequence[Any]) -> int:
    """The bytes of results that are no views."""
    data = [getattr(o, "_data", o) for o in outs]
    return sum(x.nbytes for x in data if isinstance(x, np.ndarray) and x.base is None)


def user_stack() -> tuple[str, ...]:
    """`file(line): function: text` of the frames outside the library, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found: list[str] = []
    while frame is not None and len(found) < DEEPEST:
        name = frame.f_code.co_filename
        if not name.startswith(FOREIGN):
            line = linecache.getline(name, frame.f_lineno).strip()
            found.append(
                f"{os.path.basename(name)}({frame.f_lineno}): {frame.f_code.co_name}"
                + (f": {line}" if line else "")
            )
        frame = frame.f_back
    return tuple(found)


def recorder() -> Recorder | None:
    """The log of this thread where a profile is open in it."""
    found: Recorder | None = STATE.recorder
    return found


class Clock(threading.local):
    """How long the stages of a first call take in this thread, each without those inside of it."""

    Stages = list[list[Any]]

    def __init__(self) -> None:
        self.times: dict[str, float] | None = None
        """Seconds per stage; None while nobody asks."""
        self.open: Clock.Stages = []
        """Stages that are open, innermost last: name, beginning, time of those inside."""

    def start(self, times: dict[str, float]) -> None:
        """Add up stages in `times` from now on."""
        self.times, self.open = times, []

    def stop(self) -> None:
        """Add up no longer."""
        self.times, self.open = None, []

    def begin(self, stage: str) -> None:
        """A stage begins."""
        self.open.append([stage, time.perf_counter(), 0.0])

    def end(self, stage: str) -> None:
        """The innermost stage ends, whatever it was called when it began."""
        if self.times is None or not self.open:
            return
        _, begun, inside = self.open.pop()
        whole = time.perf_counter() - begun
        self.times[stage] = self.times.get(stage, 0.0) + whole - inside
        if self.open:
            self.open[-1][2] += whole


CLOCK = Clock()
FALLBACK = "fallback: "
"""Before the text of a fallback, among the times of stages."""


@contextlib.contextmanager
def clocked(times: dict[str, float]) -> Iterator[None]:
    """A block whose stages are added up in `times`, with what fell back on Numba's pipeline."""
    before = len(fallbacks.FALLBACKS)
    CLOCK.start(times)
    try:
        yield
    finally:
        CLOCK.stop()
        for text in fallbacks.FALLBACKS[before:]:
            times[FALLBACK + text] = 0.0


class span:
    """A block as one entry: a stage of compiling, a compiled call, a part of the user's program.
    Without a profile it is nothing."""

    __slots__ = ("entry", "name", "recorder", "sequence", "sort", "timed")

    def __init__(self, name: str, sort: str = "compile", sequence: int = -1) -> None:
        self.name, self.sort, self.sequence = name, sort, sequence
        self.recorder: Recorder | None = None
        self.timed = False

    def __enter__(self) -> Self:
        if self.sort == "compile" and CLOCK.times is not None:
            CLOCK.begin(self.name.rpartition(": ")[2])
            self.timed = True
        if PROFILES:
            self.recorder = recorder()
            if self.recorder is not None:
                self.entry = self.recorder.enter(self.name, self.sort)
                self.entry.sequence = self.sequence
        return self

    def rename(self, name: str) -> None:
        """Call the entry what it turned out to be."""
        self.name = name
        if self.recorder is not None:
            self.entry.name = name

    def produced(self, results: Sequence[Any]) -> None:
        """What the block made, if memory is counted."""
        if self.recorder is not None and self.recorder.memory:
            self.entry.memory = made(results)

    def __exit__(self, *exception: object) -> None:
        if self.timed:
            CLOCK.end(self.name.rpartition(": ")[2])
        if self.recorder is not None:
            self.recorder.leave(self.entry)
            self.recorder = None
