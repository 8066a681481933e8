"""Sums of products over chosen axes, built on `matmul`: inner products, `tensordot`, chains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...sizes import numel
from ...types import normalize_axis, show
from ..arrays.shape import expand_dims, moveaxis, reshape, transpose
from ..define import ndim_of, of_shape, shape_of
from ..elementwise.derived import conj, mul
from .products import (
    alike,
    check_axes,
    matmul,
    mismatch,
    operand,
    product,
    size_hint,
    sum_products,
    swap,
)


def dot(x: Any, y: Any) -> Any:
    """Sum of products over the last axis of x and the second-to-last (or only) axis of y; an
    ordinary product for scalars.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    x, y = operand(x), operand(y)
    dx, dy = ndim_of(x), ndim_of(y)
    if dx == 0 or dy == 0:
        return mul(x, y)
    y = check_axes("dot", x, y, -1, -1 if dy == 1 else -2)
    if (dy <= 2 and dx <= 2) or dy == 1:
        return matmul(x, y)
    return tensordot(x, y, ((dx - 1,), (dy - 2,)))


def vdot(x: Any, y: Any) -> Any:
    """Sum of `conj(x) * y` over all elements, both flattened; the sizes must agree.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.vdot(np.array([1.0, 2j]), np.array([1.0, 2j])))
    (5+0j)
    """
    x, y = operand(x), operand(y)
    return dot(conj(reshape(x, (-1,))), reshape(y, (-1,)))


def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    """Sum of `conj(x) * y` along one axis, with broadcasting of the others.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.vecdot(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    x, y = operand(x), operand(y)
    if ndim_of(x) == 0 or ndim_of(y) == 0:
        raise ShapeError("vecdot: a scalar has no axis to sum over; use x * y")
    x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    y = check_axes("vecdot", x, y, -1, -1)
    x, y = alike(x, y)
    ndim = max(ndim_of(x), ndim_of(y))
    return sum_products(conj(x), y, (ndim - 1,))


def inner(x: Any, y: Any) -> Any:
    """Sum of products over the last axes; an ordinary product for scalars.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.inner(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 4.0]))
    array([3., 8.])
    """
    x, y = operand(x), operand(y)
    dx, dy = ndim_of(x), ndim_of(y)
    if dx == 0 or dy == 0:
        return mul(x, y)
    y = check_axes("inner", x, y, -1, -1)
    return matmul(x, y) if dy == 1 else tensordot(x, y, ((dx - 1,), (dy - 1,)))


Axes = int | Sequence[int]


def tensordot(x: Any, y: Any, axes: int | tuple[Axes, Axes] | Sequence[Axes] = 2) -> Any:
    """Sum of products over pairs of axes: the last `axes` of x with the first of y, or the listed
    ones of each.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ((1, 2), (1, 0))).shape
    (2,)
    """
    x, y = operand(x), operand(y)
    a, b = shape_of(x), shape_of(y)
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        if count > min(len(a), len(b)) or count < 0:
            raise ShapeError(
                f"tensordot: {count} axes cannot be summed for shapes {show(a)} and {show(b)}"
            )
        of_x, of_y = list(range(len(a) - count, len(a))), list(range(count))
    else:
        first, second = axes
        of_x = [
            normalize_axis(k, len(a))
            for k in ((first,) if isinstance(first, (int, np.integer)) else first)
        ]
        of_y = [
            normalize_axis(k, len(b))
            for k in ((second,) if isinstance(second, (int, np.integer)) else second)
        ]
    if len(of_x) != len(of_y):
        raise ShapeError(
            f"tensordot: axes name {len(of_x)} axes of the first and {len(of_y)} of the second; "
            "they are summed in pairs"
        )
    for k, m in zip(of_x, of_y, strict=True):
        wanted = list(shape_of(y))
        wanted[m] = a[k]
        y = of_shape(
            y, wanted, f"tensordot: axis {k} of the first must be as long as axis {m} of the second"
        )
        if y is None:
            raise ShapeError(
                mismatch(
                    "tensordot",
                    a,
                    b,
                    f"axis {k} of the first",
                    a[k],
                    f"axis {m} of the second",
                    b[m],
                )
            )
    left = [k for k in range(len(a)) if k not in of_x]
    right = [k for k in range(len(b)) if k not in of_y]
    shape = (*[a[k] for k in left], *[shape_of(y)[k] for k in right])
    x, y = alike(x, y)
    x = fold(x, (left, of_x))
    y = fold(y, (of_y, right))
    if not left and not right:
        return sum_products(reshape(x, (-1,)), reshape(y, (-1,)), (0,))
    return reshape(product(x, y), shape)


def fold(x: Any, groups: Sequence[Sequence[int]]) -> Any:
    """`x` with each group of its axes merged into one, in this order.

    Where only the last two groups stand in the other order, they are merged first and transposed
    then: a product takes that as a flag.
    """
    shape = shape_of(x)
    sizes = [numel([shape[k] for k in g]) for g in groups]
    order = [k for g in groups for k in g]
    other = [k for g in (*groups[:-2], groups[-1], groups[-2]) for k in g]
    if order != sorted(order) and other == sorted(other):
        return swap(reshape(x, (*sizes[:-2], sizes[-1], sizes[-2])))
    return reshape(transpose(x, order), sizes)


def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of two or more matrices in the order that needs the fewest multiplications; the
    ends may be vectors.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.multi_dot([np.ones((2, 9)), np.ones((9, 3)), np.ones(3)])
    array([27., 27.])
    """
    parts = [operand(x) for x in arrays]
    if len(parts) < 2:
        raise ShapeError("multi_dot needs at least two arrays")
    for k, x in enumerate(parts):
        ends = k in (0, len(parts) - 1)
        if ndim_of(x) != 2 and not (ends and ndim_of(x) == 1):
            raise ShapeError(
                f"multi_dot: array {k} has shape {show(shape_of(x))}; each must be a matrix, "
                "or the first and last vectors"
            )
    row, column = ndim_of(parts[0]) == 1, ndim_of(parts[-1]) == 1
    if row:
        parts[0] = expand_dims(parts[0], 0)
    if column:
        parts[-1] = expand_dims(parts[-1], 1)
    for x, y in itertools.pairwise(parts):
        check_axes("multi_dot", x, y, -1, -2)
    sizes = [size_hint(shape_of(x)[0]) for x in parts] + [size_hint(shape_of(parts[-1])[1])]
    n = len(parts)
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def chain(i: int, j: int) -> Any:
        return parts[i] if i == j else matmul(chain(i, cost[i, j][1]), chain(cost[i, j][1] + 1, j))

    result = chain(0, n - 1)
    shape = tuple(shape_of(result))
    return (
        reshape(result, (*(() if row else shape[:1]), *(() if column else shape[1:])))
        if row or column
        else result
    )


def _ranked(name: str, x: Any, y: Any, rank_x: int, rank_y: int) -> Any:
    x, y = operand(x), operand(y)
    if ndim_of(x) != rank_x or ndim_of(y) != rank_y:
        given = f"{show(shape_of(x))} and {show(shape_of(y))}"
        raise ShapeError(
            f"{name} takes arrays of {rank_x} and {rank_y} axes, not shapes {given}; "
            "matmul takes all ranks"
        )
    return matmul(x, y)


def mv(x: Any, y: Any) -> Any:
    """Product of a matrix and a vector.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.mv(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return _ranked("mv", x, y, 2, 1)


def mm(x: Any, y: Any) -> Any:
    """Product of two matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.mm(np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    """
    return _ranked("mm", x, y, 2, 2)


def bmm(x: Any, y: Any) -> Any:
    """Products of two stacks of matrices, pair by pair.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.bmm(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    return _ranked("bmm", x, y, 3, 3)
