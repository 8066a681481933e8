"""How index sets go through operations, by the kind of their lowering.

What shows elements at other places shows their numbers at other places: the operation is evaluated
on numbers of elements, and says itself where each one comes from. A rule gives more than there is
where it does not know better, never less; `dense` is the rule of all that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._codegen import lowering as lower
from ..dtypes import is_differentiable
from ..ir.graph import Node
from ..ops.elementwise.arithmetic import where_op
from ..ops.elementwise.derived import mul_op, strong_mul_op
from ..ops.matrices.products import matmul_op
from ..ops.places.gathering import ADDING, FAMILIES
from ..ops.sparse.products import product_op
from .index_sets import NONE, Sets, first_sets, joined, union


class Arriving(NamedTuple):
    """What a rule reads."""

    node: Node
    sets: Sequence[Sets | None]
    """Of each operand; None where it depends on nothing."""
    known: Sequence[np.ndarray | None]
    """The value of each operand that is a constant of the trace."""
    limit: int
    width: int
    assumed: list[bool]
    """Holds something where a rule gave more than is known."""

    @property
    def counts(self) -> list[int]:
        return [size(a.type.shape) for a in self.node.inputs]

    @property
    def out(self) -> Any:
        """The type of the only result."""
        return self.node.outputs[0].type


Found = list[Sets | None]
Rule = Callable[[Arriving], Found]


def size(shape: Sequence[Any]) -> int:
    """The number of elements."""
    return int(np.prod([int(n) for n in shape], dtype=np.int64))


def is_one(n: Any) -> bool:
    """Whether an axis has one element."""
    return int(n) == 1


def shape_of(a: Any) -> tuple[int, ...]:
    """The sizes of an atom's axes."""
    return tuple([int(n) for n in a.type.shape])


def numbers_of(shape: Sequence[Any], start: int = 0) -> np.ndarray:
    """The numbers of the elements, in C order."""
    return np.arange(start, start + size(shape)).reshape(tuple(map(int, shape)))


def broadcast(given: Arriving, k: int, shape: Sequence[Any]) -> Sets | None:
    """The sets of operand k in the shape of the result."""
    found = given.sets[k]
    own = given.node.inputs[k].type.shape
    if found is None or tuple(own) == tuple(shape):
        return found
    return found.take(np.broadcast_to(numbers_of(own), tuple(map(int, shape))))


def dense(given: Arriving) -> Found:
    """Each result from all operands."""
    given.assumed.append(True)
    parts = [s.all_of() for s in given.sets if s is not None and len(s)]
    every = union(parts, given.limit)
    return [
        every.spread(size(v.type.shape))
        if every is not None and is_differentiable(v.type.dtype)
        else None
        for v in given.node.outputs
    ]


def pointwise(given: Arriving) -> Found:
    """Element by element, after broadcasting."""
    op = given.node.op
    if op.jvp is None and (op.vjp is None or (not callable(op.vjp) and not any(op.vjp))):
        return [None]  # no derivative, in either mode
    shape = given.out.shape
    parts = [broadcast(given, k, shape) for k in range(len(given.sets))]
    return [union(parts, given.limit)]


def moved(given: Arriving) -> Found:
    """What is made of elements of all operands that hold numbers, and of zeros."""
    node, start, operands = given.node, 1, []
    for a, found in zip(node.inputs, given.sets, strict=True):
        if found is None:
            operands.append(np.zeros(shape_of(a), np.int64))
            continue
        operands.append(numbers_of(a.type.shape, start))
        start += size(a.type.shape)
    source = np.asarray(node.op.evaluate(*operands, **node.params)) - 1
    there = [(s, n) for s, n in zip(given.sets, given.counts, strict=True) if s is not None]
    every = joined([s for s, _ in there], [n for _, n in there], given.width)
    return [None if every is None else every.take(source)]


def indices_of(given: Arriving, first: int) -> list[np.ndarray] | None:
    """The index arrays, where all are constants."""
    found = [k for k in given.known[first:] if k is not None]
    return found if len(found) == len(given.known) - first else None


def gathered(given: Arriving) -> Found:
    """Elements at index arrays; at places that are not known, any."""
    indices = indices_of(given, 1)
    if indices is None or given.sets[0] is None:
        return dense(given)
    node = given.node
    numbers = numbers_of(node.inputs[0].type.shape)
    return [given.sets[0].take(node.op.evaluate(numbers, *indices, **node.params))]


def scattered(given: Arriving) -> Found:
    """Updates stored or added at index arrays; at places that are not known, everywhere."""
    node, (x, updates) = given.node, given.sets[:2]
    indices = indices_of(given, 2)
    shape, (count, many) = node.inputs[0].type.shape, given.counts[:2]
    if indices is None:
        if updates is None or not many:
            return [x]
        given.assumed.append(True)
        return [union([x, updates.all_of().spread(count)], given.limit)]
    if node.op in ADDING:
        if updates is None:
            return [x]
        gather = FAMILIES[node.op].gather
        places = gather.evaluate(numbers_of(shape), *indices, **node.params).reshape(-1)
        if many == places.size:
            ones = np.ones(many, np.bool_)
            chosen = sp.csr_array((ones, (places, np.arange(many))), shape=(count, many))
            return [union([x, updates.combined(chosen, given.limit)], given.limit)]
        given.assumed.append(True)
        return [union([x, updates.all_of().spread(count)], given.limit)]
    numbers = [numbers_of(shape), numbers_of(node.inputs[1].type.shape, count)]
    source = node.op.evaluate(*numbers, *indices, **node.params)
    every = joined([x, updates], [count, many], given.width)
    return [None if every is None else every.take(source)]


def reduced(given: Arriving) -> Found:
    """Over axes, which disappear: each result from all elements that go into it."""
    found = given.sets[0]
    if found is None or not len(found):
        return [None]
    axes = [int(a) for a in given.node.params["axes"]]
    numbers = numbers_of(given.node.inputs[0].type.shape)
    rest = [k for k in range(numbers.ndim) if k not in axes]
    groups = numbers.transpose(*rest, *axes).reshape(size(given.out.shape), -1)
    return [found.combined(grouped(groups, len(found)), given.limit)]


def grouped(groups: np.ndarray, count: int) -> Any:
    """The rows of an array of numbers as those of a sparse matrix."""
    rows, each = groups.shape
    return sp.csr_array(
        (np.ones(groups.size, np.bool_), groups.reshape(-1), np.arange(rows + 1) * each),
        shape=(rows, count),
    )


def along(given: Arriving) -> Found:
    """Running results along an axis: from all elements up to each one."""
    found = union([broadcast(given, k, given.out.shape) for k in range(len(given.sets))], 2**62)
    if found is None or not len(found):
        return [None]
    axis = given.node.params["axis"]
    lanes = np.moveaxis(numbers_of(given.out.shape), axis, -1)
    length = lanes.shape[-1]
    lanes = lanes.reshape(-1, length)
    if lanes.shape[0] * length * (length + 1) // 2 > given.limit:
        return dense(given) if lanes.shape[0] == 1 else [_per_lane(found, lanes, given)]
    to, of = np.tril_indices(length)
    if given.node.params.get("reverse"):
        to, of = of, to
    chosen = sp.csr_array(
        (
            np.ones(len(lanes) * len(to), np.bool_),
            (lanes[:, to].reshape(-1), lanes[:, of].reshape(-1)),
        ),
        shape=(len(found), len(found)),
    )
    return [found.combined(chosen, given.limit)]


def _per_lane(found: Sets, lanes: np.ndarray, given: Arriving) -> Sets:
    """All elements of a lane for each one."""
    given.assumed.append(True)
    every = found.combined(grouped(lanes, len(found)), given.limit)
    lane = np.empty(lanes.size, np.int64)
    lane[lanes.reshape(-1)] = np.repeat(np.arange(len(lanes)), lanes.shape[1])
    return every.take(lane)


def product(given: Arriving) -> Found:
    """Products of matrices: a row of the first with a column of the second, without what a constant
    has zeros for."""
    return [union([_factor(given, 0), _factor(given, 1)], given.limit)]


def _factor(given: Arriving, k: int) -> Sets | None:
    found, other = given.sets[k], given.known[1 - k]
    if found is None or not len(found):
        return None
    shape, out = shape_of(given.node.inputs[k]), shape_of(given.node.outputs[0])
    if other is not None and max(other.ndim, len(shape)) == 2:
        there = sp.csr_array(other != 0)  # NaN is no zero
        chosen = (
            sp.kron(there, sp.eye_array(shape[1], dtype=bool), format="csr")
            if k == 1
            else sp.kron(sp.eye_array(shape[0], dtype=bool), there.T, format="csr")
        )
        return found.combined(chosen, given.limit)
    numbers = numbers_of(shape)
    lanes = numbers if k == 0 else np.swapaxes(numbers, -1, -2)
    if not lanes.shape[-1]:
        return None
    sums = found.combined(grouped(lanes.reshape(-1, lanes.shape[-1]), len(found)), given.limit)
    places = numbers_of(lanes.shape[:-1])
    places = places[..., :, None] if k == 0 else places[..., None, :]
    return sums.take(np.broadcast_to(places, out))


def _without(found: Sets | None, gone: np.ndarray | None) -> Sets | None:
    """The sets, empty where an element is gone."""
    if found is None or gone is None or not gone.any():
        return found
    return found.take(np.where(gone, NONE, numbers_of(gone.shape)))


def multiplied(given: Arriving) -> Found:
    """Products element by element, without those by a zero of a constant."""
    shape = given.out.shape
    parts = []
    for k in range(2):
        other = given.known[1 - k]
        gone = None if other is None else np.broadcast_to(other == 0, tuple(map(int, shape)))
        parts.append(_without(broadcast(given, k, shape), gone))
    return [union(parts, given.limit)]


def chosen(given: Arriving) -> Found:
    """One of two operands, by a condition that may be a constant."""
    shape = given.out.shape
    x, y = broadcast(given, 1, shape), broadcast(given, 2, shape)
    if given.known[0] is not None:
        first = np.broadcast_to(given.known[0].astype(bool), tuple(map(int, shape)))
        x, y = _without(x, ~first), _without(y, first)
    return [union([x, y], given.limit)]


def sparse_product(given: Arriving) -> Found:
    """Products with a sparse matrix: of each row what stands in it, and the elements that it
    meets."""
    data, x = given.node.inputs[:2]
    index = given.known[2:5]
    if any(k is None for k in index) or len(data.type.shape) != 1 or len(x.type.shape) > 2:
        return dense(given)
    indptr, indices, places = map(np.asarray, index)
    across = np.ones((size(x.type.shape[1:]), 1), np.bool_)
    places = places if len(places) else np.arange(len(indices))
    ones, rows = np.ones(len(indices), np.bool_), len(indptr) - 1
    parts: Found = []
    for found, columns, a in zip(given.sets[:2], (places, indices), (data, x), strict=True):
        if found is None:
            continue
        links = sp.csr_array((ones, columns, indptr), shape=(rows, size(a.type.shape[:1])))
        wide = sp.eye_array(len(across), dtype=bool) if a is x else across
        parts.append(found.combined(sp.kron(links, wide, format="csr"), given.limit))
    return [union(parts, given.limit)]


KINDS: dict[type, Rule] = {
    lower.Pointwise: pointwise,
    lower.View: moved,
    lower.Piecewise: moved,
    lower.Gather: gathered,
    lower.Scatter: scattered,
    lower.Reduce: reduced,
    lower.Scan: along,
}
OWN: dict[Any, Rule] = {
    matmul_op: product,
    mul_op: multiplied,
    strong_mul_op: multiplied,
    where_op: chosen,
    product_op: sparse_product,
}
"""Rules of operations that are one alone."""
DECIDING = {product_op: 2}
"""From which operand on constants decide, of operations where not all do."""
BY_ZEROS = (mul_op, strong_mul_op)
"""Of these constants decide by their zeros alone."""


def through(given: Arriving) -> Found:
    """The sets of the results of a node that holds no graph."""
    if all(s is None for s in given.sets):
        return [None] * len(given.node.outputs)
    rule = OWN.get(given.node.op) or KINDS.get(type(given.node.op.lowering), dense)
    found = rule(given)
    return [
        s if is_differentiable(v.type.dtype) else None
        for s, v in zip(found, given.node.outputs, strict=True)
    ]


__all__ = [
    "BY_ZEROS",
    "DECIDING",
    "OWN",
    "Arriving",
    "dense",
    "first_sets",
    "grouped",
    "is_one",
    "numbers_of",
    "shape_of",
    "size",
    "through",
]
