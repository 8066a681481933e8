"""`schedule(graph, layouts)`: an inlined, simplified graph as a kernel program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._codegen import integers, kernel, lowering
from ..ir.graph import Atom, Graph, Node, Var, print_graph
from ..ops.arrays.shape import transpose_op
from ..sizes import SIZES
from ..sizes.signs import positive
from ..transforms.sizes import counted, told_apart
from ..types import ArrayType, Int, Shape
from .analysis import Analysis
from .bounds import Facts, largest
from .corners import fills_up
from .counts import numbers
from .flat import parts_of
from .indices import is_one
from .lower import Emitter, Storage
from .names import Names, templates
from .nests import Nests
from .passes.pipeline import Draft, run_pipeline
from .rows_in_turn import Pair, in_pairs, written
from .rows_on_device import FEWEST_ROWS, MANY_BLOCKS, apart, few
from .shared_writes import shared_writes
from .short_rows import write_out_rows
from .tapes import make_room
from .tasks import (
    Task,
    bundles,
    loops,
    map_task,
    part_task,
    parts,
    probe_task,
    reduce_task,
    stages,
)
from .two_step_reductions import NOTHING, Own, by_lane, in_blocks, in_turn
from .whole import Whole

BLOCK = 8192
"""Elements per block of a parallel loop, and the most that are worked off without blocks."""
BLOCK_OF_THREADS = 2048
"""The same where a block is the work of 256 threads: a GPU has room for thousands of them."""
LONG = 64
"""A serial phase of more statements is ended."""

WHOLE = (
    lowering.Library,
    lowering.Kernel,
    lowering.Scatter,
    lowering.Region,
    lowering.Effect,
)

NOWHERE: Mapping[Var, Storage] = {}


def schedule(
    graph: Graph,
    layouts: tuple[str, ...],
    device: bool = False,
    seen: Callable[[kernel.Program], None] | None = None,
) -> kernel.Program:
    """The kernel program of a graph whose inputs have these memory layouts ("C", "F" or "A").

    device      whether a GPU runs it: then batches of loops do not go block by block, which is for
                few threads with caches of their own
    seen        is shown the program after each pass
    """
    with SIZES.opened(Facts(graph.sizes.hints, graph.sizes.guards)):
        graph = told_apart(graph)
        graph, sizes = in_memory_order(graph, layouts), Builder.find_sizes(graph)
        split, own = (graph, NOTHING) if device else by_lane(graph)
        if own.all:
            builder = Builder(split, layouts, sizes, own=own)
            stages: list[kernel.Program] = []
            program = builder.program(stages.append if seen is not None else None)
            if in_blocks(
                program,
                [where.buffer for v, where in builder.emitter.storage.items() if v in own.all],
            ):
                for stage in stages:
                    seen(stage)  # type: ignore[misc]
                return program
        return Builder(graph, layouts, sizes, device).program(seen)


def in_memory_order(graph: Graph, layouts: tuple[str, ...]) -> Graph:
    """The graph of the transposed arrays in place of those inputs that are in Fortran order, so
    that all indices follow memory."""
    inputs: list[Var] = []
    turned: list[Node] = []
    for var, layout in zip(graph.inputs, layouts, strict=True):
        if layout == "F":
            axes = tuple(reversed(range(var.type.ndim)))
            inputs.append(Var(ArrayType(var.type.dtype, var.type.shape[::-1]), var.name))
            turned.append(
                Node(
                    transpose_op,
                    (inputs[-1],),
                    {"axes": axes},
                    (var,),
                    note="its memory is in Fortran order",
                )
            )
        else:
            inputs.append(var)
    return graph.replace(inputs=tuple(inputs), nodes=(*turned, *graph.nodes)) if turned else graph


class Builder:
    def __init__(
        self,
        graph: Graph,
        layouts: tuple[str, ...],
        sizes: dict[str, tuple[int, int]],
        device: bool = False,
        own: Own = NOTHING,
    ) -> None:
        self.graph = graph
        self.device = device
        self.own = own
        self.block = BLOCK_OF_THREADS if device else BLOCK
        self.sizes = sizes
        self.names = Names(graph, templates(graph), {*self.sizes, *counted(graph)})
        self.emitter = Emitter(self.names, graph.options.checked, graph.options.contract)
        self.nests = Nests(self.emitter, device)
        self.whole = Whole(self.emitter, self.nests, self)
        self.phases: list[kernel.Phase] = []
        self.name = self.names.fresh(graph.name if graph.name.isidentifier() else "kernel")
        for var, layout in zip(graph.inputs, layouts, strict=True):
            self.emitter.storage[var] = self.buffer(self.names.of(var), var, "in", layout)
        self.outputs = [
            self.buffer(f"out_{self.names.of(a)}" if isinstance(a, Var) else "out", a, "out")
            for a in graph.outputs
        ]

    @staticmethod
    def find_sizes(graph: Graph) -> dict[str, tuple[int, int]]:
        """Where each symbolic size can be read: (input, axis)."""
        found: dict[str, tuple[int, int]] = {}
        for k, var in enumerate(graph.inputs):
            for axis, size in enumerate(var.type.shape):
                names = set() if isinstance(size, int) else integers.symbols(size)
                for name in names:
                    if size == integers.symbol(name):
                        found.setdefault(name, (k, axis))
        return found

    def buffer(self, hint: str, atom: Atom, role: Any, layout: Any = "C") -> Storage:
        return self.new_buffer(hint, atom.type.dtype, atom.type.shape, role, layout)

    def new_buffer(
        self, hint: str, dtype: Any, shape: Shape, role: Any = "temp", layout: Any = "C"
    ) -> Storage:
        name = self.names.fresh(hint)
        real = shape if shape or role != "temp" else (1,)
        if role == "temp" and any(
            integers.symbols(s) & self.emitter.sizes for s in shape if not isinstance(s, int)
        ):
            role = "local"
        self.emitter.buffers[name] = kernel.Buffer(name, dtype, real, role, layout)
        return Storage(name, shape)

    # --- phases -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Close the serial phase that is being written."""
        root = self.emitter.scopes[0]
        if root.statements:
            self.phases.append(kernel.Phase("serial", tuple(root.statements)))
        root.statements = []
        root.memo = {}

    def program(self, seen: Callable[[kernel.Program], None] | None = None) -> kernel.Program:
        self.run(self.graph, self.outputs)
        self.flush()
        by_input = [self.emitter.storage[v].buffer for v in self.graph.inputs]
        sizes = tuple((name, (by_input[k], axis)) for name, (k, axis) in self.sizes.items())
        doc = print_graph(self.graph, stamped=False)
        head = kernel.Program(
            self.name,
            doc,
            sizes,
            (),
            (),
            tuple(self.emitter.errors),
            options=self.graph.options,
        )
        return run_pipeline(
            Draft(head, self.phases, self.emitter.buffers, self.names.fresh), self.device, seen
        )

    def run(self, graph: Graph, outputs: Sequence[Storage]) -> None:
        """A graph as phases, its results written to `outputs`."""
        tasks = self.tasks(graph, outputs)
        for part in in_turn(tasks, self.own):
            for bundle in in_pairs(self, bundles(part, 0), tasks, outputs):
                if isinstance(bundle, Pair):
                    written(self, bundle)
                else:
                    self.top(bundle, tasks, outputs)

    def top(self, bundle: list[Task], tasks: list[Task], outputs: Sequence[Storage]) -> None:
        """One bundle of all these tasks as phases."""
        if len(self.emitter.scopes[0].statements) > LONG:
            # Phases compile as functions of their own where they are many, which keeps compilation
            # linear.
            self.flush()
        if not loops(bundle[0], 0):
            for task in bundle:
                if task.kind != "whole":
                    self.nests.run([task], 0)
                elif not shared_writes(self, task, tasks, outputs):
                    self.whole.run(task)
            return
        work = largest([integers.product([a.extent for a in (*t.axes, *t.lanes)]) for t in bundle])
        sequential = any(t.kind in ("arg", "scan") and t.axes[0].reduced for t in bundle)
        write_out_rows(bundle, self.emitter.buffers)
        if sequential:
            self.nests.loop(bundle, 0)
            return
        large = not (isinstance(work, int) and work <= self.block)
        if large:
            self.flush()
        if not large or any(t.var in self.own.all for t in bundle):
            for group in stages(bundle, 0, ()):
                self.nests.loop(group, 0)
            if large:
                self.flush()
            return
        reducing = [t for t in bundle if t.axes[0].reduced]
        if self.device:
            self.rows(stages([t for t in bundle if t not in reducing], 0, ()))
            bundle = reducing
            if not bundle:
                return
        rowwise = self.rowwise(bundle, [t for t in tasks if t not in bundle], outputs)
        groups = stages(bundle, 0, rowwise)
        if not reducing and not rowwise and len(groups) == 1 and len(parts(bundle, 0) or ()) == 1:
            with self.emitter.scope() as body:
                self.nests.loop(bundle, 0, barrier=True)
            self.flush_parallel(body.statements)
            return
        extent = (parts(bundle, 0) or [(0, 0)])[-1][1]
        inner = largest(
            [integers.product([a.extent for a in (*t.axes[1:], *t.lanes)]) for t in bundle]
        )
        # Rows may have no elements at some sizes.
        if self.device and not rowwise and few(extent, inner):
            # Each of many threads goes down the rows for itself: nothing is left to combine.
            for run in apart(groups):
                self.nests.loop(run, 0)
                self.flush()
            return
        width = inner if positive(inner) else integers.maximum(inner, 1)
        rows = integers.floordiv(self.block, width)
        if self.device and inner != 0:
            # A few blocks per processor, so that there is little to combine.
            rows = integers.maximum(FEWEST_ROWS, integers.floordiv(extent, MANY_BLOCKS))
        elif inner != 0:
            # Of rows by themselves nothing is combined, so that one may be a block.
            least = 1 if not reducing else 64 if any(t.in_buffer for t in reducing) else 16
            rows = integers.maximum(least, rows)
        blocks = integers.floordiv(extent + rows - 1, rows)
        if blocks == 1:
            self.nests.loop(bundle, 0)
            return
        self.in_partial(reducing, blocks)
        with (
            self.emitter.scope() as body,
            self.emitter.loop(0, blocks, barrier=True, hint="block") as b,
        ):
            for t in reducing:
                t.block = b
            for t in rowwise:
                # One row at a time lives, in a place of the block's own.
                old = self.emitter.buffers[t.dest.buffer]
                self.emitter.buffers[old.name] = replace(old, shape=(blocks, *old.shape[1:]))
                t.dest = Storage(old.name, t.dest.shape, (b,), 1)
                self.emitter.storage[t.var] = t.dest  # type: ignore[index]
            for group in groups:
                self.nests.loop(group, 0, (b * rows, b * rows + rows))
        self.flush_parallel(body.statements)
        for t in reducing:
            self.nests.combine(t, blocks)

    def in_partial(self, tasks: Sequence[Task], blocks: Int) -> None:
        """Those of some tasks that reduce rows write a result for each block at first."""
        for t in tasks:
            if t.axes[0].reduced:
                name = f"{self.names.of(t.var) if isinstance(t.var, Var) else 'part'}_parts"
                shape = (blocks, *t.var.type.shape)
                t.partial = self.new_buffer(name, t.var.type.dtype, shape).buffer

    def rows(self, groups: Sequence[list[Task]]) -> None:
        """Loops over rows for a GPU, whose threads want all of them at once: blocks of rows are for
        caches of one's own."""
        for run in apart(groups):
            with self.emitter.scope() as body:
                self.nests.loop(run, 0, barrier=True)
            # What is joined from parts has a loop for each.
            for loop in body.statements:
                self.flush_parallel([loop])

    def rowwise(
        self, bundle: list[Task], others: list[Task], outputs: Sequence[Storage]
    ) -> list[Task]:
        """Tasks whose temporary is only read in the same pass of the outermost loop as it is
        written in, and has rows at all."""
        found: list[Task] = []
        for t in bundle:
            buffer = self.emitter.buffers[t.dest.buffer]
            if (
                buffer.role != "temp"
                or t.dest in outputs
                or all(map(is_one, t.dest.shape[1:]))
                or t.copy
                or t.axes[0].reduced
                or t.dest.prefix
            ):
                continue
            if is_one(t.dest.shape[0]) or t.out[0] != integers.symbol(t.axes[0].symbol):
                continue
            if any(v is t.var for o in others for v, _ in o.reads):
                continue
            if all(
                i is not None and i[0] == integers.symbol(o.axes[0].symbol)
                for o in bundle
                for v, i in o.reads
                if v is t.var
            ):
                found.append(t)
        return found

    def flush_parallel(self, statements: Sequence[kernel.Statement]) -> None:
        if statements:
            (loop,) = statements
            assert isinstance(loop, kernel.Loop)
            self.phases.append(kernel.Phase("parallel", tuple(statements)))

    # --- tasks ------------------------------------------------------------------------------------

    def tasks(
        self,
        graph: Graph,
        outputs: Sequence[Storage],
        elsewhere: Mapping[Var, Storage] = NOWHERE,
        begun: Mapping[Var, Storage] = NOWHERE,
    ) -> list[Task]:
        """What must be run for a graph, its results written to `outputs`; some values have places
        of their own, some of them from the beginning."""
        e = self.emitter
        for node in graph.nodes:
            for k, var in enumerate(node.outputs):
                e.definitions[var] = (node, k)
                # Graphs of which one was made from the other share variables, and each stores its
                # own.
                e.storage.pop(var, None)
                e.counts.pop(var, None)
        for var in graph.inputs:
            e.definitions.pop(var, None)
        analysis = Analysis(
            graph,
            set(graph.inputs),
            self.own.totals,
            numbers(graph, e.counts),
            cached=not self.device,
        )
        self.whole.require(graph, analysis)
        copies: list[tuple[Atom, Storage]] = []
        direct: dict[Var, Storage] = {**begun}
        for atom, dest in zip(graph.outputs, outputs, strict=True):
            if (
                isinstance(atom, Var)
                and atom in analysis.stored
                and atom not in direct
                and elsewhere.get(atom, dest) == dest
            ):
                direct[atom] = dest
            else:
                copies.append((atom, dest))
        for node in graph.nodes:
            for var in node.outputs:
                if var in analysis.stored:
                    e.storage[var] = (
                        direct[var]
                        if var in direct
                        else self.buffer(self.names.of(var), var, "temp")
                    )
        for node in graph.nodes:
            make_room(self, node, analysis, direct)
            self.fill_up(node, analysis)
        if not elsewhere:
            for node in reversed(graph.nodes):
                self.written_further(node, analysis)
        result: list[Task] = []
        with e.dry_runs.kept():
            for node in graph.nodes:
                result.extend(self.tasks_of(node, analysis, result))
            for atom, dest in copies:
                task = map_task(atom, None, dest, copy=True, again=e.again)
                probe_task(e, task)
                result.append(task)
        return [
            t
            for t in result
            if t.kind == "whole"
            or all(
                not (isinstance(a.extent, int) and a.extent == 0 and not a.reduced)
                for a in (*t.axes, *t.lanes)
            )
        ]

    def fill_up(self, node: Node, analysis: Analysis) -> None:
        """Where all that is read of a whole array is what fills it up with zeros, it lies there
        from the beginning."""
        storage, source = self.emitter.storage, node.inputs[0] if node.inputs else None
        if (
            fills_up(node)
            and node.outputs[0] in analysis.stored
            and isinstance(source, Var)
            and source in analysis.stored
            and source not in analysis.graph.outputs
            and analysis.uses[source] == [node]
            and isinstance(analysis.node[source].op.lowering, lowering.Region)
        ):
            storage[source] = replace(storage[node.outputs[0]], shape=source.type.shape)

    def written_further(self, node: Node, analysis: Analysis) -> None:
        """What was written at places and is read by the next such write only lies in its place from
        the beginning."""
        storage, source = self.emitter.storage, node.inputs[0] if node.inputs else None
        if (
            isinstance(node.op.lowering, lowering.Scatter)
            and isinstance(source, Var)
            and source in analysis.stored
            and source not in analysis.graph.outputs
            and analysis.uses[source] == [node]
            and node.inputs.count(source) == 1
            and isinstance(analysis.node[source].op.lowering, lowering.Scatter)
        ):
            storage[source] = storage[node.outputs[0]]

    def tasks_of(self, node: Node, analysis: Analysis, earlier: list[Task]) -> list[Task]:
        e = self.emitter
        var = node.outputs[0]
        if not any(v in analysis.stored for v in node.outputs):
            return []
        rule = node.op.lowering
        if isinstance(rule, WHOLE):
            return self.whole.tasks_of(node)
        if isinstance(rule, (lowering.Reduce, lowering.Scan, lowering.ArgReduce)):
            task = reduce_task(e, var, node, e.storage[var], e.again)
            sources = [a for a in node.inputs if isinstance(a, Var)]
        else:
            found = parts_of(var, e.definitions, analysis.is_stored)
            if found:
                return [part_task(e, var, node, e.storage[var], p) for p in found]
            task = map_task(var, node, e.storage[var], again=e.again)
            probe_task(e, task)
            if task.periods:
                task = map_task(var, node, e.storage[var], again=e.again, periods=task.periods)
                probe_task(e, task)
            sources = [var]
        task.made = {
            n: cost
            for a in sources
            if a is var or not analysis.is_stored(a)
            for n, cost in analysis.members.get(a, {}).items()
        }
        return [task]
