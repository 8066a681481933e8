"""The sparse matrix of equations by their unknowns: found when the equations are traced, its values
computed wherever a system with it is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..dtypes import promote
from ..ir.graph import Graph
from ..ops.sparse import products
from ..ops.sparse.pattern import Pattern
from ..sparse.inside import Inside, format_of, matrix_inside
from ..sparse.plan import Wish
from ..transforms.tracing import leaf_type


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """d equations / d unknowns, of equations over (unknowns, what they read...)."""

    values: Inside
    pattern: Pattern

    @staticmethod
    def of(equations: Graph, captures: Sequence[Any], given: int = 1) -> SparseMatrix:
        """The matrix by the first of the inputs that are `given`; plain arrays among the captures
        say where entries are."""
        values = matrix_inside(equations, [0], [None] * given + [*captures], given, Wish())
        return SparseMatrix(values, format_of(values.plan.structure, "csr").pattern)

    def data(self, operands: Sequence[Any]) -> Any:
        """The entries for these values of the unknowns and of what the equations read."""
        return self.values.data(operands)

    def solve(self, operands: Sequence[Any], b: Any, transposed: bool = False) -> Any:
        """v with `matrix @ v = b`, with derivatives by all operands."""
        data = self.data(operands)
        dtype = promote(leaf_type(data).dtype, leaf_type(b).dtype)
        data, b = ops.convert(data, dtype), ops.convert(b, dtype)
        return products.solve(data, b, self.pattern, transposed)


__all__ = ["SparseMatrix"]
