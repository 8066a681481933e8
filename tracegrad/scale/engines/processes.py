"""Workers that are processes of this machine: a `concurrent.futures.ProcessPoolExecutor`, or one of
loky's, of one process for each worker, so that each keeps its own shards open."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..._codegen import loading
from ...runtime.threads import set_num_threads
from ..errors import EvaluationTimeoutError, WorkerLostError
from ..sources import Opener
from ..transport import Shelf, ShelfFolder, received
from ..worker import Answer, Failed, Missing, ShardTask, forget, work
from .local import late

TRIES = 3
"""So often a lost worker's work is done again by a new one."""


def began(threads: int) -> None:
    """What a worker does first: an interrupt is the driver's business."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_num_threads(threads)


def ready() -> int:
    """A task that says that the worker is there."""
    return os.getpid()


class Processes:
    """Processes, each with an executor of its own. One that ends is started again, and its shards
    are computed again; one that ends three times at the same work is an error."""

    local = False

    def __init__(self, count: int, name: str = "processes") -> None:
        self.name, self.count = name, count
        self.make: Callable[[], Executor] = _loky if name == "joblib" else _executor
        self.folder = ShelfFolder()
        self.theta = self.folder.shelf()
        self.given: dict[str, Shelf] = {}
        self.pools: list[Executor | None] = [None] * count
        self.busy: list[Future[Any] | None] = [None] * count
        self.results = ""

    def workers(self) -> int:
        return self.count

    def begin(self, session: str, openers: Sequence[Opener], room: int) -> Sequence[Opener]:
        """Arrays of the driver's are laid where the workers map them, once."""
        shelf = self.folder.shelf()
        trees = [o.what if o.how == "given" else None for o in openers]
        placed = shelf.lay(trees)
        self.given[f"{session}-{len(self.given)}"] = shelf
        return [
            o._replace(what=what) if o.how == "given" else o
            for o, what in zip(openers, placed, strict=True)
        ]

    def run(self, tasks: Sequence[ShardTask], limit: float | None) -> Sequence[Answer]:
        end = None if limit is None else time.monotonic() + limit
        if not self.results:
            self.results = os.path.dirname(self.folder.file("results", 1))
        # The same operands go to all: they are laid down once.
        shared, own = self.theta.lay((tasks[0].shared, [t.own for t in tasks]))
        sent = [
            t._replace(shared=shared, own=o, room=self.results)
            for t, o in zip(tasks, own, strict=True)
        ]
        answers: list[Any] = [None] * len(tasks)
        tries = [0] * len(tasks)
        under_way: dict[Future[Any], int] = {}
        try:
            for k, task in enumerate(sent):
                self._submit(k, task, under_way)
            while under_way:
                rest = None if end is None else max(0.0, end - time.monotonic())
                done, left = wait(under_way, rest, FIRST_COMPLETED)
                if not done:
                    raise EvaluationTimeoutError(late(self.name, limit, len(left), len(tasks)))
                for future in done:
                    k = under_way.pop(future)
                    try:
                        answers[k] = future.result()
                    except Exception as error:
                        if not _is_lost(error):
                            raise
                        self._drop(k)
                        tries[k] += 1
                        if tries[k] == TRIES:
                            raise self._lost(sent[k]) from error
                        # The new one knows nothing: it answers so.
                        self._submit(k, sent[k], under_way)
        except BaseException:
            # What is still under way would hold up the next evaluation, and read operands that are
            # no longer these: those workers end.
            for k in under_way.values():
                self._drop(k)
            raise
        return [_unlaid(a) for a in answers]

    def _submit(self, k: int, task: ShardTask, under_way: dict[Future[Any], int]) -> None:
        for attempt in range(TRIES):
            pool = self.pools[k]
            if pool is None:
                pool = self.pools[k] = self.make()
            try:
                under_way[pool.submit(work, task)] = k
            except Exception as error:
                if not _is_lost(error) or attempt + 1 == TRIES:
                    raise
                self._drop(k)
            else:
                return

    def _drop(self, k: int) -> None:
        """End a worker; the next task for it starts another."""
        pool, self.pools[k] = self.pools[k], None
        if pool is not None:
            end_pool(pool)

    def _lost(self, task: ShardTask) -> WorkerLostError:
        last = task.first + len(task.own) - 1
        return WorkerLostError(
            f"a worker of {self.name} ended {TRIES} times in the middle of shards {task.first} to "
            f"{last}: it was killed, had no memory left, or the function ends the process. Nothing "
            "was returned; the engine can be used again"
        )

    def end(self, session: str) -> None:
        for pool in self.pools:
            if pool is not None:
                with contextlib.suppress(Exception):
                    pool.submit(forget, session)

    def start(self) -> list[int]:
        """Start all workers now; their process ids."""
        for k, pool in enumerate(self.pools):
            if pool is None:
                self.pools[k] = self.make()
        return [pool.submit(ready).result() for pool in self.pools if pool is not None]

    def close(self) -> None:
        """End all workers."""
        for k in range(self.count):
            self._drop(k)
        self.folder.close()


def _unlaid(answer: Any) -> Answer:
    found: Answer = answer if isinstance(answer, (Failed, Missing)) else received(answer)
    return found


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, BrokenProcessPool) or "Terminated" in type(error).__name__


def end_pool(pool: Any) -> None:
    """End an executor and its process at once."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    with contextlib.suppress(Exception):
        pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        with contextlib.suppress(Exception):
            process.kill()
    for process in processes:
        with contextlib.suppress(Exception):
            process.join(1.0)


def _executor() -> Executor:
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" in methods:
        # The server has loaded the package and runs no threads: its children begin at once.
        context: Any = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", "tracegrad.scale.preloaded"])
    else:
        context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, began, (1,))


def _loky() -> Executor:
    try:
        module: Any = loading.imported("joblib.externals.loky.process_executor")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the engine joblib needs joblib, which is not installed: "
            "pip install 'tracegrad[joblib]'",
            name=error.name,
        ) from error
    made: Executor = module.ProcessPoolExecutor(1, initializer=began, initargs=(1,))
    return made


__all__ = ["Processes", "end_pool"]
