"""Callers: for each traced signature a small Python function, written as text, that does for one
call just what is needed.

It takes the arguments apart, compares shapes, reads what the traced function reads around it, and
does the steps of the call (`steps.py`) in their written form; or it gives MISS at the first thing
that is not as it was when the signature was traced, and `jit.Jitted` takes the plain way. The
classes and dtypes of arrays are left to the kernel's entry, which raises TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..devices import IN_USE
from ..ir import upward
from ..ir.graph import Graph
from ..ops.sparse.nodes import together as sparse
from ..ops.sparse.operand import SparseArray
from ..runtime.device_code import CompiledOnDevice
from ..runtime.execute import Compiled, executable_for
from ..tape.boxes import fresh
from ..tensor import Tensor
from ..transforms.tracing import Traced, device_of
from ..tree import flatten
from .computing import ResultTexts, computing
from .entries import FixedArgument
from .entry import Entry
from .guards import MISS, Guards, Unfit
from .on_device import apply, run
from .steps import Step, around

Caller = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def steps_of(entry: Entry, given_up: Sequence[int] = ()) -> tuple[Step, ...]:
    """The steps of a call of an entry; `given_up` are the leaves whose memory the caller gave
    up."""
    before, after = around(entry, given_up)
    return (*before, computing(entry), *after)


def make_caller(
    entry: Entry,
    steps: Sequence[Step],
    compiled: Compiled | CompiledOnDevice,
    tree: Any,
    static: Sequence[FixedArgument],
    leaves: Sequence[Any],
    values: Sequence[Any],
    free: Sequence[str] = (),
) -> Caller:
    """The caller of a signature.

    `tree` is (args, kwargs) without the static arguments and with the number of the leaf at each
    leaf; `leaves` are examples, and `values` all operands of the graph with them; `free` are the
    keywords whose order counts. Raises Unfit where a leaf is nothing that kernels take as it is,
    the tree has nodes of an unknown kind, or a step is left to the plain way.
    """
    return CallerText(entry, compiled, leaves, values).write(steps, tree, static, free)


class CallerText(Guards):
    """Writes the text of a caller."""

    results: ResultTexts
    """Where the results are, behind the step that computes."""

    def write(
        self, steps: Sequence[Step], tree: Any, static: Sequence[FixedArgument], free: Sequence[str]
    ) -> Caller:
        self.begin(tree, static, free)
        self.sizes = self.shapes()
        for step in steps:
            step.write(self)
        return self.finish()

    def finish(self) -> Caller:
        """The function of the text."""
        exec(
            compile("\n".join(self.lines), f"<caller of {self.entry.graph.name}>", "exec"),
            self.space,
        )
        made: Caller = self.space["call"]
        return made

    def computes(self) -> None:
        """From here on the call takes place: nothing gives MISS any more."""
        self.line(1, "except WRONG: return MISS")
        self.guarding = False

    def tensor(self, k: int) -> str:
        """The expression of result k as a Tensor."""
        return f"o{k}" if k in self.results.finished else self.boxed(self.results.data[k])

    def boxed(self, data: str) -> str:
        """The expression of a new Tensor."""
        return f"{self.name(fresh)}({self.name(Tensor)}, {data})"

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
        if kind is SparseArray:
            return f"{self.name(sparse)}({self.name(part.layout)}, ({leaves[part.data]},))"
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
    if len(callers) < MOST and (kernel := executable.ready_for(arrays)) is not None:
        count = len(graph.outputs)
        entry = Entry.alone(Traced(graph, [], flatten((0,) * count)[1], (False,) * count))
        tree: Any = tuple(range(len(arrays))), {}
        try:
            made = make_caller(entry, steps_of(entry), kernel, tree, (), arrays, arrays)
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
