"""Linear algebra with the names and meanings of numpy.linalg, for matrices (..., n, m) and stacks
of them.

Integers and booleans are computed in float64. Derivatives exist to every order; what a matrix must
satisfy for that is said at each function. Functions of symmetric matrices read one triangle only,
and their derivative is spread evenly over both.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...checks import flag
from ...errors import ShapeError
from ...sizes import numel, same
from ...types import Int, broadcast_shapes, normalize_axis, show
from ..arrays.creation import eye
from ..arrays.diagonals import diagonal as general_diagonal
from ..arrays.diagonals import trace as general_trace
from ..arrays.shape import broadcast_to, moveaxis, reshape, transpose
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import div, greater, sub, where
from ..elementwise.derived import conj, convert, mul, real
from ..elementwise.logic import isnan, logical_not, logical_or
from ..totals import statistics
from ..totals.axes import normalize_axes
from ..totals.reductions import any as any_
from ..totals.reductions import max as max_
from ..totals.reductions import min as min_
from ..totals.reductions import sum as sum_
from . import outer_products
from .contractions import multi_dot, tensordot, vecdot
from .factorizations import cholesky, eigh, eigvalsh, qr, svd, svdvals
from .products import matmul, matrix_transpose, operand, size_hint
from .stacks import as_matrix, as_stack, check_matrix, from_stack, in_lapack_dtype
from .systems import det_stack, inv_stack, pinv_stack, slogdet_stack, solve_stack
from .triangular import triangular_solve_stack

vector_norm = statistics.vector_norm


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


# --- systems --------------------------------------------------------------------------------------


def _system(name: str, a: Any, b: Any) -> tuple[Any, Any, tuple[Int, ...], bool]:
    """Matrices and right-hand sides as stacks of the same depth, the shape of the stack, and
    whether b was one vector."""
    a, b = in_lapack_dtype(a, b)
    check_matrix(name, a, True)
    vector = ndim_of(b) == 1
    if ndim_of(b) == 0:
        raise ShapeError(f"{name}: the right-hand side must be a vector or matrices, not a scalar")
    if vector:
        b = reshape(b, (*shape_of(b), 1))
    n, m = shape_of(a), shape_of(b)
    if not same(n[-1], m[-2]):
        given = show(m[:-1] if vector else m)
        raise ShapeError(
            f"{name}: matrices of shape {show(n)} need right-hand sides of {n[-1]} "
            f"rows, not shape {given}"
        )
    batch = broadcast_shapes(n[:-2], m[:-2])
    if all(isinstance(s, int) and s == 1 for s in n[:-2]) and batch:
        # One matrix for a stack of right-hand sides: they become columns, so that the matrix is
        # factored once.
        k = m[-1]
        b = broadcast_to(b, (*batch, *m[-2:]))
        depth = len(batch)
        wide = reshape(
            transpose(b, (depth, *range(depth), depth + 1)), (1, m[-2], numel(batch) * k)
        )
        return reshape(a, (1, *n[-2:])), wide, batch, vector
    a, b = broadcast_to(a, (*batch, *n[-2:])), broadcast_to(b, (*batch, *m[-2:]))
    return as_stack(a), as_stack(b), batch, vector


def _solution(x: Any, b: Any, batch: tuple[Int, ...], vector: bool) -> Any:
    """The solution of `_system` in the shape of the answer."""
    count, n, k = shape_of(x)
    total = numel(batch)
    if batch and not same(count, total):
        each = k // total if not same(total, 0) else shape_of(b)[-1]
        x = reshape(x, (n, *batch, each))
        return transpose(x, (*range(1, len(batch) + 1), 0, len(batch) + 1))
    return reshape(x, (*batch, n)) if vector else reshape(x, (*batch, n, k))


def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b, for matrices (..., n, n) and right-hand sides (n,) or (..., n, k).
    LinAlgError where a is singular.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    left, right, batch, vector = _system("solve", a, b)
    return _solution(solve_stack(left, right), b, batch, vector)


def triangular_solve(
    a: Any, b: Any, lower: bool = True, trans: int | str = 0, unit_diagonal: bool = False
) -> Any:
    """x with op(a) @ x = b for triangular a, of which the other triangle is not read.

    trans  0 or "N": op is nothing; 1 or "T": transposition; 2 or "C": the conjugate transpose

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.triangular_solve(np.array([[2.0, 9.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """
    codes = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in codes:
        raise ValueError(f'triangular_solve: trans is 0, 1, 2, "N", "T" or "C", not {trans!r}')
    left, right, batch, vector = _system("triangular_solve", a, b)
    return _solution(
        triangular_solve_stack(left, right, bool(lower), codes[trans], bool(unit_diagonal)),
        b,
        batch,
        vector,
    )


def inv(a: Any) -> Any:
    """Inverse matrices; LinAlgError where one is singular. For a product `inv(a) @ b`, `solve` is
    faster and more accurate.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = as_matrix("inv", a, True)
    return from_stack(inv_stack(as_stack(a)), shape_of(a)[:-2])


def pinv(
    a: Any, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None
) -> Any:
    """Pseudo-inverses. Singular values up to `rcond` (default 1e-15; `rtol` is its other name)
    times the largest count as zero.

    The derivative is that among matrices of the same rank; where the rank changes there is none.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.pinv(np.array([[2.0, 0.0]]))
    array([[0.5],
           [0. ]])
    """
    flag("hermitian", hermitian)
    a = as_matrix("pinv", a)
    limit = rcond if rcond is not None else rtol if rtol is not None else 1e-15
    return from_stack(pinv_stack(as_stack(a), limit), shape_of(a)[:-2])


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """The x of least norm that minimises |a x - b|, the sums of squared residuals, the rank and the
    singular values of a.

    The residuals are empty unless a has more rows than columns; full column rank is taken for
    granted there.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))[0]
    array([2.])
    """
    a, b = in_lapack_dtype(a, b)
    if ndim_of(a) != 2 or ndim_of(b) not in (1, 2) or not same(shape_of(a)[0], shape_of(b)[0]):
        given = f"{show(shape_of(a))} and {show(shape_of(b))}"
        raise ShapeError(
            f"lstsq: needs a matrix and right-hand sides with as many rows, not shapes {given}"
        )
    m, n = shape_of(a)
    eps = float(np.finfo(a.dtype).eps)
    # LAPACK's rule: what cuts off all or nothing stands for its own precision.
    limit = (
        eps * max(size_hint(m), size_hint(n))
        if rcond is None
        else rcond
        if 0 < rcond < 1
        else eps / 2
    )
    x = matmul(pinv(a, limit), b)
    rest = sub(b, matmul(a, x))
    squares = real(sum_(mul(rest, conj(rest)), 0))
    residuals = reshape(squares, (-1,)) if m > n else broadcast_to(squares.dtype.type(0), (0,))
    s = svdvals(a)
    rank = sum_(greater(s, mul(max_(s, initial=0.0), s.dtype.type(limit))))
    return x, residuals, rank, s


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.tensorsolve(2 * np.eye(6).reshape(2, 3, 6), np.ones((2, 3)))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    a, b = in_lapack_dtype(a, b)
    if axes is not None:
        chosen = [normalize_axis(k, ndim_of(a)) for k in axes]
        a = transpose(a, (*[k for k in range(ndim_of(a)) if k not in chosen], *chosen))
    shape = shape_of(a)[ndim_of(b) :]
    n = numel(shape)
    if not same(numel(shape_of(a)[: ndim_of(b)]), n):
        raise ShapeError(
            f"tensorsolve: an array of shape {show(shape_of(a))} is no square map onto "
            f"shape {show(shape_of(b))}"
        )
    return reshape(solve(reshape(a, (n, n)), reshape(b, (-1,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a as a map from its last axes to its first `ind` ones.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.tensorinv(np.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    a = operand(a)
    shape = shape_of(a)
    if not 0 < ind <= len(shape):
        raise ValueError(f"tensorinv: ind must be one of 1 to {len(shape)}, not {ind}")
    n = numel(shape[ind:])
    if not same(numel(shape[:ind]), n):
        raise ShapeError(
            f"tensorinv: an array of shape {show(shape)} is no square map for ind={ind}"
        )
    return reshape(inv(reshape(a, (n, n))), (*shape[ind:], *shape[:ind]))


# --- determinants ---------------------------------------------------------------------------------


def det(a: Any) -> Any:
    """Determinants. Gradients are right for singular matrices too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.det(np.array([[2.0, 0.0], [0.0, 3.0]])))
    6.0
    """
    a = as_matrix("det", a, True)
    return from_stack(det_stack(as_stack(a)), shape_of(a)[:-2])


def slogdet(a: Any) -> SlogdetResult:
    """Sign (or phase) and logarithm of the absolute value of determinants; (0, -inf) and no
    derivative where a is singular.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.slogdet(np.diag([1e200, -1e200])).sign)
    -1.0
    """
    a = as_matrix("slogdet", a, True)
    return SlogdetResult(*[from_stack(r, shape_of(a)[:-2]) for r in slogdet_stack(as_stack(a))])


# --- norms and numbers ----------------------------------------------------------------------------


def matrix_norm(
    a: Any, ord: Any = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False
) -> Any:
    """A norm of matrices: "fro", "nuc" (the sum of the singular values), 2 and -2 (the largest and
    smallest), 1, -1, inf, -inf.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]]), 2))
    4.0
    """
    a = as_matrix("matrix_norm", a)
    if ord not in ("nuc", 2, -2):
        return statistics.norm(a, "fro" if ord is None else ord, axis, keepdims)
    row, column = (normalize_axis(k, ndim_of(a)) for k in axis)
    if row == column:
        raise ShapeError(f"matrix_norm: the axes {axis} are the same one")
    values = svdvals(moveaxis(a, (row, column), (-2, -1)))
    fold: Any = {"nuc": sum_, 2: statistics.largest, -2: min_}[ord]
    result = fold(values, -1)
    return (
        reshape(result, tuple(1 if k in (row, column) else s for k, s in enumerate(shape_of(a))))
        if keepdims
        else result
    )


def norm(
    a: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Any:
    """A norm of vectors (one axis) or matrices (two); of all elements if neither `ord` nor `axis`
    is given. Its derivative at 0 is 0.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.norm(np.array([3.0, 4.0])))
    5.0
    """
    (a,) = in_lapack_dtype(a)
    if ord in ("nuc", 2, -2) and len(normalize_axes(axis, ndim_of(a))) == 2:
        axes: Any = (0, 1) if axis is None else axis
        return matrix_norm(a, ord, tuple(axes), keepdims)
    return statistics.norm(a, ord, axis, keepdims)


def cond(a: Any, p: Any = None) -> Any:
    """The condition number: the ratio of the extreme singular values, or norm(a, p) * norm(inv(a),
    p).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.cond(np.array([[4.0, 0.0], [0.0, 2.0]])))
    2.0
    """
    a = as_matrix("cond", a)
    if p is None or p in (2, -2):
        s = svdvals(a)
        large, small = max_(s, -1), min_(s, -1)
        found = div(small, large) if p == -2 else div(large, small)
    else:
        found = mul(matrix_norm(a, p), matrix_norm(inv(a), p))
    # NaN of a matrix with none is infinitely far from regular: 0 / 0, infinite entries.
    told = logical_or(logical_not(isnan(found)), any_(isnan(a), (-2, -1)))
    return where(told, found, found.dtype.type(np.inf))


def matrix_rank(a: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values are above `tol` (default: the largest times the larger size times
    the machine's precision).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> print(tg.linalg.matrix_rank(np.ones((3, 2))))
    1
    """
    flag("hermitian", hermitian)
    a = operand(a)
    if ndim_of(a) < 2:
        return convert(sum_(a != 0) > 0, int)
    a = as_matrix("matrix_rank", a)
    s = svdvals(a)
    if tol is None:
        relative = (
            float(np.finfo(a.dtype).eps) * max(size_hint(n) for n in shape_of(a)[-2:])
            if rtol is None
            else _each(rtol)
        )
        limit = mul(max_(s, -1, keepdims=True, initial=0.0), relative)
    else:
        limit = _each(tol)
    return sum_(greater(s, limit), -1)


def outer(x: Any, y: Any) -> Any:
    """`out[i, j] = x[i] * y[j]` of two vectors.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.outer(np.array([1.0, 2.0]), np.array([3.0]))
    array([[3.],
           [6.]])
    """
    x, y = operand(x), operand(y)
    if ndim_of(x) != 1 or ndim_of(y) != 1:
        raise ShapeError(
            f"linalg.outer takes vectors, not arrays of shapes {show(shape_of(x))} and "
            f"{show(shape_of(y))}; tracegrad.outer flattens them"
        )
    return outer_products.outer(x, y)


def cross(x: Any, y: Any, axis: int = -1) -> Any:
    """Cross product of vectors of 3 components along an axis.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    x, y = operand(x), operand(y)
    sizes = [shape_of(v)[normalize_axis(axis, ndim_of(v))] for v in (x, y)]
    if not all(same(n, 3) for n in sizes):
        raise ShapeError(
            f"linalg.cross takes vectors of 3 components, not of {sizes[0]} and {sizes[1]}; "
            "tracegrad.cross takes 2, too"
        )
    return outer_products.cross(x, y, axis=axis)


def _each(limit: Any) -> Any:
    """One limit, or one for each matrix of a stack, beside the singular values."""
    limit = operand(limit)
    return reshape(limit, (*shape_of(limit), 1))


def matrix_power(a: Any, n: int) -> Any:
    """The n-th power of square matrices, by repeated squaring; negative powers are those of the
    inverse.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5)
    array([[1, 5],
           [0, 1]])
    """
    count = operator.index(n)
    a = check_matrix("matrix_power", operand(a), True)
    if count == 0:
        return broadcast_to(eye(shape_of(a)[-1], dtype=a.dtype), shape_of(a))
    if count < 0:
        a, count = inv(a), -count
    result: Any = None
    square = a
    while True:
        if count & 1:
            result = square if result is None else matmul(result, square)
        count >>= 1
        if not count:
            return result
        square = matmul(square, square)


def trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.trace(np.ones((3, 2, 2)))
    array([2., 2., 2.])
    """
    return general_trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, offset: int = 0) -> Any:
    """The diagonals of the last two axes.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.diagonal(np.ones((3, 2, 2))).shape
    (3, 2)
    """
    return general_diagonal(x, offset, -2, -1)


__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "vecdot",
    "vector_norm",
]
