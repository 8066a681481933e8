"""`associative_scan`: all running combinations of the slices of arrays by a function of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ShapeError
from ..ir.trace import user_line
from ..ops import concatenate, moveaxis
from ..ops.arrays.shape import reshape
from ..ops.arrays.slices import cut
from ..sizes import known_less, same, same_shape, seen
from ..tape.copies import copied
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..tree import flatten, unflatten
from .region import path_of
from .scan import scan


def associative_scan(
    fn: Callable[[Any, Any], Any], xs: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """The running combinations `x[0], fn(x[0], x[1]), fn(fn(x[0], x[1]), x[2]), ...` of the slices
    along an axis, stacked along it.

    fn          an associative function: of two slices (trees like `xs`, without the axis) one of
                the same structure, shapes and dtypes. What it captures is differentiated as well
    xs          a tree of arrays with equal sizes along `axis`, 0 and 1 among them
    reverse     combine from the last slice to the first: `y[n - 2] = fn(x[n - 1], x[n - 2])`

    A TypeError where `fn` returns something else, a ShapeError where the sizes differ. The slices
    are combined in order, in one loop, in compiled code too: a tree of combinations has more work,
    which only many threads make up for. The derivatives are loops as well.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.associative_scan(np.maximum, np.array([3.0, 1.0, 4.0, 1.0, 5.0]))
    array([3., 3., 4., 4., 5.])
    >>> decay, gain = np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 1.0])
    >>> tg.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, gain))[1]
    array([1.  , 1.5 , 1.75])
    """
    leaves, spec = flatten(xs)
    if not leaves:
        raise ValueError("associative_scan: xs has no arrays")
    for x in leaves:
        check_leaf(x, "associative_scan: xs holds")
    places, sizes = [], []
    for x in leaves:
        shape = leaf_type(x).shape
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(
                f"{user_line()}: associative_scan: axis {axis} is out of range for an array "
                f"of shape {shape} in xs"
            )
        places.append(axis % len(shape))
        sizes.append(seen(shape[places[-1]]))
    if not all(same(sizes[0], s) for s in sizes):
        raise ShapeError(
            f"{user_line()}: associative_scan: the sizes of xs along axis {axis} differ: {sizes}"
        )
    count = sizes[0]
    if known_less(count, 2):
        return unflatten(spec, [plain(copied(x)) for x in leaves])
    columns = [moveaxis(x, k, 0) if k else x for x, k in zip(leaves, places, strict=True)]
    ends = [cut(x, 0, count - 1 if reverse else 0, 1) for x in columns]
    rest = [cut(x, 0, 0 if reverse else 1, count - 1) for x in columns]
    start = [plain(reshape(e, e.shape[1:])) for e in ends]
    kinds = list(map(leaf_type, start))

    def step(running: Any, x: Any) -> tuple[Any, Any]:
        combined = fn(running, x)
        found, structure = flatten(combined)
        if structure != spec:
            raise TypeError(
                f"{user_line()}: associative_scan: fn returned a result of structure {structure}, "
                f"its arguments have {spec}"
            )
        for path, before, value in zip(spec.paths(), kinds, found, strict=True):
            after = leaf_type(value)
            if after.dtype != before.dtype or not same_shape(after.shape, before.shape):
                raise TypeError(
                    f"{user_line()}: associative_scan: fn of two slices that are {before} "
                    f"returned {after} ({path_of(path)}); the result of fn must be like each of "
                    "its arguments (convert xs, or the result)"
                )
        return combined, combined

    _, ys = scan(
        step, unflatten(spec, start), unflatten(spec, [plain(r) for r in rest]), reverse=reverse
    )
    whole = [
        concatenate([y, e] if reverse else [e, y])
        for y, e in zip(flatten(ys)[0], ends, strict=True)
    ]
    return unflatten(
        spec, [plain(moveaxis(y, 0, k) if k else y) for y, k in zip(whole, places, strict=True)]
    )


__all__ = ["associative_scan"]
