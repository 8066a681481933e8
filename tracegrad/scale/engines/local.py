"""Workers that are this process: one after the other, or threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ..errors import EvaluationTimeoutError
from ..sources import Opener
from ..worker import Answer, ShardTask, forget, work


class Serial:
    """The driver does everything, shard by shard."""

    name = "serial"
    local = True

    def workers(self) -> int:
        return 1

    def begin(self, session: str, openers: Sequence[Opener], room: int) -> Sequence[Opener]:
        return openers

    def run(self, tasks: Sequence[ShardTask], limit: float | None) -> Sequence[Answer]:
        return [work(task) for task in tasks]

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
        self.pool = ThreadPoolExecutor(count, "tracegrad-scale")

    def workers(self) -> int:
        return self.count

    def run(self, tasks: Sequence[ShardTask], limit: float | None) -> Sequence[Answer]:
        futures = [self.pool.submit(work, task) for task in tasks]
        return finished(futures, limit, self.name)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


def finished(futures: Sequence[Future[Any]], limit: float | None, name: str) -> list[Any]:
    """The results of all; an error where they are not there in time."""
    end = None if limit is None else time.monotonic() + limit
    left = set(futures)
    try:
        while left:
            rest = None if end is None else max(0.0, end - time.monotonic())
            done, left = wait(left, rest, FIRST_COMPLETED)
            if left and not done:
                raise EvaluationTimeoutError(late(name, limit, len(left), len(futures)))
    except BaseException:
        for future in left:
            future.cancel()
        raise
    return [future.result() for future in futures]


def late(name: str, limit: float | None, left: int, count: int) -> str:
    """What is said of an evaluation that took too long."""
    return (
        f"an evaluation on {name} did not end within {limit} s: {left} of {count} workers had not "
        "answered. Give more time (limit=), or look at what they do with report()"
    )


__all__ = ["Serial", "Threads", "finished", "late"]
