"""Eigenvalues and eigenvectors of Hermitian matrices given by their diagonals, under scipy.linalg's
names: of a real matrix with one diagonal beside the main one in its own form, of others by the full
matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...checks import flag
from ...errors import ShapeError
from ...sizes import same
from ...types import show
from ..arrays.creation import arange
from ..arrays.shape import reshape
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import equal, greater_equal, less, less_equal, sub, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, conj, convert, mul, real
from ..elementwise.elementary import absolute
from ..places.along import take
from .factorizations import eigh, eigvalsh
from .stacks import in_lapack_dtype
from .tridiagonal import eigh_tridiagonal, eigvalsh_tridiagonal, places_selected


def _full(ab: Any, lower: bool) -> Any:
    rows, n = shape_of(ab)
    i, j = reshape(arange(n), (n, 1)), reshape(arange(n), (1, n))
    apart = absolute(sub(i, j))
    near, column = minimum(apart, rows - 1), minimum(i, j) if lower else maximum(i, j)
    row = near if lower else sub(rows - 1, near)
    found = take(reshape(ab, (-1,)), add(mul(row, n), column), 0)
    if ab.dtype.kind == "c":
        given = greater_equal(i, j) if lower else less_equal(i, j)
        found = where(equal(i, j), convert(real(found), ab.dtype),
                      where(given, found, conj(found)))  # fmt: skip
    return where(less(apart, rows), found, 0)


def eig_banded(
    a_band: Any, lower: bool = False, eigvals_only: bool = False,
    overwrite_a_band: bool = False, select: str | int = "a",
    select_range: Sequence[int] | None = None, max_ev: int = 0, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues, ascending, and eigenvectors of the Hermitian matrix of which `a_band` (k + 1, n)
    has the main diagonal and those above it, the outermost first (`lower`: and those below it, the
    outermost last), as `solveh_banded` has them; select="i" gives those from place
    `select_range[0]` to `select_range[1]`. What coinciding values are said of `eigh` holds here.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eig_banded(np.array([[0.0, 1.0], [2.0, 2.0]]))[0].round(12)
    array([1., 3.])
    """
    lower = flag("lower", lower)
    (ab,) = in_lapack_dtype(a_band)
    if ndim_of(ab) != 2 or same(shape_of(ab)[0], 0):
        raise ShapeError(
            "eig_banded: a_band must have a row for each diagonal, not the shape "
            f"{show(shape_of(ab))}"
        )
    rows, n = shape_of(ab)
    part = places_selected("eig_banded", n, select, select_range)
    if rows == 2 and ab.dtype.kind == "f" and not same(n, 0):
        d, e = (ab[0], ab[1, :-1]) if lower else (ab[1], ab[0, 1:])
        if eigvals_only:
            w = eigvalsh_tridiagonal(d, e)
            return w if part is None else w[part]
        w, v = eigh_tridiagonal(d, e)
    else:
        full = _full(ab, lower)
        if eigvals_only:
            w = eigvalsh(full)
            return w if part is None else w[part]
        w, v = eigh(full)
    return (w, v) if part is None else (w[part], v[:, part])


def eigvals_banded(
    a_band: Any, lower: bool = False, overwrite_a_band: bool = False, select: str | int = "a",
    select_range: Sequence[int] | None = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """The eigenvalues of `eig_banded`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigvals_banded(np.array([[0.0, 1.0], [2.0, 2.0]])).round(12)
    array([1., 3.])
    """
    return eig_banded(
        a_band, lower, True, select=select, select_range=select_range, check_finite=check_finite
    )


__all__ = ["eig_banded", "eigvals_banded"]
