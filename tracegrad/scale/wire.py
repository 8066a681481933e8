"""Tasks and answers as bytes: tuples of plain values, in which an array is its dtype, shape and
bytes. By itself an array takes eight times as long to pickle, and classes are looked up anew by
whoever reads."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import loading
from ..checks import describe
from .pairwise import PartialSum
from .transport import LARGE
from .worker import Answer, Done, ShardTask, Timing, Versions, check_versions

PROTOCOL = pickle.HIGHEST_PROTOCOL


def _written(arrays: Sequence[Any]) -> list[Any]:
    """Arrays as they travel. Of large ones there should be no further copy; and what stands for one
    that lies elsewhere is itself."""
    return [
        (x.dtype.str, x.shape, x.tobytes())
        if isinstance(x, (np.ndarray, np.generic)) and x.nbytes < LARGE
        else x
        for x in arrays
    ]


def _read(arrays: Sequence[Any]) -> list[Any]:
    """Nobody may write to them."""
    return [np.ndarray(x[1], x[0], x[2]) if type(x) is tuple else x for x in arrays]


def task_bytes(task: ShardTask) -> bytes:
    """A task for another process; `data` and `told` stay here."""
    own = [_written(x) for x in task.own] if any(task.own) else len(task.own)
    what = task.session, task.history, task.first, _written(task.shared), own
    return pickle.dumps((*what, task.setup, task.room, task.until, task.ended), PROTOCOL)


def task_of(sent: bytes, there: Versions | None = None) -> ShardTask:
    """A task as it was sent; where even that has another form here, since versions differ from
    those `there`, the error says so."""
    try:
        session, history, first, shared, own, setup, room, until, ended = pickle.loads(sent)
        parts = [()] * own if isinstance(own, int) else [tuple(_read(x)) for x in own]
        shared = _read(shared)
    except Exception:
        if there is not None:
            check_versions(there)
        raise
    return ShardTask(session, history, first, shared, parts, setup, None, room, until, ended)


def answer_bytes(answer: Answer) -> bytes:
    """An answer for the driver."""
    if not isinstance(answer, Done):
        return pickle.dumps(answer, PROTOCOL)
    blocks = [(b.level, b.number, _written(b.leaves)) for b in answer.blocks]
    own: Any = len(answer.gathered)
    if any(answer.gathered):
        own = [x if isinstance(x, tuple) else _written(x) for x in answer.gathered]
    return pickle.dumps((blocks, own, tuple(answer.timing)), PROTOCOL)


def answer_of(sent: bytes) -> Answer:
    """The answer of a worker."""
    found = pickle.loads(sent)
    if type(found) is not tuple:
        other: Answer = found
        return other
    blocks, own, timing = found
    gathered: Any = [[]] * own if isinstance(own, int) else None
    if gathered is None:
        gathered = [x if isinstance(x, tuple) else _read(x) for x in own]
    sums = [PartialSum(level, number, _read(leaves)) for level, number, leaves in blocks]
    return Done(sums, gathered, Timing(*timing))


def packed(x: Any, who: str) -> bytes:
    """A function, or what opens shards, as it travels."""
    try:
        pickler = loading.imported("cloudpickle")
    except ModuleNotFoundError:
        pickler = pickle
    try:
        found: bytes = pickler.dumps(x)
        return found
    except Exception as error:
        advice = (
            ""
            if pickler is not pickle
            else " Functions that have no name in a module need cloudpickle: pip install "
            "cloudpickle."
        )
        raise TypeError(
            f"{who}: {describe(x)} cannot be sent to workers: {type(error).__name__}: {error}."
            f"{advice}"
        ) from error


__all__ = ["answer_bytes", "answer_of", "packed", "task_bytes", "task_of"]
