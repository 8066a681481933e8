"""Callers: for each traced signature a small Python function, written as text, that does for one
call just what is needed.

It takes the arguments apart, compares shapes, reads what the traced function reads around it,
provides memory, calls the kernel and puts the results together; or it gives MISS at the first thing
that is not as it was when the signature was traced, and `jit.Jitted` takes the long way. The
classes and dtypes of arrays are left to the kernel's entry, which raises TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers
from ..control.call import spent
from ..devices import IN_USE
from ..ir import upward
from ..ir.graph import Graph
from ..runtime.execute import SCRATCH, Compiled, executable_for
from ..runtime.memory import LARGE
from ..runtime.threads import NO_PHASE
from ..surroundings.places import ITEM, Place
from ..surroundings.stored import Output
from ..tape.eager_text import fresh
from ..tensor import Tensor
from ..transforms.tracing import Traced, device_of
from ..tree import flatten, unflatten
from .effects import store, write_back
from .entry import Entry
from .guards import MISS, Guards, Unfit
from .on_device import apply, run

OWN_ARENA = 1 << 16
"""Scratch memory up to this size belongs to the caller; callers that need more share that of their
thread."""
Caller = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def make_caller(
    entry: Entry,
    compiled: Compiled,
    tree: Any,
    static: Sequence[tuple[Any, type, Any]],
    leaves: Sequence[Any],
) -> Caller:
    """The caller of a signature.

    `tree` is (args, kwargs) without the static arguments and with the number of the leaf at each
    leaf; `leaves` are examples. Raises Unfit where a leaf is nothing that kernels take as it is, or
    the tree has nodes of an unknown kind.
    """
    return Writer(entry, compiled, leaves).write(tree, static)


class Writer(Guards):
    """Writes the text of a caller."""

    def write(self, tree: Any, static: Sequence[tuple[Any, type, Any]]) -> Caller:
        self.begin(tree, static)
        sizes = self.shapes()
        operands = [
            *[f"z{k}" if k in self.numbers else f"x{k}" for k in range(self.count)],
            *self.surroundings(),
        ]
        self.changed()
        self.holders()
        self.overlaps(operands)
        for k, layout in enumerate(self.compiled.layouts):
            if layout == "A" and k not in self.numbers:
                # The kernel would take it, but one for contiguous memory is faster.
                self.wrong(f"{operands[k]}.flags.forc")
        if not self.compiled.strict:
            self.types(operands)
        self.kernel(operands, sizes)
        self.results()
        return self.finish()

    def finish(self) -> Caller:
        """The function of the text."""
        exec(
            compile("\n".join(self.lines), f"<caller of {self.entry.graph.name}>", "exec"),
            self.space,
        )
        made: Caller = self.space["call"]
        return made

    # --- the call ---------------------------------------------------------------------------------

    def kernel(self, operands: Sequence[str], sizes: Sequence[str]) -> None:
        """Memory, the kernel's call, and what it may have failed at."""
        compiled, checked = self.compiled, self.compiled.program.checked
        outs = [f"o{k}" for k in range(len(compiled.out_shapes)) if k not in compiled.reused]
        scalars = {
            f"o{k}": d
            for k, (s, d) in enumerate(zip(compiled.out_shapes, compiled.out_dtypes, strict=True))
            if s == ()
        }
        scalars |= {f"z{k}": compiled.in_dtypes[k] for k in self.numbers}
        own = isinstance(compiled.program.arena, int) and compiled.program.arena <= OWN_ARENA
        room = int(compiled.program.arena) + 64 if own else 0

        def workspace() -> tuple[Any, ...]:
            """What one call at a time uses: status words, scratch memory, and a place for each
            number that goes in or out."""
            status = np.zeros(2, np.int64)
            return (
                status,
                status.data,
                np.empty(room, np.uint8),
                *[np.empty((), d) for d in scalars.values()],
            )

        free: list[tuple[Any, ...]] = []
        self.space.update(
            workspace=workspace,
            free=free,
            kernel=compiled.entry,
            fail=compiled.fail,
            scratch=SCRATCH,
        )
        self.line(1, "except WRONG: return MISS")
        # Taken from a list and put back, because several threads may make this call at once.
        self.line(1, "try: w = free.pop()")
        self.line(1, "except IndexError: w = workspace()")
        self.line(1, f"{', '.join(['status', 'words', 'arena', *scalars])}, = w")
        if not own:
            need = f"{compiled.printed.arena_code} + 64"
            self.line(1, "arena = scratch.arena")
            self.line(1, f"if arena.nbytes < {need}: arena = scratch.provide({need})")
        for k, (shape, dtype) in enumerate(
            zip(compiled.out_shapes, compiled.out_dtypes, strict=True)
        ):
            if k in compiled.reused:
                self.line(1, f"o{k} = x{compiled.reused[k]}")
            elif shape != ():
                nbytes = integers.product(shape) * dtype.itemsize
                small = nbytes < LARGE if isinstance(nbytes, int) else None
                if small is None:
                    make = f"(empty if {nbytes} < {LARGE} else provide)"
                else:
                    make = "empty" if small else "provide"
                text = "(" + "".join(f"{s}, " for s in shape) + ")"
                if not (small and dtype == np.float64):
                    text += f", {self.name(dtype)}"
                self.line(1, f"o{k} = {make}({text})")
        self.line(1, "try:")
        for k in self.numbers:
            self.line(2, f"z{k}[()] = x{k}")
        given = "".join(f"{x}, " for x in (*operands, *outs))
        run = f"kernel({given}arena, status, -1, 0, 0)"
        if compiled.shared.shares:
            self.space["shared"] = compiled.shared
            self.line(2, f"table = shared.table(({''.join(f'{n}, ' for n in sizes)}))")
            self.line(2, f"if table is None: {run}")
            self.line(2, "else:")
            self.line(3, f"kernel({given}arena, status, {NO_PHASE}, 0, 0)")
            self.line(3, f"shared.run(table, ({given}arena), status)")
        else:
            self.line(2, run)
        self.line(1, "except (TypeError, OverflowError): return MISS")
        if checked:
            self.line(1, "if words[0]: fail(status)")

    def results(self) -> None:
        """Writes to arguments and random counters carried out, and the results in the structure
        that the function returned."""
        traced = self.entry.traced
        count = len(traced.out_boxed)
        shapes = self.compiled.out_shapes
        self.space.update(
            copyto=np.copyto,
            write_back=write_back,
            store=store,
            fresh=fresh,
            Tensor=Tensor,
            spent=spent,
        )
        for j, k in enumerate(traced.writes):
            write = (
                f"write_back(b{k}, o{count + j})"
                if k in self.boxes
                else f"copyto(x{k}, o{count + j}, casting='unsafe')"
            )
            self.line(1, write)
        out = count + len(traced.writes)
        for j, (change, _) in enumerate(self.entry.changes):
            value = f"o{out}" if change.value else "None"
            if value != "None":
                # A 0-d result lies in memory that the next call writes to.
                copied = f"o{out}.copy()" if shapes[out] == () else value
                value = f"fresh(Tensor, {copied})" if change.what == "grad" else value
                out += 1
            self.line(
                1, f"t{j}._grad = {value}" if change.what == "grad" else f"store(t{j}, {value})"
            )
        self.store(out)
        for j, generator in enumerate(traced.generators):
            self.line(1, f"{self.name(generator)}.store(o{len(traced.history) + j})")
        leaves = []
        for k in range(count):
            leaves.append(f"r{k}" if shapes[k] == () or traced.out_boxed[k] else f"o{k}")
            if traced.out_boxed[k]:
                data = f"o{k}.copy()" if shapes[k] == () else f"o{k}"
                gone = traced.history[k] == "spent" and self.entry.mode
                self.line(1, f"r{k} = spent({data})" if gone else f"r{k} = fresh(Tensor, {data})")
            elif shapes[k] == ():
                self.line(1, f"r{k} = o{k}[()]")
        self.line(1, "free.append(w)")
        self.line(1, f"return {self.together(unflatten(traced.out_spec, range(count)), leaves)}")

    def holders(self) -> None:
        """Where the call stores something in Python's variables: what holds them, each under its
        name h0 and so on."""
        read: dict[Place, str] = {}
        for j, stored in enumerate(self.entry.stored):
            if stored.into_argument(self.entry.holder):
                raise Unfit("a change of a container among the arguments")
            if stored.simple and stored.place.before is not None:
                held = self.at(stored.place.before, read)
                self.line(2, f"h{j} = {held}")
                if stored.place.code == ITEM:
                    self.wrong(f"type(h{j}) is not {self.name(type(stored.place.before()))}")

    def store(self, out: int) -> None:
        """What the function does to Python's variables, from result number `out` on."""
        for j, stored in enumerate(self.entry.stored):
            leaves = []
            for x in stored.fixed:
                if type(x) is not Output:
                    leaves.append(self.name(x))
                    continue
                scalar = self.compiled.out_shapes[out] == ()
                if x.kind is Tensor:
                    leaves.append(f"Tensor(o{out}.copy())" if scalar else f"Tensor(o{out})")
                elif x.kind is None:
                    leaves.append(f"o{out}[()]" if scalar else f"o{out}")
                else:
                    leaves.append(f"{self.name(x.kind)}(o{out})")
                out += 1
            if stored.simple:
                value = self.together(unflatten(stored.spec, range(len(leaves))), leaves)
                key = (
                    repr(stored.place.key)
                    if type(stored.place.key) in (str, int)
                    else self.name(stored.place.key)
                )
                self.line(1, f"{stored.place.code.format(it=f'h{j}', key=key)} = {value}")
            else:
                own = "".join(f"o{k}, " for k in range(out - stored.results, out))
                self.line(1, f"{self.name(stored)}.carry_out(iter(({own})))")

    def together(self, part: Any, leaves: Sequence[str]) -> str:
        """The expression of a tree with these expressions at its leaves."""
        kind = type(part)
        if part is None:
            return "None"
        if isinstance(part, int):
            return leaves[part]
        if kind is dict:
            return (
                "{"
                + ", ".join(
                    f"{self.name(key)}: {self.together(child, leaves)}"
                    for key, child in part.items()
                )
                + "}"
            )
        if kind in (tuple, list) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            inner = "".join(f"{self.together(child, leaves)}, " for child in part)
            return (
                f"({inner})"
                if kind is tuple
                else f"[{inner}]"
                if kind is list
                else f"{self.name(kind)}({inner})"
            )
        raise Unfit(f"a result has a {kind.__name__}")


# --- graphs that the tape calls -------------------------------------------------------------------


def run_graph(graph: Graph, arrays: Sequence[Any]) -> Sequence[Any]:
    """Run a graph on plain arrays, compiled; each layout of them gets a caller."""
    callers: tuple[Caller, ...] = graph.derived.get("callers", ())
    for caller in callers:
        found = caller(tuple(arrays), {})
        if found is not MISS:
            return found  # type: ignore[no-any-return]
    if IN_USE and (device := device_of(arrays)) is not None:
        return run(graph, arrays, device)
    executable = executable_for(graph)
    outs = executable(arrays)
    if len(callers) < MOST:
        count = len(graph.outputs)
        traced = Traced(graph, [], flatten((0,) * count)[1], (False,) * count)
        entry = Entry(
            traced, graph, [], [], tuple(t.shape for t in graph.input_types), lambda: entry
        )
        try:
            made = make_caller(
                entry, executable.kernel_for(arrays), (tuple(range(len(arrays))), {}), (), arrays
            )
        except Unfit:
            return outs
        graph.derived["callers"] = (*callers, made)
    return outs


MOST = 4
"""As many layouts of one graph's inputs get a caller."""


class _Compiler:
    run = staticmethod(run_graph)
    apply = staticmethod(apply)


upward.COMPILER = _Compiler()
