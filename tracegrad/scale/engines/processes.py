"""Workers that are processes of this machine, each of which keeps its own shards open: Python's own
(`multiprocessing`), at the other end of a pipe, or loky's, an executor for each."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import select
import signal
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future
from concurrent.futures import wait as wait_for_futures
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_pipes
from typing import Any, Protocol

from ..._codegen import loading, locks
from ...runtime.threads import set_num_threads
from ..errors import EvaluationTimeoutError, WorkerLostError
from ..progress import UnderWay
from ..sources import Opener
from ..transport import Shelf, ShelfFolder, taken
from ..wire import answer_bytes, answer_of, task_bytes, task_of
from ..worker import Answer, Done, ShardTask, failure, work
from .local import late

TRIES = 3
"""So often a lost worker's work is done again by a new one."""


HOME = os.getpid()
"""Where this was loaded: in a child that was forked Python's fork server is the parent's."""
PIECE = 0.5
"""Seconds that are waited for an answer at a time."""


class GoneError(Exception):
    """A worker ended; its text says how, where that is known."""


class Worker(Protocol):
    """One process."""

    def send(self, message: bytes) -> None:
        """Give it a task, of which there is one at a time; GoneError."""

    def receive(self) -> Answer:
        """Its answer; GoneError."""

    def end(self) -> None:
        """End it at once."""

    def leave(self) -> None:
        """Have nothing to do with it any more, since it is another process's."""

    def pid(self) -> int | None:
        """Its number, where it has begun."""


# --- Python's own ---------------------------------------------------------------------------------


class PipedWorker:
    """A process at the other end of a pipe, in which there are no threads on the way."""

    def __init__(self) -> None:
        methods = multiprocessing.get_all_start_methods()
        if "forkserver" in methods and os.getpid() == HOME:
            # The server has loaded the package and runs no threads: its children begin at once.
            context: Any = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["__main__", "tracegrad.scale.preloaded"])
        else:
            context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), name="tracegrad worker")
        self.process.start()
        # Or the end of the process would not be the end of the pipe.
        theirs.close()

    def send(self, message: bytes) -> None:
        try:
            self.pipe.send_bytes(message)
        except OSError as error:
            raise self._gone() from error

    def receive(self) -> Answer:
        try:
            found = self.pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._gone() from error
        return answer_of(found)

    def _gone(self) -> GoneError:
        with contextlib.suppress(Exception):
            self.process.join(1.0)
            code = self.process.exitcode
            if code is not None:
                return GoneError(f"by signal {-code}" if code < 0 else f"with exit code {code}")
        return GoneError("")

    def end(self) -> None:
        with contextlib.suppress(Exception):
            self.process.kill()
            self.process.join(1.0)
        self.leave()

    def leave(self) -> None:
        with contextlib.suppress(Exception):
            self.pipe.close()

    def pid(self) -> int | None:
        number: int | None = self.process.pid
        return number

    @staticmethod
    def first(workers: dict[int, Any], rest: float) -> list[int]:
        """Which of them have answered, or ended, when one has."""
        at = {w.pipe.fileno(): k for k, w in workers.items()}
        if not hasattr(select, "poll"):
            pipes = {w.pipe: k for k, w in workers.items()}
            return [pipes[p] for p in wait_for_pipes(list(pipes), rest)]
        # What `multiprocessing` makes of the same call takes as long as a worker's whole task.
        asked = select.poll()
        for number in at:
            asked.register(number, select.POLLIN)
        return [at[number] for number, _ in asked.poll(math.ceil(1e3 * rest))]


def _serve(pipe: Connection) -> None:
    began(1)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(answered(pipe.recv_bytes()))


def answered(message: bytes) -> bytes:
    """The answer to a task."""
    try:
        return answer_bytes(work(task_of(message)))
    except Exception as error:
        return answer_bytes(failure(error, -1, ""))


def began(threads: int) -> None:
    """What a worker does first: an interrupt is the driver's business."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_num_threads(threads)


# --- loky's ---------------------------------------------------------------------------------------


class LokyWorker:
    """An executor of one process."""

    def __init__(self) -> None:
        try:
            module: Any = loading.imported("joblib.externals.loky.process_executor")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "the engine joblib needs joblib, which is not installed: "
                "pip install 'tracegrad[joblib]'",
                name=error.name,
            ) from error
        self.pool: Executor = module.ProcessPoolExecutor(1, initializer=began, initargs=(1,))
        self.broken: Any = module.BrokenProcessPool
        self.future: Future[bytes] | None = None

    def send(self, message: bytes) -> None:
        try:
            self.future = self.pool.submit(answered, message)
        except Exception as error:
            raise self._judged(error) from error

    def receive(self) -> Answer:
        assert self.future is not None
        try:
            return answer_of(self.future.result())
        except Exception as error:
            raise self._judged(error) from error

    def _judged(self, error: Exception) -> Exception:
        return GoneError("") if isinstance(error, self.broken) else error

    def end(self) -> None:
        processes = list((getattr(self.pool, "_processes", None) or {}).values())
        with contextlib.suppress(Exception):
            self.pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with contextlib.suppress(Exception):
                process.kill()
        for process in processes:
            with contextlib.suppress(Exception):
                process.join(1.0)

    def leave(self) -> None:
        """Nothing is held here."""

    def pid(self) -> int | None:
        return next(iter(getattr(self.pool, "_processes", None) or {}), None)

    @staticmethod
    def first(workers: dict[int, Any], rest: float) -> list[int]:
        """Which of them have answered, or ended, when one has."""
        at = {w.future: k for k, w in workers.items()}
        return [at[f] for f in wait_for_futures(at, rest, FIRST_COMPLETED)[0]]


# --- the engine -----------------------------------------------------------------------------------


class Processes:
    """Processes. One that ends is started again, and its shards are computed again; one that ends
    three times at the same work is an error."""

    local = False

    def __init__(self, count: int, name: str = "processes") -> None:
        self.name, self.count = name, count
        self.kind: Any = LokyWorker if name == "joblib" else PipedWorker
        self.alone = locks.lock()
        self._begin()

    def _begin(self) -> None:
        self.owner = os.getpid()
        self.folder = ShelfFolder()
        self.theta = self.folder.shelf()
        self.results = ""
        self.made: list[Worker | None] = [None] * self.count
        self.ended: list[deque[str]] = [deque() for _ in range(self.count)]
        """Of each worker the sessions that it does not know to be no more."""

    def workers(self) -> int:
        return self.count

    def begin(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], None, Shelf]:
        """Arrays of the driver's are laid where the workers map them, once."""
        shelf = self.folder.shelf()
        placed = shelf.lay([o.what if o.how == "given" else None for o in openers])
        return (
            [
                o._replace(what=what) if o.how == "given" else o
                for o, what in zip(openers, placed, strict=True)
            ],
            None,
            shelf,
        )

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        if self.owner != os.getpid():
            # A fork: the workers are the parent's, who would get the answers, or the child its.
            for worker in self.made:
                if worker is not None:
                    worker.leave()
            self._begin()
        end = None if limit is None else time.monotonic() + limit
        if not self.results:
            self.results = os.path.dirname(self.folder.file("results", 1))
        # The same operands go to all: they are laid down once.
        own = [x for t in tasks for x in t.own]
        shared, *own = self.theta.lay_lists([tasks[0].shared, *own])
        parts = iter(own)
        # All are packed before the first worker wakes up, who may want this core.
        messages = [
            task_bytes(
                t._replace(
                    shared=shared,
                    own=[next(parts) for _ in t.own],
                    room=self.results,
                    ended=_emptied(self.ended[k]),
                )
            )
            for k, t in enumerate(tasks)
        ]
        answers: list[Any] = [None] * len(tasks)
        tries = [0] * len(tasks)
        under_way: set[int] = set(range(len(tasks)))
        running.look = lambda: sum(len(t.own) for k, t in enumerate(tasks) if k not in under_way)
        try:
            for k, task in enumerate(tasks):
                self._send(k, task, messages[k], tries)
            while under_way:
                # In pieces: another thread's interrupt does not wake this one.
                rest = PIECE if end is None else min(PIECE, max(0.0, end - time.monotonic()))
                done = self.kind.first({k: self.made[k] for k in under_way}, rest)
                if not done and end is not None and time.monotonic() >= end:
                    raise EvaluationTimeoutError(late(self.name, limit, len(under_way), len(tasks)))
                for k in done:
                    worker = self.made[k]
                    assert worker is not None
                    try:
                        answers[k] = worker.receive()
                        under_way.discard(k)
                    except GoneError as gone:
                        self._lost(k, tasks[k], tries, gone)
                        # The new one knows nothing: it answers so.
                        self._send(k, tasks[k], messages[k], tries)
        except BaseException:
            # What is still under way would be taken for an answer to the next evaluation, and read
            # operands that are no longer these: those workers end.
            for k in under_way:
                self._drop(k)
            raise
        return list(map(_taken, answers))

    def _send(self, k: int, task: ShardTask, message: Any, tries: list[int]) -> None:
        while True:
            worker = self.made[k]
            if worker is None:
                worker = self.made[k] = self.kind()
            try:
                worker.send(message)
            except GoneError as gone:
                self._lost(k, task, tries, gone)
            else:
                return

    def _lost(self, k: int, task: ShardTask, tries: list[int], gone: GoneError) -> None:
        """A worker ended; an error where that was the last try."""
        self._drop(k)
        tries[k] += 1
        if tries[k] < TRIES:
            return
        last = task.first + len(task.own) - 1
        how = f" ({gone})" if str(gone) else ""
        raise WorkerLostError(
            f"a worker of {self.name} ended {TRIES} times{how} in the middle of shards "
            f"{task.first} to {last}: it was killed, had no memory left, the function ends the "
            'process, or the program lacks `if __name__ == "__main__":`. Nothing was returned; '
            "the engine can be used again"
        ) from gone

    def _drop(self, k: int) -> None:
        """End a worker; the next task for it starts another."""
        worker, self.made[k] = self.made[k], None
        self.ended[k].clear()
        if worker is not None and self.owner == os.getpid():
            worker.end()

    def end(self, session: str) -> None:
        for told in self.ended:
            told.append(session)

    def pids(self) -> list[int]:
        """The numbers of the processes that there are now."""
        found = [w.pid() for w in self.made if w is not None]
        return [p for p in found if p is not None]

    def close(self) -> None:
        """End all workers."""
        for k in range(self.count):
            self._drop(k)
        self.folder.close()


def _taken(answer: Answer) -> Answer:
    """An answer with what was laid down for it."""
    if not isinstance(answer, Done):
        return answer
    blocks = [b._replace(leaves=taken(b.leaves)) for b in answer.blocks]
    return Done(blocks, [taken(x) for x in answer.gathered], answer.timing)


def _emptied(queue: deque[str]) -> tuple[str, ...]:
    return tuple([queue.popleft() for _ in range(len(queue))])


__all__ = ["LokyWorker", "PipedWorker", "Processes"]
