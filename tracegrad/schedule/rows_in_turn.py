"""Two loops over rows as one, where the second reads rows of the first at fixed distances.

The derivative of differences between neighbours is such a pair: slopes at all places, and sums of
slopes around each place. One behind the other the two go through memory twice, with all slopes in
between; row by row, the slopes of the last few rows are all that lives, and what both read is in
the nearest cache the second time.

Each block of rows begins as many rows early as its own first rows look back, and computes these
once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._codegen import integers
from ..ir.graph import Atom, Var
from ..sizes.signs import positive
from ..types import Int
from .analysis import NARROW
from .bounds import largest
from .indices import Index, is_one
from .lower import Storage
from .tasks import MOST_PARTS, Task, loops, parts, stages

if TYPE_CHECKING:
    from .build import Builder

FEWEST = 32
"""Rows of a block for each row that is computed once more in it."""
FAR = 4
"""The farthest that a row may be away."""


@dataclass
class Pair:
    """Two bundles of tasks whose rows take turns: row r of the second comes when row r + ahead of
    the first is there."""

    first: list[Task]
    second: list[Task]
    behind: int
    """How many rows back the second reads."""
    ahead: int
    early: list[Task]
    """Those of the first of which a block needs rows that are another block's."""
    rings: Mapping[Atom, int]
    """Of how many rows each value lives that nobody else reads."""
    rows: Int = 0
    """How many rows a block has."""
    blocks: Int = 0


def in_pairs(
    builder: Builder, found: Sequence[list[Task]], tasks: list[Task], outputs: Sequence[Storage]
) -> list[list[Task] | Pair]:
    """The bundles in their order, two of them as a pair where that fits."""
    result: list[list[Task] | Pair] = []
    left = list(found)
    while left:
        bundle = left.pop(0)
        k, pair = _partner(builder, bundle, left, tasks, outputs)
        if pair is not None:
            del left[k]
        result.append(bundle if pair is None else pair)
    return result


def _partner(
    builder: Builder,
    bundle: list[Task],
    later: Sequence[list[Task]],
    tasks: list[Task],
    outputs: Sequence[Storage],
) -> tuple[int, Pair | None]:
    """The first of the later bundles that makes a pair with one and needs none in between."""
    if builder.device or builder.own.all or not loops(bundle[0], 0):
        return 0, None
    made = {t.var for t in bundle if not t.copy}
    between: set[Atom] = set()
    for k, other in enumerate(later):
        read = {v for t in other for v, _ in t.reads}
        if loops(other[0], 0) and read & made and not read & between:
            pair = _pair(builder, bundle, other, tasks, outputs)
            if pair is not None:
                return k, pair
        between |= {t.var for t in other}
    return 0, None


def _pair(
    builder: Builder,
    first: list[Task],
    second: list[Task],
    tasks: list[Task],
    outputs: Sequence[Storage],
) -> Pair | None:
    """The pair of two bundles; None where some row waits for all rows, or it would not pay."""
    both = [*first, *second]
    if not all(map(_has_rows, both)) or any(len(stages(b, 0, ())) > 1 for b in (first, second)):
        return None
    makers: dict[Atom, Task] = {}
    for t in both:
        if not t.copy and makers.setdefault(t.var, t) is not t:
            return None
    across: dict[Atom, list[int]] = {}
    """Which rows of what the first makes the second reads, counted from its own."""
    inside: set[Atom] = set()
    """What is read in the row in which it was made."""
    for t in both:
        for v, index in t.reads:
            if v not in makers:
                continue
            distance = _distance(t, index, makers[v])
            if distance is None or abs(distance) > FAR:
                return None
            if t in second and makers[v] in first:
                across.setdefault(v, []).append(distance)
            elif distance:
                return None
            else:
                inside.add(v)
    ahead = max([0, *[d for found in across.values() for d in found]])
    behind = max([0, *[-d for found in across.values() for d in found]])
    early = _with_all_they_read(
        [makers[v] for v, found in across.items() if min(found) < ahead], makers
    )
    rings = {
        v: max(1, ahead - min(across.get(v, [ahead])) + 1)
        for v in dict.fromkeys([*across, *inside])
        if _passes(builder, makers[v], both, tasks, outputs)
    }
    if not early or not all(t.var in rings and _is_wide(t) for t in early):
        return None
    for t in [t for t in first if t not in early and _is_rather_of(t, first, second, makers)]:
        first, second = [other for other in first if other is not t], [*second, t]
    pair = Pair(first, second, behind, ahead, [t for t in first if t in early], rings)
    return pair if _in_blocks(builder, pair) else None


def _in_blocks(builder: Builder, pair: Pair) -> bool:
    """Whether the rows of a pair are many, in ranges that are few; finds out how many a block
    has."""
    both = [*pair.first, *pair.second]
    for t in pair.second:
        t.delay = pair.ahead
    ranges = parts(both, 0)
    width = largest([integers.product([a.extent for a in (*t.axes[1:], *t.lanes)]) for t in both])
    if ranges is not None and len(ranges) <= MOST_PARTS and positive(width):
        extent = ranges[-1][1] - pair.ahead
        pair.rows = integers.maximum(
            FEWEST * (pair.ahead + pair.behind), integers.floordiv(builder.block, width)
        )
        pair.blocks = integers.floordiv(extent + pair.rows - 1, pair.rows)
        if not (isinstance(pair.blocks, int) and pair.blocks < 2):
            return True
    for t in pair.second:
        t.delay = 0
    return False


def _with_all_they_read(tasks: Sequence[Task], makers: Mapping[Atom, Task]) -> set[Task]:
    """Some tasks and those that make what they read."""
    found: set[Task] = set()
    pending = list(tasks)
    while pending:
        t = pending.pop()
        if t not in found:
            found.add(t)
            pending.extend([makers[v] for v, _ in t.reads if v in makers])
    return found


def _is_rather_of(
    task: Task, first: Sequence[Task], second: Sequence[Task], makers: Mapping[Atom, Task]
) -> bool:
    """Whether a total that is free to stand in either bundle has more of what it is made of in
    common with the second."""
    if not task.axes[0].reduced or any(v in makers for v, _ in task.reads):
        return False

    def shared(others: Sequence[Task]) -> int:
        there = set().union(*[t.made.keys() for t in others if t is not task])
        return sum(cost for node, cost in task.made.items() if node in there)

    return shared(second) > shared(first)


def _passes(
    builder: Builder,
    task: Task,
    both: Sequence[Task],
    tasks: Sequence[Task],
    outputs: Sequence[Storage],
) -> bool:
    """Whether the rows of a value need no more than live for a while: it is a temporary that only
    these tasks read."""
    e, dest = builder.emitter, task.dest
    return (
        e.buffers[dest.buffer].role == "temp"
        and dest not in outputs
        and e.is_all_of(dest)
        and sum(where.buffer == dest.buffer for where in e.storage.values()) == 1
        and not all(map(is_one, dest.shape[1:]))
        and not any(v is task.var for t in tasks if t not in both for v, _ in t.reads)
    )


def _is_wide(task: Task) -> bool:
    """Whether a row takes a loop."""
    width = integers.product([a.extent for a in task.axes[1:]])
    return not isinstance(width, int) or width >= NARROW


def _has_rows(task: Task) -> bool:
    """Whether each pass of the outermost loop can be made by itself."""
    return loops(task, 0) and not (task.kind in ("arg", "scan") and task.axes[0].reduced)


def _distance(reader: Task, index: Index | None, maker: Task) -> int | None:
    """How many rows ahead of a task's own the one is that it reads; None where that is not known,
    or where it reads no row."""
    if not index or not maker.out or maker.out[0] != integers.symbol(maker.axes[0].symbol):
        return None
    if maker.axes[0].reduced:
        return None
    distance = index[0] - integers.symbol(reader.axes[0].symbol)
    return distance if isinstance(distance, int) else None


def written(builder: Builder, pair: Pair) -> None:
    """A pair as a phase over blocks of rows."""
    e, nests, ahead = builder.emitter, builder.nests, pair.ahead
    both = [*pair.first, *pair.second]
    builder.flush()
    builder.in_partial(both, pair.blocks)
    with e.scope() as body, e.loop(0, pair.blocks, barrier=True, hint="block") as b:
        for t in both:
            t.block = b
            if t.var in pair.rings and not t.copy:
                _keep_few(builder, t, b, pair)
        lo = b * pair.rows
        start = integers.maximum(lo, ahead + pair.behind) - pair.behind
        with nests.totals(both, 0):
            if ahead:
                # Those of the first block, which no other block has.
                nests.passes([pair.first], 0, (lo, ahead), sequential=True)
            nests.passes([pair.early], 0, (start, lo + ahead), sequential=True)
            turns = [pair.first, pair.second]
            nests.passes(turns, 0, (lo + ahead, lo + pair.rows + ahead), sequential=True)
    builder.flush_parallel(body.statements)
    for t in both:
        if t.axes[0].reduced:
            nests.combine(t, pair.blocks)


def _keep_few(builder: Builder, task: Task, block: Int, pair: Pair) -> None:
    """Room for a few rows of a value, of each block's own."""
    e, (_, *row), rows = builder.emitter, task.dest.shape, pair.rings[task.var]
    buffer = e.buffers[task.dest.buffer]
    shape = (pair.blocks, *row) if rows == 1 else (pair.blocks, rows, *row)
    e.buffers[buffer.name] = replace(buffer, shape=shape)
    if rows == 1:
        task.dest = Storage(buffer.name, task.dest.shape, (block,), 1)
    else:
        task.dest = Storage(buffer.name, task.dest.shape, (block,), ring=rows)
    assert isinstance(task.var, Var)
    e.storage[task.var] = task.dest


__all__ = ["Pair", "in_pairs", "written"]
