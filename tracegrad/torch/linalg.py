"""torch.linalg: functions of matrices with torch's words (`dim`, `keepdim`) and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from .. import ops
from ..faces.tensor.casts import titled
from ..ops.matrices import scipy_names
from .methods import tensor_of, written

_linalg = ops.linalg


class SVD(NamedTuple):
    """What `svd` returns: A = (U * S) @ Vh."""

    U: Any
    S: Any
    Vh: Any


class LeastSquares(NamedTuple):
    """What `lstsq` returns."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class InverseInfo(NamedTuple):
    """What `inv_ex` returns: the inverse, and 0."""

    inverse: Any
    info: Any


def _same(name: str) -> Callable[..., Any]:
    """A function of one matrix that means the same in NumPy."""
    function: Any = getattr(_linalg, name, None) or getattr(scipy_names, name)

    def made(A: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        found = function(tensor_of(f"linalg.{name}", A), *args, **kwargs)
        return written(f"linalg.{name}", out, found)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"As `tracegrad.linalg.{name}`, of a Tensor. {function.__doc__}".partition("\n")[
        0
    ]
    return made


cholesky, det, eigh, eigvalsh, inv, slogdet, svdvals, qr = map(
    _same, ("cholesky", "det", "eigh", "eigvalsh", "inv", "slogdet", "svdvals", "qr")
)
cond, matrix_power, tensorinv = map(_same, ("cond", "matrix_power", "tensorinv"))
eig, eigvals = map(_same, ("eig", "eigvals"))


def matrix_exp(A: Any) -> Any:
    """The exponential of a square matrix, or of a stack of them."""
    return scipy_names.expm(tensor_of("linalg.matrix_exp", A))


def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """X with A @ X = B, or with X @ A = B where `left` is False; a vector B is one column.

    >>> import tracegrad.torch as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    a, b = tensor_of("linalg.solve", A), tensor_of("linalg.solve", B)
    found = _linalg.solve(a, b) if left else _linalg.solve(a.mT, b.mT).mT
    return written("linalg.solve", out, found)


def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """X with A @ X = B (or X @ A = B) for a triangular A, of which the other triangle is not
    read."""
    a, b = tensor_of("linalg.solve_triangular", A), tensor_of("linalg.solve_triangular", B)
    if left:
        return _linalg.triangular_solve(a, b, lower=not upper, unit_diagonal=unitriangular)
    return _linalg.triangular_solve(a.mT, b.mT, lower=upper, unit_diagonal=unitriangular).mT


def svd(A: Any, full_matrices: bool = True) -> SVD:
    """Singular value decomposition A = (U * S) @ Vh; `full_matrices` completes U and Vh to bases,
    by vectors that are differentiated (torch ignores their gradients).

    >>> import tracegrad.torch as torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    return SVD(*_linalg.svd(tensor_of("linalg.svd", A), full_matrices))


def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X that makes `A @ X - B` smallest, the sums of squares that remain, A's rank and singular
    values."""
    return LeastSquares(
        *_linalg.lstsq(tensor_of("linalg.lstsq", A), tensor_of("linalg.lstsq", B), rcond)
    )


def pinv(A: Any, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse."""
    return _linalg.pinv(tensor_of("linalg.pinv", A), hermitian=hermitian, rtol=rtol)


def inv_ex(A: Any, *, check_errors: bool = False) -> InverseInfo:
    """(inverse, info): a singular matrix is an error in either case."""
    found = inv(A)
    return InverseInfo(found, found.new_zeros(tuple(found.shape[:-2]), dtype="int32"))


class SolveInfo(NamedTuple):
    """What `solve_ex` returns: the solution, and 0."""

    result: Any
    info: Any


class CholeskyInfo(NamedTuple):
    """What `cholesky_ex` returns: the factor, and 0."""

    L: Any
    info: Any


class LU(NamedTuple):
    """What `lu` returns: A = P @ L @ U."""

    P: Any
    L: Any
    U: Any


class LUFactor(NamedTuple):
    """What `lu_factor` returns: both triangles in one matrix, and the exchanges of rows."""

    LU: Any
    pivots: Any


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> SolveInfo:
    """(solution, info): a singular matrix is an error in either case."""
    found = solve(A, B, left=left)
    return SolveInfo(found, found.new_zeros(tuple(A.shape[:-2]), dtype="int32"))


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> CholeskyInfo:
    """(factor, info): a matrix that is not positive definite is an error in either case."""
    found = cholesky(A)
    return CholeskyInfo(
        found.mH if upper else found, found.new_zeros(tuple(A.shape[:-2]), dtype="int32")
    )


def lu(A: Any, *, pivot: bool = True) -> LU:
    """P, L, U with A = P @ L @ U, P a permutation of rows, L with ones on its diagonal.

    >>> import tracegrad.torch as torch
    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).U
    tensor([[2., 2.],
            [0., 1.]])
    """
    _pivoting("lu", pivot)
    return LU(*scipy_names.lu(tensor_of("linalg.lu", A)))


def lu_factor(A: Any, *, pivot: bool = True) -> LUFactor:
    """The factors of a square matrix in one, for `lu_solve`; pivots count from 1."""
    _pivoting("lu_factor", pivot)
    packed, pivots = scipy_names.lu_factor(tensor_of("linalg.lu_factor", A))
    return LUFactor(packed, ops.convert(pivots + 1, np.dtype(np.int32)))


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A @ X = B (X @ A = B where `left` is False) of what `lu_factor` gave for A; with
    `adjoint` of the conjugate transpose of A."""
    packed = tensor_of("linalg.lu_solve", LU)
    pair = packed, tensor_of("linalg.lu_solve", pivots) - 1
    b = tensor_of("linalg.lu_solve", B)
    if left:
        return scipy_names.lu_solve(pair, b, 2 if adjoint else 0)
    # X A = B is A^T X^T = B^T, and X A^H = B is conj(A) X^T = B^T.
    if adjoint:
        return scipy_names.lu_solve(pair, b.mH, 0).mH
    return scipy_names.lu_solve(pair, b.mT, 1).mT


def _pivoting(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"linalg.{name}: pivot=False is not there; rows are exchanged")


def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Any:
    """X with `tensordot(A, X, X.ndim) = B`."""
    a, b = tensor_of("linalg.tensorsolve", A), tensor_of("linalg.tensorsolve", B)
    found = _linalg.tensorsolve(a, b, dims)
    return written("linalg.tensorsolve", out, found)


def vander(x: Any, *, N: int | None = None) -> Any:
    """Powers 0, 1, ..., N - 1 of the elements of (..., n), each in a column: (..., n, N)."""
    x = tensor_of("linalg.vander", x)
    if x.ndim < 1:
        raise RuntimeError("linalg.vander: Expected dim > 0, but got a number")
    count = int(x.shape[-1]) if N is None else N
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, got N={count}")
    first = ops.expand_dims(ops.ones_like(x), -1)
    others = ops.broadcast_to(ops.expand_dims(x, -1), (*x.shape, count - 1))
    return ops.cumprod(ops.concatenate([first, others], -1), -1)


def matrix_rank(A: Any, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """The number of singular values that are not negligible."""
    return _linalg.matrix_rank(tensor_of("linalg.matrix_rank", A), hermitian=hermitian, rtol=rtol)


def vector_norm(
    x: Any,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """The norm of order `ord` of all elements, or along dimensions.

    >>> import tracegrad.torch as torch
    >>> torch.linalg.vector_norm(torch.tensor([[3.0, 4.0]]), dim=1)
    tensor([5.])
    """
    x = tensor_of("linalg.vector_norm", x)
    x = x if dtype is None else x.to(dtype)
    found = ops.vector_norm(
        ops.reshape(x, (-1,)) if dim is None else x, ord, dim, keepdims=keepdim and dim is not None
    )
    if dim is None and keepdim:
        found = ops.reshape(found, (1,) * x.ndim)
    found = titled(found, "LinalgVectorNormBackward0", x)
    return written("linalg.vector_norm", out, found)


def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of matrices: "fro", "nuc", or 1, -1, 2, -2, inf, -inf."""
    a = tensor_of("linalg.matrix_norm", A)
    return _linalg.matrix_norm(
        a if dtype is None else a.to(dtype), ord, tuple(dim), keepdims=keepdim
    )


def norm(
    A: Any,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """The norm of a vector or a matrix: the 2-norm of all elements where neither `ord` nor `dim` is
    given; of a matrix where `ord` is given, or `dim` names two dimensions with it; else of
    vectors."""
    a = tensor_of("linalg.norm", A)
    axes = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if ord is not None and (
        (axes is None and a.ndim == 2) or (axes is not None and len(axes) == 2)
    ):
        found = matrix_norm(a, ord, axes or (-2, -1), keepdim, dtype=dtype)
        return written("linalg.norm", out, found)
    if ord is not None and axes is None and a.ndim > 2:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D."
        )
    return vector_norm(a, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def multi_dot(tensors: Any, *, out: Any = None) -> Any:
    """The product of several matrices in the order that costs least."""
    found = ops.multi_dot([tensor_of("linalg.multi_dot", x) for x in tensors])
    return written("linalg.multi_dot", out, found)


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector product along a dimension of size 3."""
    return tensor_of("linalg.cross", input).cross(tensor_of("linalg.cross", other), dim)


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along a dimension, of which the first factor is conjugated."""
    return ops.sum(
        ops.conj(tensor_of("linalg.vecdot", x)) * tensor_of("linalg.vecdot", y), axis=dim
    )


def matmul(input: Any, other: Any) -> Any:
    """The matrix product."""
    return tensor_of("linalg.matmul", input).matmul(tensor_of("linalg.matmul", other))


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A view of the diagonals of matrices."""
    return tensor_of("linalg.diagonal", A).diagonal(offset, dim1, dim2)


__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
