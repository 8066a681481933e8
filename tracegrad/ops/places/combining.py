"""Elements combined at places that may be named several times: the largest or smallest of what
meets there, and the product. (Sums are `add_at`.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import numel, same
from ...types import Int
from ..arrays.concatenation import concatenate
from ..arrays.creation import iota
from ..arrays.shape import broadcast_to, front, reshape
from ..define import shape_of
from ..elementwise.arithmetic import div, equal, not_equal, where
from ..elementwise.comparison import maximum
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import logical_or
from ..elementwise.remainders import floor_divide
from ..totals.sorting import argsort
from .gathering import add_at, gather_at, put_at


def _infer(name: str) -> Callable[..., Types]:
    def infer(x: Any, updates: Any, at: Any) -> Types:
        if x.type.dtype.kind == "c":
            raise DTypeError(f"{name} needs an order, and {x.type.dtype} has none")
        if x.type.ndim != 1 or updates.type.dtype != x.type.dtype:
            raise ShapeError(f"{name}: vectors of one dtype, not {x.type} and {updates.type}")
        if updates.type.ndim != 1 or not same(updates.type.size, at.type.size):
            raise ShapeError(f"{name}: as many values as places, not {updates.type} and {at.type}")
        return (x.type,)

    return infer


def _alike(x: Any, y: Any) -> Any:
    """Where two are equal, or both NaN."""
    found = equal(x, y)
    if x.dtype.kind == "f":
        found = logical_or(found, (not_equal(x, x)) & (not_equal(y, y)))
    return found


def _taken(x: Any, at: Any) -> Any:
    return gather_at(x, [at], (0,), 0)


def _added(x: Any, updates: Any, at: Any) -> Any:
    return add_at(x, updates, [at], (0,), 0)


def _ties(x: Any, updates: Any, at: Any, out: Any) -> tuple[Any, Any, Any]:
    """Which elements of x and which updates became results, and how many of each result."""
    stays, comes = _alike(x, out), _alike(updates, _taken(out, at))
    return stays, comes, _added(convert(stays, out.dtype), convert(comes, out.dtype), at)


def _vjp_x(ct: Any, x: Any, updates: Any, at: Any, out: Any) -> Any:
    stays, _, total = _ties(x, updates, at, out)
    return where(stays, div(ct, total), ct.dtype.type(0))


def _vjp_updates(ct: Any, x: Any, updates: Any, at: Any, out: Any) -> Any:
    _, comes, total = _ties(x, updates, at, out)
    return where(comes, _taken(div(ct, total), at), ct.dtype.type(0))


def _jvp(tangents: Sequence[Any], inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
    x, updates, at = inputs
    stays, comes, total = _ties(x, updates, at, outs[0])
    own, new = (
        broadcast_to(v.dtype.type(0), shape_of(v))
        if t is None
        else where(chosen, t, t.dtype.type(0))
        for chosen, t, v in zip((stays, comes), tangents[:2], (x, updates), strict=True)
    )
    return [div(_added(own, new, at), total)]


def _extreme(name: str, numpy: np.ufunc, doc: str) -> Op:
    def evaluate(x: Any, updates: Any, at: Any) -> Any:
        out = np.array(x)
        numpy.at(out, at, updates)
        return out

    def batch(values: Any, axes: Sequence[int | None], size: Int) -> tuple[list[Any], list[int]]:
        x, updates, at = (
            broadcast_to(v, (size, *shape_of(v))) if a is None else front(v, a)
            for v, a in zip(values, axes, strict=True)
        )
        shape = shape_of(x)
        at = add(at, reshape(mul(iota(size), shape[1]), (size, 1)))
        return [reshape(bind(made, [reshape(v, (-1,)) for v in (x, updates, at)]), shape)], [0]

    made = op(
        name,
        ["x", "updates", "at"],
        evaluate=evaluate,
        infer=_infer(name),
        vjp=[_vjp_x, _vjp_updates, None],
        jvp=_jvp,
        batch=batch,
        lowering=lower.Kernel(lambda inputs, outputs, params: (name, ())),
        doc=doc,
    )
    return made


scatter_max_op = _extreme(
    "scatter_max",
    np.maximum,
    "A vector whose elements are the largest of their own and of the updates for their places; NaN "
    "where there is one. Ties share the gradient evenly.",
)
scatter_min_op = _extreme(
    "scatter_min",
    np.minimum,
    "A vector whose elements are the smallest of their own and of the updates for their places; "
    "NaN where there is one. Ties share the gradient evenly.",
)


def _places(x: Any, indices: Sequence[Any], *places: Any) -> Any:
    """Where index arrays point in the flattened array, checked."""
    shape = shape_of(x)
    return reshape(gather_at(reshape(iota(numel(shape)), shape), indices, *places), (-1,))


def _extreme_at(primitive: Op) -> Callable[..., Any]:
    def combine(x: Any, updates: Any, indices: Sequence[Any], *places: Any) -> Any:
        at = _places(x, indices, *places)
        found = bind(primitive, [reshape(x, (-1,)), reshape(updates, (-1,)), at])
        return reshape(found, shape_of(x))

    return combine


max_at = _extreme_at(scatter_max_op)
"""x with the largest of each element and of the updates for its place; the arguments are those of
`add_at`."""
min_at = _extreme_at(scatter_min_op)
"""x with the smallest of each element and of the updates for its place."""


def mul_at(x: Any, updates: Any, indices: Sequence[Any], *places: Any) -> Any:
    """x multiplied with the updates at index arrays; a place named twice by both.

    The updates are sorted by their places, and multiplied with the one before, then with the one
    two before, and so on, as long as that is for the same place (Hillis and Steele 1986): no
    division, so that zeros have derivatives of every order.
    """
    at = _places(x, indices, *places)
    order = argsort(at)
    at, values, start = _taken(at, order), _taken(reshape(updates, (-1,)), order), reshape(x, (-1,))
    one, apart, n = x.dtype.type(1), 1, int(shape_of(at)[0])
    while apart < n:
        together = equal(at[apart:], at[:-apart])
        before = where(together, values[:-apart], one)
        values = concatenate([values[:apart], mul(values[apart:], before)])
        apart *= 2
    # The last one for each place is the product of all, and the one that stays.
    return reshape(put_at(start, mul(_taken(start, at), values), [at], (0,), 0), shape_of(x))


REDUCED = {"sum": add_at, "mean": add_at, "prod": mul_at, "amax": max_at, "amin": min_at}
"""What combines, by torch's names."""


def reduced_at(x: Any, write: Callable[..., Any], src: Any, reduce: str, include_self: bool) -> Any:
    """x with what `src` sends to a place combined there with the element that was there; without
    `include_self` that one does not count.

    `write(x, src, combine)` says where: `scattered` or `indexed` along an axis.
    """
    named = None
    if reduce == "mean" or not include_self:
        zeros = broadcast_to(np.int64(0), shape_of(x))
        named = write(zeros, broadcast_to(np.int64(1), shape_of(src)), add_at)
    if not include_self:
        x = where(not_equal(named, 0), _neutral(reduce, x.dtype), x)
    total = write(x, src, REDUCED[reduce])
    if named is None or reduce != "mean":
        return total
    count = add(named, 1) if include_self else maximum(named, 1)
    if total.dtype.kind in "fc":
        return div(total, convert(count, total.dtype))
    return floor_divide(total, convert(count, total.dtype))


def _neutral(reduce: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined."""
    if reduce not in ("amax", "amin"):
        return dtype.type(reduce == "prod")
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "amax" else np.inf)
    if dtype.kind == "b":
        return dtype.type(reduce == "amin")
    ends = np.iinfo(dtype)
    return dtype.type(ends.min if reduce == "amax" else ends.max)


OPS = (scatter_max_op, scatter_min_op)

__all__ = [
    "OPS", "REDUCED", "max_at", "min_at", "mul_at", "reduced_at", "scatter_max_op",
    "scatter_min_op",
]  # fmt: skip
