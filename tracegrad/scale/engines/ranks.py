"""Ranks of an MPI program: all call the same, each computes its range of the shards, and all get
the whole result; or one drives, and the others serve it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ..._codegen import loading, locks
from ...checks import describe
from ...ir.lines import user_line
from ..errors import EvaluationTimeoutError
from ..progress import UnderWay
from ..sources import Opener
from ..wire import task_bytes, task_of
from ..worker import Answer, ShardTask, failure, forget, versions, work
from .local import late

TAG = 7
ANSWER, VOTE = 0, 1
SPINS = 2000
"""So often it is looked for a message before the core is left to others."""
NAP = 1e-4
"""Seconds between two looks then: MPI's own waiting would keep the core busy."""


class MpiRanks:
    """Every rank calls the same functions with the same parameters. Answers are gathered
    everywhere, failures too: all ranks raise the same error, or none."""

    name = "mpi"
    local = True

    def __init__(self, comm: Any) -> None:
        # A communicator of its own: messages are never taken for those of the user's program.
        self.user, self.comm = comm, comm.Dup()
        self.alone = locks.lock()
        self.number = self.sessions = 0
        self.order: dict[str, int] = {}
        self.sending: list[Any] = []
        self.early: list[tuple[int, int, int, Any]] = []

    def workers(self) -> int:
        return int(self.comm.Get_size())

    def begin(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], None, None]:
        return openers, None, None

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        rank = int(self.comm.Get_rank())
        end = None if limit is None else time.monotonic() + limit
        self.number += 1
        own: Any = None
        if rank < len(tasks):
            try:
                own = work(tasks[rank])
            except BaseException as error:
                # Nobody may stay away from what follows, or the others would wait for ever.
                own = failure(error, tasks[rank].first, "")
        found = self._gathered((self._said(tasks), own), limit, end, len(tasks))
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

    def _said(self, tasks: Sequence[ShardTask]) -> Any:
        """What has to be alike on all ranks: which `sum_over` it is, counted in the order of their
        first evaluations, the form, the parameters and the ranges."""
        task = tasks[0]
        which = self.order.get(task.session)
        if which is None:
            self.sessions += 1
            which = self.order[task.session] = self.sessions
        digest = hashlib.sha256()
        for x in task.shared:
            digest.update(repr((x.dtype, x.shape)).encode() + x.tobytes())
        ranges = tuple([(t.first, len(t.own)) for t in tasks])
        # Equal objects may be pickled as different bytes.
        form = None if task.history is None else repr(pickle.loads(task.history).form)
        return which, form, digest.digest(), ranges

    def _gathered(self, mine: Any, limit: float | None, end: float | None, count: int) -> list[Any]:
        if limit is None or end is None:
            found: list[Any] = self.comm.allgather(mine)
            return found
        # Of an exchange of objects there is none that can be waited for; and since some may give up
        # while others have all they need, they vote: all return, or none.
        others = [k for k in range(int(self.comm.Get_size())) if k != int(self.comm.Get_rank())]
        given: dict[int, Any] = {int(self.comm.Get_rank()): mine}
        votes: dict[int, bool] = {}
        self._tell(others, ANSWER, mine)
        for _ in patient():
            self._take(others, given, votes)
            late_now = time.monotonic() > end
            if len(given) > len(others) or late_now or not all(votes.values()):
                break
        voted = len(given) > len(others) and not late_now and all(votes.values())
        self._tell(others, VOTE, voted)
        if voted:
            # Who has all of them too says so soon, or has given up.
            for _ in patient():
                self._take(others, given, votes)
                if len(votes) == len(others) or not all(votes.values()):
                    break
        if not voted or not all(votes.values()):
            left = 1 + len(others) - len(given)
            raise EvaluationTimeoutError(late("mpi", limit, min(left, count), count))
        return [given[k] for k in sorted(given)]

    def _tell(self, others: Sequence[int], kind: int, what: Any) -> None:
        self.sending = [r for r in self.sending if not r.test()[0]]
        message = self.number, kind, what
        self.sending += [self.comm.isend(message, k, TAG) for k in others]

    def _take(self, others: Sequence[int], given: dict[int, Any], votes: dict[int, bool]) -> None:
        """What has come. Of an evaluation that was given up nobody wants it any more; of the next
        one it is kept."""
        for k in others:
            while self.comm.iprobe(k, TAG):
                number, kind, what = self.comm.recv(source=k, tag=TAG)
                if number >= self.number:
                    self.early.append((number, kind, k, what))
        waiting, self.early = self.early, []
        for number, kind, k, what in waiting:
            if number > self.number:
                self.early.append((number, kind, k, what))
            elif number == self.number and kind == ANSWER:
                given[k] = what
            elif number == self.number:
                votes[k] = what

    def end(self, session: str) -> None:
        self.order.pop(session, None)
        forget(session)

    def close(self) -> None:
        """The ranks are the user's."""


def received(comm: Any, source: int, none: int) -> tuple[int, Any]:
    """The next numbered message of a rank; the number `none` where there is none."""
    if not comm.iprobe(source, TAG):
        return none, None
    found: tuple[int, Any] = comm.recv(source=source, tag=TAG)
    return found


def patient() -> Iterator[None]:
    """Looks for messages, with less and less haste."""
    for k in itertools.count():
        yield
        time.sleep(0.0 if k < SPINS else NAP)


# --- one rank drives ------------------------------------------------------------------------------


class MpiDriver:
    """The ranks as workers of one of them, which is a worker, too."""

    name = "mpi"
    local = False

    def __init__(self, comm: Any, root: int) -> None:
        self.comm, self.root = comm, root
        self.alone = locks.lock()
        self.ended: deque[str] = deque()
        self.open = True
        self.number = 0
        self.sending: list[Any] = []
        size = int(comm.Get_size())
        self.ranks = [root, *[k for k in range(size) if k != root]]

    def workers(self) -> int:
        if not self.open:
            raise ValueError(
                "the ranks that served have been let go: evaluate inside of the block of "
                "`with tg.scale.mpi_driver() as client`"
            )
        return len(self.ranks)

    def begin(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], None, None]:
        return openers, None, None

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        self.workers()
        end = None if limit is None else time.monotonic() + limit
        self.number += 1
        ended = tuple([self.ended.popleft() for _ in range(len(self.ended))])
        told = dict(zip(self.ranks, [t._replace(ended=ended) for t in tasks], strict=False))
        for k, task in told.items():
            if k != self.root:
                # Not waited for: after a limit a rank may still be at its former task.
                message = self.number, (versions(), task_bytes(task))
                self.sending.append(self.comm.isend(message, k, TAG))
        answers: dict[int, Answer] = {self.root: work(told[self.root])}
        left = set(told) - {self.root}
        running.look = lambda: sum(len(t.own) for k, t in told.items() if k not in left)
        for _ in patient():
            for k in sorted(left):
                number, answer = received(self.comm, k, -1)
                # One of an evaluation that was given up before may come late.
                if number == self.number:
                    answers[k] = answer
                    left.discard(k)
            if not left:
                break
            if limit is not None and end is not None and time.monotonic() > end:
                raise EvaluationTimeoutError(late("mpi", limit, len(left), len(tasks)))
        self.sending = [r for r in self.sending if not r.test()[0]]
        return [answers[k] for k in told]

    def end(self, session: str) -> None:
        self.ended.append(session)

    def close(self) -> None:
        """Let the others go on with their program."""
        if self.open:
            self.open = False
            for k in self.ranks[1:]:
                self.sending.append(self.comm.isend((0, None), k, TAG))
            for k in self.ranks[1:]:
                # Before its farewell there may be answers that nobody waited for.
                while self.comm.recv(source=k, tag=TAG)[0]:
                    pass
            for request in self.sending:
                request.wait()


def _serve(comm: Any, root: int) -> None:
    for _ in patient():
        number, packed = received(comm, root, -1)
        while number > 0:
            answer: Answer
            try:
                there, task = packed
                answer = work(task_of(task, there))
            except Exception as error:
                answer = failure(error, -1, "")
            comm.send((number, answer), root, TAG)
            number, packed = received(comm, root, -1)
        if number == 0:
            comm.send((0, None), root, TAG)
            return


@contextlib.contextmanager
def mpi_driver(comm: Any = None, root: int = 0) -> Iterator[MpiDriver | None]:
    """One rank of an MPI program drives, and the others serve it, as with
    `mpi4py.futures.MPICommExecutor`: on the rank `root` the block gets what `sum_over` and
    `map_over` take as `client=`; on the others the block begins when that rank has left its own,
    and gets None.

    comm    the communicator; all ranks of the program by default
    root    the rank that drives, and computes its part of the shards, too

    Unlike `backend="mpi"`, where all ranks make the same calls, only the driver runs the program
    around the sums (SciPy's optimizers, plots, files), and functions travel from it, with what they
    read.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> with tg.scale.mpi_driver() as client:  # doctest: +SKIP
    ...     if client is not None:
    ...         total = tg.scale.sum_over(lambda t, x: np.sum(t * x), shards, client=client)
    ...         print(tg.value_and_grad(total)(2.0))
    """
    if comm is None:
        try:
            comm = loading.imported("mpi4py.MPI").COMM_WORLD
        except ImportError as error:
            raise ModuleNotFoundError(
                f"{user_line()}: mpi_driver needs mpi4py, which is not there: "
                "pip install 'tracegrad[mpi]'",
                name=error.name,
            ) from error
    if not hasattr(comm, "Get_rank") or not hasattr(comm, "Dup"):
        raise TypeError(
            f"{user_line()}: mpi_driver: comm is {describe(comm)}; it must be an MPI communicator"
        )
    size = int(comm.Get_size())
    if isinstance(root, bool) or not isinstance(root, int) or not 0 <= root < size:
        raise ValueError(
            f"{user_line()}: mpi_driver: root is {root!r:.60}; it must be a rank, 0 to {size - 1}"
        )
    own = comm.Dup()
    try:
        if int(own.Get_rank()) != root:
            _serve(own, root)
            yield None
            return
        driver = MpiDriver(own, root)
        try:
            yield driver
        finally:
            driver.close()
    finally:
        own.Free()


__all__ = ["MpiDriver", "MpiRanks", "mpi_driver"]
