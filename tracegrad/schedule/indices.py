"""Where an operand is read for a given place of the result."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.graph import Node
from ..sizes import same
from ..types import Int, Shape

Index = tuple[Int, ...]


def is_one(size: Int) -> bool:
    """Whether a size is 1: the number, or one for which the trace relied on that."""
    return same(size, 1)


def is_empty(shape: Shape) -> bool:
    """Whether there are no elements."""
    return any(same(s, 0) for s in shape)


def aligned(index: Index, shape: Shape) -> Index:
    """The index of an operand of `shape` for an element of the broadcast result."""
    mine = index[len(index) - len(shape) :]
    return tuple(0 if is_one(s) else i for i, s in zip(mine, shape, strict=True))


def place(index: Index, node: Node, position: Iterable[Int]) -> Index:
    """The source index of a reduction for a result index and a position along the reduced axes."""
    ndim = node.inputs[0].type.ndim
    axes = node.params["axes"]
    along = dict(zip(axes, position, strict=True))
    kept = list(index)
    if node.params.get("keepdims"):
        return tuple(along[k] if k in along else kept[k] for k in range(ndim))
    rest = iter(kept)
    return tuple(along[k] if k in along else next(rest) for k in range(ndim))
