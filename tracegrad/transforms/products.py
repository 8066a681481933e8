"""Local rules for matrix products: those with an identity matrix go, sums over rows or columns come
first, factors stand together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.graph import Atom, Literal, Node, Var
from ..ops.arrays.creation import iota_op
from ..ops.arrays.shape import reshape_op, sum_op, transpose_op
from ..ops.arrays.windows import shear_op
from ..ops.elementwise.arithmetic import equal_op, neg_op
from ..ops.elementwise.derived import convert_op, mul_op
from ..ops.matrices.products import matmul_op
from ..sizes import same, same_shape
from ..types import Int, Shape, equal_types

if TYPE_CHECKING:
    from .rewriter import Rewriter

SHORT, FEW = 4, 4
"""Products with at most so many terms in a sum, or so many sums, are spelled out: they stay in
registers, where a call of any routine costs 40 ns or more."""


def product_with_identity(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """matmul(eye, x) -> x; matmul(x, eye) -> x."""
    if node.op is not matmul_op or node.outputs[0].type.ndim != 2:
        return None
    if _is_identity(b, inputs[0]):
        return inputs[1]
    if _is_identity(b, inputs[1]):
        return inputs[0]
    return None


def _is_identity(b: Rewriter, atom: Atom) -> bool:
    """Whether a matrix was made as `arange(n)[:, None] == arange(n)`."""
    n, m = atom.type.shape
    converted = b.made_by(atom, convert_op)
    equal = b.made_by(converted.inputs[0] if converted is not None else atom, equal_op)
    if equal is None or not same(n, m):
        return False
    counted = set()
    for operand in equal.inputs:
        column = b.made_by(operand, reshape_op)
        count = b.made_by(column.inputs[0] if column is not None else operand, iota_op)
        if count is None or not same(count.params["size"], n):
            return False
        counted.add(same_shape(operand.type.shape[-2:], (n, 1)))
    return counted == {True, False}


def sum_of_product(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """sum over the rows of x @ y -> (sum over the rows of x) @ y; sum over its columns -> x @ (sum
    over the columns of y)."""
    if node.op is not sum_op or len(node.params["axes"]) != 1:
        return None
    made = b.made_by(inputs[0], matmul_op)
    out = inputs[0].type
    if made is None or out.dtype != node.outputs[0].type.dtype or out.dtype.kind not in "fc":
        return None
    axis = node.params["axes"][0]
    which = axis - (out.ndim - 2)
    if which < 0 or _is_one(out.shape[axis]):
        return None
    operand = made.inputs[which]
    total = b.emit(sum_op, (operand,), {"axes": (axis,)}, node)
    kept = (*operand.type.shape[:axis], 1, *operand.type.shape[axis + 1 :])
    operands = [
        b.emit(reshape_op, (total,), {"shape": kept}, node) if k == which else a
        for k, a in enumerate(made.inputs)
    ]
    return b.emit(
        reshape_op,
        (b.emit(matmul_op, operands, {}, node),),
        {"shape": node.outputs[0].type.shape},
        node,
    )


def gather_factors(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """matmul((x * v) * w, y) -> matmul(x * (v * w), y) where v and w vary along the summed axis
    only: the product weighs its terms by one factor.

    Beside a vector the factor goes to the vector.
    """
    if node.op is not matmul_op or node.outputs[0].type.dtype.kind != "f":
        return None
    for k, axis in ((0, -1), (1, -2)):
        rest, factors = _factors(b, inputs[k], axis)
        if not factors or rest is inputs[k]:
            continue
        other = inputs[1 - k]
        beside_vector = _is_one(other.type.shape[-1 if k == 0 else -2])
        if beside_vector or len(factors) > 1:
            scale = _product(b, factors, node)
            if beside_vector:
                if other.type.ndim != 2 or not same(scale.type.size, other.type.size):
                    continue
                scale = b.emit(reshape_op, (scale,), {"shape": other.type.shape}, node)
                pair = (rest, b.emit(mul_op, (other, scale), {}, node))
            else:
                pair = (b.emit(mul_op, (rest, scale), {}, node), other)
            return b.emit(matmul_op, pair if k == 0 else pair[::-1], {}, node)
    return None


def _factors(b: Rewriter, atom: Atom, axis: int) -> tuple[Atom, list[Atom]]:
    """`atom` as a product of one operand of its own shape with others that vary along `axis` at
    most, of which one does."""
    whole = atom.type
    found: list[Atom] = []
    varies = False
    while True:
        negated, product = b.made_by(atom, neg_op), b.made_by(atom, mul_op)
        if negated is not None:
            atom = negated.inputs[0]
            found.append(Literal(whole.dtype.type(-1)))
            continue
        if product is None:
            break
        for rest, factor in (product.inputs, product.inputs[::-1]):
            if (
                isinstance(rest, Var)
                and equal_types(rest.type, whole)
                and _fits(factor, whole.dtype)
                and _along(factor.type.shape, axis, whole.ndim)
            ):
                atom = rest
                found.append(factor)
                varies |= factor.type.ndim > 0
                break
        else:
            break
    return (atom, found) if varies else (atom, [])


def _fits(factor: Atom, dtype: Any) -> bool:
    """Whether multiplying a vector of `dtype` by it gives that dtype."""
    return (isinstance(factor, Literal) and factor.weak) or bool(factor.type.dtype == dtype)


def _along(shape: Shape, axis: int, ndim: int) -> bool:
    """Whether an operand is a number, or varies along `axis` (-1 or -2) and not along the other of
    the last two axes."""
    padded: tuple[Int, ...] = (*[1] * (ndim - len(shape)), *shape)
    return not shape or (not _is_one(padded[axis]) and _is_one(padded[-3 - axis]))


def _product(b: Rewriter, factors: list[Atom], like: Node) -> Atom:
    """Numbers last, so that they meet each other."""
    ordered = sorted(factors, key=lambda f: -f.type.ndim)
    total = ordered[0]
    for f in ordered[1:]:
        total = b.emit(mul_op, (total, f), {}, like)
    return total


def small_product(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """matmul(x, y) -> sum(x[..., None] * y[..., None, :, :], -2) where the sums are short or few,
    or of windows with a vector, which a product would copy: that fuses with what stands around
    it."""
    if node.op is not matmul_op or node.outputs[0].type.dtype.kind not in "fc":
        return None
    x, y = inputs
    (m, k), n = x.type.shape[-2:], y.type.shape[-1]
    if not (
        (isinstance(k, int) and 0 < k <= SHORT)
        or (isinstance(m, int) and isinstance(n, int) and m * n <= FEW)
        or (_is_one(m) and _are_windows(b, y))
        or (_is_one(n) and _are_windows(b, x))
    ):
        return None
    left = b.emit(reshape_op, (x,), {"shape": (*x.type.shape, 1)}, node)
    right = b.emit(reshape_op, (y,), {"shape": (*y.type.shape[:-2], 1, *y.type.shape[-2:])}, node)
    terms = b.emit(mul_op, (left, right), {}, node)
    return b.emit(sum_op, (terms,), {"axes": (terms.type.ndim - 2,)}, node)


def _are_windows(b: Rewriter, a: Atom) -> bool:
    turned = b.made_by(a, transpose_op)
    return b.made_by(a if turned is None else turned.inputs[0], shear_op) is not None


def _is_one(size: Int) -> bool:
    return isinstance(size, int) and size == 1


__all__ = ["gather_factors", "product_with_identity", "small_product", "sum_of_product"]
