"""Sparse arrays of traced values, and systems of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import describe
from ..dtypes import FLOAT64, kind_of, promote
from ..errors import ShapeError
from ..ops.define import as_array, ndim_of, of_list, shape_of
from ..ops.elementwise.derived import convert
from ..ops.sparse import products
from ..ops.sparse.operand import SparseArray, as_sparse, is_sparse
from ..ops.sparse.pattern import checked, integers, layout
from ..sizes import same
from ..types import show


def array(parts: Any, shape: tuple[int, int] | None = None) -> SparseArray:
    """A sparse array whose values may be traced, at places that are not.

    parts   `(data, indices, indptr)`: the rows one after the other, as of `scipy.sparse.csr_array`;
            `(data, (row, col))`: entries in any order, those of one place count together;
            or a sparse array of SciPy. Real or complex data of shape (nnz,), plain integers.
    shape   (m, n); of an array of SciPy its own

    Integers that point outside of the shape are an error (ShapeError), traced ones too (TypeError).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> def loss(k):
    ...     A = tg.sparse.array((k, [0, 1, 1], [0, 2, 3]), (2, 2))
    ...     return np.sum(A @ np.array([1.0, 10.0]))
    >>> tg.grad(loss)(np.array([1.0, 2.0, 3.0]))
    array([ 1., 10., 10.])
    """
    if is_sparse(parts):
        made = as_sparse(parts)
        if shape is not None and tuple(shape) != made.shape:
            raise ShapeError(f"sparse.array: a sparse array of shape {made.shape}, not {shape}")
        return made
    if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3):
        raise TypeError(
            "sparse.array: parts are (data, indices, indptr), (data, (row, col)) or a sparse array "
            f"of SciPy, not {describe(parts)}"
        )
    if shape is None or len(shape) != 2:
        raise TypeError(f"sparse.array: shape must be (m, n), not {describe(shape)}")
    data = as_array(of_list(parts[0]))
    if ndim_of(data) != 1:
        raise ShapeError(f"sparse.array: data must be a vector, not of shape {show(data.shape)}")
    if len(parts) == 3:
        index = [integers(parts[1], "indices"), integers(parts[2], "indptr")]
    else:
        index = [integers(parts[1][0], "row"), integers(parts[1][1], "col")]
    count = len(index[0])
    if not same(shape_of(data)[0], count):
        raise ShapeError(
            f"sparse.array: {shape_of(data)[0]} numbers of data, and places of {count} entries"
        )
    format = "csr" if len(parts) == 3 else "coo"
    return SparseArray(data, checked(layout(format, False, shape, (count,), *index)))


def solve(A: Any, b: Any) -> Any:
    """x with `A @ x = b` for a square sparse array, by LU factorization (SciPy's SuperLU).

    A   a sparse array, of SciPy or `tg.sparse.array`, of shape (n, n)
    b   (n,), or (n, k) for several right-hand sides

    Returns an array of the shape of b, in the dtype of both (integers become float64).
    Differentiable by b and by the data of A, in both modes and to any order, and mapped by `vmap`
    over either: d x = A^-1 (d b - d A x). The factorization is kept for the next system of the same
    matrix, so that the adjoint (A^T w = x's cotangent) needs no other. Compiled functions call back
    into Python for it.

    A matrix that is not square, or b of other sizes, is an error (ShapeError); a singular one a
    `numpy.linalg.LinAlgError`.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> import tracegrad as tg
    >>> A = scipy.sparse.csc_array(np.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> tg.sparse.solve(A, np.array([4.0, 8.0]))
    array([1., 2.])
    >>> tg.grad(lambda b: np.sum(tg.sparse.solve(A, b)))(np.array([4.0, 8.0]))
    array([0.5  , 0.125])
    """
    if not is_sparse(A):
        raise TypeError(
            f"sparse.solve: A is {describe(A)}; it must be a sparse array (for dense ones: "
            "tg.linalg.solve)"
        )
    if is_sparse(b):
        raise TypeError("sparse.solve: b is a sparse array; it must be dense: b.toarray()")
    matrix, right = as_sparse(A), as_array(b)
    m, n = matrix.shape
    if m != n:
        raise ShapeError(f"sparse.solve: A has shape {matrix.shape}; it must be square")
    if ndim_of(right) not in (1, 2) or not same(shape_of(right)[0], n):
        raise ShapeError(
            f"sparse.solve: b has shape {show(shape_of(right))}; it must be ({n},) or ({n}, k), "
            f"as A has {n} rows"
        )
    data = matrix._flat
    kinds = [kind_of(v) for v in (data, right)]
    dtype = promote(*[k if np.dtype(k).kind in "fc" else FLOAT64 for k in kinds])
    return products.solve(convert(data, dtype), convert(right, dtype), matrix.layout.pattern)


__all__ = ["SparseArray", "array", "solve"]
