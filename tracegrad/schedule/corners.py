"""Parts of arrays that begin where the array does: they lie in its place."""

from __future__ import annotations

from ..ir.graph import Node, Var
from ..ops.arrays.slices import embed_op, slice_op
from ..sizes import same


def begins(node: Node) -> bool:
    """Whether a node takes the first elements along each axis, which lie where those of the source
    do."""
    p = node.params
    return (
        node.op is slice_op
        and isinstance(node.inputs[0], Var)
        and all(same(b, 0) and s == 1 for b, s in zip(p["start"], p["step"], strict=True))
    )


def fills_up(node: Node) -> bool:
    """Whether a node puts zeros behind the elements along each axis."""
    return node.op is embed_op and all(same(b, 0) for b in node.params["start"])


__all__ = ["begins", "fills_up"]
