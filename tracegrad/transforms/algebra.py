"""Local rules that do less work for the same value: factors leave sums, powers of a count become
products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import integers
from ..dtypes import INT64
from ..ir.graph import Atom, Literal, Node, Var, alike
from ..ops.arrays.creation import iota_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, sum_op, transpose_op
from ..ops.arrays.slices import slice_op
from ..ops.elementwise.arithmetic import div_op, equal_op, neg_op, not_equal_op, where_op
from ..ops.elementwise.derived import add_op, convert_op, mul_op
from ..ops.elementwise.elementary import square_op
from ..ops.elementwise.logic import logical_or_op
from ..ops.elementwise.powers import POWER_LIMITS, pow_below_op, pow_op
from ..ops.places.gathering import ADDING, FAMILIES
from ..ops.totals.reductions import argmax_op, argmin_op, max_op, min_op
from ..sizes import same, same_shape
from ..sizes.owners import is_count
from ..types import Int, Shape, equal_types

if TYPE_CHECKING:
    from .rewriter import Rewriter


def add_in_place(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """x + index_add(zeros, v, i) -> index_add(x, v, i): what a gradient collects at some places
    needs no array of its own."""
    if node.op is not add_op:
        return None
    for collected, other in (inputs, inputs[::-1]):
        chain: list[Node] = []
        atom = collected
        while isinstance(atom, Var) and atom in b.definition and b.definition[atom].op in ADDING:
            chain.insert(0, b.definition[atom])
            atom = chain[0].inputs[0]
        zeros = b.made_by(atom, broadcast_to_op) if chain else None
        zero = zeros.inputs[0] if zeros is not None else None
        if (
            not isinstance(zero, Literal)
            or isinstance(zero.value, integers.Integer)
            or zero.value != 0
            or not equal_types(other.type, collected.type)
        ):
            continue
        for link in chain:
            other = b.emit(link.op, (other, *link.inputs[1:]), link.params, link)
        return other
    return None


def put_once(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """index_add(index_put(x, 0, i), v, i) -> index_put(x, v, i), also where something is added at
    other places in between; index_put(x, gather(x, i), i) -> x; where no place is named twice.

    The adjoint of a place that is read and written again: as one write it needs no copy of the
    array in a loop.
    """
    family = FAMILIES.get(node.op)
    if family is None or node.op is family.gather or not node.params["unique"]:
        return None

    def same_places(other: Node | None) -> bool:
        if other is None or other.params != node.params:
            return False
        places = other.inputs[len(other.inputs) - len(node.inputs) + 2 :]
        return all(map(alike, places, inputs[2:]))

    def is_there(array: Atom, value: Atom) -> bool:
        read = b.made_by(value, family.gather)
        return read is not None and read.inputs[0] is array and same_places(read)

    if node.op is family.put:
        return inputs[0] if is_there(*inputs[:2]) else None
    between: list[Node] = []
    atom = inputs[0]
    while isinstance(atom, Var) and atom in b.definition and b.definition[atom].op in ADDING:
        between.insert(0, b.definition[atom])
        atom = between[0].inputs[0]
    put = b.made_by(atom, family.put)
    if put is None or not same_places(put):
        return None
    # What somebody else reads would be made twice, and a loop would need the array twice.
    if between and any(b.uses.get(n.outputs[0]) != 1 for n in (put, *between)):
        return None
    zeros = b.made_by(put.inputs[1], broadcast_to_op)
    zero = zeros.inputs[0] if zeros is not None else put.inputs[1]
    if not isinstance(zero, Literal) or isinstance(zero.value, integers.Integer) or zero.value != 0:
        return None
    array, value = put.inputs[0], inputs[1]
    if not is_there(array, value):
        array = b.emit(put.op, (array, *inputs[1:]), node.params, node)
    for link in between:
        array = b.emit(link.op, (array, *link.inputs[1:]), link.params, link)
    return array


def factor_out_of_sum(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """sum(-x) -> -sum(x); sum(x * y) -> sum(x) * y where y is constant along the summed axes, and x
    has fewer elements or its sum is known."""
    if node.op is not sum_op or not node.params["axes"]:
        return None
    axes: tuple[int, ...] = node.params["axes"]
    negated = b.made_by(inputs[0], neg_op)
    # Small integers are summed in a wider type, in which the negative may be another number.
    if negated is not None and inputs[0].type.dtype == node.outputs[0].type.dtype:
        return b.emit(neg_op, (b.emit(sum_op, negated.inputs, node.params, node),), {}, node)
    product = b.made_by(inputs[0], mul_op)
    if product is None:
        return None
    out = product.outputs[0].type
    if any(_may_be_empty(out.shape[a]) for a in axes):
        return None  # the sum over nothing is 0, whatever the factor: 1 / 0 of a mean over nothing
    for x, y in (product.inputs, product.inputs[::-1]):
        if (
            not isinstance(x, Var)
            or x.type.dtype != out.dtype
            or x.type.dtype != node.outputs[0].type.dtype
        ):
            continue
        if x.type.weak != out.weak or not _constant_along(y.type.shape, axes, out.ndim):
            continue
        mine = tuple(a - (out.ndim - x.type.ndim) for a in axes)
        if mine[0] < 0 or any(
            not same(x.type.shape[m], out.shape[a]) for m, a in zip(mine, axes, strict=True)
        ):
            continue
        known = b.known(sum_op, (x,), {"axes": mine})
        if known is None and not _fewer(x.type.shape, out.shape):
            continue
        total = known if known is not None else b.emit(sum_op, (x,), {"axes": mine}, node)
        return b.emit(mul_op, (total, _without(b, y, axes, out.ndim, node)), {}, node)
    return None


def _may_be_empty(size: Int) -> bool:
    """Whether an axis has no elements, or only a run knows that it has some."""
    return size == 0 if isinstance(size, int) else is_count(size)


def _constant_along(shape: Shape, axes: tuple[int, ...], ndim: int) -> bool:
    """Whether an operand of `shape`, broadcast to `ndim` axes, repeats itself along `axes`."""
    return all(a < ndim - len(shape) or same(shape[a - (ndim - len(shape))], 1) for a in axes)


def _without(b: Rewriter, y: Atom, axes: tuple[int, ...], ndim: int, like: Node) -> Atom:
    """`y` without those of its axes (all of size 1)."""
    shape = tuple(s for k, s in enumerate(y.type.shape) if k + ndim - y.type.ndim not in axes)
    return (
        y if same_shape(shape, y.type.shape) else b.emit(reshape_op, (y,), {"shape": shape}, like)
    )


def _fewer(small: Shape, large: Shape) -> bool:
    """Whether an operand lacks an axis of the product."""
    padded: tuple[Int, ...] = (*[1] * (len(large) - len(small)), *small)
    return any(
        isinstance(s, int) and s == 1 and not (isinstance(t, int) and t == 1)
        for s, t in zip(padded, large, strict=True)
    )


def merge_factors(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """a * (c * x) -> (a * c) * x for numbers a and c of which one is a power of two, so that
    nothing is rounded otherwise; -(c * x) -> -c * x."""
    out = node.outputs[0].type
    if out.dtype.kind != "f" or (node.op is not mul_op and node.op is not neg_op):
        return None
    number, x = (-1.0, inputs[0]) if node.op is neg_op else _factor(out.dtype, inputs)
    inner = b.made_by(x, mul_op) if number is not None else None
    if inner is None:
        negated = b.made_by(x, neg_op) if number is not None and node.op is mul_op else None
        return None if negated is None else _scaled(b, -number, negated.inputs[0], node)
    other, rest = _factor(out.dtype, inner.inputs)
    if (
        other is None
        or rest.type.dtype != out.dtype
        or not (_power_of_two(number) or _power_of_two(other))
    ):
        return None
    with np.errstate(all="ignore"):
        product = out.dtype.type(number) * out.dtype.type(other)
    return (
        _scaled(b, product, rest, node)
        if np.isfinite(product) and abs(product) >= np.finfo(out.dtype).tiny
        else None
    )


def _factor(dtype: np.dtype[np.generic], inputs: tuple[Atom, ...]) -> tuple[Any, Atom]:
    """The number of a product of a number and an array, in the product's dtype, and the array; None
    where it is no such product."""
    for number, rest in (inputs, inputs[::-1]):
        value = number.value if isinstance(number, Literal) else None
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
            rest, Literal
        ):
            return dtype.type(value), rest
    return None, inputs[0]


def _power_of_two(value: Any) -> bool:
    return bool(value) and abs(math.frexp(value)[0]) == 0.5


def _scaled(b: Rewriter, number: Any, x: Atom, like: Node) -> Atom:
    return (
        x
        if number == 1
        else b.emit(mul_op, (x, Literal(like.outputs[0].type.dtype.type(number))), {}, like)
    )


def power_of_count(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """pow(x, iota(m)) -> pow_below(x, iota(m)), which needs a few products where `pow` needs a
    logarithm and an exponential."""
    if (
        node.op is not pow_op
        or inputs[0].type.dtype.kind != "f"
        or inputs[0].type.dtype != node.outputs[0].type.dtype
    ):
        return None
    size = _count(b, inputs[1])
    if not isinstance(size, int):
        return None
    limit = next((n for n in POWER_LIMITS if size <= n), None)
    return None if limit is None else b.emit(pow_below_op, inputs, {"limit": limit}, node)


def _count(b: Rewriter, atom: Atom) -> Int | None:
    """n where the atom holds integers in 0 <= i < n only."""
    if isinstance(atom, Literal):
        return None
    for op in (reshape_op, broadcast_to_op, convert_op, transpose_op, slice_op):
        made = b.made_by(atom, op)
        if made is not None:
            size = _count(b, made.inputs[0])
            kind = atom.type.dtype
            # In a type that does not hold them they become other numbers.
            fits = kind.kind not in "iu" or (
                isinstance(size, int) and size - 1 <= np.iinfo(kind).max
            )
            return size if fits else None
    made = b.made_by(atom, iota_op)
    return None if made is None else made.params["size"]


def divided_reciprocal(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """(1 / x) / x -> square(1 / x): what the derivative of a reciprocal computes, without a second
    division."""
    inner = b.made_by(inputs[0], div_op) if node.op is div_op else None
    if (
        inner is None
        or inner.inputs[1] is not inputs[1]
        or not equal_types(inputs[0].type, node.outputs[0].type)
        or inputs[0].type.dtype.kind != "f"
    ):
        return None
    one = inner.inputs[0]
    return (
        b.emit(square_op, (inputs[0],), {}, node)
        if isinstance(one, Literal) and one.value == 1
        else None
    )


def position_of_extreme(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """argmax(x) -> the smallest position where x equals max(x) or is NaN: two reductions that
    vectorise, in place of a comparison per element."""
    extreme = max_op if node.op is argmax_op else min_op if node.op is argmin_op else None
    if extreme is None or inputs[0].type.dtype.kind not in "iuf":
        return None
    x, axis = inputs[0], node.params["axis"]
    shape = x.type.shape
    size = shape[axis]
    best = b.emit(extreme, (x,), {"axes": (axis,)}, node)
    best = b.emit(reshape_op, (best,), {"shape": (*shape[:axis], 1, *shape[axis + 1 :])}, node)
    found = b.emit(equal_op, (x, best), {}, node)
    if x.type.dtype.kind == "f":
        found = b.emit(logical_or_op, (found, b.emit(not_equal_op, (x, x), {}, node)), {}, node)
    place = b.emit(iota_op, (), {"size": size, "dtype": INT64}, node)
    place = b.emit(reshape_op, (place,), {"shape": (size, *[1] * (len(shape) - 1 - axis))}, node)
    place = b.emit(where_op, (found, place, Literal(INT64.type(np.iinfo(INT64).max))), {}, node)
    return b.emit(min_op, (place,), {"axes": (axis,)}, node)
