"""Taking and putting along axes: NumPy's take and take_along_axis, torch's gather, scatter and
index_* functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...checks.ranges import out_of_range
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...sizes import form
from ...sizes.owners import is_late
from ...sizes.size import known_empty
from ...types import Shape, broadcast_shapes, normalize_axis, show
from ..arrays.shape import reshape
from ..arrays.slices import slice_array
from ..define import as_array, ndim_of, shape_of
from ..elementwise.comparison import clip
from ..elementwise.derived import mul
from ..elementwise.elementary import identity_op
from ..elementwise.remainders import mod
from .gathering import add_at, gather_at, put_at
from .indexing import as_element, as_value, slice_put
from .keys import of_places


def _indices(indices: Any) -> Any:
    indices = of_places(indices) if isinstance(indices, (list, tuple)) else as_array(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError(
            f"indices must be integers, not {indices.dtype}. Convert with .astype(int)."
        )
    return indices


def take(x: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """Elements at these indices along an axis (of the flattened array where it is None).

    `mode` says what an index out of range means: "raise" (IndexError), "wrap" (modulo), "clip" (the
    nearest end).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.take(np.array([10, 20, 30]), [2, 0, -1])
    array([30, 10, 30])
    """
    x, indices = as_array(x), _indices(indices)
    if axis is None or (not shape_of(x) and axis in (0, -1)):
        x, axis = reshape(x, (-1,) if shape_of(x) else (1,)), 0
    where_ = normalize_axis(axis, ndim_of(x))
    n = shape_of(x)[where_]
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f'mode must be "raise", "wrap" or "clip", not {mode!r}')
    result = (*shape_of(x)[:where_], *shape_of(indices), *shape_of(x)[where_ + 1 :])
    if known_empty(n) and not known_empty(*result):
        # A run asks, where it alone knows how many are taken.
        if not any(is_late(form(size)) for size in result):
            raise out_of_range(f"elements are taken from axis {where_}, which has none")
    elif known_empty(n, *result[:where_]):
        return bind(identity_op, [reshape(x, result)])  # NumPy asks of no index then
    if mode == "wrap":
        indices = mod(indices, n)
    elif mode == "clip":
        indices = clip(indices, 0, n - 1)
    return gather_at(x, [indices], (where_,), where_, (), ndim_of(indices) == 0)


def _aligned(ndim: int, axis: int) -> tuple[tuple[int, int], ...]:
    return tuple((k, k) for k in range(ndim) if k != axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = -1, *, unique: bool = False) -> Any:
    """`out[i, j, k] = x[i, indices[i, j, k], k]` (for axis 1): one index per lane, as argsort and
    argmax give them.

    `unique` promises that no lane names an element twice.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.take_along_axis(np.array([[3, 1], [5, 7]]), np.array([[1, 0], [0, 1]]), axis=1)
    array([[1, 3],
           [5, 7]])
    """
    x, indices = as_array(x), _indices(indices)
    if axis is None:
        x, axis = reshape(x, -1), 0
    ndim = ndim_of(x)
    if ndim_of(indices) != ndim:
        raise ShapeError(
            f"indices of shape {show(shape_of(indices))} need the rank of the array, "
            f"whose shape is {show(shape_of(x))}"
        )
    where_ = normalize_axis(axis, ndim)
    return gather_at(x, [indices], (where_,), 0, _aligned(ndim, where_), unique)


def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None) -> Any:
    """A new array: x with `out[i, indices[i, j, k], k] = values[i, j, k]` (for axis 1). NumPy's
    function of this name writes in place.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.put_along_axis(np.zeros((2, 2)), np.array([[1], [0]]), 5.0, axis=1)
    array([[0., 5.],
           [5., 0.]])
    """
    x, indices = as_array(x), _indices(indices)
    if axis is None:
        return reshape(put_along_axis(reshape(x, -1), indices, values, 0), shape_of(x))
    ndim = ndim_of(x)
    if ndim_of(indices) != ndim:
        raise ShapeError(
            f"indices of shape {show(shape_of(indices))} need the rank of the array, "
            f"whose shape is {show(shape_of(x))}"
        )
    where_ = normalize_axis(axis, ndim)
    block = broadcast_shapes(
        shape_of(indices), tuple(1 if k == where_ else n for k, n in enumerate(shape_of(x)))
    )
    return put_at(x, as_value(values, x, block), [indices], (where_,), 0, _aligned(ndim, where_))


def _corner(x: Any, size: Shape) -> Any:
    return slice_array(x, (0,) * len(size), size, (1,) * len(size))


def _lanes(x: Any, dim: int, index: Any) -> tuple[int, Shape]:
    """The axis, and the corner of x that the index's lanes cover."""
    axis = normalize_axis(dim, ndim_of(x))
    shape, wanted = shape_of(x), shape_of(index)
    if len(wanted) != len(shape) or any(
        k != axis and n > m for k, (n, m) in enumerate(zip(wanted, shape, strict=True))
    ):
        raise ShapeError(
            f"index of shape {show(wanted)} must have the rank of the array of shape "
            f"{show(shape)}, and be no larger apart from axis {axis}"
        )
    return axis, tuple(
        m if k == axis else n for k, (n, m) in enumerate(zip(wanted, shape, strict=True))
    )


def gather(x: Any, dim: int, index: Any) -> Any:
    """torch's gather: `out[i, j] = x[index[i, j], j]` for dim 0; the index may be smaller than x
    along the other axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.gather(np.array([[1, 2], [3, 4]]), 1, np.array([[0, 0], [1, 0]]))
    array([[1, 1],
           [4, 3]])
    """
    x, index = as_array(x), _indices(index)
    axis, corner = _lanes(x, dim, index)
    return take_along_axis(_corner(x, corner), index, axis)


def scattered(x: Any, dim: int, index: Any, src: Any, write: Callable[..., Any]) -> Any:
    """A new array: x with what `write` (`add_at`, `put_at`, ...) makes of it and `src` at
    `x[index[i, j], j]` for dim 0."""
    x, index = as_array(x), _indices(index)
    axis, corner = _lanes(x, dim, index)
    src = as_element(src, x.dtype)
    size = shape_of(index)
    if ndim_of(src):
        if ndim_of(src) != len(size) or any(
            n > m for n, m in zip(size, shape_of(src), strict=True)
        ):
            raise ShapeError(
                f"src of shape {show(shape_of(src))} must be at least as large as the index, "
                f"whose shape is {show(size)}"
            )
        src = _corner(src, size)
    part = write(
        _corner(x, corner), as_value(src, x, size), [index], (axis,), 0, _aligned(len(size), axis)
    )
    return slice_put(x, part, (0,) * len(size), (1,) * len(size))


def scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    """torch's scatter: a new array, x with `out[index[i, j], j] = src[i, j]` for dim 0; `src` may
    be a number.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.scatter(np.zeros(3), 0, np.array([2, 0]), np.array([1.0, 5.0]))
    array([5., 0., 1.])
    """
    return scattered(x, dim, index, src, put_at)


def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """torch's scatter_add: like `scatter`, adding; a place named twice receives both.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.scatter_add(np.zeros(3), 0, np.array([2, 2]), np.array([1.0, 5.0]))
    array([0., 0., 6.])
    """
    return scattered(x, dim, index, src, add_at)


def index_select(x: Any, dim: int, index: Any) -> Any:
    """torch's index_select: the entries of a 1-d index along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_select(np.array([[1, 2], [3, 4]]), 1, np.array([1]))
    array([[2],
           [4]])
    """
    return take(x, index, dim)


def index_add(x: Any, dim: int, index: Any, src: Any, alpha: Any = 1) -> Any:
    """torch's index_add: a new array, x with `alpha * src` added to the entries of a 1-d index
    along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_add(np.zeros(3), 0, np.array([0, 0]), np.array([1.0, 2.0]))
    array([3., 0., 0.])
    """
    scaled = src if isinstance(alpha, int) and alpha == 1 else mul(src, alpha)
    return indexed(x, dim, index, scaled, add_at)


def indexed(x: Any, dim: int, index: Any, src: Any, write: Callable[..., Any]) -> Any:
    """A new array: x with what `write` (`add_at`, `put_at`, ...) makes of src and of the entries of
    a 1-d index along an axis."""
    x, index = as_array(x), _indices(index)
    axis = normalize_axis(dim, ndim_of(x))
    shape = shape_of(x)
    value = as_value(src, x, (*shape[:axis], *shape_of(index), *shape[axis + 1 :]))
    return write(x, value, [index], (axis,), axis)


def index_copy(x: Any, dim: int, index: Any, src: Any) -> Any:
    """torch's index_copy: a new array, x with `src` at the entries of a 1-d index along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.index_copy(np.zeros(3), 0, np.array([2, 0]), np.array([1.0, 2.0]))
    array([2., 0., 1.])
    """
    return indexed(x, dim, index, src, put_at)
