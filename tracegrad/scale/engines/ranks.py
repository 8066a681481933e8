"""Ranks of an MPI program that all call: each computes its range of the shards, and all get the
whole result."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from ..errors import EvaluationTimeoutError
from ..sources import Opener
from ..worker import Answer, ShardTask, failure, forget, work
from .local import late


class MpiRanks:
    """Every rank calls the same functions with the same parameters. Answers are gathered
    everywhere, failures too: all ranks raise the same error, or none."""

    name = "mpi"
    local = True

    def __init__(self, comm: Any) -> None:
        # A communicator of its own: messages are never taken for those of the user's program.
        self.user, self.comm = comm, comm.Dup()

    def workers(self) -> int:
        return int(self.comm.Get_size())

    def begin(self, session: str, openers: Sequence[Opener], room: int) -> Sequence[Opener]:
        return openers

    def run(self, tasks: Sequence[ShardTask], limit: float | None) -> Sequence[Answer]:
        rank = int(self.comm.Get_rank())
        own: Any = None
        if rank < len(tasks):
            try:
                own = work(tasks[rank])
            except BaseException as error:
                # Nobody may stay away from what follows, or the others would wait for ever.
                own = failure(error, tasks[rank].first, "")
        found = self._gathered((_said(tasks), own), limit, len(tasks))
        said = [s for s, _ in found]
        if any(s != said[0] for s in said):
            first = next(k for k, s in enumerate(said) if s != said[0])
            text = (
                f"rank 0 and rank {first} called for different work: on MPI every rank has to make "
                "the same calls with the same parameters"
            )
            return [failure(RuntimeError(text), -1, "")]
        answers: list[Answer] = [a for _, a in found[: len(tasks)]]
        return answers

    def _gathered(self, mine: Any, limit: float | None, count: int) -> list[Any]:
        if limit is None:
            found: list[Any] = self.comm.allgather(mine)
            return found
        # Pickled by hand: of objects there is no exchange that can be waited for.
        end = time.monotonic() + limit
        size, rank = int(self.comm.Get_size()), int(self.comm.Get_rank())
        out = [self.comm.isend(mine, k, TAG) for k in range(size) if k != rank]
        answers: list[Any] = [None] * size
        answers[rank] = mine
        left = {k for k in range(size) if k != rank}
        while left:
            for k in sorted(left):
                if self.comm.iprobe(k, TAG):
                    answers[k] = self.comm.recv(source=k, tag=TAG)
                    left.discard(k)
            if left and time.monotonic() > end:
                raise EvaluationTimeoutError(late("mpi", limit, len(left), count))
            time.sleep(0.0 if not left else 1e-4)
        for request in out:
            request.wait()
        return answers

    def end(self, session: str) -> None:
        forget(session)

    def close(self) -> None:
        """The ranks are the user's."""


TAG = 7


def _said(tasks: Sequence[ShardTask]) -> Any:
    """What has to be alike on all ranks: the form, the parameters and the ranges."""
    task = tasks[0]
    digest = hashlib.sha256()
    for x in task.shared:
        digest.update(repr((x.dtype, x.shape)).encode() + x.tobytes())
    return repr(task.form), digest.digest(), tuple((t.first, len(t.own)) for t in tasks)


__all__ = ["MpiRanks"]
