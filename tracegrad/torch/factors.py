"""Functions of matrices and numbers that torch has beside those of `torch.linalg` and
`torch.special`, and writes to a part of a tensor that give a new one."""

from __future__ import annotations

from typing import Any

from .. import ops
from . import linalg, special
from .methods import tensor_of, written


def cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Any:
    """L with L @ L^H = input, or U with U^H @ U = input."""
    found = linalg.cholesky(input)
    found = found.mH if upper else found
    return written("cholesky", out, found)


def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """X with A @ X = B for the A whose factor `cholesky` gave.

    >>> import tracegrad.torch as torch
    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]]))
    tensor([[1.]])
    """
    b, factor = tensor_of("cholesky_solve", B), tensor_of("cholesky_solve", L)
    factor = factor.mH if upper else factor
    half = linalg.solve_triangular(factor, b, upper=False)
    found = linalg.solve_triangular(factor.mH, half, upper=True)
    return written("cholesky_solve", out, found)


def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The inverse of the matrix whose factor `cholesky` gave."""
    factor = tensor_of("cholesky_inverse", L)
    n = factor.shape[-1]
    one = ops.broadcast_to(ops.eye(n, dtype=factor.dtype), tuple(factor.shape))
    found = cholesky_solve(factor.new_ones(()) * one, factor, upper)
    return written("cholesky_inverse", out, found)


def matrix_exp(A: Any) -> Any:
    """The exponential of a square matrix, or of a stack of them."""
    return linalg.matrix_exp(A)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:
    """X with A @ X = b of what `torch.linalg.lu_factor` gave for A."""
    found = linalg.lu_solve(LU_data, LU_pivots, b)
    return written("lu_solve", out, found)


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The n-th derivative of digamma."""
    found = special.polygamma(n, input)
    return written("polygamma", out, found)


def mvlgamma(input: Any, p: int, *, out: Any = None) -> Any:
    """Logarithm of the multivariate gamma function of dimension p."""
    found = special.multigammaln(input, p)
    return written("mvlgamma", out, found)


def ldexp(input: Any, other: Any, *, out: Any = None) -> Any:
    """`input * 2 ** other`."""
    x = tensor_of("ldexp", input)
    found = x * 2.0**other
    return written("ldexp", out, found)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    return other - alpha * tensor_of("rsub", input)


def fill(input: Any, value: Any) -> Any:
    """A tensor like `input` with one value everywhere."""
    return tensor_of("fill", input).clone().fill_(value)


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """A copy of `input` with `src` at one place of a dimension.

    >>> import tracegrad.torch as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    x = tensor_of("select_scatter", input).clone()
    part = x.select(dim, index)
    _fits("select_scatter", part, src)
    part.copy_(src)
    return x


def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    """A copy of `input` with `src` in a slice of a dimension."""
    x = tensor_of("slice_scatter", input).clone()
    _axis("slice_scatter", dim, x.ndim)
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    _fits("slice_scatter", x[tuple(index)], src)
    x[tuple(index)] = src
    return x


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of `input` with `src` on a diagonal."""
    x = tensor_of("diagonal_scatter", input).clone()
    part = x.diagonal(offset, dim1, dim2)
    _fits("diagonal_scatter", part, src)
    part.copy_(src)
    return x


def _axis(name: str, dim: int, ndim: int) -> None:
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], "
            f"but got {dim})"
        )


def _fits(name: str, part: Any, src: Any) -> None:
    shape = tuple(tensor_of(name, src).shape)
    if shape != tuple(part.shape):
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the part of input that it replaces. "
            f"src size = {list(shape)}, part size = {list(part.shape)}"
        )


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The coordinates of places in an array that is read row by row."""
    left = tensor_of("unravel_index", indices)
    if left.dtype.kind not in "iu":
        raise ValueError(f"unravel_index: expected integers as indices, got {left.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    found: list[Any] = []
    for size in reversed(sizes):
        found.append(left % size)
        left = left // size
    return tuple(reversed(found))


i0, igamma, igammac = special.i0, special.gammainc, special.gammaincc

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "diagonal_scatter", "fill", "i0", "igamma",
    "igammac", "ldexp", "lu_solve", "matrix_exp", "mvlgamma", "polygamma", "rsub", "select_scatter",
    "slice_scatter", "unravel_index",
]  # fmt: skip
