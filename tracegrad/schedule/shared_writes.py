"""Writes at index arrays as phases that threads share: first what is written over, then the updates
where no place is named twice, so that they need no order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from .._codegen import integers, lowering
from ..types import Int
from .indices import is_one
from .lower import Storage
from .tasks import Task, bundles

if TYPE_CHECKING:
    from .build import Builder


def shared_writes(
    builder: Builder, task: Task, tasks: list[Task], outputs: Sequence[Storage]
) -> bool:
    """Whether a task was written so; else it is no scatter, a small one, or of sizes that are not
    known."""
    node = task.node
    if builder.device or node is None or not isinstance(node.op.lowering, lowering.Scatter):
        return False
    target, updates = node.inputs[:2]
    places, many = integers.product(target.type.shape), integers.product(updates.type.shape)
    if not isinstance(places, int) or not isinstance(many, int):
        return False
    apart = node.op.lowering.combine is None and node.params.get("unique") is True
    if max(places, many if apart else 0) <= builder.block:
        return False
    for bundle in bundles(builder.whole.filling(task.dest, target), 0):
        builder.top(bundle, tasks, outputs)
    if apart and many > builder.block:
        _in_blocks(builder, task, [int(n) for n in updates.type.shape])
    elif many:
        builder.whole.writes(node, task)
    return True


def _in_blocks(builder: Builder, task: Task, shape: list[int]) -> None:
    """The updates in blocks of the longest axis, whatever its place."""
    e = builder.emitter
    builder.flush()
    longest = max(range(len(shape)), key=lambda k: shape[k])
    extent = shape[longest]
    rows = max(1, builder.block * extent // math.prod(shape))
    index: list[Int] = []
    with e.scope() as body, ExitStack() as opened:
        block = opened.enter_context(e.loop(0, -(-extent // rows), barrier=True, hint="block"))
        for k, n in enumerate(shape):
            lo, hi = (0, n) if k != longest else (block * rows, block * rows + rows)
            if is_one(n):
                index.append(0)
            else:
                index.append(opened.enter_context(e.loop(lo, integers.minimum(n, hi), (0, n))))
        assert task.node is not None
        builder.whole.write(task.node, task, tuple(index))
    builder.flush_parallel(body.statements)


__all__ = ["shared_writes"]
