"""Which elements index arrays name: shapes, checks, positions, and NumPy's way to read and write
there.

The parameters are those that the top of `gathering.py` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks.ranges import out_of_range
from ...errors import ShapeError
from ...ir.op import Types
from ...sizes import same
from ...sizes.size import decide
from ...types import ArrayType, Int, Shape, broadcast_shapes, show
from .sums import MANY, add_elements, add_rows

Aligned = tuple[tuple[int, int], ...]
Window = tuple[Int, int, Int]
Windows = tuple[Window | None, ...]
Params = dict[str, Any]


def integer_place(item: Any, size: Any, axis: int) -> Any:
    """The place that an integer names on an axis, counted from its front; an IndexError where
    there is none."""
    if item < 0:
        if item + size < 0:
            raise out_of_range(f"index {item} is out of bounds for axis {axis} with size {size}")
        return item + size
    if item >= size:
        raise out_of_range(f"index {item} is out of bounds for axis {axis} with size {size}")
    return item


def _block(shapes: Sequence[Shape], source: Shape, aligned: Aligned) -> Shape:
    block = broadcast_shapes(*shapes)
    ndim = max([len(block), *[b + 1 for _, b in aligned]])
    extra = [tuple(source[a] if k == b else 1 for k in range(ndim)) for a, b in aligned]
    return broadcast_shapes(block, *extra) if extra else block


def _rest(source: Shape, params: Params) -> dict[int, Int]:
    """The axes of the source that the result has, with their sizes there."""
    left = {
        k: w[0] for k, w in zip(params["axes"], params["windows"], strict=True) if w is not None
    }
    taken = {*params["axes"], *[a for a, _ in params["aligned"]]}
    return {k: left.get(k, n) for k, n in enumerate(source) if k in left or k not in taken}


def result_shape(source: Shape, index_shapes: Sequence[Shape], params: Params) -> Shape:
    rest, at = [*_rest(source, params).values()], params["at"]
    return (*rest[:at], *_block(index_shapes, source, params["aligned"]), *rest[at:])


def ends_of(window: Window | None) -> tuple[Int, Int, Int]:
    """`(low, high, from_end)` of what one index stands for: `low` and `high` from it are the ends,
    which must be inside; it counts from the end of the axis where it is below `-from_end`."""
    if window is None:
        return 0, 1, 0
    _, step, extent = window
    # Backwards both the first place and the one behind the last are named.
    return (0, extent, extent) if step > 0 else (-extent, 1, 0)


def _check_indices(source: Shape, indices: Sequence[Any], params: Params) -> None:
    for i, axis, window in zip(indices, params["axes"], params["windows"], strict=True):
        if i.type.dtype.kind not in "iu":
            raise IndexError(
                f"arrays used as indices must be of integer or boolean dtype, not {i.type.dtype}. "
                "Convert with .astype(int)."
            )
        if window is not None:
            low, high, _ = ends_of(window)
            if decide("<", source[axis], high - low, None):
                raise out_of_range(
                    f"a slice whose ends are {high - low} apart is out of bounds for axis {axis} "
                    f"with size {source[axis]}"
                )


def position(
    out_index: Shape, in_shapes: Sequence[Shape], first: int, params: dict[str, Any]
) -> tuple[Any, ...]:
    """One entry per source axis, for the index of an element of gather's result; index arrays start
    at input `first`."""
    axes = params["axes"]
    at = params["at"]
    aligned = dict(params["aligned"])
    windows = params["windows"]
    source = in_shapes[0]
    rest = _rest(source, params)
    size = len(out_index) - len(rest)
    block = out_index[at : at + size]
    others = dict(zip(rest, (*out_index[:at], *out_index[at + size :]), strict=True))
    entries: list[Any] = []
    for k, n in enumerate(source):
        if k in axes:
            which = first + axes.index(k)
            shape, window = in_shapes[which], windows[axes.index(k)]
            mine = block[len(block) - len(shape) :]
            position = tuple(
                0 if isinstance(s, int) and s == 1 else i for i, s in zip(mine, shape, strict=True)
            )
            entries.append(
                lower.Run(which, position, others[k] * window[1] if window else 0, *ends_of(window))
            )
        elif k in aligned:
            entries.append(0 if isinstance(n, int) and n == 1 else block[aligned[k]])
        else:
            entries.append(others[k])
    return tuple(entries)


def _numpy_key(
    ndim: int,
    source: tuple[int, ...],
    indices: Sequence[Any],
    axes: Sequence[int],
    aligned: Aligned,
) -> tuple[tuple[Any, ...], int, int]:
    """An indexing key for NumPy, where NumPy puts the block, and how many axes it has."""
    size = len(_block([np.shape(i) for i in indices], source, aligned))
    key: list[Any] = [slice(None)] * ndim
    for a, i in zip(axes, indices, strict=True):
        key[a] = np.asarray(i)
    for a, b in aligned:
        key[a] = np.arange(source[a]).reshape([-1 if k == b else 1 for k in range(size)])
    taken = sorted({*axes, *[a for a, _ in aligned]})
    adjacent = taken == list(range(taken[0], taken[-1] + 1))
    return tuple(key), taken[0] if adjacent else 0, size


def _move_block(x: Any, source: int, size: int, target: int) -> Any:
    if source == target or size == 0:
        return x
    return np.moveaxis(x, range(source, source + size), range(target, target + size))


def _spread(
    x: Any, indices: Sequence[Any], params: Params
) -> tuple[Any, tuple[Any, ...], list[int]]:
    """Windows as index arrays: a view of x and a key for it, and in which order the axes of what
    that gives are those of a result."""
    source, at, aligned = x.shape, params["at"], params["aligned"]
    lead = len(_block([np.shape(i) for i in indices], source, aligned))
    wide = [k for k, w in zip(params["axes"], params["windows"], strict=True) if w is not None]
    ndim = lead + len(wide)
    key = {
        a: np.arange(source[a]).reshape([-1 if k == b else 1 for k in range(ndim)])
        for a, b in aligned
    }
    for i, k, w in zip(indices, params["axes"], params["windows"], strict=True):
        low, high, from_end = ends_of(w)
        i, n = np.asarray(i).astype(np.int64), source[k]
        i = np.where(i < -from_end, i + n, i)
        wrong = (i + low < 0) | (i + high > n)
        if np.any(wrong):
            raise out_of_range(
                f"index {i[wrong].flat[0]} is out of bounds for axis {k} with size {n}"
            )
        i = i.reshape((*i.shape, *[1] * len(wide)))
        key[k] = (
            i
            if w is None
            else i + (np.arange(w[0]) * w[1]).reshape([-1 if k == a else 1 for a in wide])
        )
    rest = [*_rest(source, params)]
    thin = [k for k in rest if k not in wide]
    places = [lead + wide.index(k) if k in wide else ndim + thin.index(k) for k in rest]
    return (
        x.transpose([*key, *thin]),
        tuple(key.values()),
        [*places[:at], *range(lead), *places[at:]],
    )


def gather_evaluate(x: Any, *indices: Any, **params: Any) -> Any:
    x = np.asarray(x)
    if any(params["windows"]):
        view, key, order = _spread(x, indices, params)
        return view[key].transpose(order)
    if params["axes"] == (0,) and not params["aligned"] and params["at"] == 0:
        index = np.asarray(indices[0])
        if index.ndim and index.dtype.kind == "i" and x.size and x.flags.c_contiguous:
            return x.take(index, 0)  # as x[index], which is as slow as the key for all axes
    key, place, size = _numpy_key(x.ndim, x.shape, indices, params["axes"], params["aligned"])
    found = x[key]
    # Scalar index arrays give a view in NumPy; here the result is always new.
    return found.copy() if size == 0 else _move_block(found, place, size, params["at"])


def _many_added(x: Any, updates: Any, indices: Sequence[Any], params: Params) -> Any:
    first = params["axes"] == (0,) and not params["aligned"] and not any(params["windows"])
    if first and params["at"] == 0:
        found = add_rows(x, updates, np.asarray(indices[0]))
        if found is not None:
            return found
    numbers = np.arange(x.size).reshape(x.shape)
    return add_elements(x, updates, gather_evaluate(numbers, *indices, **params))


def scatter_evaluate(combine: bool) -> Callable[..., Any]:
    def evaluate(x: Any, updates: Any, *indices: Any, **params: Any) -> Any:
        many = np.ndim(x) > 1 and np.size(updates) >= MANY
        if combine and many and not params["unique"]:
            return _many_added(np.asarray(x), np.asarray(updates), indices, params)
        out = np.array(x)
        if any(params["windows"]):
            view, key, order = _spread(out, indices, params)
            updates = np.transpose(updates, np.argsort(order))
        else:
            view = out
            key, place, size = _numpy_key(
                out.ndim, out.shape, indices, params["axes"], params["aligned"]
            )
            updates = _move_block(np.asarray(updates), params["at"], size, place)
        if not combine:
            view[key] = updates
        elif params["unique"]:
            view[key] += updates
        else:
            np.add.at(view, key, updates)
        return out

    return evaluate


def gather_infer(x: Any, *indices: Any, **params: Any) -> Types:
    _check_indices(x.type.shape, indices, params)
    return (
        ArrayType(
            x.type.dtype, result_shape(x.type.shape, [i.type.shape for i in indices], params)
        ),
    )


def scatter_infer(x: Any, updates: Any, *indices: Any, **params: Any) -> Types:
    _check_indices(x.type.shape, indices, params)
    needed = result_shape(x.type.shape, [i.type.shape for i in indices], params)
    given = updates.type.shape
    if len(needed) != len(given) or not all(same(m, n) for m, n in zip(needed, given, strict=True)):
        raise ShapeError(
            f"values of shape {show(given)} do not fit the indexed places, "
            f"which have shape {show(needed)}"
        )
    return (x.type,)
