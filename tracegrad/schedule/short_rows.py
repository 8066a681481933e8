"""Short rows that are stored between what costs more, written out."""

from __future__ import annotations

from collections.abc import Mapping

from .._codegen import integers, kernel
from .tasks import WORTH_A_LOOP, Task

MOST_STORED = 16
"""Rows of so many elements are written out between what costs more."""


def write_out_rows(bundle: list[Task], buffers: Mapping[str, kernel.Buffer]) -> None:
    """Where all that keeps a shared loop from being the innermost one, and vectorised, are short
    rows that are stored for later loops, they are written out."""
    rows = [t for t in bundle if len(t.axes) > 1]
    worth = sum(t.cost for t in bundle if len(t.axes) == 1)
    if rows and worth >= WORTH_A_LOOP and all(_is_short_row(t, buffers) for t in rows):
        for t in rows:
            t.axes, t.lanes = t.axes[:1], [*t.axes[1:], *t.lanes]


def _is_short_row(task: Task, buffers: Mapping[str, kernel.Buffer]) -> bool:
    many = integers.product([a.extent for a in (*task.axes[1:], *task.lanes)])
    return (
        task.kind == "map"
        and buffers[task.dest.buffer].role == "temp"
        and isinstance(many, int)
        and many <= MOST_STORED
    )


__all__ = ["write_out_rows"]
