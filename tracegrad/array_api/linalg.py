"""The standard's extension for linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .results import all_of, given, of, operand

_SAME = ["det", "eigh", "eigvalsh", "inv", "slogdet"]
globals().update(all_of(np.linalg, _SAME))
solve = of(np.linalg.solve, "solve", 2)
matrix_power = of(np.linalg.matrix_power, "matrix_power")
matmul = of(np.matmul, "matmul", 2)
tensordot = of(lambda x1, x2, /, *, axes=2: np.tensordot(x1, x2, axes), "tensordot", 2)
matrix_transpose = of(lambda x, /: x.mT, "matrix_transpose")
diagonal = of(lambda x, /, *, offset=0: np.linalg.diagonal(x, offset=offset), "diagonal")
outer = of(lambda x1, x2, /: x1[:, None] * x2[None, :], "outer", 2)
svdvals = of(lambda x, /: np.linalg.svd(x, compute_uv=False), "svdvals")


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Products of vectors along an axis, the first conjugated."""
    x1, x2 = operand(x1), operand(x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: {x1.shape[axis]} and {x2.shape[axis]} elements along the axis")
    return given(ops.vecdot(ops.moveaxis(x1, axis, -1), ops.moveaxis(x2, axis, -1)))


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangle whose product with its conjugate transpose is the matrix."""
    found = given(np.linalg.cholesky(operand(x)))
    return given(ops.conj(found.mT)) if upper else found


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Vector products of vectors of three elements along an axis."""
    if operand(x1).shape[axis] != 3 or operand(x2).shape[axis] != 3:
        raise ValueError("cross: vectors have three elements")
    first, second = np.broadcast_arrays(x1, x2) if x1.shape != x2.shape else (x1, x2)
    found = np.cross(ops.moveaxis(first, axis, -1), ops.moveaxis(second, axis, -1))
    return given(ops.moveaxis(found, -1, axis))


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of each matrix."""
    found = given(np.sum(np.linalg.diagonal(operand(x), offset=offset), axis=-1))
    return found if dtype is None or found.dtype == dtype else ops.convert(found, np.dtype(dtype))


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """An orthonormal factor and an upper triangle; `mode="complete"` makes the first square."""
    return given(np.linalg.qr(operand(x), mode))  # type: ignore[call-overload]


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Singular vectors and values; `full_matrices` completes the vectors to bases."""
    return given(np.linalg.svd(operand(x), full_matrices=full_matrices))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse. Singular values up to `rtol` times the largest count as zero: one number,
    or an array of one for each matrix; max(M, N) times the precision where it is None."""
    x = operand(x)
    if rtol is None:
        kept = x.dtype if x.dtype.kind in "fc" else np.float64
        rtol = float(max(x.shape[-2:], default=1) * np.finfo(kept).eps)
    limits = np.asarray(rtol.detach() if hasattr(rtol, "detach") else rtol)
    if limits.ndim == 0:
        return given(np.linalg.pinv(x, rtol=float(limits)))
    stack = np.broadcast_shapes(x.shape[:-2], limits.shape)
    each = np.broadcast_to(x, (*stack, *x.shape[-2:]))
    if 0 in stack:
        return given(np.linalg.pinv(each))
    rows = np.broadcast_to(limits, stack)
    found = [np.linalg.pinv(each[k], rtol=float(rows[k])) for k in np.ndindex(*stack)]
    return given(np.reshape(np.stack(found), (*stack, *found[0].shape)))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The number of singular values that are not as good as zero."""
    tolerance = np.asarray(rtol.detach()) if hasattr(rtol, "detach") else rtol
    return given(np.linalg.matrix_rank(operand(x).detach().numpy(), rtol=tolerance))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices."""
    return given(np.linalg.norm(operand(x), ord, axis=(-2, -1), keepdims=keepdims))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Norms of what is along one or several axes; of all elements where `axis` is None."""
    shape = operand(x).shape
    axes = (
        tuple(range(len(shape)))
        if axis is None
        else tuple(a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis))
    )
    rest = [k for k in range(len(shape)) if k not in axes]
    size = int(np.prod([shape[a] for a in axes], dtype=np.int64))
    flat = ops.reshape(ops.transpose(x, (*rest, *axes)), (*[shape[k] for k in rest], size))
    found = given(np.linalg.norm(flat, ord, axis=-1))
    kept = [1 if k in axes else s for k, s in enumerate(shape)]
    return given(ops.reshape(found, kept)) if keepdims else found


__all__ = [
    *_SAME,
    "cholesky",
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
