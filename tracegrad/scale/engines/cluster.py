"""Workers of a Dask cluster, through a `distributed.Client`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from ..._codegen import loading
from ...tree import flatten
from ..collections import DaskBlock, HeldBlock
from ..errors import EvaluationTimeoutError, WorkerLostError
from ..functions import structure_of
from ..sources import Opener
from ..worker import Answer, ShardTask, forget, work
from .local import late

SCATTERED = 1 << 20
"""Bytes of parameters from which on they are scattered: the scheduler passes them on no longer."""


class DaskWorkers:
    """Each worker of the cluster has a range of the shards. A task is bound to its worker loosely:
    where that is lost, Dask runs it on another, which opens the shards anew."""

    name = "dask"
    local = False

    def __init__(self, client: Any) -> None:
        self.client = client
        self.module: Any = loading.imported("distributed")
        self.addresses: list[str] = []
        self.asked = 0.0
        self.count = 0

    def workers(self) -> int:
        """As many as the cluster has, in a fixed order; asked for once a second, since that is a
        round trip. A worker that is gone meanwhile is one whose tasks others do."""
        if self.addresses and time.monotonic() - self.asked < 1.0:
            return len(self.addresses)
        self.asked = time.monotonic()
        self.addresses = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not self.addresses:
            self.client.wait_for_workers(1, timeout=60)
            self.addresses = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        return len(self.addresses)

    def begin(self, session: str, openers: Sequence[Opener], room: int) -> Sequence[Opener]:
        return openers

    def hold(self, openers: Sequence[Opener]) -> tuple[Sequence[Opener], list[Any] | None]:
        """Blocks of Dask's collections as futures, which the cluster keeps (and computes again
        where they are lost); nothing of what else opens shards."""
        if not all(isinstance(o.what, DaskBlock) for o in openers):
            return openers, None
        count = self.workers()
        data, placed = [], []
        for k, o in enumerate(openers):
            leaves, spec = flatten(o.what.tree)
            address = self.addresses[k * count // len(openers)]
            data.append(self.client.compute(leaves, workers=[address], allow_other_workers=True))
            placed.append(o._replace(how="held", what=HeldBlock(structure_of(spec))))
        return placed, data

    def run(self, tasks: Sequence[ShardTask], limit: float | None) -> Sequence[Answer]:
        size = sum(getattr(x, "nbytes", 8) for x in tasks[0].shared)
        shared = None
        if size > SCATTERED:
            shared = self.client.scatter([tasks[0].shared], broadcast=True, hash=False)[0]
        futures = []
        try:
            for k, task in enumerate(tasks):
                self.count += 1
                futures.append(
                    self.client.submit(
                        _work,
                        task._replace(data=None, shared=task.shared if shared is None else ()),
                        shared,
                        task.data,
                        key=f"tracegrad-{task.session}-{self.count}-{k}",
                        workers=[self.addresses[k]] if k < len(self.addresses) else None,
                        allow_other_workers=True,
                        pure=False,
                    )
                )
            try:
                self.module.wait(futures, timeout=limit)
            except (TimeoutError, self.module.TimeoutError) as error:
                left = sum(not f.done() for f in futures)
                raise EvaluationTimeoutError(late("dask", limit, left, len(futures))) from error
            found: Sequence[Answer] = self.client.gather(futures)
        except self.module.scheduler.KilledWorker as error:
            raise WorkerLostError(
                f"workers of the Dask cluster ended again and again in the middle of an "
                f"evaluation, and its work was given up: {error}"
            ) from error
        except (OSError, self.module.CancelledError) as error:
            if isinstance(error, EvaluationTimeoutError):
                with contextlib.suppress(Exception):
                    self.client.cancel(futures)
                raise
            raise WorkerLostError(
                f"the Dask cluster was lost in the middle of an evaluation: {error}"
            ) from error
        except BaseException:
            with contextlib.suppress(Exception):
                self.client.cancel(futures)
            raise
        return found

    def end(self, session: str) -> None:
        with contextlib.suppress(Exception):
            self.client.run(forget, session, wait=False)

    def close(self) -> None:
        """The cluster is the user's."""


def _work(task: ShardTask, shared: Any, data: Any) -> Answer:
    return work(task._replace(shared=task.shared if shared is None else shared, data=data))


__all__ = ["DaskWorkers"]
