"""Functions of the standard that rearrange, choose, search and sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..tensors import as_tensor
from .results import given, of, operand

expand_dims = of(lambda x, /, *, axis=0: ops.expand_dims(x, axis), "expand_dims")
flip = of(lambda x, /, *, axis=None: np.flip(x, axis), "flip")
permute_dims = of(lambda x, /, axes: ops.transpose(x, axes), "permute_dims")
moveaxis = of(np.moveaxis, "moveaxis")
roll = of(lambda x, /, shift, *, axis=None: np.roll(x, shift, axis), "roll")
squeeze = of(lambda x, /, axis: np.squeeze(x, axis), "squeeze")
tile = of(np.tile, "tile")
broadcast_to = of(np.broadcast_to, "broadcast_to")


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays in the shape that they have together.

    >>> import tracegrad as tg
    >>> [x.shape for x in tg.array_api.broadcast_arrays(tg.ones(3), tg.ones((2, 1)))]
    [(2, 3), (2, 3)]
    """
    shape = np.broadcast_shapes(*[operand(x).shape for x in arrays])
    return [given(np.broadcast_to(x, shape)) for x in arrays]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other; flattened where `axis` is None."""
    return given(np.concatenate([operand(x) for x in arrays], axis))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays along a new axis."""
    return given(np.stack([operand(x) for x in arrays], axis))


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The slices along an axis, as a tuple."""
    return tuple(np.moveaxis(operand(x), axis, 0)[k] for k in range(x.shape[axis]))


def reshape(x: Any, /, shape: Any, *, copy: Any = None) -> Any:
    """The elements in another shape; `copy=False` is a ValueError where that takes one."""
    found = given(np.reshape(operand(x), shape))
    if copy:
        return ops.positive(found)
    if copy is False and found.data_ptr() != x.data_ptr() and x.shape and 0 not in x.shape:
        raise ValueError("reshape: this shape takes a copy")
    return found


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element, or slice, several times; as often as `repeats` says, one number or one each."""
    count = repeats if isinstance(repeats, int) else np.asarray(repeats.detach())
    return given(np.repeat(operand(x), count, axis))


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Slices along an axis, chosen by a one-dimensional array of their numbers."""
    if axis is None and operand(x).ndim != 1:
        raise ValueError(f"take: axis is needed for an array of {x.ndim} dimensions")
    return given(np.take(x, indices, axis=0 if axis is None else axis))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Elements along an axis, at each place another."""
    return given(np.take_along_axis(operand(x), indices, axis))


# --- searching and sorting ------------------------------------------------------------------------

argmax = of(lambda x, /, *, axis=None, keepdims=False: ops.argmax(x, axis, keepdims), "argmax")
argmin = of(lambda x, /, *, axis=None, keepdims=False: ops.argmin(x, axis, keepdims), "argmin")
where = of(lambda condition, x1, x2, /: ops.where(condition, x1, x2), "where", 3)


def nonzero(x: Any, /) -> Any:
    """The places of elements that are not zero: an array of numbers for each axis."""
    if not operand(x).ndim:
        raise ValueError("nonzero: an array without dimensions has no places")
    return tuple(map(as_tensor, np.nonzero(x.detach().numpy())))


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Any:
    """Where the elements of `x2` belong in the ordered `x1`."""
    ordered = operand(x1) if sorter is None else np.take(x1, sorter)
    return given(np.searchsorted(ordered, operand(x2), side))


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The numbers of the elements in order along an axis; equal ones keep theirs."""
    if not descending:
        return given(np.argsort(operand(x), axis, kind="stable"))
    found = given(np.argsort(np.flip(operand(x), axis), axis, kind="stable"))
    return x.shape[axis] - 1 - given(np.flip(found, axis))


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis; NaN last, first where they descend."""
    found = given(np.sort(operand(x), axis))
    return given(np.flip(found, axis)) if descending else found


def _unique(x: Any, function: Any) -> Any:
    return given(function(operand(x).detach().numpy()))


def unique_all(x: Any, /) -> Any:
    """Values, first places, places of each element among the values, counts; constants."""
    return _unique(x, np.unique_all)


def unique_counts(x: Any, /) -> Any:
    """Values and how often each is there; constants."""
    return _unique(x, np.unique_counts)


def unique_inverse(x: Any, /) -> Any:
    """Values and the place of each element among them; constants."""
    return _unique(x, np.unique_inverse)


def unique_values(x: Any, /) -> Any:
    """The values that are there, once each and in order; constants."""
    return _unique(x, np.unique)


__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "nonzero",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "searchsorted",
    "sort",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "where",
]
