"""Code that a thread makes beside the calls, which run operation by operation until it is there.

The thread lives as long as there is something to make, and takes one function after the other. It
is no daemon, which the end of the interpreter would stop in the middle of LLVM's work: a process
that ends waits for the function that is being compiled, and leaves the others. A child process has
no such thread; its next call starts one, and finds there what was not done.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import locks
from ..control.running import briefly
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.trace import outside
from ..transforms.sizes import with_sizes
from ..transforms.weak import explicit

LOG = logging.getLogger("tracegrad")
BESIDE = "in the background: "
"""Before the name of a stage, among the times of a first call."""


class Job:
    """One function to be compiled: `work()` makes it, and whoever wants it finds it where that put
    it. What it raises is dropped: a call that does the same meets it again."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.name, self.work = name, work
        self.done = threading.Event()

    def run(self) -> None:
        """Do the work."""
        try:
            self.work()
            LOG.info("%s: compiled in the background", self.name)
        except BaseException as error:  # an interrupt of a thread's included: nobody waits for it
            LOG.info("%s: not compiled in the background: %r", self.name, error)
        finally:
            self.done.set()


class Background:
    """The jobs in their order, and the thread that does them."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._lock = locks.lock()

    def takes(self, job: Job) -> bool:
        """See to it that a thread comes to this job; False if it is done, or there is none."""
        with self._lock:
            if job.done.is_set():
                return False
            if job not in self._jobs:
                self._jobs.append(job)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="tracegrad: background")
                try:
                    self._thread.start()
                except RuntimeError:
                    # The system has no more threads, or the process is ending.
                    self._jobs.remove(job)
                    self._thread = None
                    return False
            return True

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs or not threading.main_thread().is_alive():
                    self._thread = None
                    return
                job = self._jobs[0]
            job.run()
            with self._lock:
                # Only now: a child process that is forked meanwhile has still to do it.
                if job in self._jobs:
                    self._jobs.remove(job)


BACKGROUND = Background()


class _AtHandError(Exception):
    """Raised in the middle of a run for which there is native code by now."""


def by_operations(
    graph: Graph,
    arrays: Sequence[np.ndarray[Any, Any]],
    sizes: Sequence[int],
    at_hand: Callable[[], bool],
) -> list[np.ndarray[Any, Any]] | None:
    """The results of a graph by its operations, in memory of their own; None where they are left to
    native code: it is at hand, it is much quicker, or it is to say what is wrong. Nothing is
    changed by the operations of a graph, so a run may end anywhere."""

    def before() -> None:
        if at_hand():
            raise _AtHandError

    if graph.sizes.hints:
        graph = with_sizes(graph, dict(zip(graph.sizes.hints, sizes, strict=True)))
    graph = explicit(graph)
    try:
        with outside(), briefly(), np.errstate(all="ignore"):
            outs = evaluate(graph, arrays, before)
            # The caller's own memory, in the order of what native code gives.
            made = [
                np.array(x, t.dtype, order="C")
                for x, t in zip(outs, graph.output_types, strict=True)
            ]
    except Exception:
        return None
    fit = [x.shape == t.shape for x, t in zip(made, graph.output_types, strict=True)]
    return made if all(fit) else None


__all__ = ["BACKGROUND", "BESIDE", "Background", "Job", "by_operations"]
