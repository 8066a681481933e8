"""First calls: how long each of their stages takes, and a line on the terminal for those that take
long."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..ir.recording import CLOCK, FALLBACK, Clock, clocked
from ..runtime.background import BESIDE

PATIENCE = 2.0
"""Seconds after which a first call is announced."""
VARIABLE = "TRACEGRAD_PROGRESS"
TOTAL = "first call"


@contextmanager
def measured(times: dict[str, float], name: str) -> Iterator[None]:
    """A block that is part of a function's first call for a signature: its stages are added to
    `times`. Inside of another first call it belongs to that one."""
    if CLOCK.times is not None:
        yield
        return
    with clocked(times):
        shown = Progress(name, CLOCK.open, times) if wanted() else None
        begun = time.perf_counter()
        try:
            yield
        finally:
            times[TOTAL] = times.get(TOTAL, 0.0) + time.perf_counter() - begun
            if shown is not None:
                shown.end()


def wanted() -> bool:
    """Whether there is somebody to show something to; TRACEGRAD_PROGRESS=0 or 1 decides it."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen:
        return chosen.lower() not in ("0", "false", "no", "off")
    with suppress(AttributeError, ValueError):  # a replaced or closed stderr
        return "ipykernel" in sys.modules or sys.stderr.isatty()
    return False


class Progress:
    """A line on stderr that says what a long first call does at the moment, and at its end how
    long that took. A thread of its own writes it, which lives as long as the call."""

    def __init__(self, name: str, stages: Clock.Stages, times: dict[str, float]) -> None:
        self.name, self.stages, self.times = name, stages, times
        self.begun = time.perf_counter() - times.get(TOTAL, 0.0)
        self.done = threading.Event()
        self.width = 0
        self.thread = threading.Thread(target=self._follow, name="tracegrad progress", daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        if self.done.wait(max(0.0, PATIENCE - self._seconds())):
            return
        while True:
            stage = self.stages[-1][0] if self.stages else "run"
            self._write(f"tracegrad: first call of {self.name}: {stage}, {self._seconds():.0f} s")
            if self.done.wait(0.5):
                return

    def _seconds(self) -> float:
        return time.perf_counter() - self.begun

    def _write(self, text: str, end: str = "") -> None:
        with suppress(Exception):  # nobody's call fails since its terminal went away
            sys.stderr.write("\r" + text.ljust(self.width) + end)
            sys.stderr.flush()
            self.width = len(text)

    def end(self) -> None:
        """Nothing is written after this; what was written ends with the times."""
        self.done.set()
        self.thread.join()
        if self.width:
            spent = sorted(stages_of(self.times).items(), key=lambda s: -s[1])[:3]
            text = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in spent)
            self._write(
                f"tracegrad: first call of {self.name}: {self._seconds():.1f} s ({text})", "\n"
            )


def stages_of(times: dict[str, float]) -> dict[str, float]:
    """The stages of a first call, in seconds, in the order in which they began."""
    return {k: v for k, v in times.items() if k != TOTAL and not k.startswith((FALLBACK, BESIDE))}


def beside(times: dict[str, float]) -> dict[str, float]:
    """The stages that a thread beside the calls went through, in seconds."""
    return {k.removeprefix(BESIDE): v for k, v in times.items() if k.startswith(BESIDE)}


def fallbacks_of(times: dict[str, float]) -> tuple[str, ...]:
    """What of a first call was compiled by Numba's own pipeline, and why."""
    return tuple([k.removeprefix(FALLBACK) for k in times if k.startswith(FALLBACK)])


__all__ = [
    "PATIENCE",
    "TOTAL",
    "VARIABLE",
    "Progress",
    "beside",
    "fallbacks_of",
    "measured",
    "stages_of",
    "wanted",
]
