"""How the threads of a GPU are spent on loops over rows: on rows, on what stands in a row, or on
parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from .._codegen import integers
from ..types import Int
from .bounds import largest
from .tasks import Task

FEW_ROWS = 1024
"""Fewer rows than this leave most of a GPU idle, if a block of threads takes each."""

LONG_ROW = 4096
"""Work that the threads of many blocks should share."""
FEWEST_ROWS, MANY_BLOCKS = 32, 1024
"""What a block of threads combines at least, and about how many blocks combine it all."""


def _differ(t: Task, other: Task) -> bool:
    """Whether two tasks have inner loops over different ranges, one of them long."""
    mine, theirs = ([a.extent for a in (*x.axes[1:], *x.lanes)] for x in (t, other))
    length = largest([integers.product(mine), integers.product(theirs)])
    return mine != theirs and not (isinstance(length, int) and length < LONG_ROW)


def apart(groups: Sequence[list[Task]]) -> list[list[Task]]:
    """Groups as runs of tasks that a loop over rows may hold together on a GPU: where there are few
    rows, inner loops over different ranges are divided among all threads one after the other."""
    runs: list[list[Task]] = []
    for group in groups:
        extent = group[0].axes[0].extent if group else 0
        fit = isinstance(extent, int) and extent < FEW_ROWS
        for k, t in enumerate(group):
            if k and not (fit and _differ(runs[-1][-1], t)):
                runs[-1].append(t)
            else:
                runs.append([t])
    return runs


def few(rows: Int, inner: Int) -> bool:
    """Whether rows are so few and so long that a GPU's threads are better spent on what stands in a
    row than on parts of the rows."""
    return (
        isinstance(rows, int)
        and isinstance(inner, int)
        and rows <= 2 * FEWEST_ROWS
        and inner >= LONG_ROW
    )


__all__ = ["FEWEST_ROWS", "MANY_BLOCKS", "apart", "few"]
