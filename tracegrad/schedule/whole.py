"""Operations over whole buffers: library routines, scatters, and regions, whose sub-graphs are
scheduled by the same machinery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._codegen import integers, kernel, lowering
from ..dtypes import BOOL, INT64
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ops.arrays.shape import transpose_op
from ..ops.elementwise.derived import mul_op
from ..types import ArrayType, Int, Shape, equal_types
from . import regions
from .analysis import Analysis
from .carries import CarryPlan
from .corners import begins
from .flat import RECORD, parts_of
from .gathering import gathering
from .indices import Index, aligned, is_empty, is_one
from .lower import Emitter, Storage
from .names import comment_of, place_of
from .nests import Nests
from .small_matrices import is_small_matrix, write_out
from .steps import run
from .taped import taped
from .tasks import Task, bundles, loops, map_task, part_task, probe_task
from .values import converted

if TYPE_CHECKING:
    from .build import Builder


def swaps_last(node: Node) -> bool:
    """Whether a node is the transposition of the last two axes."""
    axes = node.params.get("axes")
    ndim = node.outputs[0].type.ndim
    return (
        node.op is transpose_op
        and ndim >= 2
        and tuple(axes or ()) == (*range(ndim - 2), ndim - 1, ndim - 2)
    )


def same_view(node: Node) -> bool:
    """Whether a node is a reshape, which a contiguous buffer shows without a copy."""
    return isinstance(node.op.lowering, lowering.View) and node.op.lowering.reshape


def absorbed(
    node: Node, stored: Callable[[Var], bool], made: Callable[[Var], Node]
) -> tuple[list[tuple[Atom, bool]], Var | None]:
    """What a routine is called with: its operands without the transpositions that it absorbs,
    whether each lost one, and a factor taken out.

    Nothing is taken off a value that is stored anyhow.
    """
    rule = node.op.lowering
    turns = rule.absorbs_transpose if isinstance(rule, lowering.Library) else ()
    axes = (
        dict(rule.absorbs_scale)
        if isinstance(rule, lowering.Library) and node.outputs[0].type.dtype.kind == "f"
        else {}
    )
    if any(is_one(s) for s in node.outputs[0].type.shape[-2:]):
        axes = {}
    operands: list[tuple[Atom, bool]] = []
    scale: Var | None = None

    def unturned(atom: Atom, turned: bool) -> tuple[Atom, bool]:
        while isinstance(atom, Var) and not stored(atom) and swaps_last(made(atom)):
            atom, turned = made(atom).inputs[0], not turned
        return atom, turned

    for k, operand in enumerate(node.inputs):
        atom, turned = unturned(operand, False) if k in turns else (operand, False)
        if (
            scale is None
            and k in axes
            and isinstance(atom, Var)
            and not stored(atom)
            and made(atom).op is mul_op
        ):
            axis = -3 - axes[k] if turned else axes[k]
            for rest, factor in (made(atom).inputs, made(atom).inputs[::-1]):
                if (
                    isinstance(rest, Var)
                    and isinstance(factor, Var)
                    and equal_types(rest.type, atom.type)
                    and along(factor.type.shape, axis, atom.type.shape)
                ):
                    scale, (atom, turned) = factor, unturned(rest, turned)
                    break
        operands.append((atom, turned))
    return operands, scale


def along(shape: Shape, axis: int, whole: Shape) -> bool:
    """Whether an operand that is broadcast to `whole` varies along the last axes only where `axis`
    (-1 or -2) says."""
    padded = ((1,) * len(whole) + tuple(shape))[-len(whole) :]
    return (
        not is_one(padded[axis])
        and is_one(padded[-3 - axis])
        and all(is_one(s) or s == t for s, t in zip(padded[:-2], whole[:-2], strict=True))
    )


COUNT = ArrayType(INT64, ())
"""The type of the number of a step."""


class Whole:
    def __init__(self, emitter: Emitter, nests: Nests, builder: Builder) -> None:
        self.emitter, self.nests, self.builder = emitter, nests, builder

    # --- what must be stored ----------------------------------------------------------------------

    def require(self, graph: Graph, analysis: Analysis) -> None:
        """Store the operands of whole-buffer operations, except views that a buffer shows by
        itself."""
        for node in graph.nodes:
            if isinstance(node.op.lowering, (lowering.Library, lowering.Kernel, lowering.Region)):
                operands, scale = absorbed(node, analysis.is_stored, analysis.node.__getitem__)
                region = isinstance(node.op.lowering, lowering.Region)
                for a in (*[a for a, _ in operands], scale):
                    if isinstance(a, Var):
                        self.require_one(a, analysis, region)

    def require_one(self, var: Var, analysis: Analysis, region: bool) -> None:
        if analysis.is_stored(var) or var in analysis.numbers:
            return
        node = analysis.node[var]
        source = node.inputs[0] if node.inputs else None
        if isinstance(source, Var) and (
            (same_view(node) and source.type.ndim) or (region and begins(node))
        ):
            self.require_one(source, analysis, region)
            return
        analysis.store(var)

    def leaves(self, atom: Atom, found: dict[Var, None]) -> None:
        """The stored variables from which an atom is computed."""
        pending = [atom]
        seen: set[Atom] = set()
        while pending:
            a = pending.pop()
            if isinstance(a, Literal) or a in seen or a in self.emitter.counts:
                continue
            seen.add(a)
            if a in self.emitter.storage:
                found[a] = None
            else:
                pending.extend(self.emitter.definitions[a][0].inputs)

    def tasks_of(self, node: Node) -> list[Task]:
        found: dict[Var, None] = {}
        for a in node.inputs:
            self.leaves(a, found)
        reads: list[tuple[Var, Any]] = [(v, None) for v in found]
        # Later tasks find their producer by any of the outputs: one task per output, of which the
        # first does the work.
        first = Task(
            "whole", node.outputs[0], node, self.emitter.storage[node.outputs[0]], reads=reads
        )
        return [
            first,
            *[
                Task("whole", v, None, self.emitter.storage[v], reads=[(node.outputs[0], None)])
                for v in node.outputs[1:]
            ],
        ]

    def run(self, task: Task) -> None:
        node = task.node
        if node is None:
            return
        match node.op.lowering:
            case lowering.Library() | lowering.Kernel():
                self.call(node)
            case lowering.Scatter():
                self.scatter(node, task)
            case lowering.SCAN:
                regions.scan(self, node)
            case lowering.SWITCH:
                regions.switch(self, node)
            case lowering.WHILE:
                regions.while_loop(self, node)
            case lowering.SIZED:
                regions.sized(self, node)
            case lowering.TAPED:
                taped(self, node)
            case lowering.BLOCK:
                regions.block(self, node)
            case lowering.CHECK:
                self.check(node)
            case other:
                raise AssertionError(f"no code for {node.op.name} ({other})")

    # --- routines ---------------------------------------------------------------------------------

    def contiguous(self, atom: Atom) -> str:
        """A C-contiguous buffer that holds an operand: its own, an alias, or a copy made here."""
        e = self.emitter
        if isinstance(atom, Var):
            where = e.storage.get(atom)
            if where is not None and e.is_all_of(where) and e.buffers[where.buffer].layout != "A":
                return where.buffer
            if where is None:
                node, _ = e.definitions[atom]
                if same_view(node) and isinstance(node.inputs[0], Var):
                    alias = e.alias(node.inputs[0], atom.type.shape)
                    if alias is not None:
                        return alias
        return self.copied(atom).buffer

    def copied(self, atom: Atom) -> Storage:
        e = self.emitter
        hint = e.names.of(atom) if isinstance(atom, Var) else "constant"
        dest = self.builder.buffer(f"{hint}_copy", atom, "temp")
        self.fill(dest, atom)
        return dest

    def filling(self, dest: Storage, atom: Atom) -> list[Task]:
        """The tasks of which `fill` is the whole."""
        e = self.emitter
        if isinstance(atom, Var) and e.storage.get(atom) == dest:
            return []
        if isinstance(atom, Var) and atom in e.definitions and atom not in e.storage:
            parts = parts_of(atom, e.definitions, e.storage.__contains__)
            if parts:
                node, _ = e.definitions[atom]
                return [part_task(e, atom, node, dest, p) for p in parts]
        task = map_task(atom, None, dest, copy=True, again=e.again)
        probe_task(e, task)
        return [task]

    def fill(self, dest: Storage, atom: Atom) -> None:
        """Store all elements of an atom, unless they lie there."""
        tasks = self.filling(dest, atom)
        if tasks and not tasks[0].copy:
            self.run_all(tasks)
        elif tasks:
            for index in self.emitter.positions(dest.shape):
                value = self.emitter.element(atom, aligned(index, atom.type.shape))
                self.nests.store(dest, index, value)

    def call(self, node: Node) -> None:
        e = self.emitter
        rule = node.op.lowering
        assert isinstance(rule, (lowering.Library, lowering.Kernel))
        if (len(e.scopes) > 1 or self.builder.device) and is_small_matrix(node):
            write_out(self, node)
            return
        operands, scale = absorbed(node, e.storage.__contains__, lambda v: e.definitions[v][0])
        arguments: list[Any] = [self.contiguous(atom) for atom, _ in operands]
        flags: list[Any] = (
            [operands[k][1] for k in rule.absorbs_transpose]
            if isinstance(rule, lowering.Library)
            else []
        )
        suffix = ""
        if scale is not None:
            suffix = "_scaled"
            arguments.append(self.contiguous(scale))
        outputs = []
        back: list[tuple[Storage, Var]] = []
        for v in node.outputs:
            where = e.storage[v]
            if not e.is_all_of(where):
                plain = self.builder.new_buffer(f"{where.buffer}_slice", v.type.dtype, v.type.shape)
                back.append((where, v))
                e.storage[v] = plain
                where = plain
            outputs.append(where.buffer)
        routine, extra = rule.call(
            tuple(a.type for a in node.inputs), tuple(v.type for v in node.outputs), node.params
        )
        for item in extra:
            if isinstance(item, str) and item.startswith("code:"):
                flags.append(e.error(item[5:] + place_of(node)))
            else:
                flags.append(item)
        module = "library" if isinstance(rule, lowering.Library) else "routines"
        parts: Int = 1
        work: Int = 0
        if isinstance(rule, lowering.Library) and rule.share is not None:
            parts, work = rule.share(
                tuple(a.type for a in node.inputs), tuple(v.type for v in node.outputs)
            )
        name, given = f"{module}.{routine}{suffix}", (*arguments, *outputs, *flags)
        if parts == 1 or len(e.scopes) > 1:
            e.emit(kernel.Call(name, given, comment_of(node), work))
        else:
            self.builder.flush()
            with e.scope() as body, e.loop(0, parts, barrier=True, hint="part") as part:
                share = (part, part + 1, parts)
                of_one = integers.floordiv(work, parts)
                e.emit(kernel.Call(name, given, comment_of(node), of_one, share))
            self.builder.flush_parallel(body.statements)
        for dest, v in back:
            self.fill(dest, v)

    # --- effects ----------------------------------------------------------------------------------

    def check(self, node: Node) -> None:
        """Record the error whose number an element of the operand is."""
        e = self.emitter
        with e.nest(node.inputs[0].type.shape) as index:
            code = e.element(node.inputs[0], index)
            for k, text in enumerate(node.params["errors"]):
                number = kernel.Literal(k + 1, INT64)
                fine = kernel.Apply("{x} != {y}", (("x", code), ("y", number)), BOOL)
                e.emit(kernel.Check(fine, e.error(text), number))

    # --- scatter ----------------------------------------------------------------------------------

    def scatter(self, node: Node, task: Task) -> None:
        self.fill(task.dest, node.inputs[0])
        if not is_empty(node.inputs[1].type.shape):
            self.writes(node, task)

    def writes(self, node: Node, task: Task) -> None:
        """All updates of a scatter in their order; those along a short last axis are written out,
        so that they have no branches for what they are put together of."""
        shape = node.inputs[1].type.shape
        last = shape[-1] if len(shape) > 1 else 0
        if isinstance(last, int) and 1 < last <= RECORD:
            with self.emitter.nest(shape[:-1]) as index:
                for k in range(last):
                    self.write(node, task, (*index, k))
            return
        with self.emitter.nest(shape) as index:
            self.write(node, task, index)

    def write(self, node: Node, task: Task, index: Index) -> None:
        """One update of a scatter, at its place."""
        e = self.emitter
        rule = node.op.lowering
        assert isinstance(rule, lowering.Scatter)
        combine: Any = rule.combine
        shapes = tuple(a.type.shape for a in node.inputs)
        value = converted(e.element(node.inputs[1], index), node.outputs[0].type.dtype)
        entries = rule.index(index, shapes, node.params)
        at = run(gathering(e, node, entries, node.inputs[0]), e.ready, e.making)
        if at is not None:
            self.nests.store(task.dest, at, value, combine)

    # --- regions ----------------------------------------------------------------------------------

    def body(
        self,
        graph: Graph,
        outputs: Sequence[Storage],
        plan: CarryPlan | None = None,
        places: Sequence[Storage] = (),
    ) -> None:
        """A sub-graph's statements in the innermost open scope; `plan` says what is written in the
        places of carries, and when."""
        e = self.emitter
        own = {v: places[k] for v, k in plan.versions.items()} if plan else {}
        begun = {v: own[v] for v in plan.begun} if plan else {}
        tasks = self.builder.tasks(graph, outputs, own, begun)
        # A carry that stays as it is lies where it shall be.
        tasks = [
            t
            for t in tasks
            if not (t.copy and isinstance(t.var, Var) and e.storage.get(t.var) == t.dest)
        ]
        if plan is None or not plan.writes:
            self.run_all(tasks)
            return
        writes = {t.var: t for t in tasks if t.node in plan.writes}
        written = {v for node in plan.writes for v in node.outputs}
        others = [t for t in tasks if t.copy or t.var not in written]
        for n, node in enumerate(plan.writes):
            self.step(others, plan, n)
            e.storage.update({v: own[v] for v in node.outputs if v in own})
            task = writes[node.outputs[0]]
            task.dest = e.storage[node.outputs[0]]
            self.run(task)
        self.step(others, plan, len(plan.writes))

    def step(self, tasks: Sequence[Task], plan: CarryPlan, n: int) -> None:
        """What can be computed after n writes, and what must be before the next one."""
        e = self.emitter
        self.run_all([t for t in tasks if plan.level(t.var) == n])
        for v in plan.held.get(n, ()):
            if v.type.ndim == 0:
                e.element(v, ())
            elif v not in e.storage:
                e.storage[v] = self.copied(v)

    def run_all(self, tasks: Sequence[Task]) -> None:
        """Tasks in the innermost open scope, those that fit together in one loop."""
        for bundle in bundles(tasks, 0):
            if loops(bundle[0], 0):
                self.nests.loop(bundle, 0)
                continue
            for task in bundle:
                self.run(task) if task.kind == "whole" else self.nests.run([task], 0)

    def operand(self, atom: Atom) -> Storage:
        """Where a region reads a constant or stacked operand."""
        e = self.emitter
        found = e.storage.get(atom) if isinstance(atom, Var) else None
        if found is None and isinstance(atom, Var) and atom not in e.counts:
            node = e.definitions[atom][0]
            if same_view(node):
                return Storage(self.contiguous(atom), atom.type.shape)
            if begins(node):
                return replace(self.operand(node.inputs[0]), shape=atom.type.shape)
        return found if found is not None else self.copied(atom)

    def given(self, atom: Atom) -> Storage | Int:
        """What a graph inside has as an operand: an integer expression of the numbers of steps as
        such, all else where it is stored."""
        number = self.number(atom) if isinstance(atom, Var) else None
        return self.operand(atom) if number is None else number

    def number(self, atom: Atom) -> Int | None:
        """An integer as an expression; None for what is none."""
        e = self.emitter
        if atom.type.dtype != INT64 or atom.type.shape:
            return None
        if isinstance(atom, Var) and atom in e.storage and atom not in e.counts:
            return None
        value = e.element(atom, ())
        found = value.value if isinstance(value, (kernel.Index, kernel.Literal)) else None
        return found if isinstance(found, (int, integers.Integer)) else None

    def give(self, var: Var, given: Storage | Int) -> None:
        """Let a graph inside have that as an operand."""
        e = self.emitter
        e.counts.pop(var, None)
        if isinstance(given, Storage):
            e.storage[var] = given
        else:
            e.counts[var] = given
