"""Pictures of computational graphs, without programs or packages of others."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from ..checks import describe
from ..compiled.inspection import Graphs
from ..compiled.jitted import Jitted
from ..ir.graph import Graph
from ..nn import Module
from ..tensor import Tensor
from .draw import to_dot, to_svg
from .model import Diagram, shortened
from .sources import of_graph, of_tape

STAGES = ("traced", "optimized")
FORMATS = ("svg", "dot")


class Picture:
    """A drawn graph. A notebook shows it by itself; `str` of it is its text, `save` writes it."""

    def __init__(self, diagram: Diagram, format: str) -> None:
        self.format = format
        self._diagram = diagram
        self.svg = to_svg(diagram)
        """The picture as an SVG document."""

    @property
    def dot(self) -> str:
        """The graph in the DOT language of Graphviz."""
        return to_dot(self._diagram)

    def __str__(self) -> str:
        return self.svg if self.format == "svg" else self.dot

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for box in self._diagram.boxes:
            counts[box.kind] = counts.get(box.kind, 0) + 1
        text = ", ".join(f"{kind}: {n}" for kind, n in counts.items())
        more = f", left out: {self._diagram.left_out}" if self._diagram.left_out else ""
        return f"<picture of a graph ({text}{more}), {len(self._diagram.arrows)} arrows>"

    def _repr_svg_(self) -> str | None:
        return self.svg if self.format == "svg" else None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file whose name ends in .svg, or the DOT text to one in .dot or
        .gv (ValueError for another)."""
        suffix = pathlib.Path(path).suffix.lower()
        if suffix not in (".svg", ".dot", ".gv"):
            raise ValueError(
                "a picture can be saved as .svg, .dot or .gv, "
                f"not {suffix or 'without a suffix'}: {os.fspath(path)}"
            )
        pathlib.Path(path).write_text(self.svg if suffix == ".svg" else self.dot, encoding="utf-8")


def graph_picture(
    result: Any,
    *args: Any,
    format: str = "svg",
    names: Mapping[str, Any] | Module | None = None,
    saved: bool = False,
    inside: bool = False,
    stage: str = "traced",
    limit: int = 200,
    **kwargs: Any,
) -> Picture:
    """The computational graph of an eager result or of a jitted function, drawn.

    result: a Tensor, or a list or tuple of Tensors: the nodes of the tape behind them are drawn,
    down to the leaves. Or a jitted function: its graph for the arguments that follow (`args` and
    `kwargs`, as in a call) is drawn, and of `tg.jit(tg.grad(f))` that is forward and adjoint work;
    loops, branches and calls hold their regions. Or a graph, as `f.graphs(...)` has it. names: name
    -> Tensor, for leaves, intermediate values and results; a module stands for its named
    parameters. saved: draw also what the nodes keep for the backward pass. inside: draw jitted
    functions that are one node of the tape with their graph inside. stage: of a jitted function,
    the graph as "traced" or after the passes, "optimized". limit: of a graph with more boxes its
    beginning and its end are drawn, and one box says how many are left out between them. format:
    what `str` gives and whether a notebook shows a drawing: "svg", or "dot" for Graphviz' language.

    >>> import tracegrad as tg
    >>> x = tg.ones(3, requires_grad=True)
    >>> tg.graph_picture((x * x).sum(), names={"x": x})
    <picture of a graph (leaf: 1, operation: 2, result: 1), 4 arrows>
    >>> picture = tg.graph_picture(tg.jit(lambda x: x + 1), 2.0, format="dot")
    >>> print(str(picture).splitlines()[-2].strip())
    n1 -> n2;
    """
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; it can be {' or '.join(FORMATS)}")
    if stage not in STAGES:
        raise ValueError(f"stage is {stage!r}; it can be {' or '.join(STAGES)}")
    if limit < 3:
        raise ValueError(f"limit is {limit}; a picture needs at least 3 boxes")
    if isinstance(result, Graphs):
        result = result[STAGES.index(stage)]
    if isinstance(result, Jitted):
        diagram = of_graph(result.graphs(*args, **kwargs)[STAGES.index(stage)])
    elif args or kwargs:
        raise TypeError(
            "graph_picture: arguments belong to a jitted function, "
            f"and this is a {type(result).__name__}; use tg.jit(f)"
        )
    elif isinstance(result, Graph):
        diagram = of_graph(result)
    else:
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if names is not None and not isinstance(names, (Mapping, Module)):
            raise TypeError(
                f"graph_picture: names is {describe(names)}; "
                "it must be a Module or a dict of Tensors"
            )
        given = dict(names.named_parameters() if isinstance(names, Module) else names or {})
        for x in [*results, *given.values()]:
            if not isinstance(x, Tensor):
                raise TypeError(
                    "graph_picture draws Tensors, jitted functions and graphs; "
                    f"this is a {type(x).__name__}. Of a plain function draw tg.jit(f) "
                    "with arguments, of an array computation that of Tensors."
                )
        if not results:
            raise ValueError("graph_picture: there is no result to draw")
        diagram = of_tape(results, given, saved, inside)
    return Picture(cut_down(diagram, limit), format)


def cut_down(diagram: Diagram, limit: int) -> Diagram:
    """The diagram and all regions within it, none of them with more than `limit` boxes."""
    for box in diagram.boxes:
        box.inside = tuple(cut_down(inner, limit) for inner in box.inside)
    return shortened(diagram, limit)


__all__ = ["Picture", "graph_picture"]
