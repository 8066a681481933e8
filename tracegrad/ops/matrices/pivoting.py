"""QR factors with pivoting and LU factors of matrices that are not square.

The orders that pivoting brings rows and columns into are operations of their own, without a
derivative; the factors are those of the matrix in that order, and so are their derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import loading
from ...dtypes import INT64
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import triu
from ..arrays.shape import expand_dims
from ..arrays.slices import slice_array
from ..define import shape_of
from ..places.along import take_along_axis
from .functions_of_matrices import lower_factor, lu_stack, permutation_of
from .products import swap
from .stacks import batch_stacks, floating, routine
from .triangular import qr_stack, triangular_solve_stack


def _of_axis(name: str, axis: int) -> Any:
    def infer(a: Any) -> Types:
        kind = floating(name, a.type)
        if kind.ndim != 3:
            raise ShapeError(
                f"{name}: needs a stack of matrices, not an array of shape {show(kind.shape)}"
            )
        return (ArrayType(INT64, (kind.shape[0], kind.shape[axis])),)

    return infer


def _column_order(a: Any) -> Any:
    qr = loading.imported("scipy.linalg").qr
    order = np.empty((a.shape[0], a.shape[2]), np.int64)
    order[...] = np.arange(a.shape[2])
    if a.size:
        for m, o in zip(a, order, strict=True):
            o[...] = qr(m, mode="r", pivoting=True, check_finite=False)[1]
    return order


def _row_order(a: Any) -> Any:
    getrf: Any = loading.imported("scipy.linalg.lapack").get_lapack_funcs("getrf", (a,))
    order = np.empty(a.shape[:2], np.int64)
    order[...] = np.arange(a.shape[1])
    if a.size:
        for m, o in zip(a, order, strict=True):
            for k, j in enumerate(getrf(m)[1]):
                o[k], o[j] = o[j], o[k]
    return order


column_order_op: Op = op(
    "column_order",
    ("a",),
    evaluate=_column_order,
    infer=_of_axis("column_order", 2),
    batch=batch_stacks(lambda: column_order_op),
    lowering=routine("column_order"),
    doc="The order of columns that QR factors with pivoting take.",
)
row_order_op: Op = op(
    "row_order",
    ("a",),
    evaluate=_row_order,
    infer=_of_axis("row_order", 1),
    batch=batch_stacks(lambda: row_order_op),
    lowering=routine("row_order"),
    doc="The order of rows that LU factors take.",
)


def pivoted_qr_stack(a: Any) -> tuple[Any, Any, Any]:
    """q and r of a stack of matrices with their columns in an order, and the order: the diagonal of
    r decreases."""
    order = bind(column_order_op, [a])
    q, r = qr_stack(take_along_axis(a, expand_dims(order, 1), 2))
    return q, r, order


def lu_with_order(a: Any) -> tuple[Any, Any, Any]:
    """The lower and the upper factor of a stack of matrices with their rows in an order, and the
    order."""
    b, m, n = shape_of(a)
    if same(m, n):
        packed, pivots = lu_stack(a)
        return lower_factor(packed), triu(packed), permutation_of(pivots)
    if m < n:
        # The columns behind the square block follow it.
        lower, upper, order = lu_with_order(slice_array(a, (0, 0, 0), (b, m, m), (1, 1, 1)))
        rest = _rows(slice_array(a, (0, 0, m), (b, m, n - m), (1, 1, 1)), order)
        more = triangular_solve_stack(lower, rest, True, 0, True)
        return lower, concatenate([upper, more], 2), order
    # The rows below the square block follow it. Of equal pivots rounding may choose another one
    # there, so that its own order counts.
    order = bind(row_order_op, [a])
    sorted_rows = _rows(a, order)
    lower, upper, again = lu_with_order(slice_array(sorted_rows, (0, 0, 0), (b, n, n), (1, 1, 1)))
    below = slice_array(sorted_rows, (0, n, 0), (b, m - n, n), (1, 1, 1))
    more = swap(triangular_solve_stack(upper, swap(below), False, 1))  # below @ inv(upper)
    first = take_along_axis(slice_array(order, (0, 0), (b, n), (1, 1)), again, 1)
    last = slice_array(order, (0, n), (b, m - n), (1, 1))
    return concatenate([lower, more], 1), upper, concatenate([first, last], 1)


def _rows(x: Any, order: Any) -> Any:
    return take_along_axis(x, expand_dims(order, -1), 1)


OPS = (column_order_op, row_order_op)
