"""The elements at some places of the order, found without sorting the others: the primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...dtypes import INT64
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, Int, show
from ..arrays.shape import broadcast_to, front, moveaxis
from ..arrays.slices import cut, flip
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import sub
from ..places.along import take_along_axis
from ..places.gathering import add_at
from .sorting import _flat, argsort, check_order

MOST = 8
"""So many places are looked for; where there are more, all is sorted."""
SHORT = 32
"""Lanes of fewer elements are sorted where all of them have to be given."""


def _lanes(x: Any, ranks: Any, short: int = SHORT) -> tuple[Any, Any, Any] | None:
    """Lanes, the places wanted of all of them, and the elements there; None where sorting is no
    slower, or each lane has its own places."""
    n, m = x.shape[-1], ranks.shape[-1]
    if n < short or not x.size or not 0 < m <= MOST:
        return None
    rows, places = x.reshape(-1, n), ranks.reshape(-1, m)
    if not (places == places[0]).all():
        return None
    wanted = np.clip(places[0], 0, n - 1)
    return rows, wanted, np.partition(rows, np.unique(wanted), -1)[:, wanted]


def _ranked_evaluate(x: Any, ranks: Any) -> Any:
    found = _lanes(x, ranks)
    if found is None:
        return np.take_along_axis(np.argsort(x, -1, kind="stable"), ranks, -1)
    rows, wanted, values = found
    out = np.empty(ranks.shape, np.int64)
    target = out.reshape(-1, len(wanted))
    for j, rank in enumerate(wanted):
        value = values[:, j : j + 1]
        alike, before = rows == value, (rows < value).sum(-1)
        if (lost := value != value).any():
            missing = rows != rows
            alike |= lost & missing
            before = np.where(lost[:, 0], (~missing).sum(-1), before)
        target[:, j] = alike.argmax(-1)
        for p in np.flatnonzero(before < rank):
            target[p, j] = np.flatnonzero(alike[p])[rank - before[p]]
    return out


def _partitioned_evaluate(x: Any, ranks: Any) -> Any:
    found = _lanes(x, ranks, 1)
    if found is None:
        return np.argsort(x, -1, kind="stable")
    rows, _, values = found
    part = np.zeros(rows.shape, np.uint8)
    for bound in np.moveaxis(values, -1, 0):
        bound = bound[:, None]
        known = bound == bound
        part += np.where(known, ~(rows < bound), rows != rows)
        part += known & ~(rows <= bound)
    return np.argsort(part, -1, kind="stable").reshape(x.shape)


def by_one(x: ArrayType, ranks: ArrayType) -> bool:
    """Whether there is a quicker form: of floats, by one place for each lane."""
    n = x.shape[-1]
    few = ranks.shape[-1] == 1 and isinstance(n, int) and n < 2**31
    return few and x.dtype in (np.float32, np.float64)


def _selection(
    name: str, evaluate: Callable[..., Any], all_of_them: bool, doc: str, **rules: Any
) -> Op:
    """An operation on lanes and the places wanted of each: positions of what stands there, or of
    all elements; where it has `rules`, these elements."""

    def infer(x: Any, ranks: Any) -> Types:
        check_order(x.type.dtype)
        a, b = x.type.shape, ranks.type.shape
        if not a or len(a) != len(b) or not all(map(same, a[:-1], b[:-1])):
            raise ShapeError(f"{name}: {x.type} and places {ranks.type} must be of as many lanes")
        dtype = x.type.dtype if rules else INT64
        return (ArrayType(dtype, a if all_of_them else b),)

    def batch(values: Any, axes: Sequence[int | None], size: Int) -> tuple[list[Any], list[int]]:
        full = [
            broadcast_to(v, (size, *shape_of(v))) if a is None else front(v, a)
            for v, a in zip(values, axes, strict=True)
        ]
        return [bind(made, full)], [0]

    made = op(
        name,
        ["x", "ranks"],
        evaluate=evaluate,
        infer=infer,
        batch=batch,
        lowering=lower.Kernel(
            lambda inputs, outputs, params: (
                "partitioned_by_one" if name == "partitioned" and by_one(*inputs) else name,
                (),
            )
        ),
        doc=doc,
        **rules,
    )
    return made


ranked_op = _selection(
    "ranked",
    _ranked_evaluate,
    False,
    "The positions of the elements that stand at some places of the stable order along the last "
    "axis; NaN comes last.",
)
partitioned_op = _selection(
    "partitioned",
    _partitioned_evaluate,
    True,
    "An order of the elements along the last axis in which each that stands at some places of the "
    "stable order stands there, between smaller and larger ones; NaN comes last.",
)


def _parted_vjp(ct: Any, x: Any, ranks: Any) -> Any:
    order, ndim = bind(partitioned_op, [x, ranks]), ndim_of(x)
    aligned = tuple((k, k) for k in range(ndim - 1))
    zero = broadcast_to(ct.dtype.type(0), shape_of(x))
    return add_at(zero, ct, [order], (ndim - 1,), 0, aligned, True)


def _parted_jvp(tangents: Sequence[Any], inputs: Sequence[Any], outs: Any) -> list[Any]:
    return [take_along_axis(tangents[0], bind(partitioned_op, list(inputs)), -1, unique=True)]


parted_op = _selection(
    "parted",
    lambda x, ranks: np.take_along_axis(x, _partitioned_evaluate(x, ranks), -1),
    True,
    "Floats along the last axis in the order of `partitioned`, by one place for each lane.",
    vjp=[_parted_vjp, None],
    jvp=_parted_jvp,
)


def _places(x: Any, ranks: Any) -> Any:
    if isinstance(ranks, (list, tuple)):
        ranks = np.asarray(ranks, np.int64)
    elif ndim_of(ranks) == ndim_of(x) > 1:
        return ranks
    return broadcast_to(ranks, (*shape_of(x)[:-1], shape_of(ranks)[-1]))


def ranked(x: Any, ranks: Any) -> Any:
    """Positions along the last axis of what stands at these places of the order: a vector of whole
    numbers, or an array of those of each lane."""
    return bind(ranked_op, [x, _places(x, ranks)])


def partitioned(x: Any, ranks: Sequence[int]) -> Any:
    """An order along the last axis in which what stands at these places of the order does."""
    return bind(partitioned_op, [x, _places(x, ranks)])


def parted(x: Any, ranks: Sequence[int]) -> Any:
    """The elements along the last axis in that order."""
    places = _places(x, ranks)
    kinds = [ArrayType(v.dtype, tuple(shape_of(v))) for v in (x, places)]
    if by_one(kinds[0], kinds[1]):
        return bind(parted_op, [x, places])
    # A derivative needs the positions too, which take as long here as the elements.
    return take_along_axis(x, bind(partitioned_op, [x, places]), -1, unique=True)


def topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    """The k largest (or smallest) elements along an axis in order, and their indices.

    >>> import tracegrad as tg
    >>> tg.topk([3.0, 1.0, 2.0], 2)
    (array([3., 2.]), array([0, 2]))
    """
    x, place = _flat(x, axis)
    shape = shape_of(x)
    n = shape[place]
    if k < 0 or k > n:
        raise ShapeError(
            f"topk of {k} elements needs an axis of at least that size; "
            f"axis {place} of an array of shape {show(shape)} has {n}"
        )
    if not 0 < k <= MOST or (isinstance(n, int) and n < SHORT):
        order = argsort(x, place, largest)
        first = cut(order, place, 0, k)
    else:
        # Equal elements keep their order where the last ones of the reversed array are taken.
        lanes = moveaxis(flip(x, place) if largest else x, place, -1)
        ranks = sub(n - 1, np.arange(k)) if largest else np.arange(k)
        first = moveaxis(ranked(lanes, ranks), -1, place)
        first = sub(n - 1, first) if largest else first
    return take_along_axis(x, first, place, unique=True), first


OPS = (ranked_op, partitioned_op, parted_op)
