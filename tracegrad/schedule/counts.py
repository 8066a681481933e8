"""Arithmetic on numbers of steps and indices, kept as integer expressions: of those it is known in
which range they are."""

from __future__ import annotations

from collections.abc import Sequence

from .._codegen import integers, kernel
from ..ir.op import Op
from ..types import Int


def counted_by(op: Op, operands: Sequence[kernel.Expression]) -> kernel.Index | None:
    """The result of arithmetic on counts and numbers as an integer expression, of which more is
    known than of a value."""
    if op.symbolic is None or not any(isinstance(x, kernel.Index) for x in operands):
        return None
    values: list[Int] = []
    for x in operands:
        value = x.value if isinstance(x, (kernel.Index, kernel.Literal)) else None
        if not isinstance(value, (int, integers.Integer)) or isinstance(value, bool):
            return None
        values.append(value)
    return kernel.Index(op.symbolic(*values))
