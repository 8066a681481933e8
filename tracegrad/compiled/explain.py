"""What became of one call of a jitted function, in one table: `f.explain(x)`."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers, kernel
from ..control.call import forward_of
from ..dtypes import is_differentiable
from ..ir.graph import Graph
from ..runtime.plan import Memory
from ..staging.functions import function_of
from ..staging.said import lines_of_loops
from ..tensor import Boxed
from .first_calls import TOTAL, beside, fallbacks_of, stages_of
from .reasons import type_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .entry import Entry
    from .signatures import Signatures

WIDTH = 100


@dataclass(frozen=True)
class Explanation:
    """What became of one call of a jitted function. Prints as a table; `rich` and notebooks show it
    as theirs."""

    function: str
    """Its name and its place in the user's file."""
    arguments: tuple[str, ...]
    """The arrays and numbers of the call, as `x: float64[3]`; sizes by name are free."""
    captures: tuple[str, ...]
    """What is read around the function at each call."""
    reason: str
    """Why this signature was traced."""
    reasons: tuple[str, ...]
    """Why the function was traced at all, the latest traces last."""
    traced: int
    """Operations as they were traced, those of loops and branches included."""
    optimized: int
    """Operations after the passes over the graph."""
    phases: int
    """Parts of the compiled function; threads share the work of each, and wait between them."""
    nests: int
    """Loop nests, into which operations were fused."""
    loops: int
    """Loops altogether."""
    routines: tuple[str, ...]
    """What is called for whole arrays: products, factorizations, sorting."""
    staged: tuple[str, ...]
    """Functions that were rewritten, since Python's own control flow stopped the trace."""
    python_loops: tuple[tuple[str, str], ...]
    """The lines of the loops in these functions, with what became of each: "kept" as a loop,
    "written out" step by step while it was traced, or "kept, then written out by the passes"."""
    fallbacks: tuple[str, ...]
    """Parts that Numba's own pipeline compiled, which takes 3 to 10 times as long, and why."""
    loaded: bool
    """Whether the kernel came from the disk."""
    times: dict[str, float]
    """Seconds of each stage of the first call, without those inside of it."""
    background: dict[str, float]
    """The same of what a thread compiled beside the calls (`warm="background"`)."""
    total: float
    """Seconds of the first call."""
    memory: Memory
    """What a call takes, in bytes."""
    residuals: int | None
    """Bytes that a call keeps for its backward pass; None where nothing requires grad."""

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the table: a title and a text."""
        saved = f"{self.traced} traced, {self.optimized} after the passes"
        spent, aside = map(_stages, (self.times, self.background))
        where = " (kernel from the disk)" if self.loaded else ""
        rows = [
            ("function", self.function),
            ("arguments", ", ".join(self.arguments) or "none"),
            ("captures", ", ".join(self.captures) or "nothing"),
            ("traced since", self.reason),
            ("traces so far", str(len(self.reasons))),
            ("operations", saved),
            (
                "compiled to",
                f"{_count(self.nests, 'loop nest')} of {_count(self.loops, 'loop')} in "
                f"{_count(self.phases, 'phase')}",
            ),
            ("routines", ", ".join(self.routines) or "none"),
            ("staged", ", ".join(self.staged) or "nothing"),
            *([("loops in Python", loops_text(self.python_loops))] if self.python_loops else []),
            ("compiled by Numba", "; ".join(self.fallbacks) or "nothing"),
            ("first call", f"{_seconds(self.total)}{where}: {spent}"),
            *([("in the background", aside)] if self.background else []),
            (
                "memory",
                f"arguments {_bytes(self.memory.arguments)}, results "
                f"{_bytes(self.memory.results)}, temporaries {_bytes(self.memory.temporaries)}",
            ),
        ]
        if self.memory.counted:
            rows.append(("while it runs", f"{self.memory.counted} B"))
        if self.residuals is not None:
            rows.append(("kept for backward", _bytes(self.residuals)))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        left = max(len(title) for title, _ in rows)
        lines = []
        for title, text in rows:
            for k, part in enumerate(_wrapped(text, WIDTH - left - 2)):
                lines.append(f"{title if not k else '':{left}}  {part}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"explain: {self.function}", show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for title, text in self.rows()[1:]:
            table.add_row(title, _unmarked(text))
        return table

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(title)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for title, text in self.rows()
        )
        return f"<table>{cells}</table>"


def explanation(
    function: Any,
    entry: Entry,
    signatures: Signatures,
    names: Sequence[str],
    values: Sequence[Any],
    program: kernel.Program,
    graph: Graph,
    memory: Memory,
) -> Explanation:
    """The explanation of a call of which all is known: its signature's entry, the operands, the
    program that runs it, and the graph after the passes."""
    nests, loops, routines = 0, 0, []

    def visit(s: kernel.Statement) -> None:
        nonlocal loops
        if isinstance(s, (kernel.Loop, kernel.While)):
            loops += 1
        elif isinstance(s, kernel.Call):
            routines.append(s.routine)

    for phase in program.phases:
        nests += len([s for s in phase.body if isinstance(s, (kernel.Loop, kernel.While))])
        kernel.walk(phase.body, visit)
    types = entry.graph.input_types[: len(names)]
    made = {**entry.times, **beside(entry.times)}
    return Explanation(
        _placed(function),
        tuple(
            f"{name or k}: {type_text(t)}"
            for k, (name, t) in enumerate(zip(names, types, strict=True))
        ),
        tuple(place.path if place else "a constant array" for place in entry.places),
        str(entry.reason),
        tuple(map(str, signatures.reasons)),
        _operations(entry.graph),
        _operations(graph),
        len(program.phases),
        nests,
        loops,
        tuple(dict.fromkeys(routines)),
        entry.staged,
        python_loops(entry, graph),
        fallbacks_of(entry.times),
        "load" in made and "compile" not in made,
        stages_of(entry.times),
        beside(entry.times),
        entry.times.get(TOTAL, 0.0),
        memory,
        _residuals(entry, values),
    )


def loops_text(found: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{line} {what}" for line, what in found)


def python_loops(entry: Entry, graph: Graph) -> tuple[tuple[str, str], ...]:
    """What became of each loop of the functions that were rewritten."""
    traced, left = _held_at(entry.graph), _held_at(graph)
    return tuple(
        (
            line,
            "kept" if line in left else
            "kept, then written out by the passes" if line in traced else "written out",
        )
        for line in lines_of_loops(entry.loops)
    )  # fmt: skip


def _held_at(graph: Graph) -> set[str]:
    """The lines whose operations hold graphs: of a loop's line that is the loop."""
    found = {n.where for n in graph.nodes if any(True for _ in n.subgraphs())}
    return found.union(*map(_held_at, graph.subgraphs()))


def _operations(graph: Graph) -> int:
    return len(graph.nodes) + sum(map(_operations, graph.subgraphs()))


def _residuals(entry: Entry, values: Sequence[Any]) -> int | None:
    """What the forward graph of a call on the tape gives besides the results."""
    wanted = [isinstance(x, Boxed) and x._requires_grad for x in values]
    if not any(wanted) or not entry.mode or entry.traced.device is not None:
        return None
    graph = entry.graph
    if not any(is_differentiable(t.dtype) for t in graph.output_types):
        return None
    at: dict[str, int] = {}
    for var, x in zip(graph.inputs, values, strict=False):
        for size, number in zip(var.type.shape, np.shape(getattr(x, "_data", x)), strict=True):
            if isinstance(size, integers.Integer):
                at.setdefault(str(size), number)
    kept = forward_of(graph, wanted).output_types[len(graph.outputs) :]
    return sum(integers.evaluate(t.size, at) * t.dtype.itemsize for t in kept)


def _placed(function: Any) -> str:
    found = function_of(function)
    name = getattr(function, "__qualname__", type(function).__name__)
    if found is None:
        return name
    code = found.__code__
    inner = getattr(function, "__wrapped__", None)
    if inner is not None and (of := function_of(inner)) is not None:
        code = of.__code__
    return f"{name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _stages(times: dict[str, float]) -> str:
    return ", ".join(f"{stage} {_seconds(s)}" for stage, s in times.items() if s >= 5e-5)


def _seconds(s: float) -> str:
    return f"{s:.2f} s" if s >= 1 else f"{1e3 * s:.1f} ms"


def _bytes(count: int) -> str:
    return f"{count:,} B"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _unmarked(text: str) -> str:
    """Text whose brackets rich leaves alone."""
    return text.replace("[", r"\[")


__all__ = ["Explanation", "explanation"]
