"""What a write reads of the array that it changes: in the place of each element only, or elsewhere.

`x[a:b] = f(x[a:b])` may be done element by element where `x` lies; `x[a:b] = f(x[a+1:b+1])` would
read what it has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._codegen import integers, lowering
from ..ir.graph import Atom, Node, Var, alike
from ..types import Int
from .bounds import Ranges, reshape_index
from .indices import Index, aligned, is_one


def read_elsewhere(
    write: Node, update: Atom, made: Mapping[Var, Node], reads: Callable[[Atom], bool]
) -> list[Atom]:
    """What has to be kept before a scatter overwrites elements of its operand: it is computed of
    other elements than the one that is written in its place.

    reads   whether an atom reads that operand, directly or where it is computed
    """
    rule = write.op.lowering
    if not isinstance(rule, lowering.Scatter) or update is not write.inputs[1]:
        return [update]
    index = tuple([0 if is_one(n) else _name(k) for k, n in enumerate(update.type.shape)])
    ranges: Ranges = {str(_name(k)): (0, n) for k, n in enumerate(update.type.shape)}
    written = _places(write, rule, index)
    starts = write.inputs[2:]
    # Places that hang on arrays of indices may be the same ones.
    if any(a.type.shape for a in starts):
        return [update]
    found: dict[Atom, None] = {}

    def look(atom: Atom, at: Index) -> None:
        if not isinstance(atom, Var) or not reads(atom):
            return
        node = made.get(atom)
        rule = None if node is None else node.op.lowering
        if node is not None and isinstance(rule, lowering.Pointwise):
            for a in node.inputs:
                look(a, aligned(at, a.type.shape))
        elif node is not None and isinstance(rule, lowering.View):
            old, new = node.inputs[0].type.shape, atom.type.shape
            inner = (
                reshape_index(at, old, new, ranges)
                if rule.reshape
                else rule.index(at, old, new, node.params)
            )
            look(node.inputs[0], inner)
        elif (
            node is None
            or not isinstance(rule, lowering.Gather)
            or node.inputs[0] is not write.inputs[0]
            or len(node.inputs) != 1 + len(starts)
            or not all(map(alike, node.inputs[1:], starts))
            or _places(node, rule, at) != written
        ):
            found[atom] = None

    look(update, index)
    return list(found)


def _name(axis: int) -> integers.Integer:
    return integers.symbol(f"place{axis}")


def _places(
    node: Node, rule: lowering.Gather | lowering.Scatter, index: Index
) -> list[Int | tuple[Any, ...]]:
    """Where a gather or scatter reads or writes, from where its runs begin."""
    entries = rule.index(index, tuple(a.type.shape for a in node.inputs), node.params)
    first = len(node.inputs) - len(node.params["axes"])
    return [
        (e.which - first, e.position, e.offset, e.low, e.high, e.from_end)
        if isinstance(e, lowering.Run)
        else e
        for e in entries
    ]


__all__ = ["read_elsewhere"]
