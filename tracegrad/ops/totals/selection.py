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
from .sorting import _flat, argsort, check_order

MOST = 8
"""So many places are looked for; where there are more, all is sorted."""
SHORT = 32
"""Lanes of fewer elements are sorted where all of them have to be given."""


def _lanes(x: Any, ranks: Any) -> tuple[Any, Any, Any] | None:
    """Lanes, the places wanted of all of them, and the elements there; None where sorting is no
    slower, or each lane has its own places."""
    n, m = x.shape[-1], ranks.shape[-1]
    if n < SHORT or not x.size or not 0 < m <= MOST:
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
    found = _lanes(x, ranks)
    if found is None:
        return np.argsort(x, -1, kind="stable")
    rows, _, values = found
    out = np.empty(x.shape, np.int64)
    for row, bounds, target in zip(rows, values, out.reshape(rows.shape), strict=True):
        bounds = np.sort(bounds)
        part = np.searchsorted(bounds, row, "left") + np.searchsorted(bounds, row, "right")
        target[...] = np.argsort(part.astype(np.uint8), kind="stable")
    return out


def _selection(name: str, evaluate: Callable[..., Any], all_of_them: bool, doc: str) -> Op:
    """An operation on lanes and the places wanted of each: positions of what stands there, or of
    all elements."""

    def infer(x: Any, ranks: Any) -> Types:
        check_order(x.type.dtype)
        a, b = x.type.shape, ranks.type.shape
        if not a or len(a) != len(b) or not all(map(same, a[:-1], b[:-1])):
            raise ShapeError(f"{name}: {x.type} and places {ranks.type} must be of as many lanes")
        return (ArrayType(INT64, a if all_of_them else b),)

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
        lowering=lower.Kernel(lambda inputs, outputs, params: (name, ())),
        doc=doc,
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


OPS = (ranked_op, partitioned_op)
