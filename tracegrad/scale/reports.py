"""What evaluations took: time per shard, bytes, idle workers."""

from __future__ import annotations

from typing import Any, NamedTuple


class Evaluation(NamedTuple):
    """One evaluation, as it was: `shards` are the ranges of the workers."""

    name: str
    engine: str
    form: Any
    start: float
    end: float
    shards: list[tuple[int, int]]
    workers: tuple[Any, ...]
    sent: int
    received: int
