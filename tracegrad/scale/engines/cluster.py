"""Workers of a Dask cluster, through a `distributed.Client`."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ..._codegen import loading
from ...tree import flatten
from ..collections import DaskBlock, FutureBlock, HeldBlock
from ..errors import EvaluationTimeoutError, WorkerLostError
from ..functions import structure_of
from ..progress import UnderWay
from ..sources import Opener
from ..wire import answer_bytes, answer_of, task_bytes, task_of
from ..worker import Answer, Done, ShardTask, versions, work
from .local import late

SMALL = 1 << 16
"""Bytes up to which an answer is sent as one text."""
SCATTERED = 1 << 20
"""Bytes of parameters from which on they are scattered: the scheduler passes them on no longer."""


PIECE = 2.0
"""Seconds that are waited for answers at a time."""
ALONE = 180.0
"""Seconds without any worker after which an evaluation is given up."""
TRIES = 3


class DaskWorkers:
    """Each worker of the cluster has a range of the shards. A task is bound to its worker loosely:
    where that is lost, Dask runs it on another, which opens the shards anew."""

    name = "dask"
    local = False
    alone = contextlib.nullcontext()

    def __init__(self, client: Any) -> None:
        self.ended: deque[str] = deque(maxlen=64)
        self.client = client
        self.module: Any = loading.imported("distributed")
        self.addresses: list[str] = []
        self.asked = 0.0
        self.met = False
        """Whether the cluster has had workers."""
        self.numbers = itertools.count()

    def workers(self) -> int:
        """As many as the cluster has, in a fixed order; asked for once a second, since that is a
        round trip. A worker that is gone meanwhile is one whose tasks others do. The first time
        some are waited for; later an evaluation does that, which may have a limit."""
        if self.addresses and time.monotonic() - self.asked < 1.0:
            return len(self.addresses)
        self.asked = time.monotonic()
        with self._reached():
            self.addresses = self._addresses()
            if not self.addresses and not self.met:
                self.client.wait_for_workers(1, timeout=ALONE)
                self.addresses = self._addresses()
        self.met = True
        return max(1, len(self.addresses))

    def _addresses(self) -> list[str]:
        # A client whose scheduler is gone says nothing of workers.
        return sorted(self.client.scheduler_info(n_workers=-1).get("workers", ()))

    def begin(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], list[Any] | None, None]:
        """Blocks of Dask's collections as futures, which the cluster keeps (and computes again
        where they are lost); what else opens shards is sent as it is."""
        if not all(isinstance(o.what, (DaskBlock, FutureBlock)) for o in openers):
            return openers, None, None
        count = self.workers()
        data, placed = [], []
        for k, o in enumerate(openers):
            leaves, spec = flatten(o.what.tree)
            at = self.addresses[k * count // len(openers) :][:1]
            if isinstance(o.what, DaskBlock):
                leaves = self.client.compute(
                    leaves, workers=at or None, allow_other_workers=bool(at)
                )
            data.append(leaves)
            placed.append(o._replace(how="held", what=HeldBlock(structure_of(spec))))
        return placed, data, None

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        futures: list[Any] = []
        end = None if limit is None else time.monotonic() + limit
        try:
            with self._reached():
                shared = self._scattered(tasks[0].shared)
                ended = tuple([self.ended.popleft() for _ in range(len(self.ended))])
                sent = [t._replace(ended=ended) for t in tasks]
                for k, task in enumerate(sent):
                    futures.append(self._submitted(task, shared, self.addresses[k : k + 1]))
                running.look = lambda: sum(
                    len(t.own) for t, f in zip(tasks, futures, strict=True) if f.done()
                )
                return self._answers(futures, sent, shared, end)
        except _TooLateError as error:
            self._cancel(futures)
            text = late("dask", limit, error.left, len(tasks)) + error.text
            raise EvaluationTimeoutError(text) from error
        except BaseException:
            # What is still being fetched ends with them.
            self._cancel(futures)
            raise

    def _scattered(self, shared: Any) -> Any:
        if sum(getattr(x, "nbytes", 8) for x in shared) <= SCATTERED:
            return None
        return self.client.scatter([shared], broadcast=True, hash=False)[0]

    def _submitted(self, task: ShardTask, shared: Any, workers: Sequence[str]) -> Any:
        # As bytes: Dask looks into everything else.
        packed = task_bytes(task if shared is None else task._replace(shared=()))
        return self.client.submit(
            _work,
            pickle.dumps((versions(), packed)),
            **{k: x for k, x in (("shared", shared), ("data", task.data)) if x is not None},
            key=f"tracegrad-{task.session}-{next(self.numbers)}",
            workers=workers or None,
            allow_other_workers=bool(workers),
            pure=False,
        )

    def _answers(
        self, futures: list[Any], tasks: Sequence[ShardTask], shared: Any, end: float | None
    ) -> Sequence[Answer]:
        """What all give: waited for and fetched in one. A worker that is lost when it is done takes
        its answer with it, and what was being fetched then may never come: where all are done and
        nothing comes it is fetched anew, with more patience each time (large answers are slow)."""
        loop = self.client.loop.asyncio_loop
        waiting = _Patience(time.monotonic(), PIECE)
        coming: Any = None
        while True:
            if coming is None:
                waiting.done = None
                coming = asyncio.run_coroutine_threadsafe(
                    self.client.gather(futures, asynchronous=True), loop
                )
            try:
                return [
                    answer_of(a) if isinstance(a, bytes) else a for a in coming.result(_piece(end))
                ]
            except TimeoutError:
                if (coming.done() and not coming.cancelled()) or not self._running():
                    raise
            if end is not None and time.monotonic() >= end:
                # Counted before the cluster is asked, which takes time.
                left = sum(not f.done() for f in futures)
                raise _TooLateError(left, self._without_workers(waiting))
            if self._sent_anew(futures, tasks, shared, waiting) or waiting.stuck(futures):
                coming.cancel()
                coming = None

    def _running(self) -> bool:
        return bool(self.client.status == "running")

    def _sent_anew(
        self, futures: list[Any], tasks: Sequence[ShardTask], shared: Any, waiting: _Patience
    ) -> bool:
        """A task whose worker is gone, at a moment when there was no other, is never given to those
        that come later: whether there was one, which has been sent anew."""
        there = self.client.processing()
        if there:
            waiting.seen = time.monotonic()
        elif time.monotonic() - waiting.seen > ALONE:
            raise WorkerLostError(
                f"the Dask cluster {_place(self.client)} has had no worker for {ALONE:.0f} s "
                "in the middle of an evaluation"
            )
        under_way = {key for keys in there.values() for key in keys}
        left = [k for k, f in enumerate(futures) if not f.done() and f.key not in under_way]
        if not there or not left or self.addresses[: len(tasks)] == sorted(there):
            return False
        waiting.tries += 1
        if waiting.tries > TRIES:
            raise WorkerLostError(
                f"workers of the Dask cluster {_place(self.client)} ended {TRIES} times in the "
                "middle of an evaluation (killed, or out of memory)"
            )
        self._cancel([futures[k] for k in left])
        for k in left:
            futures[k] = self._submitted(tasks[k], shared, ())
        return True

    def _without_workers(self, waiting: _Patience) -> str:
        """What else there is to say of an evaluation that took too long."""
        if self.client.processing():
            return ""
        seconds = time.monotonic() - waiting.seen
        return (
            f". The cluster {_place(self.client)} has had no worker for the last {seconds:.0f} s "
            "(a nanny takes seconds, and on a busy machine a minute, to start one again)"
        )

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """A block that speaks with the scheduler: what Dask raises of lost workers and connections
        in words of its own is one kind of error."""
        status = self.client.status
        if status not in ("running", "connecting", "newly-created"):
            raise WorkerLostError(
                f"the connection to the Dask scheduler {_place(self.client)} is lost (the client "
                f"is {status}): start a new client, and give it to a new sum_over"
            )
        core: Any = loading.imported("distributed.core")
        lost = self.module.CancelledError, core.CommClosedError, OSError
        try:
            yield
        except self.module.scheduler.KilledWorker as error:
            raise WorkerLostError(
                f"workers of the Dask cluster ended again and again in the middle of an "
                f"evaluation (killed, or out of memory), and its work was given up: {error}"
            ) from error
        except lost as error:
            raise self._lost(error) from error
        except (RuntimeError, ValueError) as error:
            # A client that is closed meanwhile says so with these.
            if self.client.status == "running":
                raise
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> WorkerLostError:
        return WorkerLostError(
            f"the Dask cluster {_place(self.client)} was lost in the middle of an evaluation: "
            f"{type(error).__name__}: {error}"
        )

    def _cancel(self, futures: Sequence[Any]) -> None:
        if self.client.status == "running":
            with contextlib.suppress(Exception):
                self.client.cancel(futures)

    def end(self, session: str) -> None:
        self.ended.append(session)

    def close(self) -> None:
        """The cluster is the user's."""


class _TooLateError(Exception):
    """The limit of an evaluation is over: how many had not answered, and what else there is to
    say."""

    def __init__(self, left: int, text: str) -> None:
        super().__init__(text)
        self.left, self.text = left, text


class _Patience:
    """What is kept in mind of an evaluation: when there were workers last, since when all tasks are
    done, how long their answers may take to come, and how often tasks were sent anew."""

    def __init__(self, seen: float, patience: float) -> None:
        self.seen, self.patience = seen, patience
        self.done: float | None = None
        self.tries = 0

    def stuck(self, futures: Sequence[Any]) -> bool:
        """Whether answers that are there have not come for so long."""
        now = time.monotonic()
        if not all(f.done() for f in futures):
            self.done = None
        elif self.done is None:
            self.done = now
        if self.done is None or now - self.done < self.patience:
            return False
        self.patience *= 2.0
        return True


def _piece(end: float | None) -> float:
    """Seconds to wait for now."""
    return PIECE if end is None else max(0.0, min(PIECE, end - time.monotonic()))


def _place(client: Any) -> str:
    return f"at {getattr(client.scheduler, 'address', '?')}" if client.scheduler else "that was"


def _work(sent: bytes, shared: Any = None, data: Any = None) -> Answer | bytes:
    there, packed = pickle.loads(sent)
    task = task_of(packed, there)
    found = work(task._replace(shared=task.shared if shared is None else shared, data=data))
    if isinstance(found, Done) and _size(found) > SMALL:
        return found
    # As bytes, since Dask looks into answers, too; large arrays go without being copied.
    return answer_bytes(found)


def _size(answer: Done) -> int:
    arrays = [x for b in answer.blocks for x in b.leaves]
    arrays += [x for shard in answer.gathered for x in shard]
    return sum(getattr(x, "nbytes", 0) for x in arrays)


__all__ = ["DaskWorkers"]
