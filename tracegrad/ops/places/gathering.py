"""The indexing primitives: reading at index arrays, and adding or storing at them. Each is
another's adjoint.

All three share their parameters. A result of `gather` has the axes of the source that are not
indexed, in order, with the *block* (the broadcast shape of the index arrays) put in front of axis
`at` of those:

    axes     the source axis that each index array indexes
    at       where the block stands among the axes that are not indexed
    aligned  (source axis, block axis) pairs: the source is read at the block's own index there
             (take_along_axis, batches)
    unique   whether no place is named twice, so that writes need no order
    windows  for each index array None, or `(size, step, extent)`: it says where a slice of `size`
             elements begins, whose axis stays where it is, and of which both ends, `extent` apart,
             must be inside

An index counts from the end where it is negative; that of a window where both ends are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._codegen import lowering as lower
from ...checks.ranges import out_of_range
from ...ir.dispatch import STATE, Value, bind
from ...ir.lines import program_place
from ...ir.op import Op, Rules, op
from ...sizes import numel
from ...sizes.size import SYMBOLIC, known_empty
from ...types import ArrayType, Int
from ..arrays.creation import iota
from ..arrays.shape import broadcast_to, front, moveaxis, reshape, transpose
from ..check import check as check_code
from ..check import error_text
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import equal, greater_equal, less, where
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import logical_or
from ..fits import refuse_less
from .positions import (
    Aligned,
    Params,
    Windows,
    gather_evaluate,
    gather_infer,
    position,
    scatter_evaluate,
    scatter_infer,
)

NAMES = ("axes", "at", "aligned", "unique", "windows")
MOST = 4
"""With more index arrays than this, the indexed axes are merged first."""


def _batched(x: Any, axis: int | None, size: Int) -> Any:
    return broadcast_to(x, (size, *shape_of(x))) if axis is None else front(x, axis)


def _front_indices(indices: Sequence[Any], axes: Sequence[int | None], block: int) -> list[Any]:
    """Index arrays with the batch axis in front of a block of `block` axes."""
    result = []
    for i, k in zip(indices, axes, strict=True):
        if k is not None:
            i = front(i, k)
            shape = shape_of(i)
            i = reshape(i, (shape[0], *(1,) * (block - len(shape) + 1), *shape[1:]))
        result.append(i)
    return result


def _block_ndim(indices: Sequence[Any], at: Sequence[int | None], aligned: Aligned) -> int:
    own = [ndim_of(i) - (k is not None) for i, k in zip(indices, at, strict=True)]
    return max([*own, *[b + 1 for _, b in aligned]])


def _shift(pairs: Aligned, source: int, block: int) -> Aligned:
    return tuple((a + source, b + block) for a, b in pairs)


def _moved(params: Params, at: int, pairs: Aligned) -> Params:
    """The parameters where the source has the batch axis in front."""
    return {**params, "axes": tuple(a + 1 for a in params["axes"]), "at": at, "aligned": pairs}


def _gather_batch(values: Any, where_: Any, size: Int, **params: Any) -> Any:
    x, *indices = values
    at, aligned = params["at"], params["aligned"]
    if all(k is None for k in where_[1:]):
        pairs = _shift(aligned, 1, 0)
        return [_bind("gather", [front(x, where_[0]), *indices], _moved(params, at + 1, pairs))], [
            0
        ]
    moved = _front_indices(indices, where_[1:], _block_ndim(indices, where_[1:], aligned))
    if where_[0] is None:
        return [
            _bind(
                "gather", [x, *moved], {**params, "aligned": _shift(aligned, 0, 1), "unique": False}
            )
        ], [at]
    return [
        _bind(
            "gather",
            [front(x, where_[0]), *moved],
            _moved(params, at, ((0, 0), *_shift(aligned, 1, 1))),
        )
    ], [at]


def _scatter_batch(kind: str) -> Callable[..., Any]:
    def batch(values: Any, where_: Any, size: Int, **params: Any) -> Any:
        x, updates, *indices = values
        at, aligned = params["at"], params["aligned"]
        x, updates = _batched(x, where_[0], size), _batched(updates, where_[1], size)
        if all(k is None for k in where_[2:]):
            return [
                _bind(kind, [x, updates, *indices], _moved(params, at + 1, _shift(aligned, 1, 0)))
            ], [0]
        moved = _front_indices(indices, where_[2:], _block_ndim(indices, where_[2:], aligned))
        return [
            _bind(
                kind,
                [x, moveaxis(updates, 0, at), *moved],
                _moved(params, at, ((0, 0), *_shift(aligned, 1, 1))),
            )
        ], [0]

    return batch


def _zero(x: Any) -> Any:
    """Zeros of x's shape that take no memory."""
    return broadcast_to(x.dtype.type(0), shape_of(x))


def _make(count: int) -> tuple[Op, Op, Op]:
    """The three operations for `count` index arrays."""
    names = [f"i{k}" for k in range(count)] if count > 1 else ["index"]
    suffix = "" if count == 1 else str(count)

    def gather_jvp(tangents: Any, inputs: Any, outs: Any, **params: Any) -> list[Any]:
        return [bind(gathers, [tangents[0], *inputs[1:]], params)]

    def add_jvp(tangents: Any, inputs: Any, outs: Any, **params: Any) -> list[Any]:
        return [
            bind(
                adds,
                [_or_zero(t, x) for t, x in zip(tangents[:2], inputs[:2], strict=True)]
                + list(inputs[2:]),
                params,
            )
        ]

    def put_jvp(tangents: Any, inputs: Any, outs: Any, **params: Any) -> list[Any]:
        return [
            bind(
                puts,
                [_or_zero(t, x) for t, x in zip(tangents[:2], inputs[:2], strict=True)]
                + list(inputs[2:]),
                params,
            )
        ]

    gathers = op(
        f"gather{suffix}",
        ["x", *names],
        evaluate=gather_evaluate,
        infer=gather_infer,
        jvp=gather_jvp,
        batch=_gather_batch,
        vjp=[_rule(_gather_vjp, ["ct", *names], [*NAMES, "like"]), *[None] * count],
        lowering=lower.Gather(lambda index, shapes, params: position(index, shapes, 1, params)),
        doc="Elements of x at index arrays.",
    )
    adds = op(
        f"index_add{suffix}",
        ["x", "updates", *names],
        evaluate=scatter_evaluate(True),
        infer=scatter_infer,
        jvp=add_jvp,
        batch=_scatter_batch("add"),
        vjp=[lambda ct: ct, _rule(_gathered_vjp, ["ct", *names], NAMES), *[None] * count],
        lowering=lower.Scatter(
            lambda index, shapes, params: position(index, shapes, 2, params), "add"
        ),
        doc="x with the updates added at index arrays; a place named twice receives both.",
    )
    puts = op(
        f"index_put{suffix}",
        ["x", "updates", *names],
        evaluate=scatter_evaluate(False),
        infer=scatter_infer,
        jvp=put_jvp,
        batch=_scatter_batch("put"),
        vjp=[
            _rule(_put_vjp_x, ["ct", "updates", *names], NAMES),
            _rule(_put_vjp_updates, ["ct", *names], NAMES),
            *[None] * count,
        ],
        lowering=lower.Scatter(lambda index, shapes, params: position(index, shapes, 2, params)),
        doc="x with the updates stored at index arrays; of several for one place the last stays.",
    )
    return gathers, adds, puts


def _rule(
    function: Callable[..., Any], positional: Sequence[str], keywords: Sequence[str]
) -> Rules:
    """A rule whose names depend on how many index arrays there are."""
    return Rules(function, frozenset(positional), tuple(positional), tuple(keywords))


def _or_zero(t: Any, x: Any) -> Any:
    return _zero(x) if t is None else t


def _gather_vjp(ct: Any, *indices: Any, like: ArrayType, **params: Any) -> Any:
    zeros = broadcast_to(ct.dtype.type(0), like.shape)
    return bind(OPERATIONS["add"][len(indices) - 1], [zeros, ct, *indices], params)


def _gathered_vjp(ct: Any, *indices: Any, **params: Any) -> Any:
    return bind(OPERATIONS["gather"][len(indices) - 1], [ct, *indices], params)


def _put_vjp_x(ct: Any, updates: Any, *indices: Any, **params: Any) -> Any:
    return bind(OPERATIONS["put"][len(indices) - 1], [ct, _zero(updates), *indices], params)


def _put_vjp_updates(ct: Any, *indices: Any, **params: Any) -> Any:
    gathered = _gathered_vjp(ct, *indices, **params)
    if params["unique"]:
        return gathered
    # Where a place is named twice only the last update stays, and only it has a derivative: number
    # the updates and see which stayed.
    numbers = _count(gathered)
    stayed = bind(
        OPERATIONS["put"][len(indices) - 1],
        [convert(_zero(ct), np.int64), numbers, *indices],
        params,
    )
    return where(
        equal(_gathered_vjp(stayed, *indices, **params), numbers), gathered, gathered.dtype.type(0)
    )


def _count(x: Any) -> Any:
    """The C-order position of each element."""
    return reshape(iota(numel(shape_of(x))), shape_of(x))


class Family(NamedTuple):
    """The three operations with one number of index arrays."""

    gather: Op
    add: Op
    put: Op


_MADE = [Family(*_make(n)) for n in range(1, MOST + 1)]
OPERATIONS: dict[str, list[Op]] = {
    "gather": [m.gather for m in _MADE],
    "add": [m.add for m in _MADE],
    "put": [m.put for m in _MADE],
}
FAMILIES: dict[Op, Family] = {o: made for made in _MADE for o in made}
ADDING = frozenset(OPERATIONS["add"])


def _bind(kind: str, operands: Sequence[Any], params: Params) -> Any:
    count = len(params["axes"])
    if count <= MOST:
        return bind(OPERATIONS[kind][count - 1], operands, params)
    lead = len(operands) - count
    x, updates, indices = operands[0], operands[1:lead], operands[lead:]
    if not any(params["windows"]):
        return _merged(kind, x, updates, indices, params)
    # First of windows alone, which keep the axes in their places, then within what these show.
    wide = [k for k, w in enumerate(params["windows"]) if w is not None][:MOST]
    outer: Params = {"axes": (), "at": 0, "aligned": (), "unique": True, "windows": ()}
    outer |= {name: tuple(params[name][k] for k in wide) for name in ("axes", "windows")}
    inner = {
        **params,
        **{
            name: tuple(p for k, p in enumerate(params[name]) if k not in wide)
            for name in ("axes", "windows")
        },
    }
    seen = _bind("gather", [x, *[indices[k] for k in wide]], outer)
    result = (
        _bind(kind, [seen, *updates, *[i for k, i in enumerate(indices) if k not in wide]], inner)
        if inner["axes"]
        else seen
    )
    if kind == "gather":
        return result
    if not inner["axes"]:
        result = add(seen, updates[0]) if kind == "add" else updates[0]
    return _bind("put", [x, result, *[indices[k] for k in wide]], outer)


def _merged(
    kind: str, x: Any, updates: Sequence[Any], indices: Sequence[Any], params: Params
) -> Any:
    """Many index arrays as one, into the merged axes (moved to the end). An index out of range
    stays out of range."""
    shape, axes = shape_of(x), params["axes"]
    others = [k for k in range(len(shape)) if k not in axes]
    order = (*others, *axes)
    total: Int = 1
    flat: Any = 0
    valid: Any = True
    for a, i in zip(axes, indices, strict=True):
        n = shape[a]
        valid = mul((i >= -n) & (i < n), valid)
        flat = add(mul(flat, n), where(i < 0, add(i, n), i))
        total = total * n
    flat = where(valid, flat, total)
    pairs = tuple((others.index(a), b) for a, b in params["aligned"])
    moved = reshape(transpose(x, order), (*[shape[k] for k in others], total))
    result = _bind(
        kind,
        [moved, *updates, flat],
        {**params, "axes": (len(others),), "aligned": pairs, "windows": (None,)},
    )
    if kind == "gather":
        return result
    back = tuple(int(a) for a in np.argsort(order))
    return transpose(reshape(result, tuple(shape[k] for k in order)), back)


class Places(NamedTuple):
    """Where index arrays point: see the top of this file."""

    axes: tuple[int, ...]
    at: int
    aligned: Aligned = ()
    unique: bool = False
    windows: Windows = ()

    def params(self) -> Params:
        axes, at, aligned, unique, windows = self
        return {
            "axes": axes,
            "at": at,
            "aligned": aligned,
            "unique": unique,
            "windows": windows or (None,) * len(axes),
        }


class Placed:
    """A gather at certain indices as an operation of the source alone: what a view shows that
    begins at a traced place."""

    __slots__ = ("indices", "op")
    name = "gather"
    apart = 0
    """Of what is a view by strides: how many of its own elements lie between those it shows."""

    def __init__(self, indices: Sequence[Any]) -> None:
        # A box may become another value later.
        self.indices = tuple([i.face(i._data) if isinstance(i, Value) else i for i in indices])
        self.op = OPERATIONS["gather"][len(indices) - 1]

    def __eq__(self, other: object) -> bool:
        mine, theirs = (
            ([getattr(i, "_data", i) for i in p.indices] for p in (self, other))
            if isinstance(other, Placed)
            else ([], [0])
        )
        return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))

    __hash__ = object.__hash__

    def shown(self, x: Any, params: Params) -> Any:
        return bind(self.op, [x, *self.indices], params)

    def put(self, x: Any, y: Any, params: Params) -> Any:
        """x with y in the places."""
        return _bind("put", [x, y, *self.indices], params)


def _params(x: Any, indices: Sequence[Any], places: Sequence[Any]) -> Params:
    """The parameters. Compiled code asks whether an index is in range where it reads or writes an
    element. What is left out where nobody uses the result is asked here: the range of an array
    that is not traced, and of any other where another axis has no elements. An index made of sizes
    was compared with its axis as a part of the key, and is no number here."""
    params = Places(*places).params()
    if STATE.traces:
        shape = shape_of(x)
        for i, axis, window in zip(indices, params["axes"], params["windows"], strict=True):
            if window is not None or known_empty(*shape_of(i)):
                continue
            if not isinstance(i, (Value, *SYMBOLIC)):
                _check_known(i, axis, shape[axis])
            elif known_empty(*shape):
                _check(i, axis, shape[axis])
    return params


def _check_known(index: Any, axis: int, size: Int) -> None:
    for end in (int(np.max(index)), int(np.min(index))):
        text = f"index {end} is out of bounds for axis {axis} with size {{size}}"
        refuse_less(size, end + 1 if end >= 0 else -end, out_of_range, text)


def _check(index: Any, axis: int, size: Int) -> None:
    index = as_array(index)
    error = out_of_range(f"an index is out of bounds for axis {axis} with size {size}")
    outside = logical_or(less(index, -size), greater_equal(index, size))
    check_code(convert(outside, np.int64), (error_text(error, *program_place()),))


def gather_at(x: Any, indices: Sequence[Any], *places: Any) -> Any:
    """Elements of x at index arrays; `places` are those of `Places`."""
    return _bind("gather", [x, *indices], _params(x, indices, places))


def add_at(x: Any, updates: Any, indices: Sequence[Any], *places: Any) -> Any:
    """x with the updates added at index arrays."""
    return _bind("add", [x, updates, *indices], _params(x, indices, places))


def put_at(x: Any, updates: Any, indices: Sequence[Any], *places: Any) -> Any:
    """x with the updates stored at index arrays."""
    return _bind("put", [x, updates, *indices], _params(x, indices, places))


OPS = tuple(o for made in _MADE for o in made)
