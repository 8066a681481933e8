"""Systems of a few equations inside of loops: written out, since a call costs more than their arithmetic and ends every vectorised loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import kernel
from ..ir.graph import Node
from ..ops.stacks import SINGULAR
from .lower import BOOL, converted
from .names import comment_of, place_of

if TYPE_CHECKING:
    from .whole import Whole

MOST = 20
"""The largest number of unknowns times columns, those of the right-hand side included: four unknowns and one right-hand side."""


def is_few(node: Node) -> bool:
    """Whether this is one small system of real equations, with few right-hand sides, or one small inverse."""
    out = node.outputs[0].type
    if node.op.name not in ("solve", "inv") or out.dtype.kind != "f":
        return False
    stack, n, k = out.shape
    return stack == 1 and isinstance(n, int) and isinstance(k, int) and 0 < n * (n + k) <= MOST


def eliminate(whole: Whole, node: Node) -> None:
    """Gaussian elimination with row exchanges: the row with the largest pivot, the first of those, is selected and not branched to."""
    e, out = whole.emitter, node.outputs[0]
    dtype, comment = out.type.dtype, comment_of(node)
    _, n, k = map(int, out.type.shape)

    def make(code: str, kind: np.dtype[Any] = dtype, **arguments: kernel.Expression) -> kernel.Expression:
        return e.let(e.names.of(out), kernel.Apply(code, tuple(arguments.items()), kind), comment)

    def right(i: int, j: int) -> kernel.Expression:
        return e.element(node.inputs[1], (0, i, j)) if node.op.name == "solve" else kernel.Literal(float(i == j), dtype)

    rows = [[*[e.element(node.inputs[0], (0, i, j)) for j in range(n)], *[right(i, j) for j in range(k)]] for i in range(n)]
    rows = [[converted(x, dtype) for x in row] for row in rows]
    for c in range(n):
        for r in range(c + 1, n):
            larger = make("abs_({x}) > abs_({y})", BOOL, x=rows[r][c], y=rows[c][c])
            for j in range(c, n + k):
                lower, upper = rows[r][j], rows[c][j]
                rows[r][j] = make("{x} if {larger} else {y}", x=upper, y=lower, larger=larger)
                rows[c][j] = make("{x} if {larger} else {y}", x=lower, y=upper, larger=larger)
        e.check(kernel.Apply("{x} != 0", (("x", rows[c][c]),), BOOL), SINGULAR + place_of(node), kernel.Literal(0, kernel.INT64))
        for r in range(c + 1, n):
            factor = make("{x} / {y}", x=rows[r][c], y=rows[c][c])
            for j in range(c + 1, n + k):
                rows[r][j] = make("{x} - {y}", x=rows[r][j], y=make("{x} * {y}", x=factor, y=rows[c][j]))
    for i in reversed(range(n)):
        for j in range(n, n + k):
            for c in range(i + 1, n):
                rows[i][j] = make("{x} - {y}", x=rows[i][j], y=make("{x} * {y}", x=rows[i][c], y=rows[c][j]))
            rows[i][j] = make("{x} / {y}", x=rows[i][j], y=rows[i][i])
            whole.nests.store(e.storage[out], (0, i, j - n), rows[i][j])


__all__ = ["eliminate", "is_few"]
