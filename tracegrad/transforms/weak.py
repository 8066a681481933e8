"""Python's numbers in a graph made arrays, with the conversions that they stood for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import INT64, promote
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.op import WEAK
from ..ops.elementwise.arithmetic import number_op
from ..ops.elementwise.derived import beyond, convert_op
from ..sizes import same_shape
from ..types import ArrayType
from ..weak import PYTHON


def explicit(graph: Graph) -> Graph:
    """The same graph without weak variables: where one met an array of another dtype, it is
    converted to that.

    A graph is traced for Python's numbers so that they raise no dtype, and read for arrays wherever
    loops, branches and batches put arrays in their place. `c * x` of a weak c and a float32 x is
    `convert(c, float32) * x`.
    """
    return _explicit(graph)[0]


def for_arrays(graph: Graph) -> bool:
    """Whether it computes the same where arrays stand in the place of Python's numbers."""
    return not _explicit(graph)[1]


def as_array(kind: ArrayType) -> ArrayType:
    """The type of an array in the place of a Python number."""
    return ArrayType(kind.dtype, kind.shape) if kind.weak else kind


def kind_of(kind: ArrayType) -> Any:
    """What promotion sees of a type."""
    return WEAK[kind.dtype.kind] if kind.weak else kind.dtype


def holding(a: Any, ends_a: Any, b: Any, ends_b: Any) -> np.dtype[Any]:
    """The dtype that holds values of two types, of which the ends are known where they are numbers
    of Python's."""
    dtype = promote(kind_of(a), kind_of(b))
    if a.weak == b.weak:
        return dtype
    strong, kind, ends = (b, a.dtype.kind, ends_a) if a.weak else (a, b.dtype.kind, ends_b)
    if kind == "f" and strong.dtype == np.float32 and ends is not None:
        large = abs(ends[0]) > float(np.finfo(np.float32).max) and abs(ends[0]) < float("inf")
        return np.dtype(np.float64) if large else dtype
    if kind not in "iu" or strong.dtype.kind not in "iu" or strong.dtype == INT64:
        return dtype
    if ends is None:
        return INT64 if strong.dtype.itemsize < 8 else dtype
    if not any(beyond(end, strong.dtype) for end in ends):
        return dtype
    found: np.dtype[Any] = strong.dtype
    for end in ends:
        found = np.promote_types(found, np.min_scalar_type(end))
    return found


FITS = 0, 0
"""The ends of a number that will be converted, and refused where it does not fit."""


def agreed(a: ArrayType, b: ArrayType, ends_a: Any = None, ends_b: Any = None) -> ArrayType | None:
    """The type that holds two values of which one will be there: a Python number gives way to an
    array, if need be to a wider one. None where they do not go together, two arrays of different
    dtypes among them."""
    if not same_shape(a.shape, b.shape) or (a.dtype != b.dtype and not a.weak and not b.weak):
        return None
    return ArrayType(holding(a, ends_a, b, ends_b), a.shape, a.weak and b.weak)


def ends_of_atom(a: Atom) -> Any:
    """Between which numbers a result is, where it is one of Python's that is known."""
    known = isinstance(a, Literal) and type(a.value) in (bool, int, float)
    return (a.value, a.value) if known else None  # type: ignore[union-attr]


def _explicit(graph: Graph) -> tuple[Graph, bool]:
    """The graph without weak variables, and whether that took conversions."""
    if "explicit" not in graph.derived:
        made, converted = _made_explicit(graph) if _may_have_numbers(graph) else (graph, False)
        # None stands for the graph itself, which would be garbage of the collector's otherwise.
        graph.derived["explicit"] = None if made is graph else made, converted
    found, converted = graph.derived["explicit"]
    return graph if found is None else found, converted


def _may_have_numbers(graph: Graph) -> bool:
    """Whether a variable is weak, or could be in a graph inside: a quick look, since every function
    that is read for arrays is asked."""
    for v in graph.inputs:
        if v.type.weak:
            return True
    for node in graph.nodes:
        for v in node.outputs:
            if v.type.weak:
                return True
        for p in node.params.values():
            if isinstance(p, Graph) or (
                isinstance(p, tuple) and any(isinstance(part, Graph) for part in p)
            ):
                return True
    return False


def _made_explicit(graph: Graph) -> tuple[Graph, bool]:
    known: dict[Atom, Atom] = {}

    def renewed(v: Var) -> Var:
        if v.type.weak:
            known[v] = made = Var(as_array(v.type), v.name, v.trace)
            made.origin = v.origin
            return made
        return v

    inputs = tuple(map(renewed, graph.inputs))
    nodes: list[Node] = []
    converted = False
    for node in graph.nodes:
        params = {k: _explicit_parts(p) for k, p in node.params.items()}
        before = [known.get(a, a) for a in node.inputs]
        if all(a is b for a, b in zip(before, node.inputs, strict=True)) and not any(
            v.type.weak for v in node.outputs
        ):
            nodes.append(node if params == node.params else _with(node, params=params))
        elif node.op is number_op:
            known[node.outputs[0]] = before[0]
        else:
            wanted = _dtypes(node, node.inputs)
            if wanted != _dtypes(node, before):
                converted = True
                for k, (a, dtype) in enumerate(zip(before, wanted, strict=True)):
                    if a is not node.inputs[k] and a.type.dtype != dtype:
                        before[k] = made = Var(ArrayType(dtype, a.type.shape))
                        nodes.append(
                            Node(convert_op, (a,), {"dtype": dtype}, (made,), node.where, node.note)
                        )
            if not any(isinstance(a, Var) for a in before):
                # Of Python's numbers alone an operation gives such a number.
                before = [_array_number(a) for a in before]
                for k, a in enumerate(before):
                    if isinstance(a, Literal) and a.weak:  # a size
                        before[k] = made = Var(ArrayType(a.type.dtype, ()))
                        nodes.append(
                            Node(convert_op, (a,), {"dtype": made.type.dtype}, (made,), node.where)
                        )
            made_now = tuple(map(renewed, node.outputs))
            nodes.append(_with(node, inputs=tuple(before), params=params, outputs=made_now))
    outputs = tuple([known.get(a, a) for a in graph.outputs])
    changed = known or any(a is not b for a, b in zip(nodes, graph.nodes, strict=False))
    return graph.replace(
        inputs=inputs, nodes=tuple(nodes), outputs=outputs
    ) if changed else graph, converted


def _array_number(a: Atom) -> Atom:
    if isinstance(a, Literal) and type(a.value) in PYTHON:
        return Literal(a.type.dtype.type(a.value))
    return a


def _with(node: Node, **changes: Any) -> Node:
    given = {"inputs": node.inputs, "params": node.params, "outputs": node.outputs, **changes}
    return node.replace(inputs=given["inputs"], params=given["params"], outputs=given["outputs"])


def _dtypes(node: Node, inputs: Sequence[Atom]) -> tuple[Any, ...]:
    """The dtypes in which an operation computes with these operands, where its rule looks at who is
    weak."""
    return tuple(node.op.compute(*inputs, **node.params)) if node.op.compute is not None else ()


def _explicit_parts(value: Any) -> Any:
    if isinstance(value, Graph):
        return explicit(value)
    if isinstance(value, tuple) and any(isinstance(part, Graph) for part in value):
        made = tuple(map(_explicit_parts, value))
        return value if all(a is b for a, b in zip(made, value, strict=True)) else made
    return value


def types_of(atoms: Sequence[Atom]) -> list[ArrayType]:
    """The types of results, of which Python's numbers are weak."""
    return [
        ArrayType(a.type.dtype, a.type.shape, a.type.weak or (isinstance(a, Literal) and a.weak))
        for a in atoms
    ]


__all__ = [
    "FITS", "agreed", "as_array", "ends_of_atom", "explicit", "for_arrays", "holding", "kind_of",
    "types_of",
]  # fmt: skip
