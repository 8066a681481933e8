"""Splitting, joining, repeating and diagonals: compositions of reshapes, slices and
concatenations."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...checks import REFUSED, describe, explained_here
from ...errors import ShapeError
from ...sizes import INTEGRAL, SYMBOLIC, numel, same
from ...types import Int, normalize_axis, show
from ..define import as_array, in_order, ndim_of, shape_of
from ..elementwise.arithmetic import equal, where
from ..elementwise.derived import convert
from ..places.along import take
from ..places.keys import concrete
from .concatenation import concatenate
from .creation import iota
from .diagonals import diagonal
from .shape import broadcast_to, expand_dims, reshape, transpose
from .slices import cut, embed

# --- diagonals ------------------------------------------------------------------------------------


def _on_diagonal(x: Any) -> Any:
    """A square matrix with x's last axis on the diagonal."""
    n = shape_of(x)[-1]
    mask = equal(expand_dims(iota(n), 1), iota(n))
    return where(mask, expand_dims(x, ndim_of(x) - 1), x.dtype.type(0))


def diag(x: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or a matrix with the vector on its k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.diag([1, 2])
    array([[1, 0],
           [0, 2]])
    """
    x = as_array(x)
    if ndim_of(x) == 2:
        return diagonal(x, k)
    if ndim_of(x) != 1:
        raise ShapeError(
            f"diag needs a vector or a matrix, got an array of shape {show(shape_of(x))}; "
            "diagonal and diag_embed take stacks of them"
        )
    return diag_embed(x, k)


def diagflat(x: Any, k: int = 0) -> Any:
    """A matrix with the flattened array on its k-th diagonal.

    >>> import tracegrad as tg
    >>> tg.diagflat([[1], [2]])
    array([[1, 0],
           [0, 2]])
    """
    return diag_embed(ravel(x), k)


def diag_embed(x: Any, offset: int = 0) -> Any:
    """Matrices (the last two axes) with x's last axis on their diagonal.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.diag_embed(np.ones((5, 2))).shape
    (5, 2, 2)
    """
    x = as_array(x)
    square = _on_diagonal(x)
    if offset == 0:
        return square
    shape = shape_of(x)
    n = shape[-1] + abs(offset)
    return embed(
        square, (*shape[:-1], n, n), (*[0] * (len(shape) - 1), max(-offset, 0), max(offset, 0))
    )


# --- shapes ---------------------------------------------------------------------------------------


def ravel(x: Any) -> Any:
    """All elements in C order on one axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ravel(np.ones((2, 3))).shape
    (6,)
    """
    x = as_array(x)
    return reshape(x, (numel(shape_of(x)),))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """torch's flatten: the axes from `start_dim` to `end_dim` as one.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.flatten(np.ones((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = as_array(x)
    shape = shape_of(x)
    if not shape:
        return reshape(x, (1,))
    a, b = normalize_axis(start_dim, len(shape)), normalize_axis(end_dim, len(shape))
    if a > b:
        raise ShapeError(
            f"flatten from axis {a} to axis {b}: the first must not come after the last"
        )
    return reshape(x, (*shape[:a], numel(shape[a : b + 1]), *shape[b + 1 :]))


def permute(x: Any, axes: Sequence[int]) -> Any:
    """torch's name of transpose with an order.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.permute(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(x, axes)


def expand(x: Any, shape: Sequence[Int]) -> Any:
    """torch's expand: broadcast, where -1 keeps a size.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.expand(np.ones((3, 1)), (-1, 4)).shape
    (3, 4)
    """
    try:
        x = as_array(x)
        old = shape_of(x)
        extra = len(shape) - len(old)
        if extra < 0:
            raise ShapeError(
                f"expand to {show(tuple(shape))} needs at least the {len(old)} axes of the array "
                f"of shape {show(old)}"
            )
        target = []
        for k, n in enumerate(shape):
            keeps = isinstance(n, int) and n == -1
            if keeps and k < extra:
                raise ShapeError(
                    "expand: -1 keeps the size of an axis, and a new leading axis has none"
                )
            target.append(old[k - extra] if keeps else n)
        return broadcast_to(x, tuple(target))
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def unbind(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The entries along an axis, as a tuple.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [part.shape for part in tg.unbind(np.ones((2, 3)))]
    [(3,), (3,)]
    """
    x = as_array(x)
    shape = shape_of(x)
    where_ = normalize_axis(axis, len(shape))
    rest = (*shape[:where_], *shape[where_ + 1 :])
    return tuple(reshape(cut(x, where_, k, 1), rest) for k in range(shape[where_]))


def _at_least(ndim: int) -> Callable[[Any], Any]:
    def one(x: Any) -> Any:
        x = as_array(x)
        shape = shape_of(x)
        if len(shape) >= ndim:
            return x
        if ndim == 3 and len(shape) == 2:
            return reshape(x, (*shape, 1))
        return reshape(x, {1: (1,), 2: (1, *(shape or (1,))), 3: (1, *(shape or (1,)), 1)}[ndim])

    return one


def _each(function: Callable[[Any], Any], arrays: Sequence[Any]) -> Any:
    return function(arrays[0]) if len(arrays) == 1 else tuple(function(x) for x in arrays)


def atleast_1d(*arrays: Any) -> Any:
    """Arrays with at least one axis; several give a tuple.

    >>> import tracegrad as tg
    >>> tg.atleast_1d(3.0)
    array([3.])
    """
    return _each(_at_least(1), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Arrays with at least two axes (a vector becomes a row); several give a tuple.

    >>> import tracegrad as tg
    >>> tg.atleast_2d([1.0, 2.0])
    array([[1., 2.]])
    """
    return _each(_at_least(2), arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Arrays with at least three axes (a vector of n becomes (1, n, 1)); several give a tuple.

    >>> import tracegrad as tg
    >>> tg.atleast_3d([1.0, 2.0]).shape
    (1, 2, 1)
    """
    return _each(_at_least(3), arrays)


# --- splitting and joining ------------------------------------------------------------------------


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts along an axis: so many of nearly one size, or cut at the given positions.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    x = as_array(x)
    where_ = normalize_axis(axis, ndim_of(x))
    n = shape_of(x)[where_]
    if isinstance(indices_or_sections, (int, np.integer)):
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ShapeError(f"an array is split into at least one part, not {sections}")
        each, extra = divmod(int(n), sections)
        places = [0, *np.cumsum([each + 1] * extra + [each] * (sections - extra)).tolist()]
    else:
        total = int(n)
        cuts = [operator.index(p) for p in indices_or_sections]
        places = [0, *[min(max(p + total if p < 0 else p, 0), total) for p in cuts], total]
    return [cut(x, where_, a, max(b - a, 0)) for a, b in itertools.pairwise(places)]


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Equal parts along an axis (ShapeError where they cannot be equal), or parts cut at the given
    positions.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.split(np.arange(4), 2)
    [array([0, 1]), array([2, 3])]

    NumPy's meaning; pieces of a given size are torch's, `tracegrad.torch.split`.
    """
    x = as_array(x)
    if isinstance(indices_or_sections, (int, np.integer)):
        where_ = normalize_axis(axis, ndim_of(x))
        n = shape_of(x)[where_]
        if indices_or_sections <= 0 or not same(n % int(indices_or_sections), 0):
            raise ShapeError(
                f"an axis of size {n} cannot be split into {indices_or_sections} equal parts; "
                "array_split allows unequal ones"
            )
    return array_split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the second axis (the first of a vector).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [part.shape for part in tg.hsplit(np.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return split(x, indices_or_sections, 1 if ndim_of(as_array(x)) > 1 else 0)


def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the first axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [part.shape for part in tg.vsplit(np.ones((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    if ndim_of(x := as_array(x)) < 2:
        raise ShapeError(f"vsplit needs an array of at least 2 axes, not of shape {shape_of(x)}")
    return split(x, indices_or_sections, 0)


def hstack(arrays: Sequence[Any]) -> Any:
    """Arrays joined along the second axis (vectors along their only one).

    >>> import tracegrad as tg
    >>> tg.hstack([[1, 2], [3]])
    array([1, 2, 3])
    """
    parts = [atleast_1d(x) for x in in_order(arrays)]
    return concatenate(parts, 0 if parts and ndim_of(parts[0]) == 1 else 1)


def vstack(arrays: Sequence[Any]) -> Any:
    """Arrays joined along the first axis, vectors as rows.

    >>> import tracegrad as tg
    >>> tg.vstack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    return concatenate([atleast_2d(x) for x in in_order(arrays)], 0)


def dstack(arrays: Sequence[Any]) -> Any:
    """Arrays joined along the third axis.

    >>> import tracegrad as tg
    >>> tg.dstack([[1, 2], [3, 4]]).shape
    (1, 2, 2)
    """
    return concatenate([atleast_3d(x) for x in in_order(arrays)], 2)


def column_stack(arrays: Sequence[Any]) -> Any:
    """Arrays joined along the second axis, vectors as columns.

    >>> import tracegrad as tg
    >>> tg.column_stack([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    parts = [atleast_1d(x) for x in in_order(arrays)]
    return concatenate([expand_dims(x, 1) if ndim_of(x) == 1 else x for x in parts], 1)


# --- repeating ------------------------------------------------------------------------------------


def tile(x: Any, reps: Any) -> Any:
    """The whole array repeated along each axis.

    >>> import tracegrad as tg
    >>> tg.tile([1, 2], 2)
    array([1, 2, 1, 2])
    """
    x = as_array(x)
    # A traced number has an index, which says what to do.
    one = hasattr(reps, "__index__") and ndim_of(reps) == 0
    times = (reps if isinstance(reps, SYMBOLIC) else operator.index(reps),) if one else tuple(reps)
    ndim = max(len(times), ndim_of(x))
    times = (*[1] * (ndim - len(times)), *times)
    shape = (*[1] * (ndim - ndim_of(x)), *shape_of(x))
    apart = reshape(x, tuple(v for n in shape for v in (1, n)))
    return reshape(
        broadcast_to(apart, tuple(v for r, n in zip(times, shape, strict=True) for v in (r, n))),
        tuple(r * n for r, n in zip(times, shape, strict=True)),
    )


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated along an axis (of the flattened array where it is None); one count, or
    one per element (known values).

    >>> import tracegrad as tg
    >>> tg.repeat([1, 2], 2)
    array([1, 1, 2, 2])
    """
    x = as_array(x)
    if axis is None or (not shape_of(x) and axis in (0, -1)):
        x, axis = ravel(x), 0
    where_ = normalize_axis(axis, ndim_of(x))
    shape = shape_of(x)
    if isinstance(repeats, INTEGRAL):
        times: Any = repeats if isinstance(repeats, SYMBOLIC) else int(repeats)
        spread = broadcast_to(
            expand_dims(x, where_ + 1), (*shape[: where_ + 1], times, *shape[where_ + 1 :])
        )
        return reshape(spread, (*shape[:where_], shape[where_] * times, *shape[where_ + 1 :]))
    counts = concrete(
        repeats,
        "repeat",
        "The result's size depends on the counts: mark them static, or give one number.",
    )
    return take(x, np.repeat(np.arange(int(shape[where_])), counts), where_)


def one_hot(indices: Any, num_classes: int, dtype: Any = float) -> Any:
    """A last axis with 1 at each index and 0 elsewhere; an index out of range gives zeros.

    >>> import tracegrad as tg
    >>> tg.one_hot([1, 0], 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    indices = as_array(indices)
    if not hasattr(num_classes, "__index__"):
        raise TypeError(f"one_hot: num_classes is {describe(num_classes)}; it must be an integer")
    return convert(equal(expand_dims(indices, ndim_of(indices)), iota(num_classes)), dtype)
