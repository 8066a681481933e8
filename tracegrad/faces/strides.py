"""Where the elements of a view lie in its base, by strides as NumPy keeps them; so that a trace
knows which reshape is a view and which one copies, and that arrays which are replaced lie as those
did."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ops.arrays.diagonals import diagonal_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, transpose_op
from ..ops.arrays.slices import select_op, slice_op
from ..ops.arrays.windows import shear_op
from ..ops.places.gathering import Placed
from ..sizes import at_most, less, numel, same
from ..types import Int, Shape

Memory = tuple[Shape, Shape]
"""The shape and the strides, in elements."""


def copies(memory: Memory, view: Sequence[tuple[Any, dict[str, Any]]]) -> bool:
    """Whether NumPy has to copy for the last step of a view, a reshape, of a base that lies so.
    Symbolic sizes are taken to be those of most calls: what is asked about them is noted as any
    question of the traced function."""
    source = through(view[:-1], memory)
    return source is not None and reshaped(source, view[-1][1]["shape"]) is None


def contiguous(memory: Memory, view: Sequence[tuple[Any, dict[str, Any]]]) -> bool:
    """Whether a view of a base that lies so lies in C order; so do those whose places are not known
    by strides."""
    shown = through(view, memory)
    return shown is None or without_gaps(shown)


def without_gaps(memory: Memory) -> bool:
    """Whether it is C order, without gaps."""
    if any(same(n, 0) for n in memory[0]):
        return True
    wanted: Int = 1
    for n, stride in zip(reversed(memory[0]), reversed(memory[1]), strict=True):
        if same(n, 1):
            continue
        if not same(stride, wanted):
            return False
        wanted = wanted * n
    return True


def in_order(shape: Sequence[Int]) -> Shape:
    """The strides of an array in C order."""
    return tuple(numel(shape[k + 1 :]) for k in range(len(shape)))


def through(view: Sequence[tuple[Any, dict[str, Any]]], memory: Memory) -> Memory | None:
    """What the steps of a view show; None where the places are not known by strides."""
    shown: Memory | None = memory
    for op, params in view:
        shown = None if shown is None else after(op, params, shown)
    return shown


def after(op: Any, params: dict[str, Any], memory: Memory) -> Memory | None:
    """What one step of a view shows; None for steps whose places are not known by strides."""
    shape, strides = memory
    if op is transpose_op:
        return tuple(shape[a] for a in params["axes"]), tuple(strides[a] for a in params["axes"])
    if op is slice_op:
        return params["size"], _stepped(strides, params["step"])
    if op is select_op:
        return reshaped((params["size"], _stepped(strides, params["step"])), params["shape"])
    if op is broadcast_to_op:
        wide = params["shape"]
        more = len(wide) - len(shape)
        kept = (0 if same(old, 1) else stride for old, stride in zip(shape, strides, strict=True))
        return wide, (*(0,) * more, *kept)
    if op is reshape_op:
        return reshaped(memory, params["shape"])
    if op is diagonal_op:
        dims, offset = params["dims"], params["offset"]
        rest = [k for k in range(len(shape)) if k not in dims]
        rows, columns = (shape[d] for d in dims)
        below = rows + offset if offset < 0 else rows
        beside = columns - offset if offset > 0 else columns
        last = below if less(below, beside) else beside
        step = strides[dims[0]] + strides[dims[1]]
        return (*[shape[k] for k in rest], last), (*[strides[k] for k in rest], step)
    if op is shear_op:
        axis, along = params["axis"], params["along"]
        step = strides[axis] + params["slope"] * strides[along]
        return (
            (*shape[:along], params["size"], *shape[along + 1 :]),
            (*strides[:axis], step, *strides[axis + 1 :]),
        )
    if isinstance(op, Placed) and op.apart:
        return shape, tuple(s * op.apart for s in strides)  # in its own elements
    return None


def _stepped(strides: Shape, step: Sequence[int]) -> Shape:
    return tuple(s * stride for s, stride in zip(step, strides, strict=True))


def reshaped(memory: Memory, new: Sequence[Int]) -> Memory | None:
    """The same elements under another shape; None where no strides show them. Axes are taken from
    both sides until they hold equally many elements; such old ones have to lie as one axis, which
    the new ones divide."""
    if all(map(same, memory[1], in_order(memory[0]))):
        return tuple(new), in_order(new)
    axes = [(n, s) for n, s in zip(*memory, strict=True) if not same(n, 1)]
    if any(same(n, 0) for n, _ in axes):
        return tuple(new), in_order(new)
    wanted = [k for k, n in enumerate(new) if not same(n, 1)]
    strides: list[Int] = [1] * len(new)
    while axes and wanted:
        (count, _), group = axes[0], [axes.pop(0)]
        divided = [wanted.pop(0)]
        held = new[divided[0]]
        while not same(held, count):
            # They differ: of lengths that may be 0 it shows that the one is not above the other.
            if not wanted and not axes:
                return None
            if not axes or (wanted and at_most(held, count)):
                divided.append(wanted.pop(0))
                held = held * new[divided[-1]]
            else:
                group.append(axes.pop(0))
                count = count * group[-1][0]
        for (_, outer), (n, inner) in itertools.pairwise(group):
            if not same(outer, n * inner):
                return None
        stride = group[-1][1]
        for k in reversed(divided):
            strides[k] = stride
            stride = stride * new[k]
    return tuple(new), tuple(strides)


def laid_as(before: Any, now: Any) -> Any:
    """What an array is after a write, on memory that lies as it did: which of its reshapes are
    views must not depend on how the written values lay."""
    if (
        type(before) is not np.ndarray
        or type(now) is not np.ndarray
        or now.strides == before.strides
        or (before.flags.c_contiguous and now.flags.c_contiguous)
    ):
        return now
    ends = [s * (n - 1) for n, s in zip(before.shape, before.strides, strict=True)]
    first, last = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    if last - first + before.itemsize < before.nbytes:
        return now  # elements that shared places have their own now
    room = np.empty(last - first + before.itemsize, np.uint8)
    laid: np.ndarray[Any, Any] = np.ndarray(
        before.shape, before.dtype, room, -first, before.strides
    )
    laid[...] = now
    return laid


def in_memory_order(memory: np.ndarray[Any, Any]) -> list[int]:
    """The axes of an array from the outermost to the innermost as they lie in memory, in NumPy's
    order: axes along which nothing moves stay between those beside which they stand."""
    steps = [
        abs(stride) if n != 1 else 0 for n, stride in zip(memory.shape, memory.strides, strict=True)
    ]
    order: list[int] = []  # from the innermost, sorted by insertion
    for axis in reversed(range(memory.ndim)):
        place = len(order)
        for k in reversed(range(len(order))):
            if steps[axis] and steps[order[k]]:
                if steps[order[k]] <= steps[axis]:
                    break
                place = k
        order.insert(place, axis)
    return order[::-1]
