"""What a view shows of its base, and what its base is after a write through it. A view is a chain
of operations with their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..devices import share_memory
from ..ir.dispatch import Value
from ..ir.op import Op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, transpose_op
from ..ops.arrays.slices import select_op, slice_op
from ..ops.arrays.windows import shear_op
from ..ops.places.gathering import Placed
from ..ops.places.indexing import slice_put_op
from ..tape.boxes import fresh
from ..tape.tape import record
from ..tree import flatten

EXPANDED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def note_write(op: Op, params: dict[str, Any], root: Any, y: Any) -> Any:
    """The base with `y` in the box that a slice shows, recorded and not computed: the box alone is
    written, and the rest of a large base is not read. None where it is no such box."""
    if (
        op not in (slice_op, select_op)
        or any(s != 1 for s in params["step"])
        or root._tangents
        or 0 in params["size"]
    ):
        return None
    if params["size"] == root.shape or not (
        root._requires_grad or getattr(y, "_requires_grad", False)
    ):
        return None
    node = record(
        slice_put_op,
        [root, ops.reshape(y, params["size"]) if op is select_op else y],
        {"start": params["start"]},
        [root._data],
    )
    noted = fresh(root.face, root._data)
    noted._grad_fn, noted._requires_grad = node, node is not None
    return noted


def shown(op: Op | Placed, params: dict[str, Any], x: Any) -> Any:
    """What a view `op` shows of `x`."""
    return op.shown(x, params) if isinstance(op, Placed) else x._bind(op, [x], params)


def in_memory(memory: Any, view: Sequence[tuple[Any, dict[str, Any]]]) -> Any:
    """The part of an ndarray that the steps of a view show; None where that is not known."""
    part = memory
    for op, params in view:
        known = getattr(op, "view", False) or op is broadcast_to_op
        if not known or any(isinstance(p, integers.Integer) for p in flatten(params)[0]):
            return None
        part = op.evaluate(part, **params)
    return part if np.may_share_memory(part, memory) else None


def insert(op: Op | Placed, params: dict[str, Any], x: Any, y: Any) -> Any:
    """`x` with `y` written through the view `op`."""
    if isinstance(op, Placed):
        return op.put(x, y, params)
    if op is reshape_op:
        return ops.reshape(y, x.shape)
    if op is broadcast_to_op:
        if params["shape"][len(params["shape"]) - len(x.shape) :] != x.shape or any(
            s != 1 for s in params["shape"][: -len(x.shape) or None]
        ):
            raise RuntimeError(EXPANDED)
        return ops.reshape(y, x.shape)
    if op is shear_op:
        raise RuntimeError(EXPANDED)
    if op is transpose_op:
        return ops.transpose(y, tuple(int(a) for a in np.argsort(params["axes"])))
    if op is slice_op:
        return ops.slice_put(x, y, params["start"], params["step"])
    if op is select_op:
        return ops.slice_put(x, ops.reshape(y, params["size"]), params["start"], params["step"])
    # Any other view copies elements to places of their own: its adjoint says where they belong.
    assert isinstance(op.vjp, tuple)
    rule = op.vjp[0]
    assert rule is not None
    given = {n: x.array_type.seen if n == "like" else params[n] for n in rule.keywords}
    inside = rule.function(ops.broadcast_to(np.ones((), y.dtype), y.shape), **given)
    return ops.where(ops.not_equal(inside, 0), rule.function(y, **given), x)


def entitle(result: Any, title: str, *sources: Any) -> None:
    """Name the node that recorded a write through a view, if a new one did: torch's users know it
    as one."""
    node = getattr(result, "_grad_fn", None)
    if node is not None and all(
        node is not getattr(source, "_grad_fn", None) for source in sources
    ):
        node.title = title


def apart(new: Any, given: Sequence[Any]) -> Any:
    """What is to replace a value, on memory of its own: later writes into what was given must not
    be seen through it, and what the tape saved is known by its memory."""
    data = new._data if isinstance(new, Value) else None
    if type(data) is not np.ndarray:
        return new
    lent = [x._data for x in given if isinstance(x, Value) and type(x._data) is np.ndarray]
    return ops.positive(new) if any(share_memory(data, memory) for memory in lent) else new
