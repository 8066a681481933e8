"""Arithmetic on numbers of steps and indices, kept as integer expressions: of those it is known in
which range they are."""

from __future__ import annotations

from collections.abc import Container, Sequence

from .._codegen import integers, kernel
from ..dtypes import INT64
from ..ir.graph import Atom, Graph, Literal, Var
from ..ir.op import Op
from ..types import Int
from .bounds import Ranges, exact, nonnegative


def counted_by(
    op: Op, operands: Sequence[kernel.Expression], ranges: Ranges
) -> kernel.Index | None:
    """The result of arithmetic on counts and numbers as an integer expression, of which more is
    known than of a value."""
    if not _counts(op, operands) or not any(isinstance(x, kernel.Index) for x in operands):
        return None
    values: list[Int] = []
    for x in operands:
        value = x.value if isinstance(x, (kernel.Index, kernel.Literal)) else None
        if not isinstance(value, (int, integers.Integer)) or isinstance(value, bool):
            return None
        values.append(value)
    if op.symbolic is not None:
        return kernel.Index(op.symbolic(*values))
    value, divisor = values
    # Kernels count in unsigned words.
    if not isinstance(divisor, int) or divisor <= 0 or not nonnegative(value, ranges):
        return None
    if not exact(value, ranges):
        return None
    assert op.divided is not None
    return kernel.Index(op.divided(value, divisor))


def _counts(op: Op, operands: Sequence[Atom | kernel.Expression]) -> bool:
    """Whether there may be an integer expression of the result of such operands."""
    if op.divided is not None:
        return isinstance(operands[1], (Literal, kernel.Literal))
    return op.symbolic is not None


def numbers(graph: Graph, counts: Container[Var]) -> set[Var]:
    """What a graph makes of counts by such arithmetic."""
    found: set[Var] = set()
    for node in graph.nodes:
        if not node.outputs:
            continue
        kind = node.outputs[0].type
        known = [isinstance(a, Var) and (a in counts or a in found) for a in node.inputs]
        if (
            _counts(node.op, node.inputs)
            and kind.ndim == 0
            and kind.dtype == INT64
            and any(known)
            and all(
                ok or (isinstance(a, Literal) and a.type.dtype.kind in "iu")
                for a, ok in zip(node.inputs, known, strict=True)
            )
        ):
            found.update(node.outputs)
    return found
