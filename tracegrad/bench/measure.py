"""Time and memory of a call."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

BATCH_SECONDS = 2e-3
"""A sample is at least this long: shorter calls are made several times in one sample, so that the
clock's own cost does not count."""
FEWEST_SAMPLES = 3
Timed = Callable[[Callable[[], Any], int], float]
"""`timed(call, number)`: the seconds of so many calls."""


def by_clock(call: Callable[[], Any], number: int) -> float:
    """The time that passes while calls are made."""
    start = perf_counter()
    for _ in range(number):
        call()
    return perf_counter() - start


def by_events(event: Callable[[], Any]) -> Timed:
    """The time on a GPU between two events before and after the calls; `event()` makes one that
    records times in milliseconds."""

    def timed(call: Callable[[], Any], number: int) -> float:
        start, end = event(), event()
        start.record()
        for _ in range(number):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    return timed


class Sampled:
    """A call whose time is looked at every now and then."""

    def __init__(self, call: Callable[[], Any], timed: Timed = by_clock) -> None:
        self.call, self.timed = call, timed
        self.number = 0

    def samples(self, count: int, budget: float, fewest: int = 1) -> list[float]:
        """Seconds of a call, so many times; less often where it would take longer than `budget`
        seconds, but never under the fewest."""
        if not self.number:
            self.number = self._batch()
        gc.collect()
        found: list[float] = []
        stop = perf_counter() + budget
        while len(found) < fewest or (len(found) < count and perf_counter() < stop):
            found.append(self.timed(self.call, self.number) / self.number)
        return found

    def _batch(self) -> int:
        """How many calls a sample has."""
        if self.timed(self.call, 1) >= BATCH_SECONDS:
            return 1
        # The first call of a row is slow (cold caches), so the batch is sized by a second look.
        return max(1, int(BATCH_SECONDS / max(self.timed(self.call, 10) / 10, 1e-8)))


def seconds_per_call(call: Callable[[], Any], repeat: int, budget: float) -> float:
    """The median over `repeat` samples; fewer where they would take longer than `budget` seconds,
    but never under three."""
    return statistics.median(Sampled(call).samples(repeat, budget, FEWEST_SAMPLES))


def least(call: Callable[[], Any], seconds: float) -> float:
    """The least processor time of a call that is seen in so many seconds, of all threads together:
    what else runs on the machine does not count."""
    number, found = 1, math.inf
    stop = perf_counter() + seconds
    while found == math.inf or perf_counter() < stop:
        start = process_time()
        for _ in range(number):
            call()
        taken = process_time() - start
        if taken < BATCH_SECONDS / 4 and number < 1_000:
            number *= 4
        else:
            found = min(found, taken / number)
    return found


class PeakMemory:
    """How far the memory of this process rose above what it was: `PeakMemory()` before,
    `.megabytes()` after.

    Linux resets its high-water mark on request; elsewhere the mark is that of the whole life of the
    process, and what is told is how much higher it became.
    """

    def __init__(self) -> None:
        gc.collect()
        give_back()
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.start = _peak()
        else:
            now = _status("VmRSS")
            self.start = _peak() if now is None else now

    def megabytes(self) -> float | None:
        """The rise in MB (10^6 bytes), None where the system does not tell."""
        now = _peak()
        return None if now is None or self.start is None else max(0.0, (now - self.start) / 1e6)


def give_back() -> None:
    """Let the C library return the memory that is free, so that using it again is seen as a
    rise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _peak() -> int | None:
    marked = _status("VmHWM")
    if marked is not None:
        return marked
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _status(field: str) -> int | None:
    """A memory field of Linux' process status in bytes."""
    try:
        found = re.search(
            rf"^{field}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE
        )
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
