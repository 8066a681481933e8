"""Small matrices inside of loops: systems, inverses, determinants and factors are written out
there.

A call costs more than their arithmetic, and no loop around it is vectorised. Rows are exchanged by
selection, not by branches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import kernel, lowering
from ..ir.graph import Node
from ..ops.elementwise.arithmetic import div_op
from ..ops.matrices.cholesky import cholesky_op
from ..ops.matrices.systems import det_op, inv_op, slogdet_op, solve_op
from ..ops.matrices.triangular import triangular_op
from .names import comment_of, place_of
from .values import BOOL, converted

if TYPE_CHECKING:
    from .whole import Whole

MOST = 20
"""The largest number of rows times columns, those of a right-hand side included: four unknowns and
one right-hand side."""
WRITTEN = (solve_op, inv_op, det_op, slogdet_op, cholesky_op, triangular_op)


def is_small_matrix(node: Node) -> bool:
    """Whether this is an operation on one small real matrix that can be written out."""
    if node.op not in WRITTEN or node.inputs[0].type.dtype.kind != "f":
        return False
    stack, n, _ = node.inputs[0].type.shape
    k = node.outputs[0].type.shape[2] if node.op in (solve_op, inv_op, triangular_op) else 0
    return stack == 1 and isinstance(n, int) and isinstance(k, int) and 0 < n * (n + k) <= MOST


def write_out(whole: Whole, node: Node) -> None:
    """The statements of such an operation."""
    _Matrix(whole, node).write()


class _Matrix:
    def __init__(self, whole: Whole, node: Node) -> None:
        self.whole, self.e, self.node = whole, whole.emitter, node
        self.dtype = node.outputs[0].type.dtype
        self.n = int(node.inputs[0].type.shape[1])
        self.comment = comment_of(node)

    def write(self) -> None:
        op = self.node.op
        if op is solve_op:
            self.solve([self.row(1, i) for i in range(self.n)])
        elif op is inv_op:
            unit: list[list[kernel.Expression]] = [
                [kernel.Literal(float(i == j), self.dtype) for j in range(self.n)]
                for i in range(self.n)
            ]
            self.solve(unit)
        elif op is det_op:
            sign, pivots, _ = self.pivots([[] for _ in range(self.n)], False)
            for pivot in pivots:
                sign = self.make("{x} * {y}", x=sign, y=pivot)
            self.store((0,), sign)
        elif op is slogdet_op:
            sign, pivots, _ = self.pivots([[] for _ in range(self.n)], False)
            logarithm: kernel.Expression = kernel.Literal(0.0, self.dtype)
            for pivot in pivots:
                sign = self.make("{x} * {y}", x=sign, y=self.make("sign({x})", x=pivot))
                logarithm = self.make(
                    "{x} + {y}",
                    x=logarithm,
                    y=self.make("log({x})", x=self.make("abs_({x})", x=pivot)),
                )
            self.store((0,), sign)
            self.store((0,), logarithm, 1)
        elif op is cholesky_op:
            self.cholesky()
        elif op is triangular_op:
            self.triangular_solve()

    def make(
        self, code: str, kind: np.dtype[Any] | None = None, **arguments: kernel.Expression
    ) -> kernel.Expression:
        name = self.e.names.of(self.node.outputs[0])
        return self.e.let(
            name, kernel.Apply(code, tuple(arguments.items()), kind or self.dtype), self.comment
        )

    def quotient(self, x: kernel.Expression, y: kernel.Expression) -> kernel.Expression:
        rule = div_op.lowering
        assert isinstance(rule, lowering.Pointwise)
        return self.make(rule.template({}, [self.dtype]), x=x, y=y)

    def minus_product(
        self, x: kernel.Expression, y: kernel.Expression, z: kernel.Expression
    ) -> kernel.Expression:
        return self.make("{x} - {y}", x=x, y=self.make("{x} * {y}", x=y, y=z))

    def row(self, which: int, i: int) -> list[kernel.Expression]:
        """Row i of an operand."""
        atom = self.node.inputs[which]
        return [
            converted(self.e.element(atom, (0, i, j)), self.dtype)
            for j in range(int(atom.type.shape[2]))
        ]

    def store(self, at: tuple[int, ...], value: kernel.Expression, which: int = 0) -> None:
        self.whole.nests.store(self.e.storage[self.node.outputs[which]], at, value)

    def check(self, code: str, x: kernel.Expression) -> None:
        """What the routine in whose place this stands would report."""
        rule = self.node.op.lowering
        assert isinstance(rule, lowering.Library)
        _, extra = rule.call(
            tuple(a.type for a in self.node.inputs),
            tuple(v.type for v in self.node.outputs),
            self.node.params,
        )
        message = next(x[5:] for x in extra if isinstance(x, str) and x.startswith("code:"))
        self.e.check(
            kernel.Apply(code, (("x", x),), BOOL),
            message + place_of(self.node),
            kernel.Literal(0, kernel.INT64),
        )

    def pivots(
        self, right: list[list[kernel.Expression]], regular: bool
    ) -> tuple[kernel.Expression, list[kernel.Expression], list[list[kernel.Expression]]]:
        """Gaussian elimination: the sign of the exchanges, the pivots (each the largest of its
        column, the first of those), and the rows.

        regular     whether a pivot of 0 is an error; otherwise its column is 0 already
        """
        n = self.n
        sign: kernel.Expression = kernel.Literal(1.0, self.dtype)
        rows = [[*self.row(0, i), *right[i]] for i in range(n)]
        for c in range(n):
            for r in range(c + 1, n):
                larger = self.make("not abs_({x}) <= abs_({y})", BOOL, x=rows[r][c], y=rows[c][c])
                for j in range(c, len(rows[c])):
                    lower, upper = rows[r][j], rows[c][j]
                    rows[r][j] = self.make(
                        "{x} if {larger} else {y}", x=upper, y=lower, larger=larger
                    )
                    rows[c][j] = self.make(
                        "{x} if {larger} else {y}", x=lower, y=upper, larger=larger
                    )
                if not regular:
                    sign = self.make(
                        "{y} if {larger} else {x}",
                        x=sign,
                        y=self.make("-{x}", x=sign),
                        larger=larger,
                    )
            pivot = rows[c][c]
            if regular:
                self.check("{x} != 0", pivot)
            for r in range(c + 1, n):
                factor = self.quotient(rows[r][c], pivot)
                if not regular:
                    some = self.make("{x} != 0", BOOL, x=pivot)
                    factor = self.make("{x} if {some} else {y}", x=factor, y=pivot, some=some)
                for j in range(c + 1, len(rows[r])):
                    rows[r][j] = self.minus_product(rows[r][j], factor, rows[c][j])
        return sign, [rows[c][c] for c in range(n)], rows

    def solve(self, right: list[list[kernel.Expression]]) -> None:
        n = self.n
        _, pivots, rows = self.pivots(right, True)
        for i in reversed(range(n)):
            for j in range(n, len(rows[i])):
                for c in range(i + 1, n):
                    rows[i][j] = self.minus_product(rows[i][j], rows[i][c], rows[c][j])
                rows[i][j] = self.quotient(rows[i][j], pivots[i])
                self.store((0, i, j - n), rows[i][j])

    def cholesky(self) -> None:
        a = [self.row(0, i) for i in range(self.n)]
        for j in range(self.n):
            for i in range(j, self.n):
                for c in range(j):
                    a[i][j] = self.minus_product(a[i][j], a[i][c], a[j][c])
                if i == j:
                    self.check("({x} > 0) | ({x} != {x})", a[j][j])
                a[i][j] = (
                    self.make("sqrt({x})", x=a[j][j]) if i == j else self.quotient(a[i][j], a[j][j])
                )
            for i in range(self.n):
                self.store((0, i, j), a[i][j] if i >= j else kernel.Literal(0.0, self.dtype))

    def triangular_solve(self) -> None:
        n, params = self.n, self.node.params
        a = [self.row(0, i) for i in range(n)]
        if params["trans"]:
            a = [list(column) for column in zip(*a, strict=True)]
        x = [self.row(1, i) for i in range(n)]
        forwards = params["lower"] != bool(params["trans"])
        if not params["unit"]:
            for i in range(n):
                self.check("{x} != 0", a[i][i])
        for i in range(n) if forwards else reversed(range(n)):
            for j in range(len(x[i])):
                for c in range(i) if forwards else range(i + 1, n):
                    x[i][j] = self.minus_product(x[i][j], a[i][c], x[c][j])
                if not params["unit"]:
                    x[i][j] = self.quotient(x[i][j], a[i][i])
                self.store((0, i, j), x[i][j])


__all__ = ["is_small_matrix", "write_out"]
