"""Polar factors, and the rotations that they are, with SciPy's names: values by singular values,
derivatives as of a (a^H a)^(-1/2), which has them for equal singular values, too."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...sizes import known_less, same
from ...types import show
from ..define import shape_of
from ..elementwise.arithmetic import sub
from ..elementwise.derived import add, mul
from ..totals.reductions import sum as sum_
from ..totals.statistics import stop_gradient
from .functions_of_matrices import sqrtm_stack
from .linalg import svd
from .products import adjoint, product
from .stacks import as_matrix, as_stack, columns, from_stack, in_lapack_dtype
from .systems import solve_stack


def _valued(value: Any, slope: Any) -> Any:
    """The number `value` with the derivatives of `slope`, which is the same but for rounding."""
    return add(stop_gradient(value), sub(slope, stop_gradient(slope)))


def _right(a: Any) -> tuple[Any, Any, Any]:
    """u, p with a = u p for a stack of matrices with no more columns than rows, and the singular
    values."""
    u, s, vh = svd(a, full_matrices=False)
    turned = adjoint(vh)
    p = sqrtm_stack(product(adjoint(a), a))
    return (
        _valued(product(u, vh), adjoint(solve_stack(adjoint(p), adjoint(a)))),
        _valued(product(mul(turned, columns(s)), vh), p),
        s,
    )


def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """u and p with a = u @ p (side="right") or a = p @ u ("left"): u has orthonormal columns or
    rows, p is positive semi-definite. Matrices (..., m, n), real or complex. For derivatives a has
    to have its full rank (Higham, "Functions of Matrices", 2008, chapter 8), the smaller of its
    sizes belonging to p: m >= n for "right", m <= n for "left"; other shapes are a ShapeError.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> u, p = tg.linalg.polar(np.array([[0.0, -2.0], [1.0, 0.0]]))
    >>> p.round(6) + 0.0
    array([[1., 0.],
           [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side is {side!r}; it must be 'right' or 'left'")
    (a,) = in_lapack_dtype(as_matrix("polar", a))
    m, n = shape_of(a)[-2:]
    long, short = (m, n) if side == "right" else (n, m)
    if known_less(long, short):
        other = "left" if side == "right" else "right"
        raise ShapeError(
            f"polar: a has the shape {show(shape_of(a))}, of which side={side!r} has no unique "
            f"factors; use side={other!r}"
        )
    stack = as_stack(a)
    u, p, _ = _right(stack if side == "right" else adjoint(stack))
    batch = shape_of(a)[:-2]
    return from_stack(u if side == "right" else adjoint(u), batch), from_stack(p, batch)


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The orthogonal (unitary) matrix r for which A @ r is nearest to B, and the sum of the
    singular values of A^H B (Schönemann 1966). A and B are matrices of one shape (m, n); for
    derivatives A^H B has to be regular. `check_finite` has no effect.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> r, scale = tg.linalg.orthogonal_procrustes(np.eye(2), np.array([[0.0, 2.0], [-1.0, 0.0]]))
    >>> r.round(6) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    A, B = in_lapack_dtype(
        as_matrix("orthogonal_procrustes", A), as_matrix("orthogonal_procrustes", B)
    )
    sizes = [shape_of(x) for x in (A, B)]
    if len(sizes[0]) != 2 or len(sizes[1]) != 2 or not all(map(same, *sizes)):
        raise ShapeError(
            "orthogonal_procrustes: A and B must be matrices of one shape, not of shapes "
            f"{show(sizes[0])} and {show(sizes[1])}"
        )
    u, _, s = _right(as_stack(product(adjoint(A), B)))
    return from_stack(u, ()), sum_(s)


__all__ = ["orthogonal_procrustes", "polar"]
