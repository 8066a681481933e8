"""Tasks: the stored values of a graph as loops to run, and which tasks may share a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

from .._codegen import integers, kernel, lowering
from ..ir.graph import Atom, Node, Var
from ..sizes import same
from ..types import Int, Shape
from .axes import (
    LANES,
    NO_PERIODS,
    REDUCED_LANES,
    Axis,
    is_short,
    short_in_front,
    split_lanes,
    split_periods,
)
from .bounds import at_most, ordered
from .flat import RECORD, FlatPart, place
from .indices import Index, is_one
from .lower import Emitter, Scope, Storage

MOST_UNROLLED = 128
MOST_PARTS = 12
SHORT_ROW = 15
"""Up to here a loop along a row gains nothing over one across rows."""
WORTH_A_LOOP = 16
"""What is computed once per row goes into a loop of its own if it costs this much."""


@dataclass(eq=False)
class Task:
    """`kind` is "map", "reduce", "arg", "scan" (loops over elements), or "whole" (a statement over
    whole buffers)."""

    kind: str
    var: Atom
    """The value computed; for a copy, the value copied."""
    node: Node | None
    dest: Storage
    axes: list[Axis] = field(default_factory=list)
    lanes: list[Axis] = field(default_factory=list)
    index: Index = ()
    """Where the source (for a map: the value itself) is read, in own symbols."""
    out: Index = ()
    """Where the result is written, in own symbols."""
    copy: bool = False
    part: Atom | None = None
    """What is written, where the value is written part by part."""
    made: Mapping[Node, int] = field(default_factory=dict)
    """What one element of it is made of on the spot, and what each takes, in additions."""
    delay: int = 0
    """How many passes of the outermost loop go by before its own first one."""
    reads: list[tuple[Var, Index | None]] = field(default_factory=list)
    cuts: dict[str, set[Int]] = field(default_factory=dict)
    periods: dict[str, int] = field(default_factory=dict)
    bound: dict[str, Int] = field(default_factory=dict)
    accumulators: dict[tuple[int, ...], list[kernel.Name]] = field(default_factory=dict)
    partial: str = ""
    """The buffer of per-block results while a blocked reduction runs."""
    block: Int = 0

    @property
    def cost(self) -> int:
        """What one element of it takes, in additions."""
        return sum(self.made.values())

    @property
    def first_reduced(self) -> int:
        return next((k for k, a in enumerate(self.axes) if a.reduced), len(self.axes))

    @property
    def in_buffer(self) -> bool:
        """Whether a reduction accumulates into its destination, because kept axes run inside
        reduced ones."""
        return self.kind == "reduce" and any(not a.reduced for a in self.axes[self.first_reduced :])

    def at(self, index: Index, lane: Sequence[int] = ()) -> Index:
        """An index in own symbols as one in terms of the open loops."""
        bindings = {**self.bound, **{a.symbol: n for a, n in zip(self.lanes, lane, strict=False)}}
        return tuple(i if isinstance(i, int) else integers.substitute(i, bindings) for i in index)

    def span(self, level: int) -> tuple[Int, Int]:
        """The first of a loop's passes that are its own, and behind the last."""
        delay = 0 if level else self.delay
        return delay, self.axes[level].extent + delay

    def lane_positions(self) -> list[tuple[int, ...]]:
        return list(product(*[range(int(a.extent)) for a in self.lanes]))


def own(k: int) -> Int:
    return integers.symbol(f"_{k}")


def map_task(
    var: Atom,
    node: Node | None,
    dest: Storage,
    copy: bool = False,
    again: bool = False,
    periods: Mapping[str, int] = NO_PERIODS,
) -> Task:
    shape = var.type.shape
    index: Index = tuple(0 if is_one(s) else own(k) for k, s in enumerate(shape))
    axes = [Axis(f"_{k}", s) for k, s in enumerate(shape) if not is_one(s)]
    axes, residues, index = split_periods(axes, index, periods)
    axes, lanes = split_lanes(axes, LANES, again)
    return Task("map", var, node, dest, axes, [*residues, *lanes], index, index, copy)


def part_task(emitter: Emitter, var: Var, node: Node, dest: Storage, part: FlatPart) -> Task:
    """One part of a vector; short joints along its last axis are written out."""
    task = map_task(part.source, node, dest)
    last = task.axes[-1] if len(task.axes) > 1 else None
    if last is not None and isinstance(last.extent, int) and last.extent <= RECORD:
        task.axes, task.lanes = task.axes[:-1], [last, *task.lanes]
    task.var, task.part, task.out = var, part.source, (place(part, task.index),)
    probe_task(emitter, task)
    return task


def _source_axes(shape: Shape, reduced: set[int]) -> tuple[list[Axis], Index]:
    axes = [Axis(f"_{k}", s, k in reduced) for k, s in enumerate(shape) if not is_one(s)]
    return axes, tuple(0 if is_one(s) else own(k) for k, s in enumerate(shape))


def reduce_task(emitter: Emitter, var: Var, node: Node, dest: Storage, again: bool = False) -> Task:
    """A reduction; its loops run in the order in which most of what it reads lies in memory."""
    shape = node.inputs[0].type.shape
    rule = node.op.lowering
    reduced = (
        {node.params["axis"]}
        if isinstance(rule, (lowering.ArgReduce, lowering.Scan))
        else set(node.params["axes"])
    )
    axes, index = _source_axes(shape, reduced)
    keepdims = bool(node.params.get("keepdims"))

    def written(index: Index) -> Index:
        kept = [k for k in range(len(index)) if k not in reduced or keepdims]
        return tuple([0 if k in reduced else index[k] for k in kept])

    out = written(index)
    if isinstance(rule, lowering.Scan):
        task = Task(
            "scan",
            var,
            node,
            dest,
            [a for a in axes if not a.reduced] + [a for a in axes if a.reduced],
            [],
            index,
            index,
        )
        if node.params.get("reverse"):
            task.bound["reverse"] = 0
        probe_task(emitter, task)
        return task
    if isinstance(rule, lowering.ArgReduce):
        task = Task(
            "arg",
            var,
            node,
            dest,
            [a for a in axes if not a.reduced] + [a for a in axes if a.reduced],
            [],
            index,
            out,
        )
        probe_task(emitter, task)
        return task

    def unrolled(residues: list[Axis]) -> tuple[Task, int]:
        """The short axes unrolled, and how many statements come of it."""
        for most in (REDUCED_LANES, LANES):
            outer, lanes = split_lanes(axes, most, again)
            task = Task(
                "reduce", var, node, dest, outer, [*residues, *lanes], index, written(index)
            )
            statements = probe_task(emitter, task) * max(1, len(task.lane_positions()))
            kept = any(not a.reduced for a in (*outer, *lanes))
            if len(task.lane_positions()) <= LANES or (kept and statements <= MOST_UNROLLED):
                break
        return task, statements

    task, statements = unrolled([])
    axes, residues, index = split_periods(axes, index, task.periods)
    if residues:
        task, statements = unrolled(residues)
    axes, lanes = task.axes, task.lanes
    kept, gone = [a for a in axes if not a.reduced], [a for a in axes if a.reduced]
    inner = _strided(task, {a.symbol for a in kept}, {a.symbol for a in gone})
    task.axes = (
        [a for a in kept if a.symbol not in inner] + gone + [a for a in kept if a.symbol in inner]
    )
    short = short_in_front([a for a in task.axes if a.symbol in inner])
    if not lanes and short is not None:
        task.axes, task.lanes = [a for a in task.axes if a is not short], [short]
        return task
    if not lanes:
        # An axis that comes last only now: if it is short, its totals are kept in registers, or all
        # of a total is written out.
        outer, lanes = split_lanes(task.axes, LANES if inner else REDUCED_LANES, again)
        if statements * integers.product([a.extent for a in lanes]) <= MOST_UNROLLED:
            task.axes, task.lanes = outer, lanes
    return task


def _strided(task: Task, kept: set[str], gone: set[str]) -> set[str]:
    """The kept axes that run along memory in what the task reads, where no reduced axis does so in
    something that moves with them, or in anything if one of both is short."""
    inner: set[str] = set()
    across: set[str] = set()
    lanes = {a.symbol for a in task.lanes}
    short = {a.symbol for a in task.axes if is_short(a, SHORT_ROW)}
    reduced_short = False
    for _, index in task.reads:
        names = [set() if isinstance(i, int) else integers.symbols(i) - lanes for i in index or ()]
        everything = set().union(*names)
        if not (everything & kept and everything & gone):
            continue
        last = next(n for n in reversed(names) if n)
        if last & gone:
            across |= everything & kept
            reduced_short |= bool(last & short)
        else:
            inner |= last & kept
    if across and (reduced_short or inner <= short):
        return set()
    # What follows such an axis and is read with no reduced axis runs inside as well, or all that is
    # reduced would run again for each.
    first = next((k for k, a in enumerate(task.axes) if a.symbol in inner), len(task.axes))
    inner |= {a.symbol for a in task.axes[first:] if a.symbol in kept}
    return set() if inner & across else inner


def probe_task(emitter: Emitter, task: Task) -> int:
    """Find by a dry run what the task reads and where its loops should be cut; how many statements
    an element takes."""
    saved = emitter.scopes, emitter.probe, dict(emitter.ranges), dict(emitter.depths)
    emitter.scopes = [Scope(barrier=True)]
    try:
        for a in [*task.axes, *task.lanes]:
            emitter.ranges[a.symbol] = (0, a.extent)
            emitter.depths[a.symbol] = 0
        probe = emitter.probe = emitter.dry_runs.probe(emitter.ranges)
        if task.part is not None:
            for lane in task.lane_positions()[:RECORD]:
                emitter.element(task.part, task.at(task.index, lane))
        elif task.kind == "map" and not task.copy:
            assert isinstance(task.var, Var)
            emitter.computed(task.var, task.index)
        else:
            emitter.element(
                task.var if task.node is None or task.kind == "map" else task.node.inputs[0],
                task.index,
            )
        task.reads = list(probe.reads)
        task.cuts, task.periods = probe.cuts, probe.periods
        return len(emitter.scopes[0].statements) + probe.statements
    finally:
        emitter.scopes, emitter.probe, emitter.ranges, emitter.depths = saved


# --- sharing loops --------------------------------------------------------------------------------


def bundles(tasks: Sequence[Task], level: int) -> list[list[Task]]:
    """The tasks in an order that respects what they read, those that share their loop at `level`
    together."""
    result: list[Bundle] = []
    writers: dict[Atom, list[tuple[Task, int]]] = {}
    for task in tasks:
        earliest = 0
        for other, k in [
            w for v in dict.fromkeys(v for v, _ in task.reads) for w in writers.get(v, ())
        ]:
            need = _needs(task, other, level)
            if need is None:
                continue
            at = k if need and loops(task, level) and loops(other, level) else k + 1
            earliest = max(earliest, at)
        chosen = -1
        if loops(task, level):
            for k in range(earliest, len(result)):
                if fits(task, result[k], level):
                    chosen = k
                    break
        if chosen < 0:
            result.append(Bundle(level))
            chosen = len(result) - 1
        result[chosen].add(task)
        writers.setdefault(task.var, []).append((task, chosen))
    return [b.tasks for b in result]


class Bundle:
    """Tasks that share a loop, and what one more of them is compared with: that is the same for
    most tasks of a long chain."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.tasks: list[Task] = []
        self.kinds: dict[Any, Task] = {}
        """One task for each range, with its cuts."""
        self.met: set[Atom] = set()
        """What is read at some index, or written."""
        self.reads_nothing = False

    def add(self, task: Task) -> None:
        self.tasks.append(task)
        if loops(task, self.level):
            axis = task.axes[self.level]
            cuts = tuple(task.cuts.get(axis.symbol, ()))
            key = axis.symbol, axis.extent, axis.reduced, task.kind, cuts, tuple(task.bound)
            self.kinds.setdefault(key, task)
        self.met.add(task.var)
        self.met.update(v for v, i in task.reads if i)
        self.reads_nothing |= not task.reads


def stages(bundle: list[Task], level: int, passing: Sequence[Task]) -> list[list[Task]]:
    """The tasks of a bundle in groups that take turns block by block; `passing` are those of which
    one row lives at a time.

    What is computed once per pass of the loop vectorises in a loop of its own, but not between the
    inner loops of other tasks: the logarithms of a likelihood, say, between the two products with
    its data. A block's results stay in the cache from group to group. Totals of several columns,
    which are kept in registers, vectorise like one.
    """

    def flat(t: Task) -> bool:
        return len(t.axes) == level + 1 and (not t.lanes or t.first_reduced == level)

    if all(map(flat, bundle)) or sum(t.cost for t in bundle if flat(t)) < WORTH_A_LOOP:
        return [bundle]
    groups: list[list[Task]] = []
    for t in bundle:
        if not groups or flat(groups[-1][0]) != flat(t):
            groups.append([])
        groups[-1].append(t)
    group_of = {t.var: k for k, group in enumerate(groups) for t in group}
    rows = {t.var for t in passing}
    crossing = any(v in rows and group_of[v] != group_of[t.var] for t in bundle for v, _ in t.reads)
    return [bundle] if crossing else groups


def loops(task: Task, level: int) -> bool:
    return task.kind != "whole" and level < len(task.axes)


def _needs(task: Task, other: Task, level: int) -> bool | None:
    """None if `task` does not read `other`; True if it does so only at its own index of this loop;
    else False."""
    found: bool | None = None
    for var, index in task.reads:
        if var is not other.var or other.copy:
            continue
        if (
            index is None
            or not loops(other, level)
            or not loops(task, level)
            or other.axes[level].reduced
        ):
            return False
        written, mine = other.axes[level].symbol, integers.symbol(task.axes[level].symbol)
        lanes = {a.symbol for a in other.lanes}
        position = next(
            (
                k
                for k, i in enumerate(other.out)
                if not isinstance(i, int) and integers.symbols(i) - lanes == {written}
            ),
            None,
        )
        if (
            position is None
            or not same(index[position], integers.substitute(other.out[position], {written: mine}))
            or other.kind == "scan"
        ):
            return False
        found = True
    return found


def fits(task: Task, bundle: Bundle, level: int) -> bool:
    """Whether a task may share the loop of a bundle: comparable ranges, few parts, and something in
    common to gain."""
    if not bundle.kinds:
        return False
    mine = task.axes[level]
    others = list(bundle.kinds.values())
    sequential = [t for t in (task, *others) if t.kind == "scan" and t.axes[level].reduced]
    if sequential:
        return False
    for other in others:
        extent = other.axes[level].extent
        if same(extent, mine.extent):
            continue
        difference = extent - mine.extent
        near = (
            isinstance(difference, int)
            and abs(difference) <= 8
            and not (isinstance(extent, int) and extent < 64)
        )
        if (
            not near
            and extent not in task.cuts.get(mine.symbol, ())
            and mine.extent not in other.cuts.get(other.axes[level].symbol, ())
        ):
            return False
    whole = parts([task, *others], level)
    if whole is None or len(whole) > MOST_PARTS:
        return False
    if level > 0:
        return True
    reads = {v for v, i in task.reads if i}
    return not reads or bundle.reads_nothing or not reads.isdisjoint(bundle.met)


def parts(tasks: Sequence[Task], level: int) -> list[tuple[Int, Int]] | None:
    """The ranges into which the shared loop is cut, in order; None where the order of the cuts is
    not known."""
    spans = {t.span(level) for t in tasks}
    top = {end for _, end in spans}
    points = ordered({0, *[end for span in spans for end in span]})
    if points is None:
        # A size is never negative, even where its form does not show it: one extent needs no
        # comparison.
        return [(0, next(iter(top)))] if len(top) == 1 else None
    for t in tasks:
        for own_cut in sorted(t.cuts.get(t.axes[level].symbol, ()), key=repr):
            cut = own_cut + t.span(level)[0]
            if integers.symbols(cut) & set(t.bound) or any(
                n.startswith("_") for n in integers.symbols(cut)
            ):
                continue
            attempt = ordered({*points, cut})
            if attempt is not None and len(attempt) <= MOST_PARTS + 1:
                points = attempt
    points = [p for p in points if at_most(0, p) and any(at_most(p, h) for h in top)]
    found = list(pairwise(points))
    # Of each task it must be certain whether it has a part in a range.
    certain = all(
        (at_most(first, lo) and at_most(hi, end)) or at_most(end, lo) or at_most(hi, first)
        for lo, hi in found
        for first, end in spans
    )
    return found if certain else None
