"""The threads that share the parallel phases of compiled functions.

Results have the same bits for any number of threads: a phase writes each element once, reductions
leave one partial per block of a size that depends on the data's size alone, and partials are
combined in order. (BLAS, with threads of its own, promises no such thing.)
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._codegen import kernel, loading, work
from .choice import Choice

CALL = 4_000_000
"""The work of all phases (in additions, about 0.01 ns each) from which a call wakes helpers: 40 us,
twice what waking costs."""
HELPER = 2_000_000
"""The work for which one more thread is woken."""
PHASE = 400_000
"""The work from which a phase of such a call is shared: helpers that are awake join within 1 us."""
PIECE = 100_000
"""The least work of one piece."""
PIECES_PER_THREAD = 8
"""Pieces are claimed by whoever is free, so that a thread that starts late or is disturbed holds up
nobody."""
LOOKS = 20_000
"""How often a helper looks for work, 20 to 50 ns each, before it goes to sleep: as long as a serial
phase, or what Python does between two calls, may take."""
ALONE = 1
"""The second way of a table's choice."""
NO_PHASE = 1 << 30
"""A kernel asked for this phase checks its arguments and does nothing."""


def usable() -> int:
    """The threads that the environment, the affinity mask and the container allow."""
    limits = [
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        quota(),
    ]
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        # OpenMP takes a list, of which the first number is that of the outermost level.
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text.isdigit() and int(text) > 0:
            limits.append(int(text))
    return min(limits)


def quota(file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The processors' worth of time that a Linux container may use, a large number where there is
    no limit."""
    try:
        time, period = file.read_text().split()
        return max(1, -(-int(time) // int(period)))
    except (OSError, ValueError):
        return 1 << 20


class Table:
    """The phases of one call cut into pieces, as the native code reads them."""

    def __init__(self, rows: Sequence[tuple[int, int, int, int, int]], threads: int) -> None:
        self.rows = len(rows)
        self.words = (ctypes.c_int64 * (5 * len(rows)))(*[word for row in rows for word in row])
        self.address = ctypes.addressof(self.words)
        self.pieces = sum(row[4] for row in rows)
        self.threads = threads
        self.choice = Choice()
        """Between sharing and running alone."""
        self.calls = 0


def divide(shares: Sequence[tuple[int, int, int, int, int]], threads: int) -> Table | None:
    """Phases given as (phase, lo, hi, granule, work) for so many threads; None where sharing pays
    for none of them."""
    total = sum(row[4] for row in shares)
    if total < CALL:
        return None
    threads = min(threads, 1 + total // HELPER)
    rows = []
    most = 1
    for phase, lo, hi, granule, amount in shares:
        pieces = (
            min(-(-(hi - lo) // granule), amount // PIECE, PIECES_PER_THREAD * threads)
            if amount >= PHASE
            else 1
        )
        if pieces < 2:
            rows.append((phase, lo, hi, 0, 1))
            continue
        step = -(-(hi - lo) // (pieces * granule)) * granule
        rows.append((phase, lo, hi, step, -(-(hi - lo) // step)))
        most = max(most, rows[-1][4])
    return Table(rows, min(threads, most)) if most > 1 else None


class Sharing:
    """How the calls of one kernel are shared: decided per number of threads and sizes, from
    estimates of the work."""

    def __init__(
        self,
        program: kernel.Program,
        symbols: Sequence[str],
        entry: Callable[..., None],
        address: Callable[[], int],
    ) -> None:
        self._alone = entry
        found = work.shares(program)
        total = sum(s.work if isinstance(s.work, int) else CALL for s in found)
        self.shares = found if total >= CALL else ()
        self._address = address
        self._entry: tuple[int, int] | None = None
        self._checked = program.checked
        # The arena comes last.
        self._arrays = [
            *[(len(b.shape), b.dtype.itemsize) for b in program.buffers if b.role in ("in", "out")],
            (1, 1),
        ]
        self._tables: dict[tuple[int, ...], Table | None] = {}
        if self.shares:
            rows = ", ".join(
                f"({s.phase}, {s.lo}, {s.hi}, {s.granule}, {s.work})" for s in self.shares
            )
            self._rows: Callable[..., Any] = eval(f"lambda {', '.join(symbols)}: ({rows},)")

    def table(self, sizes: Sequence[int]) -> Table | None:
        """The pieces for these sizes; None where one thread does as well."""
        threads = POOL.threads
        if threads == 1 or not self.shares:
            return None
        key = (threads, *sizes)
        try:
            return self._tables[key]
        except KeyError:
            if len(self._tables) > 4096:
                self._tables.clear()
            made = self._tables[key] = divide(self._rows(*sizes), threads)
            return made

    def run(self, table: Table, operands: Sequence[Any], status: np.ndarray[Any, Any]) -> None:
        """One call over array objects that fit the kernel, shared unless others have the helpers or
        it was seen not to pay."""
        way = table.choice.next()
        start = perf_counter()
        if way == ALONE or not self._share(table, operands, status):
            self._alone(*operands, status, -1, 0, 0)
            if way != ALONE:
                return
        # The first calls meet sleeping helpers and new memory.
        table.calls += 1
        if table.calls > 2:
            table.choice.note(way, perf_counter() - start)

    def _share(self, table: Table, operands: Sequence[Any], status: np.ndarray[Any, Any]) -> bool:
        """False where the call was not made because others have the helpers.

        Of the pieces that failed the first is recorded in `status`, as if they had been run in
        order.
        """
        if self._entry is None:
            kernel = self._address()
            self._entry = (
                kernel,
                POOL.native().trampoline(self._arrays) if kernel and POOL.available else 0,
            )
        kernel, run = self._entry
        statuses = (ctypes.c_int64 * (2 * table.pieces))() if self._checked else None
        if not run or not POOL.run(kernel, run, operands, table, statuses):
            return False
        if statuses is not None and any(statuses):
            first = next(k for k in range(table.pieces) if statuses[2 * k])
            status[:] = statuses[2 * first : 2 * first + 2]
        return True


class _Helper(threading.Thread):
    """Serves the team natively while there is work, and sleeps on a lock while there is none."""

    def __init__(self, team: Any, control: int) -> None:
        super().__init__(name="tracegrad", daemon=True)
        self.team, self.control = team, control
        self.go = threading.Lock()
        self.go.acquire()
        self.asleep = False
        self.leaving = False

    def run(self) -> None:
        while not self.leaving:
            self.team.serve(self.control, LOOKS)
            self.asleep = True
            self.go.acquire()
            self.asleep = False

    def wake(self) -> None:
        # Nobody waits for a helper that has claimed nothing, so one that falls asleep just now is
        # woken by the next call.
        if self.asleep and self.go.locked():
            self.go.release()


class Workers:
    """The calling thread and its helpers, which one call at a time has: a call that finds them
    taken runs alone."""

    def __init__(self) -> None:
        self.wanted: int | None = None
        self._team: Any = None
        self.reset()

    def reset(self) -> None:
        """Forget the helpers: in the child of a fork they do not exist."""
        self._taken = threading.Lock()
        self._helpers: list[_Helper] = []
        self._memory = (ctypes.c_int64 * 64)()
        # Room for the control block, in which the words that different threads write lie on cache
        # lines of their own.
        self._control = -(-ctypes.addressof(self._memory) // 64) * 64

    @staticmethod
    def native() -> Any:
        """The module of native code, which loads the compiler."""
        return loading.imported("..codegen.native.team", __package__)

    @property
    def available(self) -> bool:
        """Whether this Python's arrays can be read natively."""
        return bool(self.native().available())

    @property
    def threads(self) -> int:
        if self.wanted is None:
            self.wanted = usable()
        return self.wanted

    def resize(self, threads: int) -> None:
        with self._taken:
            self._stop()
            self.wanted = threads
        blas_threads(threads)

    def _stop(self) -> None:
        """End the helpers; only for who has taken the pool."""
        if not self._helpers:
            return
        stop = ctypes.c_int64.from_address(self._control + 8 * self.native().STOP)
        stop.value = 1
        for helper in self._helpers:
            helper.leaving = True
            while helper.is_alive():
                helper.wake()
                helper.join(0.001)
        self._helpers = []
        stop.value = 0

    def close(self) -> None:
        """At the end of the process: no helper may be in native code when that is unloaded."""
        if self._taken.acquire(timeout=1.0):
            self.wanted = 1
            self._stop()

    def _start(self, count: int) -> None:
        if self._team is None:
            self._team = self.native().Team()
        while len(self._helpers) < count:
            helper = _Helper(self._team, self._control)
            try:
                helper.start()
            except RuntimeError:
                # The system has no more threads, or the process is ending: those that there are do
                # the work.
                self.wanted = 1 + len(self._helpers)
                return
            self._helpers.append(helper)

    def run(
        self, kernel: int, run: int, operands: Sequence[Any], table: Table, statuses: Any
    ) -> bool:
        """Run all phases of a kernel over array objects; False where the helpers are taken, and
        nothing was done."""
        taken: list[bool] = []
        try:
            # In one step, of which an interrupt finds nothing done or all.
            taken.extend(map(self._taken.acquire, (False,)))
            if not any(taken):
                return False
            if len(self._helpers) < table.threads - 1:
                self._start(table.threads - 1)
            for helper in self._helpers[: table.threads - 1]:
                helper.wake()
            objects = (ctypes.c_int64 * len(operands))(*map(id, operands))
            at = ctypes.addressof(statuses) if statuses is not None else 0
            self._team.drive(
                self._control, table.address, table.rows, run, kernel, ctypes.addressof(objects), at
            )
        finally:
            if any(taken):
                self._taken.release()
        return True


POOL = Workers()
atexit.register(POOL.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.reset)


def blas_threads(threads: int) -> None:
    """Tell the BLAS library that compiled code calls how many threads to use, if it is loaded and
    can be told."""
    module = sys.modules.get("scipy.linalg.cython_blas")
    if module is None or module.__file__ is None:
        return
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(module.__file__)
        for name in (
            "scipy_openblas_set_num_threads",
            "openblas_set_num_threads",
            "MKL_Set_Num_Threads",
        ):
            if hasattr(library, name):
                getattr(library, name)(ctypes.c_int(threads))
                return


def set_num_threads(threads: int) -> None:
    """Use at most `threads` threads (at least 1) for one call of a compiled function, the calling
    one included.

    The default is what NUMBA_NUM_THREADS, OMP_NUM_THREADS, the affinity mask of the process and the
    container allow. Only loops that are long enough to gain are shared; the results have the same
    bits for any number. The number is also passed on to the BLAS library, to which products with a
    vector and complex products go: their last bits may depend on it. Calls made at the same time
    from several threads of yours share nothing: one of them has the helpers, the others run alone.

    >>> import tracegrad as tg
    >>> before = tg.get_num_threads()
    >>> tg.set_num_threads(1)
    >>> tg.get_num_threads()
    1
    >>> tg.set_num_threads(before)
    """
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"set_num_threads: expected an integer, got {type(threads).__name__}")
    if threads < 1:
        raise ValueError(f"set_num_threads: expected at least 1, got {threads}")
    POOL.resize(threads)


def get_num_threads() -> int:
    """The most threads that one call of a compiled function uses, the calling one included.

    >>> import tracegrad as tg
    >>> tg.get_num_threads() >= 1
    True
    """
    return POOL.threads


__all__ = ["POOL", "Sharing", "Table", "divide", "get_num_threads", "set_num_threads", "usable"]
