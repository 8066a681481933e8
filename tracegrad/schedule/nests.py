"""Writes bundles of tasks as loop nests: shared loops cut into parts, accumulators opened before
them and closed after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from .._codegen import integers, kernel, lowering
from ..ir.graph import Var
from ..types import Int
from .bounds import at_most, nonnegative
from .corners import fills_up
from .indices import Index
from .lower import Emitter, Storage
from .tasks import Task, bundles, loops, parts
from .values import BOOL, INT64, converted, identity


class Nests:
    """The loops of one program."""

    def __init__(self, emitter: Emitter, device: bool) -> None:
        self.emitter, self.device = emitter, device

    # --- stores -----------------------------------------------------------------------------------

    def place(self, dest: Storage, index: Index) -> Index:
        at = dest.at(index)
        return (*at, 0) if len(at) < len(self.emitter.buffers[dest.buffer].shape) else at

    def store(
        self, dest: Storage, index: Index, value: kernel.Expression, combine: Any = None
    ) -> None:
        dtype = self.emitter.buffers[dest.buffer].dtype
        self.emitter.emit(
            kernel.Store(dest.buffer, self.place(dest, index), converted(value, dtype), combine)
        )

    # --- the loops of a bundle --------------------------------------------------------------------

    def run(self, tasks: Sequence[Task], level: int) -> None:
        """All tasks from `level` on, in the innermost open scope."""
        for bundle in bundles(tasks, level):
            if loops(bundle[0], level):
                self.loop(bundle, level)
            else:
                for task in bundle:
                    self.leaf(task)

    def loop(
        self,
        bundle: list[Task],
        level: int,
        block: tuple[Int, Int] | None = None,
        barrier: bool = False,
    ) -> None:
        with self.totals(bundle, level):
            self.passes([bundle], level, block, barrier)

    @contextmanager
    def totals(self, bundle: list[Task], level: int) -> Iterator[None]:
        """What is reduced from `level` on, opened before the loops inside and closed behind."""
        starting = [t for t in bundle if t.kind != "map" and t.first_reduced == level]
        for t in starting:
            self.open(t)
        yield
        for t in starting:
            self.close(t)

    def passes(
        self,
        turns: Sequence[list[Task]],
        level: int,
        block: tuple[Int, Int] | None = None,
        barrier: bool = False,
        sequential: bool = False,
    ) -> None:
        """The loops of tasks, those of which take turns in each pass."""
        e = self.emitter
        ranges = parts([t for turn in turns for t in turn], level)
        assert ranges is not None, "tasks whose extents cannot be compared do not share a loop"
        for lo, hi in ranges:
            if block is not None and at_most(block[1], lo):
                continue
            active = [[t for t in turn if _within(t, level, lo, hi)] for turn in turns]
            first, last = (lo, hi) if block is None else (_max(lo, block[0]), _min(hi, block[1]))
            ordered = sequential or any(t.axes[level].reduced for turn in active for t in turn)
            with e.loop(first, last, (lo, hi), barrier, ordered) as i:
                for t in (t for turn in active for t in turn):
                    t.bound[t.axes[level].symbol] = self.position(t, level, i)
                for turn in active:
                    self.run(turn, level + 1)
        for t in (t for turn in turns for t in turn):
            t.bound.pop(t.axes[level].symbol, None)

    def position(self, task: Task, level: int, i: Int) -> Int:
        axis = task.axes[level]
        i = i - task.span(level)[0]
        backwards = (
            task.kind == "scan"
            and axis.reduced
            and task.node is not None
            and task.node.params.get("reverse")
        )
        return axis.extent - 1 - i if backwards else i

    # --- one task ---------------------------------------------------------------------------------

    def leaf(self, task: Task) -> None:
        """The innermost statements of a task."""
        e = self.emitter
        if task.kind == "map":
            for lane in task.lane_positions():
                index = task.at(task.index, lane)
                if self.lies_there(task, index):
                    continue
                if task.part is not None:
                    value = e.element(task.part, index)
                else:
                    value = (
                        e.element(task.var, index) if task.copy else e.computed(_var(task), index)
                    )
                self.store(task.dest, task.at(task.out, lane), value)
                if task.part is None and not task.copy and not isinstance(value, kernel.Literal):
                    e.remember(task.var, index, value)
            return
        if not any(a.reduced for a in task.axes):
            # Every reduced axis is short and unrolled, or has size 1.
            self.open(task)
            self.step(task)
            self.close(task)
            return
        self.step(task)

    def lies_there(self, task: Task, index: Index) -> bool:
        """Whether an element of what is filled up with zeros is one of those before."""
        e, node = self.emitter, task.node
        if node is None or not fills_up(node):
            return False
        source = node.inputs[0]
        where = e.storage.get(source) if isinstance(source, Var) else None
        return (
            where is not None
            and (where.buffer, where.prefix) == (task.dest.buffer, task.dest.prefix)
            and all(
                nonnegative(n - 1 - i, e.ranges)
                for i, n in zip(index, source.type.shape, strict=True)
            )
        )

    def step(self, task: Task) -> None:
        e = self.emitter
        assert task.node is not None
        source, dtype = task.node.inputs[0], _var(task).type.dtype
        rule: Any = task.node.op.lowering
        for lane in task.lane_positions():
            value = e.element(source, task.at(task.index, lane))
            if task.kind == "arg":
                self.step_arg(task, lane, value)
                continue
            value = converted(value, dtype)
            if task.in_buffer:
                self.accumulate(task, lane, value, rule.combine)
                continue
            accumulator = task.accumulators[self.kept(task, lane)][0]
            e.emit(kernel.Update(accumulator.name, value, rule.combine, exact=task.kind == "scan"))
            if task.kind == "scan":
                self.store(task.dest, task.at(task.out), accumulator)

    def step_arg(self, task: Task, lane: tuple[int, ...], value: kernel.Expression) -> None:
        e = self.emitter
        assert task.node is not None
        rule: Any = task.node.op.lowering
        best, where = task.accumulators[self.kept(task, lane)]
        (position,) = task.at((task.index[task.node.params["axis"]],), lane)
        order = ">" if rule.combine in ("max", "argmax") else "<"
        first = kernel.Index(position)
        code = f"({{p}} == 0) | ({{v}} {order} {{b}}) | (({{v}} != {{v}}) & ({{b}} == {{b}}))"
        condition = kernel.Apply(code, (("p", first), ("v", value), ("b", best)), BOOL)
        e.emit(
            kernel.If(
                condition,
                (kernel.Update(best.name, value, None), kernel.Update(where.name, first, None)),
            )
        )

    def kept(self, task: Task, lane: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n for a, n in zip(task.lanes, lane, strict=True) if not a.reduced)

    def accumulate(
        self, task: Task, lane: tuple[int, ...], value: kernel.Expression, combine: Any
    ) -> None:
        """Into the destination, or into this block's part of it."""
        index = task.at(task.out, lane)
        if task.partial:
            self.store(Storage(task.partial, ()), (task.block, *index), value, combine)
        else:
            self.store(task.dest, index, value, combine)

    def kept_lanes(self, task: Task) -> list[tuple[int, ...]]:
        """One lane position per result lane."""
        seen: dict[tuple[int, ...], tuple[int, ...]] = {}
        for lane in task.lane_positions():
            seen.setdefault(self.kept(task, lane), lane)
        return list(seen.values())

    def start(self, task: Task) -> Any:
        assert task.node is not None
        rule: Any = task.node.op.lowering
        dtype = _var(task).type.dtype
        if isinstance(rule, lowering.Reduce):
            return kernel.Literal(identity(rule, dtype), dtype)
        names: dict[str, Any] = {"add": 0, "mul": 1, "max": "lowest", "min": "highest"}
        names |= {"and": True, "or": False}
        reduce = lowering.Reduce(rule.combine, names[rule.combine])
        return kernel.Literal(identity(reduce, dtype), dtype)

    def open(self, task: Task) -> None:
        """Accumulators, or a filled destination, before the reduced loops."""
        e = self.emitter
        hint = e.names.of(_var(task))
        if task.in_buffer:
            self.inner(task, lambda lane: self.accumulate(task, lane, self.start(task), None))
            return
        for lane in self.kept_lanes(task):
            if task.kind == "arg":
                assert task.node is not None
                dtype = task.node.inputs[0].type.dtype
                task.accumulators[self.kept(task, lane)] = [
                    e.declare(
                        f"{hint}_best", kernel.Literal(False if dtype.kind == "b" else 0, dtype)
                    ),
                    e.declare(hint, kernel.Literal(0, INT64)),
                ]
            else:
                task.accumulators[self.kept(task, lane)] = [e.declare(hint, self.start(task))]

    def inner(self, task: Task, write: Any) -> None:
        """Loops over the kept axes that run inside the reduced ones."""
        e = self.emitter
        axes = [a for a in task.axes[task.first_reduced :] if not a.reduced]
        with ExitStack() as stack:
            for a in axes:
                task.bound[a.symbol] = stack.enter_context(e.loop(0, a.extent))
            for lane in self.kept_lanes(task):
                write(lane)
        for a in axes:
            del task.bound[a.symbol]

    def close(self, task: Task) -> None:
        """Results after the reduced loops."""
        e = self.emitter
        if task.in_buffer or task.kind == "scan":
            return
        for lane in self.kept_lanes(task):
            value = task.accumulators[self.kept(task, lane)][-1]
            index = task.at(task.out, lane)
            if task.partial:
                self.store(Storage(task.partial, ()), (task.block, *index), value)
                continue
            self.store(task.dest, index, value)
            e.remember(task.var, index, value)

    def combine(self, task: Task, blocks: Int) -> None:
        """The blocks' partial results into the final one, in order."""
        e = self.emitter
        assert task.node is not None
        rule: Any = task.node.op.lowering
        dtype = _var(task).type.dtype
        partial, task.partial = task.partial, ""
        self.open(task)
        # The threads of a device combine in a fixed order of their own.
        with e.loop(0, blocks, sequential=not self.device) as b:
            if task.in_buffer:
                self.inner(
                    task,
                    lambda lane: self.store(
                        task.dest,
                        task.at(task.out, lane),
                        kernel.Load(partial, (b, *task.at(task.out, lane)), dtype),
                        rule.combine,
                    ),
                )
            else:
                for lane in self.kept_lanes(task):
                    name = task.accumulators[self.kept(task, lane)][0].name
                    e.emit(
                        kernel.Update(
                            name,
                            kernel.Load(partial, (b, *task.at(task.out, lane)), dtype),
                            rule.combine,
                        )
                    )
        self.close(task)


def _max(a: Int, b: Int) -> Int:
    return b if isinstance(a, int) and a == 0 else integers.maximum(a, b)


def _min(a: Int, b: Int) -> Int:
    return integers.minimum(a, b)


def _within(task: Task, level: int, lo: Int, hi: Int) -> bool:
    """Whether all passes of a part are a task's own."""
    first, end = task.span(level)
    return at_most(first, lo) and at_most(hi, end)


def _var(task: Task) -> Var:
    assert isinstance(task.var, Var)
    return task.var
