"""Rules that hold for any elementwise operation or view: what changes nothing goes, what is
repeated is computed once, what is known is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers, lowering
from ..ir.graph import Atom, Literal, Node, Var
from ..ops.arrays.shape import broadcast_to_op, reshape_op, sum_op, transpose_op
from ..ops.arrays.slices import embed_op, slice_op
from ..ops.elementwise.arithmetic import neg_op, where_op
from ..sizes import same_shape
from ..types import equal_types

if TYPE_CHECKING:
    from .rewriter import Rewriter


def _scalar(atom: Atom) -> Any:
    return atom.value if isinstance(atom, Literal) else None


def _is(atom: Atom, number: float) -> bool:
    value = _scalar(atom)
    return (
        value is not None
        and not isinstance(value, (integers.Integer, bool, np.bool_))
        and value == number
    )


def _is_neutral(atom: Atom, number: float | None, node: Node) -> bool:
    """Whether an operand is this number; of zeros the sign counts, but among integers: -0.0 + 0.0
    is 0.0, so of floats only -0.0 adds nothing."""
    if number is None or not _is(atom, number):
        return False
    return (
        number != 0
        or node.outputs[0].type.dtype.kind in "iu"
        or np.signbit(np.real(_scalar(atom))) == np.signbit(number)
    )


def drop_identity(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """x * 1, x / 1, x - 0, x + (-0), identity(x), convert, reshape, broadcast_to x's own type ->
    x."""
    op = node.op
    if op.passes is not None:
        return inputs[op.passes]
    if op.neutral:
        return next(
            (inputs[1 - k] for k in (1, 0) if _is_neutral(inputs[k], op.neutral[k], node)), None
        )
    return inputs[0] if op is sum_op and node.params["axes"] == () else None


def merge_pair(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """-(-x) -> x; reshape(reshape(x)) -> reshape(x); transpose(transpose(x)) -> transpose(x);
    slice(embed(x)) -> x; broadcast_to, slice and embed of their like -> one; slice that takes all
    -> x."""
    op = node.op
    inner = b.made_by(inputs[0], op) if inputs else None
    if op is neg_op and inner:
        return inner.inputs[0]
    if op in (reshape_op, broadcast_to_op) and inner:
        return b.emit(node.op, inner.inputs, node.params, node)
    if op is transpose_op and inner:
        axes = tuple(inner.params["axes"][a] for a in node.params["axes"])
        return (
            inner.inputs[0]
            if axes == tuple(range(len(axes)))
            else b.emit(node.op, inner.inputs, {"axes": axes}, node)
        )
    if op is slice_op:
        own = node.params
        if same_shape(own["size"], inputs[0].type.shape) and all(s == 1 for s in own["step"]):
            return inputs[0]
        outer = b.made_by(inputs[0], embed_op)
        if (
            outer
            and same_shape(node.params["start"], outer.params["start"])
            and all(s == 1 for s in node.params["step"])
        ):
            return outer.inputs[0]
        if inner:
            outer_params = inner.params
            start = tuple(
                a + b * s
                for a, b, s in zip(
                    outer_params["start"], own["start"], outer_params["step"], strict=True
                )
            )
            step = tuple(a * b for a, b in zip(outer_params["step"], own["step"], strict=True))
            return b.emit(
                node.op, inner.inputs, {"start": start, "size": own["size"], "step": step}, node
            )
    if op is embed_op:
        if same_shape(inputs[0].type.shape, node.outputs[0].type.shape):
            return inputs[0]
        if inner and inner.params["absent"] == node.params["absent"]:
            start = tuple(
                a + b for a, b in zip(inner.params["start"], node.params["start"], strict=True)
            )
            return b.emit(node.op, inner.inputs, {**node.params, "start": start}, node)
    return None


def _scalar_source(b: Rewriter, atom: Atom) -> Atom | None:
    """The 0-d value of which every element of `atom` is a copy."""
    if atom.type.shape == ():
        return atom
    repeated = b.made_by(atom, broadcast_to_op)
    return (
        repeated.inputs[0] if repeated is not None and repeated.inputs[0].type.shape == () else None
    )


def spread_late(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """f(broadcast_to(a), broadcast_to(b)) of scalars -> broadcast_to(f(a, b)); reshape, transpose,
    slice of one -> broadcast_to(a)."""
    out = node.outputs[0].type
    if out.shape == () or not inputs:
        return None
    if node.op in (reshape_op, transpose_op, slice_op, broadcast_to_op):
        source = _scalar_source(b, inputs[0])
        if source is None or (node.op is broadcast_to_op and source is inputs[0]):
            return None
        return b.emit(broadcast_to_op, (source,), {"shape": out.shape}, node)
    if (
        not isinstance(node.op.lowering, lowering.Pointwise)
        or "{0}" in str(node.op.lowering.code)
        or callable(node.op.lowering.code)
    ):
        return None
    sources = [_scalar_source(b, a) for a in inputs]
    if any(s is None for s in sources):
        return None
    types = node.op.infer(*sources, **node.params)
    if types[0].dtype != out.dtype or types[0].shape != ():
        return None
    small = node.replace(
        inputs=tuple(s for s in sources if s is not None), outputs=(Var(types[0]),)
    )
    value = (
        fold_literals(b, small, small.inputs)
        or _rule_identity_checked(b, small)
        or b.keep(small, small.inputs)[0]
    )
    return b.emit(broadcast_to_op, (value,), {"shape": out.shape}, node)


def drop_broadcast(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """f(broadcast_to(x), y) -> f(x, y), or broadcast_to(f(x, y)) where x and y are smaller:
    elementwise operations broadcast by themselves."""
    rule = node.op.lowering
    if not isinstance(rule, lowering.Pointwise) or not inputs:
        return None
    out = node.outputs[0].type
    operands = []
    for k, atom in enumerate(inputs):
        repeated = b.made_by(atom, broadcast_to_op)
        kept = (
            repeated is None
            or (k == 0 and node.op is where_op)
            or atom.type.dtype != repeated.inputs[0].type.dtype
        )
        operands.append(atom if kept or repeated is None else repeated.inputs[0])
    if all(x is y for x, y in zip(operands, inputs, strict=True)):
        return None
    types = tuple(node.op.infer(*operands, **node.params))
    if equal_types(types[0], out):
        simpler = node.replace(inputs=tuple(operands))
        return _rule_identity_checked(b, simpler) or b.keep(simpler, simpler.inputs)[0]
    # What reads its own index cannot be computed at a smaller shape.
    if (
        types[0].dtype != out.dtype
        or types[0].weak != out.weak
        or callable(rule.code)
        or "{0}" in rule.code
    ):
        return None
    small = node.replace(inputs=tuple(operands), outputs=(Var(types[0]),))
    value = _rule_identity_checked(b, small) or b.keep(small, small.inputs)[0]
    return b.emit(broadcast_to_op, (value,), {"shape": out.shape}, node)


def _rule_identity_checked(b: Rewriter, node: Node) -> Atom | None:
    found = drop_identity(b, node, node.inputs)
    return found if found is not None and same_type(found, node.outputs[0]) else None


def fold_literals(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """An elementwise operation on scalar literals -> a literal."""
    if (
        not inputs
        or node.outputs[0].type.shape != ()
        or not isinstance(node.op.lowering, lowering.Pointwise)
    ):
        return None
    if not all(
        isinstance(a, Literal) and not isinstance(a.value, integers.Integer) for a in inputs
    ):
        return None
    with np.errstate(all="ignore"):
        values = [a.value for a in inputs if isinstance(a, Literal)]
        value: Any = np.asarray(node.op.evaluate(*values, **node.params))
    kind = node.outputs[0].type
    return Literal(value.item() if kind.weak else value.astype(kind.dtype)[()])


def same_type(a: Atom, b: Var) -> bool:
    kind = a.type
    if isinstance(a, Literal) and a.weak:
        return b.type.weak and b.type.shape == () and kind.dtype == b.type.dtype
    return equal_types(kind, b.type)
