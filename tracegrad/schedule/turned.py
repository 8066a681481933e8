"""Rows of an array that was rolled along an outer axis: `x[(i + shift) % n]`.

Cut where the roll begins anew, as along the last axis, each loop around a stencil with neighbours
on both sides has three parts for each axis, and their code is the loop's nine times over in two
dimensions. Which row it is needs to be known once a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._codegen import integers, lowering
from ..ir.graph import Atom, Node, Var
from ..ops.arrays.concatenation import concatenate_op
from ..ops.arrays.slices import slice_op
from ..sizes import same, same_shape
from ..types import Int
from .analysis import NARROW
from .indices import Index

if TYPE_CHECKING:
    from .lower import Emitter


def turned(e: Emitter, node: Node, index: Index) -> tuple[Var, Index] | None:
    """Of what, and where, an element of two joined slices is, if they are what one behind the other
    would be, the other way round."""
    if node.op is not concatenate_op or len(node.inputs) != 2:
        return None
    axis: int = node.params["axis"]
    if axis == len(index) - 1:
        return None
    last, row = node.outputs[0].type.shape[-1], index[axis]
    if not (isinstance(last, int) and last >= NARROW and _is_outer(e, row, index[-1])):
        return None
    ends, begins = (_slice(e, a) for a in node.inputs)
    if ends is None or begins is None or ends.inputs != begins.inputs:
        return None
    (source,) = begins.inputs
    first, second = ends.params["start"], begins.params["start"]
    before, after = ends.params["size"][axis], begins.params["size"][axis]
    behind = tuple(s + after if k == axis else s for k, s in enumerate(second))
    if not (isinstance(source, Var) and same_shape(first, behind) and _is_plain(e, source)):
        return None
    at = integers.mod(row + after, before + after)
    return source, tuple(
        [s + (at if k == axis else i) for k, (s, i) in enumerate(zip(second, index, strict=True))]
    )


def _slice(e: Emitter, atom: Atom) -> Node | None:
    """The slice without gaps that a value is."""
    if not isinstance(atom, Var) or atom in e.storage or atom not in e.definitions:
        return None
    node, _ = e.definitions[atom]
    return node if node.op is slice_op and all(same(s, 1) for s in node.params["step"]) else None


def _is_outer(e: Emitter, row: Int, column: Int) -> bool:
    """Whether a row stays the same while the loop along it runs."""
    loops = list(e.ranges)
    rows, columns = (
        [
            k
            for k, name in enumerate(loops)
            if not isinstance(i, int) and name in integers.symbols(i)
        ]
        for i in (row, column)
    )
    return bool(rows) and len(columns) == 1 and max(rows) < columns[0] == len(loops) - 1


def _is_plain(e: Emitter, var: Var) -> bool:
    """Whether a value is made of stored ones element by element, wherever it is read."""
    pending: list[Atom] = [var]
    seen: set[Atom] = set()
    while pending:
        a = pending.pop()
        if a in seen or not isinstance(a, Var) or a in e.storage or a in e.counts:
            continue
        seen.add(a)
        if a not in e.definitions:
            return False
        node, _ = e.definitions[a]
        if not isinstance(node.op.lowering, lowering.Pointwise):
            return False
        pending.extend(node.inputs)
    return True


__all__ = ["turned"]
