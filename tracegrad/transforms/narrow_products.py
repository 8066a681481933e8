"""Products of a narrow matrix with one that is computed element by element: `W.T @ r`, where W has
up to four columns and r is wider, become sums that the loop which computes r adds up.

As a product r is stored and read again, which takes longer than a few multiplications with what
has just been computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ops.arrays.shape import reshape_op, sum_op, transpose_op
from ..ops.elementwise.derived import mul_op
from ..ops.matrices.products import matmul_op

if TYPE_CHECKING:
    from .rewriter import Rewriter

NARROW = 4
"""The sums for so many columns are written out in the loop along a row."""
WIDE = range(16, 1025)
"""How many numbers a row of r has: with fewer a loop along it is mostly what is left over of
vectors, of more the sums do not stay in the nearest cache."""
LONG = 32
"""Shorter sums are not worth it."""


def beside_computed(graph: Graph) -> set[Node]:
    """The products of which one operand is narrow, and the other one computed for it alone."""
    definition = {v: n for n in graph.nodes for v in n.outputs}
    uses: dict[Var, int] = {}
    for a in [a for n in graph.nodes for a in n.inputs] + [*graph.outputs]:
        if isinstance(a, Var):
            uses[a] = uses.get(a, 0) + 1

    def is_made_for(a: Atom) -> bool:
        made = definition.get(a) if isinstance(a, Var) else None
        if made is None or uses[made.outputs[0]] != 1:
            return False
        if made.op is transpose_op:
            return is_made_for(made.inputs[0])
        return isinstance(made.op.lowering, lowering.Pointwise)

    found = set()
    for node in graph.nodes:
        if node.op is matmul_op and node.outputs[0].type.dtype.kind == "f":
            wide = _wide(node)
            if wide is not None and is_made_for(node.inputs[wide]):
                found.add(node)
    return found


def _wide(node: Node) -> int | None:
    """Which operand is the wide one; None where the sizes do not fit."""
    x, y = node.inputs
    if x.type.ndim != 2 or y.type.ndim != 2:
        return None
    (m, k), n = x.type.shape, y.type.shape[1]
    if isinstance(k, int) and k < LONG:
        return None
    for narrow, other, wide in ((m, n, 1), (n, m, 0)):
        if isinstance(narrow, int) and isinstance(other, int):
            if narrow <= NARROW and other in WIDE:
                return wide
    return None


def as_sums(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> list[Atom]:
    """W.T @ r -> sum(W.T[:, :, None] * r, axis 1) and r.T @ W as its transpose, so that sums lie in
    memory as a row of r does."""
    wide = _wide(node)
    assert wide is not None
    x, y = inputs
    if wide == 0:
        x, y = _transposed(b, y, node), _transposed(b, x, node)
    (m, k), n = x.type.shape, y.type.shape[1]
    # The long axis first, as in memory: W is read row by row.
    left = b.emit(reshape_op, (_transposed(b, x, node),), {"shape": (k, m, 1)}, node)
    right = b.emit(reshape_op, (y,), {"shape": (k, 1, n)}, node)
    terms = b.emit(mul_op, (left, right), {}, node)
    total = b.emit(sum_op, (terms,), {"axes": (0,)}, node)
    return [_transposed(b, total, node) if wide == 0 else total]


def _transposed(b: Rewriter, a: Atom, node: Node) -> Atom:
    made = b.made_by(a, transpose_op)
    if made is not None and made.params["axes"] == (1, 0):
        return made.inputs[0]
    return b.emit(transpose_op, (a,), {"axes": (1, 0)}, node)


__all__ = ["as_sums", "beside_computed"]
