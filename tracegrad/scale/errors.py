"""What goes wrong away from the driver."""

from __future__ import annotations

from ..errors import TracegradError


class ShardError(TracegradError, RuntimeError):
    """A shard could not be opened, or its function raised; the cause is the worker's exception
    where that could travel.

    shard       its number; -1 where no single one is at fault
    label       what was given for it: a path, a function's name
    host        the machine and the process
    """

    def __init__(self, text: str, shard: int = -1, label: str = "", host: str = "") -> None:
        super().__init__(text)
        self.shard, self.label, self.host = shard, label, host


class WorkerLostError(TracegradError, RuntimeError):
    """A worker ended in the middle of an evaluation (it was killed, or the machine had no memory
    left), or could not be reached, and nobody did its work."""


class EvaluationTimeoutError(TracegradError, TimeoutError):
    """An evaluation did not end within its limit."""


__all__ = ["EvaluationTimeoutError", "ShardError", "WorkerLostError"]
