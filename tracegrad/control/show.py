"""`show`: an operation that prints. A compiled function hands what it is to print to its caller, as
further results, and that prints it when the call has ended: kernels know nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._codegen import lowering
from ..errors import TracegradError
from ..ir.dispatch import bind
from ..ir.graph import Graph
from ..ir.op import Types, op
from ..ir.trace import outside
from ..tensor import Tensor, unbox
from ..types import ArrayType
from .region import repeated

INT64 = np.dtype(np.int64)


class Field(NamedTuple):
    """A value in a text: which, how it is converted ("", "s", "r", "a"; "%" where `spec` is one of
    `%`), and its format."""

    number: int
    conversion: str
    spec: str

    def of(self, values: Sequence[Any]) -> str:
        """The text of that value."""
        x = values[self.number]
        if self.conversion == "%":
            return self.spec % (x,)
        return format(converted(x, self.conversion), self.spec)


def converted(x: Any, how: str) -> Any:
    """A value as an f-string's conversion gives it."""
    return str(x) if how == "s" else repr(x) if how == "r" else ascii(x) if how == "a" else x


class Line(NamedTuple):
    """What one `print` prints: pieces of text and fields between them; of each value whether it is
    a "number" of Python's, an "array" of NumPy's or a "tensor"; and the stream.

    Of a `print` in a loop the last `kept` lines are kept; 0 stands for one that is no loop's. Those
    in loops that follow each other without one outside have the same `turn`.
    """

    pieces: tuple[str | Field, ...]
    kinds: tuple[str, ...]
    stream: str
    kept: int = 0
    turn: int = 0

    def text(self, values: Sequence[Any]) -> str:
        """The line for these arrays."""
        shown = [_as_python(x, kind) for x, kind in zip(values, self.kinds, strict=True)]
        return "".join([p if isinstance(p, str) else p.of(shown) for p in self.pieces])

    def operands(self) -> int:
        """How many there are for it: of a loop's also how often it came by, and when."""
        return len(self.kinds) + (2 if self.kept else 0)


def _as_python(x: Any, kind: str) -> Any:
    data = np.asarray(unbox(x))
    if kind == "tensor":
        with outside():
            return str(Tensor(data)) if data.shape else Tensor(data)
    return data.item() if kind == "number" else data[()]


def write(text: str, stream: str) -> None:
    """Write to what the stream of this name is now."""
    file = getattr(sys, stream)
    if file is not None:
        file.write(text)


def show_lines(lines: Sequence[Line], lanes: int, values: Sequence[Any]) -> None:
    """Print lines in the order in which the program came by them; of a batch, lane by lane, as a
    loop over calls would."""
    if lanes:
        for k in range(len(values[0]) if values else 0):
            show_lines(lines, lanes - 1, [v[k] for v in values])
        return
    given = iter(values)
    found: list[tuple[int, int, str, str]] = []
    for line in lines:
        own = [next(given) for _ in range(line.operands())]
        found += _passes(line, own) if line.kept else [(line.turn, 0, line.text(own), line.stream)]
    for _, _, text, stream in sorted(found, key=lambda line: line[:2]):
        write(text, stream)


def _passes(line: Line, own: Sequence[Any]) -> Iterator[tuple[int, int, str, str]]:
    count, times, *values = map(np.asarray, own)
    total = int(count)
    first = max(0, total - line.kept)
    for k in range(first, total):
        at = k % line.kept
        time = line.turn, int(times[at])
        if k == first > 0:
            yield *time, f"... {first:,} lines before this one are left out\n", line.stream
        yield *time, line.text([v[at] for v in values]), line.stream


def _evaluate(*values: Any, lines: tuple[Line, ...], lanes: int) -> Any:
    show_lines(lines, lanes, values)
    return np.int64(0)


def _infer(*values: Any, lines: tuple[Line, ...], lanes: int) -> Types:
    return (ArrayType(INT64, ()),)


def _batch(values: Any, axes: Any, size: Any, *, lines: tuple[Line, ...], lanes: int) -> Any:
    every = [repeated(x, a, size) for x, a in zip(values, axes, strict=True)]
    return [bind(show_op, every, {"lines": lines, "lanes": lanes + 1})], [None]


def _no_cotangents(cts: Any, inputs: Any, outs: Any, wanted: Any, **params: Any) -> list[Any]:
    return [None] * len(inputs)


def _no_tangent(tangents: Any, inputs: Any, outs: Any, **params: Any) -> list[Any]:
    return [None]


class Prints(NamedTuple):
    """What a graph prints: the last results of the graph that is compiled are what these lines
    need."""

    parts: tuple[tuple[tuple[Line, ...], int, int], ...]
    """Of each operation the lines, the number of batch axes, and the number of operands."""

    @property
    def operands(self) -> int:
        """How many results that are."""
        return sum(count for _, _, count in self.parts)

    def show(self, values: Sequence[Any]) -> None:
        """Print."""
        given = iter(values)
        for lines, lanes, count in self.parts:
            show_lines(lines, lanes, [next(given) for _ in range(count)])


def check_prints(graph: Graph, inside: bool = False) -> None:
    """A TracegradError where a body or a branch prints that is no part of the graph itself."""
    for n in graph.nodes:
        if inside and n.op.lowering is lowering.SHOW:
            raise TracegradError(
                f"{n.where}: a body or branch that is given to a function of tracegrad's (scan, "
                "while_loop, cond, checkpoint, ...) cannot print in a compiled function. Write it "
                "as a loop or branch of Python's, or return the values."
            )
        if n.effects:
            for g in n.subgraphs():
                check_prints(g, inside or not n.op.inlined)


def shown_by(graph: Graph) -> tuple[Graph, Prints | None]:
    """The graph with what it prints as its last results, and what these are for."""
    prints = [n for n in graph.nodes if n.op.lowering is lowering.SHOW]
    if not prints:
        return graph, None
    more = [a for n in prints for a in n.inputs]
    nodes = tuple([n for n in graph.nodes if n.op.lowering is not lowering.SHOW])
    parts = tuple([(n.params["lines"], n.params["lanes"], len(n.inputs)) for n in prints])
    return graph.replace(nodes=nodes, outputs=(*graph.outputs, *more)), Prints(parts)


show_op = op(
    "show",
    ["values"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_no_cotangents,
    jvp=_no_tangent,
    batch=_batch,
    variadic=True,
    lowering=lowering.SHOW,
    effects=True,
    doc="Prints values, when what it stands in has been run.",
)

OPS = (show_op,)
__all__ = [
    "Field",
    "Line",
    "Prints",
    "check_prints",
    "converted",
    "show_lines",
    "show_op",
    "shown_by",
    "write",
]
