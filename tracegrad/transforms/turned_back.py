"""The adjoint of a roll is a roll: what two slices of a cotangent are put into is one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.graph import Atom, Node, Var
from ..ops.arrays.concatenation import concatenate_op
from ..ops.arrays.slices import embed_op, slice_op
from ..ops.elementwise.derived import add_op
from ..sizes import same, same_shape
from ..types import Int, equal_types

if TYPE_CHECKING:
    from .rewriter import Rewriter


def turned_back(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """(x + embed(g[m:], 0)) + embed(g[:m], n - m) -> x + concatenate(g[m:], g[:m]), also without x;
    their zeros are absent, so it is the same sum at each place."""
    if node.op is not add_op:
        return None
    for rest, piece in (inputs, inputs[::-1]):
        second = _piece(b, piece)
        if second is None:
            continue
        first = _piece(b, rest)
        joined = None if first is None else _joined(b, node, first, second)
        if joined is not None:
            return joined
        inner = b.made_by(rest, add_op)
        if inner is None or not equal_types(rest.type, node.outputs[0].type):
            continue
        for x, other in (inner.inputs, inner.inputs[::-1]):
            first = _piece(b, other)
            joined = None if first is None else _joined(b, node, first, second)
            if joined is not None:
                return b.emit(add_op, (x, joined), {}, node)
    return None


def _piece(b: Rewriter, atom: Atom) -> tuple[Node, Node] | None:
    """The slice without gaps that lies in a value of absent zeros, and what puts it there."""
    put = b.made_by(atom, embed_op)
    cut = b.made_by(put.inputs[0], slice_op) if put is not None and put.params["absent"] else None
    if put is None or cut is None or not all(same(s, 1) for s in cut.params["step"]):
        return None
    return cut, put


def _joined(
    b: Rewriter, node: Node, one: tuple[Node, Node], other: tuple[Node, Node]
) -> Atom | None:
    """Both pieces as one array, if they are all of one that was rolled along an axis."""
    (cut, put), (cut_too, put_too) = one, other
    source, shape = cut.inputs[0], put.params["shape"]
    if (
        cut_too.inputs[0] is not source
        or not isinstance(source, Var)
        or not same_shape(source.type.shape, shape)
    ):
        return None
    starts = put.params["start"], put_too.params["start"]
    axes = [k for k in range(len(shape)) if not same(starts[0][k], starts[1][k])]
    if len(axes) != 1:
        return None
    (axis,) = axes
    if same(starts[1][axis], 0):
        (cut, put), (cut_too, put_too) = other, one

    def moved(begin: Int) -> tuple[Int, ...]:
        return tuple([begin if k == axis else 0 for k in range(len(shape))])

    size, size_too = cut.params["size"][axis], cut_too.params["size"][axis]
    whole = tuple([size + size_too if k == axis else n for k, n in enumerate(cut.params["size"])])
    if not (
        same_shape(whole, shape)
        and same_shape(put.params["start"], moved(0))
        and same_shape(put_too.params["start"], moved(size))
        and same_shape(cut.params["start"], moved(size_too))
        and same_shape(cut_too.params["start"], moved(0))
    ):
        return None
    return b.emit(concatenate_op, (*put.inputs, *put_too.inputs), {"axis": axis}, node)


__all__ = ["turned_back"]
