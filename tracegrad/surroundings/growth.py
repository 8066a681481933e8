"""Python's integers, which have no bound, as the integers of a graph, which have 64 bits: how far
they can grow in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..control.call import call_op
from ..errors import TracegradError
from ..ir.graph import Graph, Literal, Node, Var
from ..ir.op import Op
from ..ops.elementwise.arithmetic import neg_op, sub_op, where_op
from ..ops.elementwise.comparison import clip_max_op, clip_min_op, maximum_op, minimum_op
from ..ops.elementwise.derived import add_op, convert_op, mul_op
from ..ops.elementwise.elementary import abs_op, identity_op, sign_op, square_op
from ..ops.elementwise.powers import pow_op
from ..ops.elementwise.remainders import floor_divide_op, mod_op
from ..ops.totals.statistics import no_grad_op, stop_gradient_op

_BOUNDS = (1 << 31, 1 << 47, 1 << 62)


class Outgrown(TracegradError):
    """An operation on Python integers whose result may need more than 64 bits; says which."""


def bound_of(n: int) -> int:
    """Up to what a Python integer may grow before the function is traced again."""
    return next((b for b in _BOUNDS if abs(n) < b), _BOUNDS[-1])


def grown(graph: Graph, starts: Mapping[Var, int]) -> dict[Var, int]:
    """How large each number can become that is computed from integers of at most these sizes;
    Outgrown where that is more than 64 bits."""
    most: dict[Var, int] = dict(starts)

    def of(a: Any) -> int | None:
        """The size of an operand; None for what is counted in 64 bits by Python's and NumPy's rules
        alike."""
        if isinstance(a, Literal):
            return abs(a.value) if isinstance(a.value, int) else None
        return most.get(a, _BOUNDS[-1] if a.type.weak and a.type.dtype.kind == "i" else None)

    for node in graph.nodes:
        if not any(isinstance(a, Var) and a in most for a in node.inputs):
            continue
        if node.op is call_op:
            inner = node.params["graph"]
            found = grown(
                inner,
                {
                    v: most[a]
                    for v, a in zip(inner.inputs, node.inputs, strict=True)
                    if isinstance(a, Var) and a in most
                },
            )
            most.update(
                {
                    v: found[o]
                    for v, o in zip(node.outputs, inner.outputs, strict=True)
                    if isinstance(o, Var) and o in found
                }
            )
            continue
        out = node.outputs[0]
        operands = [of(a) for a in node.inputs if a.type.dtype.kind == "i"]
        if out.type.dtype.kind != "i" or out.type.shape != () or None in operands:
            continue
        rule = _RULES.get(node.op)
        size = None if rule is None else rule([s for s in operands if s is not None], node)
        if size is None or size >= 1 << 63:
            raise Outgrown(f"{node.op.name} at {node.where}")
        most[out] = size
    return most


def _power(sizes: list[int], node: Node) -> int | None:
    exponent: Any = node.inputs[1].value if isinstance(node.inputs[1], Literal) else None
    return sizes[0] ** sizes[1] if isinstance(exponent, int) and 0 <= exponent < 64 else None


_RULES: dict[Op, Callable[[list[int], Node], int | None]] = {
    **dict.fromkeys((add_op, sub_op), lambda s, node: sum(s)),
    **dict.fromkeys(
        (
            neg_op, abs_op, identity_op, convert_op, where_op, maximum_op, minimum_op, clip_min_op,
            clip_max_op, no_grad_op, stop_gradient_op,
        ),
        lambda s, node: max(s),
    ),
    floor_divide_op: lambda s, node: s[0],
    mod_op: lambda s, node: s[1],
    mul_op: lambda s, node: s[0] * s[1],
    square_op: lambda s, node: s[0] ** 2,
    sign_op: lambda s, node: 1,
    pow_op: _power,
}  # fmt: skip
"""By operations the size of the result, from those of the operands."""

__all__ = ["Outgrown", "bound_of", "grown"]
