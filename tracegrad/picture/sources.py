"""Diagrams of what there is to draw: the tape behind eager results, and the graph of a jitted
function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtypes import SHORT
from ..ir.graph import Graph, Literal, Var, assign_names, print_atom, print_param
from ..tape.tape import AccumulateGrad, Node, Producer
from ..tensor import Tensor
from .model import Arrow, Diagram, DrawnBox, lines_of

WIDEST = 46
"""As many characters of a line are drawn; the whole line is in the tip."""
SAVED = "_saved_"


def type_text(dtype: Any, shape: Sequence[Any]) -> str:
    """`f64[2, 3]`, as printed graphs write it."""
    return f"{SHORT.get(dtype.name, dtype.name)}[{', '.join(map(str, shape))}]"


# --- the tape -------------------------------------------------------------------------------------


def nodes_behind(results: Sequence[Any]) -> list[Producer]:
    """All nodes that lead to the results, makers before readers. A leaf's node was made at its
    first use or later, so it comes where its first reader is."""
    found: set[Producer] = set()
    stack = [result._edge()[0] for result in results]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(before for before, _ in node.next_functions if before is not None)
    ordered: dict[Producer, None] = {}
    for node in sorted(
        (n for n in found if not isinstance(n, AccumulateGrad)), key=lambda n: n._order
    ):
        for before, _ in node.next_functions:
            if isinstance(before, AccumulateGrad):
                ordered[before] = None
        ordered[node] = None
    ordered.update(dict.fromkeys(found))
    return list(ordered)


def of_tape(results: Sequence[Any], names: Mapping[str, Any], saved: bool, inside: bool) -> Diagram:
    """The nodes behind Tensors as boxes: leaves with the names given to them, operations with the
    type of their result. With `inside` the node of a jitted function holds that function's
    graph."""
    called = {id(tensor): name for name, tensor in names.items()}
    ends = {id(result) for result in results}
    places = {
        (t.grad_fn, t.output_nr): name
        for name, t in names.items()
        if t.grad_fn is not None and id(t) not in ends
    }
    boxes: dict[Producer, DrawnBox] = {}
    every: list[DrawnBox] = []
    arrows: list[Arrow] = []
    known: dict[int, DrawnBox] = {}

    def add(box: DrawnBox) -> DrawnBox:
        every.append(box)
        return box

    traced = [r for r in results if r.requires_grad]
    for node in nodes_behind(traced):
        if isinstance(node, AccumulateGrad):
            tensor = node.variable
            title = called.get(id(tensor), "leaf")
            boxes[node] = known[id(tensor)] = add(
                DrawnBox(
                    "leaf", (title, type_text(tensor.dtype, tensor.shape)), f"leaf, {node.name()}"
                )
            )
            continue
        types = (
            [(node.dtype, node.shape)]
            if node._types is None
            else [(t.dtype, t.shape) for t in node._types]
        )
        own = [name for (maker, _), name in places.items() if maker is node]
        title = node.name().rpartition("::")[2]
        title = f"{', '.join(own)} = {title}" if own else title
        shown = (
            type_text(*types[0])
            if len(types) == 1
            else f"{len(types)} results, {type_text(*types[0])}, …"
        )
        box = DrawnBox(
            "operation", (*lines_of(title, WIDEST), shown), f"{node.name()}, node {node._order}"
        )
        graph = node.params.get("graph") if inside and isinstance(node, Node) else None
        if isinstance(graph, Graph):
            box.kind, box.inside = "region", (of_graph(graph, graph.name),)
        for name, value in kept(node) if saved else ():
            source = known.get(id(value)) or boxes.get(value.grad_fn)
            if source is None:
                source = add(
                    DrawnBox(
                        "saved",
                        (name, type_text(value.dtype, value.shape)),
                        f"{name}, saved by {node.name()}",
                    )
                )
            arrows.append(Arrow(source, box, dashed=True))
        boxes[node] = add(box)
        arrows += [
            Arrow(boxes[before], box) for before, _ in node.next_functions if before is not None
        ]
    for k, result in enumerate(results):
        title = called.get(id(result), "result" if len(results) == 1 else f"result {k}")
        box = add(DrawnBox("result", (title, type_text(result.dtype, result.shape)), "result"))
        if result.requires_grad:
            arrows.append(Arrow(boxes[result._edge()[0]], box))
    return Diagram(every, arrows)


def kept(node: Producer) -> list[tuple[str, Any]]:
    """The Tensors that a node saved, by name; nothing where they were freed by a backward pass."""
    found: list[tuple[str, Any]] = []
    for name in dir(node):
        if name.startswith(SAVED):
            try:
                value = getattr(node, name)
            except RuntimeError:
                continue
            if isinstance(value, Tensor):
                found.append((name.removeprefix(SAVED), value))
    return found


# --- graphs of the compiler -----------------------------------------------------------------------


def of_graph(graph: Graph, title: str = "") -> Diagram:
    """A graph's inputs, operations and results as boxes; the graphs of regions (loops, branches,
    calls) inside their operation."""
    names = assign_names(graph)
    makers: dict[Any, DrawnBox] = {}
    boxes: list[DrawnBox] = []
    arrows: list[Arrow] = []
    for var in graph.inputs:
        makers[var] = DrawnBox(
            "leaf", (names[var], str(var.type)), f"input {names[var]}: {var.type}"
        )
        boxes.append(makers[var])
    for node in graph.nodes:
        inside: list[Diagram] = []
        given = [print_atom(a, names) for a in node.inputs]
        for key, value in node.params.items():
            regions = (
                [value] if isinstance(value, Graph) else value if isinstance(value, tuple) else ()
            )
            if regions and all(isinstance(r, Graph) for r in regions):
                inside += [of_graph(r, f"{key}: {r.name}") for r in regions]
            else:
                given.append(f"{key}={print_param(value)}")
        text = f"{', '.join(names[v] for v in node.outputs)} = {node.op.name}({', '.join(given)})"
        kind = "region" if inside else "adjoint" if node.note.startswith("adjoint") else "operation"
        type_ = str(node.outputs[0].type) + (", …" if len(node.outputs) > 1 else "")
        tip = "\n".join(x for x in (text, node.where, node.note) if x)
        box = DrawnBox(kind, (*lines_of(text, WIDEST), type_), tip, tuple(inside))
        arrows += [Arrow(makers[a], box) for a in node.inputs if isinstance(a, Var)]
        makers.update(dict.fromkeys(node.outputs, box))
        boxes.append(box)
    for k, atom in enumerate(graph.outputs):
        label = "result" if len(graph.outputs) == 1 else f"result {k}"
        value = str(atom.type) if not isinstance(atom, Literal) else print_atom(atom, names)
        box = DrawnBox("result", (label, value), f"{label}: {print_atom(atom, names)}")
        if isinstance(atom, Var):
            arrows.append(Arrow(makers[atom], box))
        boxes.append(box)
    return Diagram(boxes, arrows, title)
