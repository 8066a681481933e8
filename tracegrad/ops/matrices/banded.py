"""Systems of matrices given by their diagonals, under scipy.linalg's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import describe, flag
from ...errors import ShapeError
from ...sizes import numel, same
from ...types import broadcast_shapes, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import arange
from ..arrays.shape import broadcast_to, moveaxis, reshape
from ..arrays.slices import cut, flip
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import greater_equal, less, where
from ..elementwise.comparison import clip
from ..elementwise.derived import add, conj, convert, real
from ..elementwise.logic import logical_and
from ..places.along import take_along_axis
from .band_factors import factor
from .bands import solve_stack
from .stacks import in_lapack_dtype


def moved(ab: Any, shift: Any) -> Any:
    """`out[..., d, j] = ab[..., d, j + shift[d]]`, zero beyond the ends."""
    rows, n = shape_of(ab)[-2:]
    at = add(reshape(arange(n), (1, n)), np.asarray(shift)[:, None])
    inside = logical_and(greater_equal(at, 0), less(at, n))
    if same(n, 0):
        return ab
    at = broadcast_to(clip(at, 0, n - 1), (*shape_of(ab)[:-2], rows, n))
    return where(inside, take_along_axis(ab, at, -1), 0)


def whole(ab: Any, lower: bool) -> Any:
    """All diagonals of a Hermitian matrix of which half are given, with the main one."""
    k = int(shape_of(ab)[-2]) - 1
    main = cut(ab, ndim_of(ab) - 2, 0 if lower else k, 1)
    if ab.dtype.kind == "c":
        main = convert(real(main), ab.dtype)
    if not k:
        return main
    near = cut(ab, ndim_of(ab) - 2, 1 if lower else 0, k)
    # The k diagonals without the main one are those of a matrix whose main one is the nearest.
    steps = np.arange(1, k + 1)
    if lower:
        return concatenate([moved(conj(flip(near, -2)), -steps[::-1]), main, near], -2)
    return concatenate([near, main, moved(conj(flip(near, -2)), steps)], -2)


def _solved(
    name: str, ab: Any, b: Any, lower: int, upper: int, trans: int = 0, definite: bool = False
) -> Any:
    """The solution for diagonals (..., lower + upper + 1, n) and (n,) or (..., n, k)."""
    vector = ndim_of(b) == 1
    if vector:
        b = reshape(b, (*shape_of(b), 1))
    n = shape_of(ab)[-1]
    if ndim_of(b) < 2 or not same(shape_of(b)[-2], n):
        given = show(shape_of(b)[:-1] if vector else shape_of(b))
        raise ShapeError(
            f"{name}: diagonals of {n} elements need right-hand sides of {n} rows, not shape "
            f"{given}"
        )
    before, beside = shape_of(ab)[:-2], shape_of(b)[:-2]
    batch = broadcast_shapes(before, beside)
    k = shape_of(b)[-1]
    if beside and all(isinstance(s, int) and s == 1 for s in before):
        # One matrix for a stack of right-hand sides.
        right = reshape(moveaxis(broadcast_to(b, (*batch, n, k)), -2, 0), (1, n, numel(batch) * k))
        one = reshape(ab, (1, *shape_of(ab)[-2:]))
        found = solve_stack(one, right, lower, upper, trans, definite)
        return moveaxis(reshape(found, (n, *batch, k)), 0, -2)
    ab, b = broadcast_to(ab, (*batch, *shape_of(ab)[-2:])), broadcast_to(b, (*batch, n, k))
    found = solve_stack(
        reshape(ab, (numel(batch), *shape_of(ab)[-2:])), reshape(b, (numel(batch), n, k)), lower,
        upper, trans, definite,
    )  # fmt: skip
    return reshape(found, (*batch, n) if vector else (*batch, n, k))


def _counts(name: str, l_and_u: Any) -> tuple[int, int]:
    try:
        below, above = (int(k) for k in l_and_u)
    except (TypeError, ValueError):
        below = above = -1
    if below < 0 or above < 0:
        raise ValueError(
            f"{name}: l_and_u is {describe(l_and_u)}; it must be two numbers from 0 on, of the "
            "diagonals below and above the main one"
        )
    return below, above


def _diagonals(name: str, ab: Any) -> Any:
    if ndim_of(ab) < 2 or same(shape_of(ab)[-2], 0):
        raise ShapeError(
            f"{name}: ab must have a row for each diagonal, not the shape {show(shape_of(ab))}"
        )
    return ab


def solve_banded(
    l_and_u: Sequence[int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with a @ x = b, for a with l diagonals below and u above the main one, given as the rows of
    `ab`: `ab[u + i - j, j] = a[i, j]`. In a time as n * l * (l + u), derivatives included; elements
    of `ab` that are none of `a` are not read. `ab` may be a stack (..., l + u + 1, n), with b of
    shape (n,) or (..., n, k). LinAlgError where a is singular.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([3.0, 2.0]))
    array([1., 1.])
    """
    below, above = _counts("solve_banded", l_and_u)
    ab, b = in_lapack_dtype(ab, b)
    if ndim_of(ab) < 2 or not same(shape_of(ab)[-2], below + above + 1):
        raise ShapeError(
            f"solve_banded: ab has shape {show(shape_of(ab))}; for {below} diagonals below and "
            f"{above} above it must have {below + above + 1} rows"
        )
    return _solved("solve_banded", ab, b, below, above)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """x with a @ x = b, for a Hermitian positive definite a of which `ab` has the main diagonal and
    those above it, the outermost first (`lower`: and those below it, the outermost last), as
    `solve_banded` has them; stacks as there. LinAlgError where a is not positive definite.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solveh_banded(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([3.0, 3.0]))
    array([1., 1.])
    """
    ab, b = in_lapack_dtype(ab, b)
    k = int(shape_of(_diagonals("solveh_banded", ab))[-2]) - 1
    return _solved("solveh_banded", whole(ab, flag("lower", lower)), b, k, k, definite=True)


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """The triangular factor of a Hermitian positive definite matrix of which `ab` has the diagonals
    of one triangle, as `solveh_banded` has them: u with u^H @ u = a, or l with l @ l^H = a where
    `lower`, in the form of `ab`, with zeros where a diagonal has no element. `ab` may be a stack
    (..., k + 1, n). In a time as n * k**2, derivatives included. LinAlgError where a is not
    positive definite.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
    array([[2., 2.],
           [1., 0.]])
    """
    (ab,) = in_lapack_dtype(ab)
    shape = shape_of(ab)
    if len(shape) < 2:
        _diagonals("cholesky_banded", ab)
    if same(shape[-2], 0) or same(shape[-1], 0):
        return ab
    stack = reshape(ab, (numel(shape[:-2]), 1, *shape[-2:]))
    return reshape(factor(stack, flag("lower", lower)), shape)


def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a @ x = b, for the factor of a that `cholesky_banded` gives, and whether it is the
    lower one; stacks as in `solve_banded`. LinAlgError where the factor has a zero on its diagonal.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> factor = tg.linalg.cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
    >>> tg.linalg.cho_solve_banded((factor, True), np.array([6.0, 7.0]))
    array([1., 1.])
    """
    if not isinstance(cb_and_lower, (tuple, list)) or len(cb_and_lower) != 2:
        raise ValueError(
            f"cho_solve_banded: the first argument is {describe(cb_and_lower)}; it must be a pair "
            "(cb, lower), cb of cholesky_banded"
        )
    cb, lower = cb_and_lower
    cb, b = in_lapack_dtype(cb, b)
    k = int(shape_of(_diagonals("cho_solve_banded", cb))[-2]) - 1
    below, above = (k, 0) if flag("lower", lower) else (0, k)
    for trans in (0, 2) if below else (2, 0):
        b = _solved("cho_solve_banded", cb, b, below, above, trans)
    return b


__all__ = ["cho_solve_banded", "cholesky_banded", "solve_banded", "solveh_banded"]
