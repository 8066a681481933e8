"""Workers that are this process: one after the other, or threads."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ..errors import EvaluationTimeoutError
from ..progress import UnderWay
from ..sources import Opener
from ..worker import Answer, OutOfTime, ShardTask, forget, work


class Serial:
    """The driver does everything, shard by shard."""

    name = "serial"
    local = True
    alone = contextlib.nullcontext()

    def workers(self) -> int:
        return 1

    def begin(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], None, None]:
        return openers, None, None

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        return self.in_time([work(task) for task in timed(tasks, limit)], limit)

    def in_time(self, answers: Sequence[Answer], limit: float | None) -> Sequence[Answer]:
        """The answers; an error where one had no time."""
        left = sum(isinstance(a, OutOfTime) for a in answers)
        if left:
            raise EvaluationTimeoutError(late(self.name, limit, left, len(answers)))
        return answers

    def end(self, session: str) -> None:
        forget(session)

    def close(self) -> None:
        """Nothing is held."""


class Threads(Serial):
    """Threads of the driver. Compiled code runs beside each other; what shards are opened with, and
    the Python around it, takes turns."""

    name = "threads"

    def __init__(self, count: int) -> None:
        self.count = count
        self._begin()

    def _begin(self) -> None:
        self.owner = os.getpid()
        self.pool = ThreadPoolExecutor(self.count, "tracegrad-scale")
        self.working = threading.local()

    def workers(self) -> int:
        return self.count

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        if getattr(self.working, "here", False):
            # A function of a shard that sums over shards itself: all threads may be waiting so.
            return super().run(tasks, limit, running)
        if self.owner != os.getpid():
            # A fork has none of the threads.
            self._begin()
        futures = [self.pool.submit(self._work, task) for task in timed(tasks, limit)]
        return self.in_time(finished(futures, limit, self.name), limit)

    def _work(self, task: ShardTask) -> Answer:
        self.working.here = True
        return work(task)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


def timed(tasks: Sequence[ShardTask], limit: float | None) -> Sequence[ShardTask]:
    """The tasks, which begin no shard when the time is over."""
    if limit is None:
        return tasks
    until = time.monotonic() + limit
    return [t._replace(until=until) for t in tasks]


def finished(futures: Sequence[Future[Any]], limit: float | None, name: str) -> list[Any]:
    """The results of all; an error where they are not there in time."""
    left = set(futures)
    try:
        _await(left, limit, name)
    except BaseException:
        for future in left:
            future.cancel()
        raise
    return [future.result() for future in futures]


def _await(left: set[Future[Any]], limit: float | None, name: str) -> None:
    """Wait for them; those that are done leave the set."""
    count, end = len(left), None if limit is None else time.monotonic() + limit
    while left:
        rest = None if end is None else max(0.0, end - time.monotonic())
        done, _ = wait(left, rest, FIRST_COMPLETED)
        if not done:
            raise EvaluationTimeoutError(late(name, limit, len(left), count))
        left -= done


def late(name: str, limit: float | None, left: int, count: int) -> str:
    """What is said of an evaluation that took too long."""
    return (
        f"an evaluation on {name} did not end within {limit} s: {left} of {count} workers had not "
        "answered. Give more time (limit=), or look at what they do with report()"
    )


__all__ = ["Serial", "Threads", "finished", "late", "timed"]
